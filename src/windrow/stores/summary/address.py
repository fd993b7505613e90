"""Addresses in the parts of the tables `origin` and `url`: any scheme, and never a user or password."""

from __future__ import annotations

from typing import NamedTuple

from windrow.formats.url import normalise
from windrow.formats.url.resolver import apart

_KNOWN = {"ftp": 21, "ftps": 990, "sftp": 22, "ws": 80, "wss": 443, "gopher": 70, "gemini": 1965}


class OriginEntry(NamedTuple):
    """The columns of `origin`; `port` is None where it is the scheme's own."""

    scheme: str
    host: str | None
    port: int | None
    text: str


class AddressEntry(NamedTuple):
    """The columns of `url` that are not empty always; `origin` is spelt as `OriginEntry.text`."""

    origin: str
    path: str | None
    query: str | None
    text: str


def split(url: str) -> AddressEntry:
    """Take an absolute address without fragment apart; credentials are left out.

    One of the web gets its one spelling (`windrow.formats.url`); what has none there stays as it is.

    >>> split("HTTP://me:pw@Example.org:80/a?b")
    AddressEntry(origin='http://example.org', path='/a', query='b', text='http://example.org/a?b')
    >>> split("sftp://me:pw@b.example:2222/x").text
    'sftp://b.example:2222/x'
    """
    if plain := apart(url):
        return AddressEntry(plain[0], plain[1], plain[2][1:] or None, url)
    if url.startswith("http") or url[:4].lower() == "http":
        text = normalise(url).url
        if text:
            end = text.index("/", 8)
            path, mark, query = text[end:].partition("?")
            return AddressEntry(text[:end], path, query if mark else None, text)
    return _other(url)


def _other(url: str) -> AddressEntry:
    scheme, _, rest = url.partition(":")
    scheme = scheme.lower()
    if not rest.startswith("//"):
        path, mark, query = rest.partition("?")
        return AddressEntry(f"{scheme}:", path or None, query if mark else None, f"{scheme}:{rest}")
    end = min((at for at in (rest.find(mark, 2) for mark in "/?\\") if at > 0), default=len(rest))
    host, port = _authority(rest[2:end].rpartition("@")[2].lower())
    shown = "" if port is None or port == _KNOWN.get(scheme) else f":{port}"
    text = f"{scheme}://{host}{shown}"
    path, mark, query = rest[end:].partition("?")
    return AddressEntry(text, path or None, query if mark else None, f"{text}{path}{mark}{query}")


def origin(text: str) -> OriginEntry:
    """Take an origin apart as `split` spells it.

    >>> origin("https://example.org:8443"), origin("mailto:").host
    (OriginEntry(scheme='https', host='example.org', port=8443, text='https://example.org:8443'), None)
    """
    scheme, _, rest = text.partition(":")
    if not rest:
        return OriginEntry(scheme, None, None, text)
    host, port = _authority(rest[2:])
    return OriginEntry(scheme, host or None, port, text)


def _authority(text: str) -> tuple[str, int | None]:
    name, colon, digits = text.rpartition(":")
    if not colon or not (digits.isascii() and digits.isdecimal()) or len(digits) > 5:
        return text.removesuffix(":"), None
    return name, int(digits)
