"""Find events: ask for a source's documents, and for the next page where there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from windrow.collections.events.drift import judge
from windrow.collections.events.parser import EventParser, Unread
from windrow.collections.events.readers.by_fields import joined
from windrow.collections.events.readers.registry import READERS
from windrow.collections.events.reading import ReadEvent, WithdrawnEvent, input_of, read_document
from windrow.collections.events.settings import ADDRESS, ONCE, PARSER
from windrow.contract import Answer, FollowResult, Offering, Request, Skip
from windrow.errors import StepError
from windrow.model import CdxLine, Finding, Level, Source
from windrow.reasons import Reason

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
        offers |= {one.url: Offering(one.url) for one in details if len(one.url) <= _LONGEST}
        asked += details
    elif not offers:
        told.append(Finding("NoEvent", "a form was answered without an event", Level.WARN))
    end = "" if asked else "the last page" if answer.request.name == _LISTS[1] else "there are no more pages"
    remembered: dict[str, Any] = {}
    if answer.request.name in _FIRST:
        name = f"habits of {given.url}"[:300]
        judged = judge(learned.get(name, {}), read)
        remembered[name] = judged.known
        told = [*(Finding(DRIFT, one, Level.WARN) for one in judged.drifts), *told]
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


def parser_of(source: Source | None) -> EventParser:
    """Return a source's parser; of one that is asked by nobody's configuration, that of a calendar."""
    found = source.options.get(PARSER) if source else None
    if isinstance(found, EventParser):
        return found
    return replace(UNKNOWN, name=source.name if source else UNKNOWN.name)


def _word(reason: Reason) -> str:
    return str(reason).title().replace("_", "")


UNKNOWN = EventParser("unknown", "Other", "Other", zone="UTC")
"""What an address is read by that no source names: as a calendar."""
