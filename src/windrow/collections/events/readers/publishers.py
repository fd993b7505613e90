"""Read formats that need code of their own: the House calendar, Legistar, votes of Senate and House, schema.org.

In the House calendar, the page of a week does not list all meetings that the pages of its days list. A meeting's XML
has no address of its own: it is the response to the form on the meeting's page, which the link "Meeting XML" posts with
the hidden fields. The day of the request is added to addresses, so that a meeting is requested once a day as long
as its week is requested.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

from lxml import etree
from selectolax.lexbor import LexborHTMLParser

from windrow.collections.events.documents import web_address
from windrow.collections.events.parser import RawEvent, SkippedPart, SourceDocument
from windrow.collections.events.readers.by_fields import (
    build_event,
    count_invalid_bytes,
    count_repeated_keys,
    decode_text,
    join_url,
    load_tree,
    parse_json,
    read_end,
    remove_day,
    value_at_path,
)
from windrow.collections.events.readers.by_path import (
    any_namespace,
    count_faults,
    decode_document,
    element_text,
    html_tree,
    read_xml,
    xml_tree,
)
from windrow.collections.events.readers.expressions import json_to_text, read_extra
from windrow.collections.events.readers.field_times import span_of
from windrow.collections.events.readers.html_text import decode_references
from windrow.collections.events.readers.paging import count_up
from windrow.collections.events.readers.repetitions import CUT_SERIES
from windrow.collections.events.readers.schedules import ScheduleWindow, find_occurrences
from windrow.collections.events.status_words import read_status
from windrow.content.json_ld import decode_json_ld
from windrow.content.tree import parse
from windrow.contract import Request
from windrow.errors import StepError
from windrow.reasons import Reason

MAX_WEEKS = 3
"""The number of weeks of the House calendar that are requested, including the current one."""

_WEEK_PAGE = re.compile(r"ByWeek\.aspx\?WeekOf=(\d{8})_(\d{8})", re.IGNORECASE)
_DAY_PAGE = re.compile(r"ByDay\.aspx\?DayID=\d{8}(?=$|[^\d])", re.IGNORECASE)
_MEETING_PAGE = re.compile(r"ByEvent\.aspx\?EventID=\d{1,9}(?=$|[^\d])", re.IGNORECASE)
_XML_BUTTON = "LinkButtonDownloadMtgXML"
_CALENDAR_ELEMENTS = "[id*='LabelCalendar'], a[href*='ByEvent.aspx'], a[href*='ByDay.aspx'], a[href*='DownloadMtgXML']"
_FORM_HEADERS = (("Content-Type", "application/x-www-form-urlencoded"),)


def read_house_calendar(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the event in a meeting's XML, or nothing for a page of the calendar; raise StepError for any other page."""
    if not _is_html(document):
        for part in read_xml(document):
            yield part._replace(url=remove_day(document.url)) if isinstance(part, RawEvent) and not part.url else part
    elif not html_tree(document).css(_CALENDAR_ELEMENTS):
        raise StepError("the page does not belong to the House calendar", Reason.WRONG_ROOT)


def house_calendar_requests(document: SourceDocument) -> tuple[Request, ...]:
    """Return requests for the days and meetings that a page links to and, from the page of a week, for the next week.

    For the page of a meeting, return only the request for its XML. For a document that is not HTML, return ().
    """
    if not _is_html(document):
        return ()
    page = html_tree(document)
    if _MEETING_PAGE.search(document.url):
        return _form_requests(document, page)
    requests: dict[str, Request] = {}
    for link in page.css("a[href]"):
        href = link.attributes.get("href") or ""
        for name, pattern in (("day", _DAY_PAGE), ("meeting", _MEETING_PAGE)):
            if match := pattern.search(href):
                url = urljoin(document.url, match[0])
                requests[url] = Request(_add_day(document, url), name, priority=1)
    if next_week := _next_week(document):
        requests[next_week] = Request(_add_day(document, next_week), "week", priority=1)
    return tuple(requests.values())


def _is_html(document: SourceDocument) -> bool:
    return b"<html" in document.content[:2000].lower()


def _add_day(document: SourceDocument, url: str) -> str:
    return f"{url}&day={document.visited:%Y%m%d}"


def _next_week(document: SourceDocument) -> str:
    week = _WEEK_PAGE.search(document.url)
    if week is None:
        return ""
    try:
        first, last = (datetime.strptime(day, "%m%d%Y") + timedelta(7) for day in week.groups())  # noqa: DTZ007 days
    except (ValueError, OverflowError):
        return ""
    if first.date() - document.visited.date() > timedelta(7 * (MAX_WEEKS - 1)):
        return ""
    return f"{document.url[: week.start()]}ByWeek.aspx?WeekOf={first:%m%d%Y}_{last:%m%d%Y}"


