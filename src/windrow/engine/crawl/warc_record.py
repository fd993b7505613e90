"""What a record of another maker's WARC file tells of an address: a visit, nothing of interest, or something wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from windrow.archive.erase import about
from windrow.archive.warc_reader import WarcRecord
from windrow.contract import NOT_MODIFIED
from windrow.digest import number, spelled_alike
from windrow.formats.http import location, media_type, read_head
from windrow.formats.url import normalise, parts
from windrow.model import ArchivePlace, Finding, KeptResponse, Level, Visit
from windrow.reasons import Reason

_TOLD = frozenset({"response", "resource", "revisit"})
_UNMODIFIED = "server-not-modified"
_OK = 200
_ROBOTS = "/robots.txt"
_LESS = re.compile(r"\d{4}(?:-\d\d)?")
_DIGITS = re.compile(r"\d{14}")


class ImportedRecord(NamedTuple):
    """One of three: a `visit`, a word for what is `skipped`, or a `finding` of what is `wrong`.

    `payload` is the digest of the body as the file spells it, `url` the address so; a visit that `refers` has its bytes
    elsewhere.
    """

    visit: Visit | None = None
    skipped: str = ""
    finding: Finding | None = None
    wrong: Reason | None = None
    payload: str = ""
    refers: bool = False
    url: str = ""


def with_methods(records: Iterable[WarcRecord]) -> Iterator[tuple[WarcRecord, str]]:
    """Yield records, and beside responses the method that was asked by, where their requests stand next to them.

    Crawlers write a request just before its response or just after it, tied by WARC-Concurrent-To.
    """
    before: WarcRecord | None = None
    held: WarcRecord | None = None
    for one in records:
        if held is not None:
            yield held, _method(held, before) or _method(held, one)
            before, held = held, None
        if one.kind == "response":
            held = one
        else:
            yield one, ""
            before = one
    if held is not None:
        yield held, _method(held, before)


def _method(response: WarcRecord, request: WarcRecord | None) -> str:
    """Return the method of a request, where it is that of the response."""
    if request is None or request.kind != "request":
        return ""
    names = [response.fields.get("warc-record-id", ""), request.fields.get("warc-record-id", "")]
    tied = [request.fields.get("warc-concurrent-to", ""), response.fields.get("warc-concurrent-to", "")]
    if not any(name and name == other for name, other in zip(names, tied, strict=True)):
        return ""
    return request.head[:16].partition(b" ")[0].decode("latin-1")


def look(one: WarcRecord, warc: str, kind: int, method: str = "") -> ImportedRecord:
    """Say what a record of the file `warc` tells; `kind` is the collection's number for a page."""
    if one.reason is not None and one.reason is not Reason.TOO_LARGE:
        return _wrong(one, one.reason, one.message)
    written = about(one.fields) if _unmodified(one) else one.fields.get("warc-target-uri", "").strip("<> ")
    if word := _left_out(one, written, method):
        return ImportedRecord(skipped=word)
    found, at = normalise(written), _moment(one.fields.get("warc-date", ""))
    if not found.url:
        told = f"{written[:200]!r} is no address" if written else "the record names no address"
        return _wrong(one, found.reason or Reason.BAD_ADDRESS, told)
    if at is None:
        return _wrong(one, Reason.BAD_DATE, f"{one.fields.get('warc-date', '')[:40]!r} is no time")
    if parts(found.url).path == _ROBOTS:
        return ImportedRecord(skipped="robots.txt")
    return _visit(one, warc, found.url, at, kind)._replace(url=written)


def _left_out(one: WarcRecord, address: str, method: str) -> str:
    """Say in a word why a record is of no interest; empty where it may be."""
    if method not in {"", "GET"}:
        return f"answer to {method[:10]}"
    if one.kind not in _TOLD and not _unmodified(one):
        return one.kind[:40] or "unnamed"
    scheme = address.partition(":")[0].lower()
    return "" if not address or scheme in {"http", "https"} else f"{scheme[:20]} address"


def _unmodified(one: WarcRecord) -> bool:
    """Tell an answer 304 as windrow keeps it."""
    return one.kind == "metadata" and bool(one.head) and read_head(one.head).status == NOT_MODIFIED


def _visit(one: WarcRecord, warc: str, url: str, at: datetime, kind: int) -> ImportedRecord:
    head = read_head(one.head)
    status = head.status if one.head else None
    if one.kind != "response":
        status = status or _OK
    if status is None:
        return _wrong(one, Reason.PROTOCOL_ERROR, "the record holds no HTTP response")
    if not 200 <= status < 600:
        return ImportedRecord(skipped=f"status {status}")
    if "warc-segment-number" in one.fields:
        return _wrong(one, Reason.UNSUPPORTED, "the record is a segment of one that was cut up")
    fields = head.fields
    kept: KeptResponse | None = None
    refers = one.kind == "revisit" and _UNMODIFIED not in one.fields.get("warc-profile", "")
    if one.kind in {"response", "resource"} and one.reason is None:
        kind_ = media_type(fields if one.head else one.fields)
        kept = KeptResponse(one.digest, one.size, ArchivePlace(warc, one.offset, one.length), at=at, mime=kind_)
    visit = Visit(
        number(url), url, kind, True, at, 0.0, status, kept, one.reason, one.message,
        (fields.get("etag", "")[:256], fields.get("last-modified", "")[:64]), location(fields),
    )  # fmt: skip
    return ImportedRecord(visit, payload=spelled_alike(one.fields.get("warc-payload-digest", "")[:160]), refers=refers)


def _moment(written: str) -> datetime | None:
    """Read a WARC-Date; a time without a zone is UTC.

    WARC/1.1 allows dates of less precision, down to the year (ISO 28500:2017, section 5.4), which stand for their first
    moment. Some makers write 14 digits, as ARC does.

    >>> str(_moment("2024-03")), str(_moment("20240301120000")), _moment("2024-13")
    ('2024-03-01 00:00:00+00:00', '2024-03-01 12:00:00+00:00', None)
    """
    if _LESS.fullmatch(written):
        written = f"{written}-01-01"[:10]
    elif _DIGITS.fullmatch(written):
        written = f"{written[:8]}T{written[8:]}"
    try:
        at = datetime.fromisoformat(written)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _wrong(one: WarcRecord, reason: Reason, message: str) -> ImportedRecord:
    kind = reason.title().replace("_", "")
    return ImportedRecord(finding=Finding(kind, f"at byte {one.offset}: {message}", Level.WARN), wrong=reason)
