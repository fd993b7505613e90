"""Feeds with several pages are read to the end, and later only as far as they have something new."""

import io
from datetime import UTC, datetime

import pytest

from tests.clock import pass_time
from tests.collections.news.press import Press
from tests.collections.news.test_substitutes import put_article
from tests.collections.news.workspace import articles, configured, run, summaries
from windrow.collections.news import feed
from windrow.contract import Answer, Request
from windrow.formats.feed import read_feed

NEXT = "<link xmlns='http://www.w3.org/2005/Atom' rel='next' href='{}'/>"


@pytest.fixture
def press():
    served = Press()
    yield served
    served.close()


def put_pages(press, pages, addresses, extra):
    """Serve a feed in pages, lists of paths; `addresses` are theirs, and `extra` is what the head of each has more."""
    for number, (address, paths) in enumerate(zip(addresses, pages, strict=True)):
        items = "".join(f"<item><title>{path}</title><link>{press.url}{path}</link></item>" for path in paths)
        following = addresses[number + 1] if number + 1 < len(addresses) else ""
        head = extra.format(following) if following or "{}" not in extra else ""
        press.put(
            address, f"<rss version='2.0'><channel><title>G</title>{head}{items}</channel></rss>", "application/rss+xml"
        )
        for path in paths:
            put_article(press, path, f"The title of {path}")


def lists_asked(press, workspace):
    press.asked.clear()
    run(workspace)
    return [path for path in press.asked if path.startswith("/feed")]


@pytest.mark.parametrize(("addresses", "extra", "end"), [
    (["/feed/", "/feed/b", "/feed/c"], NEXT, []),
    (["/feed/", "/feed/?paged=2", "/feed/?paged=3"], "<generator>https://wordpress.org/?v=6.4</generator>", ["/feed/?paged=4"]),
])  # fmt: skip
def test_a_feed_is_read_to_its_last_page_and_later_while_there_is_news(
    tmp_path, press, real_clock, addresses, extra, end
):
    put_pages(press, [["/f", "/e"], ["/d", "/c"], ["/b", "/a"]], addresses, extra)
    workspace = configured(tmp_path, {"g": {"url": press.url, "kind": "feed", "seeds": ["feed/"], "again": "0"}})
    assert lists_asked(press, workspace) == [*addresses, *end]
    assert len(articles(tmp_path)) == 6
    assert summaries(tmp_path, "_collection_summary.json")[-1]["results"][0]["status"] == "success"
    pass_time(1.1)
    assert lists_asked(press, workspace) == [addresses[0]], "nothing is new"
    put_pages(press, [["/g", "/f"], ["/e", "/d"], ["/c", "/b"]], addresses, extra)
    pass_time(1.1)
    assert lists_asked(press, workspace) == addresses[:2], "the second page has only what is known"
    assert len(articles(tmp_path)) == 7


ITEM = "<item><link>https://a.example/a</link><pubDate>{}</pubDate>{}</item>"
UPDATED = "<updated xmlns='http://www.w3.org/2005/Atom'>2026-03-01T00:00:00Z</updated>"


@pytest.mark.parametrize(("settings", "item", "expected"), [
    ({"since": "2026-01-01"}, ITEM.format("Sat, 01 Nov 2025 10:00:00 GMT", ""), []),
    ({"since": "2026-01-01"}, ITEM.format("Thu, 01 Jan 2026 10:00:00 GMT", ""), ["a", "feed/2"]),
    ({"since": "2026-01-01"}, ITEM.format("", ""), ["a", "feed/2"]),
    ({"until": "2025-12-31"}, ITEM.format("Thu, 01 Jan 2026 10:00:00 GMT", ""), ["feed/2"]),
    ({"until": "2025-12-31"}, ITEM.format("Wed, 31 Dec 2025 22:00:00 -0500", UPDATED), ["a", "feed/2"]),
    ({"until": "2025-12-31"}, ITEM.format("", UPDATED), ["a", "feed/2"]),
    ({"since": "2026-03-02"}, ITEM.format("", UPDATED), ["a", "feed/2"]),
    ({"since": "2026-03-03"}, ITEM.format("", UPDATED), []),
    ({"not_article": ["/a"]}, ITEM.format("", ""), ["feed/2"]),
    ({}, "", []),
])  # fmt: skip
def test_a_feed_is_read_on_behind_pages_that_are_left_out_but_for_those_before_since(
    tmp_path, settings, item, expected
):
    source = configured(tmp_path, {"g": {"url": "https://a.example/", "kind": "feed", **settings}}).source("g")
    body = f"<rss><channel>{NEXT.format('/feed/2')}{item}</channel></rss>"
    answer = Answer(
        Request("https://a.example/feed/", "feed.list"),
        200,
        {},
        io.BytesIO(body.encode()),
        datetime(2026, 11, 22, tzinfo=UTC),
    )
    result = feed.follow(source, {}, answer)
    assert [further.url.removeprefix("https://a.example/") for further in result.requests] == expected
    assert len(result.offers) == len(item and "a"), "what is left out is new, too"
    left_out = sum(count.addresses for count in result.left_out)
    assert left_out == bool(item and "a" not in expected), "and is counted"


def test_what_other_settings_left_out_of_a_list_or_its_pages_is_requested_once_more(tmp_path):
    item = ITEM.format("", "") + ITEM.format("Sat, 01 Nov 2025 10:00:00 GMT", "").replace("/a<", "/b<")
    body = f"<rss><channel>{NEXT.format('/feed/2')}{item}</channel></rss>"
    learned, followed = {}, []
    for since in ("2026-01-01", "2026-01-01", "", ""):
        source = configured(tmp_path, {"g": {"url": "https://a.example/", "kind": "feed", "since": since}}).source("g")
        request = Request("https://a.example/feed/", "feed.list")
        answer = Answer(request, 200, {}, io.BytesIO(body.encode()), datetime(2026, 11, 22, tzinfo=UTC))
        result = feed.follow(source, learned, answer)
        learned |= result.learned
        followed.append([request.when_named for request in result.requests])
    assert followed == [[False] * 2, [False] * 2, [True] * 3, [False] * 3]


@pytest.mark.parametrize("text", [
    "<feed xmlns='http://www.w3.org/2005/Atom'><link rel=' Next ' href=' /2 '/><generator>G</generator></feed>",
    f"<rss><channel>{NEXT.format('/2')}<generator>G</generator></channel></rss>",
    '{"version": "https://jsonfeed.org/version/1.1", "items": [], "next_url": "/2"}',
])  # fmt: skip
def test_the_next_page_of_each_kind_of_feed_is_read(text):
    parsed = read_feed(text.encode())
    assert parsed is not None
    assert (parsed.next, parsed.generator) == ("/2", "" if text.startswith("{") else "G")
