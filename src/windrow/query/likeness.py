"""How like a text is to what was searched for; what is searched for instead where nothing has it all."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from windrow.query.parse import Query
from windrow.query.tree import And, Node, Or, Word, filters, joined, wanted
from windrow.query.word import fold, pieces, stands_alone, words

LOOKED_AT = 6_000
"""Characters of a text in which words are looked for together."""
_FRESH = {"latest", "newest", "news", "recent", "recently", "today", "current", "now", "breaking", "update", "updates"}
_PLACES = 60  # of one word in one text


class Sought(NamedTuple):
    """A query, prepared for ranking: folded words with their weights (rare words weigh more)."""

    weights: Mapping[str, float]
    total: float
    fresh: bool
    now: int


def sought(query: Query, frequency: Mapping[str, int], count: int, now: int) -> Sought:
    """Prepare a query; `frequency` says in how many of `count` pages each word stands."""
    texts = list(wanted(query.root))
    found = dict.fromkeys(word for text in texts for word in words(text.text))
    weights = {word: math.log(1 + (count + 1) / (frequency.get(word, 0) + 0.5)) for word in found}
    year = str(datetime.fromtimestamp(now, UTC).year)
    recent = any(one.key in {"after", "updated-after"} for one in filters(query.root))
    return Sought(weights, sum(weights.values()), recent or bool((_FRESH | {year}) & set(found)), now)


def alike(sought: Sought, text: str | None) -> float:
    """Say how far a short text is what was searched for: its words there, and few others.

    All words and nothing else give 1; all words among twice as many others give about 0.7.
    """
    there = cut(text) if text else ()
    if not there:
        return 0.0
    weights = sought.weights
    hits = [word for word in there if word in weights]
    if not hits:
        return 0.0
    covered = sum([weights[word] for word in set(hits)]) / sought.total
    return covered * covered * (0.55 + 0.45 * len(hits) / len(there))


def together(sought: Sought, text: str) -> float:
    """Say how close the words stand in a text: 1 where they follow each other, once at least.

    Between the words of the best stretch may stand others: the value is the share of its length that the
    words themselves take, times the share of the words that are there.
    """
    if len(sought.weights) < 2:
        return 0.0
    short = fold(text[:LOOKED_AT])
    found = sorted(place for word in sought.weights for place in _places(short, word))
    there = {what for _, _, what in found}
    if len(there) < 2:
        return 0.0
    length, need = _stretch(found, len(there))
    ideal = sum(len(word) for word in there) + len(there) - 1
    return min(1.0, ideal / length) ** 0.5 * sum(sought.weights[word] for word in there) / sought.total if need else 0.0


def _stretch(found: Sequence[tuple[int, int, str]], need: int) -> tuple[int, int]:
    """Return the length of the shortest stretch with all words."""
    counts: dict[str, int] = {}
    best, left = 1 << 30, 0
    for _, end, what in found:
        counts[what] = counts.get(what, 0) + 1
        while len(counts) == need:
            start, _, first = found[left]
            best = min(best, end - start)
            counts[first] -= 1
            if not counts[first]:
                del counts[first]
            left += 1
    return best, need


def _places(text: str, word: str) -> list[tuple[int, int, str]]:
    """Return where a word begins and ends, the first places of it."""
    found: list[tuple[int, int, str]] = []
    length, alone = len(word), stands_alone(word)
    at = text.find(word)
    while at >= 0 and len(found) < _PLACES:
        end = at + length
        if alone or not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()):
            found.append((at, end, word))
        at = text.find(word, end)
    return found


@lru_cache(maxsize=4096)
def cut(text: str) -> tuple[str, ...]:
    """Return the first words of a short text."""
    return tuple(words(text[:500]))


SHARES = (1.0, 0.6, 0.0)
"""The share of words that must be found: the next one where no page has so many."""
_BETWEEN = re.compile(r"[^\w*-]+")


def attempts(query: Query) -> Iterator[tuple[Query, float]]:
    """Yield what is searched for one after the other until something is found, and which share of its words must be."""
    yield query, 1.0
    apart = parted(query)
    if apart is not None:
        yield apart, 1.0
    last = apart or query
    if several(last):
        for share in SHARES[1:]:
            yield last, share


def least(query: Query, share: float) -> int:
    """Return how many words are a share of a query's words: one at least."""
    return max(1, round(len(list(wanted(query.root))) * share))


def several(query: Query) -> bool:
    """Say whether there are words enough to leave some out."""
    return len(list(wanted(query.root))) > 1


def parted(query: Query) -> Query | None:
    """Return the query with names such as `asyncio.Queue.put_nowait` as the words between their signs; None without.

    A hyphen and an underscore part nothing: such words are found side by side.
    """
    if query.root is None:
        return None
    root = _parted(query.root)
    return None if root == query.root else replace(query, root=root)


def _parted(node: Node) -> Node:
    match node:
        case Word(text, prefix):
            found = [one for one in _BETWEEN.split(text) if pieces(one)]
            some: list[Node] = [Word(one) for one in found[:-1]]
            return joined(And, [*some, Word(found[-1], prefix)]) or node if some else node
        case And(parts):
            return joined(And, [_parted(part) for part in parts]) or node
        case Or(parts):
            return joined(Or, [_parted(part) for part in parts]) or node
        case _:
            return node
