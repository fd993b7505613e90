"""Suggest other words for query words that occur in no document: "did you mean"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

_ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "αβγδεζηθικλμνξοπρστυφχψω", "абвгдежзийклмнопрстуфхцчшщъыьэюя")
MIN_LENGTH, MAX_LENGTH = 4, 30
"""The minimum and maximum length of a word that is corrected: too many words are similar to a shorter word."""
MAX_WORDS = 8
"""If a query has more words, no other words are suggested: it is probably a copied passage."""
_MIN_TWICE_LENGTH = 6
"""The minimum length of a word for which words that differ from it in two places are suggested."""


class Suggestion(NamedTuple):
    """A word, or two words in place of one.

    `documents` is the number of documents that have the word, or the rarer of the two words.
    """

    text: str
    documents: int


def suggest_words(
    frequency: Mapping[str, int], count: Callable[[Iterable[str]], Mapping[str, int]]
) -> dict[str, Suggestion]:
    """Return a dict from each query word that no document has to the suggestion for it.

    A suggestion is the most frequent word that is spelt nearly the same, or the two words that the word consists of.
    Words without a suggestion are left out, and so are words of fewer than MIN_LENGTH or more than MAX_LENGTH letters.
    `frequency` has the number of documents with each folded word of the query; `count` returns this number for other
    words.

    >>> documents = {"harbour": 3, "tea": 2, "green": 5}
    >>> def count(words): return {word: documents.get(word, 0) for word in words}
    >>> suggest_words({"harbuor": 0, "greentea": 0, "tea": 2}, count)
    {'harbuor': Suggestion(text='harbour', documents=3), 'greentea': Suggestion(text='green tea', documents=2)}
    """
    unknown_words = [word for word, number in frequency.items() if not number and word.isalpha()]
    suggestions: dict[str, Suggestion] = {}
    for word in unknown_words[:MAX_WORDS] if len(frequency) <= MAX_WORDS else ():
        if MIN_LENGTH <= len(word) <= MAX_LENGTH and (suggestion := _suggest(word, count)):
            suggestions[word] = suggestion
    return suggestions


def _suggest(word: str, count: Callable[[Iterable[str]], Mapping[str, int]]) -> Suggestion | None:
    letters = "".join(alphabet for alphabet in _ALPHABETS if set(alphabet) & set(word))
    near_words = {*_drop_or_swap(word), *_replace_or_insert(word, letters)}
    best = _choose_most_frequent(count(near_words)) or _split(word, count)
    if best is None and len(word) >= _MIN_TWICE_LENGTH:
        further_words = {
            new
            for near in set(_drop_or_swap(word))
            for new in (*_drop_or_swap(near), *_replace_or_insert(near, letters))
        }
        best = _choose_most_frequent(count(further_words - near_words - {word}))
    return best


def _drop_or_swap(word: str) -> Iterator[str]:
    for index in range(len(word)):
        yield word[:index] + word[index + 1 :]
        if index:
            yield word[: index - 1] + word[index] + word[index - 1] + word[index + 1 :]


def _replace_or_insert(word: str, letters: str) -> Iterator[str]:
    for index in range(len(word) + 1):
        for letter in letters:
            yield word[:index] + letter + word[index:]
            if index < len(word):
                yield word[:index] + letter + word[index + 1 :]


def _choose_most_frequent(documents_by_word: Mapping[str, int]) -> Suggestion | None:
    best = max(documents_by_word.items(), key=lambda pair: (pair[1], pair[0]), default=("", 0))
    return Suggestion(*best) if best[1] else None


def _split(word: str, count: Callable[[Iterable[str]], Mapping[str, int]]) -> Suggestion | None:
    """Return the most frequent split of a word into two words of at least two letters each, or None if none occurs."""
    pairs = [(word[:index], word[index:]) for index in range(2, len(word) - 1)]
    documents = count({part for pair in pairs for part in pair})
    frequencies = {f"{first} {second}": min(documents[first], documents[second]) for first, second in pairs}
    return _choose_most_frequent(frequencies)


def replace_words(text: str, suggestions: Mapping[str, Suggestion], words: Callable[[str], list[str]]) -> str:
    """Return a query with words replaced by their `suggestions`; `words` returns the folded words of a text.

    >>> replace_words('Harbuor -harbuors', {"harbuor": Suggestion("harbour", 3)}, lambda text: [text.lower()])
    'harbour -harbuors'
    """

    def replace_word(match: re.Match[str]) -> str:
        folded = words(match[0])
        suggestion = suggestions.get(folded[0]) if len(folded) == 1 else None
        return suggestion.text if suggestion else match[0]

    return re.sub(r"\w+", replace_word, text)
