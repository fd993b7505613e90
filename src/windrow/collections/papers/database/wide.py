"""Wide rows in SQLite, and the function that opens a table by its address."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from urllib.parse import urlsplit

from isal import isal_zlib

from windrow.collections.papers.columns import Cells, Family, Put, check_families, check_known, check_put
from windrow.collections.papers.database.hbase import Gateway, HbaseTable
from windrow.errors import ConfigError
from windrow.stores.sqlite import SqliteStore, close_on_failure

_SCHEMA = """
CREATE TABLE IF NOT EXISTS family (name TEXT PRIMARY KEY, compressed INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS key (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE) STRICT;
CREATE TABLE IF NOT EXISTS cell (key INTEGER NOT NULL REFERENCES key, column TEXT NOT NULL,
    packed INTEGER NOT NULL, value BLOB NOT NULL, PRIMARY KEY (key, column)) STRICT;
"""
_COMPRESSED_FROM = 256  # bytes; smaller cells hardly shrink
_PAGE, _CHUNK = 200, 400  # rows of a scan in memory at once, and keys in one query


class SqliteTable(SqliteStore):
    """A table of wide rows in a file."""

    def __init__(self, path: Path, name: str, families: Sequence[Family], *, read_only: bool = False) -> None:
        """Open the file, making it if needed; missing families are added."""
        check_families(families)
        self._name = name
        super().__init__(path, _SCHEMA, read_only=read_only)
        with close_on_failure(self.close), self._guarded():
            if not read_only:
                self._make(families)
            rows = self._connection.execute("SELECT name, compressed FROM family ORDER BY name")
            self._families = {family: Family(family, (), bool(packed)) for family, packed in rows}
        self._known = frozenset(self._families)

    def _make(self, families: Sequence[Family]) -> None:
        run = self._connection.execute
        run("CREATE TABLE IF NOT EXISTS named (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID")
        shape = run("SELECT name FROM named").fetchone()
        if shape is None:
            run("INSERT OR IGNORE INTO named VALUES (?)", (self._name,))
        elif shape[0] != self._name:
            raise ConfigError(f"{self.path} holds the table {shape[0]}, not {self._name}")
        for family in families:
            run("INSERT INTO family VALUES (?, ?) ON CONFLICT DO NOTHING", (family.name, family.compressed))

    def get(self, key: bytes, columns: Sequence[str] = ()) -> Cells:
        """Return a row; empty if it does not exist."""
        return self.get_many([key], columns).get(key, {})

    def get_many(self, keys: Sequence[bytes], columns: Sequence[str] = ()) -> dict[bytes, Cells]:
        """Return the rows of these keys that exist."""
        condition, parameters = self._column_condition(columns)
        cells_by_key: dict[bytes, Cells] = {}
        with self._guarded():
            for start in range(0, len(keys), _CHUNK):
                part = keys[start : start + _CHUNK]
                marks = ",".join("?" * len(part))
                text = (
                    f"SELECT k.key, c.column, c.packed, c.value FROM key k JOIN cell c ON c.key = k.id"
                    f" WHERE k.key IN ({marks}){condition} ORDER BY k.key, c.column"
                )
                cells_by_key |= dict(_rows(self._connection.execute(text, (*part, *parameters))))
        return cells_by_key

    def put(self, rows: Iterable[Put]) -> None:
        """Write cells of rows, in one transaction."""
        run = self._connection.execute
        with self._writing():
            for row in rows:
                check_put(row, self._known)
                if row.cells:
                    run("INSERT INTO key (key) VALUES (?) ON CONFLICT DO NOTHING", (row.key,))
                key_row = run("SELECT id FROM key WHERE key = ?", (row.key,)).fetchone()
                if key_row is None:
                    continue
                for column in row.cleared:
                    run("DELETE FROM cell WHERE key = ? AND column = ?", (key_row[0], column))
                run_many = self._connection.executemany
                run_many(
                    "INSERT INTO cell VALUES (?,?,?,?) ON CONFLICT DO UPDATE"
                    " SET packed = excluded.packed, value = excluded.value",
                    [(key_row[0], column, *self._pack(column, cell)) for column, cell in row.cells.items()],
                )

    def _pack(self, column: str, cell: bytes) -> tuple[int, bytes]:
        """Return whether a cell is stored compressed, and its bytes."""
        if len(cell) > _COMPRESSED_FROM and self._families[column.partition(":")[0]].compressed:
            packed = isal_zlib.compress(cell)
            if len(packed) < len(cell):
                return 1, packed
        return 0, bytes(cell)

    def delete(self, keys: Iterable[bytes]) -> None:
        """Remove rows, and overwrite them in the file's free pages."""
        self._connection.execute("PRAGMA secure_delete = ON").fetchall()
        with self._writing():
            for key in keys:
                self._connection.execute("DELETE FROM cell WHERE key = (SELECT id FROM key WHERE key = ?)", (key,))
                self._connection.execute("DELETE FROM key WHERE key = ?", (key,))

    def scan(self, columns: Sequence[str] = (), after: bytes = b"") -> Iterator[tuple[bytes, Cells]]:
        """Yield rows in the order of their keys; writing goes on beside it."""
        condition, parameters = self._column_condition(columns)
        text = f"""
            SELECT k.key, c.column, c.packed, c.value FROM
                (SELECT id, key FROM key WHERE key > ? ORDER BY key LIMIT {_PAGE}) k
            LEFT JOIN cell c ON c.key = k.id{condition} ORDER BY k.key, c.column
        """
        while True:
            with self._guarded():
                last = b""
                for key, cells in _rows(self._connection.execute(text, (after, *parameters))):
                    last = key
                    if cells:
                        yield key, cells
            if not last:
                return
            after = last

    def _column_condition(self, columns: Sequence[str]) -> tuple[str, list[str]]:
        """Return the SQL condition that selects these columns, and its parameters."""
        check_known(columns, self._known)
        if not columns:
            return "", []
        tests, parameters = [], []
        for name in columns:
            family, _, column = name.partition(":")
            tests.append("c.column = ?" if column else "(c.column > ? AND c.column < ?)")
            parameters += [name] if column else [f"{family}:", f"{family};"]
        return f" AND ({' OR '.join(tests)})", parameters

    def families(self) -> tuple[Family, ...]:
        """Return the file's families."""
        return tuple(self._families.values())


def _rows(rows: Iterable[tuple[bytes, str | None, int, bytes]]) -> Iterator[tuple[bytes, dict[str, bytes]]]:
    for key, cells in groupby(rows, key=lambda row: row[0]):
        yield (
            key,
            {
                column: isal_zlib.decompress(stored) if packed else stored
                for _, column, packed, stored in cells
                if column
            },
        )


PORT = 9090
"""The default port of HBase's Thrift gateway."""


def open_table(
    address: str, name: str, families: Sequence[Family], *, read_only: bool = False
) -> SqliteTable | HbaseTable:
    """Open the table at an address, making it if it is missing and not `read_only`."""
    if not address.startswith("hbase:"):
        return SqliteTable(Path(address), name, families, read_only=read_only)
    return HbaseTable(parse_gateway(address), name, families, read_only=read_only)


def parse_gateway(address: str) -> Gateway:
    """Return the host and port of an address `hbase://HOST:PORT`.

    >>> parse_gateway("hbase://gateway.example")
    Gateway(host='gateway.example', port=9090)
    """
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or PORT
    except ValueError as error:
        raise ConfigError(f"{address!r}: {error}") from None
    if not host or parts.path.strip("/") or parts.username:
        raise ConfigError(f"{address!r} is not like hbase://HOST:{PORT}")
    return Gateway(host, port)
