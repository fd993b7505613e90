"""Addresses in the parts of the tables `origin` and `url`: any scheme, and never a user or password."""

from __future__ import annotations

from typing import NamedTuple

from windrow.formats.url import normalise, parts
from windrow.formats.url.resolver import quick

_NOWHERE = "://"  # an origin that no address has
_KNOWN = {"ftp": 21, "ftps": 990, "sftp": 22, "ws": 80, "wss": 443, "gopher": 70, "gemini": 1965}


class Origin(NamedTuple):
    """The columns of `origin`; `port` is None where it is the scheme's own."""

    scheme: str
    host: str | None
    port: int | None
    text: str


class Address(NamedTuple):
    """The columns of `url` that are not empty always."""

    origin: Origin
    path: str | None
    query: str | None
    text: str


def split(url: str) -> Address:
    """Take an absolute address without fragment apart; credentials are left out.

    One of the web gets its one spelling (`windrow.formats.url`); what has none there stays as it is.

    >>> split("HTTP://me:pw@Example.org:80/a?b").text
    'http://example.org/a?b'
    >>> split("mailto:a@b.example").origin
    Origin(scheme='mailto', host=None, port=None, text='mailto:')
    >>> split("sftp://me:pw@b.example:2222/x").text
    'sftp://b.example:2222/x'
    """
    if url.startswith("http") or url[:4].lower() == "http":
        found = quick(url, "", _NOWHERE) or normalise(url)
        if found.url:
            where = parts(found.url)
            origin = Origin(where.scheme, where.host, where.port, where.origin)
            return Address(origin, where.path, where.query, found.url)
    return _other(url)


def _other(url: str) -> Address:
    scheme, _, rest = url.partition(":")
    scheme = scheme.lower()
    if not rest.startswith("//"):
        path, mark, query = rest.partition("?")
        return Address(
            Origin(scheme, None, None, f"{scheme}:"), path or None, query if mark else None, f"{scheme}:{rest}"
        )
    end = min((at for at in (rest.find(mark, 2) for mark in "/?\\") if at > 0), default=len(rest))
    host, port = _authority(rest[2:end], scheme)
    origin = Origin(scheme, host or None, port, f"{scheme}://{host}" + (f":{port}" if port is not None else ""))
    path, mark, query = rest[end:].partition("?")
    return Address(origin, path or None, query if mark else None, f"{origin.text}{path}{mark}{query}")


def _authority(text: str, scheme: str) -> tuple[str, int | None]:
    host = text.rpartition("@")[2].lower()
    name, colon, digits = host.rpartition(":")
    if not colon or not (digits.isascii() and digits.isdecimal()) or len(digits) > 5:
        return host.removesuffix(":"), None
    port = int(digits)
    return name, None if port == _KNOWN.get(scheme) else port
