"""Sketches: how well they estimate the similarity of any texts."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.formats.sketch import (
    BANDS,
    LANES,
    MAX_CHARACTERS,
    NEAR_DUPLICATE_SIMILARITY,
    estimate_similarity,
    make_sketch,
    split_bands,
)


def prose(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    return ["".join(chance.choices("abcdefghijklmnop", k=chance.randrange(3, 9))) for _ in range(count)]


def alike(first: str, second: str) -> tuple[float, bool]:
    """Return the similarity, and whether there is a band in common."""
    a, b = make_sketch(first), make_sketch(second)
    return estimate_similarity(a, b), bool(set(split_bands(a)) & set(split_bands(b)))


@given(st.text(max_size=400))
@settings(max_examples=200)
def test_any_text_has_a_sketch_or_none(text: str) -> None:
    sketch_ = make_sketch(text)
    assert len(sketch_) in {0, LANES}
    if sketch_:
        assert estimate_similarity(sketch_, sketch_) == 1
        assert len(split_bands(sketch_)) == len(set(split_bands(sketch_))) == BANDS
        assert all(0 <= band < 2**44 for band in split_bands(sketch_))


@pytest.mark.parametrize("count", [40, 150, 600, 4000])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_similarity_is_what_is_shared(count: int, share: float) -> None:
    """Over many pairs of texts with a common stretch the mean is right: the sketch has no bias."""
    estimates = []
    kept = int(count * share)
    for seed in range(30):
        same = prose(seed, kept)
        first, second = ([*same, *prose(1000 * which + seed, count - kept)] for which in (1, 2))
        estimates.append(alike(" ".join(first), " ".join(second))[0])
    whole = max(0, kept - 3)  # the last shingles of the stretch reach into what follows it
    expected = whole / (2 * count - whole)
    assert sum(estimates) / len(estimates) == pytest.approx(expected, abs=0.04)


def test_edits_are_found_and_half_new_texts_are_not() -> None:
    hits, false = 0, 0
    for seed in range(100):
        text = prose(seed, 120)
        edited = [*text[:50], "May", "2026", *text[52:], "read", str(seed), "times"]
        share, candidate = alike(" ".join(text), " ".join(edited))
        hits += candidate and share >= NEAR_DUPLICATE_SIMILARITY
        second, _ = alike(" ".join(text), " ".join(text[:60] + prose(seed + 5000, 60)))
        false += second >= NEAR_DUPLICATE_SIMILARITY
    assert hits >= 99
    assert false == 0


def test_case_and_punctuation_do_not_count() -> None:
    words = prose(1, 60)
    assert alike(" ".join(words), ", ".join(words).upper() + "!") == (1.0, True)


def test_writing_without_spaces_is_compared_letter_by_letter() -> None:
    text = "東京都の天気は晴れ時々曇りで最高気温は二十五度の見込みです傘の心配はないでしょう明日も同じ"
    share, candidate = alike(text, text.replace("二十五", "二十六"))
    assert candidate
    assert NEAR_DUPLICATE_SIMILARITY <= share < 1


def test_short_texts_have_none_and_endless_ones_are_cut() -> None:
    assert make_sketch("Page not found") == b""
    text = " ".join(prose(1, MAX_CHARACTERS // 4))
    assert make_sketch(text) == make_sketch(text + " more of it")


def test_a_sketch_stays_what_it_is() -> None:
    """Sketches are stored: if they are computed in another way, the tables must be rebuilt."""
    assert make_sketch(" ".join(prose(7, 50)))[:8].hex() == "b873eca4fa413db6"
