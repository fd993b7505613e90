"""Rank texts by their similarity to a query, cut snippets from texts that were found, and relax queries.

A query is relaxed if no document has all of its words: some of the words are then enough.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from windrow.query.parse import Query
from windrow.query.tree import And, Node, Or, Phrase, Word, filters, join_parts, searched_terms
from windrow.query.word import composed, fold, index_words, needs_no_spaces, whole_word_pattern, words

PROXIMITY_LENGTH = 6_000
"""The number of characters at the beginning of a text that `proximity` reads."""

# A query with one of these words asks for recent pages.
_RECENT_WORDS = set("latest newest news recent recently today current now breaking update updates".split())  # noqa: SIM905
_MAX_OCCURRENCES = 60  # occurrences of one word in one text


class RankingQuery(NamedTuple):
    """A query prepared for ranking: the weight of each folded word (rare words weigh more), and the `total` weight."""

    weights: Mapping[str, float]
    total: float
    fresh: bool  # whether it asks for recent pages
    now: int  # the time of the search in UNIX seconds


def prepare_ranking(query: Query, frequency: Mapping[str, int], page_count: int, now: int) -> RankingQuery:
    """Prepare a query for ranking. `frequency` has the number of pages with each word, out of `page_count`."""
    terms = list(searched_terms(query.root))
    query_words = dict.fromkeys(word for term in terms for word in words(term.text))
    weights = {word: math.log(1 + (page_count + 1) / (frequency.get(word, 0) + 0.5)) for word in query_words}
    year = str(datetime.fromtimestamp(now, UTC).year)
    is_recent = any(filter_.key in {"after", "updated-after"} for filter_ in filters(query.root))
    is_recent = is_recent or bool((_RECENT_WORDS | {year}) & set(query_words))
    return RankingQuery(weights, sum(weights.values()), is_recent, now)


def similarity(query: RankingQuery, text: str | None) -> float:
    """Return how similar a short text, such as a title, is to the query, from 0 to 1.

    It is 1 if the text has all words of the query and no others, and 0.7 if it also has twice as many others.
    """
    text_words = first_words(text) if text else ()
    if not text_words:
        return 0.0
    weights = query.weights
    matching_words = [word for word in text_words if word in weights]
    if not matching_words:
        return 0.0
    weight_share = sum([weights[word] for word in set(matching_words)]) / query.total
    return weight_share * weight_share * (0.55 + 0.45 * len(matching_words) / len(text_words))


def proximity(query: RankingQuery, text: str) -> float:
    """Return how close together the query's words are in a text, from 0 to 1: 1 if all are next to each other.

    Only the first PROXIMITY_LENGTH characters are read. The result is 0 if they have fewer than two of the words.
    Otherwise it is computed from the shortest part of the text that contains all the words that occur: the square root
    of the share of this part that these words fill, times their share of the query's total weight.
    """
    if len(query.weights) < 2:
        return 0.0
    searched_text = fold(text[:PROXIMITY_LENGTH])
    occurrences = sorted(occurrence for word in query.weights for occurrence in _find_occurrences(searched_text, word))
    present_words = {word for _, _, word in occurrences}
    if len(present_words) < 2:
        return 0.0
    shortest_length = _measure_shortest_part(occurrences, len(present_words))
    ideal_length = sum(len(word) for word in present_words) + len(present_words) - 1
    closeness: float = min(1.0, ideal_length / shortest_length) ** 0.5
    return closeness * sum(query.weights[word] for word in present_words) / query.total


def _measure_shortest_part(occurrences: Sequence[tuple[int, int, str]], word_count: int) -> int:
    """Return the length of the shortest part of a text with `word_count` different words.

    `occurrences` are (start, end, word) of all words, sorted.
    """
    counts: dict[str, int] = {}
    shortest, first_index = 1 << 30, 0
    for _, end, word in occurrences:
        counts[word] = counts.get(word, 0) + 1
        while len(counts) == word_count:
            start, _, first_word = occurrences[first_index]
            shortest = min(shortest, end - start)
            counts[first_word] -= 1
            if not counts[first_word]:
                del counts[first_word]
            first_index += 1
    return shortest


def _find_occurrences(text: str, word: str) -> list[tuple[int, int, str]]:
    """Return a tuple (start, end, word) for each of the first `_MAX_OCCURRENCES` of a whole word in a folded text."""
    occurrences: list[tuple[int, int, str]] = []
    length, is_unspaced = len(word), needs_no_spaces(word)
    position = text.find(word)
    while position >= 0 and len(occurrences) < _MAX_OCCURRENCES:
        end = position + length
        if is_unspaced or not (text[position - 1 : position].isalnum() or text[end : end + 1].isalnum()):
            occurrences.append((position, end, word))
        position = text.find(word, end)
    return occurrences


def first_words(text: str) -> tuple[str, ...]:
    """Return the folded words in the first 500 characters of a text."""
    return _fold_words(text[:500])  # the cache keeps what it is given, so it gets no more than it needs


@lru_cache(maxsize=4096)
def _fold_words(text: str) -> tuple[str, ...]:
    return tuple(words(text))


WORD_SHARES = (1.0, 0.6, 0.0)
"""The shares of a query's words that are required, in the order in which they are tried."""

_SPACES = re.compile(r"\s+")
_NAME_SEPARATOR = re.compile(r"[^\w*-]+")


def relaxed_queries(query: Query) -> Iterator[tuple[Query, float]]:
    """Yield the queries to try until one finds a document, each with the share of its words that is required."""
    yield query, 1.0
    split_query = split_names(query)
    if split_query is not None:
        yield split_query, 1.0
    last_query = split_query or query
    if has_several_terms(last_query):
        for share in WORD_SHARES[1:]:
            yield last_query, share


