"""Read the formats of single publishers: House calendar, Legistar, roll calls of Senate and House, schema.org.

In the House calendar a week's page omits meetings that the pages of its days have. A meeting's XML has no address: the
form of its page is posted back with its hidden fields, as the link "Meeting XML" does. Addresses end with the day of
the request, so that a meeting is requested once a day as long as its week's page is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

from lxml import etree
from selectolax.lexbor import LexborHTMLParser

from windrow.collections.events.parser import RawEvent, SkippedPart, SourceDocument
from windrow.collections.events.readers.by_fields import (
    at_path,
    decode_text,
    event_of,
    join_url,
    json_to_text,
    parse_json,
    remove_day,
    time_of,
)
from windrow.collections.events.readers.by_path import any_namespace, element_text, html_tree, read_xml, xml_tree
from windrow.contract import Request
from windrow.errors import StepError
from windrow.reasons import Reason

WEEKS = 3
"""Weeks of the House calendar that are requested, with the current one."""

_WEEK = re.compile(r"ByWeek\.aspx\?WeekOf=(\d{8})_(\d{8})", re.IGNORECASE)
_DAY = re.compile(r"ByDay\.aspx\?DayID=\d{8}(?=$|[^\d])", re.IGNORECASE)
_MEETING = re.compile(r"ByEvent\.aspx\?EventID=\d{1,9}(?=$|[^\d])", re.IGNORECASE)
_BUTTON = "LinkButtonDownloadMtgXML"
_CALENDAR = "[id*='LabelCalendar'], a[href*='ByEvent.aspx'], a[href*='ByDay.aspx'], a[href*='DownloadMtgXML']"
_FORM = (("Content-Type", "application/x-www-form-urlencoded"),)


def read_house_calendar(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the event of a meeting's XML; yield nothing for a page of the calendar, StepError for another page."""
    if not _is_html(document):
        for part in read_xml(document):
            yield part._replace(url=remove_day(document.url)) if isinstance(part, RawEvent) and not part.url else part
    elif not html_tree(document).css(_CALENDAR):
        raise StepError("this is not a page of the calendar", Reason.WRONG_ROOT)


def house_meetings(document: SourceDocument) -> tuple[Request, ...]:
    """Return requests for the days, meetings and next week that a page links to, or for the XML of its meeting."""
    if not _is_html(document):
        return ()
    page = html_tree(document)
    if _MEETING.search(document.url):
        return _form_requests(document, page)
    requests: dict[str, Request] = {}
    for link in page.css("a[href]"):
        href = link.attributes.get("href") or ""
        for name, pattern in (("day", _DAY), ("meeting", _MEETING)):
            if pattern.search(href):
                url = urljoin(document.url, pattern.search(href)[0])  # type: ignore[index]
                requests[url] = Request(_with_day(document, url), name, priority=1)
    if next_week := _next_week(document):
        requests[next_week] = Request(_with_day(document, next_week), "week", priority=1)
    return tuple(requests.values())


def _is_html(document: SourceDocument) -> bool:
    return b"<html" in document.content[:2000].lower()


def _with_day(document: SourceDocument, url: str) -> str:
    return f"{url}&day={document.visited:%Y%m%d}"


def _next_week(document: SourceDocument) -> str:
    """Return the address of the next week's page; "" if it is WEEKS weeks ahead or this is not a week's page."""
    week = _WEEK.search(document.url)
    if week is None:
        return ""
    try:
        first, last = (datetime.strptime(day, "%m%d%Y") + timedelta(7) for day in week.groups())  # noqa: DTZ007 days
    except (ValueError, OverflowError):
        return ""
    if first.date() - document.visited.date() > timedelta(7 * (WEEKS - 1)):
        return ""
    return f"{document.url[: week.start()]}ByWeek.aspx?WeekOf={first:%m%d%Y}_{last:%m%d%Y}"


