"""The scope of a site: its origins, hosts and paths, and the query parameters that are allowed or removed."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from urllib.parse import unquote_plus

from windrow.collections.pages.code import Locality
from windrow.errors import ConfigError
from windrow.fetch.politeness.guard import host_matches, host_pattern
from windrow.formats.robots import Pattern, parse_path_pattern, spell_path
from windrow.formats.url import Parts, describe_bad_address, is_of_tracking, normalise, parts

_SCHEMES = ("http", "https")


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of one site. `seeds` are normalised addresses; `origins` are all origins that the seeds include.

    `hosts` are further hosts, each a pattern (`example.net`, `.example.net` or `*`) and a port (None for the usual
    ports). If `paths` is empty, all paths belong to the site.
    """

    seeds: tuple[str, ...]
    origins: frozenset[str]
    hosts: tuple[tuple[str, int | None], ...] = ()
    paths: tuple[Pattern, ...] = ()

    def contains(self, address: Parts) -> bool:
        """Return whether an address belongs to the site."""
        if not self.owns(address):
            return False
        if not self.paths:
            return True
        path_and_query = spell_path(address)
        return any(path.matches(path_and_query) for path in self.paths)

    def owns(self, address: Parts) -> bool:
        """Return whether the origin of an address belongs to the site; the path of the address is ignored."""
        return address.origin in self.origins or self._matches_hosts(address)

    @property
    def is_single_host(self) -> bool:
        """Whether all origins of the site have the same host name and port, and `hosts` and `paths` are empty."""
        authorities = {origin.partition("://")[2] for origin in self.origins}
        return len(authorities) == 1 and not self.hosts and not self.paths

    def _matches_hosts(self, address: Parts) -> bool:
        return any(port == address.port and host_matches(pattern, address.host) for pattern, port in self.hosts)


def parse_host(text: str) -> tuple[str, int | None]:
    """Return the pattern and the port of an entry in `hosts`. The port is None if it is missing, 80 or 443.

    Raises ConfigError if the entry is malformed.

    >>> parse_host("example.org:8080"), parse_host(".example.org"), parse_host("example.org:443")
    (('example.org', 8080), ('.example.org', None), ('example.org', None))
    """
    host, port = with_port.groups() if (with_port := _HOST_WITH_PORT.fullmatch(text)) else (text, None)
    number = int(port) if port else None
    if number is not None and not 0 < number < 1 << 16:
        raise ConfigError(f"hosts: {text[:200]!r} has a port that is not between 1 and 65535")
    return host_pattern(host, "hosts"), None if number in {80, 443} else number


_HOST_WITH_PORT = re.compile(r"([^:\[\]]*|\[[^\[\]]*\]):([0-9]{1,5})")


def make_scope(seeds: Iterable[str], hosts: Iterable[str] = (), paths: Iterable[str] = ()) -> Scope:
    """Make the scope of a site from its seeds (whole addresses), hosts (`example.org`, `.example.org:8080`) and paths.

    A seed on the usual port includes http and https, and its host name with and without `www.` (but see
    `_list_alternative_names`). Paths are patterns as in robots.txt. Raises ConfigError if a value is malformed, if
    there are no seeds, or if a seed matches none of the paths.

    >>> site = make_scope(["https://example.org/blog/"], hosts=[".example.net"], paths=["/blog/"])
    >>> site.contains(parts("http://www.example.net/blog/1")), site.contains(parts("https://example.org/shop"))
    (True, False)
    """
    urls = []
    for seed in seeds:
        url = normalise(seed).url
        if not url:
            raise ConfigError(f"seeds: {describe_bad_address(seed)}")
        urls.append(url)
    if not urls:
        raise ConfigError("seeds: at least one address is required")
    origins = frozenset(origin for url in urls for origin in _list_origins(parts(url)))
    site = Scope(
        tuple(dict.fromkeys(urls)),
        origins,
        tuple(map(parse_host, hosts)),
        tuple(parse_path_pattern(path, "paths") for path in paths),
    )
    for url in site.seeds:
        if not site.contains(parts(url)):
            raise ConfigError(f"seeds: {url} matches none of the paths")
    return site


def _list_origins(address: Parts) -> tuple[str, ...]:
    """Return the origins that a seed includes: several if it has the usual port, otherwise only its own."""
    if address.port is not None:
        return (address.origin,)
    return tuple(
        f"{scheme}://{host_name}"
        for host_name in (address.host, *_list_alternative_names(address.host))
        for scheme in _SCHEMES
    )


def _list_alternative_names(host_name: str) -> tuple[str, ...]:
    """Return the host name with `www.` added or removed, since most sites answer under both names.

    The tuple is empty for an IP address, for a name without a dot, and for `www.` before such a name.

    >>> [_list_alternative_names(name) for name in ("example.org", "www.example.org", "127.0.0.1", "www.org")]
    [('www.example.org',), ('example.org',), (), ()]
    """
    if "." not in host_name or host_name.startswith("[") or host_name.replace(".", "").isdecimal():
        return ()
    if host_name.startswith("www."):
        apex = host_name.removeprefix("www.")
        return (apex,) if "." in apex else ()
    return (f"www.{host_name}",)