def _form_requests(document: SourceDocument, page: LexborHTMLParser) -> tuple[Request, ...]:
    link = page.css_first(f"a[href*='{_XML_BUTTON}'], a[id*='{_XML_BUTTON}']")
    if link is None:
        return ()
    target = re.search(r"__doPostBack\('([\w$]+)'", link.attributes.get("href") or "")
    hidden_fields = [node.attributes for node in page.css("input[type=hidden]")]
    fields = {attributes.get("name") or "": attributes.get("value") or "" for attributes in hidden_fields}
    event_target = target[1] if target else f"ctl00$MainContent${_XML_BUTTON}"
    fields |= {"__EVENTTARGET": event_target, "__EVENTARGUMENT": ""}
    fields.pop("", None)
    return (Request(document.url, "detail", "POST", _FORM_HEADERS, urlencode(fields).encode(), priority=1),)


_LEGISTAR_PAGE_SIZE = 1000
"""The maximum number of meetings in a response of Legistar."""

_LEGISTAR_FIELDS = {
    "id": "EventGuid|EventId", "title": "EventBodyName", "start": "EventDate", "start_time": "EventTime",
    "description": "EventComment", "url": "EventInSiteURL", "location": "EventLocation",
    "status": "EventAgendaStatusName",
}  # fmt: skip
_LEGISTAR_EXTRA = {
    "legistar_id": "EventId", "agenda_url": "EventAgendaFile", "minutes_url": "EventMinutesFile",
    "agenda_status": "EventAgendaStatusName", "video_url": "EventVideoPath",
}  # fmt: skip
_LEGISTAR_STATUSES = dict.fromkeys(
    ("Final", "Draft", "Final-Addendum", "Final-Revised", "Final Revised", "Revised", "Not available", "Preliminary"),
    "",
)
"""The usual states of an agenda, which say nothing about the status of its meeting."""