def _form_requests(document: SourceDocument, page: LexborHTMLParser) -> tuple[Request, ...]:
    """Return a request that posts the form of a meeting's page for its XML; empty if the page has no such link."""
    link = page.css_first(f"a[href*='{_BUTTON}'], a[id*='{_BUTTON}']")
    if link is None:
        return ()
    target = re.search(r"__doPostBack\('([\w$]+)'", link.attributes.get("href") or "")
    hidden = [node.attributes for node in page.css("input[type=hidden]")]
    fields = {attributes.get("name") or "": attributes.get("value") or "" for attributes in hidden}
    fields |= {"__EVENTTARGET": target[1] if target else f"ctl00$MainContent${_BUTTON}", "__EVENTARGUMENT": ""}
    fields.pop("", None)
    return (Request(document.url, "detail", "POST", _FORM, urlencode(fields).encode(), priority=1),)


PAGE_SIZE = 1000
"""Meetings in one response of Legistar at most."""

_FIELDS = {
    "id": "EventGuid|EventId", "title": "EventBodyName", "start": "{Day} {EventTime}", "description": "EventComment",
    "url": "EventInSiteURL", "location": "EventLocation", "status": "EventAgendaStatusName",
}  # fmt: skip
_EXTRA = {
    "legistar_id": "EventId", "agenda_url": "EventAgendaFile", "minutes_url": "EventMinutesFile",
    "agenda_status": "EventAgendaStatusName",
}  # fmt: skip


