"""Words suggested for mistyped ones: ten usual mistakes, and what gets no suggestion."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter

import pytest

from windrow.query.spelling import MAX_WORDS, Suggestion, replace_words, suggest_words
from windrow.query.word import words

DOCUMENTS = {
    "harbour": 9, "council": 7, "lighthouse": 3, "budget": 4, "green": 5, "tea": 8, "timetable": 2, "keeper": 2,
    "retires": 1, "library": 6, "ναυτικο": 2, "совет": 3, "councils": 1,
}  # fmt: skip


def count(candidates: Iterable[str]) -> dict[str, int]:
    return {word: DOCUMENTS.get(word, 0) for word in candidates}


def suggest(*typed: str) -> dict[str, Suggestion]:
    return suggest_words({word: DOCUMENTS.get(word, 0) for word in typed}, count)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("harbuor", "harbour"), ("councl", "council"), ("lihgthouse", "lighthouse"), ("budgget", "budget"),
        ("libary", "library"), ("timetabel", "timetable"), ("keepar", "keeper"), ("greentea", "green tea"),
        ("lihgthuose", "lighthouse"), ("retirrs", "retires"), ("ναυτιοκ", "ναυτικο"), ("совте", "совет"),
    ],
)  # fmt: skip
def test_a_mistyped_word_is_answered_with_the_one_meant(typed: str, meant: str) -> None:
    assert suggest(typed)[typed].text == meant


def test_of_several_near_words_the_most_frequent_is_suggested() -> None:
    assert suggest("councilx") == {"councilx": Suggestion("council", 7)}


@pytest.mark.parametrize("typed", ["council", "te", "zzzzqqqq", "2026", "a1b2", "x" * 40])
def test_known_short_far_and_numbered_words_get_none(typed: str) -> None:
    assert suggest(typed) == {}


def test_a_copied_passage_gets_none() -> None:
    assert suggest(*(f"harbuor{letter}" for letter in "abcdefghi"[: MAX_WORDS + 1])) == {}


def test_the_longest_words_take_no_longer_than_a_moment() -> None:
    began = perf_counter()
    assert suggest(*(letter * 30 for letter in "bcdfghjk")) == {}
    assert perf_counter() - began < 5


def test_only_whole_words_of_the_query_are_replaced() -> None:
    suggestions = {"harbuor": Suggestion("harbour", 9)}
    query = 'Harbuor "the harbuor" site:example.org -harbuors'
    assert replace_words(query, suggestions, words) == 'harbour "the harbour" site:example.org -harbuors'
