"""Request the lists of events, page after page, and the documents of single events; detect drift.

An address may depend on the day. Drift means that the responses of an address no longer have the events, or a field,
that its earlier responses had. `learned` is what the ledger remembers about a source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from math import ceil
from typing import Any, NamedTuple

from windrow.caps import COMPARED_PAGES
from windrow.collections.events.collection import ADDRESS, ONCE, PARSER
from windrow.collections.events.parser import UID_FIELDS, UID_RULES, SkippedPart, SourceDocument
from windrow.collections.events.readers.by_fields import join_url
from windrow.collections.events.readers.registry import READERS, EventReader
from windrow.collections.events.reading import (
    ReadEvent,
    WithdrawnEvent,
    lists_all_events,
    parser_of,
    read_document,
    source_document,
    uid_prefix,
)
from windrow.collections.events.uids import EventUids, shorten_uid
from windrow.contract import (
    DRIFT,
    KEYS_CHANGED,
    Answer,
    FollowResult,
    LeftOutCount,
    Offering,
    Request,
    Skip,
)
from windrow.errors import StepError
from windrow.formats.text import counted
from windrow.model import CdxLine, Finding, Level, Source
from windrow.reasons import Reason, reason_of_status

_NOT_EVENTS = frozenset({Reason.PLACEHOLDER, Reason.WRONG_ENCODING, Reason.NOT_VALID, Reason.UNSUPPORTED})
"""Reasons for parts of a document behind which there is no event, or one that is read with less than it has."""

_COUNTED_APART = frozenset({Reason.NOT_WANTED, Reason.CAPPED})  # their counts are not findings of each answer
_CHECKED_FIELDS = ("description", "end_datetime", "event_url", "location")
_MIN_ANSWERS = 3
"""The number of consecutive responses that must have had events before a change counts as drift."""

_MIN_SHARE_BEFORE, _MAX_SHARE_NOW = 0.8, 0.2
"""A field has drifted if at least 0.8 of the events in the last response with events had it, and at most 0.2 do now."""

_MIN_EVENTS = 3
"""The minimum number of events in a response whose fields are examined for drift."""


class DriftResult(NamedTuple):
    """The statistics for an address, to pass to the next call of `detect_drift`, and a message for each drift."""

    statistics: dict[str, Any]
    drifts: tuple[str, ...]


def detect_drift(
    statistics: Mapping[str, Any], parts: Sequence[ReadEvent | WithdrawnEvent | SkippedPart]
) -> DriftResult:
    """Compare the parts of a response with the statistics of earlier responses from the same address.

    `statistics` is empty for the first response. `row` is the number of responses in a row that had events, up to the
    latest one. `empty` says whether any response had no events. `events` is the number of events in the latest response
    with events, or 0 if a later one said that there are none. `shares` is a dict from field to the share of these
    events that had it. A response that drifts leaves the statistics unchanged.
    """
    events = [part for part in parts if isinstance(part, ReadEvent)]
    answers_in_a_row, was_empty = int(statistics.get("row", 0)), bool(statistics.get("empty", False))
    shares: Mapping[str, float] = statistics.get("shares", {})
    if not events:
        has_placeholder = any(isinstance(part, SkippedPart) and part.reason is Reason.PLACEHOLDER for part in parts)
        if answers_in_a_row >= _MIN_ANSWERS and not was_empty and not has_placeholder:
            return DriftResult(
                dict(statistics), (f"the response has no events; each of the {answers_in_a_row} earlier ones had some",)
            )
        no_events = {"row": 0, "empty": True} | ({"events": 0} if has_placeholder else {})
        return DriftResult({**statistics, **no_events}, ())
    counts_now = {name: sum(bool(event.value.get(name)) for event in events) for name in _CHECKED_FIELDS}
    shares_now = {name: round(count / len(events), 3) for name, count in counts_now.items()}
    is_comparable = answers_in_a_row >= _MIN_ANSWERS and len(events) >= _MIN_EVENTS
    drifts = tuple(
        f"{name} is filled in {share:.0%} of {len(events)} events; before, it was filled in {shares[name]:.0%}"
        for name, share in shares_now.items()
        if is_comparable and shares.get(name, 0.0) >= _MIN_SHARE_BEFORE and share <= _MAX_SHARE_NOW
    )
    if drifts:
        return DriftResult(dict(statistics), drifts)
    learned = {"row": min(answers_in_a_row + 1, 1_000_000), "empty": was_empty, "events": len(events)}
    return DriftResult({**learned, "shares": shares_now}, ())


_MEDIA_PARTS = {
    "schema.org": "html", "html": "html", "icalendar": "calendar", "json": "json", "xml": "xml", "feed": "xml",
}  # fmt: skip
"""A dict from the name of a reader to a text that the media types of its documents contain."""

_ADDRESS_RULE = "documents of events that a list names without a valid address"
_MICRODATA = re.compile(rb"itemtype\s*=\s*[\"']?https?://schema\.org/\w*Event", re.IGNORECASE)
_WRONG_STATUS = Skip(Reason.NOT_WANTED, message="its status is not 200")
_OTHER_MEDIA = Skip(Reason.NOT_WANTED, message="its media type is not that of the source's reader")
_FOLLOW_LIST = "to request them, set details = 'itemListElement'"
_NEXT_PAGE_RULE = "further pages of a list, whose address is not known"
_TOTAL_RULE = "entries of a list that states more than its pages have"
_FIRST_PAGE, _NEXT_PAGE = "first", "page"  # names of requests
_INCOMPLETE_KEY = "listed in part"
"""The key of the value in `learned` that says whether the current listing is incomplete.

