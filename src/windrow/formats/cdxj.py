"""CDXJ index lines: a sort-friendly URL key, a 14-digit time, and JSON."""

from __future__ import annotations

import re
from functools import lru_cache
from json.encoder import encode_basestring_ascii as dumps
from urllib.parse import urlsplit

from windrow.digest import warc as spell

_ODD = re.compile(r"[\x00-\x20#]|\A[^/]*\?|\?\Z")  # what makes it more than host, path and query


def key(address: str) -> str:
    """Return the sort-friendly form (SURT) of an address.

    >>> key("https://www.Example.org:8443/A/b.html?q=1")
    'org,example:8443)/a/b.html?q=1'
    >>> key("sftp://drops.example.org/add/x.zip")
    'sftp://org,example,drops)/add/x.zip'
    """
    scheme, mark, rest = address.partition("://")
    if mark and scheme in {"http", "https"} and not _ODD.search(rest):
        netloc, _, path = rest.partition("/")
        return f"{_host(scheme, netloc)})/{path.lower()}"
    parts = urlsplit(address)
    web = parts.scheme in {"http", "https"}
    path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    return f"{_host(parts.scheme, parts.netloc)}){path.lower() if web else path}"


@lru_cache(maxsize=256)
def _host(scheme: str, netloc: str) -> str:
    """Turn a host's name round; captures of one host come in a row."""
    parts = urlsplit(f"{scheme}://{netloc}")
    web = scheme in {"http", "https"}
    host = (parts.hostname or "").removeprefix("www." if web else "")
    # An IP address is one name, not labels to be turned round.
    labels = [host] if host.replace(".", "").isdigit() or ":" in host else host.split(".")[::-1]
    usual = {"http": 80, "https": 443, "ftp": 21, "ftps": 21, "sftp": 22}.get(scheme)
    port = f":{parts.port}" if parts.port and parts.port != usual else ""
    return f"{'' if web else scheme + '://'}{','.join(labels)}{port}"


def line(address: str, at: str, place: tuple[str, int, int], *, status: int | None, mime: str, digest: str) -> str:
    """Write one index line, without its line feed; `at` is a time as WARC-Date has it."""
    warc, offset, length = place
    told = f'"status": "{status}", ' if status else ""
    content = (
        f'{{"url": {dumps(address)}, "mime": {dumps(mime)}, {told}"digest": {dumps(spell(digest))}, '
        f'"length": "{length}", "offset": "{offset}", "filename": {dumps(warc)}}}'
    )
    return f"{key(address)} {at[:4]}{at[5:7]}{at[8:10]}{at[11:13]}{at[14:16]}{at[17:19]} {content}"
