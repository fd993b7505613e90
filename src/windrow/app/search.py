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
from windrow.query.likeness import Sought, alike, sought, together
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
    workspace: Workspace, text: str, *, offset: int = 0, limit: int = 10, explain: bool = False, among: Names[str] = ()
) -> SearchAnswer:
    """Search the collections `among`, or all; any text is a query.

    Each collection orders its own results. Results of several are merged by how well the words match title, snippet and
    address. If one collection has results with all the words, those of others with only some are left out. Raises
    UsageError for an unknown collection, and if none can be searched, the first collection's error.
    """
    answers: dict[str, SearchAnswer] = {}
    wrong: list[WindrowError] = []
    harvested = among or harvested_collections(workspace)
    used = harvested or names()
    chosen = capable(Searches, used)
    if unknown := sorted(set(among) - set(chosen)):
        raise UsageError(
            f"there is no collection {unknown[0]!r} that can be searched; there is: {', '.join(capable(Searches))}",
            hint="windrow search --help",
        )
    alone = len(chosen) == 1
    for name, adapter in chosen.items():
        first, count = (offset, limit) if alone else (0, offset + limit)
        try:
            answers[name] = adapter.search(workspace, text, offset=first, limit=count, explain=explain)
        except WindrowError as error:
            wrong.append(error)
    if not answers:
        if not wrong:
            raise UsageError(f"nothing of {', '.join(sorted(used))} can be searched", hint="windrow new source --help")
        raise wrong[0] if harvested else WindrowError("nothing was harvested yet", hint="windrow run")
    if alone:
        return next(iter(answers.values()))
    return _merged(text, answers, offset, limit, explain=explain)


def _merged(text: str, answers: dict[str, SearchAnswer], offset: int, limit: int, *, explain: bool) -> SearchAnswer:
    filled = [answer for answer in answers.values() if answer.results]
    strict = [answer for answer in filled if not answer.relaxed]
    taken = strict or filled
    mixed = (
        list(_in_order(text, taken))
        if len(taken) > 1
        else [(result, None) for answer in taken for result in answer.results]
    )
    shown = []
    for result, measured in mixed[offset : offset + limit]:
        remarks = (*result.remarks, *([_explain(measured)] if explain and measured else []))
        shown.append(result._replace(remarks=remarks))
    further = len(mixed) > offset + limit or any(answer.further for answer in taken)
    relaxed = bool(taken) and not strict
    notes = tuple(dict.fromkeys(note for answer in answers.values() for note in answer.notes))
    return SearchAnswer(text, offset, tuple(shown), notes, further, relaxed)


def _in_order(text: str, answers: list[SearchAnswer]) -> Iterator[tuple[SearchResult, MergeScore | None]]:
    """Yield the best of the first results of all collections, again and again: each keeps its own order."""
    frequency: dict[str, int] = {}
    for answer in answers:
        for word, count in answer.frequency.items():
            frequency[word] = frequency.get(word, 0) + count
    words = sought(parse(text), frequency, sum(answer.documents for answer in answers), int(now().timestamp()))
    lines = [[(result, _score(words, result)) for result in answer.results] for answer in answers]
    while lines := [line for line in lines if line]:
        yield max(lines, key=lambda line: line[0][1].order).pop(0)


def _score(words: Sought, result: SearchResult) -> MergeScore:
    """Score a result by its title, snippet and address, in the same way for every collection."""
    at = result.at.timestamp() if result.at else 0.0
    if not words.weights:
        return MergeScore((), at)
    title, snippet = ("".join(piece for piece, _ in pieces) for pieces in (result.title, result.snippet))
    likeness = alike(words, f"{title} {snippet}") ** 0.5
    parts = {
        "found": min(1.0, likeness),
        "title": alike(words, title),
        "together": max(together(words, title), together(words, snippet)),
        "address": alike(words, address_text(result.url)),
    }
    return MergeScore(tuple((name, round(part, 4)) for name, part in parts.items() if part), at)


def _explain(measured: MergeScore) -> str:
    parts = "  ".join(f"{name} {part:.2f} x {WEIGHTS[name]:g}" for name, part in measured.parts)
    return f"among collections {measured.order[0]:.3f} = {parts or 'its time'}"
