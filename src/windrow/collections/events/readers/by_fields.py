"""Events by the fields that a parser names: expressions over any document; JSON among them.

`a.b|c` takes the first that says something, `{date} {time}` puts several together, `=word` is a text as it stands,
`a?word` that word where `a` says anything, `a!word` where it says nothing.
What a path means its reader says.

A path that begins with `/` leads from the top of the document.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import quote, urljoin

from selectolax.lexbor import LexborHTMLParser

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.collections.events.times import EventTime, read_time
from windrow.contract import Request
from windrow.errors import StepError
from windrow.reasons import Reason

_HOLE = re.compile(r"\{([^{}]+)\}")
_CONDITION = re.compile("[?!]")

Look = Callable[[str], str | None]
"""Finds the text at a path; None where there is nothing of the kind."""


def found(expression: str, look: Look) -> str:
    """Return what an expression finds; empty where it finds nothing.

    >>> found("title|name", {"name": "Board"}.get), found("{day} {hour}", {"day": "1 May"}.get), found("=open", {}.get)
    ('Board', '1 May', 'open')
    """
    for alternative in expression.split("|"):
        if alternative.startswith("="):
            told = alternative[1:]
        elif "{" in alternative:
            first, *_ = [look(hole) for hole in _HOLE.findall(alternative)] or [""]
            told = _HOLE.sub(lambda hole: look(hole[1]) or "", alternative).strip() if first else ""
        elif mark := _CONDITION.search(alternative):
            said = bool((look(alternative[: mark.start()]) or "").strip())
            told = alternative[mark.end() :] if said == (mark[0] == "?") else ""
        else:
            told = (look(alternative) or "").strip()
        if told:
            return told
    return ""


_BESIDE = "script, style, nav, svg, form, button, noscript, iframe, template, head"


def without_markup(text: str) -> str:
    """Return what a piece of HTML says.

    >>> without_markup("<nav>Menu</nav><p>Tea &amp; <b>milk</b></p>")
    'Tea & milk'
    """
    if "<" not in text and "&" not in text:
        return text
    page = LexborHTMLParser(text)
    for node in page.css(_BESIDE):
        if node.tag != "head":
            node.decompose()
    return " ".join(page.text(separator=" ").split())


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


_OF_PYTHON = re.compile(r"undefined|idna|punycode|(?:raw_)?unicode_escape")
"""Codecs that are no character sets: what they raise, and how long they take, is theirs."""
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)


def text_of(content: bytes, media: str = "") -> str:
    r"""Return bytes as text; nothing is lost silently: what is no character is U+FFFD.

    >>> text_of(b"\xef\xbb\xbfcaf\xc3\xa9"), text_of(b"caf\xe9")
    ('café', 'café')
    >>> text_of(b"tea", "text/calendar; charset=undefined")
    'tea'
    """
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if content.startswith(mark):
            return content[len(mark) :].decode(name, "replace")
    told = _CHARSET.search(media)
    for name in (told[1] if told else "utf-8", "utf-8"):
        try:
            if not _OF_PYTHON.fullmatch(codecs.lookup(name).name.replace("-", "_")):
                return content.decode(name)
        except (ValueError, LookupError):
            continue
    return content.decode("cp1252", "replace")


MOST = 10_000
"""Events of one document that are read."""


def read_json(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the events of a document."""
    tree = parsed(given)
    if given.rules.details and isinstance(at(tree, given.rules.details.partition(":")[0]), list):
        return  # it only names the documents that have the events
    listed = at(tree, given.rules.items)
    if listed is None and isinstance(tree, dict) and given.rules.root and given.rules.root in tree:
        return  # an API that leaves the list out where it would be empty
    if isinstance(listed, dict):
        listed = [listed]
    if not isinstance(listed, list):
        raise StepError(f"there is no list at {given.rules.items!r}", Reason.WRONG_ROOT)
    for number, one in enumerate(listed):
        if number >= MOST:
            yield Unread(Reason.TOO_LARGE, f"more than {MOST} events")
            return
        if not isinstance(one, dict):
            yield Unread(Reason.INCOMPLETE_RECORD, f"number {number + 1} of the list is no object")
            continue
        text = json.dumps(one, ensure_ascii=False)
        yield event_of(given, lambda path, one=one: shown(_at(tree, one, path)), text, partial(_at, tree, one))  # type: ignore[misc]


def parsed(given: ParserInput) -> Any:
    """Read JSON; StepError for what is none, such as a page that tells of an error."""
    try:
        return json.loads(text_of(given.content, given.media))
    except (ValueError, RecursionError):
        raise StepError("this is no JSON", Reason.NOT_WELL_FORMED) from None


def at(tree: Any, path: str) -> Any:
    """Return what stands at a path; None where nothing does.

    >>> at({"a": [{"b": 1}]}, "a.0.b"), at({"a": 1}, "a.b")
    (1, None)
    """
    for name in path.split(".") if path else ():
        if isinstance(tree, dict):
            tree = tree.get(name)
        elif isinstance(tree, list) and name.isdigit() and int(name) < len(tree):
            tree = tree[int(name)]
        else:
            return None
    return tree


def _at(tree: Any, one: Any, path: str) -> Any:
    return at(tree, path[1:]) if path.startswith("/") else at(one, path)


def shown(value: Any) -> str | None:
    """Spell a value of JSON as text: lists joined by commas, true and false as words, whole numbers without a point."""
    if value is None:
        return None
    if isinstance(value, list):
        return ", ".join(filter(None, (shown(one) for one in value)))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return shown(value.get("name") or value.get("title") or value.get("rendered"))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).encode("utf-8", "replace").decode()


def next_page(given: ParserInput) -> str:
    """Return the address of the next page, as the document says it; empty for the last."""
    return (shown(at(parsed(given), given.rules.next)) or "") if given.rules.next else ""


def details(given: ParserInput) -> tuple[Request, ...]:
    """Ask for the documents that a list names; one that changed has another address."""
    path, _, rest = given.rules.details.partition(":")
    url, _, changed = rest.partition(":")
    listed = at(parsed(given), path) if path else None
    found = []
    for one in listed[:MOST] if isinstance(listed, list) else ():
        where = shown(at(one, url)) or ""
        if where.startswith(("http://", "https://")):
            told = quote(shown(at(one, changed)) or "", safe="") if changed else ""
            where += f"{'&' if '?' in where else '?'}changed={told}" if told else ""
            found.append(Request(where, "detail", priority=1))
    return tuple(found)
