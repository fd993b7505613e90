"""The row of a paper, made of its record: the cells of every family that has something to say."""

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
from windrow.model import CdxLine, Recorded

EXTRACTED = "grobid0:status_code"
"""The column that says that a file was extracted: what else `grobid0` has belongs to it."""

SMALL = (("f", "file", "match0"), (EXTRACTED, "grobid0:status", "grobid0:quality", "text0:tstatus"))
"""Columns that tell whether a row is there and what others wrote in it, without its texts."""

GENERATION = 2
"""Raised where rows are made otherwise than before: the next run writes all of them anew."""


class FoundCapture(NamedTuple):
    """Where a file was found first, how many captures have it, and the id of the first one's record, if it has any."""

    place: Mapping[str, Any]
    seen: int
    record_id: str = ""


def cells(
    value: Mapping[str, Any],
    aside: Mapping[str, Any],
    found: FoundCapture,
    match: Mapping[str, Any] | None,
    shape: str = TABLE,
) -> dict[str, bytes]:
    """Return a row's cells as bytes."""
    meta, captured = value["file"], found.place
    told: dict[str, Any] = {"file:size": meta["size"], "file:mime": meta["mime"], "file:meta": meta}
    if captured:
        told["f:c"] = _history(found)
        told["file:cdx"] = {name: "" if one is None else str(one) for name, one in captured.items()}
    told |= _grobid(value.get("grobid"), aside, shape)
    if text := value.get("text"):
        told |= {"text0:tstatus": text["status"], "text0:tinfo": text.get("info"), "text0:pages": aside.get("pages")}
    told |= match or {}
    written = {name: encode(name, one) for name, one in told.items() if one is not None}
    return {name: one for name, one in written.items() if len(one) <= CELL}


def _history(found: FoundCapture) -> dict[str, Any]:
    captured = found.place
    at = captured["dt"]
    told = {
        "u": captured["url"],
        "d": f"{at[:4]}-{at[4:6]}-{at[6:8]}T{at[8:10]}:{at[10:12]}:{at[12:14]}Z",
        "f": captured["warc"].rpartition("/")[2],
        "o": captured["offset"],
        "c": found.seen,
    }
    return told | ({"i": found.record_id} if found.record_id else {})


def _grobid(found: Mapping[str, Any] | None, aside: Mapping[str, Any], shape: str) -> dict[str, Any]:
    """Return the cells of `grobid0`; where an answer told of the server only there are none, as if not asked."""
    if found is None or found["passing"]:
        return {}
    told = {
        "grobid0:status_code": found["status_code"],
        "grobid0:status": found["status"],
        "grobid0:quality": found["quality"],
    }
    if tei := aside.get("tei"):
        told["grobid0:tei_xml"] = tei.encode()
    elif packed := aside.get("tei_base64"):  # its bytes are no UTF-8
        told["grobid0:tei_xml"] = b64decode(packed)
    if table := aside.get("tei_json"):
        told["grobid0:tei_json"] = (aside.get("later_json") or table) if shape == LATER else table
        told["grobid0:metadata"] = metadata(told["grobid0:tei_json"])
    return told


def cleared(made: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the columns that a row must not have any more."""
    return tuple(name for name in ENCODINGS if name not in made)


def beside_others(
    made: Mapping[str, bytes], others: AbstractSet[str], written: AbstractSet[str], *, force: bool = False
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the cells to be set in a row that others wrote before, and the columns to be cleared.

    `others` are columns that it has of them, `written` those that were written from here. What others said stays: of
    a file and its place each cell, of extracting and matching all that belongs to one result, unless with `force`
    there is another result to take its place. Nothing else is cleared than what was written from here.
    """
    kept = {name for name in made if name in others and name.startswith(("f:", "file:"))}
    cleared = {*written}
    for family, is_there, replaces in (
        ("grobid0:", EXTRACTED in others, EXTRACTED in made),
        ("match0:", any(name.startswith("match0:") for name in others), "match0:mstatus" in made),
    ):
        columns = {name for name in ENCODINGS if name.startswith(family)}
        if is_there and not (force and replaces):
            kept |= columns
        elif is_there:
            cleared |= columns
    cells = {name: value for name, value in made.items() if name not in kept}
    return cells, tuple(name for name in ENCODINGS if name in cleared - kept and name not in cells)


def captured_at(recorded: Recorded) -> Mapping[str, Any]:
    """Return where a capture lies, as `file:cdx` names it; its numbers are numbers here."""
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


def indexed_at(line: CdxLine, url: str) -> Mapping[str, Any]:
    """Return what an index said of another maker's capture, in its own spelling, but for the file's name.

    Its address and key are taken where they are a spelling of `url`, the record's own address.
    """
    place: dict[str, Any] = {"offset": line.offset, "c_size": line.length}
    if line.url.isprintable() and normalise(line.url).url == url:
        place |= {"url": line.url, "surt": line.key if line.key.isprintable() and line.key else surt(line.url)}
    return place
