"""The tree of a query: words, phrases and filters, and the functions that read the values of filters."""

from __future__ import annotations

import re
from calendar import isleap, monthrange
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeAlias, TypeVar
from urllib.parse import unquote

from windrow.formats.url import normalise
from windrow.query.word import words

_DATE = re.compile(
    r"(?P<year>\d{4})(?:[-/.](?P<month>\d{1,2})(?:[-/.](?P<day>\d{1,2})"
    r"(?:[T_](?P<hour>\d{2}):?(?P<minute>\d{2})(?::?(?P<second>\d{2}))?Z?)?)?)?",
    re.ASCII,
)
_OTHER_DATE = re.compile(
    r"(?P<digits>\d{8})|(?P<week>\d{4}-?W\d\d)(?:-?(?P<weekday>\d))?|(?P<year>\d{4})-(?P<day_of_year>\d{3})", re.ASCII
)
"""Matches the rarer forms of ISO 8601: a day in digits, a week, a day of a week, and a day of a year."""

_END_OF_TIME = 253_402_300_800  # the second after the year 9999


class TimeSpan(NamedTuple):
    """A time span in UNIX seconds, including `start` and excluding `end`."""

    start: int
    end: int


_TIME_PREFIX = re.compile(r"\d{4}(-\d\d(-\d\d(T\d\d(:\d\d(:\d\dZ?)?)?)?)?)?", re.ASCII)


def read_time_span(text: str) -> TimeSpan | None:
    """Return the span of a year, month, week, day, minute or second in UTC, or None if the text is not one of these.

    >>> read_time_span("2024-06-01") == read_time_span("20240601") == read_time_span("2024-W22-6")
    True
    >>> read_time_span("2024-06-01")
    TimeSpan(start=1717200000, end=1717286400)
    >>> read_time_span("2024-13")
    """
    try:
        if match := _DATE.fullmatch(text):
            return _span_of_parts([int(part) if part else None for part in match.groups()])
        return _span_of_other_date(other) if (other := _OTHER_DATE.fullmatch(text)) else None
    except (ValueError, OverflowError):
        return None


def is_time_prefix(text: str) -> bool:
    """Return whether a text is a time in UTC, or its beginning: such texts can be compared as texts.

    >>> [is_time_prefix(text) for text in ("2026-12", "2026-12-01T09:30:00Z", "20261201", "2026-13", "tomorrow")]
    [True, True, False, False, False]
    """
    return bool(_TIME_PREFIX.fullmatch(text) and read_time_span(text[:10]))


def _span_of_parts(parts: list[int | None]) -> TimeSpan:
    year, month, day, hour, minute, second = parts
    start = datetime(year or 0, month or 1, day or 1, hour or 0, minute or 0, second or 0, tzinfo=UTC)
    if hour is not None:
        return _span(start, timedelta(minutes=1) if second is None else timedelta(seconds=1))
    if day is not None:
        return _span(start, timedelta(days=1))
    if month is not None:
        return _span(start, timedelta(days=monthrange(start.year, month)[1]))
    return _span(start, timedelta(days=365 + isleap(start.year)))


def _span_of_other_date(date: re.Match[str]) -> TimeSpan | None:
    if date["digits"]:
        return _span(datetime.strptime(date["digits"], "%Y%m%d").replace(tzinfo=UTC), timedelta(days=1))
    if date["week"]:
        start = datetime.fromisoformat(f"{date['week'].replace('-', '')}{date['weekday'] or 1}").replace(tzinfo=UTC)
        return _span(start, timedelta(days=1 if date["weekday"] else 7))
    year, day = int(date["year"]), int(date["day_of_year"])
    if not 1 <= day <= 365 + isleap(year):
        return None
    return _span(datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=day - 1), timedelta(days=1))


def _span(start: datetime, duration: timedelta) -> TimeSpan:
    first = int(start.timestamp())
    return TimeSpan(first, min(first + int(duration.total_seconds()), _END_OF_TIME))


_MAX_HOST_LENGTH = 253  # RFC 1035 section 2.3.4, without the last dot
_PORT = re.compile(r"(?<=[^:]):(\d{1,5})\Z", re.ASCII)
_PORT_OF_HTTP = re.compile(r"[^/?]*:80(?:[/?]|\Z)", re.ASCII)
_IPV4_PART = re.compile(r"[0-9.]+", re.ASCII)  # an IPv4 address, or a part of one
_LANGUAGE = re.compile(r"[a-z]{2,8}(-[a-z0-9]{1,8})*", re.ASCII)
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9.+_-]*(/([a-z0-9][a-z0-9.+_-]*|\*))?", re.ASCII)
_SOURCE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII | re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.ASCII | re.IGNORECASE)

