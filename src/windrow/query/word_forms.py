"""Find other forms of a word, such as its plural, among the words of an index: those with the same stem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from windrow.caps import WORD_FORMS

STEMMERS: Mapping[str, str] = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish", "fi": "finnish",
    "fr": "french", "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "nb": "norwegian",
    "nn": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish", "ta": "tamil",
    "tr": "turkish",
}  # fmt: skip
"""A dict from languages (BCP 47) to the names of Tantivy's stemmers."""
MIN_LENGTH = 4
"""The minimum length of a word whose forms are searched for. Too many words begin with the stem of a shorter one."""
MAX_FORMS = WORD_FORMS.number
"""The maximum number of forms of a word in one language that are searched for. The most frequent ones are used."""
_MIN_PREFIX = 3
_MAX_ENDING = 8  # characters by which a form may be longer than the word

WordForms: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]
"""A dict from each query word that has other forms to a dict from each language to its forms in that language."""


def find_word_forms(
    words: Iterable[str],
    languages: Sequence[str],
    complete: Callable[[str], Sequence[tuple[str, int]]],
    stem: Callable[[str, Sequence[str]], Sequence[str]],
) -> WordForms:
    """Return the other forms of folded `words` that occur in documents. The forms in the most documents come first.

    `languages` are the languages of the documents. `complete` returns the indexed words with a prefix, each with the
    number of documents that have it. `stem` returns the stems of words in a language.

    >>> indexed = [("harbour", 3), ("harbours", 5), ("harbourmaster", 1)]
    >>> def stem(language, words): return [word.removesuffix("s") for word in words]
    >>> find_word_forms(["harbour"], ["en"], lambda prefix: indexed, stem)
    {'harbour': {'en': ('harbours',)}}
    """
    forms_by_word = {}
    for word in words:
        if len(word) < MIN_LENGTH or not word.isalpha():
            continue
        forms = {language: _find_forms(word, language, complete, stem) for language in languages}
        if forms := {language: others for language, others in forms.items() if others}:
            forms_by_word[word] = forms
    return forms_by_word


def list_forms(word_forms: WordForms) -> tuple[str, ...]:
    """Return all forms in `word_forms`, each once."""
    return tuple(
        dict.fromkeys(form for by_language in word_forms.values() for forms in by_language.values() for form in forms)
    )


def _find_forms(
    word: str,
    language: str,
    complete: Callable[[str], Sequence[tuple[str, int]]],
    stem: Callable[[str, Sequence[str]], Sequence[str]],
) -> tuple[str, ...]:
    (word_stem,) = stem(language, [word])
    pairs = enumerate(zip(word, word_stem, strict=False))
    common_length = next((index for index, pair in pairs if pair[0] != pair[1]), min(len(word), len(word_stem)))
    if common_length < _MIN_PREFIX:
        return ()
    prefix = word[: max(_MIN_PREFIX, common_length - 1)]  # the last letter may differ: study, studies
    longest = len(word) + _MAX_ENDING
    candidates = [pair for pair in complete(prefix) if pair[0] != word and len(pair[0]) <= longest]
    stems = stem(language, [candidate for candidate, _ in candidates])
    forms = [pair for pair, form_stem in zip(candidates, stems, strict=True) if form_stem == word_stem]
    forms.sort(key=lambda pair: (-pair[1], pair[0]))
    return tuple(form for form, _ in forms[:MAX_FORMS])
