"""The scope of a site: its origins, hosts and paths; and which query parameters are kept."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote_plus

from windrow.collections.pages.code import Locality
from windrow.errors import ConfigError
from windrow.fetch.politeness.guard import host_matches, host_pattern
from windrow.formats.robots import Pattern, read_pattern, spell_canonically
from windrow.formats.url import Parts, normalise, parts

_SCHEMES = ("http", "https")


@dataclass(frozen=True, slots=True)
class Scope:
    """One site. `origins` are the origins of its seeds; `hosts` are further names, on their schemes' usual ports."""

    seeds: tuple[str, ...]
    origins: frozenset[str]
    hosts: tuple[str, ...] = ()
    paths: tuple[Pattern, ...] = ()

    def holds(self, address: Parts) -> bool:
        """Tell whether an address belongs to the site."""
        if not self.owns(address):
            return False
        if not self.paths:
            return True
        path_and_query = spell_path(address)
        return any(path.matches(path_and_query) for path in self.paths)

    def owns(self, address: Parts) -> bool:
        """Tell whether an address is on one of the site's hosts, whatever its path."""
        return address.origin in self.origins or (address.port is None and self._is_named(address.host))

    @property
    def is_single_host(self) -> bool:
        """Tell whether the site is one whole host, so that its own links are recognised by their addresses alone."""
        authorities = {origin.partition("://")[2] for origin in self.origins}
        return len(authorities) == 1 and not self.hosts and not self.paths

    def _is_named(self, host: str) -> bool:
        return any(host_matches(name, host) for name in self.hosts)


def scope(seeds: Iterable[str], hosts: Iterable[str] = (), paths: Iterable[str] = ()) -> Scope:
    """Make the scope of a site from its seeds (whole addresses), hosts (`example.org`, `.example.org`) and paths.

    A seed on the usual port stands for both http and https, and for its name with and without `www.`. Paths are
    patterns as in robots.txt; the seeds must match one of them. Raises ConfigError for anything malformed.

    >>> site = scope(["https://example.org/blog/"], hosts=[".example.net"], paths=["/blog/"])
    >>> site.holds(parts("http://www.example.net/blog/1")), site.holds(parts("https://example.org/shop"))
    (True, False)
    """
    urls = []
    for seed in seeds:
        url = normalise(seed).url
        if not url:
            raise ConfigError(f"seeds: {seed[:200]!r} is not an address of the web")
        urls.append(url)
    if not urls:
        raise ConfigError("seeds: needs at least one address")
    origins = frozenset(origin for url in urls for origin in _origins(parts(url)))
    site = Scope(
        tuple(dict.fromkeys(urls)),
        origins,
        tuple(host_pattern(host, "hosts") for host in hosts),
        tuple(path_pattern(path, "paths") for path in paths),
    )
    for url in site.seeds:
        if not site.holds(parts(url)):
            raise ConfigError(f"seeds: {url} matches none of the paths")
    return site


def _origins(address: Parts) -> tuple[str, ...]:
    if address.port is not None:
        return (address.origin,)
    return tuple(
        f"{scheme}://{host}" for host in (address.host, *_alternative_names(address.host)) for scheme in _SCHEMES
    )


def _alternative_names(host: str) -> tuple[str, ...]:
    """Return the other name under which most sites answer: with `www.`, or without it.

    >>> [_alternative_names(host) for host in ("example.org", "www.example.org", "127.0.0.1", "www.org")]
    [('www.example.org',), ('example.org',), (), ()]
    """
    if "." not in host or host.startswith("[") or host.replace(".", "").isdecimal():
        return ()
    if host.startswith("www."):
        apex = host.removeprefix("www.")
        return (apex,) if "." in apex else ()
    return (f"www.{host}",)


def path_pattern(text: str, setting: str) -> Pattern:
    """Parse the pattern of a path; raise ConfigError if it is malformed."""
    if not text.startswith(("/", "*")):
        raise ConfigError(f"{setting}: {text[:200]!r} is not a path: it starts with / or *")
    return read_pattern(text)


def spell_path(address: Parts) -> str:
    """Return the path and query of an address in the spelling that patterns match."""
    query = f"?{address.query}" if address.query is not None else ""
    return spell_canonically(address.path + query, is_literal=True)


