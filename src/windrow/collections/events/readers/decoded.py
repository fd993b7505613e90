"""Bytes of a document as text: by its mark, by what it was sent as, as UTF-8, and else as Windows-1252."""

from __future__ import annotations

import codecs
import re

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)


def text_of(content: bytes, media: str = "") -> str:
    r"""Return bytes as text; nothing is lost silently: what is no character is U+FFFD.

    >>> text_of(b"\xef\xbb\xbfcaf\xc3\xa9"), text_of(b"caf\xe9")
    ('café', 'café')
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
            return content.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
    return content.decode("cp1252", "replace")
