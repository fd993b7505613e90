"""Wide rows in SQLite, and the function that opens a table by its address."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from urllib.parse import urlsplit

from isal import isal_zlib

from windrow.collections.papers.columns import Cells, Family, Put, check_columns, check_families, check_put
from windrow.collections.papers.database.hbase import Gateway, HbaseTable
from windrow.errors import ConfigError
from windrow.stores.sqlite import SqliteStore, close_on_failure
from windrow.stores.store_mark import StoreMark

_SCHEMA = """
CREATE TABLE IF NOT EXISTS family (name TEXT PRIMARY KEY, compressed INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mark (one INTEGER PRIMARY KEY CHECK (one = 1), text TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS key (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE) STRICT;
CREATE TABLE IF NOT EXISTS cell (key INTEGER NOT NULL REFERENCES key, column TEXT NOT NULL,
    packed INTEGER NOT NULL, value BLOB NOT NULL, PRIMARY KEY (key, column)) STRICT;
"""
_MIN_COMPRESSED_SIZE = 256  # bytes; smaller cells hardly shrink
_ROWS_PER_PAGE, _KEYS_PER_QUERY = 200, 400


class SqliteTable(SqliteStore):
    """A `WideTable` in an SQLite file."""

    def __init__(self, path: Path, name: str, families: Sequence[Family]) -> None:
        """Open or create the file, and add missing families; raise ConfigError if its table has another name."""
        check_families(families)
        self._name = name
        super().__init__(path, _SCHEMA)
        with close_on_failure(self.close), self._guarded():
            if not self._read_only:  # it is read-only if the file or the disk is
                self._create_table(families)
            rows = self._connection.execute("SELECT name, compressed FROM family ORDER BY name")
            self._families = {family: Family(family, (), bool(is_compressed)) for family, is_compressed in rows}
        self._family_names = frozenset(self._families)

    def _create_table(self, families: Sequence[Family]) -> None:
        run = self._connection.execute
        run("CREATE TABLE IF NOT EXISTS named (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID")
        stored_name = run("SELECT name FROM named").fetchone()
        if stored_name is None:
            run("INSERT OR IGNORE INTO named VALUES (?)", (self._name,))
        elif stored_name[0] != self._name:
            raise ConfigError(f"{self.path} contains the table {stored_name[0]}, not {self._name}")
        for family in families:
            run("INSERT INTO family VALUES (?, ?) ON CONFLICT DO NOTHING", (family.name, family.compressed))

    def mark(self) -> StoreMark:
        """Return of which ledger windrow's rows are, and the number of the last attempt from which they may be."""
        with self._guarded():
            row = self._connection.execute("SELECT text FROM mark").fetchone()
        return StoreMark.read(row[0] if row else "")

    def set_mark(self, mark: StoreMark) -> None:
        """Store a mark."""
        with self._writing():
            self._connection.execute("INSERT OR REPLACE INTO mark VALUES (1, ?)", (mark.spell(),))

    def get(self, key: bytes, columns: Sequence[str] = ()) -> Cells:
        """Return the cells of a row, or an empty mapping if the row does not exist."""
        return self.get_many([key], columns).get(key, {})

    def get_many(self, keys: Sequence[bytes], columns: Sequence[str] = ()) -> dict[bytes, Cells]:
        """Return a dict from key to the cells of its row; rows that do not exist are left out."""
        condition, parameters = self._column_condition(columns)
        cells_by_key: dict[bytes, Cells] = {}
        with self._guarded():
            for start in range(0, len(keys), _KEYS_PER_QUERY):
                page = keys[start : start + _KEYS_PER_QUERY]
                placeholders = ",".join("?" * len(page))
                query = (
                    f"SELECT k.key, c.column, c.packed, c.value FROM key k JOIN cell c ON c.key = k.id"
                    f" WHERE k.key IN ({placeholders}){condition} ORDER BY k.key, c.column"
                )
                cells_by_key |= dict(_group_cells(self._connection.execute(query, (*page, *parameters))))
        return cells_by_key

    def put(self, rows: Iterable[Put]) -> dict[bytes, str]:
        """Set and clear cells in rows, in one transaction. The result is empty: SQLite accepts all valid rows."""
        run = self._connection.execute
        with self._writing():
            for row in rows:
                check_put(row, self._family_names)
                if row.cells:
                    run("INSERT INTO key (key) VALUES (?) ON CONFLICT DO NOTHING", (row.key,))
                stored_id = run("SELECT id FROM key WHERE key = ?", (row.key,)).fetchone()
                if stored_id is None:
                    continue
                for column in row.cleared:
                    run("DELETE FROM cell WHERE key = ? AND column = ?", (stored_id[0], column))
                self._connection.executemany(
                    "INSERT INTO cell VALUES (?,?,?,?) ON CONFLICT DO UPDATE"
                    " SET packed = excluded.packed, value = excluded.value",
                    [(stored_id[0], column, *self._compress(column, cell)) for column, cell in row.cells.items()],
                )
        return {}

    def _compress(self, column: str, cell: bytes) -> tuple[int, bytes]:
        if len(cell) > _MIN_COMPRESSED_SIZE and self._families[column.partition(":")[0]].compressed:
            compressed = isal_zlib.compress(cell)
            if len(compressed) < len(cell):
                return 1, compressed
        return 0, bytes(cell)

    def delete(self, keys: Iterable[bytes]) -> None:
        """Remove these rows and overwrite them in the file; the write-ahead log may keep them until `erase_deleted`."""
        with self._guarded():
            self._connection.execute("PRAGMA secure_delete = ON").fetchall()
        with self._writing():
            for key in keys:
                self._connection.execute("DELETE FROM cell WHERE key = (SELECT id FROM key WHERE key = ?)", (key,))
                self._connection.execute("DELETE FROM key WHERE key = ?", (key,))

    def scan(self, columns: Sequence[str] = ()) -> Iterator[tuple[bytes, Cells]]:
        """Yield, in the order of keys, (key, cells in these columns) of each row that has such a cell.

        Rows may be written during the scan.
        """
        after = b""
        condition, parameters = self._column_condition(columns)
        query = f"""
            SELECT k.key, c.column, c.packed, c.value FROM
                (SELECT id, key FROM key WHERE key > ? ORDER BY key LIMIT {_ROWS_PER_PAGE}) k
            LEFT JOIN cell c ON c.key = k.id{condition} ORDER BY k.key, c.column
        """
        while True:
            with self._guarded():
                last_key = b""
                for key, cells in _group_cells(self._connection.execute(query, (after, *parameters))):
                    last_key = key
                    if cells:
                        yield key, cells
            if not last_key:
                return
            after = last_key

    def _column_condition(self, columns: Sequence[str]) -> tuple[str, list[str]]:
        """Return SQL that narrows a condition to these columns or families (empty: all), and its parameters."""
        check_columns(columns, self._family_names)
        if not columns:
            return "", []
        conditions, parameters = [], []
        for name in columns:
            family, _, column = name.partition(":")
            conditions.append("c.column = ?" if column else "(c.column > ? AND c.column < ?)")
            parameters += [name] if column else [f"{family}:", f"{family};"]
        return f" AND ({' OR '.join(conditions)})", parameters


def _group_cells(rows: Iterable[tuple[bytes, str | None, int, bytes]]) -> Iterator[tuple[bytes, dict[str, bytes]]]:
    """Yield (key, cells) from the rows of a query, which are (key, column, whether it is compressed, bytes)."""
    for key, group in groupby(rows, key=itemgetter(0)):
        stored = ((column, isal_zlib.decompress(cell) if compressed else cell) for _, column, compressed, cell in group)
        yield key, {column: cell for column, cell in stored if column}


PORT = 9090
"""The port of HBase's Thrift gateway if an address has no port."""


def open_table(address: str, name: str, families: Sequence[Family]) -> SqliteTable | HbaseTable:
    """Open the table at an address, which is a path or `hbase://HOST:PORT`; create it if it does not exist."""
    if not address.startswith("hbase:"):
        return SqliteTable(Path(address), name, families)
    return HbaseTable(parse_gateway(address), name, families)


def parse_gateway(address: str) -> Gateway:
    """Return the host and port in an address `hbase://HOST:PORT`; raise ConfigError if it has any other form.

    >>> parse_gateway("hbase://gateway.example")
    Gateway(host='gateway.example', port=9090)
    """
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or PORT
    except ValueError as error:
        raise ConfigError(f"{address!r}: {error}") from None
    if not host or parts.path.strip("/") or parts.username:
        raise ConfigError(f"{address!r} is not an address like hbase://HOST:{PORT}")
    return Gateway(host, port)
