"""Words of a text, folded: lower case, without accents; a letter of Chinese, Japanese or Thai is a word."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import unquote

LONGEST = 64
"""Characters of a word; longer ones are lumps of encoded data."""

_LONGEST_URL = 2_000
ROOM = 20_000
"""Pieces of text whose words are remembered."""

_UNSPACED = (
    "\u0e00-\u0e7f\u1100-\u11ff\u2e80-\u2fdf\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_LETTER = re.compile(f"[{_UNSPACED}]")
_PLAIN = re.compile(r"[a-z0-9]+")
_CUT = bytes(ord(chr(one).lower()) if chr(one).isalnum() else 32 for one in range(128)) + bytes(range(128, 256))
_STROKES = str.maketrans(
    {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "\u0131": "i", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th"}
)
_JOINTS = {0x200B}  # characters that are not seen, and where a line may be broken: they part words
_OLD = unicodedata.ucd_3_2_0
"""Characters as they were in 2002: whatever was a letter then is one for every index that we use."""


def _accent(mark: str) -> bool:
    """Say whether a mark is left out: accents, and the vowel signs of Hebrew, Arabic and Syriac."""
    place = unicodedata.combining(mark)
    return 10 <= place <= 36 or place >= 200 or unicodedata.category(mark) == "Me"


def _folded(code: int) -> str:
    """Return a character without case and accents: nothing, letters, or what it is where it is no letter."""
    letter = chr(code)
    if unicodedata.category(letter) == "Cf" and code not in _JOINTS:  # soft hyphens, joiners, marks of direction
        return ""
    if code == 0x0640 or 0xFE00 <= code <= 0xFE0F:
        return ""
    bare = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", letter).casefold())
    bare = "".join(one for one in bare if not _accent(one)).translate(_STROKES)
    return unicodedata.normalize("NFC", bare)


def _wordly(letter: str) -> bool:
    """Say whether a folded character is part of a word: letters, digits, and signs within letters of India."""
    return letter.isalnum() or unicodedata.category(letter) in {"Mn", "Mc"}


class _Words(dict[int, str]):
    """What each character is in the words of a text: folded letters, or a space where it is none of a word."""

    def __missing__(self, code: int) -> str:
        found = "".join(f" {one} " if _LETTER.match(one) else one if _wordly(one) else " " for one in _folded(code))
        self[code] = found
        return found


class _Folds(dict[int, str]):
    """What each letter is folded to where that is one letter; found when it is first asked for."""

    def __missing__(self, code: int) -> str:
        found = _folded(code)
        self[code] = found if len(found) == 1 else chr(code)
        return self[code]


class _Safe(dict[int, str]):
    """How each folded letter is written for an index: as it is, or by its number where an index might not know it."""

    def __missing__(self, code: int) -> str:
        known = code < 128 or _OLD.category(chr(code))[0] in "LN"
        self[code] = chr(code) if known else f"u{code:x}u"
        return self[code]


class _Shown(dict[int, str]):
    """What each character is in the full-text table: itself where that table makes the same word of it."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        apart = _WORDS[code]
        plain = code < 128 or (apart.isspace() and _OLD.category(letter)[0] in "PZS" and code not in _JOINTS)
        same = any(start <= code < end for start, end in _ALIKE) and apart == _plain_letter(letter)
        self[code] = letter if plain or same else apart.translate(_SAFE)
        return self[code]


def _plain_letter(letter: str) -> str:
    return unicodedata.normalize("NFD", letter.lower())[:1]


_ALIKE = (
    *((0xC0, 0x180), (0x391, 0x3AA), (0x3B1, 0x3CA), (0x410, 0x419), (0x41A, 0x439), (0x43A, 0x450)),
    *((0x1E00, 0x1E9C), (0x1EA0, 0x1EFA)),
)
"""Letters whose accents SQLite's unicode61 takes off as we do."""
_LUMP = re.compile(rf"([a-zA-Z0-9]{{{LONGEST}}})[a-zA-Z0-9]+")
_FOLDS, _WORDS, _SAFE, _SHOWN = _Folds(), _Words(), _Safe(), _Shown()
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
"""Runs of letters that are translated one by one; ASCII between them is not, in a hundredth of the time."""


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

    >>> words("The naïve fox's 東京 e-mail; Straße")
    ['the', 'naive', 'fox', 's', '東', '京', 'e', 'mail', 'strasse']
    """
    if text.isascii():
        return _PLAIN.findall(text.lower())
    cut = composed(text).encode("utf-8", "replace").translate(_CUT).decode()
    return _BEYOND_ASCII.sub(lambda run: run[0].translate(_WORDS), cut).split()


def pieces(text: str) -> list[str]:
    """Return the words of a text as every index has them.

    >>> pieces("Put_NoWait 東京")
    ['put', 'nowait', '東', '京']
    """
    return indexed(text).split() if not text.isascii() else [word[:LONGEST] for word in words(text)]


def says(text: str | None, sought: str) -> bool:
    """Say whether a text has words, given as its words with a space before them, and behind them but for a beginning.

    >>> says("The Tea-House", " tea house "), says("A teapot", " tea"), says(None, " tea ")
    (True, True, False)
    """
    return text is not None and sought in _spelt(text)


@lru_cache(maxsize=10_000)
def _spelt(text: str) -> str:
    return f" {' '.join(pieces(text))} "


def indexed(text: str) -> str:
    """Return a text of which every index makes the same words, whatever it knows of letters.

    Words are cut to their first `LONGEST` characters, here and in what is searched for: lumps of encoded data are
    found by their beginning. A letter that is younger than 2002 is written by its number.

    >>> indexed("東京 Café"), indexed("a_b C++")
    ('東 京 cafe', 'a_b C++')
    """
    if text.isascii():
        return text if max(map(len, text.split()), default=0) <= LONGEST else _LUMP.sub(r"\1", text)
    return " ".join(word[:LONGEST] for word in words(text)).translate(_SAFE)


def readable(text: str) -> str:
    """Return a text for the full-text table: as `indexed`, and as it was written wherever that makes no difference.

    >>> readable("“Café” Ørsted, 東京")
    '“Café” orsted,  東  京 '
    """
    if text.isascii():
        return indexed(text)
    shown = _BEYOND_ASCII.sub(lambda run: run[0].translate(_SHOWN), composed(text))
    lumps = max(map(len, shown.split()), default=0) > LONGEST and max(map(len, words(text)), default=0) > LONGEST
    return indexed(text) if lumps else shown


def counted(*texts: str) -> Counter[str]:
    """Count the words of texts together, without those of `LONGEST` letters and more: what `words` finds, faster.

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
    # In the text of an index longer words are cut to LONGEST: counted there or here, none of them counts.
    if found and len(max(found, key=len)) >= LONGEST:
        for word in [word for word in found if len(word) >= LONGEST]:
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


def address_text(url: str) -> str:
    """Return a URL with its words apart: host without `www`, path and query, without percent signs.

    >>> address_text("https://www.example.org/my%20page/a-b.html?q=1")
    'example.org/my page/a-b.html q=1'
    """
    host, slash, path = url[:_LONGEST_URL].partition("://")[2].partition("/")
    name = host.rpartition("@")[2].partition(":")[0].removeprefix("www.")
    text = f"{name}{slash}{path.partition('#')[0].replace('?', ' ', 1)}"
    return unquote(text) if "%" in text else text
