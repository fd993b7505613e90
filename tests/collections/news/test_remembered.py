"""What is remembered of a source's lists is bounded, and no article or change is lost for it."""

import io
import json
from datetime import UTC, datetime

import pytest

from tests.collections.news.workspace import configured
from windrow.caps import REMEMBERED_ARTICLES
from windrow.collections.news.discover import follow
from windrow.contract import Answer, LeftOutCount, Request
from windrow.reasons import Reason

SITE = "https://news.example"
NOW = datetime(2026, 11, 22, tzinfo=UTC)
ARTICLES = 900  # of each sitemap


@pytest.fixture
def source(tmp_path):
    (source,) = configured(tmp_path, {"news": {"url": f"{SITE}/", "kind": "feed"}}).of("news")
    return source


def sitemap(number, changed=()):
    """Return the sitemap of a day, whose articles changed on that day or, if they are among `changed`, today."""
    day = f"2025-{number // 28 + 1:02}-{number % 28 + 1:02}"
    rows = "".join(
        f"<url><loc>{SITE}/{number}/a-story-of-{article}/</loc>"
        f"<lastmod>{'2026-11-22' if article in changed else day}T{article // 60:02}:{article % 60:02}:00Z</lastmod></url>"
        for article in range(ARTICLES)
    )
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>'.encode()


def read(source, learned, number, changed=()):
    """Follow a sitemap, update `learned` as the engine does, and return the requests by address."""
    request = Request(f"{SITE}/sitemap-{number}.xml", "feed.list", every=3600)
    result = follow(source, learned, Answer(request, 200, {}, io.BytesIO(sitemap(number, changed)), NOW))
    learned |= json.loads(json.dumps(result.learned))
    return {request.url: request for request in result.requests}


def remembered(learned):
    return sum(len(times) for key, times in learned.items() if key.startswith("named."))


def test_what_is_remembered_of_many_sitemaps_is_bounded_and_all_articles_are_requested(source):
    learned, requested = {}, set()
    for number in range(60):
        requested |= read(source, learned, number).keys()
        assert remembered(learned) <= REMEMBERED_ARTICLES.number
    assert len(requested) == 60 * ARTICLES
    assert remembered(learned) > REMEMBERED_ARTICLES.number - ARTICLES
    assert len(json.dumps(learned)) < 100 * REMEMBERED_ARTICLES.number


@pytest.mark.parametrize("number", [0, 59])
def test_a_change_is_noticed_in_a_list_that_was_forgotten_and_in_one_that_was_not(source, number):
    learned = {}
    for earlier in range(60):
        read(source, learned, earlier)
    forgotten = [times for key, times in learned.items() if key.startswith("named.") and not times]
    assert len(forgotten) == 38
    requests = read(source, learned, number, changed=(7,))
    changed = requests.pop(f"{SITE}/{number}/a-story-of-7/")
    assert changed.only_if_new
    assert all(request.only_if_new == (number == 0) for request in requests.values())


def test_a_sitemap_that_breaks_off_removes_no_article_and_forgets_none(source):
    learned = {}
    request = Request(f"{SITE}/sitemap.xml", "feed.list", every=3600)
    entries = [f"<url><loc>{SITE}/story-{n}/</loc><lastmod>2026-11-{20 - n}</lastmod></url>" for n in range(5)]
    whole, part = "".join(entries), "".join((entries[0], entries[4]))
    for text, when_named in ((f"{whole}</urlset>", 0), (f"{part}<url><loc>{SITE}/sto", 0), (f"{part}</urlset>", 3)):
        result = follow(source, learned, Answer(request, 200, {}, io.BytesIO(f"<urlset>{text}".encode()), NOW))
        assert sum(request.when_named for request in result.requests) == when_named
        assert (Reason.TRUNCATED in {loss.reason for loss in result.left_out}) == (not text.endswith("</urlset>"))
        learned |= json.loads(json.dumps(result.learned))


def test_entries_of_a_feed_with_the_address_of_another_entry_are_counted(source):
    items = [("a", "#s1"), ("a", "#s2"), ("b", "#s2"), ("b", "#s2"), ("other", "?id=1")]
    entries = "".join(f"<item><title>{title}</title><link>{SITE}/day{end}</link></item>" for title, end in items)
    body = f"<rss version='2.0'><channel><title>News</title>{entries}</channel></rss>".encode()
    request = Request(f"{SITE}/rss.xml", "feed.list", every=3600)
    result = follow(source, {}, Answer(request, 200, {}, io.BytesIO(body), NOW))
    assert [(followed.url, json.loads(followed.context)) for followed in result.requests] == [
        (f"{SITE}/day", {"title": "a"}), (f"{SITE}/day?id=1", {"title": "other"}),
    ]  # fmt: skip
    rule = "an entry of a list has the address of another entry"
    assert result.left_out == (LeftOutCount(Reason.LISTED_TWICE, rule, 2, f"{SITE}/day"),)
