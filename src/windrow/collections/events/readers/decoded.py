"""Bytes of a document as text: by its mark, by what it was sent as, as UTF-8, and else as Windows-1252."""

from __future__ import annotations

import codecs
import re

_OF_PYTHON = re.compile(r"undefined|idna|punycode|(?:raw_)?unicode_escape")
"""Codecs that are no character sets: what they raise, and how long they take, is theirs."""
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)


def text_of(content: bytes, media: str = "") -> str:
    r"""Return bytes as text; nothing is lost silently: what is no character is U+FFFD.

    >>> text_of(b"\xef\xbb\xbfcaf\xc3\xa9"), text_of(b"caf\xe9")
    ('café', 'café')
    >>> text_of(b"tea", "text/calendar; charset=undefined")
    'tea'
    """
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if content.startswith(mark):
            return content[len(mark) :].decode(name, "replace")
    told = _CHARSET.search(media)
    for name in (told[1] if told else "utf-8", "utf-8"):
        try:
            if not _OF_PYTHON.fullmatch(codecs.lookup(name).name.replace("-", "_")):
                return content.decode(name)
        except (ValueError, LookupError):
            continue
    return content.decode("cp1252", "replace")
