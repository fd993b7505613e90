"""Write the rows of a table as Markdown: as a table where its cells are texts, else one cell after the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from windrow.formats.html.element import attribute

_SPAN = 50  # columns, or rows, that one cell is taken to reach over
_LONG = 1_000  # characters of a cell that is no text of a table any more
_MOST = 20_000  # cells
_BLOCK = re.compile(r"(?:- |\d+[.)] |> |#{1,6} |```|\|)")
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
    return sum(map(len, cell)) > _LONG or any(_BLOCK.match(block) for block in cell)


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
