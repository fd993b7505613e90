"""Generations follow from the observations of an address, in whatever order these arrive."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from windrow.collections.pages.database.entries import CrawlObservation, Sight, fold_observations

A, B = b"A", b"B"
SIGHTS = st.sampled_from(Sight)
OBSERVATIONS = st.lists(
    st.builds(
        lambda at, crawl, sight, identity: CrawlObservation(at, crawl, sight, identity if sight in {Sight.CONTENT, Sight.PART} else b""),
        st.integers(0, 30), st.binary(min_size=4, max_size=4), SIGHTS, st.sampled_from([A, B, b"C"]),
    ),
    max_size=25, unique_by=lambda observation: observation.crawl,
)  # fmt: skip


def observe(*texts):
    """Return observations, a second apart: a text is content, a sight itself."""
    observations = []
    for at, text in enumerate(texts):
        sight, identity = (text, b"") if isinstance(text, Sight) else (Sight.CONTENT, text)
        observations.append(CrawlObservation(at, at.to_bytes(4, "big"), sight, identity))
    return observations


def spans(*texts):
    return [
        (generation.identity, generation.first_seen, generation.last_seen, generation.confirmed_end)
        for generation in fold_observations(observe(*texts))
    ]


def test_the_same_again_is_one_generation():
    assert spans(A, A, Sight.SAME) == [(A, 0, 2, None)]


def test_other_content_ends_the_one_before():
    assert spans(A, A, B) == [(A, 0, 1, 2), (B, 2, 2, None)]


def test_what_comes_back_after_other_content_is_a_third():
    assert [span[0] for span in spans(A, B, A)] == [A, B, A]


def test_one_missing_answer_ends_nothing():
    assert spans(A, Sight.MISSING) == [(A, 0, 0, None)]
    assert spans(A, Sight.MISSING, A, Sight.MISSING) == [(A, 0, 2, None)]


def test_two_missing_answers_in_a_row_end_it():
    assert spans(A, Sight.MISSING, Sight.UNKNOWN, Sight.MISSING) == [(A, 0, 0, 3)]


def test_gone_ends_it_at_once():
    assert spans(A, Sight.GONE, Sight.GONE) == [(A, 0, 0, 1)]


def test_the_same_text_after_an_absence_is_a_new_generation_and_nothing_was_there_in_between():
    assert spans(A, Sight.GONE, A) == [(A, 0, 0, 1), (A, 2, 2, None)]
    missing = [Sight.MISSING] * 4
    assert spans(A, A, *missing, A, A) == [(A, 0, 1, 3), (A, 6, 7, None)]
    assert spans(A, Sight.GONE, B) == [(A, 0, 0, 1), (B, 2, 2, None)]


def test_without_a_body_before_it_nothing_is_the_same():
    assert spans(Sight.SAME, Sight.UNKNOWN, Sight.MISSING) == []


def test_a_page_that_returns_and_says_that_it_did_not_change_is_there_again():
    assert spans(A, Sight.GONE, Sight.SAME) == [(A, 0, 0, 1), (A, 2, 2, None)]
    assert spans(A, Sight.MISSING, Sight.MISSING, Sight.SAME, Sight.GONE) == [(A, 0, 0, 2), (A, 3, 3, 4)]
    back = fold_observations(observe(A, Sight.GONE, Sight.SAME))[1]
    assert back.describing_crawl == fold_observations(observe(A))[0].crawls[0], (
        "it is described by the body that the server compares with"
    )


def test_a_page_that_did_not_change_while_its_address_led_elsewhere_is_there_again():
    page, moved, back = observe(A, B, Sight.SAME)
    first, away, third = fold_observations([page, moved._replace(has_body=False), back])
    assert (first.confirmed_end, away.confirmed_end, third.identity, third.confirmed_end) == (1, 2, A, None)
    assert third.crawls == [back.crawl]
    assert third.describing_crawl == page.crawl


@given(OBSERVATIONS, st.randoms())
def test_the_order_of_arrival_makes_no_difference(observations, dice):
    mixed = list(observations)
    dice.shuffle(mixed)
    assert fold_observations(mixed) == fold_observations(observations)


@given(OBSERVATIONS)
def test_intervals_do_not_overlap_and_only_the_last_is_open(observations):
    generations = fold_observations(observations)
    for generation in generations:
        assert generation.first_seen <= generation.last_seen
        assert generation.confirmed_end is None or generation.last_seen <= generation.confirmed_end
    for before, after in itertools.pairwise(generations):
        assert before.confirmed_end is not None
        assert before.confirmed_end <= after.first_seen
        assert (
            before.identity != after.identity or before.confirmed_end > before.last_seen or absent(observations, before)
        )


def absent(observations, generation):
    """Tell whether something was missing at the end of a generation."""
    return any(
        seen.seen_at == generation.confirmed_end and seen.sight in {Sight.MISSING, Sight.GONE} for seen in observations
    )


@given(OBSERVATIONS)
def test_no_generation_spans_an_absence_that_ended_it(observations):
    for generation in fold_observations(observations):
        within = [seen for seen in observations if generation.first_seen < seen.seen_at < generation.last_seen]
        assert Sight.GONE not in {seen.sight for seen in within}


@given(OBSERVATIONS)
def test_every_sight_of_content_belongs_to_one_generation(observations):
    crawls = [crawl for generation in fold_observations(observations) for crawl in generation.crawls]
    assert len(crawls) == len(set(crawls))
    assert {observation.crawl for observation in observations if observation.sight is Sight.CONTENT} <= set(crawls)


def fold_parts(*texts):
    """Return the spans of texts, a second apart: a lower-case letter is a part of the text."""
    observations = [
        CrawlObservation(at, at.to_bytes(4, "big"), Sight.PART if text.islower() else Sight.CONTENT, text.encode())
        for at, text in enumerate(texts)
    ]
    return [
        (generation.identity.decode(), generation.last_seen, generation.confirmed_end)
        for generation in fold_observations(observations)
    ]


def test_a_part_does_not_replace_a_text_that_came_whole():
    assert fold_parts("A", "b", "c", "A") == [("A", 3, None)]
    assert fold_parts("b", "c", "A", "b") == [("b", 0, 1), ("c", 1, 2), ("A", 2, None)]


def test_a_304_after_a_part_says_nothing():
    observations = observe(A, B, Sight.SAME)
    observations[1] = observations[1]._replace(sight=Sight.PART)
    assert [(version.identity, version.last_seen) for version in fold_observations(observations)] == [(A, 0)]
