"""What a start tag says of its element; tags are as a tree writes them out, in UTF-8, without their brackets."""

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
_KEPT = 5_000

_known: dict[tuple[object, ...], Shape] = {}


def shape(tag: bytes) -> Shape:
    """Return the shape of a box; most boxes are shaped like one before, whatever else their tags say.

    >>> shape(b'nav class="top"').kind
    'nav top'
    """
    written = tag.decode("utf-8", "replace")
    name = written.partition(" ")[0]
    said = (name, *_SHAPING.findall(written))
    found = _known.get(said)
    if found is None:
        if len(_known) >= _KEPT:
            _known.clear()
        found = _known[said] = _shape(name, dict(said[1:]))
    return found


def _shape(name: str, said: dict[str, str]) -> Shape:
    names = [said[each] for each in _NAMING if each in said]
    if "-" in name:
        names.append(name)
    kind = f"{name} {said['class']}" if "class" in said else name
    return Shape(name, marks(name, said), groups(" ".join(names)), kind)


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
