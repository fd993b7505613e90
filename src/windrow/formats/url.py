"""Addresses of the web: one spelling for each, and links resolved by the hundred thousand a second.

`ada-url` reads and resolves as browsers do. On top of that, so that one page has one address:
credentials, an empty query and the dot behind a host name go; escapes are in upper case, those of
letters, digits, `-`, `.`, `_` and `~` are undone (RFC 3986, sections 6.2.2.1 and 6.2.2.2), a `%` that
starts no escape becomes `%25`, and what browsers leave though the RFC does not allow it is escaped:
brackets, braces, backslash, caret, grave and bar. The order of a query's parameters and a slash at a
path's end are kept: servers tell them apart. Queries are encoded as UTF-8, whatever the page was
written in.

A link is looked up as it was written; sites repeat theirs on every page. One that is new and made
of nothing but harmless characters is resolved by a regular expression and a joining of texts. All
others take the long way through `normalise`. The three ways lead to the same address.
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
"""Characters of the longest address that is kept, without its fragment."""

_READ = 4 * LONGEST  # what is longer is not even read
_SCHEME = re.compile(r"[\x00-\x20]*+(?!https?:)([a-z][a-z0-9+.-]*+):", re.IGNORECASE)
_HOST = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}|\[[0-9a-f:.]+\]")
_HALF = re.compile("[\ud800-\udfff]")  # half a pair of surrogates, which UTF-8 cannot spell
_ESCAPE = re.compile(r"%(?:[0-9A-Fa-f]{2})?")
_CONTROL = re.compile(r"%(?:[01][0-9A-F]|7F)")
_LEFT = {ord(one): f"%{ord(one):02X}" for one in "\\^`{|}[]"}  # what browsers leave, and RFC 3986 does not
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SPELT = {f"%{n:02X}": chr(n) if chr(n) in _UNRESERVED else f"%{n:02X}" for n in range(256)}


class Resolved(NamedTuple):
    """What a link means: an address without its fragment, or the reason why it is none.

    `fragment` is None where there is none, or an empty one. A refused link has an empty `url`.
    """

    url: str
    fragment: str | None = None
    reason: Reason | None = None


def normalise(href: str, base: str = "") -> Resolved:
    """Bring a link to its one spelling, against the normal address of its page where it has one.

    Refused are other schemes than http and https (NO_TRANSPORT), what is no address or holds an
    escaped control character (BAD_ADDRESS), and what is longer than `LONGEST` (ADDRESS_TOO_LONG).

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
        read = ada_url.join_url(base, href) if base else ada_url.normalize_url(href)
    except ValueError:
        return _refused(Reason.BAD_ADDRESS)
    address, _, fragment = read.partition("#")
    url = _strict(address)
    if url and len(url) <= LONGEST:
        return Resolved(url, fragment if 0 < len(fragment) <= LONGEST else None)
    if address.startswith(("http://", "https://")):
        return _refused(Reason.ADDRESS_TOO_LONG if url else Reason.BAD_ADDRESS)
    return _refused(Reason.NO_TRANSPORT)


def _strict(address: str) -> str:
    """Apply our own rules to an address as ada spells it; empty where it is none for us."""
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


def _spell(found: re.Match[str]) -> str:
    """Spell one escape, or the `%` that starts none."""
    return _SPELT.get(found[0].upper(), "%25")


def _refused(reason: Reason) -> Resolved:
    return Resolved("", None, reason)


_PARTS = re.compile(r"(https?)://(\[[^\]/?#]+\]|[^\[\]:/?#@]+)(?::(\d{1,5}))?(/[^?#]*)(?:\?([^#]*))?", re.DOTALL)


class Parts(NamedTuple):
    """An address in parts; `port` is None where it is the scheme's own, `query` None where there is none."""

    text: str
    scheme: str
    host: str
    port: int | None
    path: str
    query: str | None

    @property
    def origin(self) -> str:
        """Return scheme, host and, where it is not the scheme's own, port: `https://example.org`."""
        return f"{self.scheme}://{self.host}" + (f":{self.port}" if self.port is not None else "")


def parts(url: str) -> Parts:
    """Take an address apart that `normalise` made; another text is refused with BAD_ADDRESS.

    >>> parts("https://example.org:8443/a?b=c").origin
    'https://example.org:8443'
    >>> parts("https://example.org/")[1:]
    ('https', 'example.org', None, '/', None)
    """
    found = _PARTS.fullmatch(url)
    if not found:
        raise StepError(f"{url[:200]!r} is not a normal address", Reason.BAD_ADDRESS)
    scheme, host, port, path, query = found.groups()
    return Parts(url, scheme, host, int(port) if port else None, path, query)


_ANY_SCHEME = re.compile(r"[\x00-\x20]*+[a-z][a-z0-9+.-]*+:", re.IGNORECASE)


def other(href: str) -> Resolved:
    """Spell an address that `normalise` refused for its scheme as browsers do, without credentials.

    >>> other("MAILTO:someone@example.org").url, other("ftp://me:secret@b.example/x#y")
    ('mailto:someone@example.org', Resolved(url='ftp://b.example/x', fragment='y', reason=None))
    """
    if len(href) > LONGEST:
        return Resolved("", None, Reason.ADDRESS_TOO_LONG)
    try:
        read = ada_url.normalize_url(href.encode("utf-8", "replace").decode()) if _ANY_SCHEME.match(href) else ""
    except ValueError:
        read = ""
    url, _, fragment = read.partition("#")
    scheme, slashes, rest = url.partition("://")
    if slashes:
        authority, slash, path = rest.partition("/")
        url = f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"
    if not url or len(url) > LONGEST:
        return Resolved("", None, Reason.BAD_ADDRESS)
    return Resolved(url, fragment if 0 < len(fragment) <= LONGEST else None)


