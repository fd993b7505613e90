"""The filters: their keys, and what their values mean. A value that makes no sense makes no filter."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from windrow.collections.pages.query.date import Span, span

_LONGEST_HOST = 253  # RFC 1035 section 2.3.4, without the last dot
_LANGUAGE = re.compile(r"[a-z]{2,8}(-[a-z0-9]{1,8})*", re.ASCII)
_KIND = re.compile(r"[a-z0-9][a-z0-9.+_-]*(/([a-z0-9][a-z0-9.+_-]*|\*))?", re.ASCII)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.ASCII | re.IGNORECASE)

IS = ("duplicate", "index", "leaf")
"""The values of `is:`."""


class Host(NamedTuple):
    """A host name in punycode; `before` and `after` say whether more may stand there."""

    name: str
    before: bool = False
    after: bool = False


class Target(NamedTuple):
    """What a link or URL filter names: a host with all below it, or one URL without its scheme."""

    host: str | None
    url: str | None


Value: TypeAlias = str | Span | Host | Target


def host(text: str) -> Host | None:
    """Read a host name: a leading dot means that it ends so, a trailing one that it begins so.

    >>> host("Bücher.example"), host(".org")
    (Host(name='xn--bcher-kva.example', before=False, after=False), Host(name='.org', before=True, after=False))
    """
    bare = text.strip(".").lower()
    try:
        name = bare.encode("idna").decode("ascii")
    except UnicodeError:
        return None
    if not name or len(name) > _LONGEST_HOST or re.search(r"[^a-z0-9._:\[\]-]", name):
        return None
    before, after = text.startswith("."), text.endswith(".")
    return Host(f"{'.' * before}{name}{'.' * after}", before, after)


def site(text: str) -> Host | None:
    """Read a host name that stands for all hosts below it too.

    >>> site("https://Example.org/")
    Host(name='example.org', before=False, after=False)
    """
    found = host(_SCHEME.sub("", text).rstrip("/").strip("."))
    return None if found is None else Host(found.name)


def target(text: str) -> Target | None:
    """Read a host, or a URL with or without its scheme.

    >>> target("example.org"), target("https://example.org/a")
    (Target(host='example.org', url=None), Target(host=None, url='example.org/a'))
    """
    bare = _SCHEME.sub("", text).partition("#")[0]
    if "/" in bare or "?" in bare:
        name, slash, rest = bare.partition("/")
        return Target(None, f"{name.lower()}{slash}{rest}")
    found = site(bare)
    return None if found is None else Target(found.name, None)


def _text(text: str) -> str | None:
    return text if any(letter.isalnum() for letter in text) else None


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
        "inurl": _text,
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

BANGS: Mapping[str, str] = MappingProxyType({"!": "is"})
"""Characters that stand for a key: `!leaf` is `is:leaf`."""
