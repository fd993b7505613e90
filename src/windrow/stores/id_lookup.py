"""Which row stands for which key, and how far the projection has come.

Both are kept beside the books and commit with them: on PostgreSQL in a schema `windrow` of the
same database, on MariaDB in a database `windrow` of the same server, in SQLite in the same file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from windrow.errors import StoreError
from windrow.stores.column import MARIADB
from windrow.stores.connect import guarded

SCHEMA = "windrow"
LEFT_OUT = 0
"""The id of rows that are not made, since a row that they need was deleted by somebody."""
CHUNK = 500
"""Most values in one `IN (...)`."""
_CACHED = 20_000

T = TypeVar("T")


def chunks(values: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    """Yield lists of at most `size`.

    >>> list(chunks("abc", 2))
    [['a', 'b'], ['c']]
    """
    stream = iter(values)
    while part := list(islice(stream, size)):
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
        sa.Column("books", sa.String(160), primary_key=True),
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
        sa.Column("books", sa.String(160), primary_key=True),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sqlite_with_rowid=False,
        mysql_engine="InnoDB",
        mariadb_engine="InnoDB",
    )
    return link, checkpoint


def _of_database(engine: sa.Engine, name: str) -> str:
    """Name the books of one database: the `windrow` database of a MariaDB serves all others of its server."""
    return f"{name}@{engine.url.database}" if engine.dialect.name in MARIADB else name


def tables_with_rows(connection: sa.Connection, name: str) -> set[str]:
    """Return the tables of books in which rows were written once, whether any is left or not; makes nothing."""
    link, _ = _tables(connection.dialect.name)
    if not sa.inspect(connection).has_table(link.name, schema=link.schema):
        return set()
    mine = (link.c.books == _of_database(connection.engine, name), link.c.id != LEFT_OUT)
    return set(connection.scalars(sa.select(link.c.table_name).where(*mine).distinct()))


class IdLookup:
    """The ids behind the keys of one book; what was looked up lately is remembered."""

    def __init__(self, engine: sa.Engine, name: str) -> None:
        """Make the two tables where they are missing."""
        self._kind = engine.dialect.name
        self._name = _of_database(engine, name)
        self.link, self.checkpoint = _tables(self._kind)
        self._known: dict[str, dict[str, int]] = {}
        self._next: dict[str, int] = {}
        with guarded(engine), engine.begin() as connection:
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
                f"the {word.lower()} {SCHEMA}, which keeps the books' checkpoint, is not there and may not be made",
                hint=f"let an administrator run: {grant};",
            ) from error

    def clear(self, connection: sa.Connection) -> None:
        """Begin anew: no row stands for any key, and nothing was projected."""
        for table in (self.link, self.checkpoint):
            connection.execute(table.delete().where(table.c.books == self._name))
        self.forget()

    def has(self, connection: sa.Connection, table: str) -> bool:
        """Tell whether a row of the table was ever made or taken over."""
        mine = (self.link.c.books == self._name, self.link.c.table_name == table, self.link.c.id != LEFT_OUT)
        return connection.scalar(sa.select(self.link.c.id).where(*mine).limit(1)) is not None

    def forget(self) -> None:
        """Drop what is remembered: after a transaction that was rolled back."""
        self._known.clear()
        self._next.clear()

    def seq(self, connection: sa.Connection) -> int:
        """Return the checkpoint, 0 at first."""
        table = self.checkpoint
        found = connection.scalar(sa.select(table.c.seq).where(table.c.books == self._name))
        return int(found or 0)

    def reach(self, connection: sa.Connection, seq: int) -> None:
        """Move the checkpoint."""
        table = self.checkpoint
        mine = table.c.books == self._name
        if connection.scalar(sa.select(sa.func.count()).select_from(table).where(mine)):
            connection.execute(table.update().where(mine).values(seq=seq))
        else:
            connection.execute(table.insert().values(books=self._name, seq=seq))

    def ids(self, connection: sa.Connection, table: str, keys: Collection[str]) -> dict[str, int]:
        """Return the ids behind those of the keys that have one; the answer is remembered."""
        known = self._known.setdefault(table, {})
        if len(known) > _CACHED:
            known.clear()
        link = self.link
        columns = sa.select(link.c.key, link.c.id)
        mine = (link.c.books == self._name) & (link.c.table_name == table)
        for part in chunks(key for key in keys if key not in known):
            known.update(
                (key, number) for key, number in connection.execute(columns.where(mine & link.c.key.in_(part)))
            )
        return known

    def keys(self, connection: sa.Connection, table: str) -> list[str]:
        """Return all keys that rows of a table stand for."""
        link = self.link
        mine = (link.c.books == self._name) & (link.c.table_name == table)
        return list(connection.scalars(sa.select(link.c.key).where(mine).order_by(link.c.key)))

    def add(self, connection: sa.Connection, table: str, made: Sequence[tuple[str, int]]) -> None:
        """Put ids behind new keys."""
        if made:
            rows = [{"books": self._name, "table_name": table, "key": key, "id": number} for key, number in made]
            connection.execute(self.link.insert(), rows)
            self._known.setdefault(table, {}).update(made)

    def leave_out(self, connection: sa.Connection, table: str, numbers: Collection[int]) -> None:
        """Note that these rows were deleted by somebody and stay away."""
        link = self.link
        mine = (link.c.books == self._name) & (link.c.table_name == table)
        for part in chunks(numbers):
            connection.execute(link.update().where(mine & link.c.id.in_(part)).values(id=LEFT_OUT))
        if numbers:
            self._known.pop(table, None)

    def drop(self, connection: sa.Connection, table: str, keys: Collection[str]) -> None:
        """Forget keys for good."""
        link = self.link
        mine = (link.c.books == self._name) & (link.c.table_name == table)
        for part in chunks(keys):
            connection.execute(link.delete().where(mine & link.c.key.in_(part)))
            for key in part:
                self._known.get(table, {}).pop(key, None)

    def allot(self, connection: sa.Connection, table: sa.Table, count: int) -> range:
        """Return the next ids of a table: one more than any that is or, to our knowledge, was in use."""
        link = self.link
        if table.name not in self._next:
            mine = (link.c.books == self._name) & (link.c.table_name == table.name)
            used = connection.scalar(sa.select(sa.func.max(link.c.id)).where(mine))
            self._next[table.name] = int(used or 0) + 1
        used = connection.scalar(sa.select(sa.func.max(table.c.id)))
        first = max(self._next[table.name], int(used or 0) + 1)
        self._next[table.name] = first + count
        return range(first, first + count)
