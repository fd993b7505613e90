"""What is searched for instead where nothing has all that was typed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from windrow.query.parse import Query
from windrow.query.tree import And, Node, Or, Word, joined, wanted
from windrow.query.word import pieces

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
