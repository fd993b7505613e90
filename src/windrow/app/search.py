"""Search all collections, and merge their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from windrow.adapters.adapter import Searches, harvested_collections
from windrow.adapters.search_answer import SearchAnswer, SearchResult
from windrow.clock import now
from windrow.config import Workspace
from windrow.contract.registry import capable, columns, installed, names
from windrow.errors import UsageError, WindrowError
from windrow.query.clause import NO_FACETS, FacetCounts
from windrow.query.columns import parse_query
from windrow.query.likeness import RankingQuery, prepare_ranking, proximity, similarity
from windrow.query.spelling import Suggestion, replace_words
from windrow.query.tree import filters
from windrow.query.word import address_text, words
from windrow.reasons import Reason

FACETS = ("collection", "source", "language", "type", "year")
"""The names of the properties by which `merge_counts` counts documents."""

SCORE_WEIGHTS = {"found": 1.0, "title": 0.7, "together": 0.5, "address": 0.3}
"""The weights of the parts of a `MergeScore`."""


class MergeScore(NamedTuple):
    """The score by which the results of several collections are merged.

    `parts` are names in `SCORE_WEIGHTS`, each with a number from 0 to 1. `unix_time` is the result's time, or 0.
    """

    parts: tuple[tuple[str, float], ...]
    unix_time: float

    @property
    def order(self) -> tuple[float, float]:
        """The sort key: the weighted sum of the parts, then the time, which decides if a query has only filters."""
        return round(sum(part * SCORE_WEIGHTS[name] for name, part in self.parts), 4), self.unix_time


def search(
    workspace: Workspace,
    text: str,
    *,
    offset: int = 0,
    limit: int = 10,
    explain: bool = False,
    facets: bool = False,
    collections: Names[str] = (),
) -> SearchAnswer:
    """Search `collections` or, if it is empty, the collections that have or had sources, or else all.

    Any text is a valid query. Each collection orders its own results. Results of several collections are merged by how
    well the words match title, snippet and address. If one collection has results with all the words, results of others
    with only some words are left out. A note names each collection whose search failed, unless it has no records yet.
    With `facets`, the answer has the counts of `merge_counts`.
    Raises UsageError for a collection that has no search, and WindrowError if every search failed.
    """
    answers: dict[str, SearchAnswer] = {}
    errors: dict[str, WindrowError] = {}
    candidates = collections or harvested_collections(workspace)
    searched = candidates or names()
    adapters = capable(Searches, searched)
    if unknown := sorted(set(collections) - set(adapters)):
        raise UsageError(
            f"{unknown[0]!r} cannot be searched; collections with a search are {', '.join(capable(Searches))}",
            hint="windrow search --help",
        )
    is_single = len(adapters) == 1
    for name, adapter in adapters.items():
        start, count = (offset, limit) if is_single else (0, offset + limit)
        try:
            answers[name] = adapter.search(workspace, text, offset=start, limit=count, explain=explain, facets=facets)
        except WindrowError as error:
            errors[name] = error
    if not answers:
        if not errors:
            raise UsageError(f"{', '.join(sorted(searched))} cannot be searched", hint="windrow new source --help")
        raise (
            min(errors.values(), key=lambda error: error.reason == Reason.NOT_FOUND)  # a lost store before no records
            if candidates
            else WindrowError(
                "nothing has been harvested yet", hint="windrow new source --help", reason=Reason.NOT_FOUND
            )
        )
    answer = next(iter(answers.values())) if is_single else _merge(text, answers, offset, limit, explain=explain)
    failures = [
        f"{name} is not searched: {error}" for name, error in errors.items() if error.reason != Reason.NOT_FOUND
    ]
    notes = (*answer.notes, *failures, *_note_filters(workspace, text, adapters, is_empty=not answer.results))
    counts = merge_counts({name: each.counts for name, each in answers.items()}) if facets else NO_FACETS
    return answer._replace(did_you_mean=_correct(text, answers.values()), notes=notes, counts=counts)


def _note_filters(workspace: Workspace, text: str, searched: Names[str], *, is_empty: bool) -> Iterator[str]:
    """Yield a note for each filter by a column that no searched collection has, but another collection has.

    If the answer is empty (`is_empty`), also yield a note for each filter by a source that is not configured.
    """
    query_filters = list(filters(parse_query(text, columns()).root))
    owners_by_column: dict[str, list[str]] = {}
    for name, collection in installed().items() if query_filters else ():
        for column in collection.columns:
            owners_by_column.setdefault(column.name, []).append(name)
    for key in dict.fromkeys(leaf.key for leaf in query_filters):
        owners = owners_by_column.get(key, [])
        if owners and not set(owners) & set(searched):
            yield f"the filter {key}: is for records of {', '.join(owners)}, which are not searched here"
    names = dict.fromkeys(str(leaf.value) for leaf in query_filters if leaf.key == "source")
    for name in names if is_empty else ():
        if name not in {source.name for source in workspace.sources}:
            yield f"source {name!r} is not declared"


def merge_counts(counts: Mapping[str, FacetCounts]) -> FacetCounts:
    """Merge the counts of collections, by name, into counts by collection, source, language, type and year.

    The most frequent values come first. As in `search`, documents with only some of the words are left out if a
    document has all words.
    """
    nonempty = {name: count for name, count in counts.items() if count.documents}
    unrelaxed = {name: count for name, count in nonempty.items() if not count.relaxed}
    merged = unrelaxed or nonempty
    facets: dict[str, Counter[str]] = {name: Counter() for name in FACETS}
    for name, count in merged.items():
        facets["collection"][name] = count.documents
        for facet, numbers in count.facets.items():
            facets[facet].update(numbers)
    ordered = {name: dict(numbers.most_common()) for name, numbers in facets.items()}
    return FacetCounts(facets["collection"].total(), ordered, relaxed=bool(merged) and not unrelaxed)


def _correct(text: str, answers: Iterable[SearchAnswer]) -> str:
    """Return the query with similar words in place of words that no document has, or "" if no similar word is known."""
    suggestions: dict[str, Suggestion] = {}
    known_words = {word for answer in answers for word, number in answer.frequency.items() if number}
    for answer in answers:
        for word, suggestion in answer.suggestions.items():
            if word not in known_words and suggestion.documents > suggestions.get(word, Suggestion("", 0)).documents:
                suggestions[word] = suggestion
    return replace_words(text, suggestions, words) if suggestions else ""


def _merge(text: str, answers: dict[str, SearchAnswer], offset: int, limit: int, *, explain: bool) -> SearchAnswer:
    nonempty = [answer for answer in answers.values() if answer.results]
    unrelaxed = [answer for answer in nonempty if not answer.relaxed]
    merged = unrelaxed or nonempty
    ordered = (
        list(_order_results(text, merged))
        if len(merged) > 1
        else [(result, None) for answer in merged for result in answer.results]
    )
    results = []
    for result, score in ordered[offset : offset + limit]:
        remarks = (*result.remarks, *([_describe_score(score)] if explain and score else []))
        results.append(result._replace(remarks=remarks))
    has_further = len(ordered) > offset + limit or any(answer.further for answer in merged)
    is_relaxed = bool(merged) and not unrelaxed
    notes = tuple(dict.fromkeys(note for answer in answers.values() for note in answer.notes))
    return SearchAnswer(text, offset, tuple(results), notes, has_further, is_relaxed)


def _order_results(text: str, answers: list[SearchAnswer]) -> Iterator[tuple[SearchResult, MergeScore | None]]:
    """Yield each result with its score, the highest score first; the results of one collection keep their order."""
    frequency: dict[str, int] = {}  # by word, the number of documents that have it
    for answer in answers:
        for word, count in answer.frequency.items():
            frequency[word] = frequency.get(word, 0) + count
    query, document_count = parse_query(text, columns()), sum(answer.documents for answer in answers)
    words = prepare_ranking(query, frequency, document_count, int(now().timestamp()))
    queues = [[(result, _score_result(words, result)) for result in answer.results] for answer in answers]
    while queues := [queue for queue in queues if queue]:
        yield max(queues, key=lambda queue: queue[0][1].order).pop(0)


def _score_result(words: RankingQuery, result: SearchResult) -> MergeScore:
    seconds = result.at.timestamp() if result.at else 0.0
    if not words.weights:
        return MergeScore((), seconds)
    title, snippet = ("".join(piece for piece, _ in pieces) for pieces in (result.title, result.snippet))
    likeness = similarity(words, f"{title} {snippet}") ** 0.5
    parts = {
        "found": min(1.0, likeness),
        "title": similarity(words, title),
        "together": max(proximity(words, title), proximity(words, snippet)),
        "address": similarity(words, address_text(result.url)),
    }
    return MergeScore(tuple((name, round(part, 4)) for name, part in parts.items() if part), seconds)


def _describe_score(score: MergeScore) -> str:
    parts = "  ".join(f"{name} {part:.2f} x {SCORE_WEIGHTS[name]:g}" for name, part in score.parts)
    return f"among collections {score.order[0]:.3f} = {parts or 'its time'}"
