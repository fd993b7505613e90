"""What a start tag says of its element; tags are given as a tree writes them out, in UTF-8, without the brackets around."""

from __future__ import annotations

import re
from typing import NamedTuple

from windrow.formats.html.mark import marks
from windrow.formats.html.vocabulary import groups


class Shape(NamedTuple):
    """A box as far as its start tag tells."""

    tag: str
    marks: int
    names: int
    """The groups of the vocabulary that its names belong to."""
    kind: str
    """Equal for boxes whose tags and classes are equal."""


BODY = Shape("body", 0, 0, "body")

_SHAPING = re.compile(r' (class|id|role|itemprop|style|hidden|aria-hidden)="([^"]*+)"')
_NAMING = ("class", "id", "role", "itemprop")


def shape(tag: bytes) -> Shape:
    """Return the shape of a box.

    >>> shape(b'nav class="top"').kind
    'nav top'
    """
    written = tag.decode("utf-8", "replace")
    name, space, rest = written.partition(" ")
    if not space:
        return Shape(name, marks(name, {}), groups(name) if "-" in name else 0, name)
    if rest.count('"') == 2:  # most have a class and nothing else
        only, value, _ = rest.split('"')
        said: dict[str, str] = {only[:-1]: value}
    else:
        said = dict(_SHAPING.findall(written))
    named = groups(name) if "-" in name else 0
    for attribute_ in _NAMING:
        if attribute_ in said:
            named |= groups(said[attribute_])
    return Shape(name, marks(name, said), named, f"{name} {said['class']}" if "class" in said else name)


def attribute(tag: bytes, name: bytes) -> str:
    """Return an attribute's value; empty where it has none.

    >>> attribute(b'a title="A&amp;B" href=""', b"title")
    'A&B'
    """
    value = tag.partition(b' %b="' % name)[2].partition(b'"')[0]
    return plain(value.replace(b"&quot;", b'"')) if value else ""


def plain(written: bytes) -> str:
    """Read a text, undoing the escapes that a tree's text is written with.

    >>> plain(b"&lt;a&gt; &amp;lt;")
    '<a> &lt;'
    """
    text = written.decode("utf-8", "replace")
    if "&" not in text:
        return text
    text = text.replace("&nbsp;", "\xa0").replace("&lt;", "<").replace("&gt;", ">")
    return text.replace("&amp;", "&")