def read_legistar(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the meetings in a response of Legistar's Web API; raise StepError if it is not a list."""
    text = decode_text(document.content, document.media)
    listed = load_tree(text)
    if not isinstance(listed, list):
        raise StepError("the document is not a list of meetings", Reason.WRONG_ROOT)
    yield from count_invalid_bytes(document.content, text)
    yield from count_repeated_keys(text)
    rules = document.rules
    rules = replace(
        rules, fields={**_LEGISTAR_FIELDS, **rules.fields}, extra={**_LEGISTAR_EXTRA, **rules.extra},
        statuses={**_LEGISTAR_STATUSES, **rules.statuses},
    )  # fmt: skip
    document = document._replace(rules=rules)
    for number, meeting in enumerate(listed):
        if not isinstance(meeting, dict) or "EventDate" not in meeting:
            yield SkippedPart(Reason.INCOMPLETE_RECORD, f"entry {number + 1} of the list is not a meeting with a date")
            continue
        text = json.dumps(meeting, ensure_ascii=False)
        lookup_json = partial(value_at_path, meeting)
        yield build_event(document, lambda path, find=lookup_json: json_to_text(find(path)), text, lookup_json)  # type: ignore[misc]


def next_legistar_page(document: SourceDocument) -> str:
    """Return the address of the next page of meetings; empty if this page is not full, or is not a list."""
    listed = parse_json(document)
    if not isinstance(listed, list) or len(listed) < _LEGISTAR_PAGE_SIZE:
        return ""
    skip = dict(parse_qsl(urlsplit(document.url).query)).get("$skip", "0")
    return count_up(document.url, "$skip", (int(skip) if skip.isdigit() else 0) + len(listed))


_DAY_BEFORE_SESSION = re.compile(r"0?[12]-jan", re.IGNORECASE)
_ROLL_FILE = re.compile(r"roll(\d{3,4})\.xml")
_SENATE_VOTE_URL = "https://www.senate.gov/legislative/LIS/roll_call_votes/vote{0}{1}/vote_{0}_{1}_{2}.htm"
_NO_SUCH_VOTE = "Error sanitizing file"


def read_senate_votes(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the votes of one session of the Senate; their dates get the year of the session.

    A session begins on 3 January and ends before 3 January of the next year, so votes on 1 and 2 January get the next
    year.
    """
    root = xml_tree(document)
    congress_year = element_text(root, "congress_year") or ""
    year = int(congress_year) if congress_year.isdigit() else document.visited.year
    congress, session = element_text(root, "congress") or "", element_text(root, "session") or ""
    for vote in root.iterfind(any_namespace(document.rules.items)):
        date = element_text(vote, "vote_date") or ""
        added_fields = {
            "date": f"{date}-{year + 1 if _DAY_BEFORE_SESSION.fullmatch(date) else year}",
            "congress": congress,
            "session": session,
            "page": _SENATE_VOTE_URL.format(congress, session, element_text(vote, "vote_number") or ""),
        }
        text = etree.tostring(vote, encoding="unicode", with_tail=False)
        yield build_event(document, partial(_vote_text, vote, added_fields), text)


def _vote_text(vote: etree._Element, added_fields: dict[str, str], path: str) -> str | None:
    return added_fields.get(path) or element_text(vote, path)


def read_house_vote(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the vote in a file of the House. Yield nothing for the error page, with status 200, of a future vote."""
    if not reports_missing_vote(document):
        yield from read_xml(document)


def next_house_vote(document: SourceDocument) -> str:
    """Return the address of the next vote; empty if this vote does not exist yet or its address has no number."""
    roll = _ROLL_FILE.search(document.url)
    if roll is None or reports_missing_vote(document):
        return ""
    return document.url[: roll.start()] + f"roll{int(roll[1]) + 1:03}.xml" + document.url[roll.end() :]


def reports_missing_vote(document: SourceDocument) -> bool:
    """Return whether a response is the error page for a vote that does not exist."""
    return len(document.content) < 1000 and _NO_SUCH_VOTE in decode_text(document.content, document.media)


_EVENT_TYPES = frozenset({"Festival", "Hackathon", "CourseInstance", "EventSeries", "ExhibitionEvent"})
_TEXT_FIELDS = frozenset({"name", "description", "organizer"})
_STATUSES = {
    "eventcancelled": "cancelled", "eventpostponed": "postponed", "eventrescheduled": "rescheduled",
    "eventscheduled": "scheduled", "eventmovedonline": "scheduled", "cancelled": "cancelled", "postponed": "postponed",
    "rescheduled": "rescheduled", "scheduled": "scheduled",
}  # fmt: skip


def read_schema_org(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the events in the JSON-LD of a page (https://schema.org/Event), and SkippedParts for what is not read."""
    decoded = decode_document(document)
    yield from count_faults(document, decoded)
    for script in parse(decoded.html).css("script[type]"):
        if (script.attributes.get("type") or "").partition(";")[0].strip().lower() != "application/ld+json":
            continue
        values, is_whole = decode_json_ld(script.text())
        if not is_whole and "startDate" in script.text():
            yield SkippedPart(Reason.NOT_WELL_FORMED, "a block of JSON-LD with a startDate is not valid JSON")
        for event in _find_events(values):
            if "startDate" in event or not event.get("eventSchedule"):
                for occurrence in _occurrences(event):
                    yield _read_schema_org_event(document, occurrence)
            if event.get("eventSchedule"):
                yield from _read_schedule(document, event)


def _read_schedule(document: SourceDocument, event: dict[str, Any]) -> Iterator[RawEvent | SkippedPart]:
    """Yield the occurrences in the parser's window that an event's `eventSchedule` has beside its own start.

    Yield a SkippedPart if it cannot be read, and one at the end if there are occurrences after the window.
    """
    titles = event.get("name")
    title = _value_text(titles[0] if isinstance(titles, list) and titles else titles)[:80]
    past, ahead = document.parser.recurrence_past, document.parser.recurrence_ahead
    window = ScheduleWindow(*((document.visited + timedelta(seconds=seconds)).date() for seconds in (-past, ahead)))
    try:
        occurrences = find_occurrences(event, window)
    except StepError as error:
        message = f"{title!r} has an eventSchedule that is not read, as {error}: "
        message += json.dumps(event["eventSchedule"], ensure_ascii=False)[:500]
        reason = Reason.UNSUPPORTED if "startDate" in event else Reason.INCOMPLETE_RECORD
        yield SkippedPart(reason, message, _value_text(event.get("@id")) or _value_text(event.get("identifier")))
        return
    for start, end in occurrences.spans:
        occurrence = _read_schema_org_event(document, {**event, "startDate": start, "endDate": end or None})
        if isinstance(occurrence, RawEvent):
            occurrence = occurrence._replace(extra={**occurrence.extra, "recurring": True})
        yield occurrence
    if occurrences.is_cut:
        yield SkippedPart(Reason.NOT_WANTED, f"{title!r} {CUT_SERIES}")


def _occurrences(event: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a copy of an event for each start. If there are not as many ends, the copies have them all in one text."""
    starts, ends = event.get("startDate"), event.get("endDate")
    if not isinstance(starts, list) or len(starts) < 2:
        return [event]
    ends = ends if isinstance(ends, list) else [ends] if ends else []
    if len(ends) != len(starts):
        # It is not a time, so each event gets an `end_note`.
        ends = [f"{', '.join(map(str, ends))} (of {len(starts)} starts)" if ends else None] * len(starts)
    return [{**event, "startDate": start, "endDate": end} for start, end in zip(starts, ends, strict=True)]


def _find_events(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield the events in JSON-LD, however deep they are. Inside an event with a start, only `subEvent` is searched.

    An event without a start is yielded if it has a name and no `subEvent`: otherwise it only refers to events.
    """
    pending = [tree]  # the next one is last
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending += reversed(part)
        elif isinstance(part, dict):
            types = part.get("@type")
            types = [types] if isinstance(types, str) else types if isinstance(types, list) else []
            names = [str(name).rpartition("/")[2].rpartition(":")[2] for name in types]
            is_event = any(name.endswith("Event") or name in _EVENT_TYPES for name in names)
            if is_event and ("startDate" in part or (part.get("name") and not part.get("subEvent"))):
                yield part
            pending += [part.get("subEvent")] if is_event and "startDate" in part else reversed(part.values())


def _read_schema_org_event(document: SourceDocument, event: dict[str, Any]) -> RawEvent | SkippedPart:
    def field(name: str) -> str:
        """Return a field of the event as text with entities decoded.

        Of a list, return the first value or, for a field that people read, all different values.
        """
        contents = event.get(name)
        contents = contents if isinstance(contents, list) else [contents]
        texts = list(dict.fromkeys(filter(None, map(_value_text, contents))))
        return "; ".join(texts if name in _TEXT_FIELDS else texts[:1])

    # A blank node has another number in each document (JSON-LD 1.1, section 3.5).
    node_id = "" if field("@id").startswith("_:") else field("@id")
    title, text, source_id = field("name"), json.dumps(event, ensure_ascii=False), node_id or field("identifier")
    if source_id.startswith("#"):  # each page may have the same
        source_id = join_url(document.url, source_id)
    span = span_of(document, field("startDate"))
    if span is None:
        message = f"{title[:80]!r} has no start that can be read: {field('startDate')[:60]!r}"
        return SkippedPart(Reason.INCOMPLETE_RECORD, message, source_id)
    url = join_url(document.url, field("url")) if field("url") else ""
    lookup_json = partial(value_at_path, event)
    extra = read_extra(document.rules.extra, lambda path: json_to_text(lookup_json(path)), lookup_json)
    for name, key in (("organizer", "organizer"), ("previousStartDate", "previous_start"), ("doorTime", "doors")):
        if field_text := field(name):
            extra.setdefault(key, field_text)
    statuses = event.get("eventStatus")
    status, status_note = max(
        (
            read_status(_value_text(content).rpartition("/")[2], _STATUSES)
            for content in (statuses if isinstance(statuses, list) and statuses else [statuses])
        ),
        key=lambda field_status: field_status.status not in {"", "scheduled"},
    )
    if status_note:
        extra["status_note"] = status_note
    end, end_note = read_end(document, field("endDate"), span)
    if end_note:
        extra["end_note"] = end_note
    return RawEvent(
        source_id, title, span.start, text, end, field("description"),
        web_address(url), status, _location_text(event.get("location")), extra,
    )  # fmt: skip


def _value_text(content: Any) -> str:
    """Return the text of a value of schema.org, which may be an object, with entities decoded."""
    if isinstance(content, dict) and "PropertyValue" in str(content.get("@type")):
        content = content.get("value")  # `name` is that of the property
    elif isinstance(content, dict):
        content = content.get("@value") or content.get("name") or content.get("url") or content.get("@id")
    return " ".join(decode_references(json_to_text(content) or "").split())


def _location_text(location: Any) -> str:
    if isinstance(location, list):
        return "; ".join(filter(None, map(_location_text, location)))
    if not isinstance(location, dict):
        return decode_references(json_to_text(location) or "")
    address = location.get("address")
    if isinstance(address, dict):
        names = ("streetAddress", "addressLocality", "addressRegion", "postalCode")
        address = ", ".join(filter(None, (json_to_text(address.get(name)) for name in names)))
    parts = (json_to_text(location.get("name")), json_to_text(address))
    return ", ".join(decode_references(part) for part in parts if part) or decode_references(
        json_to_text(location.get("url")) or ""
    )
