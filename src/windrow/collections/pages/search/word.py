"""Words of a text, folded: lower case, without accents; a letter of Chinese, Japanese or Thai is a word."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

LONGEST = 64
"""Characters of a word; longer ones are lumps of encoded data."""

ROOM = 20_000
"""Runs of letters that are remembered folded."""

_UNSPACED = (
    "\u0e00-\u0e7f\u1100-\u11ff\u2e80-\u2fdf\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_LETTER = re.compile(f"[{_UNSPACED}]")
_WORD = re.compile(f"[{_UNSPACED}]|[^\\W_{_UNSPACED}]+")
_PLAIN = re.compile(r"[a-z0-9]+")
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_SPACED = bytes(ord(chr(one).lower()) if chr(one).isalnum() else 32 for one in range(128)) + bytes(range(128, 256))
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

    Whatever is no word becomes a space, so that the text can be split there.

    >>> sorted(counted("Tea, tea", "café 東京 x_y").items())
    [('cafe', 1), ('tea', 2), ('x', 1), ('y', 1), ('京', 1), ('東', 1)]
    """
    text = "\n".join(texts)
    if not text.isascii():
        text = _FOREIGN.sub(_run, composed(text))
    found = Counter(text.encode("utf-8").translate(_SPACED).decode("utf-8").split())
    if found and len(max(found, key=len)) > LONGEST:
        for word in [word for word in found if len(word) > LONGEST]:
            del found[word]
    return found


def _run(found: re.Match[str]) -> str:
    return _RUNS[found[0]]


class _Runs(dict[str, str]):
    """What letters that are not ASCII become, a run of them at a time: folded, with spaces for all but words."""

    def __missing__(self, run: str) -> str:
        said = "".join(
            f" {one} " if _LETTER.match(one) else one if one.isalnum() else " " for one in run.translate(_FOLDS)
        )
        if len(self) >= ROOM:
            self.clear()
        if len(run) <= LONGEST:
            self[run] = said
        return said


_RUNS = _Runs()


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
