"""Split texts into folded words: lower case, without accents; each letter of Chinese, Japanese or Thai is a word."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import unquote

LONGEST = 64
"""The most characters of a word; longer ones are encoded data."""

_LONGEST_URL = 2_000
ROOM = 20_000
"""The most pieces of text whose words are cached."""

_UNSPACED = (
    "\u0e00-\u0e7f\u1100-\u11ff\u2e80-\u2fdf\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_LETTER = re.compile(f"[{_UNSPACED}]")
_PLAIN = re.compile(r"[a-z0-9]+")
_CUT = bytes(ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(128)) + bytes(range(128, 256))
_STROKES = str.maketrans(
    {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "\u0131": "i", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th"}
)
_JOINTS = {0x200B}  # invisible characters at which a line may break: they separate words
_OLD = unicodedata.ucd_3_2_0
"""The Unicode database of 2002: its letters are letters for every index that we use."""


def _accent(mark: str) -> bool:
    """Tell whether a mark is left out: accents, and the vowel signs of Hebrew, Arabic and Syriac."""
    place = unicodedata.combining(mark)
    return 10 <= place <= 36 or place >= 200 or unicodedata.category(mark) == "Me"


def _fold_character(code: int) -> str:
    """Return a character without case and accents: nothing, one letter or several, or itself if not a letter."""
    letter = chr(code)
    if unicodedata.category(letter) == "Cf" and code not in _JOINTS:  # soft hyphens, joiners, direction marks
        return ""
    if code == 0x0640 or 0xFE00 <= code <= 0xFE0F:
        return ""
    bare = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", letter).casefold())
    bare = "".join(char for char in bare if not _accent(char)).translate(_STROKES)
    return unicodedata.normalize("NFC", bare)


def _is_of_word(letter: str) -> bool:
    """Tell whether a folded character is part of a word: letters, digits, and combining signs of Indian scripts."""
    return letter.isalnum() or unicodedata.category(letter) in {"Mn", "Mc"}


class _Words(dict[int, str]):
    """The folded letters of each character, or a space if it is not part of a word; filled on demand."""

    def __missing__(self, code: int) -> str:
        letters = "".join(
            f" {char} " if _LETTER.match(char) else char if _is_of_word(char) else " " for char in _fold_character(code)
        )
        self[code] = letters
        return letters


class _Folds(dict[int, str]):
    """The folded form of each letter if that is one letter, else the letter; filled on demand."""

    def __missing__(self, code: int) -> str:
        folded = _fold_character(code)
        self[code] = folded if len(folded) == 1 else chr(code)
        return self[code]


class _Safe(dict[int, str]):
    """Each folded letter as written for an index: itself, or its number if an index may not know it."""

    def __missing__(self, code: int) -> str:
        is_known = code < 128 or _OLD.category(chr(code))[0] in "LN"
        self[code] = chr(code) if is_known else f"u{code:x}u"
        return self[code]


class _Shown(dict[int, str]):
    """Each character as written to the full-text table: itself if that table derives the same word from it."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        letters = _WORDS[code]
        plain = code < 128 or (letters.isspace() and _OLD.category(letter)[0] in "PZS" and code not in _JOINTS)
        is_alike = any(start <= code < end for start, end in _ALIKE) and letters == _plain_letter(letter)
        self[code] = letter if plain or is_alike else letters.translate(_SAFE)
        return self[code]


def _plain_letter(letter: str) -> str:
    return unicodedata.normalize("NFD", letter.lower())[:1]


_ALIKE = (
    *((0xC0, 0x180), (0x391, 0x3AA), (0x3B1, 0x3CA), (0x410, 0x419), (0x41A, 0x439), (0x43A, 0x450)),
    *((0x1E00, 0x1E9C), (0x1EA0, 0x1EFA)),
)
"""Letters whose accents SQLite's unicode61 removes as we do."""
_LUMP = re.compile(rf"([a-zA-Z0-9]{{{LONGEST}}})[a-zA-Z0-9]+")
_FOLDS, _WORDS, _SAFE, _SHOWN = _Folds(), _Words(), _Safe(), _Shown()
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
"""Runs to be translated letter by letter; skipping the ASCII between them takes a hundredth of the time."""


def fold(text: str) -> str:
    """Return a text in lower case without accents, letter by letter: length and positions stay the same.

    The text should be composed (NFC).

    >>> fold("Café ØRSTED"), len(fold("İstanbul"))
    ('cafe orsted', 8)
    """
    return text.lower() if text.isascii() else text.translate(_FOLDS)


