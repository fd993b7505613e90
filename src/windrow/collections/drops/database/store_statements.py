"""The SQL of the table store: inserts of many rows, and statements with named parameters such as `its_id`.

A submission is a loaded document, and an entity is one version of a record in it. An entity is in force from
`valid_from` until before `valid_to`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

import sqlalchemy as sa

from windrow.collections.drops.database.projection_rows import is_one_of
from windrow.collections.drops.database.store_tables import TableSchema, UtcTime, cache_per_schema, is_same_record
from windrow.contract import Rows

_ROWS_PER_INSERT = 20_000  # rows that get their ids and are inserted together
_MAX_ROWS_PER_STATEMENT = 32  # on SQLite
_MAX_VALUES_PER_STATEMENT = 999  # the limit of old versions of SQLite


def insert_rows(connection: sa.Connection, table: sa.Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert tuples, whose values are in the order of the table's columns and are passed to the driver unchanged.

    PostgreSQL gets one COPY. MariaDB's driver puts several rows into one statement by itself; for SQLite this function
    does so, which saves a quarter of the time.
    """
    if not rows:
        return
    dialect = connection.dialect
    table_name = dialect.identifier_preparer.format_table(table)
    column_names = ", ".join(map(dialect.identifier_preparer.format_column, table.columns))
    if dialect.name == "postgresql":
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as cursor, cursor.copy(f"COPY {table_name} ({column_names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        return
    placeholder = "?" if dialect.paramstyle == "qmark" else "%s"
    row_placeholders = f"({', '.join([placeholder] * len(table.columns))})"
    statement = f"INSERT INTO {table_name} ({column_names}) VALUES {row_placeholders}"
    joined_count = 0
    if dialect.name == "sqlite":
        rows_per_statement = min(_MAX_ROWS_PER_STATEMENT, _MAX_VALUES_PER_STATEMENT // len(table.columns))
        joined_count = len(rows) // rows_per_statement * rows_per_statement
        joined_rows = [
            tuple(chain.from_iterable(rows[start : start + rows_per_statement]))
            for start in range(0, joined_count, rows_per_statement)
        ]
        if joined_rows:
            connection.exec_driver_sql(statement + f", {row_placeholders}" * (rows_per_statement - 1), joined_rows)
    if rows[joined_count:]:
        connection.exec_driver_sql(statement, list(rows[joined_count:]))


def insert_elements(
    connection: sa.Connection, tables: dict[str, sa.Table], documents: Iterable[tuple[int, int, Rows]]
) -> None:
    """Insert the rows of documents (submission id, first id, rows). The id of a row is first id + row number."""
    numbered_documents = list(documents)
    for name, table in tables.items():
        rows_to_insert: list[tuple[Any, ...]] = []
        for submission_id, first_id, document in numbered_documents:
            rows = document.tables.get(name, ())
            for start in range(0, len(rows), _ROWS_PER_INSERT):
                rows_to_insert += [  # each row is (number, parent's number, record's number, other cells)
                    (
                        first_id + row[0],
                        None if row[1] is None else first_id + row[1],
                        None if row[2] is None else first_id + row[2],
                        submission_id,
                        *row[3:],
                    )
                    for row in rows[start : start + _ROWS_PER_INSERT]
                ]
                if len(rows_to_insert) >= _ROWS_PER_INSERT:
                    insert_rows(connection, table, rows_to_insert)
                    rows_to_insert = []
        insert_rows(connection, table, rows_to_insert)


@cache_per_schema
def select_submission(schema: TableSchema) -> sa.Select[Any]:
    """Select the submission of the ledger's item `its_item`."""
    return sa.select(schema.submission).where(schema.submission.c.item == sa.bindparam("its_item"))


@cache_per_schema
def select_last_publication(schema: TableSchema) -> sa.Select[Any]:
    """Select the time of the last publication."""
    return sa.select(sa.func.max(schema.submission.c.published_at))


@cache_per_schema
def mark_as_published(schema: TableSchema) -> sa.Update:
    """Mark submission `its_id` as published at the time `at`, not withheld, and with a summary that is out of date.

    `same` is another submission with the same bytes, or NULL.
    """
    submission = schema.submission
    values = {
        "published_at": sa.bindparam("at", type_=UtcTime()),
        "same_as": sa.bindparam("same", type_=sa.BigInteger()),
    }
    update = submission.update().where(submission.c.id == sa.bindparam("its_id"))
    return update.values(**values, withheld_at=None, reason=None, dirty=True)


@cache_per_schema
def select_entities(schema: TableSchema) -> sa.Select[Any]:
    """Select the id, kind and identifier of each entity of submission `its_id`, in the order of ids."""
    entity = schema.entity
    query = sa.select(entity.c.id, entity.c.kind, entity.c.identifier)
    return query.where(entity.c.submission_id == sa.bindparam("its_id")).order_by(entity.c.id)


@cache_per_schema
def put_in_force(schema: TableSchema) -> sa.Update:
    """Put all entities of submission `its_id` in force at the time `at`, with the effect `its_effect`."""
    entity = schema.entity
    valid_from, effect = sa.bindparam("at", type_=UtcTime()), sa.bindparam("its_effect", type_=sa.String())
    values = {"valid_from": valid_from, "effect": effect}
    return entity.update().where(entity.c.submission_id == sa.bindparam("its_id")).values(values)


@cache_per_schema
def select_predecessors(schema: TableSchema) -> sa.Select[Any]:
    """Select pairs: an entity of submission `its_id`, and another submission's entity in force for the same record."""
    new_entity, old_entity, submission = schema.newer_entity, schema.older_entity, schema.submission
    return (
        sa.select(
            *(new_entity.c.id.label("entity_id"), old_entity.c.id.label("predecessor_id")),
            *(old_entity.c.submission_id, old_entity.c.tombstone, submission.c.sort_key),
        )
        .join(old_entity, is_same_record(old_entity, new_entity))
        .join(submission, submission.c.id == old_entity.c.submission_id)
        .where(
            new_entity.c.submission_id == sa.bindparam("its_id"),
            old_entity.c.submission_id != sa.bindparam("its_id"),
            old_entity.c.valid_from.is_not(None),
            old_entity.c.valid_to.is_(None),
        )
    )


@cache_per_schema
def select_same_bytes(schema: TableSchema) -> sa.Select[Any]:
    """Select a submission other than `its_id` with the same digest, action and kind that is wholly in force."""
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


@cache_per_schema
def count_effects(schema: TableSchema) -> sa.Select[Any]:
    """Select (effect, number of entities) for each effect that entities of submission `its_id` have."""
    entity = schema.entity
    query = sa.select(entity.c.effect, sa.func.count()).where(entity.c.submission_id == sa.bindparam("its_id"))
    return query.group_by(entity.c.effect)


@cache_per_schema
def count_ended(schema: TableSchema) -> sa.Select[Any]:
    """Select the number of entities that submission `its_id` replaced."""
    entity = schema.entity
    query = sa.select(sa.func.count()).select_from(entity).where(entity.c.ended_by == sa.bindparam("its_id"))
    return query.where(entity.c.effect.is_distinct_from("overridden"))


def select_submissions(schema: TableSchema, items: Sequence[int]) -> sa.Select[Any]:
    """Select the submissions of these items."""
    return sa.select(schema.submission).where(is_one_of(schema.submission.c.item, items))


def select_entity_names(schema: TableSchema, submissions: Sequence[int]) -> sa.Select[Any]:
    """Select (submission id, kind, identifier) for each entity of the submissions."""
    entity = schema.entity
    query = sa.select(entity.c.submission_id, entity.c.kind, entity.c.identifier)
    return query.where(is_one_of(entity.c.submission_id, submissions))


def select_preceded(schema: TableSchema, submissions: Sequence[int]) -> sa.Select[Any]:
    """Select the ids of submissions with a record for which another submission has an entity in force."""
    new_entity, old_entity = schema.newer_entity, schema.older_entity
    return (
        sa.select(new_entity.c.submission_id)
        .join(old_entity, is_same_record(old_entity, new_entity))
        .where(
            is_one_of(new_entity.c.submission_id, submissions),
            old_entity.c.submission_id != new_entity.c.submission_id,
            old_entity.c.valid_from.is_not(None),
            old_entity.c.valid_to.is_(None),
        )
        .distinct()
    )


def select_published_digests(schema: TableSchema, digests: Sequence[str]) -> sa.Select[Any]:
    """Select those of `digests` that a published submission has."""
    submission = schema.submission
    query = sa.select(submission.c.digest).where(submission.c.digest.in_(digests))
    return query.where(submission.c.published_at.is_not(None)).distinct()


def make_publication_updates(
    schema: TableSchema, submissions: Sequence[int], published_at: datetime
) -> tuple[sa.Update, sa.Update]:
    """Return two updates for wholly new submissions: to put their entities in force, and to mark them as published."""
    entity, submission = schema.entity, schema.submission
    entity_update = entity.update().where(is_one_of(entity.c.submission_id, submissions))
    submission_update = submission.update().where(is_one_of(submission.c.id, submissions))
    return (
        entity_update.values(valid_from=published_at, effect="new"),
        submission_update.values(published_at=published_at, same_as=None, withheld_at=None, reason=None, dirty=True),
    )
