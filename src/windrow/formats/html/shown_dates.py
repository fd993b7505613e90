"""Dates that a page shows outside of its head, to be believed where its head tells none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from windrow.formats.moment import written

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

DATED = "time[datetime], .dt-published, .dt-updated, [itemprop~=datePublished], [itemprop~=dateModified]"
"""Selects the elements that hold them: HTML's `time`, microformats2 (h-entry), microdata."""
_LONGEST = 60  # characters of a date


def published_dates(tree: LexborHTMLParser, elements: Sequence[LexborNode]) -> Iterator[str]:
    """Yield what may be the date of publication, the most trusted first; `elements` are those that `DATED` selects.

    `dt-published` counts where all of a page agree, since a list of entries has one for each; so does `itemprop`. A
    `time` in an article's header counts where it is the only article, or its header holds an `h1`. What else there is
    of `time` counts where it is one, or all of a page agree.
    """
    yield _only_value(elements, "itemprop", "datePublished")
    yield _only_value(elements, "class", "dt-published")
    times = [element for element in elements if element.tag == "time" and "datetime" in element.attributes]
    if times:
        yield _in_article_header(tree)
        values = [value for value in map(_value, times) if written(value)]
        if len({written(value) for value in values}) == 1:
            yield values[0]


def modified_dates(elements: Sequence[LexborNode]) -> Iterator[str]:
    """Yield what may be the date of the last change, the most trusted first."""
    yield _only_value(elements, "itemprop", "dateModified")
    yield _only_value(elements, "class", "dt-updated")


def _only_value(elements: Sequence[LexborNode], attribute: str, word: str) -> str:
    """Return the date in the elements that have this word in the attribute; empty if they do not agree."""
    values = {_value(element) for element in elements if word in (element.attributes.get(attribute) or "").split()}
    return values.pop() if len(values) == 1 else ""


def _in_article_header(tree: LexborHTMLParser) -> str:
    time = tree.css_first("article header time[datetime]")
    if time is not None and len(tree.css("article")) > 1:
        time = tree.css_first("article header:has(h1) time[datetime]")
    return _value(time) if time is not None else ""


def _value(element: LexborNode) -> str:
    """Return a date as it is written for machines, else as it is shown."""
    attributes = element.attributes
    date = (
        attributes.get("datetime")
        or attributes.get("content")
        or attributes.get("value")
        or attributes.get("title")
        or element.text()
        or ""
    )
    return " ".join(date[:_LONGEST].split())
