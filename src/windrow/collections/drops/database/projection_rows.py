"""The row changes that a projection returns, and two tables of bookkeeping: the ids of rows and the checkpoint.

A projection names rows by keys. The table `link` has the id of each key, and the table `checkpoint` has the number of
the last projected fact. Both are written in the same transactions as the projected tables. On PostgreSQL they are in a
schema `windrow` in the same database, on MariaDB in a database `windrow` on the same server, and on SQLite in the same
file, where their names begin with `windrow_`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from windrow.collections.drops.database.tracker_tables import MARIADB_DIALECTS
from windrow.errors import StoreError
from windrow.stores.databases import map_errors

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class Insert(IntEnum):
    """When a row that is missing from the table is inserted."""

    NEVER = 0  # only an existing row is changed
    NEW = 1  # if its key is new, but not if somebody deleted the row
    AGAIN = 2  # if its key is new, or if somebody deleted the row


class LateReference(NamedTuple):
    """A reference to the row `key` of `table`. The reference is written after all rows of the batch.

    `substitute` is written in place of an id that is missing or above `max_id`.
    """

    table: str
    key: str
    max_id: int
    substitute: int


class RowChange(NamedTuple):
    """Set the row of `table` with this `key` to these values, and insert it if it is missing and `insert` allows that.

    `references` are columns for the ids of other rows, given as (table, key). If the other row is missing or deleted,
    the column becomes NULL; if it must not be NULL, the row is neither inserted nor changed. `initial_values` are for a
    row that is inserted. `unless` is (column, value): an existing row with this value is not changed, because another
    program has taken it over.
    """

    table: str
    key: str
    values: Mapping[str, object] = _EMPTY
    references: Mapping[str, tuple[str, str]] = _EMPTY
    initial_values: Mapping[str, object] = _EMPTY
    unless: tuple[str, object] | None = None
    insert: Insert = Insert.NEW
    late_references: Mapping[str, LateReference] = _EMPTY


class SharedChange(NamedTuple):
    """Set the existing rows of `table` with these `keys` to the same values, after the `RowChange`s of the batch.

    `unless` is as in `RowChange`.
    """

    table: str
    keys: Sequence[str]
    values: Mapping[str, object]
    unless: tuple[str, object] | None = None


class MergedRow:
    """All changes to one row in a batch, merged: the last value of each column, and the first of its initial values."""

    __slots__ = (
        *("initial_values", "insert", "late_references", "references", "unless", "values", "values_if_present"),
    )

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.references: dict[str, tuple[str, str]] = {}
        self.values_if_present: dict[str, Any] = {}  # of changes before the one that inserts the row; not for a new row
        self.initial_values: dict[str, object] = {}
        self.unless: tuple[str, object] | None = None
        self.insert = Insert.NEVER
        self.late_references: dict[str, LateReference] = {}

    def set(self, values: Mapping[str, Any], references: Mapping[str, tuple[str, str]]) -> None:
        """Set columns to values or references, which replace earlier values and references of these columns."""
        if self.references or self.late_references:
            for column in self.references.keys() & values.keys():
                del self.references[column]
            for column in self.late_references.keys() & values.keys():
                del self.late_references[column]
        self.values.update(values)
        if references:
            for column in self.values.keys() & references.keys():
                del self.values[column]
            self.references.update(references)


def merge_changes(changes: Iterable[RowChange]) -> dict[str, dict[str, MergedRow]]:
    """Merge the changes to each row; return, for each table, a dict from key to merged row.

    Rows that may be inserted are in the order of the first changes that may insert them.

    >>> changes = [RowChange("t", "a", {"x": 1, "y": 1}), RowChange("t", "b", {"x": 2}), RowChange("t", "a", {"x": 3})]
    >>> rows = merge_changes(changes)
    >>> {key: row.values for key, row in rows["t"].items()}
    {'a': {'x': 3, 'y': 1}, 'b': {'x': 2}}
    """
    tables: dict[str, dict[str, MergedRow]] = {}
    for table, key, values, references, initial_values, unless, insert, late_references in changes:
        rows = tables.setdefault(table, {})
        row = rows.get(key)
        if row is None:
            row = rows[key] = MergedRow()
        elif row.insert is Insert.NEVER and insert is not Insert.NEVER:
            row.values_if_present, row.values = row.values, {}
            rows[key] = rows.pop(key)  # ids follow the order of insertion
        row.set(values, references)
        for column, value in initial_values.items():
            row.initial_values.setdefault(column, value)
        row.unless = unless or row.unless
        row.insert = max(insert, row.insert)
        if late_references:
            row.late_references.update(late_references)
    return tables


def is_one_of(column: sa.ColumnElement[int], numbers: Sequence[int]) -> sa.ColumnElement[bool]:
    """Return the condition that a column has one of these numbers: a range if there are no gaps, otherwise a list.

    The numbers in a list are literals, since binding each of them takes longer than running the statement.
    """
    distinct_numbers = set(numbers)
    if distinct_numbers and max(distinct_numbers) - min(distinct_numbers) + 1 == len(distinct_numbers):
        return column.between(min(distinct_numbers), max(distinct_numbers))
    literals = sa.bindparam(None, [*map(int, numbers)], type_=sa.BigInteger(), expanding=True, literal_execute=True)
    return column.in_(literals)


class Seed(NamedTuple):
    """A row that a table must have with this id; its value in `identifying_column` is unique in the table."""

    table: str
    id: int
    identifying_column: str
    values: Mapping[str, object]


def insert_seeds(connection: sa.Connection, metadata: sa.MetaData, seeds: Iterable[Seed]) -> int:
    """Insert the seed rows that are missing, without changing existing rows; return the number of inserted rows.

    Raises StoreError if a seed row has a different id in the table, or if another row has its id, because programs that
    read the tables rely on these ids.
    """
    added_counts: dict[str, int] = {}
    names_by_id: dict[str, dict[int, object]] = {}  # by table, before the first insertion
    for seed in seeds:
        table = metadata.tables[seed.table]
        name = seed.values[seed.identifying_column]
        identifying_column = table.c[seed.identifying_column]
        if seed.table not in names_by_id:
            rows = connection.execute(sa.select(table.c.id, identifying_column))
            names_by_id[seed.table] = {row[0]: row[1] for row in rows}
        if names_by_id[seed.table].get(seed.id) == name:
            continue
        ids = connection.scalars(sa.select(table.c.id).where(identifying_column == name)).all()
        if seed.id in ids:
            continue
        present_name = connection.scalar(sa.select(identifying_column).where(table.c.id == seed.id))
        if ids or present_name is not None:
            difference = f"has the id {ids[0]}" if ids else f"is missing, and {present_name!r} has its id"
            raise StoreError(
                f"{seed.table}: {name!r} {difference}; the standard gives it the id {seed.id}",
                hint=f"give the rows of {seed.table} the standard's ids, also in references, or name another database",
            )
        connection.execute(table.insert().values(id=seed.id, **seed.values))
        added_counts[seed.table] = added_counts.get(seed.table, 0) + 1
    for name in added_counts:
        advance_sequence(connection, metadata.tables[name])
    return sum(added_counts.values())


def advance_sequence(connection: sa.Connection, table: sa.Table) -> None:
    """Make PostgreSQL's sequence continue after the ids in the table; other databases do so by themselves."""
    if connection.dialect.name == "postgresql":
        last_id = sa.select(sa.func.max(table.c.id)).scalar_subquery()
        sequence = sa.func.pg_get_serial_sequence(table.name, "id")
        connection.execute(sa.select(sa.func.setval(sequence, last_id)))


