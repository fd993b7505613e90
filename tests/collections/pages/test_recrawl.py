import random

from hypothesis import given
from hypothesis import strategies as st

from windrow.collections.pages.code import ExitCode
from windrow.collections.pages.recrawl import DAY, YEAR, Candidate, adapt, changed, due, rank

START = 28 * DAY


@given(st.lists(st.sampled_from([True, False, None]), max_size=60), st.floats(1, 10 * YEAR))
def test_the_interval_stays_within_its_bounds(seen, start):
    interval = start
    for one in seen:
        before, interval = interval, adapt(interval, changed=one, start=start)
        assert min(DAY, start) <= interval <= max(YEAR, start)
        assert interval <= before if one else interval >= before or one is None


def test_the_interval_finds_its_place():
    interval = START
    for _ in range(10):
        interval = adapt(interval, changed=True, start=START)
    assert interval == DAY
    for _ in range(20):
        interval = adapt(interval, changed=False, start=START)
    assert interval == YEAR
    assert adapt(interval, changed=None, start=START) == YEAR


def test_a_site_may_be_crawled_more_often_than_daily():
    assert adapt(3600.0, changed=True, start=3600.0) == 3600.0
    assert adapt(3600.0, changed=False, start=3600.0) == 5400.0


def test_what_counts_as_a_change():
    assert changed(ExitCode.FILE_INGESTED, same=False) is None, "its content is not known before it is read"
    assert changed(ExitCode.FILE_INGESTED, same=True) is False
    assert changed(ExitCode.REDIRECT, same=False) is None
    assert changed(ExitCode.FILE_DID_NOT_CHANGE, same=False) is False
    assert changed(ExitCode.FILE_GONE, same=False) is None
    assert changed(ExitCode.SERVER_INTERNAL_ERROR, same=True) is None


def test_when_a_page_is_due():
    assert due(Candidate("u"), START) == 0.0
    assert due(Candidate("u", 100.0), START) == 100.0 + START
    assert due(Candidate("u", 100.0, 5 * DAY), START) == 100.0 + 5 * DAY
    assert due(Candidate("u", 100.0, 5 * DAY, hinted=99.0), START) == 100.0 + 5 * DAY
    assert due(Candidate("u", 100.0, 5 * DAY, hinted=101.0), START) == 100.0 + DAY
    assert due(Candidate("u", 100.0, 3600.0, hinted=1e12), START) == 100.0 + 3600.0


def test_the_order_of_candidates():
    ordered = [
        Candidate("https://h/"),
        Candidate("https://h/a"),
        Candidate("https://h/b?c/d/e"),
        Candidate("https://h/a/b"),
        Candidate("https://h/z", 1.0),
        Candidate("https://h/a", 2.0),
        Candidate("https://h/b", 2.0),
        Candidate("https://h/a/b", 0.5),
    ]
    mixed = ordered[:]
    random.Random(4).shuffle(mixed)
    assert sorted(mixed, key=rank) == ordered
