"""Build a page's outline in one walk over its tags; return the markup of chosen blocks.

Visiting a tree node by node costs more than everything done with the nodes. So the tree is serialised by one
call: its markup is well-formed, and except in comments `<` and `>` only delimit tags. Split at these, it is a list of
tags and texts in turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from operator import length_hint
from typing import NamedTuple

from windrow.content.outline import BODY, Outline, PageLocation, Shape, shape
from windrow.content.outline_builder import OutlineBuilder

Act = Callable[[OutlineBuilder, bytes, Shape], None]
Meaning = tuple[Act, Shape]


def _none(*_: object) -> None:
    """Do nothing, for tags within words."""


_OPEN, _CLOSE, _SPACE, _NONE = OutlineBuilder.open, OutlineBuilder.close, OutlineBuilder.space, _none
_START: dict[str, Act] = {
    # inline, within words
    **dict.fromkeys(("abbr", "b", "bdi", "bdo", "big", "cite", "del", "dfn", "em", "font", "i", "ins", "mark", "nobr",
                     "rb", "ruby", "s", "slot", "small", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr"),
                    _NONE),
    **dict.fromkeys(("maction", "math", "menclose", "merror", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded",
                     "mroot", "mrow", "ms", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtext", "munder",
                     "munderover", "semantics"), _NONE),
    # inline, but two side by side are mostly shown with a gap
    **dict.fromkeys(("acronym", "data", "label", "span", "time"), OutlineBuilder.apart),
    # separates words
    **dict.fromkeys(("input", "link", "meta", "mfrac", "mspace", "mtable", "mtd", "mtr", "picture", "source"), _SPACE),
    **dict.fromkeys(("area", "audio", "embed", "frame", "iframe", "image", "img", "noembed", "noframes", "object",
                     "video"),
                    OutlineBuilder.refer),
    **dict.fromkeys(("base", "basefont", "bgsound", "col", "hr", "keygen", "param", "track"), OutlineBuilder.border),
    **dict.fromkeys(("code", "kbd", "q", "samp"), OutlineBuilder.mark_up),
    "a": OutlineBuilder.anchor,
    "br": OutlineBuilder.line,
}  # fmt: skip
"""The action at a start tag; other known elements are boxes."""
_END: dict[Act, Act] = {
    _NONE: _NONE,
    OutlineBuilder.apart: OutlineBuilder.end_apart,
    OutlineBuilder.anchor: OutlineBuilder.end_anchor,
    OutlineBuilder.mark_up: OutlineBuilder.end_mark_up,
}
"""The action at an end tag by the action at its start tag; all others of these elements separate words."""
_BOXES = frozenset(name.encode() for name in (
    "address", "article", "aside", "blockquote", "body", "button", "canvas", "caption", "center", "colgroup", "dd",
    "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset",
    "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "html", "legend", "li", "listing", "main", "map", "marquee",
    "menu", "nav", "noscript", "ol", "optgroup", "option", "p", "pre", "search", "section", "select", "summary",
    "svg", "table", "tbody", "td", "textarea", "tfoot", "th", "thead", "tr", "ul",
))  # fmt: skip
"""Elements that browsers lay out as boxes; unknown elements are inline."""
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
    """Return the outline of a serialised body in UTF-8."""
    return walk_pieces(pieces(markup))


def walk_pieces(markup_pieces: Sequence[bytes]) -> Outline:
    """Return the outline of a body, given as the tags and texts that `pieces` returns."""
    builder = OutlineBuilder()
    parts = builder.parts
    parts += markup_pieces[2:3]  # after the tag of the body itself
    tags = markup_pieces[3::2]
    number = len(tags)
    walked = iter(tags)
    builder.left = partial(length_hint, walked)
    for tag, text, known in zip(walked, markup_pieces[4::2], map(_known.get, tags), strict=False):
        act, shaped = known or _find_meaning(tag)
        if act is _OPEN:  # the most frequent first, and called by name, which is faster
            builder.open(tag, shaped)
        elif act is _CLOSE:
            builder.close()
        elif act is _SPACE:
            if parts:
                parts.append(builder.gap)
        elif act is not _NONE:
            act(builder, tag, shaped)
        if text and (parts or not text.isspace()):
            parts.append(text)
    builder.left = lambda: -1  # the body's own end
    outline = builder.done()
    ends = outline.blocks.end
    ends[:] = [number - 1 - tags_left for tags_left in ends]
    return outline


def pieces(markup: bytes) -> list[bytes]:
    """Split markup into texts and tags (without brackets) in turn, beginning with an empty text."""
    markup, *comments = markup.split(b"<!--")
    if comments:
        markup += b"".join([rest.partition(b"-->")[2] for rest in comments])
    pieces = markup.replace(b">", b"<").split(b"<")
    if len(pieces) == 2 * markup.count(b">") + 1:
        return pieces
    # the name of an attribute may contain a "<"
    markup = _INSTRUCTION.sub(b"", markup)
    markup = _TAG.sub(lambda tag: b"<%b>" % tag[1].replace(b"<", b"&lt;"), markup)
    return markup.replace(b">", b"<").split(b"<")


def meaning(tag: bytes) -> Meaning:
    """Return the action for a tag and its shape.

    Tags of boxes repeat, within a page and from page to page, so meanings are cached.
    """
    return _known.get(tag) or _find_meaning(tag)


def _find_meaning(tag: bytes) -> Meaning:
    """Return the meaning of a tag that is not cached, and cache it if it is a box's."""
    name = tag.partition(b" ")[0]
    inline = _INLINE.get(name)
    if inline is not None:
        # a span without a class has no style
        return _remember(tag, (OutlineBuilder.apart, BODY)) if name == b"span" and b' class="' in tag else inline
    if name.startswith((b"!", b"?")):
        return _NONE, BODY
    return _remember(tag, _box(tag, name))