It is incomplete if a part of it could not be assigned to an event, or if the address of its next page is not known.
"""

_LISTED, _TOTAL = "listed", "total"
"""The keys in `learned` for the number of entries of a list on the pages that were read since its first page, and for
the largest total that these pages state."""

_KNOWN_STARTS = "starts of events"
"""The key in `learned` for the starts that were listed with each id (`EventUids`)."""

EMPTIED, CUT_SERIES, UNPAGED = "became empty", "cut series", "without a next page"
"""Keys in `learned` for a list whose latest response has no events or only a part of the repetitions of some.

UNPAGED is for a list in which the setting `next_page` never selected anything. The values are dicts with the `url` of
the list and a number of `events`: those that it had before, those that have further repetitions, and those that it has.
The value is None if there are none, and {} for a list that has had a next page.
"""

UNLISTED = "never an event"
"""The key in `learned` for a list none of whose responses had an event so far; the value is as for EMPTIED, or None."""

_UIDS_BY = "rules of uids"
"""The key in `learned` for the settings that made the uids of the latest listing."""

UNCOMPARED = "unknown parts"
"""The key in `learned` for the parts of the current listing of which it is not known which events they are.

The value is as for EMPTIED, or None. While there are such parts, no event is looked for that the source removed.
"""

_CAPTURED_PAGES = "habits of captures"
"""The key in `learned` for the statistics of captured pages, by address."""


def begin(source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Return the request for a source's address, or () if the source has no address.

    If the option ONCE is true, the request is sent only once, and otherwise again after the parser's `every` seconds,
    rounded up (0: in each run).
    """
    del learned
    if not source.options[ADDRESS]:
        return ()
    every = None if source.options.get(ONCE) else ceil(source.options[PARSER].every)
    return (Request(source.options[ADDRESS], _FIRST_PAGE, every=every),)


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Offer the events of a response, and request its next page and the events' own documents.

    If the status is not 200, or the response cannot be read, return only a skip and a finding. Raise StepError if the
    zone of the parser is not known.
    """
    parser = parser_of(source)
    if answer.status != 200:
        finding = Finding("Refused", f"the status is {answer.status}", Level.WARN)
        return FollowResult(skip=reason_of_status(answer.status), findings=(finding,))
    media = answer.fields.get("content-type", "")
    document = source_document(parser, answer.view.read(), answer.request.url, answer.at, media)
    document = document._replace(headers=answer.fields)
    reader = READERS[document.rules.reader]
    try:
        uids = EventUids(uid_prefix(parser), learned.get(_KNOWN_STARTS, {}))
        parts = _read_parts(document, uids, answer.request.name)
        next_page = _find_next_page(document, parts, learned, answer.request.name)
    except StepError as error:
        return FollowResult(skip=error.reason, findings=(Finding(error.reason.class_name, str(error)),))
    offers = {part.uid: Offering(part.uid) for part in parts if isinstance(part, ReadEvent | WithdrawnEvent)}
    skipped = [part for part in parts if isinstance(part, SkippedPart) and part.reason not in _COUNTED_APART]
    faults = (Finding(part.reason.class_name, part.message, Level.WARN) for part in skipped)
    findings = [*faults, *next_page.findings]
    is_complete = lists_all_events(parser, document.rules)
    reads_every_page = is_complete or reader.is_growing
    url = next_page.url
    requests = [Request(url, _NEXT_PAGE, only_if_new=not reads_every_page, when_named=reads_every_page)] if url else []
    left_out = _count_left_out(reader, document) + next_page.left_out
    is_form = answer.request.method != "GET"
    if not is_form and answer.request.name != "detail":  # it has the same form again, or may list other events
        details = reader.details(document)
        offers |= {key: Offering(key) for key in (shorten_uid(detail.url) for detail in details)}
        requests += details
    elif not offers and (is_form or not parts):
        document_name = "the response to a form" if is_form else "the document of an event"
        findings.append(Finding("NoEvent", f"{document_name} has no events", Level.WARN))
    end = "the last page" if answer.request.name == _NEXT_PAGE else "there are no more pages"
    end = "" if requests or next_page.left_out else end
    starts = uids.remember(answer.at)
    remembered: dict[str, Any] = {} if starts == learned.get(_KNOWN_STARTS, {}) else {_KNOWN_STARTS: starts}
    remembered |= next_page.learned
    if answer.request.name == _FIRST_PAGE:
        remembered |= _compare_uid_rules(learned, document)
    if answer.request.name in {"", _FIRST_PAGE}:
        is_unlisted = not (starts or parts or requests)
        habits, drifts = _compare_with_habits(source, learned, answer, parts, is_unlisted=is_unlisted)
        remembered |= habits
        findings = [*(Finding(DRIFT, drift, Level.WARN) for drift in drifts), *findings]
    result = FollowResult(
        tuple(requests), tuple(offers.values()), remembered, end=end, findings=tuple(findings), left_out=left_out
    )
    if not is_complete or document.rules.details or answer.request.name not in {_FIRST_PAGE, _NEXT_PAGE}:
        return result
    return _end_listing(result, learned, answer.request, _find_listed_keys(skipped, uids), is_last=not url)


def _find_listed_keys(skipped: Sequence[SkippedPart], uids: EventUids) -> list[str]:
    """Return the uids of the events that parts which cannot be read may be, and an empty text for each unknown part."""
    keys: list[str] = []
    for part in skipped:
        if part.reason not in _NOT_EVENTS:
            keys += uids.find_series(part.series) if part.series else [part.key]
    return keys


def _end_listing(
    result: FollowResult, learned: Mapping[str, Any], request: Request, skipped_keys: Sequence[str], *, is_last: bool
) -> FollowResult:
    """Return the result for a page of a list that has all events, which the last page ends if nothing is unknown.

    A part that cannot be read is also listed. If its event is not known, any event may be the one that is listed.
    """
    is_first = request.name == _FIRST_PAGE
    unknown = {"url": request.url, "events": skipped_keys.count("")} if "" in skipped_keys else None
    unknown = unknown or (None if is_first else learned.get(UNCOMPARED))
    is_cut = any(count.reason is Reason.TRUNCATED for count in result.left_out)
    is_incomplete = bool(unknown) or is_cut or (not is_first and bool(learned.get(_INCOMPLETE_KEY)))
    known = {UNCOMPARED: (unknown, None), _INCOMPLETE_KEY: (is_incomplete, False)}
    changed = {name: value for name, (value, default) in known.items() if value != learned.get(name, default)}
    offered = {offer.key for offer in result.offers}
    offers = (Offering(key) for key in dict.fromkeys(skipped_keys) if key and key not in offered)
    return replace(
        result, offers=(*result.offers, *offers), learned={**result.learned, **changed},
        begins_listing=is_first, ends_listing=is_last and not is_incomplete,
    )  # fmt: skip


def _compare_uid_rules(learned: Mapping[str, Any], document: SourceDocument) -> dict[str, Any]:
    """Return what to remember of the settings that make uids, also that events may get other uids than before."""
    rules = document.rules
    made_by: list[Any] = [document.parser.zone, *(rules.fields.get(name) for name in UID_FIELDS)]
    for name in UID_RULES:
        rule = getattr(rules, name)
        made_by.append(list(rule) if isinstance(rule, tuple) else rule)
    if (before := learned.get(_UIDS_BY)) == made_by:
        return {}
    return {_UIDS_BY: made_by} | ({KEYS_CHANGED: True} if before else {})


def _read_parts(
    document: SourceDocument, uids: EventUids, request_name: str
) -> list[ReadEvent | WithdrawnEvent | SkippedPart]:
    """Read a document; raise StepError for a page that should have JSON-LD, and has had no event in it so far."""
    parts = list(read_document(document.parser, document, uids))
    if document.parser.may_be_empty and not any(isinstance(part, ReadEvent) for part in parts):
        parts.append(SkippedPart(Reason.PLACEHOLDER, "it has no events, as the setting `may_be_empty` allows"))
    is_first = request_name == _FIRST_PAGE and not uids.remember(document.visited)
    reader = READERS[document.rules.reader]
    if is_first and not parts and document.rules.reader == "schema.org" and not reader.details(document):
        message = "the page has no event in JSON-LD"
        message += "; those in its microdata are not read" if _MICRODATA.search(document.content) else ""
        if listed := reader.count_others(document):
            message += f"; it lists the addresses of {counted(listed, 'page')}: {_FOLLOW_LIST}"
        raise StepError(message, Reason.WRONG_ROOT)
    return parts


def _count_left_out(reader: EventReader, document: SourceDocument) -> tuple[LeftOutCount, ...]:
    counts = (
        LeftOutCount(Reason.BAD_ADDRESS, _ADDRESS_RULE, reader.count_unaddressed(document), document.url),
        LeftOutCount(Reason.NOT_WANTED, reader.others_rule, reader.count_others(document), document.url),
    )
    return tuple(count for count in counts if count.addresses)


class _NextPage(NamedTuple):
    """The address of the next page, or "" if there is none, with what to report and to remember.

    `left_out` counts what is missing from the list: further pages whose address is not known, and entries beyond those
    that its pages have, if it states a larger total.
    """

    url: str
    findings: tuple[Finding, ...] = ()
    left_out: tuple[LeftOutCount, ...] = ()
    learned: Mapping[str, Any] = {}


def _find_next_page(
    document: SourceDocument,
    parts: Sequence[ReadEvent | WithdrawnEvent | SkippedPart],
    learned: Mapping[str, Any],
    request_name: str,
) -> _NextPage:
    """Find the next page of a list; there is none if the document names itself as the next page.

    Raise StepError for a first page that states a number of events but has none.
    """
    reader, rule = READERS[document.rules.reader], document.rules.next_page
    listed, total, has_more = reader.count_entries(document)
    if total and not listed and request_name in {"", _FIRST_PAGE}:
        raise StepError(f"the document has no events, but states a total of {total}", Reason.PROTOCOL_ERROR)
    try:
        next_page = reader.next_page(document)
    except StepError as error:
        unknown_page = LeftOutCount(Reason.TRUNCATED, _NEXT_PAGE_RULE, 1, document.url)
        return _NextPage("", (Finding(error.reason.class_name, str(error)),), (unknown_page,))
    url = join_url(document.url, next_page) if next_page else ""
    url = "" if url == document.url else url
    if request_name not in {_FIRST_PAGE, _NEXT_PAGE}:
        return _NextPage(url)
    if request_name == _NEXT_PAGE:  # if the total fell, entries moved to pages that were read before
        listed += int(learned.get(_LISTED, 0))
        total = max(total, int(learned.get(_TOTAL, 0))) if total else 0
    left_out: tuple[LeftOutCount, ...] = ()
    if total > listed and not url:
        left_out = (LeftOutCount(Reason.TRUNCATED, _TOTAL_RULE, total - listed, document.url),)
    elif has_more and not url and not total:
        left_out = (LeftOutCount(Reason.TRUNCATED, _NEXT_PAGE_RULE, 1, document.url),)
    findings = []
    remembered: dict[str, Any] = {_LISTED: listed, _TOTAL: total} if total else {}
    if rule and rule[0] != "?" and request_name == _FIRST_PAGE and learned.get(UNPAGED) != {}:
        if not url:
            message = f"the setting `next_page`, {rule!r}, has not selected anything so far"
            findings.append(Finding("NoNextPage", message, Level.NOTE))
        event_count = sum(isinstance(part, ReadEvent) for part in parts)
        remembered[UNPAGED] = {} if url else {"url": document.url, "events": event_count}
    changed = {key: value for key, value in remembered.items() if value != learned.get(key)}
    return _NextPage(url, tuple(findings), left_out, changed)


def _compare_with_habits(
    source: Source,
    learned: Mapping[str, Any],
    answer: Answer,
    parts: Sequence[ReadEvent | WithdrawnEvent | SkippedPart],
    *,
    is_unlisted: bool,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Compare a response with the earlier ones. Return what to remember, and a message for each drift.

    Besides the statistics, EMPTIED, UNLISTED and CUT_SERIES are remembered if they change. The statistics of the last
    COMPARED_PAGES captured pages of a source are one value, a dict from address to statistics, the latest last.
    """
    url = answer.request.url
    if not answer.request.name:
        by_url = learned.get(_CAPTURED_PAGES, {})
        result = _detect_drift_since(source, by_url.get(url, {}), {}, parts)
        earlier = [(other, by_url[other]) for other in by_url if other != url]
        return {_CAPTURED_PAGES: dict([*earlier, (url, result.statistics)][-COMPARED_PAGES.number :])}, result.drifts
    # If the address changes each day or hour, the statistics are those of the source; a day may have no events.
    is_of_day = bool(source.options.get(ONCE))
    key = "habits" if is_of_day else f"habits of {url}"[:300]
    result = _detect_drift_since(source, learned.get(key), {"empty": True} if is_of_day else {}, parts)
    has_emptied = not is_of_day and not result.statistics["row"]
    counts = {
        EMPTIED: result.statistics.get("events", 0) if has_emptied else 0,
        UNLISTED: int(is_unlisted),
        CUT_SERIES: sum(isinstance(part, SkippedPart) and part.reason is Reason.NOT_WANTED for part in parts),
    }
    known = {name: {"url": url, "events": count} if count else None for name, count in counts.items()}
    changed = {name: value for name, value in known.items() if value != learned.get(name)}
    return {key: result.statistics, **changed}, result.drifts


