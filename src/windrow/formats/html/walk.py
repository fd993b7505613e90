"""Lay a parsed page flat: one walk over its tags yields boxes, blocks of text and anchors.

To ask a tree for node after node costs more than all that is done with them. So the tree is written out again by one
call: its markup is well-formed, `<` and `>` stand for nothing but tags (but for comments and the few elements that
hold raw text), and the walk goes over the pieces between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from windrow.formats.html.element import BODY, Shape, shape
from windrow.formats.html.outline import Outline
from windrow.formats.html.pen import Pen

Act = Callable[[Pen, str, Shape], None]
Meaning = tuple[Act, Shape]

_OPEN, _CLOSE, _SPACE, _NONE, _RAW, _PLAIN = Pen.open, Pen.close, Pen.space, Pen.none, Pen.raw, Pen.plain
_START: dict[str, Act] = {
    # in the line of text, without parting words
    **dict.fromkeys(("abbr", "b", "bdi", "bdo", "big", "cite", "del", "dfn", "em", "font", "i", "ins", "mark", "s",
                     "small", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr"), _NONE),
    # in the line of text, but mostly shown apart from what is beside them
    **dict.fromkeys(("acronym", "data", "input", "label", "link", "meta", "mi", "mn", "mo", "picture", "rb", "rp",
                     "rt", "ruby", "source", "span", "time"), _SPACE),
    **dict.fromkeys(("area", "audio", "embed", "img", "object", "video"), Pen.refer),
    **dict.fromkeys(("base", "basefont", "bgsound", "col", "frame", "hr", "keygen", "param", "track"), Pen.border),
    **dict.fromkeys(("iframe", "noembed", "noframes"), _RAW),
    **dict.fromkeys(("plaintext", "xmp"), _PLAIN),
    **dict.fromkeys(("code", "kbd", "samp"), Pen.code),
    "q": Pen.quote,
    "a": Pen.anchor,
    "br": Pen.line,
    "form": Pen.form,
}  # fmt: skip
"""What to do at a start tag; all other elements are boxes."""
_END: dict[Act, Act] = {
    _NONE: _NONE,
    Pen.form: _CLOSE,
    Pen.anchor: Pen.end_anchor,
    Pen.code: Pen.end_code,
    Pen.quote: Pen.end_quote,
}
"""What to do at the end tag of an element, by what was done at its start; at all others of these, words are parted."""
_INLINE: dict[str, Meaning] = {
    **{name: (act, BODY) for name, act in _START.items() if act is not Pen.form},
    **{f"/{name}": (_END.get(act, _SPACE), BODY) for name, act in _START.items()},
    "": (_NONE, BODY),
}
_LONGEST, _KEPT = 500, 20_000

_known = _INLINE.copy()


def walk(markup: str) -> Outline:
    """Lay a body flat, given as its tree was written out."""
    pen = Pen()
    parts, known = pen.parts, _known.get
    pieces = iter(markup.split("<")[1:])
    parts.append(next(pieces, "").partition(">")[2])
    for piece in pieces:
        tag, end, text = piece.partition(">")
        meaning = known(tag)
        if meaning is None or not end:
            if not end or tag[0] in "!?":
                tag, text = _whole(piece, pieces)
            meaning = _meaning(tag)
        act, shaped = meaning
        if act is _RAW or act is _PLAIN:
            held, text = _raw(tag, text, pieces)
            act(pen, tag if act is _RAW else held, shaped)
        elif act is _SPACE:
            if parts:
                parts.append(pen.gap)
        elif act is not _NONE:
            act(pen, tag, shaped)
        if text and (parts or not text.isspace()):
            parts.append(text)
    return pen.done()


def _meaning(tag: str) -> Meaning:
    """Return what a tag means.

    Tags of boxes come again and again, within a page and from page to page, so the last answers are remembered.
    """
    name = tag.partition(" ")[0]
    found = _INLINE.get(name)
    if found is not None:
        return found
    found = (_CLOSE, BODY) if name.startswith("/") else (_START.get(name, _OPEN), shape(tag))
    if len(tag) <= _LONGEST:
        if len(_known) >= _KEPT:
            _known.clear()
            _known.update(_INLINE)
        _known[tag] = found
    return found


def _whole(piece: str, pieces: Iterator[str]) -> tuple[str, str]:
    """Return a tag that is new, and the text behind it; comments and the like are empty tags."""
    if piece.startswith("!--"):
        read: str | None = piece
        while read is not None and "-->" not in read:
            read = next(pieces, None)
        return "", (read or "").partition("-->")[2]
    if ">" not in piece:  # the name of an attribute may hold "<"
        parts = [piece]
        for part in pieces:
            parts.append(part)
            if ">" in part:
                break
        piece = "<".join(parts)
    tag, _, text = piece.partition(">")
    return ("", text) if tag.startswith(("?", "!")) else (tag, text)


def _raw(tag: str, text: str, pieces: Iterator[str]) -> tuple[str, str]:
    """Return the raw text that an element holds, and the text that follows."""
    end = f"/{tag.partition(' ')[0]}>"
    held = [text]
    for piece in pieces:
        if piece.startswith(end):
            return "<".join(held), piece[len(end) :]
        held.append(piece)
    return "<".join(held), ""
