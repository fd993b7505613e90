"""The SQL of the table store: bulk inserts, and statements with named parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

import sqlalchemy as sa

from windrow.collections.drops.database.projection_rows import among
from windrow.collections.drops.database.store_tables import Moment, TableSchema, once
from windrow.contract import Rows

_BATCH = 20_000  # rows that are shifted to their final ids at a time
_TOGETHER = 32  # rows of one statement
_BOUND = 999  # values of one statement that every SQLite takes


def insert(connection: sa.Connection, table: sa.Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert plain tuples in the order of the table's columns; values must need no conversion.

    PostgreSQL gets one COPY, MariaDB the driver's executemany, which joins rows; for SQLite rows are joined here,
    which takes a quarter less time.
    """
    if not rows:
        return
    dialect = connection.dialect
    name = dialect.identifier_preparer.format_table(table)
    columns = ", ".join(map(dialect.identifier_preparer.format_column, table.columns))
    if dialect.name == "postgresql":
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as cursor, cursor.copy(f"COPY {name} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        return
    mark = "?" if dialect.paramstyle == "qmark" else "%s"
    line = f"({', '.join([mark] * len(table.columns))})"
    text = f"INSERT INTO {name} ({columns}) VALUES {line}"
    joined = 0
    if dialect.name == "sqlite":
        rows_per_statement = min(_TOGETHER, _BOUND // len(table.columns))
        joined = len(rows) // rows_per_statement * rows_per_statement
        lines = [
            tuple(chain.from_iterable(rows[start : start + rows_per_statement]))
            for start in range(0, joined, rows_per_statement)
        ]
        if lines:
            connection.exec_driver_sql(text + f", {line}" * (rows_per_statement - 1), lines)
    if rows[joined:]:
        connection.exec_driver_sql(text, list(rows[joined:]))


def elements(
    connection: sa.Connection, tables: dict[str, sa.Table], documents: Iterable[tuple[int, int, Rows]]
) -> None:
    """Insert the element rows of documents, given as (submission id, first id, rows), table by table."""
    waiting = list(documents)
    for name, table in tables.items():
        ready: list[tuple[Any, ...]] = []
        for submission, base, document in waiting:
            rows = document.tables.get(name, ())
            for start in range(0, len(rows), _BATCH):
                ready += [
                    (
                        base + row[0],
                        None if row[1] is None else base + row[1],
                        None if row[2] is None else base + row[2],
                        submission,
                        *row[3:],
                    )
                    for row in rows[start : start + _BATCH]
                ]
                if len(ready) >= _BATCH:
                    insert(connection, table, ready)
                    ready = []
        insert(connection, table, ready)


@once
def submission_of(schema: TableSchema) -> sa.Select[Any]:
    """Select the submission of item `its_item`."""
    return sa.select(schema.submission).where(schema.submission.c.item == sa.bindparam("its_item"))


@once
def last_published(schema: TableSchema) -> sa.Select[Any]:
    """Select the time of the last publication."""
    return sa.select(sa.func.max(schema.submission.c.published_at))


@once
def mark_published(schema: TableSchema) -> sa.Update:
    """Mark submission `its_id` as published `at`; `same`: the submission with the same bytes, or NULL."""
    submission = schema.submission
    values = {
        "published_at": sa.bindparam("at", type_=Moment()),
        "same_as": sa.bindparam("same", type_=sa.BigInteger()),
    }
    change = submission.update().where(submission.c.id == sa.bindparam("its_id"))
    return change.values(**values, withheld_at=None, reason=None, dirty=True)


@once
def entities_of(schema: TableSchema) -> sa.Select[Any]:
    """Select id, kind and identifier of the entities of submission `its_id`, in order."""
    entity = schema.entity
    query = sa.select(entity.c.id, entity.c.kind, entity.c.identifier)
    return query.where(entity.c.submission_id == sa.bindparam("its_id")).order_by(entity.c.id)


@once
def put_in_force(schema: TableSchema) -> sa.Update:
    """Put all entities of submission `its_id` in force `at` a moment, with the effect `its_effect`."""
    entity = schema.entity
    values = {"valid_from": sa.bindparam("at", type_=Moment()), "effect": sa.bindparam("its_effect", type_=sa.String())}
    return entity.update().where(entity.c.submission_id == sa.bindparam("its_id")).values(values)


@once
def predecessors(schema: TableSchema) -> sa.Select[Any]:
    """Select (entity of submission `its_id`, its predecessor in force, that one's submission, tombstone?, sort key)."""
    new, old, submission = schema.newer, schema.older, schema.submission
    return (
        sa.select(new.c.id, old.c.id, old.c.submission_id, old.c.tombstone, submission.c.sort_key)
        .join(old, sa.and_(old.c.identifier == new.c.identifier, old.c.kind == new.c.kind))
        .join(submission, submission.c.id == old.c.submission_id)
        .where(
            new.c.submission_id == sa.bindparam("its_id"),
            old.c.submission_id != sa.bindparam("its_id"),
            old.c.valid_from.is_not(None),
            old.c.valid_to.is_(None),
        )
    )


@once
def same_bytes(schema: TableSchema) -> sa.Select[Any]:
    """Select the submission with the same bytes, action and kind as `its_id` that is published and wholly in force."""
    submission, entity = schema.submission, schema.entity
    ended = sa.exists().where(entity.c.submission_id == submission.c.id, entity.c.valid_to.is_not(None))
    return (
        sa.select(submission.c.id)
        .where(
            *(submission.c[name] == sa.bindparam(f"its_{name}") for name in ("digest", "action", "kind")),
            submission.c.id != sa.bindparam("its_id"),
            submission.c.published_at.is_not(None),
            submission.c.same_as.is_(None),
            sa.not_(ended),
        )
        .limit(1)
    )


@once
def count_effects(schema: TableSchema) -> sa.Select[Any]:
    """Count the entities of submission `its_id` by effect."""
    entity = schema.entity
    counted = sa.select(entity.c.effect, sa.func.count()).where(entity.c.submission_id == sa.bindparam("its_id"))
    return counted.group_by(entity.c.effect)


@once
def count_ended(schema: TableSchema) -> sa.Select[Any]:
    """Count the entities that submission `its_id` replaced."""
    entity = schema.entity
    counted = sa.select(sa.func.count()).select_from(entity).where(entity.c.ended_by == sa.bindparam("its_id"))
    return counted.where(entity.c.effect.is_distinct_from("overridden"))


def submissions_of(schema: TableSchema, items: Sequence[int]) -> sa.Select[Any]:
    """Select the submissions of items."""
    return sa.select(schema.submission).where(among(schema.submission.c.item, items))


def names_of(schema: TableSchema, submissions: Sequence[int]) -> sa.Select[Any]:
    """Select (submission, kind, identifier) of the submissions' entities."""
    entity = schema.entity
    query = sa.select(entity.c.submission_id, entity.c.kind, entity.c.identifier)
    return query.where(among(entity.c.submission_id, submissions))


def preceded_of(schema: TableSchema, submissions: Sequence[int]) -> sa.Select[Any]:
    """Select those of the submissions with a record that another one has in force."""
    new, old = schema.newer, schema.older
    joined = sa.and_(old.c.identifier == new.c.identifier, old.c.kind == new.c.kind)
    return (
        sa.select(new.c.submission_id)
        .join(old, joined)
        .where(
            among(new.c.submission_id, submissions),
            old.c.submission_id != new.c.submission_id,
            old.c.valid_from.is_not(None),
            old.c.valid_to.is_(None),
        )
        .distinct()
    )


def published_digests(schema: TableSchema, digests: Sequence[str]) -> sa.Select[Any]:
    """Select those of the digests that are published already."""
    submission = schema.submission
    query = sa.select(submission.c.digest).where(submission.c.digest.in_(digests))
    return query.where(submission.c.published_at.is_not(None)).distinct()


def publish_new(schema: TableSchema, submissions: Sequence[int], at: datetime) -> tuple[sa.Update, sa.Update]:
    """Publish submissions whose records are all new: put their entities in force and mark them as published."""
    entity, submission = schema.entity, schema.submission
    entity_update = entity.update().where(among(entity.c.submission_id, submissions))
    submission_change = submission.update().where(among(submission.c.id, submissions))
    return (
        entity_update.values(valid_from=at, effect="new"),
        submission_change.values(published_at=at, same_as=None, withheld_at=None, reason=None, dirty=True),
    )
