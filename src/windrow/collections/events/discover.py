"""Request documents of events: addresses that depend on the day, following pages, and the detection of drift.

What earlier responses of an address contained is kept with what is learned of its source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from windrow.collections.events.collection import ADDRESS, ONCE, PARSER
from windrow.collections.events.parser import SkippedPart
from windrow.collections.events.readers.by_fields import join_url
from windrow.collections.events.readers.registry import READERS
from windrow.collections.events.reading import ReadEvent, WithdrawnEvent, parser_of, read_document, source_document
from windrow.contract import Answer, FollowResult, Offering, Request, Skip
from windrow.errors import StepError
from windrow.model import CdxLine, Finding, Level, Source
from windrow.reasons import Reason

FIELDS = ("description", "end_datetime", "event_url", "location")
ANSWERS = 3
"""Responses with events in a row after which a change is drift."""

# A field drifts from this share of events or more to this share or less, in responses of at least so many events.
_FULL, _BARE, _FEW = 0.8, 0.2, 3


class DriftVerdict(NamedTuple):
    """What to remember of an address, and a sentence for each thing that its responses no longer contain."""

    known: dict[str, Any]
    drifts: tuple[str, ...]


def detect_drift(known: Mapping[str, Any], parts: Sequence[ReadEvent | WithdrawnEvent | SkippedPart]) -> DriftVerdict:
    """Compare a response with the earlier ones of its address.

    `known` has `row`, the number of responses in a row with events, `empty`, whether any had none, and `shares`, the
    share of events that had each field.
    """
    events = [part for part in parts if isinstance(part, ReadEvent)]
    answers_in_a_row, was_empty = int(known.get("row", 0)), bool(known.get("empty", False))
    shares: Mapping[str, float] = known.get("shares", {})
    if not events:
        has_placeholder = any(isinstance(part, SkippedPart) and part.reason is Reason.PLACEHOLDER for part in parts)
        if answers_in_a_row >= ANSWERS and not was_empty and not has_placeholder:
            return DriftVerdict(
                dict(known), (f"the response has no events; each of the {answers_in_a_row} earlier ones had some",)
            )
        return DriftVerdict({**known, "row": 0, "empty": True}, ())
    shares_now = {name: round(sum(bool(event.value.get(name)) for event in events) / len(events), 3) for name in FIELDS}
    drifts = tuple(
        f"{name} is filled in {share:.0%} of {len(events)} events; it was in {shares[name]:.0%}"
        for name, share in shares_now.items()
        if answers_in_a_row >= ANSWERS and len(events) >= _FEW and shares.get(name, 0.0) >= _FULL and share <= _BARE
    )
    if drifts:
        return DriftVerdict(dict(known), drifts)
    return DriftVerdict({"row": min(answers_in_a_row + 1, 1_000_000), "empty": was_empty, "shares": shares_now}, ())


DRIFT = "Drift"
"""The kind of a finding that responses no longer have what all earlier ones had."""

_MEDIA = {"schema.org": "html", "html": "html", "icalendar": "calendar", "json": "json", "xml": "xml", "feed": "xml"}
"""By reader, a part of the media types that it reads."""

_NO_ANSWER = Skip(Reason.NOT_WANTED, message="its status is not 200")
_OTHER_MEDIA = Skip(Reason.NOT_WANTED, message="its media type is not that of the source's reader")
_LISTS = ("first", "page")
_FIRST = frozenset({"", _LISTS[0]})
_IN_PART = "listed in part"
"""Key of what is learned: whether the current listing has a part whose event is not known."""

_MAX_URL = 512


def begin(source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Request the source's address, each time it is due."""
    del learned
    if not source.options[ADDRESS]:
        return ()
    every = None if source.options.get(ONCE) else int(source.options[PARSER].every)
    return (Request(source.options[ADDRESS], _LISTS[0], every=every),)


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Offer the events of a response, and request the next page and details."""
    parser = parser_of(source)
    if answer.status != 200:
        return FollowResult(skip=Reason.PROTOCOL_ERROR)
    media = answer.fields.get("content-type", "")
    document = source_document(parser, answer.view.read(), answer.request.url, answer.at, media)
    try:
        parts = list(read_document(parser, document))
    except StepError as error:
        return FollowResult(skip=error.reason, findings=(Finding(error.reason.class_name, str(error)),))
    offers = {part.uid: Offering(part.uid) for part in parts if isinstance(part, ReadEvent | WithdrawnEvent)}
    skipped = [part for part in parts if isinstance(part, SkippedPart)]
    findings = [Finding(part.reason.class_name, part.message, Level.WARN) for part in skipped]
    skipped_keys = {part.key for part in skipped if part.reason is not Reason.PLACEHOLDER}
    next_page = READERS[document.rules.reader].next_page(document)
    url = join_url(document.url, next_page) if next_page else ""
    url = "" if url == document.url else url
    is_complete = parser.complete or READERS[document.rules.reader].growing
    requests: tuple[Request, ...] = ()
    if url:
        requests = (Request(url, _LISTS[1], only_if_new=not is_complete, when_named=is_complete),)
    if answer.request.method == "GET":  # a form whose response has the same form would be sent again and again
        details = READERS[document.rules.reader].details(document)
        offers |= {detail.url: Offering(detail.url) for detail in details if len(detail.url) <= _MAX_URL}
        requests += details
    elif not offers:
        findings.append(Finding("NoEvent", "the response to a form has no event", Level.WARN))
    end = "" if requests else "the last page" if answer.request.name == _LISTS[1] else "there are no more pages"
    remembered: dict[str, Any] = {}
    if answer.request.name in _FIRST:
        name = f"habits of {document.url}"[:300]
        verdict = detect_drift(learned.get(name, {}), parts)
        remembered[name] = verdict.known
        findings = [*(Finding(DRIFT, drift, Level.WARN) for drift in verdict.drifts), *findings]
    if not parser.complete or document.rules.details or answer.request.name not in _LISTS:
        offered = tuple(offers.values())
        return FollowResult(requests, offered, remembered, end=end, findings=tuple(findings[:100]))
    # A part that cannot be read is listed, too. If its event is not known, no event is known to be missing.
    offers |= {key: Offering(key) for key in skipped_keys if key}
    begins = answer.request.name == _LISTS[0]
    in_part = "" in skipped_keys or (not begins and bool(learned.get(_IN_PART)))
    if in_part != bool(learned.get(_IN_PART)):
        remembered[_IN_PART] = in_part
    return FollowResult(
        requests, tuple(offers.values()), remembered, end=end, findings=tuple(findings[:100]),
        begins_listing=begins, ends_listing=not url and not in_part,
    )  # fmt: skip


def select(source: Source, options: Mapping[str, Any]) -> Callable[[CdxLine], Skip | None]:
    """Select the captures of imported archives that a source's reader can read."""
    del options
    reader = parser_of(source).versions[-1].reader
    return partial(refuse_capture, _MEDIA.get(reader, ""))