BOOKKEEPING_SCHEMA = "windrow"
LEFT_OUT = 0
"""The id that is recorded for the key of a row that was deleted, or that lacked a required value or reference."""
CHUNK_SIZE = 500
"""The maximum number of values in one `IN (...)`."""
_MAX_CACHED_IDS = 20_000
_EXACT_COLLATIONS = {"postgresql": "C", "mariadb": "utf8mb4_nopad_bin", "mysql": "utf8mb4_bin"}

_Value = TypeVar("_Value")


def chunks(values: Iterable[_Value]) -> Iterator[list[_Value]]:
    """Yield the values in lists of at most `CHUNK_SIZE`.

    >>> [len(part) for part in chunks(range(2 * CHUNK_SIZE + 1))] == [CHUNK_SIZE, CHUNK_SIZE, 1]
    True
    """
    iterator = iter(values)
    while chunk := list(islice(iterator, CHUNK_SIZE)):
        yield chunk


def _make_bookkeeping_tables(dialect: str) -> tuple[sa.Table, sa.Table]:
    is_server = dialect != "sqlite"
    metadata = sa.MetaData(schema=BOOKKEEPING_SCHEMA if is_server else None)
    prefix = "" if is_server else "windrow_"

    def exact_text(length: int) -> sa.String:
        """Return a type that compares texts exactly; the default collation of a server may take letters for equal."""
        exact_type = sa.String(length)
        for name, collation in _EXACT_COLLATIONS.items():
            exact_type = exact_type.with_variant(sa.String(length, collation=collation), name)
        return exact_type

    ids = sa.Table(
        f"{prefix}link",
        metadata,
        sa.Column("projection", exact_text(160), primary_key=True),
        sa.Column("table_name", exact_text(64), primary_key=True),
        sa.Column("key", exact_text(255), primary_key=True),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sqlite_with_rowid=False,
        mysql_engine="InnoDB",
        mariadb_engine="InnoDB",
    )
    checkpoint = sa.Table(
        f"{prefix}checkpoint",
        metadata,
        sa.Column("projection", exact_text(160), primary_key=True),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sqlite_with_rowid=False,
        mysql_engine="InnoDB",
        mariadb_engine="InnoDB",
    )
    return ids, checkpoint


