"""How each kind of block, and each table, is written as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from windrow.content.outline import attribute

_SPAN = 50  # columns, or rows, that one cell is taken to reach over
_LONG = 1_000  # characters of a cell that is no text of a table any more
_MOST = 20_000  # cells
_CELL_BLOCK = re.compile(r"(?:- |\d+[.)] |> |#{1,6} |```|\|)")
_ALIGNED = re.compile(rb"(?:text-align:\s*| align=\")(left|right|center)")
_LINES = {b"left": ":--", b"right": "--:", b"center": ":-:"}


class TableRow(NamedTuple):
    """A row: the blocks of each cell, and the cells' tags."""

    cells: list[list[str]]
    tags: list[bytes]


def table(rows: Sequence[TableRow]) -> list[str]:
    """Return a table's blocks: one, or those of its cells where it only lays a page out."""
    rows = [row for row in rows if row.cells]
    width = max((len(row.cells) for row in rows), default=0)
    cells = [cell for row in rows for cell in row.cells]
    if width < 2 or len(cells) > _MOST or any(map(_is_wide, cells)):
        return [block for cell in cells for block in cell]
    if not any(cells):
        return []
    grid = _grid(rows)
    columns = max(map(len, grid))
    for line in grid:
        line.extend([""] * (columns - len(line)))
    if not _is_head(rows[0]):
        grid.insert(0, [""] * columns)
    written = ["| " + " | ".join(line) + " |" for line in grid]
    written.insert(1, "| " + " | ".join(_lines(rows[0], columns)) + " |")
    return ["\n".join(written)]


def _is_wide(cell: Sequence[str]) -> bool:
    """Tell whether a cell holds what no cell of Markdown can: lists, code, headlines, or a lot of text."""
    return sum(map(len, cell)) > _LONG or any(_CELL_BLOCK.match(block) for block in cell)


def _is_head(row: TableRow) -> bool:
    return all(tag.startswith(b"th") for tag in row.tags)


def _grid(rows: Sequence[TableRow]) -> list[list[str]]:
    """Lay the cells out, with empty ones where others reach over."""
    grid: list[list[str]] = []
    reach: dict[int, int] = {}  # by column: for how many rows more a cell above reaches down
    for row in rows:
        line: list[str] = []
        for blocks, tag in zip(row.cells, row.tags, strict=True):
            _reached(line, reach)
            wide, down = _span(tag, b' colspan="'), _span(tag, b' rowspan="')
            for at in range(len(line), len(line) + wide):
                if down > 1:
                    reach[at] = down - 1
            line += [_cell(blocks), *[""] * (wide - 1)]
        _reached(line, reach)
        grid.append(line)
    return grid


def _reached(line: list[str], reach: dict[int, int]) -> None:
    """Add the cells that others above reach into."""
    while reach.get(len(line), 0) > 0:
        reach[len(line)] -= 1
        line.append("")


def _span(tag: bytes, name: bytes) -> int:
    told = attribute(tag, name)
    return max(1, min(int(told), _SPAN)) if told.isascii() and told.isdecimal() and len(told) < 6 else 1


def _cell(blocks: Sequence[str]) -> str:
    text = " ".join(" ".join(blocks).split())
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def _lines(row: TableRow, columns: int) -> list[str]:
    """Return what stands below the head: how each column is aligned."""
    found = [_ALIGNED.search(tag) for tag in row.tags]
    lines = [_LINES[one[1]] if one else "---" for one in found]
    return (lines + ["---"] * columns)[:columns]


_STRESSED = re.compile(r"(?<![*\\])\*(?!\*)")
_BLOCK = re.compile(r"!\[|[-#>|`]|\d+[.)] ")
_HASHES = re.compile(r"^#{1,6} ")
_LANGUAGE = re.compile(r"(?:lang(?:uage)?-|brush:\s*|highlight-(?:source|text)-|sourceCode\s+)([A-Za-z0-9+#_-]{1,30})")
_TICKS = re.compile(r"`+")


