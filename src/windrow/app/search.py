"""One search over every collection that can be searched."""

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
"""What each part of the measure weighs by which results of several collections are put into one order."""


class Measured(NamedTuple):
    """How a result stands among those of other collections: parts from 0 to 1, and when it is of."""

    parts: tuple[tuple[str, float], ...]
    at: float

    @property
    def order(self) -> tuple[float, float]:
        """What it is compared by: where nothing was searched for but by filters, by its time alone."""
        return round(sum(value * WEIGHTS[name] for name, value in self.parts), 4), self.at


def search(
    workspace: Workspace, text: str, *, offset: int = 0, limit: int = 10, explain: bool = False, among: Names[str] = ()
) -> SearchAnswer:
    """Search; any text is a query. `among` are the collections that are searched, all unless any is named.

    The order of each collection's results is its own. Those of several are put into one by what all have alike:
    how the words stand in title, snippet and address. Where one collection has all the words, results of others that
    have only some are left out. Raises the error of the first collection that cannot be searched yet where none can.
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
    for name, one in chosen.items():
        first, count = (offset, limit) if alone else (0, offset + limit)
        try:
            answers[name] = one.search(workspace, text, offset=first, limit=count, explain=explain)
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
    """Put the results of several collections into one order, and cut a page of them."""
    some = [answer for answer in answers.values() if answer.results]
    strict = [one for one in some if not one.relaxed]
    taken = strict or some
    mixed = list(_in_order(text, taken)) if len(taken) > 1 else [(one, None) for each in taken for one in each.results]
    shown = []
    for one, measured in mixed[offset : offset + limit]:
        remarks = (*one.remarks, *([_told(measured)] if explain and measured else []))
        shown.append(one._replace(remarks=remarks))
    further = len(mixed) > offset + limit or any(one.further for one in taken)
    relaxed = bool(taken) and not strict
    notes = tuple(dict.fromkeys(note for answer in answers.values() for note in answer.notes))
    return SearchAnswer(text, offset, tuple(shown), notes, further, relaxed)


def _in_order(text: str, answers: list[SearchAnswer]) -> Iterator[tuple[SearchResult, Measured | None]]:
    """Yield the best of the foremost results of all collections, until there are none: each keeps its own order."""
    frequency: dict[str, int] = {}
    for answer in answers:
        for word, count in answer.frequency.items():
            frequency[word] = frequency.get(word, 0) + count
    words = sought(parse(text), frequency, sum(one.documents for one in answers), int(now().timestamp()))
    lines = [[(one, _measured(words, one)) for one in answer.results] for answer in answers]
    while lines := [line for line in lines if line]:
        yield max(lines, key=lambda line: line[0][1].order).pop(0)


def _measured(words: Sought, one: SearchResult) -> Measured:
    """Measure a result by what is shown of it, in the same way whatever collection it is of."""
    at = one.at.timestamp() if one.at else 0.0
    if not words.weights:
        return Measured((), at)
    title, snippet = ("".join(piece for piece, _ in pieces) for pieces in (one.title, one.snippet))
    found = alike(words, f"{title} {snippet}") ** 0.5
    parts = {
        "found": min(1.0, found),
        "title": alike(words, title),
        "together": max(together(words, title), together(words, snippet)),
        "address": alike(words, address_text(one.url)),
    }
    return Measured(tuple((name, round(value, 4)) for name, value in parts.items() if value), at)


def _told(measured: Measured) -> str:
    parts = "  ".join(f"{name} {value:.2f} x {WEIGHTS[name]:g}" for name, value in measured.parts)
    return f"among collections {measured.order[0]:.3f} = {parts or 'its time'}"
