"""Read the dates that a page shows of itself where its head tells none: microformats, and the header of its article."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.formats.html.head import PageHead, dated
from windrow.formats.moment import written

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_LONGEST = 60  # characters of a date


def stamped(said: PageHead, tree: LexborHTMLParser, text: str) -> PageHead:
    """Return the head with the dates that the page, written as `text`, shows elsewhere.

    `dt-published` and `dt-updated` (microformats2, h-entry) count where all of a page agree, since a list of entries
    has one for each; so does `itemprop` (microdata). A `time` in an article's header counts where it is the only
    article, or its header holds an `h1`. What else there is of `time` counts where it is one, or all of a page agree.
    """
    published, modified = said.published, said.modified
    if not published:
        published = dated(
            _property(tree, text, "datePublished"),
            _entry(tree, text, "dt-published"),
            *(_times(tree) if "<time" in text else ()),
        )
    if not modified:
        modified = dated(_property(tree, text, "dateModified"), _entry(tree, text, "dt-updated"))
    if (published, modified) == (said.published, said.modified):
        return said
    return replace(said, published=published, modified=modified)


def _entry(tree: LexborHTMLParser, text: str, name: str) -> str:
    if name not in text:  # found much sooner than in the tree
        return ""
    told = {_value(node) for node in tree.css(f".{name}")}
    return told.pop() if len(told) == 1 else ""


def _property(tree: LexborHTMLParser, text: str, name: str) -> str:
    if name not in text:
        return ""
    told = {_value(node) for node in tree.css(f"[itemprop~={name}]")}
    return told.pop() if len(told) == 1 else ""


def _times(tree: LexborHTMLParser) -> Iterator[str]:
    yield _article(tree)
    told = {written(_value(node)) for node in tree.css("time[datetime]")} - {None}
    if len(told) == 1:
        yield next(filter(written, map(_value, tree.css("time[datetime]"))))


def _article(tree: LexborHTMLParser) -> str:
    found = tree.css_first("article header time[datetime]")
    if found is not None and len(tree.css("article")) > 1:
        found = tree.css_first("article header:has(h1) time[datetime]")
    return _value(found) if found is not None else ""


def _value(node: LexborNode) -> str:
    """Return a date as it is told: for machines, else as it is shown."""
    attributes = node.attributes
    told = (
        attributes.get("datetime")
        or attributes.get("content")
        or attributes.get("value")
        or attributes.get("title")
        or node.text()
        or ""
    )
    return " ".join(told[:_LONGEST].split())
