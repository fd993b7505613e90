"""Sort-friendly URI Reordering Transform (SURT): the keys of web archive indexes.

pywb, cdxj-indexer and the Wayback Machine all compute this key by the same rules, and so must we: host labels
reversed, `www` and default ports left out, lower case, percent escapes in their shortest form, `.`, `..` and empty
segments of the path resolved, no slash at its end, query sorted, no session ids.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote_from_bytes, unquote_to_bytes

_PLAIN = re.compile(r"(https?|s?ftps?)://([A-Za-z0-9.-]++)(:[1-9]\d{0,4})?((?:/[\w~-][\w.~-]*+)*+)/?", re.ASCII)
"""Most addresses: a host, perhaps a port, and a path in which nothing must be resolved."""

_ADDRESS = re.compile(rb"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL)
_ODD = re.compile(rb"[\x00-\x20#%\x7f-\xff]")  # must be escaped in a key
_WWW = re.compile(rb"www\d*\.")
_SAFE = bytes(code for code in range(0x21, 0x7F) if code not in b"#%")
_USUAL = {b"http": b"80", b"https": b"443"}
_DEEP = 16  # nested percent escapes that are undone

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
    """Return the SURT key of an address.

    >>> surt("https://www.Example.org:8443/A//b.html?q=2&a=1")
    'org,example:8443)/a/b.html?a=1&q=2'
    >>> surt("http://example.org/posts/")
    'org,example)/posts'
    >>> surt("sftp://drops.example.org/add/x.zip")
    'org,example,drops)/add/x.zip'
    """
    if (plain := _PLAIN.fullmatch(address)) and plain[3] not in {":80", ":443"}:
        return f"{_reverse_host(plain[2])}{plain[3] or ''}){plain[4].lower() or '/'}"
    return _surt(address.encode("utf-8", "surrogateescape"))


@lru_cache(maxsize=1024)
def _reverse_host(host: str) -> str:
    return _reverse_labels(host.encode()).decode()


def _surt(address: bytes) -> str:
    """Return the key of any address."""
    match = _ADDRESS.fullmatch(address.strip().translate(None, b"\r\n\t"))
    if match is None or not (match[1] or match[2]):
        return address.decode("utf-8", "replace")
    scheme, netloc, path, query = (match[1] or b"").lower(), match[2], match[3], match[4]
    key = scheme + b":"
    if netloc:
        host, port = _host_and_port(netloc)
        key = _reverse_labels(host) + (b":" + port if port and port != _USUAL.get(scheme) else b"") + b")"
        path = _resolve_segments(_unescape(path))
    else:
        path = _unescape(path)
    path = _escape(path).lower()
    if b".aspx" in path:
        for pattern in _PATH_SESSIONS:
            path = pattern.sub(rb"\1\2", path)
    key += path[:-1] if len(path) > 1 and path.endswith(b"/") else path
    query = _sort_query(_escape(_unescape(query or b"")).lower())
    return (key + (b"?" + query if query else b"")).decode("ascii", "replace")


def _host_and_port(netloc: bytes) -> tuple[bytes, bytes]:
    """Split host and port; credentials and the brackets of an IPv6 address are left out."""
    authority = netloc.rpartition(b"@")[2]
    if authority.startswith(b"["):
        host, _, rest = authority[1:].partition(b"]")
        port = rest.removeprefix(b":")
    else:
        host, _, port = authority.partition(b":")
    host = _unescape(host)
    if not host.isascii():
        try:
            host = host.decode().encode("idna")
        except UnicodeError:
            host = _escape(host)
    return host, port.lstrip(b"0") if port.isdigit() else b""


def _reverse_labels(host: bytes) -> bytes:
    """Reverse a host's labels and join them with commas; a plain number is read as an IPv4 address."""
    host = _escape(host.replace(b"..", b".").strip(b".")).lower()
    if host.isdigit() and len(host) < 20:
        number = int(host)
        host = b".".join(str(number >> shift & 255).encode() for shift in (24, 16, 8, 0))
    if www := _WWW.match(host):
        host = host[www.end() :]
    return b",".join(host.split(b".")[::-1])


def _unescape(text: bytes) -> bytes:
    if b"%" not in text:
        return text
    for _ in range(_DEEP):
        plain = unquote_to_bytes(text)
        if plain == text:
            break
        text = plain
    return text


def _escape(text: bytes) -> bytes:
    return quote_from_bytes(text, _SAFE).encode() if _ODD.search(text) else text


def _resolve_segments(path: bytes) -> bytes:
    """Resolve `.`, `..` and empty segments of a path."""
    kept: list[bytes] = []
    for segment in path.split(b"/")[1:]:
        if segment == b"..":
            kept = kept[:-1] if kept else [segment]
        elif segment != b".":
            kept.append(segment)
    return b"/" + b"".join(segment + b"/" for segment in kept[:-1] if segment) + (kept[-1] if kept else b"")


def _sort_query(query: bytes) -> bytes:
    """Sort a query's fields and leave session ids out."""
    if b"=" not in query:
        return b"&".join(sorted(query.split(b"&")))
    for pattern in _QUERY_SESSIONS:
        query = pattern.sub(rb"\1\2", query)
    fields = query.split(b"&")
    fields.sort(key=_field_key)
    return b"&".join(fields)


def _field_key(field: bytes) -> tuple[bytes, bytes, bool]:
    name, mark, value = field.partition(b"=")
    return name, value, bool(mark)