def composed(text: str) -> str:
    """Return the text in Unicode's composed form, NFC."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def words(text: str) -> list[str]:
    """Return the folded words of a text in order.

    >>> words("The naïve fox's 東京 e-mail; Straße")
    ['the', 'naive', 'fox', 's', '東', '京', 'e', 'mail', 'strasse']
    """
    if text.isascii():
        return _PLAIN.findall(text.lower())
    cut = composed(text).encode("utf-8", "replace").translate(_CUT).decode()
    return _BEYOND_ASCII.sub(lambda run: run[0].translate(_WORDS), cut).split()


def pieces(text: str) -> list[str]:
    """Return the words of a text as they are in every index.

    >>> pieces("Put_NoWait 東京")
    ['put', 'nowait', '東', '京']
    """
    return indexed(text).split() if not text.isascii() else [word[:LONGEST] for word in words(text)]


def says(text: str | None, sought: str) -> bool:
    """Tell whether a text has consecutive words: `sought` begins with a space, and ends with one unless a prefix.

    >>> says("The Tea-House", " tea house "), says("A teapot", " tea"), says(None, " tea ")
    (True, True, False)
    """
    return text is not None and sought in _spelt(text)


@lru_cache(maxsize=10_000)
def _spelt(text: str) -> str:
    return f" {' '.join(pieces(text))} "


def indexed(text: str) -> str:
    """Return a text from which every index derives the same words, whichever letters it knows.

    Words are cut to their first `LONGEST` characters, also in queries, so that encoded data is found by its
    beginning. Letters added to Unicode after 2002 are written as their number.

    >>> indexed("東京 Café"), indexed("a_b C++")
    ('東 京 cafe', 'a_b C++')
    """
    if text.isascii():
        return text if max(map(len, text.split()), default=0) <= LONGEST else _LUMP.sub(r"\1", text)
    return " ".join(word[:LONGEST] for word in words(text)).translate(_SAFE)


def readable(text: str) -> str:
    """Return a text for the full-text table: as `indexed` does, but as written wherever the words are the same.

    >>> readable("“Café” Ørsted, 東京")
    '“Café” orsted,  東  京 '
    """
    if text.isascii():
        return indexed(text)
    marked_text = _BEYOND_ASCII.sub(lambda run: run[0].translate(_SHOWN), composed(text))
    lumps = max(map(len, marked_text.split()), default=0) > LONGEST and max(map(len, words(text)), default=0) > LONGEST
    return indexed(text) if lumps else marked_text


def counted(*texts: str) -> Counter[str]:
    """Count the words of all texts, without those of `LONGEST` letters and more; the same as by `words`, but faster.

    The text is split at ASCII characters that are not of a word; then each different piece beyond ASCII is split once.

    >>> sorted(counted("Tea, tea", "café 東京 x_y").items())
    [('cafe', 1), ('tea', 2), ('x', 1), ('y', 1), ('京', 1), ('東', 1)]
    """
    text = composed("\n".join(texts))
    counts = Counter(text.encode("utf-8", "replace").translate(_CUT).decode("utf-8").split())
    if not text.isascii():
        for piece in [piece_ for piece_ in counts if not piece_.isascii()]:
            number = counts.pop(piece)
            for word in _PIECES[piece]:
                counts[word] = counts.get(word, 0) + number
    # An index cuts longer words to LONGEST; as that changes them, they are not counted.
    if counts and len(max(counts, key=len)) >= LONGEST:
        for word in [word for word in counts if len(word) >= LONGEST]:
            del counts[word]
    return counts


class _Pieces(dict[str, list[str]]):
    """A cache of the words of pieces of text, which repeat."""

    def __missing__(self, piece: str) -> list[str]:
        piece_words = words(piece)
        if len(piece) <= LONGEST:
            if len(self) >= ROOM:
                self.clear()
            self[piece] = piece_words
        return piece_words


_PIECES = _Pieces()


def stands_alone(word: str) -> bool:
    """Tell whether a word needs no spaces around it."""
    return _LETTER.match(word) is not None


def bounded(expression: str, terms: Sequence[str], *, open_end: bool = False) -> str:
    """Return a regular expression that matches `expression` only as whole words.

    `expression` matches the words `terms` and begins with the first letter of the first of them.

    >>> re.findall(bounded("tea", ["tea"]), "tea teapot 3tea")
    ['tea']
    """
    ending = r"\w*" if open_end else "" if _LETTER.match(terms[-1]) else r"(?![^\W_])"
    if _LETTER.match(terms[0]):
        return f"(?:{expression}){ending}"
    # The first letter precedes the look-behind: an expression that begins with a letter is faster.
    first_letter = re.escape(terms[0][0])
    return rf"{first_letter}(?<![^\W_]{first_letter}){expression[len(first_letter) :]}{ending}"


def address_text(url: str) -> str:
    """Return the text of a URL for searching: host without `www`, path and query, percent escapes undone.

    >>> address_text("https://www.example.org/my%20page/a-b.html?q=1")
    'example.org/my page/a-b.html q=1'
    """
    host, slash, path = url[:_LONGEST_URL].partition("://")[2].partition("/")
    name = host.rpartition("@")[2].partition(":")[0].removeprefix("www.")
    text = f"{name}{slash}{path.partition('#')[0].replace('?', ' ', 1)}"
    return unquote(text) if "%" in text else text
