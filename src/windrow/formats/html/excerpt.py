"""Write out the markup of some blocks of a page, with the boxes around them: what a writer of Markdown starts from."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.formats.html.mark import PageLocation
from windrow.formats.html.outline_builder import OutlineBuilder
from windrow.formats.html.walk import meaning, pieces

_OPENS = (OutlineBuilder.open, OutlineBuilder.form)
_CLOSES = (OutlineBuilder.close,)
_BORDERS = (OutlineBuilder.border,)
_FIGURE = int(PageLocation.FIGURE)
_PICTURES = ("<img ", "<video ", "<audio ", "<iframe ", "<object ", "<embed ")


def excerpt(markup: bytes, chosen: Sequence[bool]) -> str:
    """Return the markup of the blocks that are chosen; `markup` is the one that the outline was made of.

    Elements in the line of these blocks stay as they are, and so do pictures that stand by themselves between the
    first of them and the last; boxes without any of this are left out. It is to be parsed as HTML again.
    """
    copy = _Copy(chosen)
    parts = pieces(markup)
    copy.take(parts[2:3])
    for tag, text in zip(parts[3::2], parts[4::2], strict=False):
        copy.step(tag, text)
    copy.end_line()
    return "".join(copy.out)


class _Copy:
    """What is copied, while the page is walked over as the outline's pen does."""

    __slots__ = ("_chosen", "_first", "_last", "_line", "_opened", "_pen", "_texts", "out")

    def __init__(self, chosen: Sequence[bool]) -> None:
        """Begin with the body."""
        self.out: list[str] = []
        self._chosen = chosen
        self._first = next((at for at, one in enumerate(chosen) if one), len(chosen))
        self._last = len(chosen) - next((at for at, one in enumerate(reversed(chosen)) if one), len(chosen))
        self._pen = OutlineBuilder()
        self._line: list[str] = []
        self._texts = 0
        self._opened: list[int] = []

    def take(self, texts: Sequence[bytes]) -> None:
        """Take text of the line."""
        for text in texts:
            if text and (self._pen.parts or not text.isspace()):
                self._pen.parts.append(text)
            self._line.append(text.decode())

    def step(self, tag: bytes, text: bytes) -> None:
        """Go on by a tag and the text behind it."""
        act, shape = meaning(tag)
        written = f"<{tag.decode()}>" if tag else ""
        opens, closes = act in _OPENS, act in _CLOSES
        if opens or closes or act in _BORDERS:
            self._pen.border()
            self.end_line()
        act(self._pen, tag, shape)
        if opens:
            self._opened.append(len(self.out))
            self.out.append(written)
        elif closes and self._opened:
            start = self._opened.pop()
            if len(self.out) == start + 1:
                del self.out[start:]
            else:
                self.out.append(written)
        elif not closes and b"-" not in tag.partition(b" ")[0]:
            self._line.append(written)
        self.take((text,))

    def end_line(self) -> None:
        """Copy what stands in the line, if it is of a block that is chosen, or a picture among such blocks."""
        self._pen.border()
        line, at, now = "".join(self._line), self._texts, self._pen.count
        self._line.clear()
        self._texts = now
        if now > at:
            if any(self._chosen[at:now]):
                self.out.append(line)
        elif self._first <= at < self._last and self._shows(line):
            self.out.append(line)

    def _shows(self, line: str) -> bool:
        """Tell whether a picture stands there by itself; one that only leads elsewhere is none of the text."""
        return any(one in line for one in _PICTURES) and ("<a " not in line or bool(self._pen.inside & _FIGURE))
