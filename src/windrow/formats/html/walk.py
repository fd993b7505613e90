"""Lay a parsed page flat: one walk over the tree yields boxes, blocks of text and anchors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.formats.html.mark import Mark, marks
from windrow.formats.html.outline import Anchor, Outline
from windrow.formats.html.vocabulary import groups

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

INLINE = frozenset(
    ["a", "abbr", "acronym", "area", "audio", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "embed", "font", "i", "iframe", "img", "input", "ins", "kbd", "label", "link", "mark", "meta", "mi", "mn", "mo", "object", "picture", "q", "rb", "rp", "rt", "ruby", "s", "samp", "small", "source", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "video", "wbr"]
)
_TIGHT = frozenset(["abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd", "mark", "q", "s", "samp", "small", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr"])  # fmt: skip
_REFERS = {"a": "href", "area": "href", "iframe": "src", "embed": "src", "object": "data", "audio": "src",
           "video": "src", "img": "src", "form": "action"}  # fmt: skip
_NAMING = ("class", "id", "role", "itemprop")
_DEEPEST = 200
_CODE, _PRE = int(Mark.CODE), "pre"
_TIGHT_END, _LOOSE_END, _ANCHOR_END, _CODE_END, _QUOTE_END, _DEEP_END = -1, -2, -3, -4, -5, -6


def walk(body: LexborNode | None) -> Outline:
    """Lay the tree below this element flat."""
    pen = _Pen()
    if body is None:
        return pen.outline
    open_ids, ends = [body.mem_id], [0]
    nodes = body.traverse(include_text=True)
    next(nodes)
    parts = pen.parts
    for node in nodes:
        parent = node.parent
        above = parent.mem_id if parent is not None else 0
        while open_ids[-1] != above and len(open_ids) > 1:
            open_ids.pop()
            pen.close(ends.pop())
        tag = node.tag or "-"
        if tag == "-text":
            text = node.text_content
            if text:
                parts.append(text)
                if pen.watching:
                    pen.watch(text)
        elif tag == "br":
            pen.newline()
        elif tag[0] not in "-!":
            open_ids.append(node.mem_id)
            ends.append(pen.inline(tag, node) if tag in INLINE else pen.open(tag, node))
    while ends:
        pen.close(ends.pop())
    return pen.outline


class _Pen:
    """What has been laid flat so far, and the block and the anchor that are being written."""

    __slots__ = ("_anchor", "_box", "_code", "_kinds", "_linked", "_links", "_paths", "_quote", "_style", "lines",
                 "outline", "parts", "watching")  # fmt: skip

    def __init__(self) -> None:
        self.outline = Outline()
        self.parts: list[str] = []
        self.lines: list[str] = []
        self.watching = 0  # how many anchors, code and quote elements are open
        self._box = -1
        self._kinds: dict[tuple[str, str], int] = {}
        self._paths: dict[tuple[int, int], int] = {}
        self._anchor: _Open | None = None
        self._code: list[list[str]] = []
        self._quote: list[list[str]] = []
        self._linked = self._links = self._style = 0
        self._box_of("body", {})

    def watch(self, text: str) -> None:
        """Take text also for what is open in the line: an anchor, code, a quotation."""
        if self._anchor is not None:
            self._anchor.parts.append(text)
            self._linked += len(text.split())
        for pieces in self._code:
            pieces.append(text)
        for pieces in self._quote:
            pieces.append(text)

    def newline(self) -> None:
        """End a line within the block."""
        self.lines.append("".join(self.parts))
        self.parts.clear()
        if self._anchor is not None:
            self._anchor.parts.append(" ")

    def inline(self, tag: str, node: LexborNode) -> int:
        """Open an element in the line of text; return what to do at its end."""
        if tag in _TIGHT:
            return self._mark_up(tag) if tag in {"code", "samp", "kbd", "q"} else _TIGHT_END
        self.parts.append(" ")
        if tag == "span":
            name = node.attributes.get("class")
            if name:
                self._style |= groups(name)
        elif tag in _REFERS:
            return self._refer(tag, node)
        return _LOOSE_END

    def _mark_up(self, tag: str) -> int:
        self.watching += 1
        if tag == "q":
            self._quote.append([])
            return _QUOTE_END
        self._code.append([])
        return _CODE_END

    def _refer(self, tag: str, node: LexborNode) -> int:
        attributes = node.attributes
        if tag == "img" and self._anchor is not None:
            self._anchor.spare = self._anchor.spare or attributes.get("alt") or ""
        href = attributes.get(_REFERS[tag])
        if href is None:
            return _LOOSE_END
        marks = self.outline.boxes.marks[self._box] | (_CODE if self._code else 0)
        spare = attributes.get("aria-label") or attributes.get("title") or attributes.get("alt") or ""
        rel = attributes.get("rel") or ""
        if tag != "a":
            self.outline.anchors.append(Anchor(tag, href, rel, " ".join(spare.split()), marks, False))
            return _LOOSE_END
        name = attributes.get("class")
        if name:
            self._style |= groups(name)
        self.watching += 1
        self._links += 1
        self._anchor = _Open(len(self.outline.anchors), spare)
        self.outline.anchors.append(Anchor(tag, href, rel, "", marks, False))
        return _ANCHOR_END

    def open(self, tag: str, node: LexborNode) -> int:
        """Open a box; return its number, or what to do at the end where it lies too deep to be one."""
        self._flush()
        if self._anchor is not None:
            self._anchor.parts.append(" ")
        if self.outline.boxes.depth[self._box] >= _DEEPEST:
            return _DEEP_END
        attributes = node.attributes
        if tag == "form":
            self._refer(tag, node)
        self._box_of(tag, attributes)
        if self._anchor is not None and len(tag) == 2 and "h1" <= tag <= "h6":
            self._anchor.headline = True
        return self._box

    def _box_of(self, tag: str, attributes: dict[str, str | None]) -> None:
        boxes = self.outline.boxes
        up = self._box
        name = attributes.get("class") or ""
        kind = self._kinds.setdefault((tag, name), len(self._kinds))
        step = (boxes.path[up] if up >= 0 else -1, kind)
        boxes.path.append(self._paths.setdefault(step, len(self._paths)))
        boxes.kind.append(kind)
        boxes.tag.append(tag)
        boxes.up.append(up)
        boxes.depth.append(boxes.depth[up] + 1 if up >= 0 else 0)
        above = boxes.marks[up] if up >= 0 else 0
        own = marks(tag, attributes) | (_CODE if self._code else 0)
        boxes.marks.append(above | own)
        named = 0
        if attributes:
            for attribute in _NAMING:
                names = attributes.get(attribute)
                if names:
                    named |= groups(names)
        if "-" in tag:
            named |= groups(tag)
        boxes.names.append(named)
        self._box = len(boxes.tag) - 1

    def close(self, end: int) -> None:
        """Close what `open` or `inline` opened."""
        if end >= 0:
            self._flush()
            self._box = self.outline.boxes.up[end]
        elif end == _LOOSE_END:
            self.parts.append(" ")
        elif end == _ANCHOR_END:
            self.parts.append(" ")
            self._end_anchor()
        elif end == _DEEP_END:
            self._flush()
        elif end != _TIGHT_END:
            self._end_mark_up(end)

    def _end_anchor(self) -> None:
        self.watching -= 1
        anchor = self._anchor
        if anchor is None:
            return
        self._anchor = None
        text = " ".join("".join(anchor.parts).split()) or " ".join(anchor.spare.split())
        anchors = self.outline.anchors
        anchors[anchor.at] = anchors[anchor.at]._replace(text=text, headline=anchor.headline)

    def _end_mark_up(self, end: int) -> None:
        self.watching -= 1
        pieces, found = (
            (self._code, self.outline.blocks.code) if end == _CODE_END else (self._quote, self.outline.blocks.quote)
        )
        text = " ".join("".join(pieces.pop()).split())
        if text:
            found.setdefault(len(self.outline.blocks.text), []).append(text)

    def _flush(self) -> None:
        """End the block, if it holds any text."""
        parts, lines = self.parts, self.lines
        if not parts and not lines:
            return
        boxes, blocks = self.outline.boxes, self.outline.blocks
        text = "".join(parts)
        parts.clear()
        if boxes.tag[self._box] == _PRE:
            lines.append(text)
            text = "\n".join(line.rstrip() for line in "\n".join(lines).split("\n")).strip("\n")
            words = len(text.split())
        elif lines:
            lines.append(text)
            rows = [line.split() for line in lines]
            words = sum(map(len, rows))
            text = "\n".join(" ".join(row) for row in rows if row)
        else:
            row = text.split()
            words = len(row)
            text = " ".join(row)
        lines.clear()
        if words:
            blocks.text.append(text)
            blocks.words.append(words)
            blocks.linked.append(min(self._linked, words))
            blocks.links.append(self._links)
            blocks.box.append(self._box)
            blocks.style.append(self._style)
        self._linked = self._links = self._style = 0


class _Open:
    """An anchor that is open."""

    __slots__ = ("at", "headline", "parts", "spare")

    def __init__(self, at: int, spare: str) -> None:
        self.at = at
        self.spare = spare
        self.parts: list[str] = []
        self.headline = False
