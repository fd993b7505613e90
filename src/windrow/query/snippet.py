"""Snippets: the part of a text that shows why it was found, with the hits marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from windrow.query.tree import Phrase, Word
from windrow.query.word import bounded, composed, fold, words


class Piece(NamedTuple):
    """A piece of a text; `hit` if it matches the query."""

    text: str
    hit: bool


LENGTH = 220
"""The approximate characters of a snippet."""
_BEFORE = 60
_HITS = 120  # the most hits in one text


def pattern(sought: Iterable[Word | Phrase]) -> re.Pattern[str] | None:
    """Return a regular expression that finds words and phrases in a folded text; None if there are none.

    >>> pattern([Word("Café"), Phrase("green tea")]).findall("cafe with green  tea")
    ['cafe', 'green  tea']
    """
    expressions = []
    for term in sought:
        pieces = words(term.text)
        if pieces:
            between = r"[\W_]*".join(map(re.escape, pieces))
            expressions.append(bounded(between, pieces, open_end=isinstance(term, Word) and term.prefix))
    expressions.sort(key=len, reverse=True)
    return re.compile("|".join(dict.fromkeys(expressions))) if expressions else None


def snippet(text: str, find: re.Pattern[str] | None) -> tuple[Piece, ...]:
    """Return the part of a text with the most different hits, or its beginning.

    >>> snippet("Tea is a drink.", pattern([Word("tea")]))
    (Piece(text='Tea', hit=True), Piece(text=' is a drink.', hit=False))
    """
    clean = composed(text)
    spans = hits(clean, find)
    start = _start(clean, spans)
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


def _start(text: str, spans: Sequence[tuple[int, int, str]]) -> int:
    """Return the start of the best part: up to `_BEFORE` characters before a hit, at the beginning of a word."""
    best, most = 0, 0
    for index, (start, _, _) in enumerate(spans):
        within = {words_hit for begin, end, words_hit in spans[index : index + 40] if end <= start + LENGTH - _BEFORE}
        if len(within) > most:
            best, most = start, len(within)
    if best < _BEFORE:
        return 0
    line = text.rfind("\n", best - _BEFORE, best)
    space = text.find(" ", best - _BEFORE, best)
    return line + 1 if line >= 0 else space + 1 if space >= 0 else best - _BEFORE


def _pieces(text: str, spans: Sequence[tuple[int, int, str]], start: int, end: int) -> tuple[Piece, ...]:
    pieces: list[Piece] = [Piece("…", hit=False)] if start else []
    at = start
    for begin, stop, _ in spans:
        if begin < at or stop > end:
            continue
        if begin > at:
            pieces.append(Piece(_flat(text[at:begin]), hit=False))
        pieces.append(Piece(text[begin:stop], hit=True))
        at = stop
    if at < end:
        pieces.append(Piece(_flat(text[at:end]), hit=False))
    if end < len(text):
        pieces.append(Piece("…", hit=False))
    return tuple(pieces)


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)
