"""Build a page's outline from its tags and texts in document order."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final
from unicodedata import is_normalized, normalize

from windrow.content.outline import BODY, Anchor, Blocks, Boxes, Outline, PageLocation, Shape, attribute, unescape

_HREF, _REL, _ALT, _SRC = b' href="', b' rel="', b' alt="', b' src="'
_REFERS = {b"area": _HREF, b"form": b' action="', b"object": b' data="'}
_DEEPEST = 200
_START, _END = b"\x02", b"\x03"
"""In a line: start and end of a span or link that browsers show with a gap after another one."""
_BORDERS = re.compile("\x03[\x02\x03]*\x02")
_APART = re.compile(r"(?<=[^\s(\[{«“\u2018¿¡/\x01])\x01+(?![\s)\]}»”\u2019,.;:!?%…/\x01])")
_INITIAL = re.compile(r"\b([^\W\d_])\x01+(?=[^\W\d_])")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
"""Scripts without spaces: a word has about two signs, or five letters."""
_LETTERED = "\u3040"
_IN_LINE = frozenset(("p", "h1", "h2", "h3", "h4", "h5", "h6"))
_CODE, _HEADLINE = int(PageLocation.CODE), int(PageLocation.HEADLINE)

_Row = tuple[str, int, int, int, int, int, str, int, bytes]
"""A box, in the order of the columns of `Boxes` except `last`."""
# The positions of some columns in a row, which is a plain tuple since there are many.
_NAME: Final = 0
_MARKS: Final = 3
_PATH: Final = 5
_FIRST: Final = 7
_TextRow = tuple[str, int, int, int, int, int]
"""A block, in the order of the columns of `Blocks`."""


class OpenWords:
    """The words of an inline element that is open: a link, code, or a quotation."""

    __slots__ = ("fallback", "headline", "marks", "number", "start", "tag", "words")

    def __init__(self, start: int, tag: bytes = b"", number: int = 0, marks: int = 0) -> None:
        """Begin at part `start` of the line; `number` is an anchor's position, or counts nested elements."""
        self.start = start
        self.tag = tag
        self.number = number
        self.marks = marks
        self.words: list[str] = []
        self.headline = False
        self.fallback = ""  # the alternative text of a picture in it

    def take(self, parts: list[bytes]) -> int:
        """Append the words of the line since `start` to `words`; return their number."""
        start = self.start
        text = line(parts[start] if start == len(parts) - 1 else b"".join(parts[start:]))
        words = text.split()
        self.start = 0
        self.words += words
        return len(words) if text.isascii() else _count(words)


