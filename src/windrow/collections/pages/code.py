"""The code numbers of the Summary Database, and media types. The numbers are stored, so they never change."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

DAY = 86_400.0
"""The number of seconds in a day."""


class CrawlType(IntEnum):
    """The purpose of a request."""

    FILE_CRAWL = 0
    ROBOTSTXT_FETCH = 1
    METADATA_CRAWL = 2


ASSET = 3
"""Crawl type of an image, style, script or font: stored, but not read as a document. It is not in the standard."""


class ExitCode(IntEnum):
    """The outcome of a crawl. The standard defines the codes up to 102; the others are windrow's own."""

    DATABASE_ERROR = -3
    CANCELLED = -2
    SOMEONE_STOLE_MY_WORK = -1
    FILE_INGESTED = 20
    FILE_OF_UNKNOWN_TYPE = 29
    PERMANENT_REDIRECT = 31
    REDIRECT = 32
    FILE_DID_NOT_CHANGE = 34
    SERVER_BLAMED_CLIENT = 40
    FILE_GONE = 41
    DID_NOT_UNDERSTAND_ANSWER = 42
    FILE_NOT_FOUND = 44
    RATE_LIMITED = 49
    SERVER_INTERNAL_ERROR = 50
    CONNECTION_FAILED = 100
    REQUEST_TIMEOUT = 101
    ERROR_READING_RESPONSE = 102
    RESPONSE_TOO_LARGE = 103
    ROBOTS_DENIED = 104
    POLICY_DENIED = 105
    TLS_ERROR = 106
    DNS_ERROR = 107


class InformationSource(IntEnum):
    """Where a redirect or a canonical address was found."""

    UNKNOWN = 0
    RESPONSE_HEADER = 1
    FILE_METADATA = 2
    FILE_BODY = 3
    SUMMARY = 4


class Locality(IntEnum):
    """Whether a link leads to the page that contains it, to another page of the site, or out of the site."""

    SELF = 0
    IN = 1
    OUT = 2


class Destination(IntEnum):
    """What a link leads to. The standard defines the numbers below 100; the others are windrow's own."""

    FILE = 0
    COMMUNICATION = 1
    IMAGE = 100
    AUDIO = 101
    VIDEO = 102
    STYLESHEET = 103
    SCRIPT = 104
    EMBEDDED = 105
    FORM = 106
    FEED = 107
    ICON = 108
    TRANSLATION = 109


_MEDIA_TYPE = re.compile(r"\s*+([!#$&^_.+\w-]{1,127}+)/([!#$&^_.+\w-]{1,127}+)\s*+(?:;(.*))?", re.ASCII | re.DOTALL)
_PARAMETER = re.compile(
    r';?+\s*+([!#$&^_.+\w-]{1,127}+)\s*+=\s*+("(?>(?:[^"\\]|\\.)*)"|[^;\s"]*+)\s*+', re.ASCII | re.DOTALL
)

READABLE_TYPES = frozenset(
    (
        "text/html", "application/xhtml+xml", "text/plain", "text/markdown", "text/x-markdown", "application/pdf",
        "application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml",
        "application/xml", "text/xml",
    )
)  # fmt: skip
"""Media types of documents that have a reader. The general JSON types are missing: only feeds in JSON are read."""

_UNREADABLE_ENDINGS = """
7z aac ai apk avi avif bin bmp br bz2 class css cur dat deb dmg doc docx dll eot eps epub exe flac flv gif gz ico img
iso jar jpe jpeg jpg js jxl m4a m4v map mid mjs mkv mov mp3 mp4 mpeg mpg msi odp ods odt ogg ogv otf pkg png ppt pptx
ps psd rar rpm svg swf tar tgz tif tiff torrent ttf wasm wav webm webp wma wmv woff woff2 xls xlsx xpi xz z zip zst
"""
SKIPPED_ENDINGS = frozenset(_UNREADABLE_ENDINGS.split())
"""Endings of file names for which there is no reader. Addresses with these endings are not requested as pages."""


class Mime(NamedTuple):
    """A media type, split as in the table `mimetype`, and its parameters as (name, value), in their order."""

    type: str
    subtype: str
    suffix: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def essence(self) -> str:
        """The media type without its parameters."""
        return f"{self.type}/{self.subtype}" + (f"+{self.suffix}" if self.suffix else "")


def parse_mime(text: str) -> Mime | None:
    """Parse a Content-Type (RFC 9110, section 8.3.1, and RFC 6838, section 4.2.8); return None if it is malformed.

    Only the first 1,000 characters are read. Types and names of parameters are converted to lower case; only the first
    of repeated parameters is used (WHATWG MIME Sniffing, 4.4).

    >>> parse_mime('Application/Atom+XML; Charset="UTF-8"')
    Mime(type='application', subtype='atom', suffix='xml', parameters=(('charset', 'UTF-8'),))
    """
    return _parse_short_mime(text[:1000])


@lru_cache(maxsize=256)
def _parse_short_mime(text: str) -> Mime | None:
    """Parse a Content-Type for `parse_mime`, which has cut it to keep the cache small."""
    match = _MEDIA_TYPE.fullmatch(text)
    if not match:
        return None
    subtype, plus_sign, suffix = match[2].lower().rpartition("+")
    if not plus_sign or not subtype or not suffix:
        subtype, suffix = match[2].lower(), ""
    parameters: dict[str, str] = {}
    for name, value in _PARAMETER.findall(match[3] or ""):
        unquoted = re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL) if value.startswith('"') else value
        parameters.setdefault(name.lower(), unquoted)
    return Mime(match[1].lower(), subtype, suffix or None, tuple(parameters.items()))


def may_be_readable(path: str) -> bool:
    """Return whether a path may lead to a document that has a reader, as far as its ending shows.

    >>> [may_be_readable(path) for path in ("/a.JPG", "/a.html", "/v1.2/notes", "/jpg")]
    [False, True, True, True]
    """
    file_name = path.rpartition("/")[2]
    _, dot, ending = file_name.rpartition(".")
    return not dot or ending.lower() not in SKIPPED_ENDINGS
