"""What a search returns: its results, and the ranges of matches in their snippets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.query.clause import NO_FACETS, FacetCounts
from windrow.query.likeness import Piece
from windrow.query.spelling import Suggestion


class SnippetMark(NamedTuple):
    """A match in a snippet, as the range of characters from `start` up to, but excluding, `end`."""

    start: int
    end: int


def snippet_marks(pieces: Sequence[tuple[str, bool]]) -> tuple[SnippetMark, ...]:
    """Return the ranges of the matches in a text given as pieces: (text, whether it is a match)."""
    marks, start = [], 0
    for text, is_match in pieces:
        if is_match:
            marks.append(SnippetMark(start, start + len(text)))
        start += len(text)
    return tuple(marks)


class SearchResult(NamedTuple):
    """One search result. Title and snippet are given as pieces of which some are matches.

    `details` is its collection's own description, such as a `PageHit`, and `type` is the type of `details` in JSON.
    `at` is when the page or record was last changed or published, or None if that is not known.
    """

    title: Sequence[Piece]
    url: str
    about: str
    snippet: Sequence[Piece]
    remarks: tuple[str, ...]
    type: str
    details: Any
    at: datetime | None = None


class SearchAnswer(NamedTuple):
    """The results of a query from `offset` on, best first, and notes for people.

    `further` is true if there are more results. `relaxed` is true if no document has all the words, so that documents
    with some of them are shown. `documents` is the number of documents that were searched, and `frequency` the number
    of them that have each word. `suggestions` are for words that no document has. `did_you_mean` is the query with
    these suggestions, or "". `counts` are the counts by facet, if they were asked for.
    """

    query: str
    offset: int
    results: tuple[SearchResult, ...]
    notes: tuple[str, ...]
    further: bool
    relaxed: bool
    frequency: Mapping[str, int] = {}
    documents: int = 0
    suggestions: Mapping[str, Suggestion] = {}
    did_you_mean: str = ""
    counts: FacetCounts = NO_FACETS