IS_VALUES = ("duplicate", "index", "leaf", "soft-404")
"""The values of the filter `is:`."""


class HostFilter(NamedTuple):
    """The value of `host:` or `site:`: a host name, or a part of one, in punycode, and a port (None: any port)."""

    name: str
    before: bool = False  # whether any text may precede the name (`.org`)
    after: bool = False  # whether any text may follow the name (`www.`)
    port: int | None = None


class LinkFilter(NamedTuple):
    """The value of `links-to:` or `url:`: a host name in `host`, or a URL without its scheme in `url`.

    The other of the two is None. In `links-to:`, a host name includes all hosts below it, and a port that is None
    means any port.
    """

    host: str | None
    url: str | None
    port: int | None = None


class PastLinks(NamedTuple):
    """The text or the target of a link that pages had at the time `at` in UNIX seconds (None: at any time)."""

    sought: str | LinkFilter
    at: int | None


class SourceOrigins(NamedTuple):
    """The value of `source:` in a search for pages: the origins of the source, and those that it shares with others."""

    source: str
    origins: tuple[str, ...]
    shared: tuple[str, ...] = ()


Value: TypeAlias = str | TimeSpan | HostFilter | LinkFilter | PastLinks | SourceOrigins


def read_host(text: str) -> HostFilter | None:
    """Return the value of a `host:` filter (a host name or a part of one, with an optional port), or None if not valid.

    `.org` means every host whose name ends in .org, and `www.` means every host whose name begins with www.

    >>> read_host("Bücher.example")
    HostFilter(name='xn--bcher-kva.example', before=False, after=False, port=None)
    >>> read_host(".org")
    HostFilter(name='.org', before=True, after=False, port=None)
    """
    text = _without_scheme(text)
    port_part = _PORT.search(text)
    port = int(port_part[1]) if port_part else None
    text = text[: port_part.start()] if port_part else text
    name = _normal_host(text.strip("."))
    if name is None or (port is not None and not 0 < port < 1 << 16):
        return None
    open_beginning, open_end = text.startswith("."), text.endswith(".")
    return HostFilter(f"{'.' * open_beginning}{name}{'.' * open_end}", open_beginning, open_end, port)


def read_site(text: str) -> HostFilter | None:
    """Return the value of a `site:` filter, or None if it is not valid. The filter includes all hosts below this host.

    >>> read_site("https://Example.org:8443/")
    HostFilter(name='example.org', before=False, after=False, port=8443)
    """
    host_filter = read_host(_without_scheme(text).strip("."))
    return host_filter and host_filter._replace(name=host_filter.name.strip("."), before=False, after=False)


def read_target(text: str) -> LinkFilter | None:
    """Return the value of a `url:` or `links-to:` filter, a host or a URL, or None if the text is neither.

    >>> read_target("example.org"), read_target("https://example.org/a%7eb")
    (LinkFilter(host='example.org', url=None, port=None), LinkFilter(host=None, url='example.org/a~b', port=None))
    """
    address = _SCHEME.sub("", text).partition("#")[0]
    if "/" in address or "?" in address:
        scheme = "http" if text[:5].lower() == "http:" or _PORT_OF_HTTP.match(address) else "https"
        url = normalise(f"{scheme}://{address}").url
        return LinkFilter(None, url.partition("://")[2]) if url else None
    host_filter = read_site(address)
    return None if host_filter is None else LinkFilter(host_filter.name, None, host_filter.port)


def _without_scheme(text: str) -> str:
    return _SCHEME.sub("", text).rstrip("/")


def _normal_host(text: str) -> str | None:
    """Return a host name, or a part of one, in lower case and punycode, or None if it is not valid."""
    if _IPV4_PART.fullmatch(text):  # `normalise` would complete a part of an IPv4 address
        return text
    if not text.isascii() or "%" in text or text.startswith("["):
        text = normalise(f"http://{text}/").url.partition("://")[2].rstrip("/") if "/" not in text else ""
    name = text.lower()
    is_valid = 0 < len(name) <= _MAX_HOST_LENGTH and not re.search(r"[^a-z0-9._:\[\]-]", name)
    return name if is_valid else None


def _read_text(text: str) -> str | None:
    return text if words(text) else None


def _read_address_part(text: str) -> str | None:
    return _read_text(unquote(text) if "%" in text else text)


def _read_language(text: str) -> str | None:
    tag = text.lower().replace("_", "-")
    return tag if _LANGUAGE.fullmatch(tag) else None


def _read_media_type(text: str) -> str | None:
    return text.lower() if _MEDIA_TYPE.fullmatch(text.lower()) else None


def _read_source(text: str) -> str | None:
    return text if _SOURCE_NAME.fullmatch(text) else None


