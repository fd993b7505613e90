"""What a start tag says of its element; tags are as a tree writes them out, in UTF-8, without their brackets."""

from __future__ import annotations

import re
from typing import NamedTuple

from windrow.formats.html.mark import BY_TAG, told
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

_SHAPING = re.compile(rb' (class|id|role|itemprop|style|hidden|aria-hidden)="([^"]*+)"')
_NAMING = frozenset({b"id", b"role", b"itemprop"})


def shape(tag: bytes) -> Shape:
    """Return the shape of a box.

    >>> shape(b'nav class="top"').kind
    'nav top'
    """
    kind = name = tag.partition(b" ")[0]
    marks = BY_TAG.get(name, 0)
    names = b""
    for attribute, value in _SHAPING.findall(tag) if kind is not tag else ():
        if attribute == b"class":
            kind = b"%b %b" % (name, value)
            names = value + b" " + names
        else:
            marks |= told(attribute, value)
            if attribute in _NAMING:
                names += value + b" "
    if b"-" in name:
        names += name
    return Shape(name.decode(), marks, groups(names) if names else 0, kind.decode())


def attribute(tag: bytes, opening: bytes) -> str:
    """Return the value of the attribute that is written like this up to its first quote; empty where it has none.

    >>> attribute(b'a title="A&amp;B" href=""', b' title="')
    'A&B'
    """
    value = tag.partition(opening)[2].partition(b'"')[0].decode()
    return unescaped(value.replace("&quot;", '"')) if "&" in value else value


def unescaped(text: str) -> str:
    """Undo the escapes that a tree's text is written with.

    >>> unescaped("&lt;a&gt; &amp;lt;")
    '<a> &lt;'
    """
    return text.replace("&nbsp;", "\xa0").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
