"""How documents of events are asked for: addresses of the day, pages that follow, and what has drifted.

What answers brought so far is remembered for each address, with what was learned of its source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from windrow.collections.events.parser import Unread
from windrow.collections.events.readers.by_fields import joined
from windrow.collections.events.readers.registry import READERS
from windrow.collections.events.reading import ReadEvent, WithdrawnEvent, input_of, parser_of, read_document
from windrow.collections.events.settings import ADDRESS, ONCE, PARSER
from windrow.contract import Answer, FollowResult, Offering, Request, Skip
from windrow.errors import StepError
from windrow.model import CdxLine, Finding, Level, Source
from windrow.reasons import Reason

FIELDS = ("description", "end_datetime", "event_url", "location")
ANSWERS = 3
"""Answers in a row that make a habit."""

_FULL, _BARE, _FEW = 0.8, 0.2, 3


class DriftVerdict(NamedTuple):
    """What is to be remembered of an address, and in a sentence each what it does not say any more."""

    known: dict[str, Any]
    drifts: tuple[str, ...]


def judge(known: Mapping[str, Any], read: Sequence[ReadEvent | WithdrawnEvent | Unread]) -> DriftVerdict:
    """Compare an answer with what the earlier ones of its address brought.

    `known` has the answers in a row that had events, whether there was ever one without any, and the share of events
    that had each field.
    """
    events = [one for one in read if isinstance(one, ReadEvent)]
    row, empty = int(known.get("row", 0)), bool(known.get("empty", False))
    shares: Mapping[str, float] = known.get("shares", {})
    if not events:
        said = any(isinstance(one, Unread) and one.reason is Reason.PLACEHOLDER for one in read)
        if row >= ANSWERS and not empty and not said:
            return DriftVerdict(dict(known), (f"there is no event, where each of {row} answers before had some",))
        return DriftVerdict({**known, "row": 0, "empty": True}, ())
    filled = {name: round(sum(bool(event.value.get(name)) for event in events) / len(events), 3) for name in FIELDS}
    drifts = tuple(
        f"{name} is filled in {share:.0%} of {len(events)} events; it was in {shares[name]:.0%}"
        for name, share in filled.items()
        if row >= ANSWERS and len(events) >= _FEW and shares.get(name, 0.0) >= _FULL and share <= _BARE
    )
    if drifts:
        return DriftVerdict(dict(known), drifts)
    return DriftVerdict({"row": min(row + 1, 1_000_000), "empty": empty, "shares": filled}, ())


DRIFT = "Drift"
"""The kind of a finding that a source does not say any more what it always said."""

_ANY = ""
_MEDIA = {"schema.org": "html", "html": "html", "icalendar": "calendar", "json": "json", "xml": "xml", "feed": "xml"}
"""What is in the media type of what a reader reads."""

_NO_ANSWER = Skip(Reason.NOT_WANTED, message="its status is not 200")
_OTHER_MEDIA = Skip(Reason.NOT_WANTED, message="its media type is not that of the source's reader")
_LISTS = ("first", "page")
_FIRST = frozenset({"", _LISTS[0]})
_IN_PART = "listed in part"
"""Whether the listing under way has something of which it is not known what it is."""

_LONGEST = 512
MOST = 10_000
"""Events of one answer that are offered."""


def begin(source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Ask for the source's address, each time it is due."""
    del learned
    if not source.options[ADDRESS]:
        return ()
    every = None if source.options.get(ONCE) else int(source.options[PARSER].every)
    return (Request(source.options[ADDRESS], _LISTS[0], every=every),)


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Offer what events an answer has, and ask for the page after it."""
    parser = parser_of(source)
    if answer.status != 200:
        return FollowResult(skip=Reason.PROTOCOL_ERROR)
    given = input_of(parser, answer.view.read(), answer.request.url, answer.at, answer.fields.get("content-type", ""))
    try:
        read = list(read_document(parser, given))
    except StepError as error:
        return FollowResult(skip=error.reason, findings=(Finding(_word(error.reason), str(error)),))
    offers = {one.uid: Offering(one.uid) for one in read if isinstance(one, ReadEvent | WithdrawnEvent)}
    told = [Finding(_word(one.reason), one.message, Level.WARN) for one in read if isinstance(one, Unread)]
    unread = {one.key for one in read if isinstance(one, Unread) and one.reason is not Reason.PLACEHOLDER}
    following = READERS[given.rules.reader].next_page(given)
    url = joined(given.url, following) if following else ""
    url = "" if url == given.url else url
    whole = parser.complete or READERS[given.rules.reader].growing
    asked: tuple[Request, ...] = ()
    if url:
        asked = (Request(url, _LISTS[1], only_if_new=not whole, when_named=whole),)
    if answer.request.method == "GET":  # a form that is answered with itself would be sent again and again
        details = READERS[given.rules.reader].details(given)
        offers |= {detail.url: Offering(detail.url) for detail in details if len(detail.url) <= _LONGEST}
        asked += details
    elif not offers:
        told.append(Finding("NoEvent", "a form was answered without an event", Level.WARN))
    end = "" if asked else "the last page" if answer.request.name == _LISTS[1] else "there are no more pages"
    remembered: dict[str, Any] = {}
    if answer.request.name in _FIRST:
        name = f"habits of {given.url}"[:300]
        judged = judge(learned.get(name, {}), read)
        remembered[name] = judged.known
        told = [*(Finding(DRIFT, drift, Level.WARN) for drift in judged.drifts), *told]
    if not parser.complete or given.rules.details or answer.request.name not in _LISTS:
        return FollowResult(asked, tuple(offers.values())[:MOST], remembered, end=end, findings=tuple(told[:100]))
    # What cannot be read is listed all the same. What it is may not be known: then nothing is known to be missing.
    offers |= {key: Offering(key) for key in unread if key}
    begins = answer.request.name == _LISTS[0]
    in_part = "" in unread or len(offers) > MOST or (not begins and bool(learned.get(_IN_PART)))
    if in_part != bool(learned.get(_IN_PART)):
        remembered[_IN_PART] = in_part
    return FollowResult(
        asked, tuple(offers.values())[:MOST], remembered, end=end, findings=tuple(told[:100]),
        begins_listing=begins, ends_listing=not url and not in_part,
    )  # fmt: skip


def select(source: Source, options: Mapping[str, Any]) -> Callable[[CdxLine], Skip | None]:
    """Want the captures of others that a source's reader can read."""
    del options
    reader = parser_of(source).versions[-1].reader
    return partial(unwanted, _MEDIA.get(reader, _ANY))


