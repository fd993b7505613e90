"""Feeds that break off: their events are read, and what may be missing is told."""

import pytest

from tests.collections.events.reader import read
from windrow.reasons import Reason


def test_entries_that_a_malformed_element_hides_are_counted():
    entry = "<item><title>A</title><pubDate>2026-10-01</pubDate></item>"
    read_events, unread = read(f'<rss>{entry}<item><title x="1>B</title></item>{entry}{entry}</rss>', "feed")
    message = "the feed is not well-formed, so 2 of its entries cannot be read"
    assert (len(read_events), unread[0].reason, unread[0].message) == (1, Reason.NOT_WELL_FORMED, message)


@pytest.mark.parametrize("rest", ["", "<br /><b>Fatal error</b>", "<item><title>B</title><link>http://a.example/2"])
def test_a_feed_that_breaks_off_says_that_events_may_be_missing(rest):
    entry = (
        "<item><title>A</title><link>http://a.example/1</link><pubDate>Thu, 01 Oct 2026 11:33:10 -0400</pubDate></item>"
    )
    read_events, unread = read(f"<rss><channel>{entry}{rest}", "feed")
    assert [read_event.value["event_url"] for read_event in read_events] == ["http://a.example/1"]
    assert unread[0].reason == Reason.TRUNCATED
