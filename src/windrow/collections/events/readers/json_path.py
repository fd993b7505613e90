"""JSON by path: `items` leads to the list of events, fields to values in one of them; `a.b`, `a.0.b`, empty: all.

A path that begins with `/` leads from the top of the document.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.collections.events.readers.by_fields import event_of
from windrow.collections.events.readers.decoded import text_of
from windrow.contract import Request
from windrow.errors import StepError
from windrow.reasons import Reason

MOST = 10_000
"""Events of one document that are read."""


def read(given: ParserInput) -> Iterator[RawEvent | Unread]:
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