class OutlineBuilder:
    """The outline so far, and its open boxes, line of text, anchor, code and quotation."""

    __slots__ = (
        "_anchor", "_anchors", "_blocks", "_code", "_code_texts", "_components", "_deep", "_last", "_lines", "_linked",
        "_links", "_paths", "_quote", "_quote_texts", "_rows", "_stack", "gap", "left", "parts",
    )  # fmt: skip

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        """The parts of the current line of text, as in the markup."""
        self.gap = b" "
        """The separator of words in the line; empty in code."""
        self.left: Callable[[], int] = int
        """Returns the number of tags still to come."""
        self._blocks: list[_TextRow] = []
        self._code_texts: dict[int, list[str]] = {}
        self._quote_texts: dict[int, list[str]] = {}
        self._anchors: list[Anchor] = []
        self._lines: list[bytes] = []
        self._paths: dict[tuple[int, str], int] = {(-1, BODY.kind): 0}
        self._rows: list[_Row] = [("body", -1, 0, 0, 0, 0, BODY.kind, 0, b"body")]
        self._last = [0]
        self._stack = [0]
        self._deep = 0
        self._components: list[bool] = []
        self._anchor: OpenWords | None = None
        self._code: OpenWords | None = None
        self._quote: OpenWords | None = None
        self._linked = self._links = 0

    def done(self) -> Outline:
        """Close all open elements, and return the outline."""
        self.border()
        while len(self._stack) > 1:
            self.close()
        self._last[0] = len(self._blocks)
        tag, parent, depth, marks, names, path, kind, first, start = map(list, zip(*self._rows, strict=True))
        boxes = Boxes(tag, parent, depth, marks, names, path, kind, first, self._last, start)
        if not self._blocks:
            return Outline(boxes, Blocks(), self._anchors)
        text, words, linked, links, box, end = map(list, zip(*self._blocks, strict=True))
        blocks = Blocks(text, words, linked, links, box, end, self._code_texts, self._quote_texts)
        return Outline(boxes, blocks, self._anchors)

    def space(self, _tag: bytes = b"", _shape: Shape = BODY) -> None:
        """Separate words, except in code."""
        if self.parts:
            self.parts.append(self.gap)

    def border(self, _tag: bytes = b"", _shape: Shape = BODY) -> None:
        """End the block."""
        if self.parts or self._lines:
            self._flush()

    def open(self, tag: bytes, shape: Shape) -> None:
        """Open a box."""
        if self.parts or self._lines:
            self._flush()
        rows, stack = self._rows, self._stack
        depth = len(stack)
        if depth > _DEEPEST:
            self._deep += 1
            return
        name, own_marks, names, kind = shape
        parent_number = stack[-1]
        parent = rows[parent_number]
        marks, paths, key = parent[_MARKS] | own_marks, self._paths, (parent[_PATH], kind)
        path = paths.get(key)
        if path is None:
            path = paths[key] = len(paths)
        if self._code:
            marks |= _CODE
        if self._anchor and own_marks & _HEADLINE:
            self._anchor.headline = True
        stack.append(len(rows))
        self._last.append(0)
        rows.append((name, parent_number, depth, marks, names, path, kind, len(self._blocks), tag))

    def close(self, _tag: bytes = b"", _shape: Shape = BODY) -> None:
        """Close the innermost box; one without text is dropped."""
        if self.parts or self._lines:
            self._flush()
        if self._deep:
            self._deep -= 1
        elif len(self._stack) > 1:
            box = self._stack.pop()
            last = len(self._blocks)
            if self._rows[box][_FIRST] == last:
                del self._rows[box:], self._last[box:]
            else:
                self._last[box] = last

    def open_component(self, tag: bytes, shape: Shape) -> None:
        """Open a custom element: a box, except within a paragraph or headline."""
        is_box = self._rows[self._stack[-1]][_NAME] not in _IN_LINE
        self._components.append(is_box)
        if is_box:
            self.open(tag, shape)

    def close_component(self, tag: bytes = b"", shape: Shape = BODY) -> None:
        """Close a custom element."""
        if self._components and self._components.pop():
            self.close(tag, shape)

    def apart(self, _tag: bytes = b"", _shape: Shape = BODY) -> None:
        """Begin an inline element that is shown with a gap after another one."""
        if self.parts and self.gap:
            self.parts.append(_START)

    def end_apart(self, _tag: bytes = b"", _shape: Shape = BODY) -> None:
        """End such an element."""
        if self.parts and self.gap:
            self.parts.append(_END)

    def form(self, tag: bytes, shape: Shape) -> None:
        """Open a form: a box with a reference."""
        self.refer(tag, shape)
        self.open(tag, shape)

    def line(self, _tag: bytes = b"", _shape: Shape = BODY) -> None:
        """End a line within the block."""
        if self.parts:
            self._add_words()
            self._lines.append(b"".join(self.parts))
            self.parts.clear()

    def refer(self, tag: bytes, _shape: Shape) -> None:
        """Add the reference of an inline element; a picture's alternative text also serves a link without text."""
        self.space()
        name = tag.partition(b" ")[0]
        anchor = self._anchor
        if name == b"img":
            text = attribute(tag, _ALT)
            if anchor is not None and not anchor.fallback:
                anchor.fallback = text
            if _SRC in tag and b' src="data:' not in tag:
                self._anchors.append(Anchor("img", attribute(tag, _SRC), "", _tidy(text), self._marks(), False))
            return
        opening = _REFERS.get(name, _SRC)
        if opening in tag:
            href, text = attribute(tag, opening), _label(tag) or attribute(tag, _ALT)
            self._anchors.append(Anchor(name.decode(), href, attribute(tag, _REL), _tidy(text), self._marks(), False))

    def anchor(self, tag: bytes, _shape: Shape) -> None:
        """Open an anchor."""
        if self._anchor is not None:
            self.end_anchor()
        if self.parts and self.gap:
            self.parts.append(_START)
        if _HREF in tag:
            self._links += 1
            self._anchor = OpenWords(len(self.parts), tag, len(self._anchors), self._marks())

    def end_anchor(self, _tag: bytes = b"", _shape: Shape = BODY) -> None:
        """Close an anchor."""
        run = self._anchor
        if run is not None:
            tag, start = run.tag, run.start
            self._linked += run.take(self.parts)
            if _is_headline_link(run, self._rows[self._stack[-1]]):
                del self.parts[start:]
            text = " ".join(run.words) or _tidy(_label(tag) or run.fallback)
            rel = attribute(tag, _REL) if _REL in tag else ""
            self._anchors.insert(run.number, Anchor("a", attribute(tag, _HREF), rel, text, run.marks, run.headline))
            self._anchor = None
        self.parts.append(self.gap and _END)  # so that the line is not empty: a link without text ends a block too

    def mark_up(self, tag: bytes, _shape: Shape) -> None:
        """Open inline code or an inline quotation."""
        if _is_quotation(tag):
            self._quote = self._open_run(self._quote)
        else:
            self._code = self._open_run(self._code)
            self.gap = b""

    def end_mark_up(self, tag: bytes, _shape: Shape) -> None:
        """Close inline code or an inline quotation."""
        if _is_quotation(tag):
            self._quote = self._close_run(self._quote, self._quote_texts)
        else:
            self._code = self._close_run(self._code, self._code_texts)
            self.gap = b"" if self._code else b" "

    def _open_run(self, run: OpenWords | None) -> OpenWords:
        """Open code or a quotation; one within another is only counted."""
        if run is None:
            return OpenWords(len(self.parts))
        run.number += 1
        return run

    def _close_run(self, run: OpenWords | None, texts: dict[int, list[str]]) -> OpenWords | None:
        if run is not None and run.number:
            run.number -= 1
            return run
        if run is not None:
            run.take(self.parts)
            if run.words:
                texts.setdefault(len(self._blocks), []).append(" ".join(run.words))
        return None

    def _marks(self) -> int:
        return self._rows[self._stack[-1]][_MARKS] | (_CODE if self._code else 0)

    def _add_words(self) -> None:
        """Add the text of the line to the open inline elements, since the line ends."""
        if self._anchor is not None:
            self._linked += self._anchor.take(self.parts)
        for run in (self._code, self._quote):
            if run is not None:
                run.take(self.parts)

    def _flush(self) -> None:
        """End the block, and add it if it has text; a link continues in the next block, code and quotations do not."""
        parts, lines = self.parts, self._lines
        if self._anchor or self._code or self._quote:
            self._add_words()
            for run in (self._code, self._quote):
                if run is not None:
                    run.words.clear()
        text = line(parts[0] if len(parts) == 1 else b"".join(parts))
        box = self._stack[-1]
        if self._rows[box][_NAME] == "pre":
            text = "\n".join(row.rstrip() for row in "\n".join([*map(line, lines), text]).split("\n")).strip("\n")
            words = text.split()
        elif lines:
            rows = [row.split() for row in (*map(line, lines), text)]
            text = "\n".join(" ".join(row) for row in rows if row)
            words = [word for row in rows for word in row]
        else:
            words = text.split()
            text = " ".join(words)
        parts.clear()
        lines.clear()
        if words:
            size = len(words) if text.isascii() else _count(words)
            linked = min(self._linked, size)
            self._blocks.append((text, size, linked, self._links, box, self.left()))
        self._linked = self._links = 0


