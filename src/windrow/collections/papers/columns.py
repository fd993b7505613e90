"""The columns of the journal-extract table, and how their values are written as bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

from windrow.stores.wide.table import CELL, Family

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
