"""Rank texts by their similarity to a query, and cut the snippet that shows why one was found.

A query of which no page has all words is relaxed.
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
from windrow.query.tree import And, Node, Or, Phrase, Word, filters, joined, wanted
from windrow.query.word import bounded, composed, fold, pieces, stands_alone, words

LOOKED_AT = 6_000
"""The most characters of a text that `together` reads."""
_FRESH = {"latest", "newest", "news", "recent", "recently", "today", "current", "now", "breaking", "update", "updates"}
_PLACES = 60  # the most occurrences of one word in one text


class Sought(NamedTuple):
    """A query prepared for ranking: folded words with their weights (rare words weigh more), and their sum."""

    weights: Mapping[str, float]
    total: float
    fresh: bool
    now: int


def sought(query: Query, frequency: Mapping[str, int], count: int, now: int) -> Sought:
    """Prepare a query; `frequency` has for each word the number of pages with it, of `count` pages in all."""
    texts = list(wanted(query.root))
    query_words = dict.fromkeys(word for text in texts for word in words(text.text))
    weights = {word: math.log(1 + (count + 1) / (frequency.get(word, 0) + 0.5)) for word in query_words}
    year = str(datetime.fromtimestamp(now, UTC).year)
    recent = any(filter_.key in {"after", "updated-after"} for filter_ in filters(query.root))
    return Sought(weights, sum(weights.values()), recent or bool((_FRESH | {year}) & set(query_words)), now)


def alike(sought: Sought, text: str | None) -> float:
    """Return the similarity of a short text to the query, 0 to 1: it has the query's words and few others.

    All words and nothing else give 1; all words among twice as many others give about 0.7.
    """
    text_words = cut(text) if text else ()
    if not text_words:
        return 0.0
    weights = sought.weights
    hits = [word for word in text_words if word in weights]
    if not hits:
        return 0.0
    covered = sum([weights[word] for word in set(hits)]) / sought.total
    return covered * covered * (0.55 + 0.45 * len(hits) / len(text_words))


def together(sought: Sought, text: str) -> float:
    """Return how close the query's words are in a text, 0 to 1; 1 if they are consecutive at least once.

    It is computed from the shortest stretch with all words that occur: the root of the share of its length that these
    words take, times their share of the query's weight.
    """
    if len(sought.weights) < 2:
        return 0.0
    short = fold(text[:LOOKED_AT])
    occurrences = sorted(place for word in sought.weights for place in _find_occurrences(short, word))
    present = {word for _, _, word in occurrences}
    if len(present) < 2:
        return 0.0
    length, word_count = _measure_stretch(occurrences, len(present))
    ideal = sum(len(word) for word in present) + len(present) - 1
    return (
        min(1.0, ideal / length) ** 0.5 * sum(sought.weights[word] for word in present) / sought.total
        if word_count
        else 0.0
    )


def _measure_stretch(occurrences: Sequence[tuple[int, int, str]], word_count: int) -> tuple[int, int]:
    """Return the length of the shortest stretch with `need` different words, in characters, and `need`."""
    counts: dict[str, int] = {}
    best, left_index = 1 << 30, 0
    for _, end, word in occurrences:
        counts[word] = counts.get(word, 0) + 1
        while len(counts) == word_count:
            start, _, first_word = occurrences[left_index]
            best = min(best, end - start)
            counts[first_word] -= 1
            if not counts[first_word]:
                del counts[first_word]
            left_index += 1
    return best, word_count


def _find_occurrences(text: str, word: str) -> list[tuple[int, int, str]]:
    """Return start and end of each occurrence of a word, with the word; at most `_PLACES`."""
    occurrences: list[tuple[int, int, str]] = []
    length, alone = len(word), stands_alone(word)
    position = text.find(word)
    while position >= 0 and len(occurrences) < _PLACES:
        end = position + length
        if alone or not (text[position - 1 : position].isalnum() or text[end : end + 1].isalnum()):
            occurrences.append((position, end, word))
        position = text.find(word, end)
    return occurrences


@lru_cache(maxsize=4096)
def cut(text: str) -> tuple[str, ...]:
    """Return the first words of a short text."""
    return tuple(words(text[:500]))


SHARES = (1.0, 0.6, 0.0)
"""The shares of words that a page must have; each is tried if no page satisfies the one before."""
_BETWEEN = re.compile(r"[^\w*-]+")


def attempts(query: Query) -> Iterator[tuple[Query, float]]:
    """Yield the queries to try in order until one finds something, each with the share of its words that must occur."""
    yield query, 1.0
    split_query = parted(query)
    if split_query is not None:
        yield split_query, 1.0
    last = split_query or query
    if several(last):
        for share in SHARES[1:]:
            yield last, share


def least(query: Query, share: float) -> int:
    """Return the number of words that make up a share of a query's words, at least 1."""
    return max(1, round(len(list(wanted(query.root))) * share))


