"""Count the words of a text in any script."""

from __future__ import annotations

import re

_SINGLE = "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Ideographs and Hiragana, each of which is a word by the rules of Unicode (UAX 29), which know no dictionary."""
_UNSPACED = "\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u109d\u1780-\u17d3"
"""Letters and signs of Thai, Lao, Burmese and Khmer, which write words without spaces; a word has about five."""
_SIGNS = (
    "\u0300-\u036f"  # accents
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew points
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"  # Arabic vowels
    "\u0900-\u0963\u0971-\u0de5\u0df2\u0df3\u0f71-\u0f84"  # the scripts of India, Sri Lanka and Tibet
    "\u200c\u200d"  # joiners
)
"""Signs that belong to a word, although they are not letters."""
_PART = rf"[^\W{_SINGLE}{_UNSPACED}](?>(?:[^\W{_SINGLE}{_UNSPACED}]|[{_SIGNS}])*)"
_JOIN = r"['\u2019.-]"
_WORD = re.compile(rf"[{_SINGLE}]|[{_UNSPACED}]{{1,5}}|{_PART}(?>(?:{_JOIN}{_PART})*)")
_ASCII_WORD = re.compile(rf"\w+(?:{_JOIN}\w+)*")


def count_words(text: str) -> int:
    """Return the number of words of a text.

    An ideograph is a word, as in word processors. In scripts that write words without spaces, the number is estimated.

    >>> count_words("The town's well-known mayor"), count_words("東京は2026年")
    (4, 5)
    >>> count_words("हिन्दी भाषा"), count_words("สวัสดีครับ")
    (2, 2)
    """
    return len((_ASCII_WORD if text.isascii() else _WORD).findall(text))
