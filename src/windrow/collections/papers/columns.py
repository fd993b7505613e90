"""The columns of the journal-extract table, the encoding of their cells, a paper's row, and what a wide table does."""

from __future__ import annotations

import json
import re
import struct
from base64 import b64decode
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from typing import Any, NamedTuple, Protocol

from windrow.collections.papers.collection import LEGACY, TABLE
from windrow.errors import ConfigError, StoreError
from windrow.formats.cdx import surt
from windrow.formats.tei import drop_full_text
from windrow.formats.url import normalise
from windrow.model import CdxLine, RecordedAttempt

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

    A row without cells does not exist. When a call returns, its rows are on the disk or stored by the server; a call
    that failed may have written some of them, and may be repeated.
    """

    def get(self, key: bytes, columns: Sequence[str] = ()) -> Cells:
        """Return the cells of a row; empty if the row does not exist."""

    def get_many(self, keys: Sequence[bytes], columns: Sequence[str] = ()) -> Mapping[bytes, Cells]:
        """Return the rows of these keys that exist."""

    def put(self, rows: Iterable[Put]) -> None:
        """Write cells of rows."""

    def delete(self, keys: Iterable[bytes]) -> None:
        """Remove rows; keys without a row are ignored."""

    def scan(self, columns: Sequence[str] = (), after: bytes = b"") -> Iterator[tuple[bytes, Cells]]:
        """Yield the rows with any of the columns whose keys are above `after`, in the order of keys."""

    def families(self) -> tuple[Family, ...]:
        """Return the table's families, in the order of their names and without their columns."""

    def erase_deleted(self, pulse: Callable[[], object]) -> bool:
        """Erase what was removed from the store's files; return False if another process prevents that."""

    def close(self) -> None:
        """Close the store's connection."""


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
        for first, other_family in combinations(names, 2):
            if first == other_family or _GENERATION.sub("", first) != _GENERATION.sub("", other_family):
                raise ConfigError(
                    f"{first}:{column} and {other_family}:{column} have the same name without their families"
                )


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
            raise StoreError(f"{column} of {put.key!r} has {len(cell)} bytes; the limit is {CELL}")
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


EXTRACTED = "grobid0:status_code"
"""The column that shows that GROBID's outcome is stored: the other cells of `grobid0` belong to it."""

SMALL = (("f", "file", "match0"), (EXTRACTED, "grobid0:status", "grobid0:quality", "text0:tstatus"))
"""Columns that show whether a row exists and what others wrote in it, without its large cells."""

GENERATION = 2
"""The version of this code; if it is raised, the next run writes all rows again."""


class FoundCapture(NamedTuple):
    """The location of a file's first capture (keys as in `file:cdx`), its record id, and the number of captures."""

    place: Mapping[str, Any]
    seen: int
    record_id: str = ""


def make_cells(
    record: Mapping[str, Any],
    extra: Mapping[str, Any],
    capture: FoundCapture,
    match: Mapping[str, Any] | None,
    shape: str = TABLE,
) -> dict[str, bytes]:
    """Return a row's encoded cells; a cell that is too large for the table is left out."""
    meta, place = record["file"], capture.place
    contents: dict[str, Any] = {"file:size": meta["size"], "file:mime": meta["mime"], "file:meta": meta}
    if place:
        contents["f:c"] = _history(capture)
        contents["file:cdx"] = {name: "" if field is None else str(field) for name, field in place.items()}
    contents |= _make_grobid_cells(record.get("grobid"), extra, shape)
    if text := record.get("text"):
        contents |= {
            "text0:tstatus": text["status"],
            "text0:tinfo": text.get("info"),
            "text0:pages": extra.get("pages"),
        }
    contents |= match or {}
    encoded = {name: encode(name, content) for name, content in contents.items() if content is not None}
    return {name: cell for name, cell in encoded.items() if len(cell) <= CELL}


def _history(capture: FoundCapture) -> dict[str, Any]:
    place = capture.place
    at = place["dt"]
    history = {
        "u": place["url"],
        "d": f"{at[:4]}-{at[4:6]}-{at[6:8]}T{at[8:10]}:{at[10:12]}:{at[12:14]}Z",
        "f": place["warc"].rpartition("/")[2],
        "o": place["offset"],
        "c": capture.seen,
    }
    return history | ({"i": capture.record_id} if capture.record_id else {})


def _make_grobid_cells(answer: Mapping[str, Any] | None, extra: Mapping[str, Any], shape: str) -> dict[str, Any]:
    """Return the contents of `grobid0`; empty for a transient outcome, as if no request had been sent."""
    if answer is None or answer["passing"]:
        return {}
    contents = {
        "grobid0:status_code": answer["status_code"],
        "grobid0:status": answer["status"],
        "grobid0:quality": answer["quality"],
    }
    if tei := extra.get("tei"):
        contents["grobid0:tei_xml"] = tei.encode()
    elif packed := extra.get("tei_base64"):  # not UTF-8
        contents["grobid0:tei_xml"] = b64decode(packed)
    if table := extra.get("tei_json"):
        contents["grobid0:tei_json"] = (extra.get("later_json") or table) if shape == LEGACY else table
        contents["grobid0:metadata"] = drop_full_text(contents["grobid0:tei_json"])
    return contents


def absent_columns(new: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the columns to clear in a row of our own: all without a new cell."""
    return tuple(name for name in ENCODINGS if name not in new)


def merge_with_foreign(
    new: Mapping[str, bytes], foreign: AbstractSet[str], own_columns: AbstractSet[str], *, force: bool = False
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the cells to set in a row that existed before, and the columns to clear.

    `foreign` are the columns that other programs wrote, `own_columns` those that windrow wrote. Foreign cells are kept:
    each cell of `f` and `file`, and all cells of `grobid0` and of `match0` together; with `force`, a family of which
    there is a new outcome is replaced. Otherwise only columns that windrow wrote are cleared.
    """
    kept_columns = {name for name in new if name in foreign and name.startswith(("f:", "file:"))}
    cleared_columns = {*own_columns}
    for family, exists, is_new in (
        ("grobid0:", EXTRACTED in foreign, EXTRACTED in new),
        ("match0:", any(name.startswith("match0:") for name in foreign), "match0:mstatus" in new),
    ):
        columns = {name for name in ENCODINGS if name.startswith(family)}
        if exists and not (force and is_new):
            kept_columns |= columns
        elif exists:
            cleared_columns |= columns
    cells = {name: cell for name, cell in new.items() if name not in kept_columns}
    return cells, tuple(name for name in ENCODINGS if name in cleared_columns - kept_columns and name not in cells)


def capture_location(recorded: RecordedAttempt) -> Mapping[str, Any]:
    """Return where a capture is in the archive, by the keys of `file:cdx`; offset and size are integers."""
    attempt = recorded.attempt
    response = attempt.kept
    return {
        "surt": surt(attempt.url),
        "url": attempt.url,
        "dt": f"{attempt.started:%Y%m%d%H%M%S}",
        "warc": response.place.warc if response else "",
        "offset": response.place.offset if response else 0,
        "c_size": response.place.length if response else 0,
    }


def indexed_location(line: CdxLine, url: str) -> Mapping[str, Any]:
    """Return where a capture is by its index line, without the name of the WARC file.

    The line's address and key are included if they normalise to `url`, the record's address.
    """
    place: dict[str, Any] = {"offset": line.offset, "c_size": line.length}
    if line.url.isprintable() and normalise(line.url).url == url:
        place |= {"url": line.url, "surt": line.key if line.key.isprintable() and line.key else surt(line.url)}
    return place
