"""Convert Markdown (CommonMark 0.31, tables, strike-through) to HTML; read its front matter, such as title and date."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from windrow.caps import MARKDOWN_CHARACTERS

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MAX_CHARACTERS = MARKDOWN_CHARACTERS.number
"""The maximum number of characters that callers convert: in the worst case each takes about 40 microseconds."""

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.{0,8000}?)^(?:---|\.\.\.)[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)
_FRONT_MATTER_LINE = re.compile(r"^([A-Za-z][\w-]{0,40}):[ \t]*(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\n#]*))", re.MULTILINE)


class Markdown(NamedTuple):
    """A document: its body as HTML, and a dict from names in its front matter (lower case) to their one-line values."""

    html: str
    front: Mapping[str, str]


@cache
def _markdown_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 slow to import, and few pages are Markdown

    return MarkdownIt("commonmark", {"html": True, "maxNesting": 50}).enable(["table", "strikethrough"])


def read_markdown(text: str) -> Markdown:
    r"""Convert a text to HTML, and read its front matter. The caller must first cut it to `MAX_CHARACTERS` characters.

    >>> read_markdown("---\ntitle: 'Tea'\n---\n# How\n\n*Hot*")
    Markdown(html='<h1>How</h1>\n<p><em>Hot</em></p>\n', front={'title': 'Tea'})
    """
    front_matter = _FRONT_MATTER.match(text)
    front_values: dict[str, str] = {}
    if front_matter:
        for name, double_quoted, single_quoted, unquoted in _FRONT_MATTER_LINE.findall(front_matter[1]):
            front_values.setdefault(name.lower(), (double_quoted or single_quoted or unquoted).strip())
        text = text[front_matter.end() :]
    return Markdown(_markdown_parser().render(text), front_values)
