"""Normalise web addresses, and resolve a hundred thousand links a second.

`ada-url` parses and resolves as browsers do. In addition, so that one page has one address:
credentials, an empty query and a dot at the end of a host name are removed; escapes are in upper case,
those of letters, digits, `-`, `.`, `_` and `~` are undone (RFC 3986, sections 6.2.2.1 and 6.2.2.2), a `%`
that does not begin an escape becomes `%25`, and characters that browsers leave though the RFC forbids them are
escaped: brackets, braces, backslash, caret, grave and bar. The order of a query's parameters and a slash
at the end of a path are kept: servers distinguish them. Queries are encoded as UTF-8, whatever the
encoding of the page.

A link is first looked up as it was written, since sites repeat their links on every page. A new link
of safe characters only is resolved by a regular expression and a concatenation. All others go through
`normalise`. All three ways give the same address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote_plus

import ada_url

from windrow.errors import StepError
from windrow.reasons import Reason

LONGEST = 2048
"""The most characters of an address, without its fragment."""

_READ = 4 * LONGEST  # longer links are refused unread
_SCHEME = re.compile(r"[\x00-\x20]*+(?!https?:)([a-z][a-z0-9+.-]*+):", re.IGNORECASE)
_HOST = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}|\[[0-9a-f:.]+\]")
_HALF = re.compile("[\ud800-\udfff]")  # lone surrogates, which UTF-8 cannot encode
_ESCAPE = re.compile(r"%(?:[0-9A-Fa-f]{2})?")
_CONTROL = re.compile(r"%(?:[01][0-9A-F]|7F)")
_LEFT = {ord(char): f"%{ord(char):02X}" for char in "\\^`{|}[]"}  # browsers leave them, RFC 3986 forbids them
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SPELT = {f"%{n:02X}": chr(n) if chr(n) in _UNRESERVED else f"%{n:02X}" for n in range(256)}


class Resolved(NamedTuple):
    """The target of a link: a normalised address without its fragment, or the reason why it was refused.

    `fragment` is None if it is missing or empty. A refused link has an empty `url`.
    """

    url: str
    fragment: str | None = None
    reason: Reason | None = None


def normalise(href: str, base: str = "") -> Resolved:
    """Normalise a link, resolved against `base`, the normalised address of its page, if given.

    The result has a reason for schemes other than http and https (NO_TRANSPORT), invalid addresses and those with
    an escaped control character (BAD_ADDRESS), and addresses longer than `LONGEST` (ADDRESS_TOO_LONG).

    >>> normalise("../%7euser/?#top", "http://Example.org:80/a/b").url
    'http://example.org/~user/'
    >>> normalise("https://me:secret@b\u00fccher.example./caf\u00e9?q=%2f#x")
    Resolved(url='https://xn--bcher-kva.example/caf%C3%A9?q=%2F', fragment='x', reason=None)
    >>> normalise("mailto:someone@example.org").reason
    <Reason.NO_TRANSPORT: 'no_transport'>
    """
    if _SCHEME.match(href):
        return _refused(Reason.NO_TRANSPORT)
    if len(href) > _READ:
        return _refused(Reason.ADDRESS_TOO_LONG)
    href = _HALF.sub("\ufffd", href)
    try:
        resolved = ada_url.join_url(base, href) if base else ada_url.normalize_url(href)
    except ValueError:
        return _refused(Reason.BAD_ADDRESS)
    address, _, fragment = resolved.partition("#")
    url = _strict(address)
    if url and len(url) <= LONGEST:
        return Resolved(url, fragment if 0 < len(fragment) <= LONGEST else None)
    if address.startswith(("http://", "https://")):
        return _refused(Reason.ADDRESS_TOO_LONG if url else Reason.BAD_ADDRESS)
    return _refused(Reason.NO_TRANSPORT)


def _strict(address: str) -> str:
    """Return an address in ada's spelling with our own rules applied, or an empty text if we refuse it."""
    scheme, _, rest = address.partition("://")
    if scheme not in {"http", "https"}:
        return ""
    authority, _, target = rest.partition("/")
    authority = authority.rpartition("@")[2]
    if authority.startswith("["):
        host, port = authority.partition("]")[0] + "]", authority.partition("]")[2]
    else:
        host, colon, number = authority.partition(":")
        host, port = host.removesuffix("."), colon + number
    if not _HOST.fullmatch(host) or port == ":0":
        return ""
    if "%" in target:
        target = _ESCAPE.sub(_spell, target)
        if _CONTROL.search(target):
            return ""
    path, mark, query = target.translate(_LEFT).partition("?")
    return f"{scheme}://{host}{port}/{path}{mark if query else ''}{query}"


