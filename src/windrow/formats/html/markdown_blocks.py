"""How each kind of block is written as Markdown, from the blocks in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from windrow.formats.html.element import attribute
from windrow.formats.html.tables import TableRow, table

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
    text = " ".join(" ".join(_HASHES.sub("", one) for one in frame.blocks).split())
    text = re.sub(r"(#+)$", r"\\\1", text)
    return [f"{'#' * int(frame.tag[1:2])} {text}"] if text else []


def _caption(frame: Frame) -> list[str]:
    return [one if _STRESSED.search(one) or _BLOCK.match(one) else f"*{one}*" for one in frame.blocks]


def _term(frame: Frame) -> list[str]:
    return [one if "**" in one else f"**{one}**" for one in frame.blocks]


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
