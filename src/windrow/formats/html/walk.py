"""Lay a parsed page flat: one walk over its tags yields boxes, blocks of text and anchors.

To ask a tree for node after node costs more than all that is done with them. So the tree is written out again by one
call: its markup is well-formed, and but for comments `<` and `>` stand for nothing but tags. What lies between them is
tags and texts by turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from operator import length_hint

from windrow.formats.html.element import BODY, Shape, shape
from windrow.formats.html.outline import Outline
from windrow.formats.html.outline_builder import OutlineBuilder

Act = Callable[[OutlineBuilder, bytes, Shape], None]
Meaning = tuple[Act, Shape]


def _none(*_: object) -> None:
    """Do nothing."""


_OPEN, _CLOSE, _SPACE, _NONE = OutlineBuilder.open, OutlineBuilder.close, OutlineBuilder.space, _none
_START: dict[str, Act] = {
    # in the line of text, without parting words
    **dict.fromkeys(("abbr", "b", "bdi", "bdo", "big", "cite", "del", "dfn", "em", "font", "i", "ins", "mark", "nobr",
                     "rb", "ruby", "s", "slot", "small", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr"),
                    _NONE),
    **dict.fromkeys(("maction", "math", "menclose", "merror", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded",
                     "mroot", "mrow", "ms", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtext", "munder",
                     "munderover", "semantics"), _NONE),
    # likewise, but two beside each other are mostly shown apart
    **dict.fromkeys(("acronym", "data", "label", "span", "time"), OutlineBuilder.apart),
    # parts words
    **dict.fromkeys(("input", "link", "meta", "mfrac", "mspace", "mtable", "mtd", "mtr", "picture", "source"), _SPACE),
    **dict.fromkeys(("area", "audio", "embed", "frame", "iframe", "image", "img", "noembed", "noframes", "object",
                     "video"),
                    OutlineBuilder.refer),
    **dict.fromkeys(("base", "basefont", "bgsound", "col", "hr", "keygen", "param", "track"), OutlineBuilder.border),
    **dict.fromkeys(("code", "kbd", "q", "samp"), OutlineBuilder.mark_up),
    "a": OutlineBuilder.anchor,
    "br": OutlineBuilder.line,
}  # fmt: skip
"""What to do at a start tag; other known elements are boxes, a form among them, which also refers to something."""
_END: dict[Act, Act] = {
    _NONE: _NONE,
    OutlineBuilder.apart: OutlineBuilder.end_apart,
    OutlineBuilder.anchor: OutlineBuilder.end_anchor,
    OutlineBuilder.mark_up: OutlineBuilder.end_mark_up,
}
"""What to do at the end tag of an element, by what was done at its start; at all others of these, words are parted."""
_BOXES = frozenset(name.encode() for name in (
    "address", "article", "aside", "blockquote", "body", "button", "canvas", "caption", "center", "colgroup", "dd",
    "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset",
    "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "html", "legend", "li", "listing", "main", "map", "marquee",
    "menu", "nav", "noscript", "ol", "optgroup", "option", "p", "pre", "search", "section", "select", "summary",
    "svg", "table", "tbody", "td", "textarea", "tfoot", "th", "thead", "tr", "ul",
))  # fmt: skip
"""What browsers lay out as boxes; an element that nobody knows is in the line of text."""
_INLINE: dict[bytes, Meaning] = {
    **{name.encode(): (act, BODY) for name, act in _START.items()},
    **{f"/{name}".encode(): (_END.get(act, _SPACE), BODY) for name, act in _START.items()},
    b"span": (_NONE, BODY),
    b"": (_NONE, BODY),
}
_INSTRUCTION = re.compile(rb"<\?[^>]*+>")
_TAG = re.compile(rb"<(/?[^\s/>]++(?: =?[^\s/>=]*+=\"[^\"]*+\")*+)>")
_LONGEST, _KEPT = 500, 20_000

_known = _INLINE.copy()


def walk(markup: bytes) -> Outline:
    """Lay a body flat, given as its tree was written out, in UTF-8."""
    return walk_pieces(pieces(markup))


def walk_pieces(split: Sequence[bytes]) -> Outline:
    """Lay a body flat, given as its tags and texts by turns, as `pieces` returns them."""
    pen = OutlineBuilder()
    parts = pen.parts
    parts += split[2:3]  # behind the tag of the body itself
    tags = split[3::2]
    number = len(tags)
    walked = iter(tags)
    pen.left = partial(length_hint, walked)
    for tag, text, known in zip(walked, split[4::2], map(_known.get, tags), strict=False):
        act, shaped = known or _learn(tag)
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
    pen.left = lambda: -1  # the body's own end
    outline = pen.done()
    ends = outline.blocks.end
    ends[:] = [number - 1 - left for left in ends]
    return outline


def pieces(markup: bytes) -> list[bytes]:
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


def meaning(tag: bytes) -> Meaning:
    """Return what a tag means.

    Tags of boxes come again and again, within a page and from page to page, so the last answers are remembered.
    """
    return _known.get(tag) or _learn(tag)


def _learn(tag: bytes) -> Meaning:
    """Return what a tag means that is not remembered, and remember it if it is a box's."""
    name = tag.partition(b" ")[0]
    inline = _INLINE.get(name)
    if inline is not None:
        # without a class, nothing styles a span
        return _remember(tag, (OutlineBuilder.apart, BODY)) if name == b"span" and b' class="' in tag else inline
    if name.startswith((b"!", b"?")):
        return _NONE, BODY
    return _remember(tag, _box(tag, name))


def _remember(tag: bytes, found: Meaning) -> Meaning:
    if len(tag) <= _LONGEST:
        if len(_known) >= _KEPT:
            _known.clear()
            _known.update(_INLINE)
        _known[tag] = found
    return found


def _box(tag: bytes, name: bytes) -> Meaning:
    """Return what the tag of an element means that is not one of the line of text."""
    end = name.startswith(b"/")
    bare = name[1:] if end else name
    if bare in _BOXES:
        return (_CLOSE, BODY) if end else (OutlineBuilder.form if name == b"form" else _OPEN, shape(tag))
    if b"-" in bare:  # a component of the page's own
        return (OutlineBuilder.close_component, BODY) if end else (OutlineBuilder.open_component, shape(tag))
    return _NONE, BODY