def _spell(match: re.Match[str]) -> str:
    """Return the normal spelling of an escape, or of a `%` that does not begin one."""
    return _SPELT.get(match[0].upper(), "%25")


def _refused(reason: Reason) -> Resolved:
    return Resolved("", None, reason)


_PARTS = re.compile(r"(https?)://(\[[^\]/?#]+\]|[^\[\]:/?#@]+)(?::(\d{1,5}))?(/[^?#]*)(?:\?([^#]*))?", re.DOTALL)


class Parts(NamedTuple):
    """An address in parts; `port` is None if it is the scheme's default, `query` None if it is missing."""

    text: str
    scheme: str
    host: str
    port: int | None
    path: str
    query: str | None

    @property
    def origin(self) -> str:
        """Scheme, host and port, without the scheme's default port: `https://example.org`."""
        return f"{self.scheme}://{self.host}" + (f":{self.port}" if self.port is not None else "")


def parts(url: str) -> Parts:
    """Split an address that `normalise` returned; StepError with BAD_ADDRESS for any other text.

    >>> parts("https://example.org:8443/a?b=c").origin
    'https://example.org:8443'
    >>> parts("https://example.org/")[1:]
    ('https', 'example.org', None, '/', None)
    """
    match = _PARTS.fullmatch(url)
    if not match:
        raise StepError(f"{url[:200]!r} is not a normalised address", Reason.BAD_ADDRESS)
    scheme, host, port, path, query = match.groups()
    return Parts(url, scheme, host, int(port) if port else None, path, query)


_ANY_SCHEME = re.compile(r"[\x00-\x20]*+[a-z][a-z0-9+.-]*+:", re.IGNORECASE)


def other(href: str) -> Resolved:
    """Normalise an address that `normalise` refused for its scheme, as browsers do, without credentials.

    >>> other("MAILTO:someone@example.org").url, other("ftp://me:secret@b.example/x#y")
    ('mailto:someone@example.org', Resolved(url='ftp://b.example/x', fragment='y', reason=None))
    """
    if len(href) > LONGEST:
        return Resolved("", None, Reason.ADDRESS_TOO_LONG)
    try:
        normalised = ada_url.normalize_url(href.encode("utf-8", "replace").decode()) if _ANY_SCHEME.match(href) else ""
    except ValueError:
        normalised = ""
    url, _, fragment = normalised.partition("#")
    scheme, slashes, rest = url.partition("://")
    if slashes:
        authority, slash, path = rest.partition("/")
        url = f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"
    if not url or len(url) > LONGEST:
        return Resolved("", None, Reason.BAD_ADDRESS)
    return Resolved(url, fragment if 0 < len(fragment) <= LONGEST else None)


def without(url: str, names: Iterable[str]) -> str:
    """Remove the query parameters of these names from an address.

    >>> without("/terms?page=2&api_key=xxxx", ["api_key"]), without("/terms?api_key=xxxx#a", ["api_key"])
    ('/terms?page=2', '/terms#a')
    """
    removed = {name.lower() for name in names}
    address, hash_, fragment = url.partition("#")
    path, mark, query = address.partition("?")
    if not mark or not removed:
        return url
    kept_parameters = [
        parameter for parameter in query.split("&") if unquote_plus(parameter.partition("=")[0]).lower() not in removed
    ]
    return f"{path}{'?' if kept_parameters else ''}{'&'.join(kept_parameters)}{hash_}{fragment}"


_ROOM = 8_192  # links remembered
_WIDE = 200  # characters; longer links are not remembered

