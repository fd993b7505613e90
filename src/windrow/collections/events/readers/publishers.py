"""Read formats that need code of their own: the House calendar, Legistar, votes of Senate and House.

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
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

from lxml import etree
from selectolax.lexbor import LexborHTMLParser

from windrow.collections.events.parser import RawEvent, SkippedPart, SourceDocument
from windrow.collections.events.readers.by_fields import (
    build_event,
    count_invalid_bytes,
    count_repeated_keys,
    decode_text,
    load_tree,
    parse_json,
    remove_day,
    value_at_path,
)
from windrow.collections.events.readers.by_path import (
    any_namespace,
    element_text,
    html_tree,
    read_xml,
    xml_tree,
)
from windrow.collections.events.readers.expressions import json_to_text
from windrow.collections.events.readers.paging import count_up
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
