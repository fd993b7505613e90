"""Words of a text, folded: lower case, without accents; a letter of Chinese, Japanese or Thai is a word."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

LONGEST = 64
"""Characters of a word; longer ones are lumps of encoded data."""

ROOM = 20_000
"""Pieces of text whose words are remembered."""

_UNSPACED = (
    "\u0e00-\u0e7f\u1100-\u11ff\u2e80-\u2fdf\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_LETTER = re.compile(f"[{_UNSPACED}]")
_WORD = re.compile(f"[{_UNSPACED}]|[^\\W_{_UNSPACED}]+")
_PLAIN = re.compile(r"[a-z0-9]+")
_CUT = bytes(ord(chr(one).lower()) if chr(one).isalnum() else 32 for one in range(128)) + bytes(range(128, 256))
_STROKES = {"ø": "o", "đ": "d", "ł": "l", "\u0131": "i", "ħ": "h", "ŧ": "t"}


class _Folds(dict[int, int]):
    """What each letter is folded to, one letter for one letter, found when it is first asked for."""

    def __missing__(self, code: int) -> int:
        letter = chr(code).lower()[:1]
        bare = unicodedata.normalize("NFD", letter)[:1]
        self[code] = ord(_STROKES.get(bare, bare))
        return self[code]


_FOLDS = _Folds()


def fold(text: str) -> str:
    """Return a text in lower case without accents, letter by letter, so that places stay the same.

    The text should be composed (NFC): `fold` keeps its length.

    >>> fold("Café ØRSTED"), len(fold("İstanbul"))
    ('cafe orsted', 8)
    """
    return text.lower() if text.isascii() else text.translate(_FOLDS)


def composed(text: str) -> str:
    """Return the text in Unicode's composed form."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def words(text: str) -> list[str]:
    """Return the folded words of a text in their order.

    >>> words("The naïve fox's 東京 e-mail")
    ['the', 'naive', 'fox', 's', '東', '京', 'e', 'mail']
    """
    if text.isascii():
        return _PLAIN.findall(text.lower())
    return _WORD.findall(fold(composed(text)))


def counted(*texts: str) -> Counter[str]:
    """Count the words of texts together, without those that are too long: what `words` finds, found faster.

    The text is cut at all of ASCII that is no word; then each different piece that has other letters is looked at.

    >>> sorted(counted("Tea, tea", "café 東京 x_y").items())
    [('cafe', 1), ('tea', 2), ('x', 1), ('y', 1), ('京', 1), ('東', 1)]
    """
    text = composed("\n".join(texts))
    found = Counter(text.encode("utf-8", "replace").translate(_CUT).decode("utf-8").split())
    if not text.isascii():
        for piece in [one for one in found if not one.isascii()]:
            number = found.pop(piece)
            for word in _PIECES[piece]:
                found[word] = found.get(word, 0) + number
    if found and len(max(found, key=len)) > LONGEST:
        for word in [word for word in found if len(word) > LONGEST]:
            del found[word]
    return found


class _Pieces(dict[str, list[str]]):
    """The words of pieces of text, the same again and again."""

    def __missing__(self, piece: str) -> list[str]:
        found = words(piece)
        if len(piece) <= LONGEST:
            if len(self) >= ROOM:
                self.clear()
            self[piece] = found
        return found


_PIECES = _Pieces()


def stands_alone(word: str) -> bool:
    """Say whether a word may stand without spaces around it."""
    return _LETTER.match(word) is not None


def bounded(expression: str, found: Sequence[str], *, open_end: bool = False) -> str:
    """Return a regular expression of words that stand alone; letters that are words need no space around them.

    `expression` is for the words `found`, and begins as the first of them does.

    >>> re.findall(bounded("tea", ["tea"]), "tea teapot 3tea")
    ['tea']
    """
    after = r"\w*" if open_end else "" if _LETTER.match(found[-1]) else r"(?![^\W_])"
    if _LETTER.match(found[0]):
        return f"(?:{expression}){after}"
    # The first letter stands before the look behind: an expression that begins with a letter is found faster.
    first = re.escape(found[0][0])
    return rf"{first}(?<![^\W_]{first}){expression[len(first) :]}{after}"


def spaced(text: str) -> str:
    """Put spaces around letters that are words of their own, for an index that cuts words at spaces.

    >>> spaced("東京 tower")
    ' 東  京  tower'
    """
    return text if text.isascii() else _LETTER.sub(r" \g<0> ", composed(text))
