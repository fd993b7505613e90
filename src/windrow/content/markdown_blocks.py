"""Write blocks and tables as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from windrow.content.outline import read_attribute

_MAX_SPAN = 50  # the most columns or rows of one cell
_MAX_CELL_CHARACTERS = 1_000  # of a cell of data; a longer one is a part of a layout
_MAX_CELLS = 20_000  # the most cells of a table that is written as one
_NOT_IN_CELLS = re.compile(r"(?:- |\d+[.)] |> |#{1,6} |```|\|)")
_ALIGNED = re.compile(rb"(?:text-align:\s*| align=\")(left|right|center)")
_ALIGNMENT_MARKS = {b"left": ":--", b"right": "--:", b"center": ":-:"}


class TableRow(NamedTuple):
    """A row of a table: the blocks of each cell, and the start tag of each cell."""

    cells: list[list[str]]
    tags: list[bytes]


def write_table(rows: Sequence[TableRow]) -> list[str]:
    """Return a table as one block, the blocks of its cells if it is unfit for Markdown, or [] if it has no text."""
    rows = [row for row in rows if row.cells]
    width = max((len(row.cells) for row in rows), default=0)
    cells = [cell for row in rows for cell in row.cells]
    if width < 2 or len(cells) > _MAX_CELLS or any(map(_is_wide, cells)):
        return [block for cell in cells for block in cell]
    if not any(cells):
        return []
    grid = _build_grid(rows)
    column_count = max(map(len, grid))
    for line in grid:
        line.extend([""] * (column_count - len(line)))
    if not all(tag.startswith(b"th") for tag in rows[0].tags):
        grid.insert(0, [""] * column_count)
    table_lines = ["| " + " | ".join(line) + " |" for line in grid]
    table_lines.insert(1, "| " + " | ".join(_write_delimiters(rows[0], column_count)) + " |")
    return ["\n".join(table_lines)]


def _is_wide(cell: Sequence[str]) -> bool:
    """Return whether a cell is unfit for a table: it is long, or has a list, quotation, headline, code or table."""
    return sum(map(len, cell)) > _MAX_CELL_CHARACTERS or any(_NOT_IN_CELLS.match(block) for block in cell)


def _build_grid(rows: Sequence[TableRow]) -> list[list[str]]:
    """Return the table as rows of cells; for a cell that spans several columns or rows, empty cells are added."""
    grid: list[list[str]] = []
    spanned_rows: dict[int, int] = {}  # by column: the number of rows that a cell above spans from here on
    for row in rows:
        line: list[str] = []
        for blocks, tag in zip(row.cells, row.tags, strict=True):
            _add_spanned_cells(line, spanned_rows)
            width, height = _read_span(tag, b' colspan="'), _read_span(tag, b' rowspan="')
            for column in range(len(line), len(line) + width):
                if height > 1:
                    spanned_rows[column] = height - 1
            line += [_write_cell(blocks), *[""] * (width - 1)]
        _add_spanned_cells(line, spanned_rows)
        grid.append(line)
    return grid


def _add_spanned_cells(line: list[str], spanned_rows: dict[int, int]) -> None:
    while spanned_rows.get(len(line), 0) > 0:
        spanned_rows[len(line)] -= 1
        line.append("")


def _read_span(tag: bytes, opening: bytes) -> int:
    span = read_attribute(tag, opening)
    return max(1, min(int(span), _MAX_SPAN)) if span.isascii() and span.isdecimal() and len(span) < 6 else 1


def _write_cell(blocks: Sequence[str]) -> str:
    text = " ".join(" ".join(blocks).split())
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def _write_delimiters(row: TableRow, column_count: int) -> list[str]:
    """Return the cells of the line below the table's head, which align the columns."""
    alignments = [_ALIGNED.search(tag) for tag in row.tags]
    marks = [_ALIGNMENT_MARKS[alignment[1]] if alignment else "---" for alignment in alignments]
    return (marks + ["---"] * column_count)[:column_count]


_EMPHASIS = re.compile(r"(?<![*\\])\*(?!\*)")
_BLOCK_START = re.compile(r"!\[|[-#>|`]|\d+[.)] ")
_IS_NUMBER = re.compile(r"-?\d{1,8}", re.ASCII).fullmatch
_HASHES = re.compile(r"^#{1,6} ")
_LANGUAGE = re.compile(r"(?:lang(?:uage)?-|brush:\s*|highlight-(?:source|text)-|sourceCode\s+)([A-Za-z0-9+#_-]{1,30})")
_BACKTICKS = re.compile(r"`+")


class Frame:
    """An open block element and what was written in it so far.

    `kind` is a key of `WRITERS`, or `row` or `cell`. `tag` is the start tag without brackets.
    """

    __slots__ = ("blocks", "is_implied", "kind", "numbered_tags", "rows", "tag", "texts")

    def __init__(self, kind: str, tag: bytes) -> None:
        self.kind = kind
        self.tag = tag
        self.blocks: list[str] = []
        self.texts: list[str] = []  # of preformatted text
        self.rows: list[TableRow] = []  # of a table
        self.numbered_tags: dict[int, bytes] = {}  # of a list: the start tags of items that state numbers, by index
        self.is_implied = False  # of a list: whether it was opened for a single item and is closed after it