def _remember(tag: bytes, meaning_: Meaning) -> Meaning:
    if len(tag) <= _LONGEST:
        if len(_known) >= _KEPT:
            _known.clear()
            _known.update(_INLINE)
        _known[tag] = meaning_
    return meaning_


def _box(tag: bytes, name: bytes) -> Meaning:
    """Return the meaning of the tag of an element that is not inline."""
    is_end = name.startswith(b"/")
    element_name = name[1:] if is_end else name
    if element_name in _BOXES:
        return (_CLOSE, BODY) if is_end else (OutlineBuilder.form if name == b"form" else _OPEN, shape(tag))
    if b"-" in element_name:  # a custom element
        return (OutlineBuilder.close_component, BODY) if is_end else (OutlineBuilder.open_component, shape(tag))
    return _NONE, BODY


_OPENS = frozenset((OutlineBuilder.open, OutlineBuilder.form))
_CLOSES = OutlineBuilder.close
_BORDERS = _OPENS | {_CLOSES, OutlineBuilder.border}
_FIGURE = int(PageLocation.FIGURE)
ELSEWHERE = int(PageLocation.FOOTER | PageLocation.ASIDE | PageLocation.NAV | PageLocation.FORM | PageLocation.DIALOG)
"""Locations that do not contain an article's text."""
_PICTURE = re.compile(rb"<(?:img|video|audio|iframe|object|embed) ")


def excerpt(
    markup_pieces: Sequence[bytes], outline: Outline, chosen: Sequence[bool], around: FigureRange | None = None
) -> str:
    """Return the markup of the chosen blocks as HTML; `split` is the source of the outline, from `pieces`.

    Inline elements in these blocks are kept, and so are separate pictures between the first and the last block, and
    figures `around` them; boxes without any of these are left out. Only the tags from the end of the block before the
    first one up to the end of the last one are read, and as far as figures may extend.
    """
    first = next((number for number, keep in enumerate(chosen) if keep), len(chosen))
    if first == len(chosen):
        return ""
    last = len(chosen) - 1 - next(number for number, keep in enumerate(reversed(chosen)) if keep)
    tags, ends = markup_pieces[3::2], outline.blocks.end
    limits = around or FigureRange(first, 0)
    following = last + 1 if limits.depth else last  # also read what precedes that block
    final = ends[following] if following < len(ends) else len(tags)
    previous = min(first, limits.first) - 1
    while previous >= 0 and meaning(tags[ends[previous]])[0] not in _BORDERS:
        previous -= 1  # a custom element's box ends a block, but is not copied
    copy = _Copy(outline, chosen, previous, (first, last), limits.depth)
    start = ends[previous] if previous >= 0 else 0
    if previous < 0:
        copy.line += markup_pieces[2:3]
    texts = markup_pieces[4::2]
    for number in range(start, len(tags)):
        if copy.step(number, tags[number], texts[number]) and number >= final:
            copy.drop_teaser()
            break
    else:
        copy.end_line(len(tags))
    return copy.done()


