"""The rows that a standard's tables begin with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import sqlalchemy as sa

from windrow.errors import StoreError


class Seed(NamedTuple):
    """One row with the id that its standard gives it; `natural` names the column it is known by."""

    table: str
    id: int
    natural: str
    values: Mapping[str, object]


def plant(connection: sa.Connection, metadata: sa.MetaData, seeds: Iterable[Seed]) -> int:
    """Add each row that is missing; never change or remove one. Return how many were added.

    Raises `StoreError` where a row stands under another id than its standard's, or another row
    under that id: whoever reads the tables goes by these ids.
    """
    added: dict[str, int] = {}
    for seed in seeds:
        table = metadata.tables[seed.table]
        name = seed.values[seed.natural]
        natural = table.c[seed.natural]
        ids = connection.scalars(sa.select(table.c.id).where(natural == name)).all()
        if seed.id in ids:
            continue
        other = connection.scalar(sa.select(natural).where(table.c.id == seed.id))
        if ids or other is not None:
            where = f"has the id {ids[0]}" if ids else f"is missing, and its id is held by {other!r}"
            raise StoreError(
                f"{seed.table}: {name!r} {where}; the standard gives it the id {seed.id}",
                hint=f"give the rows of {seed.table} the standard's ids (references follow), or name another database",
            )
        connection.execute(table.insert().values(id=seed.id, **seed.values))
        added[seed.table] = added.get(seed.table, 0) + 1
    for name in added:
        follow(connection, metadata.tables[name])
    return sum(added.values())


def follow(connection: sa.Connection, table: sa.Table) -> None:
    """Let a PostgreSQL sequence go on after ids that were given by us; others do so themselves."""
    if connection.dialect.name == "postgresql":
        last = sa.select(sa.func.max(table.c.id)).scalar_subquery()
        sequence = sa.func.pg_get_serial_sequence(table.name, "id")
        connection.execute(sa.select(sa.func.setval(sequence, last)))
