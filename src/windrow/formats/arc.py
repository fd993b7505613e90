"""ARC records, the format before WARC: a line that says what follows, then the answer as it came.

The Internet Archive wrote two versions of it from 1996 on, Heritrix to 2009 and later: a line has the address, the IP
address, a time of 14 digits, the media type and the length, and in version 2 five fields between the last two. Blanks
stand in some addresses, and before a parameter of the media type.
"""

from __future__ import annotations

import re

from windrow.errors import ArchiveError
from windrow.formats.warc import Header

BEGIN = re.compile(
    rb"[\r\n]*+([A-Za-z][A-Za-z0-9+.-]{0,30}:[^\r\n]{1,8192}?) ([0-9A-Fa-f.:-]{1,45}) (\d{8,17}) ([^ \r\n]{0,256})"
    rb"(?: [^ \r\n]{0,4096}){0,9}? (\d{1,15})\r?\n"
)
"""How a record begins: its line, after the blank lines that part it from the one before."""

LONGEST = 16_384
"""Bytes in which the line of a record ends."""


def read_line(data: bytes) -> Header:
    r"""Read the line of an ARC record as a WARC header's fields, or raise `ArchiveError`.

    >>> read_line(b"http://a.example/x 192.0.2.1 20040131120000 text/html 20\n").fields["warc-date"]
    '2004-01-31T12:00:00Z'
    """
    found = BEGIN.match(data[:LONGEST])
    if found is None:
        raise ArchiveError("no ARC record here")
    address, ip, at, kind, length = (part.decode("utf-8", "surrogateescape") for part in found.groups())
    web = address.lower().startswith(("http:", "https:"))
    fields = {
        "warc-target-uri": address,
        "warc-ip-address": ip,
        "warc-date": f"{at[:4]}-{at[4:6]}-{at[6:8]}T{at[8:10] or '00'}:{at[10:12] or '00'}:{at[12:14] or '00'}Z",
        "content-type": "application/http;msgtype=response" if web else kind,
        "content-length": length,
    }
    name = "warcinfo" if address.startswith("filedesc:") else "response" if web else "resource"
    return Header(name, fields, found.end())
