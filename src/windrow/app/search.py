"""Search all collections, and merge their results."""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Iterator
from typing import NamedTuple

from windrow.adapters.adapter import SearchAnswer, Searches, SearchResult, harvested_collections
from windrow.clock import now
from windrow.config import Workspace
from windrow.contract.registry import capable, names
from windrow.errors import UsageError, WindrowError
from windrow.query import parse
from windrow.query.likeness import RankingQuery, prepare_ranking, proximity, similarity
from windrow.query.word import address_text

WEIGHTS = {"found": 1.0, "title": 0.7, "together": 0.5, "address": 0.3}
"""Weights of the parts of the score by which results of several collections are merged."""


class MergeScore(NamedTuple):
    """The score of a result among those of other collections: parts from 0 to 1, and its time in seconds since 1970."""

    parts: tuple[tuple[str, float], ...]
    at: float

    @property
    def order(self) -> tuple[float, float]:
        """Its sort key: the weighted score, then the time, which alone counts in a search by filters only."""
        return round(sum(part * WEIGHTS[name] for name, part in self.parts), 4), self.at


def search(
    workspace: Workspace,
    text: str,
    *,
    offset: int = 0,
    limit: int = 10,
    explain: bool = False,
    collections: Names[str] = (),
) -> SearchAnswer:
    """Search `collections`, or all; any text is a query.

    Each collection orders its own results. Results of several are merged by how well the words match title, snippet and
    address. If one collection has results with all the words, those of others with only some are left out. Raises
    UsageError for an unknown collection, and if none can be searched, the first collection's error.
    """
    answers: dict[str, SearchAnswer] = {}
    errors: list[WindrowError] = []
    candidates = collections or harvested_collections(workspace)
    searched = candidates or names()
    chosen = capable(Searches, searched)
    if unknown := sorted(set(collections) - set(chosen)):
        raise UsageError(
            f"there is no collection {unknown[0]!r} that can be searched; there is: {', '.join(capable(Searches))}",
            hint="windrow search --help",
        )
    alone = len(chosen) == 1
    for name, adapter in chosen.items():
        start, count = (offset, limit) if alone else (0, offset + limit)
        try:
            answers[name] = adapter.search(workspace, text, offset=start, limit=count, explain=explain)
        except WindrowError as error:
            errors.append(error)
    if not answers:
        if not errors:
            raise UsageError(f"{', '.join(sorted(searched))} cannot be searched", hint="windrow new source --help")
        raise errors[0] if candidates else WindrowError("nothing was harvested yet", hint="windrow run")
    if alone:
        return next(iter(answers.values()))
    return _merge(text, answers, offset, limit, explain=explain)


def _merge(text: str, answers: dict[str, SearchAnswer], offset: int, limit: int, *, explain: bool) -> SearchAnswer:
    nonempty = [answer for answer in answers.values() if answer.results]
    unrelaxed = [answer for answer in nonempty if not answer.relaxed]
    merged = unrelaxed or nonempty
    ordered = (
        list(_order_results(text, merged))
        if len(merged) > 1
        else [(result, None) for answer in merged for result in answer.results]
    )
    shown = []
    for result, score in ordered[offset : offset + limit]:
        remarks = (*result.remarks, *([_explain(score)] if explain and score else []))
        shown.append(result._replace(remarks=remarks))
    further = len(ordered) > offset + limit or any(answer.further for answer in merged)
    relaxed = bool(merged) and not unrelaxed
    notes = tuple(dict.fromkeys(note for answer in answers.values() for note in answer.notes))
    return SearchAnswer(text, offset, tuple(shown), notes, further, relaxed)


def _order_results(text: str, answers: list[SearchAnswer]) -> Iterator[tuple[SearchResult, MergeScore | None]]:
    """Yield the best of the collections' first results, again and again, so that each keeps its own order."""
    frequency: dict[str, int] = {}
    for answer in answers:
        for word, count in answer.frequency.items():
            frequency[word] = frequency.get(word, 0) + count
    words = prepare_ranking(parse(text), frequency, sum(answer.documents for answer in answers), int(now().timestamp()))
    queues = [[(result, _score_result(words, result)) for result in answer.results] for answer in answers]
    while queues := [line for line in queues if line]:
        yield max(queues, key=lambda queue: queue[0][1].order).pop(0)


def _score_result(words: RankingQuery, result: SearchResult) -> MergeScore:
    """Score a result by its title, snippet and address, in the same way for every collection."""
    at = result.at.timestamp() if result.at else 0.0
    if not words.weights:
        return MergeScore((), at)
    title, snippet = ("".join(piece for piece, _ in pieces) for pieces in (result.title, result.snippet))
    likeness = similarity(words, f"{title} {snippet}") ** 0.5
    parts = {
        "found": min(1.0, likeness),
        "title": similarity(words, title),
        "together": max(proximity(words, title), proximity(words, snippet)),
        "address": similarity(words, address_text(result.url)),
    }
    return MergeScore(tuple((name, round(part, 4)) for name, part in parts.items() if part), at)


def _explain(score: MergeScore) -> str:
    parts = "  ".join(f"{name} {part:.2f} x {WEIGHTS[name]:g}" for name, part in score.parts)
    return f"among collections {score.order[0]:.3f} = {parts or 'its time'}"
