"""Resolve the addresses that a page refers to, quickly: the same few come again and again.

Nearly all references are absolute or begin with a slash, and need no algorithm; the rest goes through the standard
library's. What cannot be an address is None.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote, urljoin, urlsplit

_ABSOLUTE = re.compile(
    r"(https?)://([a-z0-9.-]+)(?::([0-9]{1,5}))?(/[!-\"$->@-\[\]-_a-z|~]*)?(\?[!-\"$-~]*)?", re.ASCII
)
_DOTS = re.compile(r"/\.{1,2}(?:/|$)|//")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_DROPPED = re.compile(r"[\t\n\r]")
_SPACE = "".join(map(chr, range(33)))
_LONGEST = 4_000
_HOST = re.compile(r"(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//")
_KEPT = "".join(chr(code) for code in range(33, 127))
_PORTS = {"http": 80, "https": 443, "ftp": 21}


class Target(NamedTuple):
    """An address without its fragment, and the fragment; None where there is none."""

    url: str
    fragment: str | None


class Place(NamedTuple):
    """The parts of an address that tell how far away it is."""

    scheme: str
    host: str | None
    port: int | None
    """The port, or the default of the scheme."""
    path: str
    query: str


def place(url: str) -> Place:
    """Split an address; one that makes no sense has no host."""
    quick = _ABSOLUTE.fullmatch(url)
    if quick:
        scheme, host, port, path, query = quick.groups()
        return Place(scheme, host, int(port) if port else _PORTS[scheme], path or "/", query[1:] if query else "")
    try:
        parts = urlsplit(url)
        port_ = parts.port
    except ValueError:
        return Place("", None, None, url, "")
    scheme = parts.scheme.lower()
    path = parts.path or ("/" if scheme in _PORTS else "")
    return Place(scheme, parts.hostname, port_ or _PORTS.get(scheme), path, parts.query)


class Resolver:
    """Resolves the references of one page."""

    def __init__(self, base: str) -> None:
        """Resolve against this address."""
        self._base = base
        where = place(base)
        self._origin = base[: len(base) - len(base.partition("://")[2])] + urlsplit_host(base)
        self._scheme = where.scheme
        self._known: dict[str, Target | None] = {}

    def resolve(self, reference: str) -> Target | None:
        """Return the address that a reference means; None where it means none.

        >>> Resolver("http://a.example/x/y?z").resolve("../b#c")
        Target(url='http://a.example/b', fragment='c')
        """
        found = self._known.get(reference, self)
        if found is self:
            found = self._known[reference] = self._resolve(reference)
        assert not isinstance(found, Resolver)
        return found

    def _resolve(self, reference: str) -> Target | None:
        if len(reference) > _LONGEST:
            return None
        reference = _DROPPED.sub("", reference.strip(_SPACE))
        address, hash_, fragment = reference.partition("#")
        url = self._whole(address)
        return None if url is None else Target(url, fragment if hash_ else None)

    def _whole(self, address: str) -> str | None:
        """Resolve a reference without fragment: the two common sorts at once, the rest by the rules."""
        if not address:
            return self._base.partition("#")[0]
        address = _encoded(address)
        if address[0] == "/" and self._scheme in _PORTS and not address.startswith("//") and not _DOTS.search(address):
            return self._origin + address
        quick = _ABSOLUTE.fullmatch(address)
        if quick and quick[4] and not quick[3] and not _DOTS.search(quick[4]):
            return address
        return _joined(self._base, address)


def _joined(base: str, address: str) -> str | None:
    try:
        url = urljoin(base, address)
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS:
        return url if _SCHEME.match(url) else None
    if not parts.hostname:
        return None
    return parts._replace(netloc=_netloc(parts.netloc), path=parts.path or "/").geturl()


def _encoded(address: str) -> str:
    """Write spaces and what is not ASCII by percent signs, except within a host, which IDNA spells."""
    if address.isascii() and " " not in address:
        return address
    scheme, slashes, rest = address.partition("//") if _HOST.match(address) else ("", "", address)
    end = re.search(r"[/?\\]", rest)
    at = (end.start() if end else len(rest)) if slashes else 0
    return scheme + slashes + _ascii(rest[:at]) + quote(rest[at:], safe=_KEPT, errors="replace")


def _ascii(host: str) -> str:
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return host


def _netloc(written: str) -> str:
    """Take credentials from a host and write it in lower case."""
    return written.rpartition("@")[2].lower()


def urlsplit_host(url: str) -> str:
    """Return the host and port of an address as written, without credentials."""
    rest = url.partition("://")[2]
    end = re.search(r"[/?#\\]", rest)
    return _netloc(rest[: end.start()] if end else rest)
