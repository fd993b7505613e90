from hypothesis import given
from hypothesis import strategies as st

from windrow.fetch.politeness.robots_state import (
    MAX_AGE_SECONDS,
    MAX_REDIRECTS,
    MAX_STALE_SECONDS,
    NEW_STATE,
    redirect_target,
    update_state,
)
from windrow.formats.robots import ALLOW_ALL
from windrow.reasons import Reason

FILE = b"User-agent: *\nDisallow: /x\nCrawl-delay: 3"
AGENT = "x-crawler (for https://example.org/)"


def update_after(before, status, now, content=b""):
    return update_state(before, status=status, content=content, agent=AGENT, now=now)


def test_before_the_first_attempt_nothing_may_be_asked():
    assert NEW_STATE.robots.decide("/").reason is Reason.ROBOTS_UNREACHABLE
    assert NEW_STATE.robots.decide("/robots.txt").allowed
    assert NEW_STATE.due == 0.0


def test_a_file_counts_for_half_an_hour():
    standing = update_after(NEW_STATE, 200, 1000.0, FILE)
    assert (standing.due, standing.robots.delay, standing.robots.decide("/x").allowed) == (
        1000.0 + MAX_AGE_SECONDS,
        3.0,
        False,
    )


def test_without_a_file_all_is_allowed():
    for status in (300, 301, 400, 401, 403, 404, 410, 451):
        standing = update_after(NEW_STATE, status, 0.0, b"User-agent: *\nDisallow: /")
        assert standing.robots == ALLOW_ALL
        assert standing.due == MAX_AGE_SECONDS


def test_a_failure_shuts_the_site_and_is_tried_again_ever_later():
    now, standing, waits = 0.0, NEW_STATE, []
    for status in (500, None, 503, 429, 502, None, 500, 500):
        standing = update_after(standing, status, now)
        assert standing.robots.decide("/").reason is Reason.ROBOTS_UNREACHABLE
        waits.append(standing.due - now)
        now = standing.due
    assert waits == [60, 120, 240, 480, 960, 1800, 1800, 1800]
    assert update_after(standing, 200, now, b"").failures == 0


def test_an_older_file_stays_in_force_for_a_day():
    standing = update_after(NEW_STATE, 200, 0.0, FILE)
    for status in (503, 304):  # a 304 that was not asked for says nothing
        standing = update_after(standing, status, MAX_AGE_SECONDS)
        assert standing.robots.decide("/y").allowed
    assert not standing.robots.decide("/x").allowed
    standing = update_after(standing, None, MAX_STALE_SECONDS - 1)
    assert standing.robots.decide("/y").allowed
    standing = update_after(standing, 500, MAX_STALE_SECONDS)
    assert standing.robots.decide("/y").reason is Reason.ROBOTS_UNREACHABLE
    standing = update_after(standing, 500, MAX_STALE_SECONDS + 1)
    assert not standing.robots.decide("/y").allowed


def test_redirects_are_followed_five_times():
    base, hops = "https://example.org/robots.txt", 0
    while url := redirect_target(302, "//www.example.org/r?x#y", base, hops):
        base, hops = url, hops + 1
    assert (base, hops) == ("https://www.example.org/r?x", MAX_REDIRECTS)
    assert (
        redirect_target(304, "/x", base, 0)
        == redirect_target(301, "", base, 0)
        == redirect_target(301, "file:///etc/passwd", base, 0)
        == ""
    )


@given(st.lists(st.tuples(st.sampled_from([200, 404, 429, 500, None]), st.floats(0, 90_000)), max_size=20))
def test_a_refusal_is_never_lost_to_a_failure(steps):
    now, standing = 0.0, NEW_STATE
    for status, pause in steps:
        now += pause
        before, standing = standing, update_after(standing, status, now, FILE)
        assert now < standing.due <= now + MAX_AGE_SECONDS
        if status in {429, 500, None} and not before.robots.decide("/x").allowed:
            assert not standing.robots.decide("/x").allowed
