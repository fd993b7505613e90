"""Split texts into folded words: in lower case, without accents. Each Chinese, Japanese or Thai letter is a word."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import unquote

MAX_WORD_LENGTH = 64
"""The maximum number of characters of a word in an index. A longer word, mostly encoded data, is cut."""

_MAX_URL_LENGTH = 2_000  # characters of a URL that are searched
MAX_CACHED_PIECES = 20_000
"""The maximum number of pieces of text whose words `count_words` caches."""

_UNSPACED_SCRIPTS = (  # Thai, single Korean letters, Chinese, Japanese: ranges of a regular expression
    "\u0e00-\u0e7f\u1100-\u11ff\u2e80-\u2fdf\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED_LETTER = re.compile(f"[{_UNSPACED_SCRIPTS}]")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_BYTE_TABLE = bytes(ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(128))
_BYTE_TABLE += bytes(range(128, 256))
"""Translates bytes: ASCII letters to lower case and ASCII punctuation to spaces; other bytes are unchanged."""
_PLAIN_LETTERS = str.maketrans(
    {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "\u0131": "i", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th"}
)
_BREAK_POINTS = {0x200B}  # code points of invisible characters at which a line may break: they separate words
_UNICODE_2002 = unicodedata.ucd_3_2_0  # the Unicode database of 2002: both Tantivy and SQLite know its letters


def _is_left_out(character: str) -> bool:
    """Return whether folding removes a character: an accent, an enclosing mark, or a Semitic vowel sign."""
    combining_class = unicodedata.combining(character)
    return 10 <= combining_class <= 36 or combining_class >= 200 or unicodedata.category(character) == "Me"


def _fold_character(code: int) -> str:
    """Return the character with a code point in lower case and without accents; it may become "" or several letters."""
    letter = chr(code)
    if unicodedata.category(letter) == "Cf" and code not in _BREAK_POINTS:  # soft hyphens, joiners, direction marks
        return ""
    if code == 0x0640 or 0xFE00 <= code <= 0xFE0F:  # the Arabic tatweel, and variation selectors
        return ""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", letter).casefold())
    folded = "".join(character for character in folded if not _is_left_out(character)).translate(_PLAIN_LETTERS)
    return unicodedata.normalize("NFC", folded)


def _is_of_word(letter: str) -> bool:
    """Return whether words may contain a folded character: a letter, a digit, or an Indian combining sign."""
    return letter.isalnum() or unicodedata.category(letter) in {"Mn", "Mc"}


class _WordLetters(dict[int, str]):
    """A cache by code point: the folded letters of a character, or a space if words cannot contain the character."""

    def __missing__(self, code: int) -> str:
        letters = "".join(
            f" {char} " if _UNSPACED_LETTER.match(char) else char if _is_of_word(char) else " "
            for char in _fold_character(code)
        )
        self[code] = letters
        return letters


class _FoldedLetters(dict[int, str]):
    """A cache by code point: the folded character, or the same character if folding does not give exactly one."""

    def __missing__(self, code: int) -> str:
        folded = _fold_character(code)
        self[code] = folded if len(folded) == 1 else chr(code)
        return self[code]


class _IndexLetters(dict[int, str]):
    """A cache by code point: a folded letter for an index, or its number (`u1234u`) if an index may not know it."""

    def __missing__(self, code: int) -> str:
        is_known = code < 128 or _UNICODE_2002.category(chr(code))[0] in "LN"
        self[code] = chr(code) if is_known else f"u{code:x}u"
        return self[code]


_LONG_WORD = re.compile(rf"([a-zA-Z0-9]{{{MAX_WORD_LENGTH}}})[a-zA-Z0-9]+")
_FOLDED_LETTERS, _WORD_LETTERS = _FoldedLetters(), _WordLetters()
_INDEX_LETTERS = _IndexLetters()
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
"""Matches the runs that are translated letter by letter. The ASCII text between them is not, which saves time."""


def fold(text: str) -> str:
    """Return `text`, which must be in NFC, in lower case and without accents. Its length stays the same.

    >>> fold("Café ØRSTED"), len(fold("İstanbul"))
    ('cafe orsted', 8)
    """
    return text.lower() if text.isascii() else text.translate(_FOLDED_LETTERS)


def composed(text: str) -> str:
    """Return a text in Unicode's composed form, NFC."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def words(text: str) -> list[str]:
    """Return the folded words of a text in order.

    >>> words("The naïve fox's 東京 e-mail; Straße")
    ['the', 'naive', 'fox', 's', '東', '京', 'e', 'mail', 'strasse']
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    separated_text = composed(text).encode("utf-8", "replace").translate(_BYTE_TABLE).decode()
    return _BEYOND_ASCII.sub(lambda run: run[0].translate(_WORD_LETTERS), separated_text).split()


def index_words(text: str) -> list[str]:
    """Return the words of a text in order, as indexes store them: folded, and cut to `MAX_WORD_LENGTH`.

    >>> index_words("Put_NoWait 東京")
    ['put', 'nowait', '東', '京']
    """
    return indexable_text(text).split() if not text.isascii() else [word[:MAX_WORD_LENGTH] for word in words(text)]


def contains_words(text: str | None, consecutive_words: str) -> bool:
    """Return whether a text contains words next to each other, in this order, or False if it is None.

    `consecutive_words` are words as `index_words` returns them, with a space before each. Without a space at the end,
    the last one is a prefix.

    >>> contains_words("The Tea-House", " tea house "), contains_words("A teapot", " tea")
    (True, True)
    """
    return text is not None and consecutive_words in _index_text(text)


@lru_cache(maxsize=10_000)
def _index_text(text: str) -> str:
    return f" {' '.join(index_words(text))} "


def indexable_text(text: str) -> str:
    """Return a text for an index, from which Tantivy and SQLite derive the same words.

    Words are cut to `MAX_WORD_LENGTH` characters, as are those of queries, so a longer word is found by its beginning.
    Letters that were added to Unicode after 2002 are replaced by their number.

    >>> indexable_text("東京 Café"), indexable_text("a_b C++")
    ('東 京 cafe', 'a_b C++')
    """
    if text.isascii():
        return text if max(map(len, text.split()), default=0) <= MAX_WORD_LENGTH else _LONG_WORD.sub(r"\1", text)
    return " ".join(word[:MAX_WORD_LENGTH] for word in words(text)).translate(_INDEX_LETTERS)


def count_words(*texts: str) -> Counter[str]:
    """Count how often each word occurs in the texts; words of `MAX_WORD_LENGTH` letters or more are left out.

    The words are those of `words`, which is slower: here the texts are split at ASCII punctuation, and each different
    piece that is not ASCII is then split once.

    >>> sorted(count_words("Tea, tea", "café 東京 x_y").items())
    [('cafe', 1), ('tea', 2), ('x', 1), ('y', 1), ('京', 1), ('東', 1)]
    """
    text = composed("\n".join(texts))
    counts = Counter(text.encode("utf-8", "replace").translate(_BYTE_TABLE).decode("utf-8").split())
    if not text.isascii():
        for piece in [word for word in counts if not word.isascii()]:
            occurrences = counts.pop(piece)
            for word in _PIECE_WORDS[piece]:
                counts[word] = counts.get(word, 0) + occurrences
    # An index cuts longer words to MAX_WORD_LENGTH: a word of this length may be a part of one, and is not counted.
    if counts and len(max(counts, key=len)) >= MAX_WORD_LENGTH:
        for word in [word for word in counts if len(word) >= MAX_WORD_LENGTH]:
            del counts[word]
    return counts


class _PieceWords(dict[str, list[str]]):
    """A cache of the words of short pieces of text, since the same pieces occur in many texts."""

    def __missing__(self, piece: str) -> list[str]:
        piece_words = words(piece)
        if len(piece) <= MAX_WORD_LENGTH:
            if len(self) >= MAX_CACHED_PIECES:
                self.clear()
            self[piece] = piece_words
        return piece_words


_PIECE_WORDS = _PieceWords()


def needs_no_spaces(word: str) -> bool:
    """Return whether the script of a word is written without spaces between words, as in Chinese, Japanese and Thai."""
    return _UNSPACED_LETTER.match(word) is not None


def whole_word_pattern(expression: str, terms: Sequence[str], *, open_end: bool = False) -> str:
    """Return a regular expression that matches where `expression` does, but only whole words.

    `expression` matches the folded words `terms`, and begins with the first letter of the first word. With `open_end`,
    the last word may be the beginning of a longer one.

    >>> re.findall(whole_word_pattern("tea", ["tea"]), "tea teapot 3tea")
    ['tea']
    """
    ending = r"\w*" if open_end else "" if _UNSPACED_LETTER.match(terms[-1]) else r"(?![^\W_])"
    if _UNSPACED_LETTER.match(terms[0]):
        return f"(?:{expression}){ending}"
    # The first letter precedes the look-behind, because an expression that begins with a letter is faster.
    first_letter = re.escape(terms[0][0])
    return rf"{first_letter}(?<![^\W_]{first_letter}){expression[len(first_letter) :]}{ending}"


def address_text(url: str) -> str:
    """Return the searched text of a URL: host name without `www.`, path and query, with percent escapes decoded.

    >>> address_text("https://www.example.org/my%20page/a-b.html?q=1")
    'example.org/my page/a-b.html q=1'
    """
    authority, slash, path = url[:_MAX_URL_LENGTH].partition("://")[2].partition("/")
    host_name = authority.rpartition("@")[2].partition(":")[0].removeprefix("www.")
    text = f"{host_name}{slash}{path.partition('#')[0].replace('?', ' ', 1)}"
    return unquote(text) if "%" in text else text