def several(query: Query) -> bool:
    """Tell whether a query has more than one word or phrase."""
    return len(list(wanted(query.root))) > 1


def parted(query: Query) -> Query | None:
    """Return the query with names such as `asyncio.Queue.put_nowait` split at their signs; None without such names.

    Words are not split at hyphens and underscores: their parts are searched side by side.
    """
    if query.root is None:
        return None
    root = _parted(query.root)
    return None if root == query.root else replace(query, root=root)


def _parted(node: Node) -> Node:
    match node:
        case Word(text, prefix):
            names = [part for part in _BETWEEN.split(text) if pieces(part)]
            complete: list[Node] = [Word(name) for name in names[:-1]]
            return joined(And, [*complete, Word(names[-1], prefix)]) or node if complete else node
        case And(parts):
            return joined(And, [_parted(part) for part in parts]) or node
        case Or(parts):
            return joined(Or, [_parted(part) for part in parts]) or node
        case _:
            return node


class Piece(NamedTuple):
    """A piece of a text; `hit` if it matches the query."""

    text: str
    hit: bool


LENGTH = 220
"""The approximate characters of a snippet."""
_BEFORE = 60
_HITS = 120  # the most hits in one text


def pattern(sought: Iterable[Word | Phrase]) -> re.Pattern[str] | None:
    """Return a regular expression that finds words and phrases in a folded text; None if none are given.

    >>> pattern([Word("Café"), Phrase("green tea")]).findall("cafe with green  tea")
    ['cafe', 'green  tea']
    """
    expressions = []
    for term in sought:
        pieces = words(term.text)
        if pieces:
            separator = r"[\W_]*".join(map(re.escape, pieces))
            expressions.append(bounded(separator, pieces, open_end=isinstance(term, Word) and term.prefix))
    expressions.sort(key=len, reverse=True)
    return re.compile("|".join(dict.fromkeys(expressions))) if expressions else None


def snippet(text: str, find: re.Pattern[str] | None) -> tuple[Piece, ...]:
    """Return the part of a text with the most different hits, or its beginning.

    >>> snippet("Tea is a drink.", pattern([Word("tea")]))
    (Piece(text='Tea', hit=True), Piece(text=' is a drink.', hit=False))
    """
    clean = composed(text)
    spans = hits(clean, find)
    start = _choose_start(clean, spans)
    end = min(len(clean), start + LENGTH)
    if end < len(clean):
        space = clean.rfind(" ", start + LENGTH // 2, end)
        end = space if space > start else end
    return _pieces(clean, spans, start, end)


def marked(text: str, find: re.Pattern[str] | None) -> tuple[Piece, ...]:
    """Return a whole text with its hits marked."""
    clean = composed(text)
    return _pieces(clean, hits(clean, find), 0, len(clean))


def hits(text: str, find: re.Pattern[str] | None) -> list[tuple[int, int, str]]:
    """Return start and end of each hit in a composed text, and the folded text of the hit."""
    if find is None:
        return []
    spans = []
    for match in find.finditer(fold(text)):
        spans.append((match.start(), match.end(), match[0]))
        if len(spans) == _HITS:
            break
    return spans


def _choose_start(text: str, spans: Sequence[tuple[int, int, str]]) -> int:
    """Return the start of the best part: up to `_BEFORE` characters before a hit, at the beginning of a word."""
    best, most_hits = 0, 0
    for index, (start, _, _) in enumerate(spans):
        hits_shown = {
            words_hit
            for hit_start, hit_end, words_hit in spans[index : index + 40]
            if hit_end <= start + LENGTH - _BEFORE
        }
        if len(hits_shown) > most_hits:
            best, most_hits = start, len(hits_shown)
    if best < _BEFORE:
        return 0
    line = text.rfind("\n", best - _BEFORE, best)
    space = text.find(" ", best - _BEFORE, best)
    return line + 1 if line >= 0 else space + 1 if space >= 0 else best - _BEFORE


def _pieces(text: str, spans: Sequence[tuple[int, int, str]], start: int, end: int) -> tuple[Piece, ...]:
    pieces: list[Piece] = [Piece("…", hit=False)] if start else []
    position = start
    for hit_start, hit_end, _ in spans:
        if hit_start < position or hit_end > end:
            continue
        if hit_start > position:
            pieces.append(Piece(_flat(text[position:hit_start]), hit=False))
        pieces.append(Piece(text[hit_start:hit_end], hit=True))
        position = hit_end
    if position < end:
        pieces.append(Piece(_flat(text[position:end]), hit=False))
    if end < len(text):
        pieces.append(Piece("…", hit=False))
    return tuple(pieces)


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)
