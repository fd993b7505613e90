"""Write a page's outline while its tree is walked."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.formats.html.mark import Mark, marks
from windrow.formats.html.outline import Anchor, Blocks, Boxes, Outline
from windrow.formats.html.vocabulary import groups

TIGHT_END, LOOSE_END, ANCHOR_END, CODE_END, QUOTE_END, DEEP_END = -1, -2, -3, -4, -5, -6

Attributes = Mapping[str, str | None]

_REFERS = {"a": "href", "area": "href", "iframe": "src", "embed": "src", "object": "data", "audio": "src",
           "video": "src", "img": "src", "form": "action"}  # fmt: skip
_NAMING = ("class", "id", "role", "itemprop")
_SHAPING = (*_NAMING, "style", "aria-hidden")
_DEEPEST = 200
_CODE, _PRE = int(Mark.CODE), "pre"
_HEADLINES = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})


class Pen:
    """What has been laid flat so far, and the block and the anchor that are being written."""

    __slots__ = (
        "_anchor", "_anchors", "_blocks", "_code", "_kinds", "_linked", "_links", "_paths", "_quote", "_shapes",
        "box", "lines", "parts", "rows", "watching",
    )  # fmt: skip

    def __init__(self) -> None:
        """Begin with the body's box."""
        self.rows: list[tuple[str, int, int, int, int, int, int]] = []
        """Of boxes, in the order of the columns of `Boxes`."""
        self._blocks = Blocks()
        self._anchors: list[Anchor] = []
        self.parts: list[str] = []
        self.lines: list[str] = []
        self.box = -1
        self.watching = 0  # how many anchors, code and quote elements are open
        self._kinds: dict[tuple[str, str], int] = {}
        self._paths: dict[tuple[int, int], int] = {}
        self._shapes: dict[tuple[str | bool | None, ...], tuple[int, int, int]] = {}
        self._anchor: _Open | None = None
        self._code: list[str] | None = None
        self._quote: list[str] | None = None
        self._linked = self._links = 0
        self.open("body", {})

    def done(self) -> Outline:
        """Return what was laid flat."""
        return Outline(Boxes(*map(list, zip(*self.rows, strict=True))), self._blocks, self._anchors)

    def watch(self, text: str) -> None:
        """Take text also for what is open in the line: an anchor, code, a quotation."""
        if self._anchor is not None:
            self._anchor.parts.append(text)
            self._linked += len(text.split())
        if self._code is not None:
            self._code.append(text)
        if self._quote is not None:
            self._quote.append(text)

    def newline(self) -> None:
        """End a line within the block."""
        if self.parts:
            self.lines.append("".join(self.parts))
            self.parts.clear()
        if self._anchor is not None:
            self._anchor.parts.append(" ")

    def mark_up(self, end: int) -> int:
        """Open code or a quotation within the line; return its end. One within its like is ignored."""
        if (self._code if end == CODE_END else self._quote) is not None:
            return TIGHT_END
        self.watching += 1
        if end == CODE_END:
            self._code = []
        else:
            self._quote = []
        return end

    def refer(self, tag: str, attributes: Attributes) -> bool:
        """Note what an element refers to; return whether it is an anchor that was opened."""
        if tag == "img":
            if self._anchor is not None and not self._anchor.spare:
                self._anchor.spare = attributes.get("alt") or ""
            return False
        href = attributes.get(_REFERS[tag])
        if href is None:
            return False
        where = self.rows[self.box][3] | (_CODE if self._code is not None else 0)
        spare = attributes.get("aria-label") or attributes.get("title") or attributes.get("alt") or ""
        rel = attributes.get("rel") or ""
        anchors = self._anchors
        anchors.append(Anchor(tag, href, rel, " ".join(spare.split()), where, False))
        if tag != "a":
            return False
        self.watching += 1
        self._links += 1
        self._anchor = _Open(len(anchors) - 1, spare)
        return True

    def open(self, tag: str, attributes: Attributes) -> int:
        """Open a box; return its number, or what to do at its end where it lies too deep to be one."""
        if self.parts or self.lines:
            self.flush()
        if self._anchor is not None:
            self._anchor.headline |= tag in _HEADLINES
        rows, up = self.rows, self.box
        if up < 0:
            above, around, depth = -1, 0, 0
        else:
            _, _, depth, around, _, above, _ = rows[up]
            depth += 1
            if depth > _DEEPEST:
                return DEEP_END
        if tag == "form":
            self.refer(tag, attributes)
        kind, own, named = self._shape(tag, attributes)
        paths, step = self._paths, (above, kind)
        path = paths.get(step)
        if path is None:
            path = paths[step] = len(paths)
        marked = around | own | _CODE if self._code is not None else around | own
        self.box = len(rows)
        rows.append((tag, up, depth, marked, named, path, kind))
        return self.box

    def _shape(self, tag: str, attributes: Attributes) -> tuple[int, int, int]:
        """Return the kind, the marks and the groups of names of a box; most boxes are shaped like one before."""
        if not attributes:
            key: tuple[str | bool | None, ...] = (tag,)
        elif len(attributes) == 1 and "class" in attributes:
            key = (tag, attributes["class"])
        else:
            key = (tag, *map(attributes.get, _SHAPING), "hidden" in attributes)
        shape = self._shapes.get(key)
        if shape is None:
            named = groups(tag) if "-" in tag else 0
            for attribute in _NAMING:
                names = attributes.get(attribute)
                if names:
                    named |= groups(names)
            name = attributes.get("class") or ""
            kind = self._kinds.setdefault((tag, name), len(self._kinds))
            shape = self._shapes[key] = (kind, marks(tag, attributes), named)
        return shape

    def close(self, end: int) -> None:
        """Close what was opened."""
        if end >= 0:
            self.flush()
            self.box = self.rows[end][1]
        elif end == DEEP_END:
            self.flush()
        elif end == ANCHOR_END:
            self.parts.append(" ")
            self._end_anchor()
        elif end in {CODE_END, QUOTE_END}:
            self._end_mark_up(end)

    def _end_anchor(self) -> None:
        self.watching -= 1
        anchor = self._anchor
        if anchor is None:
            return
        self._anchor = None
        text = " ".join("".join(anchor.parts).split()) or " ".join(anchor.spare.split())
        anchors = self._anchors
        tag, href, rel, _, where, _ = anchors[anchor.at]
        anchors[anchor.at] = Anchor(tag, href, rel, text, where, anchor.headline)

    def _end_mark_up(self, end: int) -> None:
        self.watching -= 1
        blocks = self._blocks
        if end == CODE_END:
            pieces, found, self._code = self._code, blocks.code, None
        else:
            pieces, found, self._quote = self._quote, blocks.quote, None
        text = " ".join("".join(pieces or ()).split())
        if text:
            found.setdefault(len(blocks.text), []).append(text)

    def flush(self) -> None:
        """End the block, if it holds any text."""
        parts, lines = self.parts, self.lines
        text = "".join(parts)
        if self.rows[self.box][0] == _PRE:
            text = "\n".join(line.rstrip() for line in "\n".join([*lines, text]).split("\n")).strip("\n")
            words = len(text.split())
        elif lines:
            rows = [line.split() for line in (*lines, text)]
            words = sum(map(len, rows))
            text = "\n".join(" ".join(row) for row in rows if row)
        else:
            row = text.split()
            words = len(row)
            text = " ".join(row)
        parts.clear()
        lines.clear()
        if self.watching:
            self._pass_on()
        if words:
            blocks = self._blocks
            blocks.text.append(text)
            blocks.words.append(words)
            blocks.linked.append(min(self._linked, words))
            blocks.links.append(self._links)
            blocks.box.append(self.box)
        self._linked = self._links = 0

    def _pass_on(self) -> None:
        """Go on into the next block with what is open in the line: a link's text grows, code and quotations end."""
        if self._anchor is not None:
            self._anchor.parts.append(" ")
        if self._code:
            self._code.clear()
        if self._quote:
            self._quote.clear()


class _Open:
    """An anchor that is open."""

    __slots__ = ("at", "headline", "parts", "spare")

    def __init__(self, at: int, spare: str) -> None:
        self.at = at
        self.spare = spare
        self.parts: list[str] = []
        self.headline = False
