"""The House's committee repository: weeks and days lead to meetings, and a meeting's page to its XML.

A week's page leaves meetings out that its days' pages have. The XML has no address of its own: a page's form is sent
back to it, with its hidden fields, as its link "Meeting XML" does. Addresses have the day of the visit at their end, so
that a meeting is asked for once a day while its week is, and not for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from urllib.parse import urlencode, urljoin

from selectolax.lexbor import LexborHTMLParser

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.collections.events.readers.by_fields import without_day
from windrow.collections.events.readers.html_selector import parsed
from windrow.collections.events.readers.xml_path import read as read_xml
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


def read(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the meeting of an XML; of a page of the calendar nothing."""
    if not _is_page(given):
        for one in read_xml(given):
            yield one._replace(url=without_day(given.url)) if isinstance(one, RawEvent) and not one.url else one
    elif not parsed(given).css(_CALENDAR):
        raise StepError("this is no page of the calendar", Reason.WRONG_ROOT)


def details(given: ParserInput) -> tuple[Request, ...]:
    """Return what a page leads to: days and meetings, further weeks, or the XML of its meeting."""
    if not _is_page(given):
        return ()
    page = parsed(given)
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