class Frame:
    """A block that is open: the blocks in it, and what its kind needs to be written.

    `tag` is its start tag, without its brackets.
    """

    __slots__ = ("blocks", "data", "kind", "number", "rows", "tag")

    def __init__(self, kind: str, tag: bytes) -> None:
        """Open a block."""
        self.kind = kind
        self.tag = tag
        self.blocks: list[str] = []
        self.data: list[str] = []  # of preformatted text
        self.rows: list[TableRow] = []  # of a table
        self.number = 0


def _indented(text: str, by: str) -> str:
    return "\n".join(by + one if one else one for one in text.split("\n"))


# How each kind of block is written.


def _flow(frame: Frame) -> list[str]:
    return frame.blocks


def _heading(frame: Frame) -> list[str]:
    text = " ".join(" ".join(_HASHES.sub("", block) for block in frame.blocks).split())
    text = re.sub(r"(#+)$", r"\\\1", text)
    return [f"{'#' * int(frame.tag[1:2])} {text}"] if text else []


def _caption(frame: Frame) -> list[str]:
    return [block if _STRESSED.search(block) or _BLOCK.match(block) else f"*{block}*" for block in frame.blocks]


def _term(frame: Frame) -> list[str]:
    return [block if "**" in block else f"**{block}**" for block in frame.blocks]


def _quotation(frame: Frame) -> list[str]:
    text = "\n\n".join(frame.blocks)
    return ["\n".join(f"> {one}" if one else ">" for one in text.split("\n"))] if text else []


def _preformatted(frame: Frame) -> list[str]:
    text = "".join(frame.data).replace("\r\n", "\n").strip("\n")
    if not text.strip():
        return []
    named = _LANGUAGE.search(frame.tag.decode("utf-8", "replace"))
    ticks = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    return [f"{ticks}{named[1].lower() if named else ''}\n{text}\n{ticks}"]


def _list(frame: Frame) -> list[str]:
    """Write a list; each of its blocks is an item."""
    if not frame.blocks:
        return []
    start = attribute(frame.tag, b' start="')
    number = int(start) if start.isdecimal() and len(start) < 9 else 1
    loose = any("\n\n" in block and not block.startswith("```") for block in frame.blocks)
    items = []
    for at, block in enumerate(frame.blocks):
        marker = f"{number + at}. " if frame.kind == "numbers" else "- "
        items.append(marker + _indented(block, " " * len(marker))[len(marker) :])
    return [("\n\n" if loose else "\n").join(items)]


def _table(frame: Frame) -> list[str]:
    return frame.blocks + table(frame.rows)


def joined_item(blocks: Sequence[str]) -> list[str]:
    """Return the blocks of an item, a list right behind the text before it."""
    joined: list[str] = []
    for block in blocks:
        if joined and _LISTED.match(block) and not joined[-1].startswith("```"):
            joined[-1] = f"{joined[-1]}\n{block}"
        else:
            joined.append(block)
    return joined


_LISTED = re.compile(r"- |1\. ")  # what may stand in a paragraph's next line as a list


def into_last_item(parent: Frame, written: list[str]) -> None:
    """Put a list that stands between items into the one before it."""
    if parent.blocks and written:
        parent.blocks[-1] = f"{parent.blocks[-1]}\n{written[0]}"
    else:
        parent.blocks += written


def apart(before: Sequence[str], written: list[str]) -> list[str]:
    """Give a list that follows another one a marker of its own, since they would be one list."""
    if before and written and before[-1].startswith("- ") and written[0].startswith("- "):
        return [re.sub(r"(?m)^- ", "* ", written[0])]
    if before and written and re.match(r"\d+\. ", before[-1]) and re.match(r"\d+\. ", written[0]):
        return [re.sub(r"(?m)^(\d+)\. ", r"\1) ", written[0])]
    return written


WRITERS: dict[str, Callable[[Frame], list[str]]] = {
    "flow": _flow, "heading": _heading, "caption": _caption, "term": _term, "quote": _quotation, "pre": _preformatted,
    "bullets": _list, "numbers": _list, "item": _flow, "table": _table,
}  # fmt: skip
