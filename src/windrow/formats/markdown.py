"""Markdown (CommonMark 0.31, with tables) as HTML, and the lines before it that name title, date and language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LONGEST = 256 * 1024
"""Characters that are read as Markdown: the worst take some 40 microseconds each."""

_FRONT = re.compile(r"\A---[ \t]*\r?\n(.{0,8000}?)^(?:---|\.\.\.)[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"^([A-Za-z][\w-]{0,40}):[ \t]*(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\n#]*))", re.MULTILINE)


class Markdown(NamedTuple):
    """A document: its body as HTML, and its front matter's plain values by name in lower case."""

    html: str
    front: Mapping[str, str]


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 slow to load, and few pages are Markdown

    return MarkdownIt("commonmark", {"html": True, "maxNesting": 50}).enable(["table", "strikethrough"])


def read(text: str) -> Markdown:
    r"""Read a text of at most `LONGEST` characters.

    >>> read("---\ntitle: 'Tea'\n---\n# How\n\n*Hot*")
    Markdown(html='<h1>How</h1>\n<p><em>Hot</em></p>\n', front={'title': 'Tea'})
    """
    found = _FRONT.match(text)
    front: dict[str, str] = {}
    if found:
        for name, double, single, bare in _LINE.findall(found[1]):
            front.setdefault(name.lower(), (double or single or bare).strip())
        text = text[found.end() :]
    return Markdown(_reader().render(text), front)