def required_terms(query: Query, share: float) -> int:
    """Return how many of a query's words and phrases are required: the given share of them, but at least 1."""
    return max(1, round(len(list(searched_terms(query.root))) * share))


def has_several_terms(query: Query) -> bool:
    """Return whether a query has more than one word or phrase that is not excluded."""
    return len(list(searched_terms(query.root))) > 1


def split_names(query: Query) -> Query | None:
    """Return the query with names such as `asyncio.Queue` split at their punctuation, or None if it has no such names.

    Names are not split at hyphens and underscores.
    """
    if query.root is None:
        return None
    root = _split_node(query.root)
    return None if root == query.root else replace(query, root=root)


def _split_node(node: Node) -> Node:
    """Return the tree `node` with the names in its words split. Excluded parts are not changed."""
    match node:
        case Word(text, prefix):
            names = [part for part in _NAME_SEPARATOR.split(text) if index_words(part)]
            whole_words: list[Node] = [Word(name) for name in names[:-1]]
            return join_parts(And, [*whole_words, Word(names[-1], prefix)]) or node if whole_words else node
        case And(parts):
            return join_parts(And, [_split_node(part) for part in parts]) or node
        case Or(parts):
            return join_parts(Or, [_split_node(part) for part in parts]) or node
        case _:
            return node


class Piece(NamedTuple):
    """A piece of a text; `hit` is whether it matches a word or phrase of the query."""

    text: str
    hit: bool


SNIPPET_LENGTH = 220
"""The approximate length of a snippet, in characters."""
_MAX_LEAD = 60  # characters of a snippet before its first hit
_MAX_HITS = 120  # hits in one text


def term_pattern(terms: Iterable[Word | Phrase]) -> re.Pattern[str] | None:
    """Return a regular expression that finds words and phrases in a folded text, or None if `terms` have no words.

    >>> term_pattern([Word("Café"), Phrase("green tea")]).findall("cafe with green  tea")
    ['cafe', 'green  tea']
    """
    expressions = []
    for term in terms:
        parts = words(term.text)
        if parts:
            joined_parts = r"[\W_]*".join(map(re.escape, parts))
            expressions.append(whole_word_pattern(joined_parts, parts, open_end=isinstance(term, Word) and term.prefix))
    expressions.sort(key=len, reverse=True)
    return re.compile("|".join(dict.fromkeys(expressions))) if expressions else None


def snippet(text: str, hit_pattern: re.Pattern[str] | None) -> tuple[Piece, ...]:
    """Return the snippet of a text in pieces: the part with the most different hits or, without hits, the beginning.

    >>> snippet("Tea is a drink.", term_pattern([Word("tea")]))
    (Piece(text='Tea', hit=True), Piece(text=' is a drink.', hit=False))
    """
    composed_text = composed(text)
    spans = find_hits(composed_text, hit_pattern)
    start = _choose_start(composed_text, spans)
    end = min(len(composed_text), start + SNIPPET_LENGTH)
    if end < len(composed_text):
        space = composed_text.rfind(" ", start + SNIPPET_LENGTH // 2, end)
        end = space if space > start else end
    return _split_at_hits(composed_text, spans, start, end)


def mark_hits(text: str, hit_pattern: re.Pattern[str] | None) -> tuple[Piece, ...]:
    """Return a whole text in pieces: the pieces that match `hit_pattern`, and the text between them."""
    composed_text = composed(text)
    return _split_at_hits(composed_text, find_hits(composed_text, hit_pattern), 0, len(composed_text))


def find_hits(text: str, hit_pattern: re.Pattern[str] | None) -> list[tuple[int, int, str]]:
    """Return a tuple (start, end, folded text) for each of the first `_MAX_HITS` hits in a text in NFC."""
    if hit_pattern is None:
        return []
    spans = []
    for match in hit_pattern.finditer(fold(text)):
        spans.append((match.start(), match.end(), match[0]))
        if len(spans) == _MAX_HITS:
            break
    return spans


def _choose_start(text: str, spans: Sequence[tuple[int, int, str]]) -> int:
    """Return where the snippet begins: at most `_MAX_LEAD` characters before the part with the most different hits."""
    best_start, most_hits = 0, 0
    for index, (start, _, _) in enumerate(spans):
        hits_shown = {
            hit_text
            for hit_start, hit_end, hit_text in spans[index : index + 40]
            if hit_end <= start + SNIPPET_LENGTH - _MAX_LEAD
        }
        if len(hits_shown) > most_hits:
            best_start, most_hits = start, len(hits_shown)
    if best_start < _MAX_LEAD:
        return 0
    line_break = text.rfind("\n", best_start - _MAX_LEAD, best_start)
    space = text.find(" ", best_start - _MAX_LEAD, best_start)
    return line_break + 1 if line_break >= 0 else space + 1 if space >= 0 else best_start - _MAX_LEAD


def _split_at_hits(text: str, spans: Sequence[tuple[int, int, str]], start: int, end: int) -> tuple[Piece, ...]:
    """Return the text from `start` to `end` in pieces, with "…" where text before or after it is left out."""
    pieces: list[Piece] = [Piece("…", hit=False)] if start else []
    position = start
    for hit_start, hit_end, _ in spans:
        if hit_start < position or hit_end > end:
            continue
        if hit_start > position:
            pieces.append(Piece(_on_one_line(text[position:hit_start]), hit=False))
        pieces.append(Piece(text[hit_start:hit_end], hit=True))
        position = hit_end
    if position < end:
        pieces.append(Piece(_on_one_line(text[position:end]), hit=False))
    if end < len(text):
        pieces.append(Piece("…", hit=False))
    return tuple(pieces)


def _on_one_line(text: str) -> str:
    return _SPACES.sub(" ", text)
