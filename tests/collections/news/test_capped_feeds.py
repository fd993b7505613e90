"""What a feed above a cap says about its first articles is read, and what is left out is counted."""

from __future__ import annotations

import pytest

from windrow.caps import FEED_BYTES, FEED_ENTRIES
from windrow.collections.news.listed_details import read_details
from windrow.formats.url_hints import HintKind
from windrow.reasons import Reason

URL = "https://a.example/feed"
HEAD = b'<rss xmlns:a="http://www.w3.org/2005/Atom"><channel><a:link rel="next" href="/feed2"/>'


def item(number: int, text: bytes = b"") -> bytes:
    return b"<item><link>/%d</link><title>T%d</title><description>%s</description></item>" % (number, number, text)


def test_of_a_feed_with_too_many_bytes_the_beginning_is_read():
    text = b"words " * (FEED_BYTES.number // 6 // 4)
    body = HEAD + b"".join(item(number, text) for number in range(6)) + b"</channel></rss>"
    details, _, next_url, left_out = read_details(body, URL, HintKind.FEED)
    assert [details[f"https://a.example/{number}"]["title"] for number in range(3)] == ["T0", "T1", "T2"]
    assert next_url == "https://a.example/feed2"
    assert [(count.reason, count.rule, count.addresses) for count in left_out] == [
        (Reason.CAPPED, FEED_BYTES.rule, len(body) - FEED_BYTES.number)
    ]


@pytest.mark.parametrize("is_sitemap", [False, True])
def test_entries_beyond_the_cap_are_counted(is_sitemap):
    numbers = range(FEED_ENTRIES.number + 50)
    body = HEAD + b"".join(map(item, numbers)) + b"</channel></rss>"
    if is_sitemap:
        entries = b"".join(b"<url><loc>/%d</loc><n:news><n:title>T</n:title></n:news></url>" % at for at in numbers)
        body = b'<urlset xmlns:n="http://www.google.com/schemas/sitemap-news/0.9">' + entries + b"</urlset>"
    found = read_details(body, URL, HintKind.SITEMAP if is_sitemap else HintKind.FEED)
    assert len(found.by_address) == FEED_ENTRIES.number
    assert [(count.rule, count.addresses) for count in found.left_out] == [(FEED_ENTRIES.rule, 50)]


def test_a_list_whose_details_cannot_be_read_is_counted():
    found = read_details(b'{"version": "https://jsonfeed.org/version/1.1", "items": [', URL, HintKind.FEED)
    assert [count.reason for count in found.left_out] == [Reason.NOT_WELL_FORMED]