def _indent(text: str, indent: str) -> str:
    return "\n".join(indent + line if line else line for line in text.split("\n"))


# Writers for each kind of block.


def _write_flow(frame: Frame) -> list[str]:
    return frame.blocks


def _write_heading(frame: Frame) -> list[str]:
    text = " ".join(" ".join(_HASHES.sub("", block) for block in frame.blocks).split())
    text = re.sub(r"(#+)$", r"\\\1", text)
    return [f"{'#' * int(frame.tag[1:2])} {text}"] if text else []


def _write_caption(frame: Frame) -> list[str]:
    return [block if _EMPHASIS.search(block) or _BLOCK_START.match(block) else f"*{block}*" for block in frame.blocks]


def _write_term(frame: Frame) -> list[str]:
    return [block if "**" in block else f"**{block}**" for block in frame.blocks]


def _write_quotation(frame: Frame) -> list[str]:
    text = "\n\n".join(frame.blocks)
    return ["\n".join(f"> {line}" if line else ">" for line in text.split("\n"))] if text else []


def _write_preformatted(frame: Frame) -> list[str]:
    text = "".join(frame.texts).replace("\r\n", "\n").strip("\n")
    if not text.strip():
        return []
    language = _LANGUAGE.search(frame.tag.decode("utf-8", "replace"))
    ticks = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return [f"{ticks}{language[1].lower() if language else ''}\n{text}\n{ticks}"]


def _write_list(frame: Frame) -> list[str]:
    """Return a list as one block; each block in the frame is the Markdown of an item."""
    if not frame.blocks:
        return []
    blocks, markers = frame.blocks, ["- "] * len(frame.blocks)
    if frame.kind == "numbers":
        numbers = _number_items(frame)
        if numbers[0] >= 0 and numbers == [*range(numbers[0], numbers[0] + len(numbers))]:
            markers = [f"{number}. " for number in numbers]
        else:  # Markdown only counts upwards, so these numbers are a part of the text
            pairs = zip(numbers, blocks, strict=True)
            blocks = [f"{number}\\.{_separator_before(block)}{block}" for number, block in pairs]
    is_loose = any("\n\n" in block and not block.startswith("```") for block in blocks)
    written_items = [
        marker + _indent(block, " " * len(marker))[len(marker) :] for marker, block in zip(markers, blocks, strict=True)
    ]
    return [("\n\n" if is_loose else "\n").join(written_items)]


def _number_items(frame: Frame) -> list[int]:
    """Return the number of each item of a list as a browser shows it (HTML standard, section 4.4.5)."""
    step = -1 if b' reversed="' in frame.tag else 1
    number = _read_number(frame.tag, b' start="', len(frame.blocks) if step < 0 else 1)
    numbers = []
    for index in range(len(frame.blocks)):
        if index in frame.numbered_tags:
            number = _read_number(frame.numbered_tags[index], b' value="', number)
        numbers.append(number)
        number += step
    return numbers


def _read_number(tag: bytes, opening: bytes, default: int) -> int:
    text = read_attribute(tag, opening)
    return int(text) if _IS_NUMBER(text) else default


def _separator_before(block: str) -> str:
    return "\n\n" if _BLOCK_START.match(block) else " "


def _write_table_frame(frame: Frame) -> list[str]:
    return frame.blocks + write_table(frame.rows)


def join_item(blocks: Sequence[str]) -> list[str]:
    """Return the blocks of an item; a list that needs no empty line before it is joined to the block before it."""
    joined: list[str] = []
    for block in blocks:
        if joined and _ATTACHED_LIST.match(block) and not joined[-1].startswith("```"):
            joined[-1] = f"{joined[-1]}\n{block}"
        else:
            joined.append(block)
    return joined


_ATTACHED_LIST = re.compile(r"- |1\. ")  # a list that may follow a paragraph without an empty line


def append_to_last_item(parent: Frame, blocks: list[str]) -> None:
    """Append a nested list (`blocks`) to the last item of the list `parent`, or add it as the first item."""
    if parent.blocks and blocks:
        parent.blocks[-1] = f"{parent.blocks[-1]}\n{blocks[0]}"
    else:
        parent.blocks += blocks


def separate_list(blocks: Sequence[str], new_list: list[str]) -> list[str]:
    """Return `new_list`, with other markers if the last of the `blocks` before it is a list of the same type.

    With the same markers, both would be read as one list.
    """
    if blocks and new_list and blocks[-1].startswith("- ") and new_list[0].startswith("- "):
        return [re.sub(r"(?m)^- ", "* ", new_list[0])]
    if blocks and new_list and re.match(r"\d+\. ", blocks[-1]) and re.match(r"\d+\. ", new_list[0]):
        return [re.sub(r"(?m)^(\d+)\. ", r"\1) ", new_list[0])]
    return new_list


WRITERS: dict[str, Callable[[Frame], list[str]]] = {
    "flow": _write_flow, "heading": _write_heading, "caption": _write_caption, "term": _write_term,
    "quote": _write_quotation, "pre": _write_preformatted, "bullets": _write_list, "numbers": _write_list,
    "item": _write_flow, "table": _write_table_frame,
}  # fmt: skip