def unwanted(media: str, line: CdxLine) -> Skip | None:
    """Tell why a capture is not wanted."""
    if line.status != 200:
        return _NO_ANSWER
    return None if media in (line.mime or "") else _OTHER_MEDIA


def _word(reason: Reason) -> str:
    return str(reason).title().replace("_", "")


MOVING = ("{day}", "{hour}")
"""In an address: it is another one every day or hour, so that each is asked once."""

_NIGHT = timedelta(hours=6)


def filled(address: str, at: datetime) -> str:
    """Return an address as it is at a time, by the clock of the source.

    {year}, {day} (20261005), {week} (its Monday, likewise), {sunday} and {saturday} (10042026) of its week, {hour}
    (2026100514), {legislative_day}, which may pass midnight, {congress} and {session} of the United States, and {term}
    (two figures) of its Supreme Court. A Congress and its sessions begin on 3 January, a term in October.

    >>> filled("{congress}_{session}.xml", datetime(2026, 1, 2)), filled("{congress}/{term}", datetime(2027, 1, 3))
    ('119_1.xml', '120/26')
    """
    if "{" not in address:
        return address
    today = at.date()
    sitting = today.year if (today.month, today.day) >= (1, 3) else today.year - 1
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
        "congress": str((sitting - 1789) // 2 + 1),
        "session": "1" if sitting % 2 else "2",
        "term": f"{term % 100:02}",
    }
    for name, value in words.items():
        address = address.replace(f"{{{name}}}", value)
    return address
