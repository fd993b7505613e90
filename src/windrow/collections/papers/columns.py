"""The columns of the journal-extract table, the encoding of cells, the row of a paper, and the table's methods."""

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

from windrow.caps import CELL_BYTES
from windrow.collections.papers.collection import LATER, TABLE
from windrow.errors import ConfigError, StoreError
from windrow.formats.cdx import surt
from windrow.formats.tei import drop_full_text
from windrow.formats.url import normalise
from windrow.model import CdxLine, RecordedAttempt

Cells = Mapping[str, bytes]
"""A dict from `family:column` to a row's cell. A column without a cell is absent; an empty cell is a cell."""

MAX_KEY_SIZE, MAX_CELL_SIZE = 32_767, CELL_BYTES.number
"""The maximum size of a key and of a cell, in bytes, within the limits of HBase (by default 10 MiB for a cell)."""

_FAMILY_MATCH = re.compile(r"[A-Za-z][A-Za-z0-9_]*").fullmatch
_COLUMN_MATCH = re.compile(r"[A-Za-z][A-Za-z0-9_]*:[\x21-\x7e]+").fullmatch
_NUMBER_AT_END = re.compile(r"\d*$")


class Family(NamedTuple):
    """Columns that are stored together, with one version of each cell. windrow writes the columns in `columns`."""

    name: str
    columns: tuple[str, ...] = ()
    compressed: bool = False


class Put(NamedTuple):
    """Cells to set and columns to clear in the row `key`. The row keeps its other cells."""

    key: bytes
    cells: Cells
    cleared: tuple[str, ...] = ()


class WideTable(Protocol):
    """A table with many possible columns, grouped in families, as in HBase.

    The parameter `columns` has names of families, or `family:column`; if it is empty, all columns are meant. A row
    without cells does not exist. When a call returns, its rows are on disk or stored by the server. A call that
    failed may have written some of them, and may be repeated.
    """

    def get(self, key: bytes, columns: Sequence[str] = ()) -> Cells:
        """Return the cells of a row, or an empty mapping if the row does not exist."""

    def get_many(self, keys: Sequence[bytes], columns: Sequence[str] = ()) -> Mapping[bytes, Cells]:
        """Return a dict from key to the cells of its row; rows that do not exist are left out."""

    def put(self, rows: Iterable[Put]) -> Mapping[bytes, str]:
        """Set and clear cells in rows; return a dict from refused key to cause. All other rows are stored."""

    def delete(self, keys: Iterable[bytes]) -> None:
        """Remove the rows with these keys; keys of rows that do not exist are ignored."""

    def scan(self, columns: Sequence[str] = ()) -> Iterator[tuple[bytes, Cells]]:
        """Yield, in the order of keys, (key, cells in these columns) of each row that has such a cell."""

    def erase_deleted(self, pulse: Callable[[], object]) -> bool:
        """Erase removed rows from the files, unless a server does this; return False if another process prevents it."""

    def close(self) -> None:
        """Close the connection to the table."""


def check_families(families: Sequence[Family]) -> None:
    """Raise ConfigError if a family has an invalid name, or if columns of unrelated families have the same name.

    Families are related if their names differ only in the number at the end, as in `grobid0:status` and
    `grobid1:status`. The rule is needed because libraries that read tables in bulk leave out the name of the family.
    Raise StoreError if the name of a column is not valid.

    >>> check_families([Family("a0", ("x",)), Family("a1", ("x",)), Family("b", ("y",))])
    """
    families_by_column = defaultdict(list)
    for family in families:
        if not _FAMILY_MATCH(family.name):
            raise ConfigError(f"{family.name!r} is not a valid name for a family")
        for column in family.columns:
            check_column(f"{family.name}:{column}")
            families_by_column[column].append(family.name)
    for column, names in families_by_column.items():
        for first, second in combinations(names, 2):
            if first == second or _NUMBER_AT_END.sub("", first) != _NUMBER_AT_END.sub("", second):
                raise ConfigError(f"{first}:{column} and {second}:{column} have the same name without their families")


def check_column(column: str) -> None:
    """Raise `StoreError` if a text does not have the form `family:column`, or has an invalid character."""
    if not _COLUMN_MATCH(column):
        raise StoreError(f"{column[:100]!r} does not have the form family:column")


def check_put(put: Put, families: frozenset[str]) -> None:
    """Raise `StoreError` if a table with these families cannot store the key, a column or a cell."""
    if not 0 < len(put.key) <= MAX_KEY_SIZE:
        raise StoreError(f"the key has {len(put.key)} bytes; it must have 1 to {MAX_KEY_SIZE}")
    for column, cell in put.cells.items():
        check_column(column)
        if len(cell) > MAX_CELL_SIZE:
            raise StoreError(f"{column} of {put.key!r} has {len(cell)} bytes; the limit is {MAX_CELL_SIZE}")
    check_columns((*put.cells, *put.cleared), families)