def read_legistar(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the meetings of a response of Legistar's Web API."""
    listed = parse_json(document)
    if not isinstance(listed, list):
        raise StepError("this is not a list of meetings", Reason.WRONG_ROOT)
    rules = document.rules
    rules = replace(rules, fields={**_FIELDS, **rules.fields}, extra={**_EXTRA, **rules.extra})
    document = document._replace(rules=rules)
    for number, meeting in enumerate(listed):
        if not isinstance(meeting, dict) or "EventDate" not in meeting:
            yield SkippedPart(Reason.INCOMPLETE_RECORD, f"number {number + 1} of the list is not a meeting")
            continue
        fields = {**meeting, "Day": (json_to_text(meeting["EventDate"]) or "")[:10]}
        text = json.dumps(meeting, ensure_ascii=False)
        lookup_json = partial(at_path, fields)
        yield event_of(document, lambda path, find=lookup_json: json_to_text(find(path)), text, lookup_json)  # type: ignore[misc]


def next_legistar_page(document: SourceDocument) -> str:
    """Return the address of the next page, or an empty text if this one is not full."""
    listed = parse_json(document)
    if not isinstance(listed, list) or len(listed) < PAGE_SIZE:
        return ""
    parts = urlsplit(document.url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    skip = query.get("$skip", "0")
    skipped = int(skip) if skip.isdigit() else 0
    query["$skip"] = str(skipped + len(listed))
    return urlunsplit(parts._replace(query=urlencode(query, safe="$,'")))


_BEFORE_SESSION = re.compile(r"0?[12]-jan", re.IGNORECASE)
_ROLL = re.compile(r"roll(\d{3,4})\.xml")
_VOTE_PAGE = "https://www.senate.gov/legislative/LIS/roll_call_votes/vote{0}{1}/vote_{0}_{1}_{2}.htm"
_NO_SUCH_VOTE = "Error sanitizing file"


def read_senate(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the votes of a session's list, and add the year to their dates, which lack it.

    A session begins on 3 January: an earlier date is in the year after it.
    """
    root = xml_tree(document)
    first_year = element_text(root, "congress_year") or ""
    year = int(first_year) if first_year.isdigit() else document.visited.year
    congress, session = element_text(root, "congress") or "", element_text(root, "session") or ""
    for vote in root.iterfind(any_namespace(document.rules.items)):
        date = element_text(vote, "vote_date") or ""
        values = {
            "date": f"{date}-{year + 1 if _BEFORE_SESSION.fullmatch(date) else year}",
            "congress": congress,
            "session": session,
            "page": _VOTE_PAGE.format(congress, session, element_text(vote, "vote_number") or ""),
        }
        text = etree.tostring(vote, encoding="unicode", with_tail=False)
        yield event_of(document, lambda path, vote=vote, own=values: own.get(path) or element_text(vote, path), text)  # type: ignore[misc]


def read_house(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the vote of a file, or nothing if the vote does not exist yet, which the site reports with status 200."""
    if not is_missing_vote(document):
        yield from read_xml(document)


def next_vote(document: SourceDocument) -> str:
    """Return the address of the next vote, or an empty text if this vote does not exist yet."""
    roll = _ROLL.search(document.url)
    if roll is None or is_missing_vote(document):
        return ""
    return document.url[: roll.start()] + f"roll{int(roll[1]) + 1:03}.xml" + document.url[roll.end() :]


def is_missing_vote(document: SourceDocument) -> bool:
    """Return whether a response says that the vote does not exist."""
    return len(document.content) < 1000 and _NO_SUCH_VOTE in decode_text(document.content, document.media)


_MAX_DEPTH = 40
_EVENT_TYPES = frozenset({"Festival", "Hackathon", "CourseInstance", "EventSeries", "ExhibitionEvent"})
_STATUSES = {
    "eventcancelled": "cancelled", "eventpostponed": "postponed", "eventrescheduled": "rescheduled",
    "eventscheduled": "scheduled", "eventmovedonline": "scheduled",
}  # fmt: skip


def read_schema_org(document: SourceDocument) -> Iterator[RawEvent | SkippedPart]:
    """Yield the events in the JSON-LD of a page (https://schema.org/Event)."""
    for script in html_tree(document).css('script[type="application/ld+json"]'):
        text = script.text(strip=True).removeprefix("<!--").removesuffix("-->")
        try:
            tree = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            if "startDate" in text:
                yield SkippedPart(Reason.NOT_WELL_FORMED, "a block of JSON-LD with a startDate is not valid JSON")
            continue
        for event in _find_events(tree, 0):
            yield _read_event(document, event)


def _find_events(tree: Any, depth: int) -> Iterator[dict[str, Any]]:
    """Yield the objects that are events; within an event only its `subEvent` is searched."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(tree, list):
        for child in tree:
            yield from _find_events(child, depth + 1)
    elif isinstance(tree, dict):
        types = tree.get("@type")
        types = [types] if isinstance(types, str) else types if isinstance(types, list) else []
        names = [str(name).rpartition("/")[2].rpartition(":")[2] for name in types]
        if any(name.endswith("Event") or name in _EVENT_TYPES for name in names) and "startDate" in tree:
            yield tree
            yield from _find_events(tree.get("subEvent"), depth + 1)
            return
        for child in tree.values():
            if isinstance(child, dict | list):
                yield from _find_events(child, depth + 1)


def _read_event(document: SourceDocument, event: dict[str, Any]) -> RawEvent | SkippedPart:

    def field(name: str) -> str:
        content = event.get(name)
        if isinstance(content, list):
            content = content[0] if content else None
        if isinstance(content, dict):
            content = content.get("@value") or content.get("name") or content.get("url") or content.get("@id")
        return " ".join(unescape(json_to_text(content) or "").split())

    title, text = field("name"), json.dumps(event, ensure_ascii=False)
    start = time_of(document, field("startDate"))
    if start is None:
        message = f"{title[:80]!r} has no start that can be read: {field('startDate')[:60]!r}"
        return SkippedPart(Reason.INCOMPLETE_RECORD, message, field("@id") or field("identifier"))
    url = join_url(document.url, field("url")) if field("url") else ""
    extra: dict[str, Any] = {}
    for name, key in (("organizer", "organizer"), ("previousStartDate", "previous_start"), ("doorTime", "doors")):
        if field_text := field(name):
            extra[key] = field_text
    status = _STATUSES.get(field("eventStatus").rpartition("/")[2].lower(), "")
    end = time_of(document, field("endDate"))
    return RawEvent(
        field("@id") or field("identifier"), title, start, text, end or "", field("description"),
        url if url.startswith(("http://", "https://")) else "", status, _place_text(event.get("location")), extra,
    )  # fmt: skip


def _place_text(place: Any) -> str:
    """Return a place as text: its name and address, or its URL if it has neither."""
    if isinstance(place, list):
        return "; ".join(filter(None, map(_place_text, place[:5])))
    if not isinstance(place, dict):
        return unescape(json_to_text(place) or "")
    address = place.get("address")
    if isinstance(address, dict):
        names = ("streetAddress", "addressLocality", "addressRegion", "postalCode")
        address = ", ".join(filter(None, (json_to_text(address.get(name)) for name in names)))
    parts = [json_to_text(place.get("name")), json_to_text(address), json_to_text(place.get("url"))]
    return ", ".join(unescape(part) for part in parts[:2] if part) or unescape(parts[2] or "")
