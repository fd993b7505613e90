"""Lay a parsed page flat: one walk over its tags yields boxes, blocks of text and anchors.

To ask a tree for node after node costs more than all that is done with them. So the tree is written out again by one
call: its markup is well-formed, and but for comments `<` and `>` stand for nothing but tags. What lies between them is
tags and texts by turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from windrow.formats.html.element import BODY, Shape, shape
from windrow.formats.html.outline import Outline
from windrow.formats.html.pen import Pen

Act = Callable[[Pen, bytes, Shape], None]
Meaning = tuple[Act, Shape]


def _none(*_: object) -> None:
    """Do nothing."""


_OPEN, _CLOSE, _SPACE, _NONE = Pen.open, Pen.close, Pen.space, _none
_START: dict[str, Act] = {
    # in the line of text, without parting words
    **dict.fromkeys(("abbr", "b", "bdi", "bdo", "big", "cite", "del", "dfn", "em", "font", "i", "ins", "mark", "s",
                     "small", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr"), _NONE),
    # in the line of text, but mostly shown apart from what is beside them
    **dict.fromkeys(("acronym", "data", "input", "label", "link", "meta", "mi", "mn", "mo", "picture", "rb", "rp",
                     "rt", "ruby", "source", "span", "time"), _SPACE),
    **dict.fromkeys(("area", "audio", "embed", "iframe", "img", "noembed", "noframes", "object", "video"), Pen.refer),
    **dict.fromkeys(("base", "basefont", "bgsound", "col", "frame", "hr", "keygen", "param", "track"), Pen.border),
    **dict.fromkeys(("code", "kbd", "q", "samp"), Pen.mark_up),
    "a": Pen.anchor,
    "br": Pen.line,
}  # fmt: skip
"""What to do at a start tag; all other elements are boxes, a form among them, which also refers to something."""
_END: dict[Act, Act] = {
    _NONE: _NONE,
    Pen.anchor: Pen.end_anchor,
    Pen.mark_up: Pen.end_mark_up,
}
"""What to do at the end tag of an element, by what was done at its start; at all others of these, words are parted."""
_INLINE: dict[bytes, Meaning] = {
    **{name.encode(): (act, BODY) for name, act in _START.items()},
    **{f"/{name}".encode(): (_END.get(act, _SPACE), BODY) for name, act in _START.items()},
    b"": (_NONE, BODY),
}
_INSTRUCTION = re.compile(rb"<\?[^>]*+>")
_TAG = re.compile(rb"<(/?[^\s/>]++(?: =?[^\s/>=]*+=\"[^\"]*+\")*+)>")
_LONGEST, _KEPT = 500, 20_000

_known = _INLINE.copy()


def walk(markup: bytes) -> Outline:
    """Lay a body flat, given as its tree was written out, in UTF-8."""
    pen = Pen()
    parts = pen.parts
    pieces = _pieces(markup)
    parts += pieces[2:3]  # behind the tag of the body itself
    tags = pieces[3::2]
    for tag, text, known in zip(tags, pieces[4::2], map(_known.get, tags), strict=False):
        act, shaped = known or _meaning(tag)
        if act is _OPEN:  # the most frequent first, and by name, which is the quicker call
            pen.open(tag, shaped)
        elif act is _CLOSE:
            pen.close()
        elif act is _SPACE:
            if parts:
                parts.append(pen.gap)
        elif act is not _NONE:
            act(pen, tag, shaped)
        if text and (parts or not text.isspace()):
            parts.append(text)
    return pen.done()


def _pieces(markup: bytes) -> list[bytes]:
    """Return tags, without their brackets, and texts by turns, beginning with an empty text."""
    markup, *comments = markup.split(b"<!--")
    if comments:
        markup += b"".join([after.partition(b"-->")[2] for after in comments])
    pieces = markup.replace(b">", b"<").split(b"<")
    if len(pieces) == 2 * markup.count(b">") + 1:
        return pieces
    # the name of an attribute may hold a "<"
    markup = _INSTRUCTION.sub(b"", markup)
    markup = _TAG.sub(lambda tag: b"<%b>" % tag[1].replace(b"<", b"&lt;"), markup)
    return markup.replace(b">", b"<").split(b"<")


def _meaning(tag: bytes) -> Meaning:
    """Return what a tag means.

    Tags of boxes come again and again, within a page and from page to page, so the last answers are remembered.
    """
    name = tag.partition(b" ")[0]
    inline = _INLINE.get(name)
    if inline is not None:
        return inline
    if name.startswith((b"!", b"?")):
        return _NONE, BODY
    start: Act = Pen.form if name == b"form" else _OPEN
    found: Meaning = (_CLOSE, BODY) if name.startswith(b"/") else (start, shape(tag))
    if len(tag) <= _LONGEST:
        if len(_known) >= _KEPT:
            _known.clear()
            _known.update(_INLINE)
        _known[tag] = found
    return found
