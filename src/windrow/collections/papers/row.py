"""The row of a paper: its record as cells of the table's families."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from windrow.collections.papers.collection import LATER, TABLE
from windrow.collections.papers.columns import CELL, ENCODINGS, encode
from windrow.formats.surt import surt
from windrow.formats.tei import metadata
from windrow.formats.url import normalise
from windrow.model import CdxLine, RecordedAttempt

EXTRACTED = "grobid0:status_code"
"""The column that shows that GROBID's outcome is stored: the other cells of `grobid0` belong to it."""

SMALL = (("f", "file", "match0"), (EXTRACTED, "grobid0:status", "grobid0:quality", "text0:tstatus"))
"""Columns that show whether a row exists and what others wrote in it, without its large cells."""

GENERATION = 2
"""The version of this code; if it is raised, the next run writes all rows again."""


class FoundCapture(NamedTuple):
    """Where a file was first captured (keys as in `file:cdx`), its number of captures, the first one's record id."""

    place: Mapping[str, Any]
    seen: int
    record_id: str = ""


def cells(
    record: Mapping[str, Any],
    aside: Mapping[str, Any],
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
    contents |= _grobid(record.get("grobid"), aside, shape)
    if text := record.get("text"):
        contents |= {
            "text0:tstatus": text["status"],
            "text0:tinfo": text.get("info"),
            "text0:pages": aside.get("pages"),
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


def _grobid(answer: Mapping[str, Any] | None, aside: Mapping[str, Any], shape: str) -> dict[str, Any]:
    """Return the contents of `grobid0`; nothing for a transient outcome, as if no request had been sent."""
    if answer is None or answer["passing"]:
        return {}
    contents = {
        "grobid0:status_code": answer["status_code"],
        "grobid0:status": answer["status"],
        "grobid0:quality": answer["quality"],
    }
    if tei := aside.get("tei"):
        contents["grobid0:tei_xml"] = tei.encode()
    elif packed := aside.get("tei_base64"):  # not UTF-8
        contents["grobid0:tei_xml"] = b64decode(packed)
    if table := aside.get("tei_json"):
        contents["grobid0:tei_json"] = (aside.get("later_json") or table) if shape == LATER else table
        contents["grobid0:metadata"] = metadata(contents["grobid0:tei_json"])
    return contents


def absent_columns(new: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the columns to clear in a row of our own: all without a new cell."""
    return tuple(name for name in ENCODINGS if name not in new)


def merge_with_foreign(
    new: Mapping[str, bytes], foreign: AbstractSet[str], written: AbstractSet[str], *, force: bool = False
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the cells to set in a row that existed before, and the columns to clear.

    `foreign` are the columns that others wrote, `written` those that windrow wrote. Foreign cells are kept: each cell
    of `f` and `file`, and all cells of `grobid0` and of `match0` together; with `force`, a family of which there is a
    new outcome is replaced. Otherwise only columns that windrow wrote are cleared.
    """
    kept = {name for name in new if name in foreign and name.startswith(("f:", "file:"))}
    cleared = {*written}
    for family, exists, replaces in (
        ("grobid0:", EXTRACTED in foreign, EXTRACTED in new),
        ("match0:", any(name.startswith("match0:") for name in foreign), "match0:mstatus" in new),
    ):
        columns = {name for name in ENCODINGS if name.startswith(family)}
        if exists and not (force and replaces):
            kept |= columns
        elif exists:
            cleared |= columns
    cells = {name: cell for name, cell in new.items() if name not in kept}
    return cells, tuple(name for name in ENCODINGS if name in cleared - kept and name not in cells)


def capture_location(recorded: RecordedAttempt) -> Mapping[str, Any]:
    """Return where a capture is in the archive, by the keys of `file:cdx`; offset and size are integers."""
    attempt = recorded.attempt
    kept = attempt.kept
    return {
        "surt": surt(attempt.url),
        "url": attempt.url,
        "dt": f"{attempt.started:%Y%m%d%H%M%S}",
        "warc": kept.place.warc if kept else "",
        "offset": kept.place.offset if kept else 0,
        "c_size": kept.place.length if kept else 0,
    }


def indexed_location(line: CdxLine, url: str) -> Mapping[str, Any]:
    """Return where a capture is by its index line, without the name of the WARC file.

    The line's address and key are included if they normalise to `url`, the record's address.
    """
    place: dict[str, Any] = {"offset": line.offset, "c_size": line.length}
    if line.url.isprintable() and normalise(line.url).url == url:
        place |= {"url": line.url, "surt": line.key if line.key.isprintable() and line.key else surt(line.url)}
    return place