def without(url: str, names: Iterable[str]) -> str:
    """Take parameters out of an address, whatever stands in them.

    >>> without("/terms?page=2&api_key=xxxx", ["api_key"]), without("/terms?api_key=xxxx#a", ["api_key"])
    ('/terms?page=2', '/terms#a')
    """
    out = {name.lower() for name in names}
    bare, mark, fragment = url.partition("#")
    path, asked, query = bare.partition("?")
    if not asked or not out:
        return url
    left = [one for one in query.split("&") if unquote_plus(one.partition("=")[0]).lower() not in out]
    return f"{path}{'?' if left else ''}{'&'.join(left)}{mark}{fragment}"


_ROOM = 8_192  # links remembered
_WIDE = 200  # characters of the longest one remembered

_E = "%(?:2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-D]|[89A-F][0-9A-F])"  # escapes that stay as they are
_P = rf"[A-Za-z0-9_~!$&()*+,;=@./'-]*+(?:{_E}[A-Za-z0-9_~!$&()*+,;=@./'-]*+)*+"
_Q = rf"(?:\?[A-Za-z0-9_~!$&()*+,;=@./:?-]++(?:{_E}[A-Za-z0-9_~!$&()*+,;=@./:?-]*+)*+)?+"
_F = r"(?:#([A-Za-z0-9_~!$&()*+,;=@./:?'-]*+))?+"
_C = _P.replace("@./", "@.:/")  # a colon may stand anywhere but in the first segment of a relative path
_PATH = re.compile(rf"(/(?!/){_C}{_Q}){_F}")
_NAME = re.compile(rf"([A-Za-z0-9_~]{_P}{_Q}){_F}")
_QUERY = re.compile(rf"(?=[?#])({_Q}){_F}")
_SITE = r"https?://(?:(?!xn--)[a-z0-9-]{1,63}\.){1,3}(?!xn--)[a-z]{2,24}"
_WHOLE = re.compile(rf"({_SITE}/{_C}{_Q}){_F}")
_APART = re.compile(rf"({_SITE})(/{_C})({_Q})")


def quick(href: str, base: str, origin: str) -> Resolved | None:
    """Resolve a link of harmless characters against a normal address; None where it is not one.

    >>> quick("b.html#c", "https://example.org/a/?q", "https://example.org")
    Resolved(url='https://example.org/a/b.html', fragment='c', reason=None)
    >>> quick("../b", "https://example.org/a/", "https://example.org") is None
    True
    """
    if "/." in href:  # perhaps a dot segment
        return None
    first = href[:1]
    before = ""
    if first == "/":
        found, before = _PATH.fullmatch(href), origin
    elif first in "?#":
        found = _QUERY.fullmatch(href)
        before = base.partition("?")[0] if first == "?" else base
    elif href.startswith("http"):
        found = _WHOLE.fullmatch(href)
        if not found and href.startswith(f"{origin}/"):
            found, before = _PATH.fullmatch(href, len(origin)), origin
    else:
        found = _NAME.fullmatch(href)
        before = base.partition("?")[0].rpartition("/")[0] + "/"
    if not found:
        return None
    url = before + found[1]
    return Resolved(url, found[2] or None) if len(url) <= LONGEST else None


def apart(url: str) -> tuple[str, str, str] | None:
    """Take a normal address of harmless characters apart: origin, path, query with its mark. None for any other.

    >>> apart("https://example.org/a?b"), apart("https://example.org/a/../b")
    (('https://example.org', '/a', '?b'), None)
    """
    found = None if "/." in url or len(url) > LONGEST else _APART.fullmatch(url)
    return (found[1], found[2], found[3]) if found else None


class Resolver:
    """Resolve the links of one origin's pages, remembering those that its pages share.

    The memory is bounded: `room` links of at most 200 characters; when it is full it starts afresh.

    >>> site = Resolver("https://example.org")
    >>> [one.url for one in site.resolve("https://example.org/a/b", ["/x", "c#d", "ftp://h/"])]
    ['https://example.org/x', 'https://example.org/a/c', '']
    """

    __slots__ = ("_known", "_room", "origin")

    def __init__(self, origin: str, room: int = _ROOM) -> None:
        """Serve pages of this origin, spelt as `Parts.origin` spells it."""
        self.origin = origin
        self._known: dict[str, Resolved] = {}
        self._room = room

    def resolve(self, base: str, hrefs: Iterable[str]) -> list[Resolved]:
        """Return what each link means, in their order.

        `base` is the normal address of the page, or what its `base` element resolves to; it may
        lie at another origin.
        """
        if not base.startswith(f"{self.origin}/"):
            return [normalise(href, base) for href in hrefs]
        known = self._known.get
        return [known(href) or self._learn(href, base) for href in hrefs]

    def targets(self, base: str, hrefs: Iterable[str]) -> list[str]:
        """Return the addresses that the links of a page lead to, each once, without the refused."""
        found = {one[0]: None for one in self.resolve(base, hrefs)}
        found.pop("", None)
        return list(found)

    def _learn(self, href: str, base: str) -> Resolved:
        """Resolve a link that is not remembered; remember it where it means the same on every page."""
        found = quick(href, base, self.origin) or normalise(href, base)
        if len(href) <= _WIDE and href.startswith(("/", "http://", "https://")):
            if len(self._known) >= self._room:
                self._known.clear()
            self._known[href] = found
        return found


__all__ = ["LONGEST", "Parts", "Resolved", "Resolver", "normalise", "other", "parts", "without"]