def _detect_drift_since(
    source: Source,
    statistics: Mapping[str, Any] | None,
    first: Mapping[str, Any],
    parts: Sequence[ReadEvent | WithdrawnEvent | SkippedPart],
) -> DriftResult:
    """Call `detect_drift`. The statistics are `first` if there are none or if they are from before `usual_since`."""
    if statistics is None or source.usual_since > statistics.get("usual_since", ""):
        statistics = first
    result = detect_drift(statistics, parts)
    since = {"usual_since": source.usual_since} if source.usual_since else {}
    return result._replace(statistics=result.statistics | since)


def select(source: Source, options: Mapping[str, Any]) -> Callable[[CdxLine], Skip | None]:
    """Return the rule that selects a source's captures: those with status 200 and a media type of the source's reader.

    The reader is that of the version that was in force when the capture was made. If it is not in `_MEDIA_PARTS`, all
    media types are selected.
    """
    del options
    versions = sorted(parser_of(source).versions, key=lambda rules: rules.since)
    return partial(
        check_capture,
        tuple((rules.since.isoformat().replace("-", ""), _MEDIA_PARTS.get(rules.reader, "")) for rules in versions),
    )


def check_capture(media_parts: Sequence[tuple[str, str]], line: CdxLine) -> Skip | None:
    """Return why a capture is not wanted, or None if its status is 200 and its media type is one of the source's.

    `media_parts` has (first day as YYYYMMDD, text in its media types) for each parser version, oldest first.
    """
    if line.status != 200:
        return _WRONG_STATUS
    media_part = next((part for day, part in reversed(media_parts) if day <= line.timestamp), media_parts[0][1])
    return None if media_part in (line.mime or "") else _OTHER_MEDIA