def check_columns(columns: Iterable[str], families: frozenset[str]) -> None:
    """Raise `StoreError` if a column belongs to none of `families`."""
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
"""The families of the table. The standard does not have `text0`, which is for the embedded extractor and for JATS."""

TEXT, INT64, JSON, BYTES = "text", "int64", "json", "bytes"
ENCODINGS = {
    "f:c": JSON, "file:size": INT64, "file:mime": TEXT, "file:cdx": JSON, "file:meta": JSON,
    "grobid0:status_code": INT64, "grobid0:quality": TEXT, "grobid0:status": JSON, "grobid0:tei_xml": BYTES,
    "grobid0:tei_json": JSON, "grobid0:metadata": JSON, "match0:mstatus": TEXT, "match0:doi": TEXT,
    "match0:minfo": JSON, "text0:tstatus": JSON, "text0:tinfo": JSON, "text0:pages": TEXT,
}  # fmt: skip
"""The encoding of the cells of each column. Add new columns at the end: the register of rows stores their positions."""

_INT64 = struct.Struct("!q")


def encode(column: str, content: Any) -> bytes:
    """Encode the content of a cell as the table stores it.

    >>> encode("file:size", 13264).hex(), encode("file:cdx", {"dt": "2017", "offset": "1"})
    ('00000000000033d0', b'{"dt": "2017", "offset": "1"}')
    """
    encoding = ENCODINGS[column]
    if encoding == INT64:
        return _INT64.pack(content)
    if encoding == JSON:
        encoded = json.dumps(content, sort_keys=True).encode()
        if len(encoded) <= MAX_CELL_SIZE:
            return encoded
        # Escapes of most non-Latin letters take three times as many bytes: a book in Cyrillic would exceed the limit.
        return json.dumps(content, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace")
    return content if isinstance(content, bytes) else str(content).encode("utf-8", "replace")


def decode(column: str, cell: bytes) -> Any:
    """Return the content of a cell; None if it cannot be decoded, or is JSON other than an object.

    A quality that another program wrote as a number is returned as a text.

    >>> decode("grobid0:status_code", bytes.fromhex("fffffffffffffffc")), decode("file:cdx", b"oops")
    (-4, None)
    >>> decode("grobid0:quality", bytes(8)), decode("grobid0:quality", b"marginal")
    ('0', 'marginal')
    """
    if column == "grobid0:quality" and len(cell) == _INT64.size and cell[0] in {0x00, 0xFF}:
        return str(_INT64.unpack(cell)[0])
    encoding = ENCODINGS.get(column, BYTES)
    if encoding == INT64:
        return _INT64.unpack(cell)[0] if len(cell) == _INT64.size else None
    if encoding == JSON:
        try:
            parsed = json.loads(cell)
        except (ValueError, RecursionError):
            return None
        return parsed if isinstance(parsed, dict) else None
    return cell if encoding == BYTES else cell.decode("utf-8", "replace")


def decode_row(cells: Mapping[str, bytes]) -> dict[str, Any]:
    """Return a dict from column to the content of its cell, for all cells of a row."""
    return {column: decode(column, cell) for column, cell in cells.items()}


STATUS_CODE_COLUMN = "grobid0:status_code"
"""A cell in this column shows that an outcome of GROBID is stored, to which all other columns of `grobid0` belong."""

SMALL_COLUMNS = tuple(name for name in ENCODINGS if not name.startswith(("grobid0:", "text0:")))
"""The columns of the families that are not compressed: their cells are small, and read without those of the others."""

OUTCOME_COLUMNS = (STATUS_CODE_COLUMN, "text0:tstatus")
"""The columns of the compressed families whose small cells show that there is an outcome."""


def pack_columns(columns: Iterable[str]) -> int:
    """Return columns as a number, in which the bit at the position of each in `ENCODINGS` is set.

    >>> pack_columns(["f:c", "file:mime"]), unpack_columns(5)
    (5, frozenset({...}))
    """
    names = {*columns}
    return sum(1 << position for position, name in enumerate(ENCODINGS) if name in names)


def unpack_columns(packed: int) -> frozenset[str]:
    """Return the columns that `pack_columns` made the number from."""
    return frozenset(name for position, name in enumerate(ENCODINGS) if packed >> position & 1)


ROWS_VERSION = 4
"""The version of the code that makes rows; when it is raised, the next run writes all rows again."""


class FoundCapture(NamedTuple):
    """A file's first capture: its location with the keys of `file:cdx`, and the WARC record id.

    `location` is empty if the first capture is not known. `capture_count` is the number of all captures of the file.
    """

    location: Mapping[str, Any]
    capture_count: int
    record_id: str = ""


def make_cells(
    record: Mapping[str, Any], extra: Mapping[str, Any], capture: FoundCapture, match: Mapping[str, Any] | None,
    tei_shape: str = TABLE,
) -> dict[str, bytes]:  # fmt: skip
    """Return the encoded cells of a paper's row, without cells that are too large for the table.

    `record` and `extra` are from the step `extract`. `match` is the contents of `match0`, or None if the paper was not
    matched. `tei_shape` (TABLE or LATER) chooses the keys of `grobid0:tei_json`.
    """
    meta, location = record["file"], capture.location
    contents: dict[str, Any] = {"file:size": meta["size"], "file:mime": meta["mime"], "file:meta": meta}
    if location:
        contents["f:c"] = _capture_summary(capture)
        contents["file:cdx"] = {name: "" if field is None else str(field) for name, field in location.items()}
    contents |= _make_grobid_cells(record.get("grobid"), extra, tei_shape)
    contents |= _make_text_cells(record, extra)
    contents |= match or {}
    encoded = {name: encode(name, content) for name, content in contents.items() if content is not None}
    return {name: cell for name, cell in encoded.items() if len(cell) <= MAX_CELL_SIZE}


def oversized_columns(record: Mapping[str, Any], extra: Mapping[str, Any], tei_shape: str) -> list[str]:
    """Return the columns whose cells `make_cells` leaves out because they are too large for the table."""
    contents = _make_grobid_cells(record.get("grobid"), extra, tei_shape) | _make_text_cells(record, extra)
    return [
        name for name, content in contents.items()
        if content is not None and len(encode(name, content)) > MAX_CELL_SIZE
    ]  # fmt: skip


def _capture_summary(capture: FoundCapture) -> dict[str, Any]:
    location = capture.location
    time = location["dt"]
    iso_time = f"{time[:4]}-{time[4:6]}-{time[6:8]}T{time[8:10]}:{time[10:12]}:{time[12:14]}Z"
    summary = {"u": location["url"], "d": iso_time, "f": location["warc"].rpartition("/")[2], "o": location["offset"]}
    summary["c"] = capture.capture_count
    return summary | ({"i": capture.record_id} if capture.record_id else {})


def _make_grobid_cells(outcome: Mapping[str, Any] | None, extra: Mapping[str, Any], tei_shape: str) -> dict[str, Any]:
    if outcome is None or outcome["passing"]:
        return {}
    contents = {f"grobid0:{name}": outcome[name] for name in ("status_code", "status", "quality")}
    if tei := extra.get("tei"):
        contents["grobid0:tei_xml"] = tei.encode()
    elif encoded_tei := extra.get("tei_base64"):  # it is not UTF-8
        contents["grobid0:tei_xml"] = b64decode(encoded_tei)
    if tei_json := extra.get("tei_json"):
        contents["grobid0:tei_json"] = (extra.get("later_json") or tei_json) if tei_shape == LATER else tei_json
        contents["grobid0:metadata"] = drop_full_text(contents["grobid0:tei_json"])
    return contents


def _make_text_cells(record: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    text = record.get("text")
    if not text:
        return {}
    return {"text0:tstatus": text["status"], "text0:tinfo": text.get("info"), "text0:pages": extra.get("pages")}


def merge_with_foreign(
    new: Mapping[str, bytes], foreign: AbstractSet[str], own_columns: AbstractSet[str], *, replace_foreign: bool = False
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return (cells to set, columns to clear) for a row in which other programs may have written, too.

    `new` is a dict from column to cell. `foreign` are the columns that other programs wrote, and `own_columns` are the
    columns that windrow wrote, which are cleared if they have no new cell. Foreign cells are kept, except in `text0`,
    where new cells replace them. A foreign outcome in `grobid0` or match in `match0` is kept with all cells of the
    family, so that it is not mixed with windrow's. With `replace_foreign`, a new outcome or match replaces the cells of
    its family.
    """
    kept_columns = {name for name in new if name in foreign and not name.startswith("text0:")}
    cleared_columns = {*own_columns}
    is_own_match = "match0:mstatus" in own_columns
    for family, is_foreign, is_new in (
        ("grobid0:", STATUS_CODE_COLUMN in foreign, STATUS_CODE_COLUMN in new),
        ("match0:", any(name.startswith("match0:") for name in foreign) and not is_own_match, "match0:mstatus" in new),
    ):
        columns = {name for name in ENCODINGS if name.startswith(family)}
        if replace_foreign and is_new:
            kept_columns -= columns
            cleared_columns |= columns if columns & foreign else set()
        elif is_foreign:
            kept_columns |= columns
    cells = {name: cell for name, cell in new.items() if name not in kept_columns}
    return cells, tuple(name for name in ENCODINGS if name in cleared_columns - kept_columns and name not in cells)


def capture_location(recorded: RecordedAttempt) -> Mapping[str, Any]:
    """Return the location of a capture in the archive, with the keys of `file:cdx`; offset and size are integers."""
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
    """Return the location of a capture from its index line: keys of `file:cdx`, except `warc` and `dt`.

    `url` is the address of the record. If the line's address does not normalise to it or is not printable, the line's
    address and SURT are left out.
    """
    location: dict[str, Any] = {"offset": line.offset, "c_size": line.length}
    if line.url.isprintable() and normalise(line.url).url == url:
        location |= {"url": line.url, "surt": line.key if line.key.isprintable() and line.key else surt(line.url)}
    return location
