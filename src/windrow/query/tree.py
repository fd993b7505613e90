"""The tree of a query as frozen values: words, phrases, filters with their keys, dates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeAlias, TypeVar
from urllib.parse import unquote

from windrow.formats.url import normalise
from windrow.query.word import words

_FORM = re.compile(
    r"(?P<year>\d{4})(?:[-/.](?P<month>\d{1,2})(?:[-/.](?P<day>\d{1,2})"
    r"(?:[T_](?P<hour>\d{2}):?(?P<minute>\d{2})(?::?(?P<second>\d{2}))?Z?)?)?)?",
    re.ASCII,
)


class TimeSpan(NamedTuple):
    """A time span in UNIX seconds, including `start` and excluding `end`."""

    start: int
    end: int


def span(text: str) -> TimeSpan | None:
    """Read `2024`, `2024-06`, `2024-06-01`, `2024-06-01T12:30` or `2024-06-01T12:30:15`; None if it is not valid.

    >>> span("2024-06-01")
    TimeSpan(start=1717200000, end=1717286400)
    >>> span("2024-13")
    """
    match = _FORM.fullmatch(text)
    if not match:
        return None
    year, month, day, hour, minute, second = (int(part) if part else None for part in match.groups())
    try:
        start = datetime(year or 0, month or 1, day or 1, hour or 0, minute or 0, second or 0, tzinfo=UTC)
        if hour is not None:
            end = start + timedelta(minutes=1) if second is None else start + timedelta(seconds=1)
        elif day is not None:
            end = start + timedelta(days=1)
        elif month is not None:
            end = (start + timedelta(days=31)).replace(day=1)
        else:
            end = start.replace(year=start.year + 1)
    except (ValueError, OverflowError):
        return None
    return TimeSpan(int(start.timestamp()), int(end.timestamp()))


_LONGEST_HOST = 253  # RFC 1035 section 2.3.4, without the last dot
_PORT = re.compile(r"(?<=[^:]):(\d{1,5})\Z", re.ASCII)
_PORT_OF_HTTP = re.compile(r"[^/?]*:80(?:[/?]|\Z)", re.ASCII)
_NUMERIC = re.compile(r"[0-9.]+", re.ASCII)
_LANGUAGE = re.compile(r"[a-z]{2,8}(-[a-z0-9]{1,8})*", re.ASCII)
_KIND = re.compile(r"[a-z0-9][a-z0-9.+_-]*(/([a-z0-9][a-z0-9.+_-]*|\*))?", re.ASCII)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.ASCII | re.IGNORECASE)

IS = ("duplicate", "index", "leaf")
"""The values of `is:`."""


class HostFilter(NamedTuple):
    """A host name in punycode; `before` and `after` say whether it is only the end or the beginning of a name."""

    name: str
    before: bool = False
    after: bool = False
    port: int | None = None


class LinkFilter(NamedTuple):
    """The target of a link or URL filter: a host with all hosts below it, or one URL without its scheme."""

    host: str | None
    url: str | None
    port: int | None = None


class Past(NamedTuple):
    """The value of a filter by links for pages as they were at a time in UNIX seconds, or (None) at any time."""

    sought: str | LinkFilter
    at: int | None


Value: TypeAlias = str | TimeSpan | HostFilter | LinkFilter | Past


def host(text: str) -> HostFilter | None:
    """Read a host name; after a leading dot it is the end of a name, before a trailing dot the beginning.

    >>> host("Bücher.example")
    HostFilter(name='xn--bcher-kva.example', before=False, after=False, port=None)
    >>> host(".org")
    HostFilter(name='.org', before=True, after=False, port=None)
    """
    text = _authority(text)
    port_part = _PORT.search(text)
    port = int(port_part[1]) if port_part else None
    text = text[: port_part.start()] if port_part else text
    name = _name(text.strip("."))
    if name is None or (port is not None and not 0 < port < 1 << 16):
        return None
    open_beginning, open_end = text.startswith("."), text.endswith(".")
    return HostFilter(f"{'.' * open_beginning}{name}{'.' * open_end}", open_beginning, open_end, port)


def site(text: str) -> HostFilter | None:
    """Read a host name that also means all hosts below it, with its port if one is given.

    >>> site("https://Example.org:8443/")
    HostFilter(name='example.org', before=False, after=False, port=8443)
    """
    filter_ = host(_authority(text).strip("."))
    return None if filter_ is None else filter_._replace(name=filter_.name.strip("."), before=False, after=False)


def target(text: str) -> LinkFilter | None:
    """Read a host or a URL, with or without its scheme, and normalise it; None if it is neither.

    >>> target("example.org"), target("https://example.org/a%7eb")
    (LinkFilter(host='example.org', url=None, port=None), LinkFilter(host=None, url='example.org/a~b', port=None))
    """
    bare = _SCHEME.sub("", text).partition("#")[0]
    if "/" in bare or "?" in bare:
        scheme = "http" if text[:5].lower() == "http:" or _PORT_OF_HTTP.match(bare) else "https"
        url = normalise(f"{scheme}://{bare}").url
        return LinkFilter(None, url.partition("://")[2]) if url else None
    filter_ = site(bare)
    return None if filter_ is None else LinkFilter(filter_.name, None, filter_.port)


def _authority(text: str) -> str:
    """Return a typed host without scheme and trailing slash."""
    return _SCHEME.sub("", text).rstrip("/")


def _name(text: str) -> str | None:
    """Return a host name, or a part of one, in its normal spelling; None if it is not valid."""
    if _NUMERIC.fullmatch(text):  # a part of an IPv4 address would be read as a whole one
        return text
    if not text.isascii() or "%" in text or text.startswith("["):
        text = normalise(f"http://{text}/").url.partition("://")[2].rstrip("/") if "/" not in text else ""
    name = text.lower()
    is_valid = 0 < len(name) <= _LONGEST_HOST and not re.search(r"[^a-z0-9._:\[\]-]", name)
    return name if is_valid else None


def _text(text: str) -> str | None:
    return text if words(text) else None


def _of_address(text: str) -> str | None:
    """Read a part of an address, and undo its percent escapes."""
    return _text(unquote(text) if "%" in text else text)


def _language(text: str) -> str | None:
    tag = text.lower().replace("_", "-")
    return tag if _LANGUAGE.fullmatch(tag) else None


def _kind(text: str) -> str | None:
    return text.lower() if _KIND.fullmatch(text.lower()) else None


def _is(text: str) -> str | None:
    return text.lower() if text.lower() in IS else None


KEYS: Mapping[str, Callable[[str], Value | None]] = MappingProxyType(
    {
        "site": site,
        "host": host,
        "url": target,
        "inurl": _of_address,
        "title": _text,
        "headline": _text,
        "lang": _language,
        "type": _kind,
        "before": span,
        "after": span,
        "updated-before": span,
        "updated-after": span,
        "seen": span,
        "as-of": span,
        "links-to": target,
        "link-text": _text,
        "code": _text,
        "quote": _text,
        "is": _is,
    }
)
"""The function of each key that reads its value; it returns None if the value is not valid."""

TEXTUAL = frozenset({"inurl", "title", "headline", "link-text", "code", "quote"})
"""Keys whose values are consecutive words."""

BANGS: Mapping[str, str] = MappingProxyType({"!": "is"})
"""Characters that abbreviate a key: `!leaf` is `is:leaf`."""


Leaf = TypeVar("Leaf")


@dataclass(frozen=True, slots=True)
class Word:
    """A word as typed; with `prefix`, any word that begins with it (`harv*`)."""

    text: str
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """Consecutive words."""

    text: str


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on one property of a page; `typed` is the filter as typed.

    A text as value means consecutive words; before a star, the last may be the beginning of a word.
    """

    key: str
    value: Value
    typed: str


