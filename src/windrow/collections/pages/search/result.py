"""What a search answers, as values: text is text, never HTML; and how a ranked page becomes one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from windrow.collections.pages.database.search_view import IndexedGeneration
from windrow.collections.pages.search.rank import Ranked, ScorePart
from windrow.query.snippet import Piece, marked, snippet


@dataclass(frozen=True, slots=True)
class Result:
    """One page found. Times are UNIX seconds.

    `more` counts other pages with the same text, which are folded into this one, `near` those among them whose
    text is only nearly the same. `standing` is the URL of the page that stands for all of them, where that is
    another one. `uncertain` is true where the time asked for lies after the page was seen last and before it
    was known to be gone or changed, or after it was asked for in vain.
    """

    generation: int
    uuid: bytes
    url: str
    title: tuple[Piece, ...]
    snippet: tuple[Piece, ...]
    description: str | None
    language: str | None
    published: int | None
    updated: int | None
    first_seen: int
    last_seen: int
    end: int | None
    more: int
    near: int
    standing: str | None
    uncertain: bool
    score: float
    parts: tuple[ScorePart, ...]


@dataclass(frozen=True, slots=True)
class ResultPage:
    """One page of results, from `offset`; `further` says whether there are more behind them.

    `relaxed` is true where no page has all the words, and those with most of them are shown.
    """

    results: tuple[Result, ...]
    offset: int
    further: bool
    relaxed: bool
    notes: tuple[str, ...]
    frequency: Mapping[str, int] = field(default_factory=dict)  # in how many pages each word stands
    documents: int = 0


class Shown(NamedTuple):
    """What is shown: a page, how many URLs have each text, and the time that was asked for.

    `group` counts the URLs of its group, whose texts are the same or nearly; `standing` is the one that stands for it.
    `absent` says that it was asked for in vain between its last confirmation and that time.
    """

    ranked: Ranked
    alike: Mapping[int, int]
    as_of: int | None
    group: int = 1
    standing: str | None = None
    absent: bool = False


def grouped(what: Shown, other: IndexedGeneration, size: int, *, free: bool) -> Shown:
    """Tell of a page that `other` stands for its group, which has so many URLs.

    Where the search is `free` of filters, which might not let that one in, the very same text is shown at its address.
    """
    told = what._replace(group=size, standing=other.url)
    candidate = what.ranked.candidate
    if not free or other.pile != candidate.page.pile:
        return told
    return told._replace(ranked=what.ranked._replace(
        candidate=candidate._replace(page=other._replace(text=candidate.page.text))
    ))  # fmt: skip


def shown(what: Shown, find: re.Pattern[str] | None) -> Result:
    """Return the result. A page without a title is called by its headline, or its address."""
    page = what.ranked.candidate.page
    same = max(0, what.alike.get(page.pile, 1) - 1) if page.pile is not None else 0
    more = max(same, what.group - 1)
    return Result(
        generation=page.id,
        uuid=page.uuid,
        url=page.url,
        title=marked(page.title or page.headline or page.url, find),
        snippet=_stretch(page.text, page.description or "", find),
        description=page.description,
        language=page.language,
        published=page.created,
        updated=page.updated,
        first_seen=page.first,
        last_seen=page.last,
        end=page.end,
        more=more,
        near=more - same,
        standing=what.standing if what.standing != page.url else None,
        uncertain=what.absent or (what.as_of is not None and page.end is not None and page.last < what.as_of),
        score=round(what.ranked.score, 4),
        parts=what.ranked.parts,
    )


def _stretch(text: str, description: str, find: re.Pattern[str] | None) -> tuple[Piece, ...]:
    """Return the best stretch of the text; where nothing hits in it, of the description."""
    made = snippet(text, find)
    if description and not any(piece.hit for piece in made):
        other = snippet(description, find)
        return other if find is None or any(piece.hit for piece in other) or not made else made
    return made
