"""The slug of a title, by which two spellings of it meet, and the score of two titles.

The standard's own rules. A slug drops all that spellings differ in, so titles that share one differ in white space at
most, and the score says little; the verdict (`verdict.py`) rests on more.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST = 1023
"""Characters of a title; a record with a longer one is matched with nothing by it."""
_SHORTEST = 8

_LETTERS = str.maketrans("\u0141\u0142\u00d8\u00f8", "LlOo")
_ACCENTS = re.compile("[\u0300-\u036f]")
_MARKS = re.compile(
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~\u2019\u00b7\u201c\u201d\u2018\u00ab\u00bb\u300c\u300d\u00bf\u2013\u00b1\u00a7\u02bf]"
)
_SPACE = re.compile("[ \t\n\r\x0b\x0c]")


def plain(title: str) -> str:
    """Return a title in lower case, without accents and marks.

    >>> plain("Søren ŁÓDŹ: a très-long “title”!")
    'soren lodz a treslong title'
    """
    spread = unicodedata.normalize("NFD", title).translate(_LETTERS)
    return _MARKS.sub("", _ACCENTS.sub("", spread).lower())


def slug(title: str, stubs: frozenset[str]) -> str:
    """Return a title's slug; empty where it has none: too short, or one of the stubs.

    >>> slug("HELLO:there", frozenset()), slug("short", frozenset()), slug("Book Reviews", frozenset({"bookreviews"}))
    ('hellothere', '', '')
    """
    found = _SPACE.sub("", plain(title))
    return "" if len(found) < _SHORTEST or found in stubs else found


def matched_slug(title: str, stubs: frozenset[str]) -> str:
    """Return the slug by which a record is matched; empty for one whose title is too long."""
    return slug(title, stubs) if len(title) <= LONGEST else ""


def score(left: str, right: str) -> int:
    """Return how alike two titles are, in thousandths of the longer one.

    >>> score("A title of thing", "A title of things"), score("sturgeon", "urgently"), score("", "")
    (941, 250, 1000)
    """
    one, other = plain(left), plain(right)
    longer = max(len(one), len(other))
    if not longer:
        return 1000
    return 1000 * (longer - distance(one, other)) // longer


def distance(one: str, other: str) -> int:
    """Count the letters to be put, taken or changed to make one text of another (Levenshtein).

    Bit vectors hold a column of the table, as Myers (1999) and Hyyrö (2003) describe it.

    >>> distance("kitten", "sitting"), distance("", "abc"), distance("same", "same")
    (3, 3, 0)
    """
    if one == other:
        return 0
    if not one or not other:
        return len(one) + len(other)
    places: dict[str, int] = {}
    for at, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << at
    every, last = (1 << len(one)) - 1, 1 << len(one) - 1
    up, down, count = every, 0, len(one)
    for letter in other:
        same = places.get(letter, 0)
        diagonal = (((same & up) + up) ^ up) | same | down
        rises, falls = down | ~(diagonal | up) & every, diagonal & up
        count += bool(rises & last) - bool(falls & last)
        rises, falls = (rises << 1 | 1) & every, (falls << 1) & every
        up, down = falls | ~(diagonal | rises) & every, rises & diagonal
    return count
