"""Documents of publishers' own forms: House calendar, Legistar, roll calls, schema.org.

A week's page leaves meetings out that its days' pages have. The XML has no address of its own: a page's form is sent
back to it, with its hidden fields, as its link "Meeting XML" does. Addresses have the day of the visit at their end, so
that a meeting is asked for once a day while its week is, and not for ever.
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

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.collections.events.readers.by_fields import at, event_of, parsed, shown, text_of, time_of, without_day
from windrow.collections.events.readers.by_path import html_tree, local, read_xml, told, xml_tree
from windrow.contract import Request
from windrow.errors import StepError
from windrow.reasons import Reason

WEEKS = 3
"""How many weeks are asked for, this one among them."""

_WEEK = re.compile(r"ByWeek\.aspx\?WeekOf=(\d{8})_(\d{8})", re.IGNORECASE)
_DAY = re.compile(r"ByDay\.aspx\?DayID=\d{8}(?=$|[^\d])", re.IGNORECASE)
_MEETING = re.compile(r"ByEvent\.aspx\?EventID=\d{1,9}(?=$|[^\d])", re.IGNORECASE)
_BUTTON = "LinkButtonDownloadMtgXML"
_CALENDAR = "[id*='LabelCalendar'], a[href*='ByEvent.aspx'], a[href*='ByDay.aspx'], a[href*='DownloadMtgXML']"
_FORM = (("Content-Type", "application/x-www-form-urlencoded"),)


def read_house_calendar(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the meeting of an XML; of a page of the calendar nothing."""
    if not _is_page(given):
        for one in read_xml(given):
            yield one._replace(url=without_day(given.url)) if isinstance(one, RawEvent) and not one.url else one
    elif not html_tree(given).css(_CALENDAR):
        raise StepError("this is no page of the calendar", Reason.WRONG_ROOT)


def house_meetings(given: ParserInput) -> tuple[Request, ...]:
    """Return what a page leads to: days and meetings, further weeks, or the XML of its meeting."""
    if not _is_page(given):
        return ()
    page = html_tree(given)
    if _MEETING.search(given.url):
        return _form(given, page)
    found: dict[str, Request] = {}
    for link in page.css("a[href]"):
        href = link.attributes.get("href") or ""
        for name, pattern in (("day", _DAY), ("meeting", _MEETING)):
            if pattern.search(href):
                url = urljoin(given.url, pattern.search(href)[0])  # type: ignore[index]
                found[url] = Request(_of_day(given, url), name, priority=1)
    if further := _next_week(given):
        found[further] = Request(_of_day(given, further), "week", priority=1)
    return tuple(found.values())


def _is_page(given: ParserInput) -> bool:
    return b"<html" in given.content[:2000].lower()


def _of_day(given: ParserInput, url: str) -> str:
    return f"{url}&day={given.visited:%Y%m%d}"


def _next_week(given: ParserInput) -> str:
    """Return the page of the week after that of this page, unless that is too far ahead."""
    found = _WEEK.search(given.url)
    if found is None:
        return ""
    try:
        first, last = (datetime.strptime(day, "%m%d%Y") + timedelta(7) for day in found.groups())  # noqa: DTZ007 days
    except (ValueError, OverflowError):
        return ""
    if first.date() - given.visited.date() > timedelta(7 * (WEEKS - 1)):
        return ""
    return f"{given.url[: found.start()]}ByWeek.aspx?WeekOf={first:%m%d%Y}_{last:%m%d%Y}"


def _form(given: ParserInput, page: LexborHTMLParser) -> tuple[Request, ...]:
    """Return the form of a meeting's page as its link to the XML sends it; nothing where there is no XML yet."""
    link = page.css_first(f"a[href*='{_BUTTON}'], a[id*='{_BUTTON}']")
    if link is None:
        return ()
    target = re.search(r"__doPostBack\('([\w$]+)'", link.attributes.get("href") or "")
    fields = {
        one.attributes.get("name") or "": one.attributes.get("value") or "" for one in page.css("input[type=hidden]")
    }
    fields |= {"__EVENTTARGET": target[1] if target else f"ctl00$MainContent${_BUTTON}", "__EVENTARGUMENT": ""}
    fields.pop("", None)
    return (Request(given.url, "detail", "POST", _FORM, urlencode(fields).encode(), priority=1),)


