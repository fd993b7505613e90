"""The rows that a projection writes, by keys: their ids, and the projection's checkpoint.

Both are kept beside the projected tables and commit with them: on PostgreSQL in a schema `windrow` of the
same database, on MariaDB in a database `windrow` of the same server, in SQLite in the same file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from windrow.collections.drops.database.tracker_tables import MARIADB
from windrow.errors import StoreError
from windrow.stores.databases import map_errors

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class RowMaking(IntEnum):
    """When a missing row is inserted."""

    NEVER = 0  # only an existing row gets the values
    NEW = 1  # if the key is new; a row that somebody deleted is not inserted again
    AGAIN = 2  # also if somebody deleted it


class LateReference(NamedTuple):
    """A reference against the order of the tables; an id above `most` is written as `instead`."""

    table: str
    key: str
    most: int
    instead: int


class RowPut(NamedTuple):
    """The row of `table` with this `key` has these values.

    `refs` names columns that hold the id of another row, as (its table, its key). A row that refers to a missing or
    deleted row is left out. `once` are values for a new row only. A row whose column `unless[0]` has the value
    `unless[1]` is not changed: another program has taken it over.
    """

    table: str
    key: str
    values: Mapping[str, object] = _NOTHING
    refs: Mapping[str, tuple[str, str]] = _NOTHING
    once: Mapping[str, object] = _NOTHING
    unless: tuple[str, object] | None = None
    make: RowMaking = RowMaking.NEW
    late: Mapping[str, LateReference] = _NOTHING


class SameValues(NamedTuple):
    """The existing rows of `table` with these `keys` have the same values at the end of a batch.

    For many rows it is what a `RowPut` with `RowMaking.NEVER` is for one.
    """

    table: str
    keys: Sequence[str]
    values: Mapping[str, object]
    unless: tuple[str, object] | None = None


class RowValues:
    """All that one batch writes into one row: the last value of each column."""

    __slots__ = ("early", "late", "make", "once", "refs", "unless", "values")

    def __init__(self) -> None:
        """Start without values."""
        self.values: dict[str, Any] = {}
        self.refs: dict[str, tuple[str, str]] = {}
        self.early: dict[str, Any] = {}  # from before the batch asked to insert it: not for a new row
        self.once: dict[str, object] = {}
        self.unless: tuple[str, object] | None = None
        self.make = RowMaking.NEVER
        self.late: dict[str, LateReference] = {}

    def set(self, values: Mapping[str, Any], refs: Mapping[str, tuple[str, str]]) -> None:
        """Set columns to values or references, in place of earlier ones."""
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
    """Gather puts by table and key, in the order of their first put.

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
            rows[key] = rows.pop(key)  # ids follow the order of insertion
        row.set(values, refs)
        for column, value in initial.items():
            row.once.setdefault(column, value)
        row.unless = unless or row.unless
        row.make = max(make, row.make)
        if late:
            row.late.update(late)
    return tables


def among(column: sa.ColumnElement[int], numbers: Sequence[int]) -> sa.ColumnElement[bool]:
    """Return the condition that a column has one of these numbers: as a range where they have no gaps.

    Others are written into the statement as literals: to bind each by name takes longer than the statement itself.
    """
    distinct = set(numbers)
    if distinct and max(distinct) - min(distinct) + 1 == len(distinct):
        return column.between(min(distinct), max(distinct))
    literals = sa.bindparam(None, [*map(int, numbers)], type_=sa.BigInteger(), expanding=True, literal_execute=True)
    return column.in_(literals)


class Seed(NamedTuple):
    """One row with the id that its standard gives it; `natural` names the column that identifies it."""

    table: str
    id: int
    natural: str
    values: Mapping[str, object]


def insert_seeds(connection: sa.Connection, metadata: sa.MetaData, seeds: Iterable[Seed]) -> int:
    """Add each row that is missing; never change or remove one. Return how many were added.

    Raises `StoreError` if a row has another id than in the standard, or another row has that id: readers of the tables
    rely on these ids.
    """
    added: dict[str, int] = {}
    for seed in seeds:
        table = metadata.tables[seed.table]
        name = seed.values[seed.natural]
        natural = table.c[seed.natural]
        ids = connection.scalars(sa.select(table.c.id).where(natural == name)).all()
        if seed.id in ids:
            continue
        present_name = connection.scalar(sa.select(natural).where(table.c.id == seed.id))
        if ids or present_name is not None:
            difference = f"has the id {ids[0]}" if ids else f"is missing, and its id is held by {present_name!r}"
            raise StoreError(
                f"{seed.table}: {name!r} {difference}; the standard gives it the id {seed.id}",
                hint=f"give the rows of {seed.table} the standard's ids (references follow), or name another database",
            )
        connection.execute(table.insert().values(id=seed.id, **seed.values))
        added[seed.table] = added.get(seed.table, 0) + 1
    for name in added:
        advance_sequence(connection, metadata.tables[name])
    return sum(added.values())


