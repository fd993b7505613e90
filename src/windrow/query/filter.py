"""The filters: their keys, and what their values mean. A value that makes no sense makes no filter."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

from windrow.formats.url import normalise
from windrow.query.date import TimeSpan, span
from windrow.query.word import words

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
    """A host name in punycode; `before` and `after` say whether more may stand there, `port` which one was named."""

    name: str
    before: bool = False
    after: bool = False
    port: int | None = None


class LinkFilter(NamedTuple):
    """What a link or URL filter names: a host with all below it, or one URL without its scheme."""

    host: str | None
    url: str | None
    port: int | None = None


class Past(NamedTuple):
    """What a filter by links names, of pages as they were at a time in UNIX seconds, or (None) at any time."""

    sought: str | LinkFilter
    at: int | None


Value: TypeAlias = str | TimeSpan | HostFilter | LinkFilter | Past


def host(text: str) -> HostFilter | None:
    """Read a host name: a leading dot means that it ends so, a trailing one that it begins so.

    >>> host("Bücher.example")
    HostFilter(name='xn--bcher-kva.example', before=False, after=False, port=None)
    >>> host(".org")
    HostFilter(name='.org', before=True, after=False, port=None)
    """
    text = _authority(text)
    found = _PORT.search(text)
    port = int(found[1]) if found else None
    text = text[: found.start()] if found else text
    name = _name(text.strip("."))
    if name is None or (port is not None and not 0 < port < 1 << 16):
        return None
    before, after = text.startswith("."), text.endswith(".")
    return HostFilter(f"{'.' * before}{name}{'.' * after}", before, after, port)


def site(text: str) -> HostFilter | None:
    """Read a host name that stands for all hosts below it too, with its port where one is named.

    >>> site("https://Example.org:8443/")
    HostFilter(name='example.org', before=False, after=False, port=8443)
    """
    found = host(_authority(text).strip("."))
    return None if found is None else found._replace(name=found.name.strip("."), before=False, after=False)


def target(text: str) -> LinkFilter | None:
    """Read a host, or a URL with or without its scheme, in the one spelling that addresses are kept in.

    >>> target("example.org"), target("https://example.org/a%7eb")
    (LinkFilter(host='example.org', url=None, port=None), LinkFilter(host=None, url='example.org/a~b', port=None))
    """
    bare = _SCHEME.sub("", text).partition("#")[0]
    if "/" in bare or "?" in bare:
        scheme = "http" if text[:5].lower() == "http:" or _PORT_OF_HTTP.match(bare) else "https"
        url = normalise(f"{scheme}://{bare}").url
        return LinkFilter(None, url.partition("://")[2]) if url else None
    found = site(bare)
    return None if found is None else LinkFilter(found.name, None, found.port)


def _authority(text: str) -> str:
    """Return a host as it was typed, without the scheme before it and the slash behind it."""
    return _SCHEME.sub("", text).rstrip("/")


def _name(text: str) -> str | None:
    """Return a host name in the spelling of addresses; it may be the beginning or the end of one."""
    if _NUMERIC.fullmatch(text):  # what is no whole IPv4 address would be read as one
        return text
    if not text.isascii() or "%" in text or text.startswith("["):
        text = normalise(f"http://{text}/").url.partition("://")[2].rstrip("/") if "/" not in text else ""
    name = text.lower()
    fits = 0 < len(name) <= _LONGEST_HOST and not re.search(r"[^a-z0-9._:\[\]-]", name)
    return name if fits else None


def _text(text: str) -> str | None:
    return text if words(text) else None


def _of_address(text: str) -> str | None:
    """Read a piece of an address; letters that are escaped there mean themselves."""
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
"""Every key, with the function that reads its value or returns None."""

TEXTUAL = frozenset({"inurl", "title", "headline", "link-text", "code", "quote"})
"""Keys whose values are words that follow each other."""

BANGS: Mapping[str, str] = MappingProxyType({"!": "is"})
"""Characters that stand for a key: `!leaf` is `is:leaf`."""
