"""Count what is there: by submission (`context`), and over all of them (`overview`).

Only submissions that changed since the last time are counted anew: the overview of each key they
touch is then the sum of its contexts. A full recount gives the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from windrow.collections.drops.database.store_tables import COUNTS, TableSchema
from windrow.stores.id_lookup import chunks
from windrow.stores.projected_rows import among
from windrow.table_schema import CountTable


class Summarised(NamedTuple):
    """How much was counted anew."""

    submissions: int
    keys: int


def summarise(
    connection: sa.Connection, schema: TableSchema, summary: CountTable, at: datetime, *, full: bool = False
) -> Summarised:
    """Bring context and overview up to date; with `full`, count everything again."""
    submission = schema.submission
    touched: set[tuple[str, ...]] = set()
    if full:
        touched.update(_keys(connection, schema.overview, schema.keys, sa.true()))
        connection.execute(submission.update().values(dirty=True))
    dirty = list(connection.scalars(sa.select(submission.c.id).where(submission.c.dirty).order_by(submission.c.id)))
    counting = sa.text(_counting(schema, summary))
    for chunk in chunks(dirty):
        chosen = among(schema.context.c.submission_id, chunk)
        touched.update(_keys(connection, schema.context, schema.keys, chosen))
        connection.execute(schema.context.delete().where(chosen))
        connection.execute(counting, {"low": chunk[0], "high": chunk[-1]})
        touched.update(_keys(connection, schema.context, schema.keys, chosen))
        connection.execute(submission.update().where(among(submission.c.id, chunk)).values(dirty=False))
    for key in sorted(touched):
        _sum(connection, schema, key, at)
    return Summarised(len(dirty), len(touched))


def _keys(
    connection: sa.Connection, table: sa.Table, keys: Iterable[str], chosen: sa.ColumnElement[bool]
) -> list[tuple[str, ...]]:
    columns = [table.c[key] for key in keys]
    return [tuple(row) for row in connection.execute(sa.select(*columns).where(chosen).distinct())]


def _counting(schema: TableSchema, summary: CountTable) -> str:
    """Return the INSERT that counts the rows of the submissions from `:low` to `:high`, by submission and key.

    It is one text for all of them: drivers keep the latest statements prepared, each with its own memory.
    """
    chosen = "t.submission_id IN (SELECT d.id FROM submission d WHERE d.dirty AND d.id BETWEEN :low AND :high)"
    rows = " UNION ALL ".join(query.format(chosen=chosen) for query in summary.queries)
    keys = ", ".join(f'q."{key}"' for key in schema.keys)
    columns = ", ".join(f'"{column.name}"' for column in schema.context.columns)
    one = "SUM(CASE WHEN {} THEN 1 ELSE 0 END)"
    return f"""
        INSERT INTO context ({columns})
        SELECT q.submission_id, {keys},
          COUNT(*),
          {one.format("e.valid_from IS NOT NULL AND e.valid_to IS NULL")},
          {one.format("e.valid_from IS NOT NULL AND e.valid_to IS NOT NULL")},
          {one.format("s.withheld_at IS NOT NULL")},
          MIN(e.valid_from), MAX(COALESCE(e.valid_to, e.valid_from))
        FROM ({rows}) q
        JOIN entity e ON e.id = q.entity_id
        JOIN submission s ON s.id = q.submission_id
        WHERE NOT e.tombstone
        GROUP BY q.submission_id, {keys}
    """


def _sum(connection: sa.Connection, schema: TableSchema, key: tuple[str, ...], at: datetime) -> None:
    """Replace one line of the overview by the sum of its contexts; none left, no line."""
    context, overview = schema.context, schema.overview
    connection.execute(overview.delete().where(*_is(overview, schema.keys, key)))
    sums: list[Any] = [sa.func.sum(context.c[count]) for count in COUNTS]
    found = connection.execute(
        sa.select(*sums, sa.func.min(context.c.first_seen), sa.func.max(context.c.last_change)).where(
            *_is(context, schema.keys, key)
        )
    ).one()
    if found[0] is not None:
        *counts, first, last = found
        values: dict[str, Any] = dict(zip(schema.keys, key, strict=True))
        values |= {name: int(count) for name, count in zip(COUNTS, counts, strict=True)}
        connection.execute(overview.insert().values(**values, first_seen=first, last_change=last, counted_at=at))


def _is(table: sa.Table, names: tuple[str, ...], key: tuple[str, ...]) -> list[sa.ColumnElement[bool]]:
    return [table.c[name] == value for name, value in zip(names, key, strict=True)]
