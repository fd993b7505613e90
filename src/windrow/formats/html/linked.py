"""What a page says of itself as JSON-LD, in the words of schema.org: of all things it names, the one it is about."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any

_LONGEST = 1 << 20  # characters of one script
_DEEPEST = 12
_MOST = 5_000  # things of a page
_ARTICLE = re.compile(r"article|posting|report$|^review|recipe|howto", re.IGNORECASE)
_SITE = re.compile(r"^website$", re.IGNORECASE)
_PAGE = re.compile(r"page$|creativework$|videoobject|podcastepisode|event$", re.IGNORECASE)
_LISTS = frozenset((
    "itemListElement", "hasPart", "blogPost", "comment", "review", "isRelatedTo", "relatedLink", "citation",
    "suggestedAnswer", "breadcrumb",
))  # fmt: skip
"""Properties that name other things than the page."""
_DATE = re.compile(r'"(datePublished|dateModified)"\s*:\s*"([^"]{4,40})"')
_OPENING = re.compile(r"\s*(?://<!\[CDATA\[|<!\[CDATA\[|<!--)")
_CLOSINGS = ("//]]>", "]]>", "-->")

Thing = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StructuredData:
    """What the thing that a page is about says of itself, as written; empty where it says nothing."""

    headline: str = ""
    authors: tuple[str, ...] = ()
    published: str = ""
    modified: str = ""
    description: str = ""
    image: str = ""
    language: str = ""
    keywords: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    """Names of the site and of who publishes it."""


def linked(scripts: Sequence[str]) -> StructuredData:
    """Read the JSON-LD of a page; of what is broken, the dates.

    >>> linked(['{"@type": "NewsArticle", "headline": "Tea", "author": {"name": "Ann"}}']).authors
    ('Ann',)
    """
    if not scripts:
        return StructuredData()
    known: dict[str, Thing] = {}
    things = list(_all(scripts, known))
    loose = dict(reversed(_DATE.findall("\n".join(scripts)))) if not things else {}
    about = next((one for one in things if _is(one, _ARTICLE)), None)
    if about is None:
        about = next((one for one in things if _is(one, _PAGE)), {})
    names = [name for one in things if _is(one, _SITE) for name in _names(one, known)]
    keywords = [part.strip() for word in _texts(about.get("keywords")) for part in word.split(",")]
    return StructuredData(
        _first(about, "headline") or (_first(about, "name") if _is(about, _ARTICLE) else ""),
        tuple(dict.fromkeys(name for what in ("author", "creator") for name in _names(about.get(what), known))),
        _first(about, "datePublished", "dateCreated", "uploadDate") or loose.get("datePublished", ""),
        _first(about, "dateModified") or loose.get("dateModified", ""),
        _first(about, "description"),
        next(iter(_images(about.get("image"), known)), ""),
        _first(about, "inLanguage"),
        tuple(dict.fromkeys(filter(None, keywords))),
        tuple(dict.fromkeys([*names, *_names(about.get("publisher"), known)])),
    )


def _all(scripts: Sequence[str], known: dict[str, Thing]) -> Iterator[Thing]:
    """Yield the things that scripts name, but for those that the page only lists; note all by their `@id`."""
    left = _MOST
    for script in scripts:
        try:
            read = json.loads(_uncommented(script[:_LONGEST]), strict=False)
        except (ValueError, RecursionError):
            continue
        waiting = deque([(read, 0)])
        while waiting and left:
            thing, depth = waiting.popleft()
            if isinstance(thing, list) and depth < _DEEPEST:
                waiting += [(one, depth + 1) for one in thing[:left]]
            elif isinstance(thing, dict):
                left -= 1
                name = thing.get("@id")
                if isinstance(name, str) and len(thing) > 1:
                    known.setdefault(name, thing)
                if "@type" in thing:
                    yield thing
                inner = [one for what, one in thing.items() if what not in _LISTS and isinstance(one, dict | list)]
                waiting += [(one, depth + 1) for one in inner if depth < _DEEPEST]


def _uncommented(script: str) -> str:
    """Return a script without the marks of a comment or CDATA section around all of it."""
    if opening := _OPENING.match(script):
        script = script[opening.end() :]
    end = script.rstrip()
    closing = next((mark for mark in _CLOSINGS if end.endswith(mark)), "")
    return end.removesuffix(closing) if closing else script


def _is(thing: Thing, kind: re.Pattern[str]) -> bool:
    return any(kind.search(one.rpartition("/")[2]) for one in _texts(thing.get("@type")))


def _texts(value: Any) -> list[str]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]


def _first(thing: Thing, *names: str) -> str:
    for name in names:
        for one in _texts(thing.get(name)):
            if text := _clean(one):
                return text
    return ""


def _clean(text: str) -> str:
    text = " ".join(unescape(text[:10_000]).split())
    return text.encode("utf-8", "replace").decode()


def _names(value: Any, known: dict[str, Thing]) -> Iterator[str]:
    """Yield the names of persons or organisations, told as texts, things, or references to things."""
    for one in (value if isinstance(value, list) else [value])[:100]:
        if isinstance(one, str):
            yield _clean(one)
        elif isinstance(one, dict):
            thing = one if "name" in one else known.get(str(one.get("@id")), one)
            yield from filter(None, map(_clean, _texts(thing.get("name"))))


def _images(value: Any, known: dict[str, Thing]) -> Iterator[str]:
    for one in (value if isinstance(value, list) else [value])[:10]:
        thing = known.get(str(one.get("@id")), one) if isinstance(one, dict) and "url" not in one else one
        told = _texts([thing.get("url"), thing.get("contentUrl")] if isinstance(thing, dict) else thing)
        yield from (text for text in map(_clean, told) if text)