def _qualified_name(engine: sa.Engine, name: str) -> str:
    """Return a projection's name, on MariaDB followed by its database, since all databases share `windrow`."""
    return f"{name}@{engine.url.database}" if engine.dialect.name in MARIADB_DIALECTS else name


def _owner_row(engine: sa.Engine, name: str) -> str:
    """Return the name of the row beside that of a projection's checkpoint which has the identity of its ledger."""
    return f"{_qualified_name(engine, name)} of"


def find_owner(connection: sa.Connection, name: str) -> int:
    """Return the identity of the ledger whose facts a projection has, or 0 if it is not recorded."""
    _, table = _make_bookkeeping_tables(connection.dialect.name)
    if not sa.inspect(connection).has_table(table.name, schema=table.schema):
        return 0
    condition = table.c.projection == _owner_row(connection.engine, name)
    return int(connection.scalar(sa.select(table.c.seq).where(condition)) or 0)


def find_written_tables(connection: sa.Connection, name: str) -> set[str]:
    """Return the names of tables with rows that a projection wrote. Rows recorded as LEFT_OUT do not count."""
    link, _ = _make_bookkeeping_tables(connection.dialect.name)
    if not sa.inspect(connection).has_table(link.name, schema=link.schema):
        return set()
    conditions = (link.c.projection == _qualified_name(connection.engine, name), link.c.id != LEFT_OUT)
    return set(connection.scalars(sa.select(link.c.table_name).where(*conditions).distinct()))


