"""Build a page's outline in one pass over its serialised markup; copy the markup of chosen blocks.

Visiting a tree node by node takes longer than processing the nodes. So the tree is serialised with one call: its
markup is well-formed, and `<` and `>` only delimit tags, except in comments and rare attribute names. Split at these
characters, it is a list of alternating texts and tags. A tag is `bytes` without its brackets: `a href="/x"` or `/a`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from operator import length_hint
from typing import NamedTuple

from windrow.content.outline import BODY, Outline, PageLocation, Shape, read_shape
from windrow.content.outline_builder import OutlineBuilder

Action = Callable[[OutlineBuilder, bytes, Shape], None]
"""A function that processes a tag. It is called with the builder, the tag and the tag's shape."""
Meaning = tuple[Action, Shape]
"""The action at a tag, and the shape of the box that it opens, which is `BODY` if it opens none."""


def _do_nothing(*_: object) -> None:
    """Do nothing: the action at tags that do not separate words."""


_OPEN_BOX, _CLOSE_BOX = OutlineBuilder.open, OutlineBuilder.close
_SEPARATE, _NOTHING = OutlineBuilder.separate_words, _do_nothing
_START_ACTIONS: dict[str, Action] = {
    # inline, within words
    **dict.fromkeys(("abbr", "b", "bdi", "bdo", "big", "cite", "del", "dfn", "em", "font", "i", "ins", "mark", "nobr",
                     "rb", "ruby", "s", "slot", "small", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr"),
                    _NOTHING),
    **dict.fromkeys(("maction", "math", "menclose", "merror", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded",
                     "mroot", "mrow", "ms", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtext", "munder",
                     "munderover", "semantics"), _NOTHING),
    # inline, but two side by side are mostly shown with a gap
    **dict.fromkeys(("acronym", "data", "label", "span", "time"), OutlineBuilder.open_spaced),
    # separates words
    **dict.fromkeys(("input", "link", "meta", "mfrac", "mspace", "mtable", "mtd", "mtr", "picture"), _SEPARATE),
    **dict.fromkeys(("area", "audio", "embed", "frame", "iframe", "image", "img", "noembed", "noframes", "object",
                     "video"),
                    OutlineBuilder.add_reference),
    **dict.fromkeys(("base", "basefont", "bgsound", "col", "hr", "keygen", "param"), OutlineBuilder.end_block),
    "track": OutlineBuilder.add_track,
    **dict.fromkeys(("code", "kbd", "q", "samp"), OutlineBuilder.open_code_or_quotation),
    "a": OutlineBuilder.open_anchor,
    "source": OutlineBuilder.add_source,
    "br": OutlineBuilder.end_line,
}  # fmt: skip
"""A dict from elements to the actions at their start tags. All other elements are boxes or unknown."""
_END_ACTIONS: dict[Action, Action] = {
    _NOTHING: _NOTHING,
    OutlineBuilder.open_spaced: OutlineBuilder.close_spaced,
    OutlineBuilder.open_anchor: OutlineBuilder.close_anchor,
    OutlineBuilder.open_code_or_quotation: OutlineBuilder.close_code_or_quotation,
}
"""A dict from actions at start tags to those at end tags. For all other start tags, `_SEPARATE` is used."""
_BOX_ELEMENTS = frozenset(name.encode() for name in (
    "address", "article", "aside", "blockquote", "body", "button", "canvas", "caption", "center", "colgroup", "dd",
    "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset",
    "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "html", "legend", "li", "listing", "main", "map", "marquee",
    "menu", "nav", "noscript", "ol", "optgroup", "option", "p", "pre", "search", "section", "select", "summary",
    "svg", "table", "tbody", "td", "textarea", "tfoot", "th", "thead", "tr", "ul",
))  # fmt: skip
"""Elements that browsers lay out as boxes. Unknown elements are inline; custom elements are mostly boxes."""
_INLINE_MEANINGS: dict[bytes, Meaning] = {
    **{name.encode(): (act, BODY) for name, act in _START_ACTIONS.items()},
    **{f"/{name}".encode(): (_END_ACTIONS.get(act, _SEPARATE), BODY) for name, act in _START_ACTIONS.items()},
    b"span": (_NOTHING, BODY),
    b"": (_NOTHING, BODY),
}
_INLINE_ADDRESSES: dict[bytes, Action] = {
    b"del": OutlineBuilder.add_addresses, b"ins": OutlineBuilder.add_addresses, b"input": OutlineBuilder.add_reference,
}  # fmt: skip
"""A dict from inline elements that seldom have an address to the action at a tag that may have one."""
_BOX_ADDRESSES = {b"form": b"", b"blockquote": b' cite="', b"button": b' formaction="'}
"""A dict from boxes that may have an address to what a tag with one contains."""
_INSTRUCTION = re.compile(rb"<\?[^>]*+>")
_TAG = re.compile(rb"<(/?[^\s/>]++(?>(?: =?[^\s/>=]*+=\"[^\"]*+\")*))>")
_MAX_CACHED_TAG_BYTES, _MAX_CACHED_TAGS = 500, 20_000

_known_meanings = _INLINE_MEANINGS.copy()  # the cache of meanings by tag


def build_outline(markup: bytes) -> Outline:
    """Return the outline of a serialised body in UTF-8."""
    return build_outline_from_pieces(split_markup(markup))


def build_outline_from_pieces(markup_pieces: Sequence[bytes]) -> Outline:
    """Return the outline of a body, given as the tags and texts that `split_markup` returns."""
    builder = OutlineBuilder()
    parts = builder.parts
    parts += markup_pieces[2:3]  # the text after the body's start tag
    tags = markup_pieces[3::2]
    tags_to_come = iter(tags)
    builder.count_tags_left = partial(length_hint, tags_to_come)
    for tag, text, meaning in zip(tags_to_come, markup_pieces[4::2], map(_known_meanings.get, tags), strict=False):
        action, shape = meaning or _work_out_meaning(tag)
        if action is _OPEN_BOX:  # the most frequent first, and called by name, which is faster
            builder.open(tag, shape)
        elif action is _CLOSE_BOX:
            builder.close()
        elif action is _SEPARATE:
            if parts:
                parts.append(builder.word_gap)
        elif action is not _NOTHING:
            action(builder, tag, shape)
        if text and (parts or not text.isspace()):
            parts.append(text)
    builder.count_tags_left = lambda: -1  # for a block that ends with the body
    outline = builder.finish()
    last_tag, end_tags = len(tags) - 1, outline.blocks.end_tag  # so far, the numbers of tags after them
    end_tags[:] = [last_tag - tags_left for tags_left in end_tags]
    return outline


def split_markup(markup: bytes) -> list[bytes]:
    """Split markup into alternating texts and tags, beginning with the text before the first tag; omit comments."""
    markup, *comments = markup.split(b"<!--")
    if comments:
        markup += b"".join([comment.partition(b"-->")[2] for comment in comments])
    pieces = markup.replace(b">", b"<").split(b"<")
    if len(pieces) == 2 * markup.count(b">") + 1:
        return pieces
    # the name of an attribute may contain a "<"
    markup = _INSTRUCTION.sub(b"", markup)
    markup = _TAG.sub(lambda tag: b"<%b>" % tag[1].replace(b"<", b"&lt;"), markup)
    return markup.replace(b">", b"<").split(b"<")


def find_meaning(tag: bytes) -> Meaning:
    """Return the meaning of a tag: the action at it, and the shape of the box that it opens.

    Meanings are cached, because the tags of boxes repeat within a page and from page to page.
    """
    return _known_meanings.get(tag) or _work_out_meaning(tag)


def _work_out_meaning(tag: bytes) -> Meaning:
    """Return the meaning of a tag that is not cached; cache it, except for most inline elements and declarations."""
    name = tag.partition(b" ")[0]
    inline_meaning = _INLINE_MEANINGS.get(name)
    if inline_meaning is not None:
        if name in _INLINE_ADDRESSES and (b' cite="' in tag or b' src="' in tag or b' formaction="' in tag):
            return _INLINE_ADDRESSES[name], BODY
        has_style = name == b"span" and b' class="' in tag  # without a class, a span is assumed to have no gap
        return _cache_meaning(tag, (OutlineBuilder.open_spaced, BODY)) if has_style else inline_meaning
    if name.startswith((b"!", b"?")):
        return _NOTHING, BODY
    return _cache_meaning(tag, _box_meaning(tag, name))


def _cache_meaning(tag: bytes, meaning: Meaning) -> Meaning:
    """Cache a tag's meaning, unless the tag is long, and return the meaning. A full cache is emptied first."""
    if len(tag) <= _MAX_CACHED_TAG_BYTES:
        if len(_known_meanings) >= _MAX_CACHED_TAGS:
            _known_meanings.clear()
            _known_meanings.update(_INLINE_MEANINGS)
        _known_meanings[tag] = meaning
    return meaning


def _box_meaning(tag: bytes, name: bytes) -> Meaning:
    is_end = name.startswith(b"/")
    element_name = name[1:] if is_end else name
    if element_name in _BOX_ELEMENTS:
        has_address = name in _BOX_ADDRESSES and _BOX_ADDRESSES[name] in tag
        opening_action = OutlineBuilder.open_with_address if has_address else _OPEN_BOX
        return (_CLOSE_BOX, BODY) if is_end else (opening_action, read_shape(tag))
    if b"-" in element_name:  # a custom element
        return (OutlineBuilder.close_component, BODY) if is_end else (OutlineBuilder.open_component, read_shape(tag))
    return _NOTHING, BODY


_OPENING_ACTIONS = frozenset((OutlineBuilder.open, OutlineBuilder.open_with_address))
_CLOSING_ACTION = OutlineBuilder.close
_BORDER_ACTIONS = _OPENING_ACTIONS | {_CLOSING_ACTION, OutlineBuilder.end_block, OutlineBuilder.add_track}
_FIGURE = int(PageLocation.FIGURE)
NOT_ARTICLE = int(PageLocation.FOOTER | PageLocation.ASIDE | PageLocation.NAV | PageLocation.FORM | PageLocation.DIALOG)
"""The `PageLocation` flags of elements that do not contain an article's text."""
_PICTURE_TAG = re.compile(rb"<(?:img|video|audio|iframe|object|embed) ")


def copy_chosen_markup(
    markup_pieces: Sequence[bytes], outline: Outline, chosen: Sequence[bool], figure_range: FigureRange | None = None
) -> str:
    """Return the markup of the chosen blocks as HTML; the outline was built from `markup_pieces`.

    The markup has these blocks with their inline elements, separate pictures between the first and the last chosen
    block, the figures in `figure_range` if it is given, and the boxes around all of them. It is empty if no block is
    chosen. Reading begins at the end of the block before the first chosen block or the first of `figure_range`. It ends
    at the end of the last chosen block or, if figures may follow the text, at the end of the block after it.
    """
    first = next((block for block, is_chosen in enumerate(chosen) if is_chosen), len(chosen))
    if first == len(chosen):
        return ""
    last = len(chosen) - 1 - next(offset for offset, is_chosen in enumerate(reversed(chosen)) if is_chosen)
    tags, end_tags = markup_pieces[3::2], outline.blocks.end_tag
    figures = figure_range or FigureRange(first, depth=0)
    following_block = last + 1 if figures.depth else last  # figures may precede it
    last_tag = end_tags[following_block] if following_block < len(end_tags) else len(tags)
    block_before = min(first, figures.first) - 1
    while block_before >= 0 and find_meaning(tags[end_tags[block_before]])[0] not in _BORDER_ACTIONS:
        block_before -= 1  # the tag of a custom element ends a block, but is not copied
    copy = _Copy(outline, chosen, block_before, (first, last), figures.depth)
    start = end_tags[block_before] if block_before >= 0 else 0
    if block_before < 0:
        copy.line += markup_pieces[2:3]
    texts = markup_pieces[4::2]
    for tag_number in range(start, len(tags)):
        if copy.copy_tag(tag_number, tags[tag_number], texts[tag_number]) and tag_number >= last_tag:
            copy.drop_teaser()
            break
    else:
        copy.end_line(len(tags))
    return copy.finish()


class FigureRange(NamedTuple):
    """The part of a page in which figures belong to its text."""

    first: int
    """The number of the range's first block; figures before it are left out."""
    depth: int
    """The minimum number of open boxes around a figure after the text; 0 leaves out all figures after the text."""


class _Copy:
    """Copies markup of chosen blocks to `output`, tag by tag; `line` is the markup since the last border of a box."""

    __slots__ = (
        "_chosen", "_chosen_range", "_end_tags", "_next_block", "_open_locations", "_opened", "_text_depth",
        "_text_end", "line", "output",
    )  # fmt: skip

    def __init__(
        self, outline: Outline, chosen: Sequence[bool], block_before: int, chosen_range: tuple[int, int], depth: int
    ) -> None:
        """Begin at the end of `block_before`, in the boxes open there; if it is -1, begin at the start of the body.

        `chosen_range` has the numbers of the first and the last chosen block; `depth` is that of a `FigureRange`.
        """
        self.output: list[bytes] = []
        self.line: list[bytes] = []
        self._chosen = chosen
        self._chosen_range = chosen_range
        self._text_end = 0  # the length of `output` after the last chosen block
        self._text_depth = depth  # of the box around the text; 0 after that box was closed
        self._end_tags = outline.blocks.end_tag
        self._next_block = max(block_before, 0)  # the first block that has not ended
        self._opened: list[tuple[int, bytes]] = []  # the open boxes: their position in `output`, and their start tag
        self._open_locations: list[int] = [0]  # the `PageLocation` flags in each open box
        boxes = outline.boxes
        open_boxes: list[int] = []
        box = outline.blocks.box[block_before] if block_before >= 0 else 0
        while box > 0:
            if "-" not in boxes.tag[box]:
                open_boxes.append(box)
            box = boxes.parent[box]
        for box in reversed(open_boxes):
            self._open(boxes.start_tag[box], boxes.locations[box])

    def _open(self, tag: bytes, locations: int) -> None:
        """Write the start tag of a box. `locations` are the `PageLocation` flags that the box adds."""
        self._opened.append((len(self.output), tag))
        self._open_locations.append(self._open_locations[-1] | locations)
        self.output.append(b"<%b>" % tag)

    def copy_tag(self, number: int, tag: bytes, text: bytes) -> bool:
        """Copy the tag with this number and the text after it; return whether its action is in `_BORDER_ACTIONS`."""
        action, shape = find_meaning(tag)
        is_border = action in _BORDER_ACTIONS
        if is_border:
            self.end_line(number)
        if action in _OPENING_ACTIONS:
            self._open(tag, shape.locations)
        elif action is _CLOSING_ACTION:
            if self._opened:
                self._close()
        elif tag and b"-" not in tag.partition(b" ")[0]:
            self.line += b"<", tag, b">"
        self.line.append(text)
        return is_border

    def _close(self) -> None:
        """Write the end tag of the innermost open box, or remove its start tag if nothing in it was copied."""
        start, tag = self._opened.pop()
        self._open_locations.pop()
        if self._next_block > self._chosen_range[1] and len(self._opened) < self._text_depth:
            self._text_depth = 0
        if len(self.output) == start + 1:
            del self.output[start:]
        else:
            self.output.append(b"</%b>" % tag.partition(b" ")[0])

    def end_line(self, number: int) -> None:
        """End the line at tag `number`; copy the line if it belongs to a chosen block or is a picture of the text."""
        end_tags, first = self._end_tags, self._next_block
        next_block = first
        while next_block < len(end_tags) and end_tags[next_block] <= number:
            next_block += 1
        self._next_block = next_block
        if next_block > first:
            if any(self._chosen[first:next_block]):
                self.output += self.line
            if first <= self._chosen_range[1] < next_block:
                self._text_end = len(self.output)
        elif self._is_own_picture(line := b"".join(self.line), next_block):
            self.output.append(line)
        self.line.clear()

    def _is_own_picture(self, line: bytes, next_block: int) -> bool:
        """Return whether the line has a picture that belongs to the text.

        Between the first and the last chosen block, a linked picture must be in a figure. Before and after them, only a
        picture without a link, in a figure outside of `NOT_ARTICLE`, belongs to the text.
        """
        if _PICTURE_TAG.search(line) is None:
            return False
        locations, (first, last) = self._open_locations[-1], self._chosen_range
        is_in_figure = bool(locations & _FIGURE)
        if first <= next_block <= last:
            return b"<a " not in line or is_in_figure
        is_own_figure = is_in_figure and not locations & NOT_ARTICLE and b"<a " not in line
        return is_own_figure and (next_block < first or self._text_depth > 0)

    def drop_teaser(self) -> None:
        """Remove the pictures after the text that are in the same box as a block after the text."""
        start = next((position for position, _ in self._opened if position >= self._text_end), None)
        if start is not None:
            del self.output[start + 1 :]

    def finish(self) -> str:
        """Close the open boxes, and return the copied markup."""
        while self._opened:
            self._close()
        return b"".join(self.output).decode()
