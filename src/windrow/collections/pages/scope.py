"""What belongs to a site: origins, hosts and paths named; and which query parameters count."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote_plus

from windrow.collections.pages.code import Locality
from windrow.errors import ConfigError
from windrow.fetch.politeness.guard import host_fits, host_pattern
from windrow.formats.robots import Pattern, canonical, pattern
from windrow.formats.url import Parts, normalise, parts

_SCHEMES = ("http", "https")


@dataclass(frozen=True, slots=True)
class Scope:
    """One site. `origins` are its seeds' own; `hosts` are further names, on the ports of their scheme."""

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
        where = target(address)
        return any(path.matches(where) for path in self.paths)

    def owns(self, address: Parts) -> bool:
        """Tell whether an address lies on one of the site's hosts, whatever its path."""
        return address.origin in self.origins or (address.port is None and self._named(address.host))

    @property
    def alone(self) -> bool:
        """Tell whether it is one host as a whole, which every page of it knows without being told."""
        places = {origin.partition("://")[2] for origin in self.origins}
        return len(places) == 1 and not self.hosts and not self.paths

    def _named(self, host: str) -> bool:
        """Tell whether a host is one of those named beside the seeds."""
        return any(host_fits(one, host) for one in self.hosts)


def scope(seeds: Iterable[str], hosts: Iterable[str] = (), paths: Iterable[str] = ()) -> Scope:
    """Make a site of its seeds (whole addresses), hosts (`example.org`, `.example.org`) and paths.

    A seed on the usual port stands for both http and https, and for its name with and without `www.`. Paths are
    patterns as robots.txt writes them; the seeds must fit them. What is not well written raises ConfigError.

    >>> site = scope(["https://example.org/blog/"], hosts=[".example.net"], paths=["/blog/"])
    >>> site.holds(parts("http://www.example.net/blog/1")), site.holds(parts("https://example.org/shop"))
    (True, False)
    """
    found = []
    for seed in seeds:
        url = normalise(seed).url
        if not url:
            raise ConfigError(f"seeds: {seed[:200]!r} is not an address of the web")
        found.append(url)
    if not found:
        raise ConfigError("seeds: wanted at least one address")
    origins = frozenset(origin for url in found for origin in _origins(parts(url)))
    made = Scope(
        tuple(dict.fromkeys(found)),
        origins,
        tuple(host_pattern(host, "hosts") for host in hosts),
        tuple(path_pattern(path, "paths") for path in paths),
    )
    for url in made.seeds:
        if not made.holds(parts(url)):
            raise ConfigError(f"seeds: {url} fits none of the paths")
    return made


def _origins(address: Parts) -> tuple[str, ...]:
    """Return the origins that an address stands for."""
    if address.port is not None:
        return (address.origin,)
    return tuple(f"{scheme}://{host}" for host in (address.host, *_other_name(address.host)) for scheme in _SCHEMES)


def _other_name(host: str) -> tuple[str, ...]:
    """Return the name under which most sites answer too: with `www.`, or without it.

    >>> _other_name("example.org"), _other_name("www.example.org"), _other_name("127.0.0.1"), _other_name("www.org")
    (('www.example.org',), ('example.org',), (), ())
    """
    if "." not in host or host.startswith("[") or host.replace(".", "").isdecimal():
        return ()
    if host.startswith("www."):
        apex = host.removeprefix("www.")
        return (apex,) if "." in apex else ()
    return (f"www.{host}",)


def path_pattern(text: str, setting: str) -> Pattern:
    """Read a path's pattern, or raise ConfigError."""
    if not text.startswith(("/", "*")):
        raise ConfigError(f"{setting}: {text[:200]!r} is not a path: it starts with / or *")
    return pattern(text)


def target(address: Parts) -> str:
    """Return path and query of an address as patterns are matched with."""
    query = f"?{address.query}" if address.query is not None else ""
    return canonical(address.path + query, literal=True)


def locality(page: Parts, link: Parts, site: Scope | None = None) -> Locality:
    """Tell how far a link of a page reaches.

    Hosts, ports and schemes must agree, where http and https count as one scheme and their usual
    ports as one port; then another path or query is another document. A configured site is drawn
    wider or narrower: within it a link is IN whatever its host, outside of it OUT.

    >>> one, other = parts("http://example.org/a"), parts("https://example.org/b")
    >>> locality(one, other), locality(one, parts("http://example.net/a")), locality(one, one)
    (<Locality.IN: 1>, <Locality.OUT: 2>, <Locality.SELF: 0>)
    """
    same = (page.host, page.port) == (link.host, link.port)
    if same and (page.path, page.query) == (link.path, link.query):
        return Locality.SELF
    if site is not None and site.holds(page):
        return Locality.IN if site.holds(link) else Locality.OUT
    return Locality.IN if same else Locality.OUT


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