def locality(page: Parts, link: Parts, site: Scope | None = None) -> Locality:
    """Tell whether a link leads to the page itself, within the site, or out of it.

    Without `site` a link is IN if host and port agree; http and https count as one scheme, and their usual ports as
    one port. With a `site` that the page belongs to, a link is IN if it belongs to the site too, whatever its host.

    >>> page, link = parts("http://example.org/a"), parts("https://example.org/b")
    >>> locality(page, link), locality(page, parts("http://example.net/a")), locality(page, page)
    (<Locality.IN: 1>, <Locality.OUT: 2>, <Locality.SELF: 0>)
    """
    same_origin = (page.host, page.port) == (link.host, link.port)
    if same_origin and (page.path, page.query) == (link.path, link.query):
        return Locality.SELF
    if site is not None and site.holds(page):
        return Locality.IN if site.holds(link) else Locality.OUT
    return Locality.IN if same_origin else Locality.OUT


_SESSION_NAMES = "jsessionid phpsessid sessionid session_id sessid cfid cftoken zenid oscsid osadmincsid"
_TRACKING_NAMES = (
    "fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid mc_cid mc_eid igshid _ga _gl _hsenc _hsmi mkt_tok"
)
_SESSIONS = frozenset(_SESSION_NAMES.split())  # always session ids
_MAYBE_SESSIONS = frozenset({"sid", "s", "session", "token"})  # sessions only where the value looks like one
_TOKEN = re.compile(r"[0-9a-f]{32,}|(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z])[A-Za-z0-9_-]{24,}")
_ASP = re.compile(r"aspsessionid[a-z]{6,10}")
_TRACKING = frozenset(_TRACKING_NAMES.split())
_SESSION_IN_PATH = re.compile(
    r";(?:jsessionid|phpsessid|sessionid|sid)=[^;/?#]*|/\([AFSX]\([A-Za-z0-9_-]{20,}\)\)", re.IGNORECASE
)
_PARAMETER_NAME = re.compile(r"[^\s&=*?#/]+\*?|\*")


@dataclass(frozen=True, slots=True)
class AllowedParameters:
    """One rule of `url_query_parameters`: the parameters allowed together on addresses that match a pattern.

    `text` is the rule as written; `beginnings` are the names written with a final `*`.
    """

    text: str
    pattern: Pattern
    names: frozenset[str]
    beginnings: tuple[str, ...]

    def allows(self, names: Iterable[str]) -> bool:
        """Tell whether all these parameters are allowed."""
        return all(name in self.names or name.startswith(self.beginnings) for name in names)


def read_parameter_rule(text: str) -> AllowedParameters:
    """Parse a rule of `url_query_parameters`: names, preceded by a path's pattern if it holds for some paths only.

    >>> read_parameter_rule("/search q page").allows(["q"]), read_parameter_rule("id").allows(["id", "x"])
    (True, False)
    """
    first_word, *rest = text.split() or [""]
    names, path = (rest, first_word) if first_word.startswith("/") else ([first_word, *rest], "/")
    if not names or not all(_PARAMETER_NAME.fullmatch(name) for name in names):
        raise ConfigError(f"url_query_parameters: {text[:200]!r} is not a rule: [/path] name name ...")
    path_of_rule = path_pattern(path, "url_query_parameters")
    exact = frozenset(name for name in names if not name.endswith("*"))
    return AllowedParameters(text, path_of_rule, exact, tuple(name[:-1] for name in names if name.endswith("*")))


def parameter_names(query: str | None) -> list[str]:
    """Return the names of a query's parameters, decoded, in order.

    >>> parameter_names("a=1&b&%63+=&&a=2"), parameter_names(None)
    (['a', 'b', 'c ', 'a'], [])
    """
    return [unquote_plus(parameter.partition("=")[0]) for parameter in (query or "").split("&") if parameter]


def clean_address(url: str) -> str:
    """Drop session ids and tracking parameters from a normal address; the others keep their order.

    >>> clean_address("https://h/a;jsessionid=1F?utm_source=x&id=2&PHPSESSID=3")
    'https://h/a?id=2'
    """
    address, question_mark, query = url.partition("?")
    if ";" in address or "/(" in address:
        address = _SESSION_IN_PATH.sub("", address)
        if address.count("/") < 3:  # the whole path was a session id
            address += "/"
    if not question_mark:
        return address
    kept_parameters = [parameter for parameter in query.split("&") if not _is_meaningless(parameter)]
    return f"{address}?{'&'.join(kept_parameters)}" if any(kept_parameters) else address


def _is_meaningless(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    name = name.lower()
    if name in _SESSIONS or name in _TRACKING or name.startswith("utm_") or _ASP.fullmatch(name):
        return True
    return name in _MAYBE_SESSIONS and _TOKEN.fullmatch(value) is not None
