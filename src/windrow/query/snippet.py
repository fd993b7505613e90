"""The part of a text that shows why it was found, with the hits marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from windrow.query.tree import Phrase, Word
from windrow.query.word import bounded, composed, fold, words


class Piece(NamedTuple):
    """A piece of a text; `hit` where it is what was searched for."""

    text: str
    hit: bool


LENGTH = 220
"""Characters of a snippet, about."""
_BEFORE = 60
_HITS = 120  # hits in one text that are looked at


def pattern(sought: Iterable[Word | Phrase]) -> re.Pattern[str] | None:
    """Return what finds the words and phrases in a folded text; None where there is nothing to find.

    >>> pattern([Word("Café"), Phrase("green tea")]).findall("cafe with green  tea")
    ['cafe', 'green  tea']
    """
    some = []
    for one in sought:
        pieces = words(one.text)
        if pieces:
            between = r"[\W_]*".join(map(re.escape, pieces))
            some.append(bounded(between, pieces, open_end=isinstance(one, Word) and one.prefix))
    some.sort(key=len, reverse=True)
    return re.compile("|".join(dict.fromkeys(some))) if some else None


def snippet(text: str, find: re.Pattern[str] | None) -> tuple[Piece, ...]:
    """Return the stretch of a text with the most different hits, or its beginning.

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
    """Return where hits begin and end, and what was hit, folded. Places hold for a composed text."""
    if find is None:
        return []
    found = []
    for one in find.finditer(fold(text)):
        found.append((one.start(), one.end(), one[0]))
        if len(found) == _HITS:
            break
    return found


def _start(text: str, spans: Sequence[tuple[int, int, str]]) -> int:
    """Return where the best stretch begins: at a hit, some characters before, at a word's beginning."""
    best, most = 0, 0
    for index, (start, _, _) in enumerate(spans):
        within = {what for begin, end, what in spans[index : index + 40] if end <= start + LENGTH - _BEFORE}
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