PAGE = 1000
"""Meetings of one answer at most."""

_FIELDS = {
    "id": "EventGuid|EventId", "title": "EventBodyName", "start": "{Day} {EventTime}", "description": "EventComment",
    "url": "EventInSiteURL", "location": "EventLocation", "status": "EventAgendaStatusName",
}  # fmt: skip
_EXTRA = {
    "legistar_id": "EventId", "agenda_url": "EventAgendaFile", "minutes_url": "EventMinutesFile",
    "agenda_status": "EventAgendaStatusName",
}  # fmt: skip


def read_legistar(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the meetings of an answer."""
    listed = parsed(given)
    if not isinstance(listed, list):
        raise StepError("Legistar answers with a list", Reason.WRONG_ROOT)
    rules = replace(given.rules, fields={**_FIELDS, **given.rules.fields}, extra={**_EXTRA, **given.rules.extra})
    given = given._replace(rules=rules)
    for number, one in enumerate(listed):
        if not isinstance(one, dict) or "EventDate" not in one:
            yield Unread(Reason.INCOMPLETE_RECORD, f"number {number + 1} of the list is no meeting")
            continue
        told = {**one, "Day": (shown(one["EventDate"]) or "")[:10]}
        text = json.dumps(one, ensure_ascii=False)
        yield event_of(given, lambda path, told=told: shown(at(told, path)), text, partial(at, told))  # type: ignore[misc]


def next_legistar_page(given: ParserInput) -> str:
    """Return the address of the next thousand, where there may be more."""
    listed = parsed(given)
    if not isinstance(listed, list) or len(listed) < PAGE:
        return ""
    parts = urlsplit(given.url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    skip = query.get("$skip", "0")
    skipped = int(skip) if skip.isdigit() else 0
    query["$skip"] = str(skipped + len(listed))
    return urlunsplit(parts._replace(query=urlencode(query, safe="$,'")))


_BEGUN = re.compile(r"0?[12]-jan", re.IGNORECASE)
_ROLL = re.compile(r"roll(\d{3,4})\.xml")
_PAGE = "https://www.senate.gov/legislative/LIS/roll_call_votes/vote{0}{1}/vote_{0}_{1}_{2}.htm"
_ABSENT = "Error sanitizing file"


def read_senate(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the votes of a session's list, with the year that their dates leave out.

    A session begins on 3 January: what is dated before that day was in the year after it.
    """
    root = xml_tree(given)
    year = int(found) if (found := told(root, "congress_year") or "").isdigit() else given.visited.year
    congress, session = told(root, "congress") or "", told(root, "session") or ""
    for one in root.iterfind(local(given.rules.items)):
        dated = told(one, "vote_date") or ""
        words = {
            "date": f"{dated}-{year + 1 if _BEGUN.fullmatch(dated) else year}",
            "congress": congress,
            "session": session,
            "page": _PAGE.format(congress, session, told(one, "vote_number") or ""),
        }
        text = etree.tostring(one, encoding="unicode", with_tail=False)
        yield event_of(given, lambda path, one=one, words=words: words.get(path) or told(one, path), text)  # type: ignore[misc]


def read_house(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the vote of a file; a vote that was not held yet is an answer of 200 that tells of an error."""
    if not is_absent(given):
        yield from read_xml(given)


def next_vote(given: ParserInput) -> str:
    """Return the address of the vote after this one; empty where this one was not held yet."""
    found = _ROLL.search(given.url)
    if found is None or is_absent(given):
        return ""
    return given.url[: found.start()] + f"roll{int(found[1]) + 1:03}.xml" + given.url[found.end() :]


def is_absent(given: ParserInput) -> bool:
    """Tell whether an answer says that there is no such vote."""
    return len(given.content) < 1000 and _ABSENT in text_of(given.content, given.media)


MOST = 2_000
"""Events of one page that are read."""

_DEEP = 40
_CAP = 32 << 20
_KINDS = frozenset({"Festival", "Hackathon", "CourseInstance", "EventSeries", "ExhibitionEvent"})
_STATUSES = {
    "eventcancelled": "cancelled", "eventpostponed": "postponed", "eventrescheduled": "rescheduled",
    "eventscheduled": "scheduled", "eventmovedonline": "scheduled",
}  # fmt: skip


def read_schema_org(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the events of a page; of a page without any, nothing."""
    if len(given.content) > _CAP:
        raise StepError(f"{len(given.content)} bytes, at most {_CAP} allowed", Reason.TOO_LARGE)
    count = 0
    for script in LexborHTMLParser(text_of(given.content, given.media)).css('script[type="application/ld+json"]'):
        text = script.text(strip=True).removeprefix("<!--").removesuffix("-->")
        try:
            tree = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            if "startDate" in text:
                yield Unread(Reason.NOT_WELL_FORMED, "a block of JSON-LD with a start is no JSON")
            continue
        for event in _events(tree, 0):
            count += 1
            if count > MOST:
                yield Unread(Reason.TOO_LARGE, f"more than {MOST} events")
                return
            yield _event(given, event)


def _events(tree: Any, depth: int) -> Iterator[dict[str, Any]]:
    """Yield the objects that are events; what is within an event belongs to it, but for its sub-events."""
    if depth > _DEEP:
        return
    if isinstance(tree, list):
        for one in tree:
            yield from _events(one, depth + 1)
    elif isinstance(tree, dict):
        kinds = tree.get("@type")
        names = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
        plain = [str(name).rpartition("/")[2].rpartition(":")[2] for name in names]
        if any(name.endswith("Event") or name in _KINDS for name in plain) and "startDate" in tree:
            yield tree
            yield from _events(tree.get("subEvent"), depth + 1)
            return
        for value in tree.values():
            if isinstance(value, dict | list):
                yield from _events(value, depth + 1)


def _event(given: ParserInput, one: dict[str, Any]) -> RawEvent | Unread:
    """Make an event of an object."""

    def told(name: str) -> str:
        value = one.get(name)
        if isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, dict):
            value = value.get("@value") or value.get("name") or value.get("url") or value.get("@id")
        return " ".join(unescape(shown(value) or "").split())

    title, text = told("name"), json.dumps(one, ensure_ascii=False)
    start = time_of(given, told("startDate"))
    if start is None:
        written = told("startDate")[:60]
        why = f"{title[:80]!r} has no start that can be read: {written!r}"
        return Unread(Reason.INCOMPLETE_RECORD, why, told("@id") or told("identifier"))
    url = told("url")
    extra: dict[str, Any] = {}
    for name, key in (("organizer", "organizer"), ("previousStartDate", "previous_start"), ("doorTime", "doors")):
        if value := told(name):
            extra[key] = value
    status = _STATUSES.get(told("eventStatus").rpartition("/")[2].lower(), "")
    end = time_of(given, told("endDate"))
    return RawEvent(
        told("@id") or told("identifier"), title, start, text, end or "", told("description"),
        url if url.startswith(("http://", "https://")) else "", status, _place(one.get("location")), extra,
    )  # fmt: skip


def _place(value: Any) -> str:
    """Spell a place: its name and address, or its address on the web."""
    if isinstance(value, list):
        return "; ".join(filter(None, map(_place, value[:5])))
    if not isinstance(value, dict):
        return unescape(shown(value) or "")
    address = value.get("address")
    if isinstance(address, dict):
        names = ("streetAddress", "addressLocality", "addressRegion", "postalCode")
        address = ", ".join(filter(None, (shown(address.get(name)) for name in names)))
    parts = [shown(value.get("name")), shown(address), shown(value.get("url"))]
    return ", ".join(unescape(part) for part in parts[:2] if part) or unescape(parts[2] or "")
