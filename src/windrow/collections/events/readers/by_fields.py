"""Make events of things that have fields, by the expressions of a parser's rules: for JSON, XML, HTML and feeds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.collections.events.readers.expression import Look, found
from windrow.collections.events.readers.markup import without_markup
from windrow.collections.events.times import EventTime, read_time
from windrow.reasons import Reason

_DAY = re.compile(r"&day=\d{8}$")

STATUSES = {
    "cancelled": "cancelled", "canceled": "cancelled", "postponed": "postponed", "rescheduled": "rescheduled",
    "tentative": "tentative", "confirmed": "confirmed", "scheduled": "scheduled", "withdrawn": "withdrawn",
}  # fmt: skip
"""Words of sources for the state of an event, in lower case, and ours."""


Value = Callable[[str], Any]
"""Finds what stands at a path, as JSON has it."""

_EXACT = 1 << 53
"""A whole number beyond this is another one in a program whose numbers are floats, as JavaScript's are."""


def event_of(given: ParserInput, look: Look, text: str, value: Value | None = None) -> RawEvent | Unread:
    """Make an event of one thing; `look` finds what stands at a path of it, `text` is all of it.

    Where the document has numbers and booleans, `value` finds them: an extra key keeps their type.
    """
    fields = given.rules.fields

    def told(name: str) -> str | None:
        return found(fields[name], look) if name in fields else None

    title, key = told("title") or "", told("id") or ""
    if title.strip() in given.rules.placeholders:
        return Unread(Reason.PLACEHOLDER, (title or text)[:200], key)
    status = status_of(given, told("status") or "")
    start = time_of(given, told("start") or "")
    if start is None and key and status == "withdrawn":
        return RawEvent(key, title, None, text, status=status)
    if start is None:
        written = (told("start") or "")[:80]
        return Unread(Reason.INCOMPLETE_RECORD, f"{title[:80]!r} has no start that can be read: {written!r}", key)
    end = told("end")
    url = told("url")
    extra = {name: one for name, path in given.rules.extra.items() if (one := _extra(path, look, value)) != ""}
    description = told("description")
    if "title" in given.rules.markup:
        title = without_markup(title)
    if description and "description" in given.rules.markup:
        description = without_markup(description)
    if start.note:
        extra["time_note"] = start.note
    return RawEvent(
        key, title, start, text, end if end is None else time_of(given, end) or "", description,
        joined(given.url, url) if url else url, status, told("location"), extra,
        told("branch") or "", told("entity") or "",
    )  # fmt: skip


def without_day(url: str) -> str:
    """Return an address without the day at its end that only has it asked for once a day.

    >>> without_day("https://a.example/x?id=7&day=20261005")
    'https://a.example/x?id=7'
    """
    return _DAY.sub("", url)


def joined(base: str, url: str) -> str:
    """Return an address that is relative to another one; empty where it is none."""
    try:
        return urljoin(base, url)
    except ValueError:
        return ""


def _extra(expression: str, look: Look, value: Value | None) -> str | float:
    """Return what an expression finds; after a `#` a whole number, and nothing where it is none."""
    if expression.startswith("#"):
        told = found(expression[1:], look)
        return int(told) if told.isdecimal() and len(told) < 18 else ""
    for path in expression.split("|") if value else ():
        one = value(path) if value else None
        if (isinstance(one, float) and math.isfinite(one)) or (isinstance(one, int) and abs(one) <= _EXACT):
            return one
        if told := found(path, look):
            return told
    return "" if value else found(expression, look)


def time_of(given: ParserInput, text: str) -> EventTime | None:
    """Read a time as this parser's source writes it."""
    return read_time(text, given.zone, given.rules.formats, given.rules.naive) if text else None


def status_of(given: ParserInput, word: str) -> str:
    """Return this project's word for a state of an event; empty for one that is not known."""
    known = {name.lower(): ours for name, ours in given.rules.statuses.items()}
    lower = word.strip().lower()
    return known.get(lower) or STATUSES.get(lower, "")
