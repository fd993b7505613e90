"""The columns of the journal-extract table, and rows of a wide table as values."""

from __future__ import annotations

import json
import re
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, Protocol

from windrow.errors import ConfigError, StoreError

Cells = Mapping[str, bytes]
"""What a row holds, by `family:column`. A column that a row has not is absent; an empty value is a value."""

KEY, CELL = 32_767, 10_000_000
"""Bytes of a key and of a value: HBase takes no longer keys, and by default no cell above 10 MiB."""

_FAMILY = re.compile(r"[A-Za-z][A-Za-z0-9_]*").fullmatch
_COLUMN = re.compile(r"[A-Za-z][A-Za-z0-9_]*:[\x21-\x7e]+").fullmatch
_GENERATION = re.compile(r"\d*$")


class Family(NamedTuple):
    """Columns that are stored together: one version of each, compressed or not; `columns` are those it is made for."""

    name: str
    columns: tuple[str, ...] = ()
    compressed: bool = False


class Put(NamedTuple):
    """Cells to be set in a row, which keeps the others that it has, except those of `cleared`."""

    key: bytes
    cells: Cells
    cleared: tuple[str, ...] = ()


class WideTable(Protocol):
    """A table of wide rows. `columns` are families, or `family:column`; none: all.

    A row without any cell is none. What is written is on the disk, or with the server, when the call returns; a call
    that broke off may have written some rows, and may be repeated.
    """

    def get(self, key: bytes, columns: Sequence[str] = ()) -> Cells:
        """Return a row; empty where there is none."""
        ...

    def get_many(self, keys: Sequence[bytes], columns: Sequence[str] = ()) -> Mapping[bytes, Cells]:
        """Return those rows that there are."""
        ...

    def put(self, rows: Iterable[Put]) -> None:
        """Write cells of rows."""
        ...

    def delete(self, keys: Iterable[bytes]) -> None:
        """Remove rows; those that are not there are none to be removed."""
        ...

    def scan(self, columns: Sequence[str] = (), after: bytes = b"") -> Iterator[tuple[bytes, Cells]]:
        """Yield the rows that have any of the columns, in the order of their keys, above a key."""
        ...

    def families(self) -> tuple[Family, ...]:
        """Return the families that the table has, as the store describes them, by name and without their columns."""
        ...

    def scour(self, pulse: Callable[[], object]) -> bool:
        """Leave nothing of what was removed in the store's own files; False where another process hinders that."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


def check_families(families: Sequence[Family]) -> None:
    """Refuse families whose columns could not be told apart by their names alone.

    Libraries that read such tables in bulk drop the family. Generations of one family, which differ in their number
    only, may share names: `grobid0:status` and `grobid1:status`.

    >>> check_families([Family("a0", ("x",)), Family("a1", ("x",)), Family("b", ("y",))])
    """
    seen = defaultdict(list)
    for family in families:
        if not _FAMILY(family.name):
            raise ConfigError(f"{family.name!r} cannot be the name of a family")
        for column in family.columns:
            check_column(f"{family.name}:{column}")
            seen[column].append(family.name)
    for column, names in seen.items():
        for first, second in combinations(names, 2):
            if first == second or _GENERATION.sub("", first) != _GENERATION.sub("", second):
                raise ConfigError(f"{first}:{column} and {second}:{column} have the same name without their families")


def check_column(column: str) -> None:
    """Refuse what is no name of a column."""
    if not _COLUMN(column):
        raise StoreError(f"{column[:100]!r} is no family:column")


def check_put(put: Put, families: frozenset[str]) -> None:
    """Refuse cells that not every store can hold."""
    if not 0 < len(put.key) <= KEY:
        raise StoreError(f"a key has 1 to {KEY} bytes, not {len(put.key)}")
    for column, value in put.cells.items():
        check_column(column)
        if len(value) > CELL:
            raise StoreError(f"{column} of {put.key!r} has {len(value)} bytes, at most {CELL} are stored")
    check_known((*put.cells, *put.cleared), families)


def check_known(columns: Iterable[str], families: frozenset[str]) -> None:
    """Refuse columns of families that the table has not."""
    for column in columns:
        if column.partition(":")[0] not in families:
            raise StoreError(f"the table has no family for {column[:100]!r}")


FAMILIES = (
    Family("f", ("c",)),
    Family("file", ("size", "mime", "cdx", "meta")),
    Family("grobid0", ("status_code", "quality", "status", "tei_xml", "tei_json", "metadata"), compressed=True),
    Family("match0", ("mstatus", "doi", "minfo")),
    Family("text0", ("tstatus", "tinfo", "pages"), compressed=True),
)
"""`text0` is ours: what the embedded extractor found. Names are unique over the families but for generations of one."""

TEXT, INT64, JSON, BYTES = "text", "int64", "json", "bytes"
ENCODINGS = {
    "f:c": JSON,
    "file:size": INT64,
    "file:mime": TEXT,
    "file:cdx": JSON,
    "file:meta": JSON,
    "grobid0:status_code": INT64,
    "grobid0:quality": TEXT,
    "grobid0:status": JSON,
    "grobid0:tei_xml": BYTES,
    "grobid0:tei_json": JSON,
    "grobid0:metadata": JSON,
    "match0:mstatus": TEXT,
    "match0:doi": TEXT,
    "match0:minfo": JSON,
    "text0:tstatus": JSON,
    "text0:tinfo": JSON,
    "text0:pages": TEXT,
}

_INT64 = struct.Struct("!q")


def encode(column: str, value: Any) -> bytes:
    """Write a value as the bytes that the table has for it.

    >>> encode("file:size", 13264).hex(), encode("file:cdx", {"dt": "2017", "offset": "1"})
    ('00000000000033d0', b'{"dt": "2017", "offset": "1"}')
    """
    kind = ENCODINGS[column]
    if kind == INT64:
        return _INT64.pack(value)
    if kind == JSON:
        written = json.dumps(value, sort_keys=True).encode()
        if len(written) <= CELL:
            return written
        # Escapes make three bytes of each in the letters of most scripts: a book in Cyrillic would have no room.
        return json.dumps(value, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace")
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


def decode(column: str, written: bytes) -> Any:
    """Read a value, as this and older writers wrote it; None where it cannot be read, JSON that is an object only.

    >>> decode("grobid0:status_code", bytes.fromhex("fffffffffffffffc")), decode("file:cdx", b"oops")
    (-4, None)
    """
    kind = ENCODINGS.get(column, BYTES)
    if kind == INT64:
        return _INT64.unpack(written)[0] if len(written) == _INT64.size else None
    if kind == JSON:
        try:
            value = json.loads(written)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None
    return written if kind == BYTES else written.decode("utf-8", "replace")


def decoded(cells: Mapping[str, bytes]) -> dict[str, Any]:
    """Read all values of a row."""
    return {column: decode(column, value) for column, value in cells.items()}
