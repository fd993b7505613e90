"""A store of rows on SQLite, PostgreSQL or MariaDB that keeps the history of every record, with counts.

A document is *staged* (its rows are there, nothing is current), then *published* or *withheld*. Each
call is one transaction, and may be repeated: after a crash between a call here and its entry on the
ledger, the same call changes nothing and returns the same.

Views for people: `current_X` has the rows of table X that are valid now, `current_specimen` the
columns that mice and embryos share. What was valid at another moment, say `:at`:

    SELECT t.* FROM mouse t JOIN entity e ON e.id = t.entity_id
    WHERE e.valid_from <= :at AND (e.valid_to IS NULL OR e.valid_to > :at) AND NOT e.tombstone

All versions of one record: `SELECT * FROM entity WHERE kind = 'specimen' AND identifier = 'H_1'`.
Times are UTC. On MariaDB, `procedure` is a reserved word: write it in backquotes, or use the view.

Only submissions that changed since the last time are counted again; the overview of each key in
them is then the sum of its contexts. A full recount gives the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Any, NamedTuple, Self

import sqlalchemy as sa

from windrow.collections.drops.database import history
from windrow.collections.drops.database import store_statements as statement
from windrow.collections.drops.database.history import EntityVersion, Published, judge
from windrow.collections.drops.database.projection_rows import among, chunks
from windrow.collections.drops.database.store_statements import elements, insert
from windrow.collections.drops.database.store_tables import COUNTS, TableSchema, once, table_schema
from windrow.collections.drops.elements import CountTable, ElementTable
from windrow.contract import Rows, Undecided
from windrow.errors import StoreError
from windrow.reasons import Reason
from windrow.stores.databases import READ_ONLY, connect, map_errors


class Summarised(NamedTuple):
    """The number of submissions and keys that were counted again."""

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
    counting = sa.text(_make_count_insert(schema, summary))
    for chunk in chunks(dirty):
        condition = among(schema.context.c.submission_id, chunk)
        touched.update(_keys(connection, schema.context, schema.keys, condition))
        connection.execute(schema.context.delete().where(condition))
        connection.execute(counting, {"low": chunk[0], "high": chunk[-1]})
        touched.update(_keys(connection, schema.context, schema.keys, condition))
        connection.execute(submission.update().where(among(submission.c.id, chunk)).values(dirty=False))
    for key in sorted(touched):
        _sum_contexts(connection, schema, key, at)
    return Summarised(len(dirty), len(touched))


def _keys(
    connection: sa.Connection, table: sa.Table, keys: Iterable[str], condition: sa.ColumnElement[bool]
) -> list[tuple[str, ...]]:
    columns = [table.c[key] for key in keys]
    return [tuple(row) for row in connection.execute(sa.select(*columns).where(condition).distinct())]


def _make_count_insert(schema: TableSchema, summary: CountTable) -> str:
    """Return the INSERT that counts the rows of the submissions from `:low` to `:high`, by submission and key.

    The text is the same for all chunks: drivers keep each prepared statement in memory.
    """
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


def _sum_contexts(connection: sa.Connection, schema: TableSchema, key: tuple[str, ...], at: datetime) -> None:
    """Replace one row of the overview by the sum of its contexts; delete it if it does not have any."""
    context, overview = schema.context, schema.overview
    connection.execute(overview.delete().where(*_has_key(overview, schema.keys, key)))
    sums: list[Any] = [sa.func.sum(context.c[count]) for count in COUNTS]
    row = connection.execute(
        sa.select(*sums, sa.func.min(context.c.first_seen), sa.func.max(context.c.last_change)).where(
            *_has_key(context, schema.keys, key)
        )
    ).one()
    if row[0] is not None:
        *counts, first_time, last_time = row
        values: dict[str, Any] = dict(zip(schema.keys, key, strict=True))
        values |= {name: int(count) for name, count in zip(COUNTS, counts, strict=True)}
        connection.execute(
            overview.insert().values(**values, first_seen=first_time, last_change=last_time, counted_at=at)
        )


def _has_key(table: sa.Table, names: tuple[str, ...], key: tuple[str, ...]) -> list[sa.ColumnElement[bool]]:
    return [table.c[name] == value for name, value in zip(names, key, strict=True)]


ACTIONS = ("add", "edit", "delete")
COUNTERS = ("element", "submission")


class Submission(NamedTuple):
    """A document to load. `item` is the ledger's id of it, `staged_at` aware, `digest` of its bytes.

    Of two records with the same identifier, the one with the greater `sort_key` is current, in whatever
    order their documents came; if the keys are equal, the one published last.
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
        """Set up the store; it is opened by the first call."""
        self._summary = summary
        self._schema = table_schema(tuple(tables), summary.keys if summary else ())
        self._engine = connect(url, password)

    def prepare(self) -> None:
        """Create the tables, indexes and views that are missing; may be killed anywhere and repeated.

        Raises StoreError if a table lacks a column, because another version of windrow created it; `replay` then loads
        its rows again.
        """
        with self._write() as connection:
            self._refuse_other_tables(connection)
            for statement in self._schema.statements():
                connection.execute(statement)
            word = "VIEW IF NOT EXISTS" if connection.dialect.name == "sqlite" else "OR REPLACE VIEW"
            for name, query in self._schema.views():
                connection.exec_driver_sql(f'CREATE {word} "{name}" AS {query}')
            counter = self._schema.counter
            present = set(connection.scalars(sa.select(counter.c.name)))
            for name in COUNTERS:
                if name not in present:
                    connection.execute(counter.insert().values(name=name, value=0))

    def _refuse_other_tables(self, connection: sa.Connection) -> None:
        present = sa.inspect(connection).get_multi_columns()
        existing = {name: {column["name"] for column in columns} for (_, name), columns in present.items()}
        for table in self._schema.metadata.sorted_tables:
            missing = sorted(set(table.columns.keys()) - existing.get(table.name, set(table.columns.keys())))
            if missing:
                raise StoreError(
                    f"the table {table.name} was made by another version of windrow: it has no {', '.join(missing)}",
                    hint="windrow replay (for a store on a server, name an empty database in drops.store before)",
                )

    def census(self) -> dict[int, int]:
        """Return the number of element rows of each loaded document, by its item in the ledger."""
        parts = [
            sa.select(table.c.submission_id, sa.func.count().label("rows")).group_by(table.c.submission_id)
            for table in self._schema.elements.values()
        ]
        rows = sa.union_all(*parts).subquery()
        submission = self._schema.submission
        total = sa.func.coalesce(sa.func.sum(rows.c.rows), 0)
        joined = submission.outerjoin(rows, rows.c.submission_id == submission.c.id)
        query = sa.select(submission.c.item, total).select_from(joined).group_by(submission.c.item)
        with self._read() as connection:
            if not sa.inspect(connection).has_table("submission"):
                return {}
            return {int(item): int(count) for item, count in connection.execute(query)}

    def stage(self, submission: Submission, rows: Rows) -> int:
        """Insert a document's rows, not current yet; return the submission's id."""
        return self.stage_all([(submission, rows)])[0]

    def stage_all(self, documents: Sequence[tuple[Submission, Rows]]) -> list[int]:
        """Insert several documents in one transaction; return their submissions' ids.

        Documents staged already are skipped. Other bytes of a known item replace its rows; if those are published,
        StoreError is raised.
        """
        with self._write() as connection:
            known_ids = self._find_staged(connection, documents)
            fresh = [(submission, rows) for submission, rows in documents if submission.item not in known_ids]
            known_ids |= self._insert_documents(connection, fresh)
            return [known_ids[submission.item] for submission, _ in documents]

    def judge(self, documents: Sequence[Undecided], at: datetime) -> list[Published | None]:
        """Publish or withhold staged documents in one transaction, in their order; None for one withheld."""
        with self._write() as connection:
            return judge(connection, self._schema, documents, at)

    def publish(self, item: int, at: datetime) -> Published:
        """Make a staged document's records current, also if it was withheld."""
        with self._write() as connection:
            return history.publish(connection, self._schema, item, at)

    def withhold(self, item: int, at: datetime, reason: Reason = Reason.INTEGRITY_FATAL) -> None:
        """Mark a document's rows as not to be current; undo its publication."""
        with self._write() as connection:
            history.withhold(connection, self._schema, item, at, str(reason))

    def known(self, question: str, keys: Collection[str]) -> set[str]:
        """Return those of `keys` that are known.

        The question is a kind of entity (`specimen`: ever published, not by a delete), or a kind with
        `:current` (valid now).
        """
        with self._read() as connection:
            return history.known(connection, self._schema, question, keys)

    def as_of(self, kind: str, at: datetime) -> list[EntityVersion]:
        """Return the entities of a kind that were current at a moment."""
        with self._read() as connection:
            same_kind = self._schema.entity.c.kind == kind
            versions = history.versions(connection, self._schema, same_kind, history.valid_at(self._schema, at))
            return list(versions)

    def history(self, kind: str, identifier: str) -> list[EntityVersion]:
        """Return all versions of one record, published or not, oldest first."""
        entity = self._schema.entity
        with self._read() as connection:
            conditions = (entity.c.kind == kind, entity.c.identifier == identifier)
            return list(history.versions(connection, self._schema, *conditions))

    def summarise(self, at: datetime, *, full: bool = False) -> Summarised:
        """Bring `context` and `overview` up to date; with `full`, count everything again."""
        if self._summary is None:
            return Summarised(0, 0)
        with self._write() as connection:
            return summarise(connection, self._schema, self._summary, at, full=full)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
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
        """Return the ids of documents staged already, by item; delete rows that other bytes replace."""
        staged_rows: dict[int, Any] = {}
        for chunk in chunks(document.item for document, _ in documents):
            query = statement.submissions_of(self._schema, chunk)
            staged_rows.update((row.item, row) for row in connection.execute(query))
        staged_ids = {}
        for submission, rows in documents if staged_rows else ():
            row = staged_rows.get(submission.item)
            if row is None:
                continue
            if (row.digest, row.action, row.element_count) == (submission.digest, submission.action, rows.count):
                staged_ids[submission.item] = int(row.id)
            elif row.published_at is not None:
                raise StoreError(f"item {submission.item} is already published with other contents: {row.name}")
            else:
                self._delete_rows(connection, row)
        return staged_ids

    def _delete_rows(self, connection: sa.Connection, row: Any) -> None:
        for element in (*self._schema.elements.values(), self._schema.entity, self._schema.context):
            connection.execute(element.delete().where(element.c.submission_id == row.id))
        table = self._schema.submission
        connection.execute(table.delete().where(table.c.id == row.id))

    def _insert_documents(
        self, connection: sa.Connection, documents: Sequence[tuple[Submission, Rows]]
    ) -> dict[int, int]:
        """Insert documents with their ids, submissions, entities and elements; return the submissions' ids by item."""
        if not documents:
            return {}
        number, base = self._allot_ids(connection, len(documents), sum(rows.count for _, rows in documents))
        entries: list[dict[str, Any]] = []
        entities: list[tuple[Any, ...]] = []
        numbered: list[tuple[int, int, Rows]] = []
        for submission, rows in documents:
            if submission.action not in ACTIONS:
                raise StoreError(f"{submission.name}: {submission.action} is not an action")
            values = {"id": number, "first_id": base, "element_count": rows.count, "dirty": True}
            entries.append(values | submission._asdict())
            is_delete = submission.action == "delete"
            entities += [
                (base + local, number, kind, identifier, None, None, None, is_delete, None)
                for local, kind, identifier in rows.entities
            ]
            numbered.append((number, base, rows))
            number, base = number + 1, base + rows.count
        connection.execute(_insert_submission(self._schema), entries)
        insert(connection, self._schema.entity, entities)
        elements(connection, self._schema.elements, numbered)
        return {entry["item"]: entry["id"] for entry in entries}

    def _allot_ids(self, connection: sa.Connection, submissions: int, count: int) -> tuple[int, int]:
        """Reserve consecutive ids for submissions and for `count` elements; return the first of each."""
        connection.execute(_advance_counters(self._schema), {"count": count, "submissions": submissions})
        next_ids = {row.name: int(row.value) for row in connection.execute(_read_counters(self._schema))}
        if set(next_ids) != set(COUNTERS):
            raise StoreError("the store is not prepared", hint="windrow init")
        return next_ids["submission"] - submissions + 1, next_ids["element"] - count + 1


@once
def _insert_submission(schema: TableSchema) -> sa.Insert:
    names = ("id", "first_id", "element_count", "dirty", *Submission._fields)
    return schema.submission.insert().values({name: sa.bindparam(name) for name in names})


@once
def _advance_counters(schema: TableSchema) -> sa.Update:
    counter = schema.counter
    count, submissions = (sa.bindparam(name, type_=sa.BigInteger()) for name in ("count", "submissions"))
    increase = sa.case((counter.c.name == "element", count), else_=submissions)
    return counter.update().where(counter.c.name.in_(COUNTERS)).values(value=counter.c.value + increase)


@once
def _read_counters(schema: TableSchema) -> sa.Select[Any]:
    return sa.select(schema.counter.c.name, schema.counter.c.value).where(schema.counter.c.name.in_(COUNTERS))
