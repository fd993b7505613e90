"""Sort-friendly forms of addresses (SURT), by which indexes of web archives are looked up.

pywb, cdxj-indexer and the Wayback Machine all compute this key with the same rules, so an index of ours must have the
same: host labels turned round, `www` and usual ports left out, lower case, percent escapes in their shortest form,
`.`, `..` and empty segments of the path resolved, no slash at its end, query in order, no session ids.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote_from_bytes, unquote_to_bytes

_PLAIN = re.compile(r"(https?|s?ftps?)://([A-Za-z0-9.-]++)(:[1-9]\d{0,4})?((?:/[\w~-][\w.~-]*+)*+)/?", re.ASCII)
"""What most addresses are like: a host, perhaps a port, and a path in which nothing is to be resolved."""

_ADDRESS = re.compile(rb"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL)
_ODD = re.compile(rb"[\x00-\x20#%\x7f-\xff]")  # what stands in a key as a percent escape only
_WWW = re.compile(rb"www\d*\.")
_SAFE = bytes(code for code in range(0x21, 0x7F) if code not in b"#%")
_USUAL = {b"http": b"80", b"https": b"443"}
_DEEP = 16  # times that one percent escape may hide another

_PATH_SESSIONS = [
    re.compile(rb"^(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)$"),
    re.compile(rb"^(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)$"),
]
_QUERY_SESSIONS = [
    *(re.compile(rb"^(.*)%s=[0-9a-z]{32}(?:&(.*))?$" % name) for name in (b"jsessionid", b"phpsessid", b"sid")),
    re.compile(rb"^(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?$"),
    re.compile(rb"^(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?$"),
]


def surt(address: str) -> str:
    """Return the key of an address.

    >>> surt("https://www.Example.org:8443/A//b.html?q=2&a=1")
    'org,example:8443)/a/b.html?a=1&q=2'
    >>> surt("http://example.org/posts/")
    'org,example)/posts'
    >>> surt("sftp://drops.example.org/add/x.zip")
    'org,example,drops)/add/x.zip'
    """
    if (plain := _PLAIN.fullmatch(address)) and plain[3] not in {":80", ":443"}:
        return f"{_turned(plain[2])}{plain[3] or ''}){plain[4].lower() or '/'}"
    return _surt(address.encode("utf-8", "surrogateescape"))


@lru_cache(maxsize=1024)
def _turned(host: str) -> str:
    return _labels(host.encode()).decode()


def _surt(address: bytes) -> str:
    """Return the key of an address that may hold anything."""
    found = _ADDRESS.fullmatch(address.strip().translate(None, b"\r\n\t"))
    if found is None or not (found[1] or found[2]):
        return address.decode("utf-8", "replace")
    scheme, netloc, path, query = (found[1] or b"").lower(), found[2], found[3], found[4]
    key = scheme + b":"
    if netloc:
        host, port = _host_and_port(netloc)
        key = _labels(host) + (b":" + port if port and port != _USUAL.get(scheme) else b"") + b")"
        path = _resolved(_unescaped(path))
    else:
        path = _unescaped(path)
    path = _escaped(path).lower()
    if b".aspx" in path:
        for pattern in _PATH_SESSIONS:
            path = pattern.sub(rb"\1\2", path)
    key += path[:-1] if len(path) > 1 and path.endswith(b"/") else path
    query = _ordered(_escaped(_unescaped(query or b"")).lower())
    return (key + (b"?" + query if query else b"")).decode("ascii", "replace")


def _host_and_port(netloc: bytes) -> tuple[bytes, bytes]:
    """Part the host from its port; `[` and `]` of an IPv6 address, and who logs in, are left out."""
    place = netloc.rpartition(b"@")[2]
    if place.startswith(b"["):
        host, _, rest = place[1:].partition(b"]")
        port = rest.removeprefix(b":")
    else:
        host, _, port = place.partition(b":")
    host = _unescaped(host)
    if not host.isascii():
        try:
            host = host.decode().encode("idna")
        except UnicodeError:
            host = _escaped(host)
    return host, port.lstrip(b"0") if port.isdigit() else b""


def _labels(host: bytes) -> bytes:
    """Turn a host's labels round; a number is an IPv4 address."""
    host = _escaped(host.replace(b"..", b".").strip(b".")).lower()
    if host.isdigit() and len(host) < 20:
        number = int(host)
        host = b".".join(str(number >> shift & 255).encode() for shift in (24, 16, 8, 0))
    if www := _WWW.match(host):
        host = host[www.end() :]
    return b",".join(host.split(b".")[::-1])


def _unescaped(text: bytes) -> bytes:
    if b"%" not in text:
        return text
    for _ in range(_DEEP):
        plain = unquote_to_bytes(text)
        if plain == text:
            break
        text = plain
    return text


def _escaped(text: bytes) -> bytes:
    return quote_from_bytes(text, _SAFE).encode() if _ODD.search(text) else text


def _resolved(path: bytes) -> bytes:
    """Resolve `.`, `..` and empty segments."""
    kept: list[bytes] = []
    for segment in path.split(b"/")[1:]:
        if segment == b"..":
            kept = kept[:-1] if kept else [segment]
        elif segment != b".":
            kept.append(segment)
    return b"/" + b"".join(segment + b"/" for segment in kept[:-1] if segment) + (kept[-1] if kept else b"")


def _ordered(query: bytes) -> bytes:
    """Put a query's fields in order and leave session ids out."""
    if b"=" not in query:
        return b"&".join(sorted(query.split(b"&")))
    for pattern in _QUERY_SESSIONS:
        query = pattern.sub(rb"\1\2", query)
    fields = query.split(b"&")
    fields.sort(key=_field)
    return b"&".join(fields)


def _field(field: bytes) -> tuple[bytes, bytes, bool]:
    name, mark, value = field.partition(b"=")
    return name, value, bool(mark)