def refuse_capture(media: str, line: CdxLine) -> Skip | None:
    """Return why a capture is not wanted, or None if it is."""
    if line.status != 200:
        return _NO_ANSWER
    return None if media in (line.mime or "") else _OTHER_MEDIA


MOVING = ("{day}", "{hour}")
"""Fields of an address that make it a new one each day or hour; each is requested once."""

_NIGHT = timedelta(hours=6)


def fill_address(address: str, at: datetime) -> str:
    """Fill in the fields of an address for a time, which is in the zone of the source.

    Fields are {year}, {day} (20261005), {week} (its Monday, 20261005), {sunday} and {saturday} (10042026) of its week,
    {hour} (2026100514), {legislative_day}, which ends at 6:00 of the next day, {congress} and {session} of the United
    States, and {term} (two digits) of its Supreme Court. A Congress and its sessions begin on 3 January, a term in
    October.

    >>> fill_address("{congress}_{session}/{term}.xml", datetime(2026, 1, 2))
    '119_1/25.xml'
    >>> fill_address("{congress}_{session}/{term}.xml", datetime(2027, 1, 3))
    '120_1/26.xml'
    """
    if "{" not in address:
        return address
    today = at.date()
    year_of_session = today.year if (today.month, today.day) >= (1, 3) else today.year - 1
    term = today.year if today.month >= 10 else today.year - 1
    sunday = today - timedelta(days=today.isoweekday() % 7)
    words = {
        "year": str(today.year),
        "day": f"{today:%Y%m%d}",
        "hour": f"{at:%Y%m%d%H}",
        "legislative_day": f"{at - _NIGHT:%Y%m%d}",
        "week": f"{today - timedelta(days=today.weekday()):%Y%m%d}",
        "sunday": f"{sunday:%m%d%Y}",
        "saturday": f"{sunday + timedelta(days=6):%m%d%Y}",
        "congress": str((year_of_session - 1789) // 2 + 1),
        "session": "1" if year_of_session % 2 else "2",
        "term": f"{term % 100:02}",
    }
    for name, word in words.items():
        address = address.replace(f"{{{name}}}", word)
    return address
