"""What a record of another maker's WARC file tells of an address: a visit, nothing of interest, or something wrong."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from windrow.digest import number
from windrow.formats.http import media_type, read_head
from windrow.formats.url import normalise, parts
from windrow.model import Finding, Kept, Level, Place, Visit
from windrow.reasons import Reason
from windrow.stores.archive.stranger import Met

_TOLD = frozenset({"response", "resource", "revisit"})
_UNMODIFIED = "server-not-modified"
_OK = 200
_ROBOTS = "/robots.txt"


class Sight(NamedTuple):
    """One of three: a `visit`, a word for what is `skipped`, or a `finding`.

    `payload` is the digest of the body as the file spells it; a visit that `refers` has its bytes elsewhere.
    """

    visit: Visit | None = None
    skipped: str = ""
    finding: Finding | None = None
    payload: str = ""
    refers: bool = False


def look(one: Met, warc: str, kind: int) -> Sight:
    """Say what a record of the file `warc` tells; `kind` is the collection's number for a page."""
    if one.reason is not None and one.reason is not Reason.TOO_LARGE:
        return _wrong(one, one.reason, one.message)
    written = one.fields.get("warc-target-uri", "").strip("<> ")
    if word := _left_out(one.kind, written):
        return Sight(skipped=word)
    found, at = normalise(written), _moment(one.fields.get("warc-date", ""))
    if not found.url:
        told = f"{written[:200]!r} is no address" if written else "the record names no address"
        return _wrong(one, found.reason or Reason.BAD_ADDRESS, told)
    if at is None:
        return _wrong(one, Reason.BAD_DATE, f"{one.fields.get('warc-date', '')[:40]!r} is no time")
    if parts(found.url).path == _ROBOTS:
        return Sight(skipped="robots.txt")
    return _visit(one, warc, found.url, at, kind)


def _left_out(kind: str, address: str) -> str:
    """Say in a word why a record is of no interest; empty where it may be."""
    if kind not in _TOLD:
        return kind[:40] or "unnamed"
    scheme = address.partition(":")[0].lower()
    return "" if not address or scheme in {"http", "https"} else f"{scheme[:20]} address"


def _visit(one: Met, warc: str, url: str, at: datetime, kind: int) -> Sight:
    head = read_head(one.head)
    status = head.status if one.head else None
    if one.kind != "response":
        status = status or _OK
    if status is None:
        return _wrong(one, Reason.PROTOCOL_ERROR, "the record holds no HTTP response")
    if not 200 <= status < 600:
        return Sight(skipped=f"status {status}")
    if "warc-segment-number" in one.fields:
        return _wrong(one, Reason.UNSUPPORTED, "the record is a segment of one that was cut up")
    fields = head.fields
    kept: Kept | None = None
    refers = one.kind == "revisit" and _UNMODIFIED not in one.fields.get("warc-profile", "")
    if one.kind != "revisit" and one.reason is None:
        kind_ = media_type(fields if one.head else one.fields)
        kept = Kept(one.digest, one.size, Place(warc, one.offset, one.length), at=at, mime=kind_)
    visit = Visit(
        number(url), url, kind, True, at, 0.0, status, kept, one.reason, one.message,
        (fields.get("etag", "")[:256], fields.get("last-modified", "")[:64]), fields.get("location", "")[:2048],
    )  # fmt: skip
    return Sight(visit, payload=one.fields.get("warc-payload-digest", "")[:160], refers=refers)


def _moment(written: str) -> datetime | None:
    """Read a WARC-Date; a time without a zone is UTC."""
    try:
        at = datetime.fromisoformat(written)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _wrong(one: Met, reason: Reason, message: str) -> Sight:
    kind = reason.title().replace("_", "")
    return Sight(finding=Finding(kind, f"at byte {one.offset}: {message}", Level.WARN))