def advance_sequence(connection: sa.Connection, table: sa.Table) -> None:
    """Set a PostgreSQL sequence after ids that we chose; other databases do so themselves."""
    if connection.dialect.name == "postgresql":
        last = sa.select(sa.func.max(table.c.id)).scalar_subquery()
        sequence = sa.func.pg_get_serial_sequence(table.name, "id")
        connection.execute(sa.select(sa.func.setval(sequence, last)))


SCHEMA = "windrow"
LEFT_OUT = 0
"""The id of rows that are not inserted, since a row that they need was deleted by somebody."""
CHUNK = 500
"""Most values in one `IN (...)`."""
_CACHED = 20_000

T = TypeVar("T")


def chunks(values: Iterable[T]) -> Iterator[list[T]]:
    """Yield lists of at most `CHUNK`.

    >>> [len(part) for part in chunks(range(2 * CHUNK + 1))] == [CHUNK, CHUNK, 1]
    True
    """
    stream = iter(values)
    while part := list(islice(stream, CHUNK)):
        yield part


def _tables(kind: str) -> tuple[sa.Table, sa.Table]:
    server = kind != "sqlite"
    metadata = sa.MetaData(schema=SCHEMA if server else None)
    prefix = "" if server else "windrow_"
    exact = sa.String(255).with_variant(sa.String(255, collation="utf8mb4_bin"), *MARIADB)
    exact = exact.with_variant(sa.String(255, collation="C"), "postgresql")
    link = sa.Table(
        f"{prefix}link",
        metadata,
        sa.Column("projection", sa.String(160), primary_key=True),
        sa.Column("table_name", sa.String(64), primary_key=True),
        sa.Column("key", exact, primary_key=True),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sqlite_with_rowid=False,
        mysql_engine="InnoDB",
        mariadb_engine="InnoDB",
    )
    checkpoint = sa.Table(
        f"{prefix}checkpoint",
        metadata,
        sa.Column("projection", sa.String(160), primary_key=True),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sqlite_with_rowid=False,
        mysql_engine="InnoDB",
        mariadb_engine="InnoDB",
    )
    return link, checkpoint


def _qualify(engine: sa.Engine, name: str) -> str:
    """Return the name of a database's projection: all databases of a MariaDB server share one `windrow`."""
    return f"{name}@{engine.url.database}" if engine.dialect.name in MARIADB else name


def tables_with_rows(connection: sa.Connection, name: str) -> set[str]:
    """Return the tables into which a projection ever wrote rows, even if all rows are deleted. Nothing is created."""
    link, _ = _tables(connection.dialect.name)
    if not sa.inspect(connection).has_table(link.name, schema=link.schema):
        return set()
    conditions = (link.c.projection == _qualify(connection.engine, name), link.c.id != LEFT_OUT)
    return set(connection.scalars(sa.select(link.c.table_name).where(*conditions).distinct()))


