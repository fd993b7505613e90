"""The manual in the web view: a list of its pages, a search in them, and each page as HTML."""

from __future__ import annotations

import posixpath
import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from windrow.app import Windrow
from windrow.app.manual import manual_pages, read_page, read_title
from windrow.errors import WindrowError
from windrow.reasons import Reason
from windrow.web.query import PageQuery

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


class ManualEntry(NamedTuple):
    """A page of the manual in a list: its name, its title, and the first line that has a searched word."""

    name: str
    title: str
    line: str


class ManualList(NamedTuple):
    """The pages of the manual that have all words of a query, or all pages."""

    query: str
    pages: tuple[ManualEntry, ...]


class ManualPage(NamedTuple):
    """A page of the manual, as Markdown."""

    name: str
    title: str
    text: str


def list_manual(_workspace: Windrow, query: PageQuery) -> ManualList:
    """Return the pages of the manual that have all words of the query `q`; those with a word in the title first."""
    text = query.text("q")
    words = text.casefold().split()
    entries = []
    for name, path in manual_pages().items():
        page, title = read_page(path), read_title(path)
        if all(word in page.casefold() for word in words):
            lines = (line.strip("|# ") for line in page.splitlines()[1:])
            found = next((line for line in lines if words and words[0] in line.casefold()), "")
            entries.append(ManualEntry(name, title, found))
    has_word = {entry.name for entry in entries if any(word in entry.title.casefold() for word in words)}
    return ManualList(text, tuple(sorted(entries, key=lambda entry: (entry.name not in has_word, entry.name))))


def open_manual(name: str) -> ManualPage:
    """Return a page of the manual; raise WindrowError if there is none with this name."""
    path = manual_pages().get(name)
    if path is None:
        raise WindrowError(f"the manual has no page {name!r}", hint="windrow help", reason=Reason.NOT_FOUND)
    return ManualPage(name, read_title(path), read_page(path))


_NAME_CELL = re.compile(r"`([\w.-]+)`")


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 most visits need no manual

    return MarkdownIt("commonmark", {"html": False}).enable("table")


def render_manual(page: ManualPage, root: str) -> Markup:
    """Return a page of the manual as HTML, with links to other pages of it below `root`.

    Headings have anchors, and so has each row of a table that begins with a name, such as that of a reason.
    """
    tokens = _reader().parse(page.text)
    anchors: set[str] = set()
    for place, token in enumerate(tokens):
        text = tokens[place + 1].content if place + 1 < len(tokens) else ""
        name = ""
        if token.type == "heading_open":
            name = anchor(text)
        elif token.type == "tr_open" and (cell := _NAME_CELL.fullmatch(tokens[place + 2].content)):
            name = cell[1]
        if name and name not in anchors:
            anchors.add(name)
            token.attrSet("id", name)
        if token.type == "table_open":
            token.attrSet("class", "manual")
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("href", resolve(page.name, str(child.attrGet("href") or ""), root))
    return Markup(_reader().renderer.render(tokens, _reader().options, {}))  # noqa: S704 HTML in pages is escaped


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as code hosts make it.

    >>> anchor("What `windrow run` does, in short")
    'what-windrow-run-does-in-short'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def resolve(name: str, target: str, root: str) -> str:
    """Return the address in the web view of what the page `name` links to; other sites' addresses are unchanged.

    What is not a page of the manual, such as a file of the source code, leads to the list of pages.

    >>> resolve("howto/export", "../reference/search.md#filters", "")
    '/help/reference/search#filters'
    >>> resolve("howto/export", "#csv", ""), resolve("glossary", "https://a.example/", "")
    ('#csv', 'https://a.example/')
    """
    path, mark, fragment = target.partition("#")
    if not path or "://" in path:
        return target
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
    is_page = joined.endswith(".md") and not joined.startswith("..") and not joined.endswith("README.md")
    return f"{root}/help/{joined.removesuffix('.md')}{mark}{fragment}" if is_page else f"{root}/help"
