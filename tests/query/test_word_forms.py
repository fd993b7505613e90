"""The other forms of a word among the words of an index."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.query.word_forms import MAX_FORMS, find_word_forms


def drop_ending(language: str, words: Sequence[str]) -> list[str]:
    """Stem words in a made-up language: `y` and `ies` are endings."""
    return [word.removesuffix("ies").removesuffix("y") + "i" for word in words]


def find(words: Sequence[str], *indexed: tuple[str, int]) -> object:
    def complete(prefix: str) -> list[tuple[str, int]]:
        return [pair for pair in indexed if pair[0].startswith(prefix)]

    return find_word_forms(words, ["en"], complete, drop_ending)


def test_forms_have_the_same_stem_and_the_most_frequent_are_first() -> None:
    assert find(["study"], ("study", 9), ("studies", 2), ("studio", 7), ("studi", 1)) == {"study": {"en": ("studies",)}}
    assert find(["studies"], ("study", 9), ("studies", 2)) == {"studies": {"en": ("study",)}}


def test_short_words_and_numbers_have_no_forms() -> None:
    assert find(["fly", "2026", "a.b"], ("flies", 1), ("2026ies", 1)) == {}


def test_only_so_many_forms_are_searched() -> None:
    indexed = [("studies", 5)] * (MAX_FORMS + 3)
    assert len(find(["study"], *indexed)["study"]["en"]) == MAX_FORMS