class IdLookup:
    """The ids of the keys of one projection; recent look-ups are cached."""

    def __init__(self, engine: sa.Engine, name: str) -> None:
        """Create the two tables if they are missing."""
        self._kind = engine.dialect.name
        self._name = _qualify(engine, name)
        self.link, self.checkpoint = _tables(self._kind)
        self._known: dict[str, dict[str, int]] = {}
        self._next: dict[str, int] = {}
        with map_errors(engine), engine.begin() as connection:
            self._make_schema(connection)
            self.link.metadata.create_all(connection)

    def _make_schema(self, connection: sa.Connection) -> None:
        if self._kind == "sqlite" or sa.inspect(connection).has_schema(SCHEMA):
            return
        word = "DATABASE" if self._kind in MARIADB else "SCHEMA"
        try:
            connection.exec_driver_sql(f"CREATE {word} {SCHEMA}")
        except (exc.OperationalError, exc.ProgrammingError) as error:
            url = connection.engine.url
            grant = (
                f"GRANT ALL PRIVILEGES ON {SCHEMA}.* TO '{url.username}'@'%'"
                if self._kind in MARIADB
                else f'GRANT CREATE ON DATABASE "{url.database}" TO "{url.username}"'
            )
            raise StoreError(
                f"the {word.lower()} {SCHEMA}, which keeps the checkpoint, is missing and may not be created",
                hint=f"let an administrator run: {grant};",
            ) from error

    def clear(self, connection: sa.Connection) -> None:
        """Forget all keys and the checkpoint."""
        for table in (self.link, self.checkpoint):
            connection.execute(table.delete().where(table.c.projection == self._name))
        self.forget()

    def has(self, connection: sa.Connection, table: str) -> bool:
        """Tell whether a row of the table was ever inserted or adopted."""
        conditions = (self.link.c.projection == self._name, self.link.c.table_name == table, self.link.c.id != LEFT_OUT)
        return connection.scalar(sa.select(self.link.c.id).where(*conditions).limit(1)) is not None

    def forget(self) -> None:
        """Clear the cache, after a transaction that was rolled back."""
        self._known.clear()
        self._next.clear()

    def seq(self, connection: sa.Connection) -> int:
        """Return the checkpoint: the number of the last projected fact, or 0."""
        table = self.checkpoint
        checkpoint = connection.scalar(sa.select(table.c.seq).where(table.c.projection == self._name))
        return int(checkpoint or 0)

    def reach(self, connection: sa.Connection, seq: int) -> None:
        """Move the checkpoint."""
        table = self.checkpoint
        condition = table.c.projection == self._name
        if connection.scalar(sa.select(sa.func.count()).select_from(table).where(condition)):
            connection.execute(table.update().where(condition).values(seq=seq))
        else:
            connection.execute(table.insert().values(projection=self._name, seq=seq))

    def ids(self, connection: sa.Connection, table: str, keys: Collection[str]) -> dict[str, int]:
        """Return a cached mapping from keys to their ids; keys without an id are left out."""
        cached = self._known.setdefault(table, {})
        if len(cached) > _CACHED:
            cached.clear()
        link = self.link
        columns = sa.select(link.c.key, link.c.id)
        condition = (link.c.projection == self._name) & (link.c.table_name == table)
        for part in chunks(key for key in keys if key not in cached):
            cached.update(
                (key, number) for key, number in connection.execute(columns.where(condition & link.c.key.in_(part)))
            )
        return cached

    def keys(self, connection: sa.Connection, table: str) -> list[str]:
        """Return all keys of a table's rows."""
        link = self.link
        condition = (link.c.projection == self._name) & (link.c.table_name == table)
        return list(connection.scalars(sa.select(link.c.key).where(condition).order_by(link.c.key)))

    def add(self, connection: sa.Connection, table: str, new_ids: Sequence[tuple[str, int]]) -> None:
        """Record the ids of new keys."""
        if new_ids:
            rows = [
                {"projection": self._name, "table_name": table, "key": key, "id": number} for key, number in new_ids
            ]
            connection.execute(self.link.insert(), rows)
            self._known.setdefault(table, {}).update(new_ids)

    def leave_out(self, connection: sa.Connection, table: str, numbers: Collection[int]) -> None:
        """Record that these rows were deleted by another program and must not be inserted again."""
        link = self.link
        condition = (link.c.projection == self._name) & (link.c.table_name == table)
        for part in chunks(numbers):
            connection.execute(link.update().where(condition & link.c.id.in_(part)).values(id=LEFT_OUT))
        if numbers:
            self._known.pop(table, None)

    def drop(self, connection: sa.Connection, table: str, keys: Collection[str]) -> None:
        """Forget keys for good."""
        link = self.link
        condition = (link.c.projection == self._name) & (link.c.table_name == table)
        for part in chunks(keys):
            connection.execute(link.delete().where(condition & link.c.key.in_(part)))
            for key in part:
                self._known.get(table, {}).pop(key, None)

    def allot(self, connection: sa.Connection, table: sa.Table, count: int) -> range:
        """Return the next ids of a table, greater than all present ids and all recorded former ones."""
        link = self.link
        if table.name not in self._next:
            condition = (link.c.projection == self._name) & (link.c.table_name == table.name)
            largest_id = connection.scalar(sa.select(sa.func.max(link.c.id)).where(condition))
            self._next[table.name] = int(largest_id or 0) + 1
        largest_id = connection.scalar(sa.select(sa.func.max(table.c.id)))
        first_id = max(self._next[table.name], int(largest_id or 0) + 1)
        self._next[table.name] = first_id + count
        return range(first_id, first_id + count)
