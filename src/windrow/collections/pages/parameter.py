"""Query parameters: which are dropped from every address, and which a site's rules allow."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote_plus

from windrow.collections.pages.scope import path_pattern
from windrow.errors import ConfigError
from windrow.formats.pattern import Pattern

_SESSION_NAMES = "jsessionid phpsessid sessionid session_id sessid cfid cftoken zenid oscsid osadmincsid"
_TRACKING_NAMES = (
    "fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid mc_cid mc_eid igshid _ga _gl _hsenc _hsmi mkt_tok"
)
_SESSIONS = frozenset(_SESSION_NAMES.split())  # these mean nothing else
_MAYBE = frozenset({"sid", "s", "session", "token"})  # sessions only where the value looks like one
_TOKEN = re.compile(r"[0-9a-f]{32,}|(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z])[A-Za-z0-9_-]{24,}")
_ASP = re.compile(r"aspsessionid[a-z]{6,10}")
_TRACKING = frozenset(_TRACKING_NAMES.split())
_PATH = re.compile(r";(?:jsessionid|phpsessid|sessionid|sid)=[^;/?#]*|/\([AFSX]\([A-Za-z0-9_-]{20,}\)\)", re.IGNORECASE)
_NAME = re.compile(r"[^\s&=*?#/]+\*?|\*")


@dataclass(frozen=True, slots=True)
class AllowedParameters:
    """One rule: the parameters that may stand together on addresses of a pattern; `text` as written."""

    text: str
    pattern: Pattern
    names: frozenset[str]
    beginnings: tuple[str, ...]

    def allows(self, names: Iterable[str]) -> bool:
        """Tell whether all these parameters may stand."""
        return all(name in self.names or name.startswith(self.beginnings) for name in names)


def rule(text: str) -> AllowedParameters:
    """Read a rule of `url_query_parameters`: names, and before them a path's pattern if it is for some only.

    >>> rule("/search q page").allows(["q"]), rule("id").allows(["id", "x"]), rule("/w/ *").allows(["any"])
    (True, False, True)
    """
    first, *others = text.split() or [""]
    names, path = (others, first) if first.startswith("/") else ([first, *others], "/")
    if not names or not all(_NAME.fullmatch(name) for name in names):
        raise ConfigError(f"url_query_parameters: {text[:200]!r} is not a rule: [/path] name name ...")
    where = path_pattern(path, "url_query_parameters")
    plain = frozenset(name for name in names if not name.endswith("*"))
    return AllowedParameters(text, where, plain, tuple(name[:-1] for name in names if name.endswith("*")))


def names(query: str | None) -> list[str]:
    """Return the names of a query's parameters, decoded, in their order.

    >>> names("a=1&b&%63+=&&a=2"), names(None)
    (['a', 'b', 'c ', 'a'], [])
    """
    return [unquote_plus(one.partition("=")[0]) for one in (query or "").split("&") if one]


def clean(url: str) -> str:
    """Drop session ids and the marks of advertisers from a normal address; the rest keeps its order.

    >>> clean("https://h/a;jsessionid=1F?utm_source=x&id=2&PHPSESSID=3")
    'https://h/a?id=2'
    """
    address, mark, query = url.partition("?")
    if ";" in address or "/(" in address:
        address = _PATH.sub("", address)
        if address.count("/") < 3:  # all of the path was one
            address += "/"
    if not mark:
        return address
    kept = [one for one in query.split("&") if not _dropped(one)]
    return f"{address}?{'&'.join(kept)}" if any(kept) else address


def _dropped(parameter: str) -> bool:
    """Tell whether a parameter says nothing of the page."""
    name, _, value = parameter.partition("=")
    name = name.lower()
    if name in _SESSIONS or name in _TRACKING or name.startswith("utm_") or _ASP.fullmatch(name):
        return True
    return name in _MAYBE and _TOKEN.fullmatch(value) is not None
