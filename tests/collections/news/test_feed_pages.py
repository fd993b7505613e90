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


def test_pages_before_since_are_not_requested(tmp_path):
    source = configured(tmp_path, {"g": {"url": "https://a.example/", "kind": "feed", "since": "2026-01-01"}}).source(
        "g"
    )
    body = (
        f"<rss><channel>{NEXT.format('/feed/2')}<item><link>https://a.example/a</link>"
        "<pubDate>Sat, 01 Nov 2025 10:00:00 GMT</pubDate></item></channel></rss>"
    )
    request = Request("https://a.example/feed/", "feed.list")
    at = datetime(2026, 11, 22, tzinfo=UTC)
    for text, expected in (
        (body, []),
        (body.replace("2025", "2026"), ["https://a.example/a", "https://a.example/feed/2"]),
    ):
        result = feed.follow(source, {}, Answer(request, 200, {}, io.BytesIO(text.encode()), at))
        assert [further.url for further in result.requests] == expected


@pytest.mark.parametrize("text", [
    "<feed xmlns='http://www.w3.org/2005/Atom'><link rel=' Next ' href=' /2 '/><generator>G</generator></feed>",
    f"<rss><channel>{NEXT.format('/2')}<generator>G</generator></channel></rss>",
    '{"version": "https://jsonfeed.org/version/1.1", "items": [], "next_url": "/2"}',
])  # fmt: skip
def test_the_next_page_of_each_kind_of_feed_is_read(text):
    parsed = read_feed(text.encode())
    assert parsed is not None
    assert (parsed.next, parsed.generator) == ("/2", "" if text.startswith("{") else "G")
