"""Wide rows in Apache HBase, through its Thrift gateway (version 1 of the interface, framed and compact).

The gateway has neither authentication nor conditional writes. So only one process at a time may write to a table;
within one workspace, the lease ensures this. Deleted cells are no longer visible to readers; HBase removes them from
its files with the next major compaction of the table.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import pairwise
from time import sleep
from typing import Any, NamedTuple, TypeVar

from windrow.collections.papers.columns import (
    MAX_KEY_SIZE,
    OUTCOME_COLUMNS,
    Cells,
    Family,
    Put,
    check_columns,
    check_families,
    check_put,
)
from windrow.errors import ConfigError, MissingExtra, StoreError, StoreUnreachable
from windrow.stores.time_limit import limit_wait

T = TypeVar("T")

_TIMEOUT_SECONDS = 120
_MAX_BATCH_SIZE = 1 << 20  # bytes of cells in one message, as the gateway's default limit is 2 MiB
_PAUSE_AFTER_DELETE = 0.005  # seconds, as cells written in the same millisecond as a deletion would also be deleted
_SAFE_MESSAGE_SIZE = 2_000_000  # bytes of a message that every gateway accepts
_FOR_EVER = 2**31 - 1  # seconds, in which HBase states that a family keeps its cells
_MAX_ROWS = 500  # in one message
_SMALL_ROWS, _LARGE_ROWS = 500, 8  # rows in one message that is read, without and with large cells


_WRONG_ANSWERS = (ValueError, TypeError, LookupError, AttributeError, MemoryError, struct.error)
"""The errors that the libraries raise for an answer that is not in HBase's protocol."""


class Gateway(NamedTuple):
    """The address of a Thrift gateway of HBase."""

    host: str
    port: int


