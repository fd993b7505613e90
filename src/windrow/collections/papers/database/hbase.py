"""Wide rows in Apache HBase, through its Thrift gateway (version 1 of its interface, framed and compact).

The gateway has neither names for who asks nor conditions on what is written: one process writes a table at a time, as
a workspace's lease has it. What is deleted is gone for readers at once; from HBase's files it goes with the next major
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
_BATCH = 1 << 20  # bytes of cells in one message: the gateway takes messages of 2 MiB unless it is told otherwise
_APART = 0.005  # seconds: what is written in the same millisecond as a deletion would be deleted too
_FRAME = 2_000_000  # bytes of a message that any gateway takes
_ROWS = 500  # rows in one message
_LIGHT, _HEAVY = 500, 8  # rows of a scan that are asked for at once, without and with compressed families


class Gateway(NamedTuple):
    """Where a gateway listens."""

    host: str
    port: int


class HbaseTable:
    """A table of wide rows in HBase."""

    def __init__(self, gateway: Gateway, name: str, families: Sequence[Family], *, read_only: bool = False) -> None:
        """Connect; make the table where there is none, with one version of each cell."""
        check_families(families)
        if find_spec("happybase") is None:
            raise MissingExtra("HBase", "hbase")
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name):
            raise ConfigError(f"{name!r} cannot be the name of a table in HBase")
        self._gateway, self._name = gateway, name
        self._connection: Any = None
        self._connect()
        if not read_only:
            self._make(families)
        self._families = self._described()
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

        where = f"HBase at {self._gateway.host}:{self._gateway.port}"
        try:
            yield
        except (OSError, EOFError, TTransportException) as error:
            raise StoreUnreachable(f"{where}: {error or type(error).__name__}") from error
        except (IOError, IllegalArgument, AlreadyExists) as error:
            first = str(getattr(error, "message", b"") or error).strip("b'\"").splitlines()[0][:300]
            raise StoreError(f"{where}, table {self._name}: {first}") from error
        except TException as error:
            raise StoreError(f"{where}, table {self._name}: {str(error)[:300]}") from error

    def _asked(self, ask: Callable[[], T]) -> T:
        """Ask; once more over a new connection where this one is broken: whatever is asked may be repeated."""
        try:
            with self._guarded():
                return ask()
        except StoreUnreachable:
            self.close()
            self._connect()
            with self._guarded():
                return ask()

    def _make(self, families: Sequence[Family]) -> None:
        tables = self._asked(self._connection.tables)
        if self._name.encode() in tables:
            return
        described = {
            family.name: {"max_versions": 1, "compression": "SNAPPY" if family.compressed else "NONE"}
            for family in families
        }
        with suppress(StoreError):  # what matters is whether it is there, which is asked next
            self._asked(lambda: self._connection.create_table(self._name, described))

    def _described(self) -> tuple[Family, ...]:
        found = self._asked(self._table.families)
        rows = sorted((name.decode().rstrip(":"), one) for name, one in found.items())
        self._versions = {name: int(one["max_versions"]) for name, one in rows}
        return tuple(Family(name, (), _text(one["compression"]) != "NONE") for name, one in rows)

    def _check(self, families: Sequence[Family]) -> None:
        """Refuse a table that lacks a family or keeps more than one version: the gateway can change neither."""
        held = {family.name: family for family in self._families}
        for family in families:
            packed = ", COMPRESSION => 'SNAPPY'" if family.compressed else ""
            wanted = f"{{NAME => '{family.name}', VERSIONS => 1{packed}}}"
            hint = f"in hbase shell: alter '{self._name}', {wanted}"
            if family.name not in held:
                raise ConfigError(f"the table {self._name} has no family {family.name}", hint=hint)
            if self._versions[family.name] != 1:
                told = f"{family.name} of {self._name} keeps {self._versions[family.name]} versions of a cell, not 1"
                raise ConfigError(told, hint=hint)
            if family.compressed and not held[family.name].compressed:
                raise ConfigError(f"{family.name} of {self._name} is not compressed", hint=hint)

    def get(self, key: bytes, columns: Sequence[str] = ()) -> Cells:
        """Return a row; empty where there is none."""
        return self.get_many([key], columns).get(key, {})

    def get_many(self, keys: Sequence[bytes], columns: Sequence[str] = ()) -> dict[bytes, Cells]:
        """Return those rows that there are."""
        check_known(columns, self._known)
        size = self._rows_at_once(columns)
        wanted = [column.encode() for column in columns] or None
        found: dict[bytes, Cells] = {}
        for start in range(0, len(keys), size):
            part = [key for key in keys[start : start + size] if key]
            rows = self._asked(lambda part=part: self._table.rows(part, columns=wanted))  # type: ignore[misc]
            found |= {key: _cells(cells) for key, cells in rows if cells}
        return found

    def put(self, rows: Iterable[Put]) -> None:
        """Write cells of rows, a message for as many as fit in it."""
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
                    cleared = [column.encode() for column in row.cleared if column not in row.cells]
                    if cleared:
                        batch.delete(row.key, columns=cleared)
                    if row.cells:
                        batch.put(row.key, {column.encode(): value for column, value in row.cells.items()})

        size = sum(len(value) for row in rows for value in row.cells.values())
        try:
            if rows:
                self._asked(ask)
        except StoreUnreachable as error:
            if size < _FRAME:
                raise
            # The gateway hangs up at a message that is too large for it, without a word.
            told = f"HBase at {self._gateway.host}:{self._gateway.port} takes no message of {size} bytes"
            hint = "let hbase.regionserver.thrift.framed.max_frame_size_in_mb be 16 in the gateway's hbase-site.xml"
            raise StoreError(told, hint=hint) from error
        if any(row.cleared for row in rows):
            sleep(_APART)

    def delete(self, keys: Iterable[bytes]) -> None:
        """Remove rows."""
        everything = [name.encode() for name in self._known]

        def ask(part: Sequence[bytes]) -> None:
            with self._table.batch(wal=True) as batch:
                for key in part:
                    batch.delete(key, columns=everything)

        waiting = list(keys)
        for start in range(0, len(waiting), _ROWS):
            self._asked(lambda part=waiting[start : start + _ROWS]: ask(part))  # type: ignore[misc]
        sleep(_APART)

    def scan(self, columns: Sequence[str] = (), after: bytes = b"") -> Iterator[tuple[bytes, Cells]]:
        """Yield rows in the order of their keys; a scanner is not held longer than for one message."""
        check_known(columns, self._known)
        wanted = [column.encode() for column in columns] or None
        size = self._rows_at_once(columns)
        while True:
            start = after + b"\0"

            def ask(start: bytes = start) -> list[tuple[bytes, Any]]:
                return list(self._table.scan(row_start=start, columns=wanted, limit=size, batch_size=size))

            found = self._asked(ask)
            for key, cells in found:
                yield key, _cells(cells)
            if len(found) < size:
                return
            after = found[-1][0]

    def _rows_at_once(self, columns: Sequence[str]) -> int:
        heavy = {family.name for family in self._families if family.compressed}
        light = columns and not any(column.partition(":")[0] in heavy for column in columns)
        return _LIGHT if light else _HEAVY

    def families(self) -> tuple[Family, ...]:
        """Return the families as HBase describes them."""
        return self._families

    def scour(self, pulse: Callable[[], object]) -> bool:
        """Do nothing: what is deleted goes from HBase's files with a major compaction."""
        del pulse
        return True

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            with suppress(StoreError, AttributeError), self._guarded():
                self._connection.close()
        self._connection = None


def _text(said: bytes | str) -> str:
    return said.decode() if isinstance(said, bytes) else said


def _cells(cells: Any) -> dict[str, bytes]:
    return {column.decode(): value for column, value in sorted(cells.items())}
