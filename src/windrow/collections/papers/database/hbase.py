"""Wide rows in Apache HBase, through its Thrift gateway (version 1 of its interface, framed and compact).

The gateway has neither authentication nor conditional writes: only one process may write a table at a time, which a
workspace's lease ensures. Readers no longer see what is deleted; HBase removes it from its files with the next major
compaction of the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from time import sleep
from typing import Any, NamedTuple, TypeVar

from windrow.collections.papers.columns import Cells, Family, Put, check_families, check_known, check_put
from windrow.errors import ConfigError, MissingExtra, StoreError, StoreUnreachable

T = TypeVar("T")

_SECONDS = 120
_BATCH = 1 << 20  # bytes of cells in one message: by default the gateway takes messages of up to 2 MiB
_AFTER_DELETE = 0.005  # seconds: what is written in the same millisecond as a deletion would be deleted too
_FRAME = 2_000_000  # bytes of a message that any gateway takes
_ROWS = 500  # rows in one message
_LIGHT, _HEAVY = 500, 8  # rows of a scan in one message, without and with compressed families


class Gateway(NamedTuple):
    """Where a gateway listens."""

    host: str
    port: int


class HbaseTable:
    """A table of wide rows in HBase."""

    def __init__(self, gateway: Gateway, name: str, families: Sequence[Family], *, read_only: bool = False) -> None:
        """Connect; unless `read_only`, make the table if it is missing, with one version of each cell."""
        check_families(families)
        if find_spec("happybase") is None:
            raise MissingExtra("HBase", "hbase")
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name):
            raise ConfigError(f"{name!r} is not a valid name of a table in HBase")
        self._gateway, self._name = gateway, name
        self._connection: Any = None
        self._connect()
        if not read_only:
            self._make(families)
        self._families = self._describe()
        self._known = frozenset(family.name for family in self._families)
        self._check(families)

    def _connect(self) -> None:
        import happybase  # noqa: PLC0415 an extra

        host, port = self._gateway
        with self._guarded():
            self._connection = happybase.Connection(
                host, port, timeout=_SECONDS * 1000, transport="framed", protocol="compact"
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

    def _call(self, call: Callable[[], T]) -> T:
        """Call; if the connection is broken, call again over a new one: all calls may be repeated."""
        try:
            with self._guarded():
                return call()
        except StoreUnreachable:
            self.close()
            self._connect()
            with self._guarded():
                return call()

    def _make(self, families: Sequence[Family]) -> None:
        tables = self._call(self._connection.tables)
        if self._name.encode() in tables:
            return
        described = {
            family.name: {"max_versions": 1, "compression": "SNAPPY" if family.compressed else "NONE"}
            for family in families
        }
        with suppress(StoreError):  # another process may have made it; `_check` sees whether it exists
            self._call(lambda: self._connection.create_table(self._name, described))

    def _describe(self) -> tuple[Family, ...]:
        described = self._call(self._table.families)
        rows = sorted((name.decode().rstrip(":"), options) for name, options in described.items())
        self._versions = {name: int(options["max_versions"]) for name, options in rows}
        return tuple(Family(name, (), _text(options["compression"]) != "NONE") for name, options in rows)

    def _check(self, families: Sequence[Family]) -> None:
        """Raise `ConfigError` if a family is missing, not compressed or keeps versions: the gateway cannot alter it."""
        existing = {family.name: family for family in self._families}
        for family in families:
            packed = ", COMPRESSION => 'SNAPPY'" if family.compressed else ""
            definition = f"{{NAME => '{family.name}', VERSIONS => 1{packed}}}"
            hint = f"in hbase shell: alter '{self._name}', {definition}"
            if family.name not in existing:
                raise ConfigError(f"the table {self._name} has no family {family.name}", hint=hint)
            if self._versions[family.name] != 1:
                message = f"{family.name} of {self._name} keeps {self._versions[family.name]} versions of a cell, not 1"
                raise ConfigError(message, hint=hint)
            if family.compressed and not existing[family.name].compressed:
                raise ConfigError(f"{family.name} of {self._name} is not compressed", hint=hint)

    def get(self, key: bytes, columns: Sequence[str] = ()) -> Cells:
        """Return a row; empty if it does not exist."""
        return self.get_many([key], columns).get(key, {})

    def get_many(self, keys: Sequence[bytes], columns: Sequence[str] = ()) -> dict[bytes, Cells]:
        """Return the rows of these keys that exist."""
        check_known(columns, self._known)
        size = self._rows_at_once(columns)
        column_names = [column.encode() for column in columns] or None
        cells_by_key: dict[bytes, Cells] = {}
        for start in range(0, len(keys), size):
            part = [key for key in keys[start : start + size] if key]
            rows = self._call(lambda part=part: self._table.rows(part, columns=column_names))  # type: ignore[misc]
            cells_by_key |= {key: _cells(cells) for key, cells in rows if cells}
        return cells_by_key

    def put(self, rows: Iterable[Put]) -> None:
        """Write cells of rows, as many rows in a message as fit."""
        waiting: list[Put] = []
        keys: set[bytes] = set()
        size = 0
        for row in rows:
            check_put(row, self._known)
            length = sum(map(len, row.cells.values()))
            if size + length > _BATCH or len(waiting) >= _ROWS or row.key in keys:
                self._send(waiting)
                waiting, keys, size = [], set(), 0
            waiting.append(row)
            keys.add(row.key)
            size += length
        self._send(waiting)

    def _send(self, rows: Sequence[Put]) -> None:
        def ask() -> None:
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
                self._call(ask)
        except StoreUnreachable as error:
            if size < _FRAME:
                raise
            # The gateway closes the connection on a message that is too large, without an error.
            message = f"HBase at {self._gateway.host}:{self._gateway.port} does not take a message of {size} bytes"
            hint = "set hbase.regionserver.thrift.framed.max_frame_size_in_mb to 16 in the gateway's hbase-site.xml"
            raise StoreError(message, hint=hint) from error
        if any(row.cleared for row in rows):
            sleep(_AFTER_DELETE)

    def delete(self, keys: Iterable[bytes]) -> None:
        """Remove rows."""
        family_names = [name.encode() for name in self._known]

        def ask(part: Sequence[bytes]) -> None:
            with self._table.batch(wal=True) as batch:
                for key in part:
                    batch.delete(key, columns=family_names)

        waiting = list(keys)
        for start in range(0, len(waiting), _ROWS):
            self._call(lambda part=waiting[start : start + _ROWS]: ask(part))  # type: ignore[misc]
        sleep(_AFTER_DELETE)

    def scan(self, columns: Sequence[str] = (), after: bytes = b"") -> Iterator[tuple[bytes, Cells]]:
        """Yield rows in the order of their keys; a scanner is not kept open between messages."""
        check_known(columns, self._known)
        column_names = [column.encode() for column in columns] or None
        size = self._rows_at_once(columns)
        while True:
            start = after + b"\0"

            def ask(start: bytes = start) -> list[tuple[bytes, Any]]:
                return list(self._table.scan(row_start=start, columns=column_names, limit=size, batch_size=size))

            rows = self._call(ask)
            for key, cells in rows:
                yield key, _cells(cells)
            if len(rows) < size:
                return
            after = rows[-1][0]

    def _rows_at_once(self, columns: Sequence[str]) -> int:
        heavy = {family.name for family in self._families if family.compressed}
        light = columns and not any(column.partition(":")[0] in heavy for column in columns)
        return _LIGHT if light else _HEAVY

    def families(self) -> tuple[Family, ...]:
        """Return the families as HBase describes them."""
        return self._families

    def erase_deleted(self, pulse: Callable[[], object]) -> bool:
        """Do nothing: HBase removes deleted cells from its files with a major compaction."""
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


def _cells(cells: Any) -> dict[str, bytes]:
    return {column.decode(): cell for column, cell in sorted(cells.items())}