def _read_is(text: str) -> str | None:
    return text.lower() if text.lower() in IS_VALUES else None


KEYS: Mapping[str, Callable[[str], Value | None]] = MappingProxyType(
    {
        "site": read_site,
        "host": read_host,
        "url": read_target,
        "inurl": _read_address_part,
        "title": _read_text,
        "headline": _read_text,
        "lang": _read_language,
        "type": _read_media_type,
        "before": read_time_span,
        "after": read_time_span,
        "updated-before": read_time_span,
        "updated-after": read_time_span,
        "seen": read_time_span,
        "as-of": read_time_span,
        "links-to": read_target,
        "link-text": _read_text,
        "code": _read_text,
        "quote": _read_text,
        "is": _read_is,
        "source": _read_source,
    }
)
"""A dict from the key of each filter to the function that reads its value, or returns None if it is not valid."""

TEXT_KEYS = frozenset({"inurl", "title", "headline", "link-text", "code", "quote"})
"""Keys of filters whose values are words next to each other."""

FILTER_ABBREVIATIONS: Mapping[str, str] = MappingProxyType({"!": "is"})
"""A dict from a character to the key of the filter that it abbreviates: `!leaf` is `is:leaf`."""


Leaf = TypeVar("Leaf")


@dataclass(frozen=True, slots=True)
class Word:
    """A word as typed. If `prefix` is true, it means all words that begin with it (`harv*`)."""

    text: str
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that must be next to each other, in this order."""

    text: str


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on one property of a page or record; `typed` is `key:value`, without the value's quotes.

    For the keys `TEXT_KEYS`, the value is words next to each other; a star at its end makes the last word a prefix.
    """

    key: str
    value: Value
    typed: str


@dataclass(frozen=True, slots=True)
class Not(Generic[Leaf]):
    """The condition that `part` does not match."""

    part: Tree[Leaf]


@dataclass(frozen=True, slots=True)
class And(Generic[Leaf]):
    """The condition that all parts match."""

    parts: tuple[Tree[Leaf], ...]


@dataclass(frozen=True, slots=True)
class Or(Generic[Leaf]):
    """The condition that at least `least` parts match."""

    parts: tuple[Tree[Leaf], ...]
    least: int = 1


Tree: TypeAlias = Leaf | Not[Leaf] | And[Leaf] | Or[Leaf]
"""Leaves joined by Not, And and Or; a leaf is a part of a query, or a condition of a clause (`query.clause`)."""

Node: TypeAlias = Tree[Word | Phrase | Filter]


def join_parts(kind: type[And[Leaf] | Or[Leaf]], parts: list[Tree[Leaf]]) -> Tree[Leaf] | None:
    """Join parts with And or Or; return a single part unchanged, and None if there are no parts.

    A part of the same kind is replaced with its own parts.

    >>> join_parts(And, [Word("a")])
    Word(text='a', prefix=False)
    """
    flat_parts: list[Tree[Leaf]] = []
    for part in parts:
        flat_parts += part.parts if isinstance(part, kind) else [part]
    if len(flat_parts) > 1:
        return kind(tuple(flat_parts))
    return flat_parts[0] if flat_parts else None


def split_star(text: str) -> tuple[str, bool]:
    """Return a text without the stars at its end, and whether they make its last word a prefix.

    If the last character before the stars is neither a letter nor a digit, the text is returned unchanged.

    >>> split_star("harv*"), split_star("c++*"), split_star("**")
    (('harv', True), ('c++*', False), ('**', False))
    """
    starless = text.rstrip("*")
    return (starless, True) if starless != text and words(starless[-1:]) else (text, False)


def searched_text(leaf: Word | Phrase | Filter) -> tuple[str, bool]:
    """Return the text that a leaf searches for, and whether its last word is a prefix."""
    if isinstance(leaf, Filter):
        return split_star(str(leaf.value))
    return leaf.text, isinstance(leaf, Word) and leaf.prefix


def searched_terms(node: Node | None) -> Iterator[Word | Phrase]:
    """Yield the words and phrases of a query that are not excluded, in the order typed.

    >>> from windrow.query import parse
    >>> [term.text for term in searched_terms(parse('red "green tea" -"black tea" site:example.org').root)]
    ['red', 'green tea']
    """
    if isinstance(node, Word | Phrase):
        yield node
    elif isinstance(node, And | Or):
        for part in node.parts:
            yield from searched_terms(part)


def filters(node: Node | None) -> Iterator[Filter]:
    """Yield all filters in the tree of a query, including excluded ones. The tree never has a filter `as-of:`."""
    if isinstance(node, Filter):
        yield node
    elif isinstance(node, Not):
        yield from filters(node.part)
    elif isinstance(node, And | Or):
        for part in node.parts:
            yield from filters(part)