_E = "%(?:2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-D]|[89A-F][0-9A-F])"  # escapes that are kept
_P = rf"[A-Za-z0-9_~!$&()*+,;=@./'-]*+(?:{_E}[A-Za-z0-9_~!$&()*+,;=@./'-]*+)*+"
_Q = rf"(?:\?[A-Za-z0-9_~!$&()*+,;=@./:?-]++(?:{_E}[A-Za-z0-9_~!$&()*+,;=@./:?-]*+)*+)?+"
_F = r"(?:#([A-Za-z0-9_~!$&()*+,;=@./:?'-]*+))?+"
_C = _P.replace("@./", "@.:/")  # a colon is allowed except in the first segment of a relative path
_PATH = re.compile(rf"(/(?!/){_C}{_Q}){_F}")
_NAME = re.compile(rf"([A-Za-z0-9_~]{_P}{_Q}){_F}")
_QUERY = re.compile(rf"(?=[?#])({_Q}){_F}")
_SITE = r"https?://(?:(?!xn--)[a-z0-9-]{1,63}\.){1,3}(?!xn--)[a-z]{2,24}"
_WHOLE = re.compile(rf"({_SITE}/{_C}{_Q}){_F}")
_APART = re.compile(rf"({_SITE})(/{_C})({_Q})")


def quick(href: str, base: str, origin: str) -> Resolved | None:
    """Resolve a link against a normalised address; None if it has other than safe characters.

    >>> quick("b.html#c", "https://example.org/a/?q", "https://example.org")
    Resolved(url='https://example.org/a/b.html', fragment='c', reason=None)
    >>> quick("../b", "https://example.org/a/", "https://example.org") is None
    True
    """
    if "/." in href:  # perhaps a dot segment
        return None
    first_character = href[:1]
    prefix = ""
    if first_character == "/":
        match, prefix = _PATH.fullmatch(href), origin
    elif first_character in "?#":
        match = _QUERY.fullmatch(href)
        prefix = base.partition("?")[0] if first_character == "?" else base
    elif href.startswith("http"):
        match = _WHOLE.fullmatch(href)
        if not match and href.startswith(f"{origin}/"):
            match, prefix = _PATH.fullmatch(href, len(origin)), origin
    else:
        match = _NAME.fullmatch(href)
        prefix = base.partition("?")[0].rpartition("/")[0] + "/"
    if not match:
        return None
    url = prefix + match[1]
    return Resolved(url, match[2] or None) if len(url) <= LONGEST else None


def apart(url: str) -> tuple[str, str, str] | None:
    """Split a normalised address of safe characters into origin, path, and query with its `?`; None for any other.

    >>> apart("https://example.org/a?b"), apart("https://example.org/a/../b")
    (('https://example.org', '/a', '?b'), None)
    """
    match = None if "/." in url or len(url) > LONGEST else _APART.fullmatch(url)
    return (match[1], match[2], match[3]) if match else None


class Resolver:
    """Resolves the links of one origin's pages, and remembers those that mean the same on every page.

    At most `room` links of at most 200 characters are remembered; then the memory is cleared.

    >>> site = Resolver("https://example.org")
    >>> [one.url for one in site.resolve("https://example.org/a/b", ["/x", "c#d", "ftp://h/"])]
    ['https://example.org/x', 'https://example.org/a/c', '']
    """

    __slots__ = ("_known", "_room", "origin")

    def __init__(self, origin: str, room: int = _ROOM) -> None:
        """`origin` is spelt as `Parts.origin` is."""
        self.origin = origin
        self._known: dict[str, Resolved] = {}
        self._room = room

    def resolve(self, base: str, hrefs: Iterable[str]) -> list[Resolved]:
        """Return the target of each link, in order.

        `base` is the normalised address of the page, or of its `base` element; it may have another origin.
        """
        if not base.startswith(f"{self.origin}/"):
            return [normalise(href, base) for href in hrefs]
        known = self._known.get
        return [known(href) or self._learn(href, base) for href in hrefs]

    def targets(self, base: str, hrefs: Iterable[str]) -> list[str]:
        """Return the target addresses of a page's links, each once, without refused ones."""
        urls = {resolved[0]: None for resolved in self.resolve(base, hrefs)}
        urls.pop("", None)
        return list(urls)

    def _learn(self, href: str, base: str) -> Resolved:
        """Resolve a new link; remember it if it is absolute, so that it means the same on every page."""
        resolved = quick(href, base, self.origin) or normalise(href, base)
        if len(href) <= _WIDE and href.startswith(("/", "http://", "https://")):
            if len(self._known) >= self._room:
                self._known.clear()
            self._known[href] = resolved
        return resolved


__all__ = ["LONGEST", "Parts", "Resolved", "Resolver", "normalise", "other", "parts", "without"]
