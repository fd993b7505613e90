"""Read a page: bytes and what is known of them in, one value out."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.formats.html.charset import decode
from windrow.formats.html.head import PageHead, head
from windrow.formats.html.hint import PageHint, hint
from windrow.formats.html.outline import Outline
from windrow.formats.html.stamp import stamped
from windrow.formats.html.tree import body, parse, silence
from windrow.formats.html.walk import walk


@dataclass(frozen=True, slots=True)
class Page:
    """A page that was read."""

    url: str
    encoding: str
    head: PageHead
    outline: Outline
    hint: PageHint


def read(raw: bytes, url: str = "", content_type: str = "") -> Page:
    """Read a page's bytes; any bytes give a page, in time that grows with their number.

    >>> page = read(b"<title>A</title><p>One <b>two</b><p>Three")
    >>> page.head.title, page.outline.blocks.text
    ('A', ['One two', 'Three'])
    """
    text = decode(raw, content_type)
    # a text that is UTF-8 without a fault need not be written so again
    same = text.encoding == "utf-8" and text.source != "bom" and "\ufffd" not in text.text
    tree = parse(raw if same else text.text)
    said = stamped(head(tree), tree, text.text)
    silence(tree, text.text)
    return Page(url, text.encoding, said, walk(body(tree)), hint(url, said.property("og:type"), said.json_ld))
