from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.fetch.politeness.pace import (
    MAX_FAILED,
    MAX_LIMITED,
    MAX_RETRY_AFTER_SECONDS,
    MAX_UNAVAILABLE,
    AnswerTiming,
    Pace,
    minimum_delay,
    retry_after,
    should_retry_at_once,
)
from windrow.reasons import Reason

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
ANSWERS = st.lists(
    st.builds(
        AnswerTiming,
        st.sampled_from([200, 200, 200, 301, 304, 404, 429, 500, 503, None]),
        st.floats(0, 100),
        st.one_of(st.none(), st.floats(0, 1e6)),
    ),
    max_size=40,
)


def run(answers, delay=1.0):
    pace = Pace()
    for answer in answers:
        pace = pace.after_answer(answer, delay)
        yield pace


def test_the_first_wait_is_the_least_delay():
    assert Pace().wait(1.5) == 1.5


def test_politeness_begins_at_four_times_the_duration_and_falls():
    waits = [pace.wait(0.0) for pace in run([AnswerTiming(200, 1.0)] * 25)]
    assert waits[0] == 2**1.9
    assert waits == sorted(waits, reverse=True)
    assert waits[19:] == [1.0] * 6
    assert next(run([AnswerTiming(500, 1.0)])).wait(0.0) == 4.0


def test_a_429_doubles_the_wait_and_it_stays():
    states = list(
        run(
            [AnswerTiming(200, 1.0), AnswerTiming(429, 1.0), *[AnswerTiming(200, 0.1)] * 30, AnswerTiming(429, 1.0)],
            0.0,
        )
    )
    assert states[1].wait(0.0) == 2**2.9
    assert states[-2].wait(0.0) == 2**2.9
    assert states[-1].wait(0.0) == 2**3.9
    assert states[-1].is_held


@given(ANSWERS, st.floats(0, 200))
def test_the_promise_of_the_delay(answers, delay):
    since = 0.0
    for answer, pace in zip(answers, run(answers, delay), strict=True):
        wait = pace.wait(delay)
        assert wait >= max(delay, answer.seconds * 2**pace.p)
        assert pace.p >= 0
        assert wait >= min(answer.retry_after or 0, MAX_RETRY_AFTER_SECONDS)
        assert wait <= max(1e9, MAX_RETRY_AFTER_SECONDS)
        asked = min(answer.retry_after or 0.0, MAX_RETRY_AFTER_SECONDS)
        if pace.is_held:
            assert wait >= since
            since = max(since, wait if wait > asked else since)


@given(ANSWERS)
def test_p_never_falls_after_a_429(answers):
    states = list(run(answers))
    for before, after in pairwise(states):
        assert not before.is_held or after.tenths >= before.tenths
        assert abs(after.tenths - before.tenths) in {0, 1, 10}


@pytest.mark.parametrize(("status", "limit"), [(503, MAX_UNAVAILABLE), (429, MAX_LIMITED), (None, MAX_FAILED)])
def test_a_site_is_given_up(status, limit):
    states = list(run([AnswerTiming(status, 0.1)] * limit))
    assert [pace.given_up for pace in states] == [False] * (limit - 1) + [True]
    broken = (
        [AnswerTiming(status, 0.1)] * (limit - 1) + [AnswerTiming(200, 0.1)] + [AnswerTiming(status, 0.1)] * (limit - 1)
    )
    assert not any(pace.given_up for pace in run(broken))


def test_retry_after_holds_once():
    first, second = run([AnswerTiming(503, 0.1, 60.0), AnswerTiming(200, 0.1)])
    assert (first.wait(1.0), second.wait(1.0)) == (60.0, 1.0)
    assert next(run([AnswerTiming(503, 0.1, 1e9)])).wait(1.0) == MAX_RETRY_AFTER_SECONDS
    assert next(run([AnswerTiming(503, 0.1, -5.0)])).wait(1.0) == 1.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        (" 30 ", 30.0),
        ("9" * 12, MAX_RETRY_AFTER_SECONDS),
        ("9" * 13, MAX_RETRY_AFTER_SECONDS),
        ("-1", None),
        ("1.5", None),
        ("1e3", None),
        ("\u0663", None),
        ("", None),
        ("Saturday, 21-Nov-26 12:00:10 GMT", 10.0),
        ("Sat Nov 21 12:00:10 2026", 10.0),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0.0),
        ("Sat, 21 Nov 2099 11:00:00 GMT", MAX_RETRY_AFTER_SECONDS),
    ],
)
def test_retry_after(text, seconds):
    assert retry_after(text, NOON) == seconds


@given(st.text(max_size=40))
def test_any_retry_after_is_bounded(text):
    pause = retry_after(text, NOON)
    assert pause is None or 0 <= pause <= MAX_RETRY_AFTER_SECONDS


def test_the_least_delay():
    assert (minimum_delay(None, 1.5), minimum_delay(0.0, 1.5), minimum_delay(180.0, 1.5)) == (1.5, 0.0, 180.0)


def test_flukes():
    assert should_retry_at_once(Reason.INTERRUPTED, 1)
    assert not should_retry_at_once(Reason.DNS_FAILED, 1)
    assert not should_retry_at_once(None, 1)
