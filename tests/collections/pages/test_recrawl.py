from datetime import UTC, datetime
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.collections.pages import discover, redirect
from windrow.collections.pages.code import DAY
from windrow.collections.pages.redirect import YEAR_SECONDS, adapt_interval
from windrow.collections.pages.site_rules import SITEMAP
from windrow.contract import ContentCheck
from windrow.formats.http import join_fields
from windrow.model import ArchivePlace, Attempt, FetchJob, KeptResponse, Site, Source
from windrow.reasons import Reason

START = 28 * DAY


LOOKS = st.sampled_from(
    [ContentCheck(look, lasted) for look in (True, False, None) for lasted in (0, 600, 10**6, 10**9)]
)


@given(st.lists(LOOKS, max_size=30), st.sampled_from([1.0, 3600.0, DAY, START, YEAR_SECONDS, 10 * YEAR_SECONDS]))
def test_the_interval_stays_within_its_bounds(seen, start):
    interval = start
    for look in seen:
        before, interval = interval, adapt_interval(interval, look, start)
        assert min(DAY, start) <= interval <= max(YEAR_SECONDS, start)
        assert interval <= before if look.changed else interval >= before or look.changed is None


def test_the_interval_finds_its_place():
    interval, lasted = START, 0.0
    for _ in range(10):
        interval = adapt_interval(interval, ContentCheck(changed=True), START)
    assert interval == DAY
    for _ in range(20):
        lasted += interval
        interval = adapt_interval(interval, ContentCheck(changed=False, lasted=int(lasted)), START)
    assert interval == YEAR_SECONDS
    assert adapt_interval(interval, ContentCheck(None), START) == YEAR_SECONDS


def test_a_site_may_be_crawled_more_often_than_daily():
    assert adapt_interval(3600.0, ContentCheck(changed=True), 3600.0) == 3600.0
    assert adapt_interval(3600.0, ContentCheck(changed=False, lasted=3600), 3600.0) == 5400.0


@given(st.lists(st.sampled_from([1, 60, 599, 7200]), max_size=40))
def test_the_recrawl_interval_grows_by_the_time_that_passed_and_not_by_how_often_a_page_was_looked_at(pauses):
    lasted = list(accumulate(pauses))
    seconds = redirect.compute_interval([ContentCheck(False, look) for look in lasted], DAY)
    assert seconds == max(DAY, 1.5 * max(lasted, default=0))


WEEK = 7 * DAY
AT = datetime(2026, 11, 21, tzinfo=UTC)
URL = "https://example.org/a"


def weekly(every: float | None = WEEK) -> Source:
    none = ("hosts", "paths", "sitemaps", "feeds", "do_not_crawl", "url_query_parameters", "private_hosts")
    options = dict.fromkeys(none, ()) | {"seeds": ("https://example.org/",), "delay": 1.0, "every": every}
    options |= {"recrawl_interval": START, "read_sitemaps": True, "read_feeds": True}
    return Source("blog", "pages", Site("https", "example.org", None, agent="tester"), options=options)


def attempt(status, *, same=False, kind=0, reason=None):
    kept = KeptResponse("sha256:0", 9, ArchivePlace("a", 0, 9), same) if status == 200 else None
    return Attempt(1, URL, kind, True, AT, 0.1, status, kept, reason)


@pytest.mark.parametrize(
    "seen", [[], [ContentCheck(True)] * 9, [ContentCheck(False, 10**8)] * 9, [ContentCheck(None), ContentCheck(True)]]
)
def test_every_is_the_interval_of_a_page_whatever_is_seen_of_it(seen):
    assert discover.compute_interval(weekly(), seen) == WEEK
    assert (discover.compute_interval(weekly(None), seen) == START) == (seen == [])


@pytest.mark.parametrize("interval", [0, DAY, START])
@pytest.mark.parametrize(
    "attempt_made", [attempt(200), attempt(200, same=True), attempt(304), attempt(404), attempt(410)]
)
def test_every_is_a_floor_and_a_ceiling_for_when_a_page_is_due(attempt_made, interval):
    assert discover.schedule_attempt(weekly(), attempt_made, int(interval), 0) == (AT.timestamp() + WEEK, WEEK)


def test_a_failure_is_looked_at_sooner_than_every_and_never_later():
    down = attempt(None, reason=Reason.CONNECT_FAILED)
    assert discover.schedule_attempt(weekly(), down, int(WEEK), 1) == (AT.timestamp() + 3600, WEEK)
    assert discover.schedule_attempt(weekly(), down, int(WEEK), 30) == (AT.timestamp() + WEEK, WEEK)
    assert discover.schedule_attempt(weekly(1800.0), down, 1800, 3) == (AT.timestamp() + 1800, 1800)


def test_every_may_be_each_run():
    """It was ignored: pages were due after 28 days."""
    assert discover.compute_interval(weekly(0.0), [ContentCheck(True)] * 9) == 1
    assert discover.schedule_attempt(weekly(0.0), attempt(200), 1, 0) == (AT.timestamp() + 1, 1)


def test_a_sitemap_is_looked_at_daily_and_makes_no_page_due_before_every():
    assert discover.schedule_attempt(weekly(), attempt(200, kind=SITEMAP), 0, 0) == (AT.timestamp() + DAY, DAY)
    body = f"<urlset><url><loc>{URL}</loc><lastmod>2026-11-20</lastmod></url></urlset>".encode()
    for every, hinted in ((WEEK, None), (None, datetime(2026, 11, 20, tzinfo=UTC))):
        rules = discover.rules(weekly(every), "https://example.org", {})
        rules.take_robots(0.0, 404, b"")
        pages = rules.hints(FetchJob(1, "https://example.org/map.xml", kind=SITEMAP), join_fields([]), body)
        assert [(page.url, page.hinted) for page in pages] == [(URL, hinted)]
