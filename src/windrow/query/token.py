"""A query cut into tokens. Nothing here fails: what is not understood is a word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from windrow.query.filter import BANGS, KEYS, Value

QUOTES = {'"': '"', "»": "«", "«": "»"}
DEPTH = 20  # parentheses within parentheses; deeper ones only separate
_KEY = re.compile(r"([A-Za-z][A-Za-z-]*):", re.ASCII)


class TokenKind(Enum):
    """What a token is."""

    WORD = auto()
    PHRASE = auto()
    FILTER = auto()
    OPEN = auto()
    CLOSE = auto()


class Token(NamedTuple):
    """A piece of the query; `text` is what was typed, without the quotes of a phrase or the dash before it."""

    kind: TokenKind
    text: str
    negated: bool = False
    key: str = ""
    value: Value | None = None
    note: str = ""


def tokens(text: str) -> list[Token]:
    """Cut a query into tokens.

    >>> [(token.kind.name, token.text) for token in tokens('tea -"green tea" site:example.org')]
    [('WORD', 'tea'), ('PHRASE', 'green tea'), ('FILTER', 'site:example.org')]
    """
    return list(_Scanner(text).run())


class _Scanner:
    """Walks over the text once; `depth` counts the open parentheses."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0

    def run(self) -> Iterator[Token]:
        while self.at < len(self.text):
            here = self.text[self.at]
            if here.isspace():
                self.at += 1
            elif here == ")" and self.depth:
                yield self._close()
            elif self.text.startswith(("(", "-("), self.at):
                yield from self._open()
            else:
                yield from self._piece()

    def _open(self) -> Iterator[Token]:
        negated = self.text[self.at] == "-"
        self.at += 1 + negated
        if self.depth < DEPTH:
            self.depth += 1
            yield Token(TokenKind.OPEN, "(", negated)

    def _close(self) -> Token:
        self.at += 1
        self.depth -= 1
        return Token(TokenKind.CLOSE, ")")

    def _piece(self) -> Iterator[Token]:
        negated = self.text.startswith("-", self.at)
        start = self.at + negated
        note = ""
        if (quoted := self._quoted(start)) is not None:
            yield Token(TokenKind.PHRASE, quoted, negated)
            return
        found = self._keyed(start, negated=negated) or self._bang(start, negated=negated)
        if found and found.value is not None:
            yield found
            return
        if found:
            note = found.note
        yield self._word(note)

    def _quoted(self, start: int) -> str | None:
        """Read a phrase that opens at `start`, and stand behind it; None where none opens or it stays open."""
        closing = QUOTES.get(self.text[start : start + 1])
        if closing is None:
            return None
        letters: list[str] = []
        at = start + 1
        while at < len(self.text):
            here, behind = self.text[at], self.text[at + 1 : at + 2]
            if here == "\\" and behind in {closing, "\\"}:
                letters.append(behind)
                at += 2
                continue
            if here == closing and (not behind or behind.isspace() or (behind == ")" and self.depth)):
                self.at = at + 1
                return "".join(letters)
            letters.append(here)
            at += 1
        return None

    def _keyed(self, start: int, *, negated: bool) -> Token | None:
        found = _KEY.match(self.text, start)
        key = found[1].lower() if found else ""
        if found is None or key not in KEYS or (negated and key == "as-of"):
            return None
        before = self.at
        value = self._quoted(found.end())
        if value is None:
            value = self._run_of_letters(found.end())
            self.at = found.end() + len(value)
        token = self._filter(key, value, f"{key}:{value}", negated=negated)
        if token.value is None:
            self.at = before
        return token

    def _bang(self, start: int, *, negated: bool) -> Token | None:
        key = BANGS.get(self.text[start : start + 1])
        if key is None:
            return None
        value = self._run_of_letters(start + 1)
        token = self._filter(key, value, f"{key}:{value}", negated=negated)
        if token.value is not None:
            self.at = start + 1 + len(value)
        return token._replace(note="")

    @staticmethod
    def _filter(key: str, value: str, typed: str, *, negated: bool) -> Token:
        meant = KEYS[key](value)
        note = "" if meant is not None else f"'{typed}' is no filter, so its words are searched for"
        return Token(TokenKind.FILTER, typed, negated, key, meant, note)

    def _run_of_letters(self, start: int) -> str:
        """Return what stands up to the next space, without the parentheses that close a group."""
        end = start
        while end < len(self.text) and not self.text[end].isspace():
            end += 1
        run, depth = self.text[start:end], self.depth
        while depth and run.endswith(")") and run.count(")") > run.count("("):
            run, depth = run[:-1], depth - 1
        return run

    def _word(self, note: str) -> Token:
        run = self._run_of_letters(self.at)
        self.at += max(1, len(run))
        return Token(TokenKind.WORD, run, note=note)
