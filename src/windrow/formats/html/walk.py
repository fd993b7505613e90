"""Lay a parsed page flat: one walk over the tree yields boxes, blocks of text and anchors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.formats.html.pen import ANCHOR_END, CODE_END, LOOSE_END, QUOTE_END, TIGHT_END, Pen

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from windrow.formats.html.outline import Outline

_TIGHT = {
    **dict.fromkeys(
        ("abbr", "b", "bdi", "bdo", "big", "cite", "del", "dfn", "em", "font", "i", "ins", "mark"), TIGHT_END
    ),
    **dict.fromkeys(("s", "small", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr"), TIGHT_END),
    **dict.fromkeys(("code", "kbd", "samp"), CODE_END),
    "q": QUOTE_END,
}
"""Elements in the line of text that do not part words, and what to do at their end."""
_REFERRING = frozenset({"a", "area", "audio", "embed", "iframe", "img", "object", "video"})
_LOOSE = _REFERRING | {"acronym", "data", "input", "label", "link", "meta", "mi", "mn", "mo", "picture", "rb", "rp",
                       "rt", "ruby", "source", "span", "time"}  # fmt: skip
"""Elements in the line of text that are mostly shown apart from what is beside them."""


def walk(body: LexborNode | None) -> Outline:  # noqa: C901, PLR0912 - the one loop over all nodes, a call saved for each
    """Lay the tree below this element flat."""
    pen = Pen()
    if body is None:
        return pen.done()
    parts, lines, rows = pen.parts, pen.lines, pen.rows
    open_ids, ends = [body.mem_id], [0]
    nodes = body.traverse(include_text=True)
    next(nodes)
    for node in nodes:
        parent = node.parent
        above = parent.mem_id if parent is not None else 0
        while open_ids[-1] != above and len(open_ids) > 1:
            open_ids.pop()
            end = ends.pop()
            if end >= 0:
                if parts or lines:
                    pen.flush()
                pen.box = rows[end][1]
            elif end == LOOSE_END:
                if parts:
                    parts.append(" ")
            elif end != TIGHT_END:
                pen.close(end)
        tag = node.tag or "-"
        if tag == "-text":
            text = node.text_content or ""
            if parts or not text.isspace():
                parts.append(text)
                if pen.watching:
                    pen.watch(text)
        elif tag == "br":
            pen.newline()
        elif tag[0] not in "-!":
            open_ids.append(node.mem_id)
            ends.append(_open(pen, tag, node))
    while ends:
        pen.close(ends.pop())
    return pen.done()


def _open(pen: Pen, tag: str, node: LexborNode) -> int:
    """Open an element; return the number of its box, or what else to do at its end."""
    end = _TIGHT.get(tag)
    if end is not None:
        return end if end == TIGHT_END else pen.mark_up(end)
    if tag not in _LOOSE:
        return pen.open(tag, node.attributes)
    if pen.parts:
        pen.parts.append(" ")
    if tag not in _REFERRING:
        return LOOSE_END
    return ANCHOR_END if pen.refer(tag, node.attributes) else LOOSE_END
