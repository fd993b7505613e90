"""Write out the markup of some blocks of a page, with the boxes around them: what a writer of Markdown starts from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from windrow.formats.html.mark import PageLocation
from windrow.formats.html.outline import Outline
from windrow.formats.html.outline_builder import OutlineBuilder
from windrow.formats.html.walk import meaning

_OPENS = frozenset((OutlineBuilder.open, OutlineBuilder.form))
_CLOSES = OutlineBuilder.close
_BORDERS = _OPENS | {_CLOSES, OutlineBuilder.border}
_FIGURE = int(PageLocation.FIGURE)
ELSEWHERE = int(PageLocation.FOOTER | PageLocation.ASIDE | PageLocation.NAV | PageLocation.FORM | PageLocation.DIALOG)
"""Where nothing of an article's text stands."""
_PICTURE = re.compile(rb"<(?:img|video|audio|iframe|object|embed) ")


def excerpt(split: Sequence[bytes], outline: Outline, chosen: Sequence[bool], around: FigureRange | None = None) -> str:
    """Return the markup of the blocks that are chosen; `split` is what the outline was made of (see `walk.pieces`).

    Elements in the line of these blocks stay as they are, and so do pictures that stand by themselves between the
    first of them and the last, and figures `around` them; boxes without any of this are left out. It is to be parsed
    as HTML again. Only the tags from the end of the block before the first one on are looked at, up to the end of the
    last one, and as far as figures may stand.
    """
    first = next((at for at, one in enumerate(chosen) if one), len(chosen))
    if first == len(chosen):
        return ""
    last = len(chosen) - 1 - next(at for at, one in enumerate(reversed(chosen)) if one)
    tags, ends = split[3::2], outline.blocks.end
    limits = around or FigureRange(first, 0)
    following = last + 1 if limits.depth else last  # what stands before that block is looked at too
    final = ends[following] if following < len(ends) else len(tags)
    before = min(first, limits.first) - 1
    while before >= 0 and meaning(tags[ends[before]])[0] not in _BORDERS:
        before -= 1  # a component's box ends a block, but nothing in what is copied
    copy = _Copy(outline, chosen, before, (first, last), limits.depth)
    start = ends[before] if before >= 0 else 0
    if before < 0:
        copy.line += split[2:3]
    texts = split[4::2]
    for at in range(start, len(tags)):
        if copy.step(at, tags[at], texts[at]) and at >= final:
            copy.drop_teaser()
            break
    else:
        copy.end_line(len(tags))
    return copy.done()


class FigureRange(NamedTuple):
    """Where figures around a text are its own: from a block on, and behind it in boxes at least so deep; 0: none."""

    first: int
    depth: int


class _Copy:
    """What is copied, while a part of the page is walked over."""

    __slots__ = ("_chosen", "_depth", "_ends", "_inside", "_opened", "_seen", "_span", "_text", "line", "out")

    def __init__(
        self, outline: Outline, chosen: Sequence[bool], before: int, span: tuple[int, int], depth: int
    ) -> None:
        """Begin where the block `before` ends, in the boxes that are open there; in the body where it is -1."""
        self.out: list[bytes] = []
        self.line: list[bytes] = []
        self._chosen = chosen
        self._span = span
        self._text = 0  # how much is copied up to the last block
        self._depth = depth  # of the box that holds the text; 0 when that is closed
        self._ends = outline.blocks.end
        self._seen = max(before, 0)
        self._opened: list[tuple[int, bytes]] = []
        self._inside: list[int] = [0]
        boxes = outline.boxes
        around: list[int] = []
        box = outline.blocks.box[before] if before >= 0 else 0
        while box > 0:
            if "-" not in boxes.tag[box]:
                around.append(box)
            box = boxes.up[box]
        for box in reversed(around):
            self._open(boxes.start[box], boxes.marks[box])

    def _open(self, tag: bytes, marks: int) -> None:
        self._opened.append((len(self.out), tag))
        self._inside.append(self._inside[-1] | marks)
        self.out.append(b"<%b>" % tag)

    def step(self, at: int, tag: bytes, text: bytes) -> bool:
        """Go on by a tag, which is number `at`, and the text behind it; say whether it ended the line."""
        act, shape = meaning(tag)
        ended = act in _BORDERS
        if ended:
            self.end_line(at)
        if act in _OPENS:
            self._open(tag, shape.marks)
        elif act is _CLOSES:
            if self._opened:
                self._close()
        elif tag and b"-" not in tag.partition(b" ")[0]:
            self.line += b"<", tag, b">"
        self.line.append(text)
        return ended

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
        """Copy what stands in the line, if it is of a block that is chosen, or a picture among such blocks."""
        ends, seen = self._ends, self._seen
        now = seen
        while now < len(ends) and ends[now] <= at:
            now += 1
        self._seen = now
        if now > seen:
            if any(self._chosen[seen:now]):
                self.out += self.line
            if seen <= self._span[1] < now:
                self._text = len(self.out)
        elif self._shows(line := b"".join(self.line), seen):
            self.out.append(line)
        self.line.clear()

    def _shows(self, line: bytes, seen: int) -> bool:
        """Tell whether a picture stands there by itself; one that only leads elsewhere is none of the text."""
        if _PICTURE.search(line) is None:
            return False
        marks, (first, last) = self._inside[-1], self._span
        in_figure = bool(marks & _FIGURE)
        if first <= seen <= last:
            return b"<a " not in line or in_figure
        own = in_figure and not marks & ELSEWHERE and b"<a " not in line
        return own and (seen < first or self._depth > 0)

    def drop_teaser(self) -> None:
        """Leave out pictures behind the text that stand in one box with a block which is none of it."""
        start = next((at for at, _ in self._opened if at >= self._text), None)
        if start is not None:
            del self.out[start + 1 :]

    def done(self) -> str:
        """Close what is open, and return all of it."""
        while self._opened:
            self._close()
        return b"".join(self.out).decode()
