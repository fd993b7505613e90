"""Evaluate the expressions in a parser's rules, which select the texts and extra keys of an event.

The expression `a.b|c` returns the text at the path `a.b` or, if it is empty, at `c`. `{date} {time}` joins the texts at
two paths; it is empty if the first text is empty. `=word` returns the word. `a?word` returns the word if `a` is not
empty, and `a!word` if `a` is empty. The reader decides how a path is looked up. In JSON, a path that begins with `/`
starts at the top of the document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from windrow.formats.text import replace_lone_surrogates

_BRACED_PATH = re.compile(r"\{([^{}]+)\}")
_CONDITION = re.compile("[?!]")

PathLookup = Callable[[str], str | None]
"""A function that returns the text at a path, or None if the path does not exist."""

JsonLookup = Callable[[str], Any]
"""A function that returns the JSON value at a path, or None if the path does not exist."""

_MAX_EXACT_INTEGER = 1 << 53
"""The largest integer that is exact in programs whose numbers are floats, such as JavaScript."""


def evaluate(expression: str, lookup: PathLookup) -> str:
    """Return the text of the first alternative that is not empty in an expression; an empty text if all are empty.

    >>> evaluate("title|name", {"name": "Board"}.get), evaluate("{day} {hour}", {"day": "1 May"}.get)
    ('Board', '1 May')
    >>> evaluate("=open", {}.get)
    'open'
    """
    for alternative in expression.split("|"):
        if alternative.startswith("="):
            text = alternative[1:]
        elif "{" in alternative:
            first, *_ = [lookup(path) for path in _BRACED_PATH.findall(alternative)] or [""]
            text = _BRACED_PATH.sub(lambda braced: lookup(braced[1]) or "", alternative).strip() if first else ""
        elif condition := _CONDITION.search(alternative):
            is_filled = bool((lookup(alternative[: condition.start()]) or "").strip())
            text = alternative[condition.end() :] if is_filled == (condition[0] == "?") else ""
        else:
            text = (lookup(alternative) or "").strip()
        if text:
            return text
    return ""


def read_extra(
    expressions: Mapping[str, str], lookup: PathLookup, lookup_json: JsonLookup | None = None
) -> dict[str, Any]:
    """Return the extra keys of an event that have a value; `expressions` is the setting `extra`.

    A value is an integer for `#PATH`, if it leads to one of 1 to 17 digits, and otherwise a text. From JSON, it may be
    a number, a boolean, an object or a list with objects, too; an integer above _MAX_EXACT_INTEGER becomes a text.

    >>> event = {"files": [{"url": "https://a.example/1"}], "tags": ["x", "y"]}
    >>> names = {"files": "files", "tags": "tags", "number": "#n"}
    >>> read_extra(names, lambda path: json_to_text(event.get(path)), event.get)
    {'files': [{'url': 'https://a.example/1'}], 'tags': 'x, y'}
    """
    extra = {name: _extra_value(expression, lookup, lookup_json) for name, expression in expressions.items()}
    return {name: content for name, content in extra.items() if content != ""}


def _extra_value(expression: str, lookup: PathLookup, lookup_json: JsonLookup | None) -> Any:
    if expression.startswith("#"):
        digits = evaluate(expression[1:], lookup)
        return int(digits) if digits.isdecimal() and len(digits) < 18 else ""
    for path in expression.split("|") if lookup_json else ():
        content = lookup_json(path) if lookup_json else None
        is_object = isinstance(content, dict) and bool(content)
        has_objects = isinstance(content, list) and any(isinstance(entry, dict | list) for entry in content)
        if is_object or has_objects or isinstance(content, float | int):
            return _plain_json(content)
        if text := evaluate(path, lookup):
            return text
    return "" if lookup_json else evaluate(expression, lookup)


_MAX_LEVELS = 50
"""The number of levels of a JSON value that are kept; stores refuse far deeper ones, so what is deeper becomes text."""


def _plain_json(content: Any, depth: int = _MAX_LEVELS) -> Any:
    """Return a JSON value as every store takes it, without halves of surrogate pairs and without deep levels."""
    if isinstance(content, dict | list) and not depth:
        return json.dumps(content)
    if isinstance(content, dict):
        return {replace_lone_surrogates(name): _plain_json(part, depth - 1) for name, part in content.items()}
    if isinstance(content, list):
        return [_plain_json(part, depth - 1) for part in content]
    is_inexact = isinstance(content, int) and abs(content) > _MAX_EXACT_INTEGER
    return replace_lone_surrogates(str(content)) if is_inexact or isinstance(content, str) else content


def json_to_text(content: Any) -> str | None:
    """Convert a JSON value to a text, but null to None.

    The entries of a list are joined by commas. An object becomes the text of its `name`, `title` or `rendered`.
    """
    if content is None:
        return None
    if isinstance(content, list):
        return ", ".join(filter(None, (json_to_text(entry) for entry in content)))
    if isinstance(content, bool):
        return "true" if content else "false"
    if isinstance(content, dict):
        return json_to_text(content.get("name") or content.get("title") or content.get("rendered"))
    if isinstance(content, float) and content.is_integer():
        return str(int(content))
    return replace_lone_surrogates(str(content))


def texts_in_json(tree: Any) -> str:
    """Return all texts, numbers and booleans in a JSON value in their order, joined by commas.

    >>> texts_in_json({"room": "12", "at": {"street": "1 Main St", "city": None}, "seats": 40})
    '12, 1 Main St, 40'
    """
    texts = list[str]()
    pending = [tree]  # the next one is last
    while pending:
        part = pending.pop()
        if isinstance(part, dict | list):
            pending += reversed(part.values() if isinstance(part, dict) else part)
        elif text := (json_to_text(part) or "").strip():
            texts.append(text)
    return ", ".join(texts)