class HbaseTable:
    """A `WideTable` in HBase."""

    def __init__(self, gateway: Gateway, name: str, families: Sequence[Family]) -> None:
        """Connect to `gateway`, and create the table `name` if it does not exist.

        Raise MissingExtra if the library for HBase is not installed, and ConfigError if the name or a family is wrong.
        """
        check_families(families)
        if find_spec("happybase") is None:
            raise MissingExtra("HBase", "hbase")
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name):
            raise ConfigError(f"{name!r} is not a valid name of a table in HBase")
        self._gateway, self._name = gateway, name
        self._connection: Any = None
        self._connect()
        self._create_table(families)
        self._families = self._read_families()
        self._family_names = frozenset(family.name for family in self._families)
        self._check_table(families)

    def _connect(self) -> None:
        import happybase  # noqa: PLC0415 an extra

        host, port = self._gateway
        with self._guarded():
            self._connection = happybase.Connection(
                host, port, timeout=int(limit_wait(_TIMEOUT_SECONDS) * 1000), transport="framed", protocol="compact"
            )
            self._table = self._connection.table(self._name)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        from Hbase_thrift import AlreadyExists, IllegalArgument, IOError  # noqa: A004,PLC0415 an extra
        from thriftpy2.thrift import TException  # noqa: PLC0415 an extra
        from thriftpy2.transport import TTransportException  # noqa: PLC0415 an extra

        gateway = f"HBase at {self._gateway.host}:{self._gateway.port}"
        try:
            yield
        except (OSError, EOFError, TTransportException) as error:
            raise StoreUnreachable(f"{gateway}: {error or type(error).__name__}") from error
        except (IOError, IllegalArgument, AlreadyExists) as error:
            message = str(getattr(error, "message", b"") or error).strip("b'\"").splitlines()[0][:300]
            raise StoreError(f"{gateway}, table {self._name}: {message}") from error
        except TException as error:
            raise StoreError(f"{gateway}, table {self._name}: {str(error)[:300]}") from error
        except _WRONG_ANSWERS as error:
            self.close()  # what follows in the connection could be taken for the next answer
            message = f"the answer is not in HBase's protocol: {type(error).__name__}: {str(error)[:200]}"
            raise StoreError(f"{gateway}, table {self._name}: {message}") from error

    def _call(self, call: Callable[[], T]) -> T:
        """Return the result of `call`; if the connection breaks, connect again and repeat the call once."""
        try:
            with self._guarded():
                return call()
        except StoreUnreachable:
            self.close()
            self._connect()
            with self._guarded():
                return call()

    def _create_table(self, families: Sequence[Family]) -> None:
        tables = self._call(lambda: self._connection.tables())  # noqa: PLW0108 `_call` may replace the connection
        if self._name.encode() in tables:
            return
        options_by_family = {
            family.name: {"max_versions": 1, "compression": "SNAPPY" if family.compressed else "NONE"}
            for family in families
        }
        with suppress(StoreError):  # another process may have created it; `_check_table` finds out
            self._call(lambda: self._connection.create_table(self._name, options_by_family))

    def _read_families(self) -> tuple[Family, ...]:
        """Return the families of the table in HBase; set `_versions` and `_seconds` to what each keeps."""
        options_by_family = self._call(lambda: self._table.families())  # noqa: PLW0108 `_call` may replace the table
        with self._guarded():
            options_by_name = sorted(
                (name.decode().rstrip(":"), options) for name, options in options_by_family.items()
            )
            self._versions = {name: int(options["max_versions"]) for name, options in options_by_name}
            self._seconds = {name: int(options.get("time_to_live", _FOR_EVER)) for name, options in options_by_name}
            return tuple(Family(name, (), _text(options["compression"]) != "NONE") for name, options in options_by_name)

    def _check_table(self, families: Sequence[Family]) -> None:
        """Raise ConfigError, with the command for HBase's shell, if a family is missing or has wrong options."""
        families_by_name = {family.name: family for family in self._families}
        for family in families:
            compression = ", COMPRESSION => 'SNAPPY'" if family.compressed else ""
            definition = f"{{NAME => '{family.name}', VERSIONS => 1, TTL => 'FOREVER'{compression}}}"
            hint = f"in hbase shell: alter '{self._name}', {definition}"
            if family.name not in families_by_name:
                raise ConfigError(f"the table {self._name} has no family {family.name}", hint=hint)
            if self._versions[family.name] != 1:
                version_count = self._versions[family.name]
                problem = f"keeps {version_count} versions of each cell instead of 1"
                raise ConfigError(f"the family {family.name} of the table {self._name} {problem}", hint=hint)
            if 0 < (seconds := self._seconds[family.name]) != _FOR_EVER:
                problem = f"keeps its cells for {seconds:,} seconds instead of for ever"
                raise ConfigError(f"the family {family.name} of the table {self._name} {problem}", hint=hint)
            if family.compressed and not families_by_name[family.name].compressed:
                raise ConfigError(f"the family {family.name} of the table {self._name} is not compressed", hint=hint)

    def get(self, key: bytes, columns: Sequence[str] = ()) -> Cells:
        """Return the cells of a row, or an empty mapping if the row does not exist."""
        return self.get_many([key], columns).get(key, {})

    def get_many(self, keys: Sequence[bytes], columns: Sequence[str] = ()) -> dict[bytes, Cells]:
        """Return a dict from key to the cells of its row; rows that do not exist are left out."""
        check_columns(columns, self._family_names)
        size = self._rows_at_once(columns)
        column_names = [column.encode() for column in columns] or None
        cells_by_key: dict[bytes, Cells] = {}
        for start in range(0, len(keys), size):
            page = [key for key in keys[start : start + size] if key]
            rows = self._call(lambda page=page: self._table.rows(page, columns=column_names))  # type: ignore[misc]
            with self._guarded():
                cells_by_key |= {key: _decode_columns(cells) for key, cells in rows if cells and key in page}
        return cells_by_key

    def put(self, rows: Iterable[Put]) -> dict[bytes, str]:
        """Set and clear cells in rows; return a dict from refused key to cause. All other rows are stored.

        A message has at most `_MAX_ROWS` rows; it has more than `_MAX_BATCH_SIZE` bytes only if it has a single row.
        """
        refused: dict[bytes, str] = {}
        batch: list[Put] = []
        keys: set[bytes] = set()
        batch_size = 0
        for row in rows:
            check_put(row, self._family_names)
            row_size = sum(map(len, row.cells.values()))
            if batch_size + row_size > _MAX_BATCH_SIZE or len(batch) >= _MAX_ROWS or row.key in keys:
                refused |= self._send_all(batch)
                batch, keys, batch_size = [], set(), 0
            batch.append(row)
            keys.add(row.key)
            batch_size += row_size
        return refused | self._send_all(batch)

    def _send_all(self, rows: Sequence[Put]) -> dict[bytes, str]:
        """Write rows in one message or, if HBase refuses it, one by one. Return a dict from refused key to cause.

        Raise StoreError if all of several rows are refused.
        """
        try:
            self._send(rows)
        except StoreUnreachable:
            raise
        except StoreError as error:
            if len(rows) == 1:
                return {rows[0].key: f"{error}; {error.hint}" if error.hint else str(error)}
            refused: dict[bytes, str] = {}
            for row in rows:
                refused |= self._send_all([row])
            if len(refused) == len(rows):  # the cause is not the content of a row
                raise
            return refused
        return {}

    def _send(self, rows: Sequence[Put]) -> None:
        """Write rows in one message; raise StoreError with a hint if the message is too large for the gateway."""

        def write() -> None:
            with self._table.batch(wal=True) as batch:
                for row in rows:
                    cleared_columns = [column.encode() for column in row.cleared if column not in row.cells]
                    if cleared_columns:
                        batch.delete(row.key, columns=cleared_columns)
                    if row.cells:
                        batch.put(row.key, {column.encode(): cell for column, cell in row.cells.items()})

        size = sum(len(cell) for row in rows for cell in row.cells.values())
        try:
            if rows:
                self._call(write)
        except StoreUnreachable as error:
            if size < _SAFE_MESSAGE_SIZE:
                raise
            self.close()
            self._connect()  # raises StoreUnreachable if the gateway does not answer at all
            # The gateway closes the connection on a message that is too large, without an error.
            message = f"HBase at {self._gateway.host}:{self._gateway.port} does not accept a message of {size} bytes"
            hint = "set hbase.regionserver.thrift.framed.max_frame_size_in_mb to 16 in the gateway's hbase-site.xml"
            raise StoreError(message, hint=hint) from error
        if any(row.cleared for row in rows):
            sleep(_PAUSE_AFTER_DELETE)

    def delete(self, keys: Iterable[bytes]) -> None:
        """Remove the rows with these keys; keys of rows that do not exist are ignored."""
        family_names = [name.encode() for name in self._family_names]

        def delete_rows(page: Sequence[bytes]) -> None:
            with self._table.batch(wal=True) as batch:
                for key in page:
                    batch.delete(key, columns=family_names)

        all_keys = list(keys)
        for start in range(0, len(all_keys), _MAX_ROWS):
            self._call(lambda page=all_keys[start : start + _MAX_ROWS]: delete_rows(page))  # type: ignore[misc]
        sleep(_PAUSE_AFTER_DELETE)

    def scan(self, columns: Sequence[str] = ()) -> Iterator[tuple[bytes, Cells]]:
        """Yield, in the order of keys, (key, cells in these columns) of each row that has such a cell.

        No scanner is open between messages.
        """
        check_columns(columns, self._family_names)
        column_names = [column.encode() for column in columns] or None
        size = self._rows_at_once(columns)
        start = b"\0"  # the least key that a row can have
        while True:

            def read_page(start: bytes = start) -> list[tuple[bytes, Any]]:
                return list(self._table.scan(row_start=start, columns=column_names, limit=size, batch_size=size))

            rows = self._call(read_page)
            self._check_order(start, [key for key, _ in rows])
            with self._guarded():
                decoded_rows = [(key, _decode_columns(cells)) for key, cells in rows]
            yield from decoded_rows
            if len(rows) < size:
                return
            start = rows[-1][0] + b"\0"

    def _check_order(self, start: bytes, keys: Sequence[bytes]) -> None:
        """Raise StoreError if `keys` are not sorted, or one is below `start` or too long: the scan might never end."""
        is_ordered = all(first < second for first, second in pairwise(keys))
        if keys and (keys[0] < start or not is_ordered or max(map(len, keys)) > MAX_KEY_SIZE):
            gateway = f"HBase at {self._gateway.host}:{self._gateway.port}"
            raise StoreError(f"{gateway}, table {self._name}: a scan returned rows that are not in the order of keys")

    def _rows_at_once(self, columns: Sequence[str]) -> int:
        large_families = {family.name for family in self._families if family.compressed}
        large_columns = [name for name in columns if name.partition(":")[0] in large_families]
        return _SMALL_ROWS if columns and {*large_columns} <= {*OUTCOME_COLUMNS} else _LARGE_ROWS

    def erase_deleted(self, pulse: Callable[[], object]) -> bool:
        """Return True without doing anything: HBase removes deleted cells with a major compaction."""
        del pulse
        return True

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            with suppress(StoreError, AttributeError), self._guarded():
                self._connection.close()
        self._connection = None


def _text(text: bytes | str) -> str:
    return text.decode() if isinstance(text, bytes) else text


def _decode_columns(cells: Any) -> dict[str, bytes]:
    return {column.decode(): cell for column, cell in sorted(cells.items())}
