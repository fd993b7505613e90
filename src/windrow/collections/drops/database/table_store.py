"""A store of rows on SQLite, PostgreSQL or MariaDB that keeps the history of every record, with counts.

A document is first *staged*: its rows are written, but are not current. Then it is *published* or *withheld*. Each call
is one transaction and may be repeated, for example if a run was killed before it recorded the call on the ledger. A
repeated call changes nothing, and `stage_all` and `judge` return the same result as before.

Views for people: `current_X` has the rows of table X that are valid now, and `current_specimen` has the columns that
mice and embryos share. This query selects the rows that were valid at a time `:at`:

    SELECT t.* FROM mouse t JOIN entity e ON e.id = t.entity_id
    WHERE e.valid_from <= :at AND (e.valid_to IS NULL OR e.valid_to > :at) AND NOT e.tombstone

All versions of one record: `SELECT * FROM entity WHERE kind = 'specimen' AND identifier = 'H_1'`. Times are UTC. On
MariaDB, `procedure` is a reserved word: write it in backquotes, or use the view.

`context` has counts by submission and key, and `overview` their sums by key. Only submissions that changed since they
were counted (`dirty`) are counted again, and sums are updated only for the keys in them. The result is the same as if
everything had been counted again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Any, NamedTuple, Self

import sqlalchemy as sa

from windrow.collections.drops.database import store_statements as statement
from windrow.collections.drops.database.history import Published, judge
from windrow.collections.drops.database.projection_rows import chunks, is_one_of
from windrow.collections.drops.database.store_statements import insert_elements, insert_rows
from windrow.collections.drops.database.store_tables import (
    COLLATION,
    COUNT_COLUMNS,
    TableSchema,
    cache_per_schema,
    table_schema,
)
from windrow.collections.drops.elements import CountTable, ElementTable
from windrow.contract import Rows, Undecided
from windrow.digest import hash64
from windrow.errors import StoreError
from windrow.stores.databases import READ_ONLY, connect, map_errors, refuse_other_texts


class Summarised(NamedTuple):
    """How many submissions were counted again, and for how many keys the sums were updated."""

    submissions: int
    keys: int


def update_summary(connection: sa.Connection, schema: TableSchema, summary: CountTable, now: datetime) -> Summarised:
    """Bring the tables `context` and `overview` up to date."""
    submission = schema.submission
    keys_to_sum: set[tuple[str, ...]] = set()
    dirty_query = sa.select(submission.c.id).where(submission.c.dirty).order_by(submission.c.id)
    dirty_submissions = list(connection.scalars(dirty_query))
    count_insert = sa.text(_make_count_insert(schema, summary))
    for chunk in chunks(dirty_submissions):
        condition = is_one_of(schema.context.c.submission_id, chunk)
        keys_to_sum.update(_select_keys(connection, schema.context, schema.keys, condition))
        connection.execute(schema.context.delete().where(condition))
        connection.execute(count_insert, {"low": chunk[0], "high": chunk[-1]})
        keys_to_sum.update(_select_keys(connection, schema.context, schema.keys, condition))
        connection.execute(submission.update().where(is_one_of(submission.c.id, chunk)).values(dirty=False))
    for key in sorted(keys_to_sum):
        _sum_contexts(connection, schema, key, now)
    return Summarised(len(dirty_submissions), len(keys_to_sum))


def _select_keys(
    connection: sa.Connection, table: sa.Table, keys: Iterable[str], condition: sa.ColumnElement[bool]
) -> list[tuple[str, ...]]:
    columns = [table.c[key] for key in keys]
    return [tuple(row) for row in connection.execute(sa.select(*columns).where(condition).distinct())]


def _make_count_insert(schema: TableSchema, summary: CountTable) -> str:
    """Return the INSERT that counts the rows of dirty submissions from `:low` to `:high`, by submission and key."""
    condition = "t.submission_id IN (SELECT d.id FROM submission d WHERE d.dirty AND d.id BETWEEN :low AND :high)"
    rows = " UNION ALL ".join(query.format(chosen=condition) for query in summary.queries)
    keys = ", ".join(f'q."{key}"' for key in schema.keys)
    columns = ", ".join(f'"{column.name}"' for column in schema.context.columns)
    count_where = "SUM(CASE WHEN {} THEN 1 ELSE 0 END)"
    return f"""
        INSERT INTO context ({columns})
        SELECT q.submission_id, {keys},
          COUNT(*),
          {count_where.format("e.valid_from IS NOT NULL AND e.valid_to IS NULL")},
          {count_where.format("e.valid_from IS NOT NULL AND e.valid_to IS NOT NULL")},
          {count_where.format("s.withheld_at IS NOT NULL")},
          MIN(e.valid_from), MAX(COALESCE(e.valid_to, e.valid_from))
        FROM ({rows}) q
        JOIN entity e ON e.id = q.entity_id
        JOIN submission s ON s.id = q.submission_id
        WHERE NOT e.tombstone
        GROUP BY q.submission_id, {keys}
    """


def _sum_contexts(connection: sa.Connection, schema: TableSchema, key: tuple[str, ...], now: datetime) -> None:
    context, overview = schema.context, schema.overview
    connection.execute(overview.delete().where(*_make_key_conditions(overview, schema.keys, key)))
    sums: list[Any] = [sa.func.sum(context.c[count]) for count in COUNT_COLUMNS]
    times = (sa.func.min(context.c.first_seen), sa.func.max(context.c.last_change))
    query = sa.select(*sums, *times).where(*_make_key_conditions(context, schema.keys, key))
    row = connection.execute(query).one()
    if row[0] is not None:
        *counts, first_time, last_time = row
        values: dict[str, Any] = dict(zip(schema.keys, key, strict=True))
        values |= {name: int(count) for name, count in zip(COUNT_COLUMNS, counts, strict=True)}
        values |= {"first_seen": first_time, "last_change": last_time, "counted_at": now}
        connection.execute(overview.insert().values(**values))


def _make_key_conditions(table: sa.Table, names: tuple[str, ...], key: tuple[str, ...]) -> list[sa.ColumnElement[bool]]:
    return [table.c[name] == value for name, value in zip(names, key, strict=True)]


ACTION_NAMES = ("add", "edit", "delete")
COUNTER_NAMES = ("element", "submission")
_LEDGER_MARK, REPLAY_MARK, VIEWS_MARK = "ledger", "replay", "views"
"""Names of marks: the identity of the ledger whose documents these are, the session of an unfinished replay, and a hash
of the definitions of the views."""


class Submission(NamedTuple):
    """A document to load. `item` is its number on the ledger, `digest` is the digest of its bytes.

    `centre` is the centre in the name of its zip, as declared, or empty if the name is not accepted any more.
    `staged_at` is an aware time. Of two versions of a record, the one with the greater `sort_key` is current, in
    whatever order their documents are loaded. If the sort keys are equal, the version published last is current.
    """

    item: int
    name: str
    zip_name: str
    action: str
    centre: str
    digest: str
    kind: str
    staged_at: datetime
    sort_key: str = ""


class TableStore:
    """The rows of one collection in one database."""

    def __init__(
        self,
        url: str,
        tables: Iterable[ElementTable],
        summary: CountTable | None = None,
        *,
        password: str | None = None,
    ) -> None:
        """Take the address and tables of a store; the first method call opens the database."""
        self._summary = summary
        self._schema = table_schema(tuple(tables), summary.keys if summary else ())
        self._engine = connect(url, password)

    def prepare(self) -> None:
        """Create the tables, indexes, views and counters that are missing; if interrupted, this can be repeated.

        On a server, existing views are replaced if their definitions have changed: that needs a lock, for which an open
        transaction that has read one makes it wait. Raises StoreError if an existing table lacks a column, or has
        another collation.
        """
        with self._write() as connection:
            self._refuse_other_tables(connection)
            for creation in self._schema.statements(connection.dialect):
                connection.exec_driver_sql(creation)
            counter = self._schema.counter
            values_by_name = {row.name: row.value for row in connection.execute(sa.select(counter))}
            for name in COUNTER_NAMES:
                if name not in values_by_name:
                    connection.execute(counter.insert().values(name=name, value=0))
            self._create_views(connection, values_by_name.get(VIEWS_MARK))

    def _create_views(self, connection: sa.Connection, last_definitions: int | None) -> None:
        """Create the views that are missing; on a server, replace all if the mark of their definitions differs."""
        views = self._schema.views()
        definitions = hash64(repr(views))
        is_changed = connection.dialect.name != "sqlite" and definitions != last_definitions
        present_names = set(sa.inspect(connection).get_view_names())
        for name, query in views:
            if is_changed or name not in present_names:
                sql_words = "OR REPLACE VIEW" if is_changed else "VIEW"
                connection.exec_driver_sql(f'CREATE {sql_words} "{name}" AS {query}')
        if is_changed:
            counter = self._schema.counter
            connection.execute(counter.delete().where(counter.c.name == VIEWS_MARK))
            connection.execute(counter.insert().values(name=VIEWS_MARK, value=definitions))

    def _refuse_other_tables(self, connection: sa.Connection) -> None:
        columns_by_table = sa.inspect(connection).get_multi_columns()
        names_by_table = {
            name: {column["name"] for column in columns} for (_, name), columns in columns_by_table.items()
        }
        for table in self._schema.metadata.sorted_tables:
            missing = sorted(set(table.columns.keys()) - names_by_table.get(table.name, set(table.columns.keys())))
            if missing:
                raise StoreError(
                    f"the table {table.name} was created by another version of windrow and lacks {', '.join(missing)}",
                    hint="windrow replay (for a store on a server, first name an empty database in drops.store)",
                )

        refuse_other_texts(connection, self._schema.metadata.tables, COLLATION)

    def has_tables(self) -> bool:
        """Return whether `prepare` has created the tables."""
        with self._read() as connection:
            return sa.inspect(connection).has_table("submission")

    def mark(self, name: str) -> int | None:
        """Return the number that `set_mark` wrote under this name, or None."""
        counter = self._schema.counter
        with self._read() as connection:
            value = connection.scalar(sa.select(counter.c.value).where(counter.c.name == name))
        return None if value is None else int(value)

    def set_mark(self, name: str, value: int | None) -> None:
        """Write a number under a name that is none of `COUNTER_NAMES`, or remove it if the number is None."""
        counter = self._schema.counter
        with self._write() as connection:
            connection.execute(counter.delete().where(counter.c.name == name))
            if value is not None:
                connection.execute(counter.insert().values(name=name, value=value))

    def owner(self) -> int:
        """Return the identity of the ledger whose documents the store has, or 0 if it is not recorded."""
        return self.mark(_LEDGER_MARK) or 0

    def set_owner(self, identity: int) -> None:
        """Record the identity of the ledger whose documents the store has."""
        self.set_mark(_LEDGER_MARK, identity)

    def has_document(self, item: int, *, is_current: bool) -> bool:
        """Return whether the store has the document of an item; if `is_current`, whether it was published, too."""
        submission = self._schema.submission
        query = sa.select(submission.c.published_at).where(submission.c.item == item)
        with self._read() as connection:
            row = connection.execute(query).first()
        return row is not None and not (is_current and row.published_at is None)

    def last_item(self) -> int:
        """Return the highest number of an item whose document the store has, or 0."""
        with self._read() as connection:
            return int(connection.scalar(sa.select(sa.func.max(self._schema.submission.c.item))) or 0)

    def census(self) -> dict[int, int]:
        """Return a dict from item to its number of element rows; empty if the store has no tables."""
        count_queries = [
            sa.select(table.c.submission_id, sa.func.count().label("rows")).group_by(table.c.submission_id)
            for table in self._schema.elements.values()
        ]
        row_counts = sa.union_all(*count_queries).subquery()
        submission = self._schema.submission
        total = sa.func.coalesce(sa.func.sum(row_counts.c.rows), 0)
        joined = submission.outerjoin(row_counts, row_counts.c.submission_id == submission.c.id)
        query = sa.select(submission.c.item, total).select_from(joined).group_by(submission.c.item)
        with self._read() as connection:
            if not sa.inspect(connection).has_table("submission"):
                return {}
            return {int(item): int(count) for item, count in connection.execute(query)}

    def stage_all(self, documents: Sequence[tuple[Submission, Rows]]) -> list[int]:
        """Insert the rows of documents; return the ids of their submissions.

        The rows are not current until they are published. Documents that are staged already are skipped. If the bytes,
        the action or the number of elements of an item have changed, its rows are replaced. Raises StoreError if rows
        to replace are published, or if an action is not one of `ACTION_NAMES`.
        """
        with self._write() as connection:
            submission_ids = self._find_staged(connection, documents)
            new_documents = [
                (submission, rows) for submission, rows in documents if submission.item not in submission_ids
            ]
            submission_ids |= self._insert_documents(connection, new_documents)
            return [submission_ids[submission.item] for submission, _ in documents]

    def judge(self, documents: Sequence[Undecided], now: datetime) -> list[Published | None]:
        """Publish or withhold staged documents in their order; return the effect of each, or None if it is withheld."""
        with self._write() as connection:
            return judge(connection, self._schema, documents, now)

    def summarise(self, now: datetime) -> Summarised:
        """Bring the tables `context` and `overview` up to date, if the store has counts."""
        if self._summary is None:
            return Summarised(0, 0)
        with self._write() as connection:
            return update_summary(connection, self._schema, self._summary, now)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _write(self) -> Iterator[sa.Connection]:
        with map_errors(self._engine), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _read(self) -> Iterator[sa.Connection]:
        with map_errors(self._engine), self._engine.connect() as connection:
            yield connection.execution_options(**READ_ONLY)

    def _find_staged(self, connection: sa.Connection, documents: Sequence[tuple[Submission, Rows]]) -> dict[int, int]:
        """Return a dict from item to submission id, for items staged with the same bytes, action and element count.

        Deletes the submissions of items that are staged with other values. Raises StoreError if one of these is
        published.
        """
        staged_rows: dict[int, Any] = {}
        for chunk in chunks(submission.item for submission, _ in documents):
            query = statement.select_submissions(self._schema, chunk)
            staged_rows.update((staged_row.item, staged_row) for staged_row in connection.execute(query))
        staged_ids = {}
        for submission, rows in documents if staged_rows else ():
            staged_row = staged_rows.get(submission.item)
            if staged_row is None:
                continue
            staged = (staged_row.digest, staged_row.action, staged_row.element_count)
            if staged == (submission.digest, submission.action, rows.count):
                staged_ids[submission.item] = int(staged_row.id)
            elif staged_row.published_at is not None:
                message = f"item {submission.item} is already published with other bytes: {staged_row.name}"
                raise StoreError(message, hint="windrow replay")
            else:
                self._delete_rows(connection, staged_row)
        return staged_ids

    def _delete_rows(self, connection: sa.Connection, row: Any) -> None:
        for table in (*self._schema.elements.values(), self._schema.entity, self._schema.context):
            connection.execute(table.delete().where(table.c.submission_id == row.id))
        submission = self._schema.submission
        connection.execute(submission.delete().where(submission.c.id == row.id))

    def _insert_documents(
        self, connection: sa.Connection, documents: Sequence[tuple[Submission, Rows]]
    ) -> dict[int, int]:
        if not documents:
            return {}
        submission_id, first_id = self._allot_ids(connection, len(documents), sum(rows.count for _, rows in documents))
        submission_rows: list[dict[str, Any]] = []
        entity_rows: list[tuple[Any, ...]] = []
        numbered_documents: list[tuple[int, int, Rows]] = []
        for submission, rows in documents:
            if submission.action not in ACTION_NAMES:
                names = ", ".join(ACTION_NAMES)
                raise StoreError(f"{submission.name}: the action {submission.action!r} is not one of {names}")
            columns = {"id": submission_id, "first_id": first_id, "element_count": rows.count, "dirty": True}
            submission_rows.append(columns | submission._asdict())
            is_delete = submission.action == "delete"
            entity_rows += [  # the columns of `entity` in order; valid_from, valid_to and ended_by are not set yet
                (first_id + row_number, submission_id, kind, identifier, None, None, None, is_delete, None)
                for row_number, kind, identifier in rows.entities
            ]
            numbered_documents.append((submission_id, first_id, rows))
            submission_id, first_id = submission_id + 1, first_id + rows.count
        connection.execute(_insert_submission(self._schema), submission_rows)
        insert_rows(connection, self._schema.entity, entity_rows)
        insert_elements(connection, self._schema.elements, numbered_documents)
        return {submission_row["item"]: submission_row["id"] for submission_row in submission_rows}

    def _allot_ids(self, connection: sa.Connection, submission_count: int, element_count: int) -> tuple[int, int]:
        """Reserve ids; return (first submission id, first element id)."""
        connection.execute(
            _advance_counters(self._schema), {"elements": element_count, "submissions": submission_count}
        )
        next_ids = {row.name: int(row.value) for row in connection.execute(_read_counters(self._schema))}
        if set(next_ids) != set(COUNTER_NAMES):
            raise StoreError("the store is not set up: its id counters are missing", hint="windrow replay")
        return next_ids["submission"] - submission_count + 1, next_ids["element"] - element_count + 1


@cache_per_schema
def _insert_submission(schema: TableSchema) -> sa.Insert:
    names = ("id", "first_id", "element_count", "dirty", *Submission._fields)
    return schema.submission.insert().values({name: sa.bindparam(name) for name in names})


@cache_per_schema
def _advance_counters(schema: TableSchema) -> sa.Update:
    counter = schema.counter
    elements, submissions = (sa.bindparam(name, type_=sa.BigInteger()) for name in ("elements", "submissions"))
    increase = sa.case((counter.c.name == "element", elements), else_=submissions)
    return counter.update().where(counter.c.name.in_(COUNTER_NAMES)).values(value=counter.c.value + increase)


@cache_per_schema
def _read_counters(schema: TableSchema) -> sa.Select[Any]:
    return sa.select(schema.counter.c.name, schema.counter.c.value).where(schema.counter.c.name.in_(COUNTER_NAMES))