def line(written: bytes) -> str:
    """Return a piece of a line as browsers show it, without soft hyphens, in NFC.

    Two links, or spans with a class, that touch each other are mostly styled with a gap: a space is put between them,
    except before punctuation and after a single letter that begins a word.
    """
    text = written.decode()
    if "&" in text:
        text = unescape(text)
    if "\x03" in text:
        if "\x02" in text:
            text = _BORDERS.sub("\x01", text).replace("\x02", "")
            if "\x01" in text:
                text = _APART.sub(" ", _INITIAL.sub(_initial, text)).replace("\x01", "")
        text = text.replace("\x03", "")
    elif "\x02" in text:
        text = text.replace("\x02", "")
    if not text.isascii():
        text = text.replace("\xad", "").replace("\ufeff", "")
        if not is_normalized("NFC", text):
            text = normalize("NFC", text)
    return text


def _initial(match: re.Match[str]) -> str:
    """Return a single letter without the gap after it if its word continues in lower case."""
    return match[1] if match.string[match.end()].islower() else match[0]


def _is_headline_link(run: OpenWords, row: _Row) -> bool:
    """Return whether a link is only a symbol in a headline or term that links to itself."""
    if not (row[_MARKS] & _HEADLINE or row[_NAME] == "dt") or b' href="#' not in run.tag:
        return False
    return not any(map(str.isalnum, "".join(run.words)))


def _count(words: list[str]) -> int:
    """Return the number of words; in scripts without spaces it is estimated from the number of letters."""
    total = len(words)
    for run in _UNSPACED.findall("".join(words)):
        total += len(run) // (2 if run >= _LETTERED else 5)
    return total


def _is_quotation(tag: bytes) -> bool:
    return tag.removeprefix(b"/").partition(b" ")[0] == b"q"


def _label(tag: bytes) -> str:
    return attribute(tag, b' aria-label="') or attribute(tag, b' title="')


def _tidy(text: str) -> str:
    return " ".join(text.split())