@dataclass(frozen=True, slots=True)
class Not(Generic[Leaf]):
    """The part must not match."""

    part: Tree[Leaf]


@dataclass(frozen=True, slots=True)
class And(Generic[Leaf]):
    """All parts must match."""

    parts: tuple[Tree[Leaf], ...]


@dataclass(frozen=True, slots=True)
class Or(Generic[Leaf]):
    """At least `least` parts must match."""

    parts: tuple[Tree[Leaf], ...]
    least: int = 1


Tree: TypeAlias = Leaf | Not[Leaf] | And[Leaf] | Or[Leaf]
"""Leaves joined by Not, And and Or: the leaves of a query here, those of a clause in `query.clause`."""

Node: TypeAlias = Tree[Word | Phrase | Filter]


def joined(kind: type[And[Leaf] | Or[Leaf]], parts: list[Tree[Leaf]]) -> Tree[Leaf] | None:
    """Join parts by And or Or; a single part is returned as it is. Return None without parts.

    >>> joined(And, [Word("a")])
    Word(text='a', prefix=False)
    """
    flat: list[Tree[Leaf]] = []
    for part in parts:
        flat += part.parts if isinstance(part, kind) else [part]
    if len(flat) > 1:
        return kind(tuple(flat))
    return flat[0] if flat else None


def leading(text: str) -> tuple[str, bool]:
    """Return a text without trailing stars, and whether they make its last word a prefix.

    >>> leading("harv*"), leading("c++*"), leading("**")
    (('harv', True), ('c++*', False), ('**', False))
    """
    bare = text.rstrip("*")
    return (bare, True) if bare != text and words(bare[-1:]) else (text, False)


def asks(leaf: Word | Phrase | Filter) -> tuple[str, bool]:
    """Return the text of a leaf, and whether its last word is a prefix."""
    if isinstance(leaf, Filter):
        return leading(str(leaf.value))
    return leaf.text, isinstance(leaf, Word) and leaf.prefix


def wanted(node: Node | None) -> Iterator[Word | Phrase]:
    """Yield the words and phrases that are searched for in the order typed, without excluded ones.

    >>> from windrow.query import parse
    >>> [term.text for term in wanted(parse('red "green tea" -"black tea" site:example.org').root)]
    ['red', 'green tea']
    """
    if isinstance(node, Word | Phrase):
        yield node
    elif isinstance(node, And | Or):
        for part in node.parts:
            yield from wanted(part)


def filters(node: Node | None) -> Iterator[Filter]:
    """Yield all filters, also negated ones."""
    if isinstance(node, Filter):
        yield node
    elif isinstance(node, Not):
        yield from filters(node.part)
    elif isinstance(node, And | Or):
        for part in node.parts:
            yield from filters(part)
