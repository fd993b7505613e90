"""The columns of the journal-extract table, the encoding of their cells, and the interface of a wide table."""

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
"""A row's cells by `family:column`. Columns without a cell are absent; an empty cell is a cell."""

KEY, CELL = 32_767, 10_000_000
"""Most bytes of a key and of a cell: HBase's limits (of a cell, 10 MiB by default)."""

_FAMILY = re.compile(r"[A-Za-z][A-Za-z0-9_]*").fullmatch
_COLUMN = re.compile(r"[A-Za-z][A-Za-z0-9_]*:[\x21-\x7e]+").fullmatch
_GENERATION = re.compile(r"\d*$")


class Family(NamedTuple):
    """Columns that are stored together, in one version; `columns` are those that are written here."""

    name: str
    columns: tuple[str, ...] = ()
    compressed: bool = False


class Put(NamedTuple):
    """Cells to set in a row, and columns to clear; the row keeps its other cells."""

    key: bytes
    cells: Cells
    cleared: tuple[str, ...] = ()


class WideTable(Protocol):
    """A table of wide rows. `columns` are families, or `family:column`; without any, all are meant.

    A row without cells does not exist. What is written is on the disk, or with the server, when the call returns; a
    call that failed may have written some rows, and may be repeated.
    """

    def get(self, key: bytes, columns: Sequence[str] = ()) -> Cells:
        """Return a row; empty if it does not exist."""
        ...

    def get_many(self, keys: Sequence[bytes], columns: Sequence[str] = ()) -> Mapping[bytes, Cells]:
        """Return the rows of these keys that exist."""
        ...

    def put(self, rows: Iterable[Put]) -> None:
        """Write cells of rows."""
        ...

    def delete(self, keys: Iterable[bytes]) -> None:
        """Remove rows; keys without a row are ignored."""
        ...

    def scan(self, columns: Sequence[str] = (), after: bytes = b"") -> Iterator[tuple[bytes, Cells]]:
        """Yield the rows with any of the columns whose keys are above `after`, in the order of keys."""
        ...

    def families(self) -> tuple[Family, ...]:
        """Return the table's families, in the order of their names and without their columns."""
        ...

    def scour(self, pulse: Callable[[], object]) -> bool:
        """Erase what was removed from the store's files; return False if another process prevents that."""
        ...

    def close(self) -> None:
        """Close the store's connection."""
        ...


def check_families(families: Sequence[Family]) -> None:
    """Raise `ConfigError` if a family's name is not valid, or if two families share a column's name.

    Libraries that read such tables in bulk drop the family. Only generations of a family, whose names differ in their
    number, may share names: `grobid0:status` and `grobid1:status`.

    >>> check_families([Family("a0", ("x",)), Family("a1", ("x",)), Family("b", ("y",))])
    """
    families_by_column = defaultdict(list)
    for family in families:
        if not _FAMILY(family.name):
            raise ConfigError(f"{family.name!r} is not a valid name of a family")
        for column in family.columns:
            check_column(f"{family.name}:{column}")
            families_by_column[column].append(family.name)
    for column, names in families_by_column.items():
        for first, second in combinations(names, 2):
            if first == second or _GENERATION.sub("", first) != _GENERATION.sub("", second):
                raise ConfigError(f"{first}:{column} and {second}:{column} have the same name without their families")


def check_column(column: str) -> None:
    """Raise `StoreError` if this is not a `family:column`."""
    if not _COLUMN(column):
        raise StoreError(f"{column[:100]!r} is not a family:column")


def check_put(put: Put, families: frozenset[str]) -> None:
    """Raise `StoreError` for a key, a column or a cell that one of the stores cannot hold."""
    if not 0 < len(put.key) <= KEY:
        raise StoreError(f"a key has 1 to {KEY} bytes, not {len(put.key)}")
    for column, cell in put.cells.items():
        check_column(column)
        if len(cell) > CELL:
            raise StoreError(f"{column} of {put.key!r} has {len(cell)} bytes, at most {CELL} are stored")
    check_known((*put.cells, *put.cleared), families)


def check_known(columns: Iterable[str], families: frozenset[str]) -> None:
    """Raise `StoreError` if the table lacks the family of a column."""
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
"""`text0` is not in the standard: it has the output of the embedded extractor."""

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


def encode(column: str, content: Any) -> bytes:
    """Encode a cell's content as the table stores it.

    >>> encode("file:size", 13264).hex(), encode("file:cdx", {"dt": "2017", "offset": "1"})
    ('00000000000033d0', b'{"dt": "2017", "offset": "1"}')
    """
    kind = ENCODINGS[column]
    if kind == INT64:
        return _INT64.pack(content)
    if kind == JSON:
        encoded = json.dumps(content, sort_keys=True).encode()
        if len(encoded) <= CELL:
            return encoded
        # Escapes of most non-Latin letters take three times the bytes: a book in Cyrillic would exceed the limit.
        return json.dumps(content, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace")
    return content if isinstance(content, bytes) else str(content).encode("utf-8", "replace")


def decode(column: str, cell: bytes) -> Any:
    """Decode a cell; None if it cannot be decoded, or if JSON is not an object.

    >>> decode("grobid0:status_code", bytes.fromhex("fffffffffffffffc")), decode("file:cdx", b"oops")
    (-4, None)
    """
    kind = ENCODINGS.get(column, BYTES)
    if kind == INT64:
        return _INT64.unpack(cell)[0] if len(cell) == _INT64.size else None
    if kind == JSON:
        try:
            parsed = json.loads(cell)
        except (ValueError, RecursionError):
            return None
        return parsed if isinstance(parsed, dict) else None
    return cell if kind == BYTES else cell.decode("utf-8", "replace")


def decode_row(cells: Mapping[str, bytes]) -> dict[str, Any]:
    """Decode all cells of a row."""
    return {column: decode(column, cell) for column, cell in cells.items()}