class FigureRange(NamedTuple):
    """The range of a text's figures: from block `first` on, and after it in boxes at least `depth` deep; 0: none."""

    first: int
    depth: int


class _Copy:
    """Copies the chosen markup during a walk over a part of the page."""

    __slots__ = ("_chosen", "_depth", "_ends", "_inside", "_opened", "_seen", "_span", "_text", "line", "out")

    def __init__(
        self, outline: Outline, chosen: Sequence[bool], previous: int, span: tuple[int, int], depth: int
    ) -> None:
        """Begin at the end of block `before`, in the boxes open there; at the start of the body if it is -1."""
        self.out: list[bytes] = []
        self.line: list[bytes] = []
        self._chosen = chosen
        self._span = span
        self._text = 0  # the length of `out` after the last chosen block
        self._depth = depth  # of the box that holds the text; 0 once that is closed
        self._ends = outline.blocks.end
        self._seen = max(previous, 0)
        self._opened: list[tuple[int, bytes]] = []
        self._inside: list[int] = [0]
        boxes = outline.boxes
        open_boxes: list[int] = []
        box = outline.blocks.box[previous] if previous >= 0 else 0
        while box > 0:
            if "-" not in boxes.tag[box]:
                open_boxes.append(box)
            box = boxes.up[box]
        for box in reversed(open_boxes):
            self._open(boxes.start[box], boxes.marks[box])

    def _open(self, tag: bytes, marks: int) -> None:
        self._opened.append((len(self.out), tag))
        self._inside.append(self._inside[-1] | marks)
        self.out.append(b"<%b>" % tag)

    def step(self, at: int, tag: bytes, text: bytes) -> bool:
        """Process tag number `at` and the text after it; return whether the tag ended the line."""
        act, shape = meaning(tag)
        is_border = act in _BORDERS
        if is_border:
            self.end_line(at)
        if act in _OPENS:
            self._open(tag, shape.marks)
        elif act is _CLOSES:
            if self._opened:
                self._close()
        elif tag and b"-" not in tag.partition(b" ")[0]:
            self.line += b"<", tag, b">"
        self.line.append(text)
        return is_border

    def _close(self) -> None:
        start, tag = self._opened.pop()
        self._inside.pop()
        if self._seen > self._span[1] and len(self._opened) < self._depth:
            self._depth = 0
        if len(self.out) == start + 1:
            del self.out[start:]
        else:
            self.out.append(b"</%b>" % tag.partition(b" ")[0])

    def end_line(self, at: int) -> None:
        """Copy the line if it belongs to a chosen block, or is a picture among such blocks."""
        ends, seen = self._ends, self._seen
        next_block = seen
        while next_block < len(ends) and ends[next_block] <= at:
            next_block += 1
        self._seen = next_block
        if next_block > seen:
            if any(self._chosen[seen:next_block]):
                self.out += self.line
            if seen <= self._span[1] < next_block:
                self._text = len(self.out)
        elif self._shows(line := b"".join(self.line), seen):
            self.out.append(line)
        self.line.clear()

    def _shows(self, line: bytes, seen: int) -> bool:
        """Return whether the line is a separate picture that belongs to the text and is not only a link."""
        if _PICTURE.search(line) is None:
            return False
        marks, (first, last) = self._inside[-1], self._span
        in_figure = bool(marks & _FIGURE)
        if first <= seen <= last:
            return b"<a " not in line or in_figure
        is_own = in_figure and not marks & ELSEWHERE and b"<a " not in line
        return is_own and (seen < first or self._depth > 0)

    def drop_teaser(self) -> None:
        """Remove pictures after the text that are in one box with a block that is not chosen."""
        start = next((position for position, _ in self._opened if position >= self._text), None)
        if start is not None:
            del self.out[start + 1 :]

    def done(self) -> str:
        while self._opened:
            self._close()
        return b"".join(self.out).decode()