class IdLookup:
    """The ids of a projection's rows by key, and its checkpoint; recent look-ups are cached."""

    def __init__(self, engine: sa.Engine, name: str) -> None:
        """Create the tables of bookkeeping if they are missing; raise StoreError if the database does not permit it."""
        self._dialect = engine.dialect.name
        self._name = _qualified_name(engine, name)
        self._owner = _owner_row(engine, name)
        self.link, self.checkpoint = _make_bookkeeping_tables(self._dialect)
        self._ids_by_table: dict[str, dict[str, int]] = {}
        self._next_ids: dict[str, int] = {}
        with map_errors(engine), engine.begin() as connection:
            self._create_schema(connection)
            self.link.metadata.create_all(connection)

    def _create_schema(self, connection: sa.Connection) -> None:
        if self._dialect == "sqlite" or sa.inspect(connection).has_schema(BOOKKEEPING_SCHEMA):
            return
        sql_word = "DATABASE" if self._dialect in MARIADB_DIALECTS else "SCHEMA"
        try:
            connection.exec_driver_sql(f"CREATE {sql_word} {BOOKKEEPING_SCHEMA}")
        except (exc.OperationalError, exc.ProgrammingError) as error:
            url = connection.engine.url
            grant = (
                f"GRANT ALL PRIVILEGES ON {BOOKKEEPING_SCHEMA}.* TO '{url.username}'@'%'"
                if self._dialect in MARIADB_DIALECTS
                else f'GRANT CREATE ON DATABASE "{url.database}" TO "{url.username}"'
            )
            raise StoreError(
                f"the {sql_word.lower()} {BOOKKEEPING_SCHEMA}, for the checkpoint, is missing and cannot be created",
                hint=f"let an administrator run: {grant};",
            ) from error

    def clear(self, connection: sa.Connection) -> None:
        """Delete all keys and the checkpoint of the projection."""
        connection.execute(self.link.delete().where(self.link.c.projection == self._name))
        connection.execute(self.checkpoint.delete().where(self.checkpoint.c.projection.in_((self._name, self._owner))))
        self.clear_cache()

    def has_rows(self, connection: sa.Connection, table: str) -> bool:
        """Return whether the table has rows that the projection wrote, according to the bookkeeping."""
        conditions = (self.link.c.projection == self._name, self.link.c.table_name == table, self.link.c.id != LEFT_OUT)
        return connection.scalar(sa.select(self.link.c.id).where(*conditions).limit(1)) is not None

    def clear_cache(self) -> None:
        """Clear the cache. This is needed after a transaction is rolled back."""
        self._ids_by_table.clear()
        self._next_ids.clear()

    def read_checkpoint(self, connection: sa.Connection) -> int:
        """Return the number of the last projected fact, or 0 if there is none."""
        table = self.checkpoint
        return int(connection.scalar(sa.select(table.c.seq).where(table.c.projection == self._name)) or 0)

    def write_checkpoint(self, connection: sa.Connection, seq: int) -> None:
        """Record the number of the last projected fact."""
        self._write_number(connection, self._name, seq)

    def write_owner(self, connection: sa.Connection, identity: int) -> None:
        """Record the identity of the ledger whose facts are projected."""
        self._write_number(connection, self._owner, identity)

    def _write_number(self, connection: sa.Connection, name: str, number: int) -> None:
        table = self.checkpoint
        condition = table.c.projection == name
        if connection.scalar(sa.select(sa.func.count()).select_from(table).where(condition)):
            connection.execute(table.update().where(condition).values(seq=number))
        else:
            connection.execute(table.insert().values(projection=name, seq=number))

    def lacks_last_row(self, connection: sa.Connection, table: sa.Table) -> bool:
        """Return whether the row of a table that the projection inserted last is missing."""
        conditions = (self.link.c.projection == self._name, self.link.c.table_name == table.name)
        last_id = connection.scalar(sa.select(sa.func.max(self.link.c.id)).where(*conditions))
        return bool(last_id) and connection.scalar(sa.select(table.c.id).where(table.c.id == last_id)) is None

    def find_ids(self, connection: sa.Connection, table: str, keys: Collection[str]) -> dict[str, int]:
        """Return a dict from key to row id (or LEFT_OUT) for all recorded `keys`, and perhaps for other keys."""
        cached = self._ids_by_table.setdefault(table, {})
        if len(cached) > _MAX_CACHED_IDS:
            cached.clear()
        link = self.link
        columns = sa.select(link.c.key, link.c.id)
        condition = (link.c.projection == self._name) & (link.c.table_name == table)
        for part in chunks(key for key in keys if key not in cached):
            cached.update(
                (key, number) for key, number in connection.execute(columns.where(condition & link.c.key.in_(part)))
            )
        return cached

    def find_keys(self, connection: sa.Connection, table: str) -> list[str]:
        """Return all keys of a table, sorted, including keys of rows that were left out or deleted."""
        link = self.link
        condition = (link.c.projection == self._name) & (link.c.table_name == table)
        return list(connection.scalars(sa.select(link.c.key).where(condition).order_by(link.c.key)))

    def record_ids(self, connection: sa.Connection, table: str, new_ids: Sequence[tuple[str, int]]) -> None:
        """Record the ids of new keys, given as (key, id)."""
        if new_ids:
            rows = [
                {"projection": self._name, "table_name": table, "key": key, "id": number} for key, number in new_ids
            ]
            connection.execute(self.link.insert(), rows)
            self._ids_by_table.setdefault(table, {}).update(new_ids)

    def record_deleted(self, connection: sa.Connection, table: str, row_ids: Collection[int]) -> None:
        """Record that another program deleted these rows: only a change with `Insert.AGAIN` inserts them again."""
        link = self.link
        condition = (link.c.projection == self._name) & (link.c.table_name == table)
        for some_ids in chunks(row_ids):
            connection.execute(link.update().where(condition & link.c.id.in_(some_ids)).values(id=LEFT_OUT))
        if row_ids:
            self._ids_by_table.pop(table, None)

    def drop_keys(self, connection: sa.Connection, table: str, keys: Collection[str]) -> None:
        """Delete keys and their ids."""
        link = self.link
        condition = (link.c.projection == self._name) & (link.c.table_name == table)
        for part in chunks(keys):
            connection.execute(link.delete().where(condition & link.c.key.in_(part)))
            for key in part:
                self._ids_by_table.get(table, {}).pop(key, None)

    def allot_ids(self, connection: sa.Connection, table: sa.Table, count: int) -> range:
        """Return the next `count` ids of a table, above the ids of its rows and all ids recorded for it."""
        link = self.link
        if table.name not in self._next_ids:
            condition = (link.c.projection == self._name) & (link.c.table_name == table.name)
            largest_id = connection.scalar(sa.select(sa.func.max(link.c.id)).where(condition))
            self._next_ids[table.name] = int(largest_id or 0) + 1
        largest_id = connection.scalar(sa.select(sa.func.max(table.c.id)))
        first_id = max(self._next_ids[table.name], int(largest_id or 0) + 1)
        self._next_ids[table.name] = first_id + count
        return range(first_id, first_id + count)