CHANGING_FIELDS = ("{day}", "{hour}")
"""Fields that change an address each day or hour; each address with such a field is requested once."""

_END_OF_LEGISLATIVE_DAY = timedelta(hours=6)


def fill_address(address: str, local_time: datetime) -> str:
    """Return an address with its fields filled in for a local time of the source.

    For 14:30 on 5 October 2026 the fields are {year} (2026), {day} (20261005), {hour} (2026100514) and {week}, the
    Monday of the week (20261005). {sunday} and {saturday} are the first and the last day of the week (10042026,
    10102026). {legislative_day} ends at 6:00 on the next day (20261005). {congress} and {session} of the United States
    (119, 2) begin on 3 January. {term} of its Supreme Court (26) begins in October.

    >>> fill_address("{congress}_{session}/{term}.xml", datetime(2026, 1, 2))
    '119_1/25.xml'
    >>> fill_address("{congress}_{session}/{term}.xml", datetime(2027, 1, 3))
    '120_1/26.xml'
    """
    if "{" not in address:
        return address
    today = local_time.date()
    year_of_session = today.year if (today.month, today.day) >= (1, 3) else today.year - 1
    term = today.year if today.month >= 10 else today.year - 1
    sunday = today - timedelta(days=today.isoweekday() % 7)
    values = {
        "year": str(today.year),
        "day": f"{today:%Y%m%d}",
        "hour": f"{local_time:%Y%m%d%H}",
        "legislative_day": f"{local_time - _END_OF_LEGISLATIVE_DAY:%Y%m%d}",
        "week": f"{today - timedelta(days=today.weekday()):%Y%m%d}",
        "sunday": f"{sunday:%m%d%Y}",
        "saturday": f"{sunday + timedelta(days=6):%m%d%Y}",
        "congress": str((year_of_session - 1789) // 2 + 1),
        "session": "1" if year_of_session % 2 else "2",
        "term": f"{term % 100:02}",
    }
    for name, value in values.items():
        address = address.replace(f"{{{name}}}", value)
    return address
