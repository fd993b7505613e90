"""Remove the text that a source ignores from its pages, so that a clock, for example, does not change a page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from windrow.collections.pages.reading.document import PageDocument, Pile
from windrow.model import Source


class Ignored(NamedTuple):
    """What a source ignores: the text of elements that CSS `selectors` match, and text that `patterns` match."""

    selectors: tuple[str, ...] = ()
    patterns: tuple[re.Pattern[str], ...] = ()


NOTHING_IGNORED = Ignored()


def find_ignored(source: Source) -> Ignored:
    """Return what a source ignores, from its settings `ignore` and `ignore_text`."""
    selectors, patterns = source.options.get("ignore"), source.options.get("ignore_text")
    return _compile(tuple(selectors or ()), tuple(patterns or ())) if selectors or patterns else NOTHING_IGNORED


@lru_cache(maxsize=64)
def _compile(selectors: tuple[str, ...], patterns: tuple[str, ...]) -> Ignored:
    return Ignored(selectors, tuple(map(re.compile, patterns)))


def remove_ignored(page: PageDocument, patterns: Sequence[re.Pattern[str]]) -> PageDocument:
    """Remove the text that a pattern matches from a page's text, title, headline and description."""
    described = page.description
    title, headline, description = (
        None if text is None else _remove_matches(text, patterns) or None
        for text in (described.title, described.headline, described.description)
    )
    return replace(
        page,
        pile=Pile(*(_remove_matches(text, patterns) for text in page.pile.fields())),
        description=replace(described, title=title, headline=headline, description=description),
    )


def _remove_matches(text: str, patterns: Sequence[re.Pattern[str]]) -> str:
    r"""Remove the text that a pattern matches within a line. A line that becomes empty is removed.

    >>> _remove_matches("Tea\nNow: 08:15\nVisitor 812 of this page", [re.compile(r"Now: [\d:]+|Visitor \d+")])
    'Tea\nof this page'
    """
    lines = []
    for line in text.split("\n"):
        remaining = line
        for pattern in patterns:
            remaining = pattern.sub("", remaining)
        if remaining == line:
            lines.append(line)
        elif remaining := " ".join(remaining.split()):
            lines.append(remaining)
    return "\n".join(lines)
