"""What a search answers, as values: text is text, never HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from windrow.query.snippet import Piece


class ScorePart(NamedTuple):
    """One part of a score: `value` from 0 to 1 (or below 0, where it counts against), times `weight`."""

    name: str
    value: float
    weight: float

    @property
    def points(self) -> float:
        """Return what the part adds to the score."""
        return self.value * self.weight


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