def find_locality(page: Parts, link: Parts, site: Scope | None = None) -> Locality:
    """Return whether a link leads to the page itself, within the site, or out of it. `link` is the link's target.

    If the page belongs to `site`, a link is IN if it belongs to the site too, whatever its host. Otherwise, or without
    `site`, a link is IN if it has the page's host and port; http and https count as one scheme, and their usual ports
    as one port.

    >>> page, link = parts("http://example.org/a"), parts("https://example.org/b")
    >>> find_locality(page, link), find_locality(page, parts("http://example.net/a")), find_locality(page, page)
    (<Locality.IN: 1>, <Locality.OUT: 2>, <Locality.SELF: 0>)
    """
    is_same_host = (page.host, page.port) == (link.host, link.port)
    if is_same_host and (page.path, page.query) == (link.path, link.query):
        return Locality.SELF
    if site is not None and site.contains(page):
        return Locality.IN if site.contains(link) else Locality.OUT
    return Locality.IN if is_same_host else Locality.OUT


_SESSION_NAMES = "jsessionid phpsessid cfid cftoken zenid oscsid osadmincsid"
_SESSION_PARAMETERS = frozenset(_SESSION_NAMES.split())  # always session ids
_POSSIBLE_SESSION_PARAMETERS = frozenset(
    {"sid", "s", "session", "sessionid", "session_id", "sessid", "token"}
)  # session ids only if the value looks like one: a parliament has sessions with numbers
_SESSION_VALUE = re.compile(r"[0-9a-f]{32,}|(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z])[A-Za-z0-9_-]{24,}")
_ASP_SESSION_NAME = re.compile(r"aspsessionid[a-z]{6,10}")
_SESSION_IN_PATH = re.compile(
    r";(?:jsessionid|phpsessid|sessionid|sid)=[^;/?#]*|/\([AFSX]\([A-Za-z0-9_-]{20,}\)\)", re.IGNORECASE
)
_PARAMETER_NAME = re.compile(r"[^\s&=*?#/]+\*?|\*")


@dataclass(frozen=True, slots=True)
class AllowedParameters:
    """A rule of `url_query_parameters`: parameters that are allowed together on addresses that match a pattern.

    `text` is the rule as written. `prefixes` are the names that end in `*` in the rule, without the `*`.
    """

    text: str
    pattern: Pattern
    names: frozenset[str]
    prefixes: tuple[str, ...]

    def allows(self, names: Iterable[str]) -> bool:
        """Return whether the rule allows parameters with all of these names."""
        return all(name in self.names or name.startswith(self.prefixes) for name in names)


def parse_parameter_rule(text: str) -> AllowedParameters:
    """Parse a rule of `url_query_parameters`: names of parameters, optionally after the pattern of a path.

    Raises ConfigError if the rule is malformed.

    >>> parse_parameter_rule("/search q page").allows(["q"]), parse_parameter_rule("id").allows(["id", "x"])
    (True, False)
    """
    first_word, *other_words = text.split() or [""]
    has_path = first_word.startswith("/")
    names, path = (other_words, first_word) if has_path else ([first_word, *other_words], "/")
    if not names or not all(_PARAMETER_NAME.fullmatch(name) for name in names):
        raise ConfigError(f"url_query_parameters: {text[:200]!r} is not a rule; a rule is: [/path] name name ...")
    exact_names = frozenset(name for name in names if not name.endswith("*"))
    prefixes = tuple(name[:-1] for name in names if name.endswith("*"))
    return AllowedParameters(text, parse_path_pattern(path, "url_query_parameters"), exact_names, prefixes)


def list_parameter_names(query: str | None) -> list[str]:
    """Return the decoded names of a query's parameters in their order; `query` is None if the address has none.

    >>> list_parameter_names("a=1&b&%63+=&&a=2"), list_parameter_names(None)
    (['a', 'b', 'c ', 'a'], [])
    """
    return [unquote_plus(parameter.partition("=")[0]) for parameter in (query or "").split("&") if parameter]


def clean_address(url: str, kept_names: Container[str] = ()) -> str:
    """Remove session ids and tracking parameters from a normalised address; other parameters keep their order.

    Parameters whose names are in `kept_names` are kept.

    >>> clean_address("https://h/a;jsessionid=1F?utm_source=x&id=2&PHPSESSID=3")
    'https://h/a?id=2'
    >>> clean_address("https://h/a?utm_source=x&id=2&cfid=3", {"cfid"})
    'https://h/a?id=2&cfid=3'
    """
    address, question_mark, query = url.partition("?")
    if ";" in address or "/(" in address:
        address = _SESSION_IN_PATH.sub("", address)
        if address.count("/") < 3:  # the whole path was a session id
            address += "/"
    if not question_mark:
        return address
    kept_parameters = [
        parameter
        for parameter in query.split("&")
        if not (_is_of_session(parameter) or is_of_tracking(parameter))
        or unquote_plus(parameter.partition("=")[0]) in kept_names
    ]
    return f"{address}?{'&'.join(kept_parameters)}" if any(kept_parameters) else address


def list_session_ids(url: str) -> list[str]:
    """Return the parameters of a normalised address that look like session ids, in their order.

    >>> list_session_ids("https://h/a?id=2&token=0123456789abcdef0123456789abcdef&PHPSESSID=3")
    ['token=0123456789abcdef0123456789abcdef', 'PHPSESSID=3']
    """
    return [parameter for parameter in url.partition("?")[2].split("&") if _is_of_session(parameter)]


def _is_of_session(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    name = name.lower()
    if name in _POSSIBLE_SESSION_PARAMETERS:
        return _SESSION_VALUE.fullmatch(value) is not None
    return name in _SESSION_PARAMETERS or _ASP_SESSION_NAME.fullmatch(name) is not None
