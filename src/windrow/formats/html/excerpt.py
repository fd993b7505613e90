"""Write out the markup of some blocks of a page, with the boxes around them: what a writer of Markdown starts from."""

from __future__ import annotations

import re
from collections.abc import Sequence

from windrow.formats.html.mark import PageLocation
from windrow.formats.html.outline import Outline
from windrow.formats.html.outline_builder import OutlineBuilder
from windrow.formats.html.walk import meaning

_OPENS = frozenset((OutlineBuilder.open, OutlineBuilder.form))
_CLOSES = OutlineBuilder.close
_BORDERS = _OPENS | {_CLOSES, OutlineBuilder.border}
_FIGURE = int(PageLocation.FIGURE)
_PICTURE = re.compile(rb"<(?:img|video|audio|iframe|object|embed) ")


def excerpt(split: Sequence[bytes], outline: Outline, chosen: Sequence[bool]) -> str:
    """Return the markup of the blocks that are chosen; `split` is what the outline was made of (see `walk.pieces`).

    Elements in the line of these blocks stay as they are, and so do pictures that stand by themselves between the
    first of them and the last; boxes without any of this are left out. It is to be parsed as HTML again. Only the
    tags from the end of the block before the first one on are looked at, up to the end of the last one.
    """
    first = next((at for at, one in enumerate(chosen) if one), len(chosen))
    if first == len(chosen):
        return ""
    last = len(chosen) - 1 - next(at for at, one in enumerate(reversed(chosen)) if one)
    tags, ends = split[3::2], outline.blocks.end
    before = first - 1
    while before >= 0 and meaning(tags[ends[before]])[0] not in _BORDERS:
        before -= 1  # a component's box ends a block, but nothing in what is copied
    copy = _Copy(outline, chosen, before)
    start = ends[before] if before >= 0 else 0
    if before < 0:
        copy.line += split[2:3]
    texts = split[4::2]
    for at in range(start, len(tags)):
        if copy.step(at, tags[at], texts[at]) and at >= ends[last]:
            break
    else:
        copy.end_line(len(tags))
    return copy.done()


class _Copy:
    """What is copied, while a part of the page is walked over."""

    __slots__ = ("_chosen", "_ends", "_inside", "_last", "_opened", "_seen", "line", "out")

    def __init__(self, outline: Outline, chosen: Sequence[bool], before: int) -> None:
        """Begin where the block `before` ends, in the boxes that are open there; in the body where it is -1."""
        self.out: list[bytes] = []
        self.line: list[bytes] = []
        self._chosen = chosen
        self._last = len(chosen) - 1 - next(at for at, one in enumerate(reversed(chosen)) if one)
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
        elif seen <= self._last:
            line = b"".join(self.line)
            if self._shows(line):
                self.out.append(line)
        self.line.clear()

    def _shows(self, line: bytes) -> bool:
        """Tell whether a picture stands there by itself; one that only leads elsewhere is none of the text."""
        return _PICTURE.search(line) is not None and (b"<a " not in line or bool(self._inside[-1] & _FIGURE))

    def done(self) -> str:
        """Close what is open, and return all of it."""
        while self._opened:
            self._close()
        return b"".join(self.out).decode()
