"""The rows that a projection is told, known by keys, and those that a standard begins with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import sqlalchemy as sa

from windrow.errors import StoreError

_NONE: Mapping[str, Any] = MappingProxyType({})


class RowMaking(IntEnum):
    """Whether a row is made when it is not there."""

    NEVER = 0  # only a row that is there gets the values
    NEW = 1  # when the key is new; a row that somebody deleted stays away
    AGAIN = 2  # also when somebody deleted it


class LateReference(NamedTuple):
    """A reference against the order of the tables; an id above `most` is written as `instead`."""

    table: str
    key: str
    most: int
    instead: int


class RowPut(NamedTuple):
    """The row of `table` known by `key` has these values.

    `refs` names columns that hold the id of another row, as (its table, its key). A row that needs
    one which is not there, or not any more, is left out. `once` are values for a row that is made,
    and no news for one that is there. A row whose column `unless[0]` has come to hold `unless[1]`
    is left alone: somebody else has taken it over.
    """

    table: str
    key: str
    values: Mapping[str, object] = _NONE
    refs: Mapping[str, tuple[str, str]] = _NONE
    once: Mapping[str, object] = _NONE
    unless: tuple[str, object] | None = None
    make: RowMaking = RowMaking.NEW
    late: Mapping[str, LateReference] = _NONE


class SameValues(NamedTuple):
    """The rows of `table` known by `keys`, those that are there, have the same values at the end of a batch.

    That is what a `RowPut` which never makes a row says of one row, for many at once.
    """

    table: str
    keys: Sequence[str]
    values: Mapping[str, object]
    unless: tuple[str, object] | None = None


class RowValues:
    """Everything that one batch says of one row; of each column the last word."""

    __slots__ = ("early", "late", "make", "once", "refs", "unless", "values")

    def __init__(self) -> None:
        """Begin with nothing said."""
        self.values: dict[str, Any] = {}
        self.refs: dict[str, tuple[str, str]] = {}
        self.early: dict[str, Any] = {}  # said before the batch asked to make it: no news for a new row
        self.once: dict[str, object] = {}
        self.unless: tuple[str, object] | None = None
        self.make = RowMaking.NEVER
        self.late: dict[str, LateReference] = {}

    def say(self, values: Mapping[str, Any], refs: Mapping[str, tuple[str, str]]) -> None:
        """Note the last word on some columns, which a value or a reference may be."""
        if self.refs or self.late:
            for column in self.refs.keys() & values.keys():
                del self.refs[column]
            for column in self.late.keys() & values.keys():
                del self.late[column]
        self.values.update(values)
        if refs:
            for column in self.values.keys() & refs.keys():
                del self.values[column]
            self.refs.update(refs)


def fold(puts: Iterable[RowPut]) -> dict[str, dict[str, RowValues]]:
    """Gather puts by table and key, in the order in which each was first named.

    >>> rows = fold([RowPut("t", "a", {"x": 1, "y": 1}), RowPut("t", "b", {"x": 2}), RowPut("t", "a", {"x": 3})])
    >>> {key: row.values for key, row in rows["t"].items()}
    {'a': {'x': 3, 'y': 1}, 'b': {'x': 2}}
    """
    tables: dict[str, dict[str, RowValues]] = {}
    for table, key, values, refs, initial, unless, make, late in puts:
        rows = tables.setdefault(table, {})
        row = rows.get(key)
        if row is None:
            row = rows[key] = RowValues()
        elif row.make is RowMaking.NEVER and make is not RowMaking.NEVER:
            row.early, row.values = row.values, {}
            rows[key] = rows.pop(key)  # ids go by who is first to be made
        row.say(values, refs)
        for column, value in initial.items():
            row.once.setdefault(column, value)
        row.unless = unless or row.unless
        row.make = max(make, row.make)
        if late:
            row.late.update(late)
    return tables


def among(column: sa.ColumnElement[int], numbers: Sequence[int]) -> sa.ColumnElement[bool]:
    """Return the condition that a column has one of some numbers: as a span where they are all that are in it.

    Others are written into the statement: to bind each of them by a name of its own takes longer than the statement
    itself.
    """
    wanted = set(numbers)
    if wanted and max(wanted) - min(wanted) + 1 == len(wanted):
        return column.between(min(wanted), max(wanted))
    written = sa.bindparam(None, [*map(int, numbers)], type_=sa.BigInteger(), expanding=True, literal_execute=True)
    return column.in_(written)


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
