"""Lists that are empty or refused now, although they named articles before."""

import io
import json
from datetime import UTC, datetime

import pytest

from tests.collections.news.workspace import configured
from windrow.collections.news.discover import follow
from windrow.collections.news.wordpress import PostList
from windrow.collections.news.wordpress_gone import (
    BY_NUMBER,
    NUMBERS,
    follow_numbers,
    missing_numbers,
    remaining_posts,
)
from windrow.contract import Answer, Request
from windrow.digest import hash64
from windrow.model import Site, Source
from windrow.reasons import Reason

EMPTY_FEED = b"<rss version='2.0'><channel><title>G</title></channel></rss>"


@pytest.mark.parametrize(("kind", "name", "body", "learned"), [
    ("feed", "feed.list", EMPTY_FEED, {f"named.{hash64('https://a.example/list'):x}": dict.fromkeys("abcdefghij", "")}),
    ("feed", "feed.list", EMPTY_FEED, {f"most.named.{hash64('https://a.example/list'):x}": 10}),  # then it named a few
    ("feed", "feed.list", b"<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>",
     {f"sitemaps.{hash64('https://a.example/list'):x}": dict.fromkeys("abcdefghij", "")}),
    ("townnews", "townnews.search", b'{"total": 0, "rows": []}', {"complete": 40}),
    ("wordpress", "wordpress.numbers", b"[]", {"numbers.0": [1] * 10}),
])  # fmt: skip
def test_a_list_that_named_at_least_10_things_and_names_none_has_drifted_and_removes_nothing(
    tmp_path, kind, name, body, learned
):
    (source,) = configured(tmp_path, {"g": {"url": "https://a.example/", "kind": kind}}).of("news")
    context = json.dumps(["https://a.example/list?_fields=id", 1, 0]) if kind == "wordpress" else ""
    request = Request("https://a.example/list", name, context=context, every=3600)

    def follow_list(known):
        result = follow(source, known, Answer(request, 200, {}, io.BytesIO(body), datetime(2026, 11, 22, tzinfo=UTC)))
        return [finding.kind for finding in result.findings], result.requests, result.skip

    assert follow_list(learned) == (["Drift"], (), None)
    assert follow_list({}) == ([], (), None)  # nothing was there before


@pytest.mark.parametrize(("counts", "numbers", "drift"), [
    ([], [1, 40], "it lists 2 posts; before, it listed at least 40"),  # the page lacks posts between these
    ([2, 10, 9, 10], [], "it lists 9 posts; before, it listed at least 40"),  # the list ends too early
    ([2, 10, 10, 10], [], ""),
])  # fmt: skip
def test_numbers_of_less_than_a_quarter_of_the_known_posts_are_drift_and_no_post_is_gone(counts, numbers, drift):
    page, last_number, *counts = counts or (1, 0)
    context = json.dumps(["https://a.example/api?_fields=id", page, last_number, *counts])
    body = io.BytesIO(json.dumps([{"id": number} for number in numbers]).encode())
    request = Request("https://a.example/api", NUMBERS, context=context)
    answer = Answer(request, 200, {}, body, datetime(2026, 11, 22, tzinfo=UTC))
    result = follow_numbers(Source("press", "news", Site("")), {"numbers.0": [1] * 40}, answer)
    assert [finding.message for finding in result.findings] == [drift] * bool(drift)
    assert bool(result.requests) == (not drift)


@pytest.mark.parametrize(
    ("status", "reason"), [(200, Reason.NOT_A_FEED), (410, Reason.GONE), (503, Reason.SERVER_ERROR)]
)
def test_a_list_that_named_at_least_10_articles_and_is_refused_has_drifted(tmp_path, status, reason):
    """A front page that still answered made such a source "all well"."""
    (source,) = configured(tmp_path, {"g": {"url": "https://a.example/", "kind": "feed"}}).of("news")
    request = Request("https://a.example/list", "feed.list", every=3600)
    learned = {f"named.{hash64('https://a.example/list'):x}": dict.fromkeys("abcdefghij", "")}

    def follow_list(known):
        body = io.BytesIO(b"<html><title>Down for maintenance</title><p>We are back soon.")
        result = follow(source, known, Answer(request, status, {}, body, datetime(2026, 11, 22, tzinfo=UTC)))
        return result.skip, "Drift" in {finding.kind for finding in result.findings}

    assert follow_list(learned) == (reason, True)
    assert follow_list({}) == (reason, False)


def test_a_page_without_links_where_a_feed_was_is_refused(tmp_path):
    (source,) = configured(tmp_path, {"g": {"url": "https://a.example/", "kind": "feed"}}).of("news")
    body = io.BytesIO(b"<html><title>Welcome to our new site</title><a href=/about>About</a><p>We have moved")
    request = Request("https://a.example/feed.xml", "feed.list", every=3600)
    refused = follow(source, {}, Answer(request, 200, {}, body, datetime(2026, 11, 22, tzinfo=UTC)))
    assert (refused.skip, refused.findings[0].message) == (Reason.NOT_A_FEED, "the page has no link to an article")


def test_an_api_that_is_down_for_a_time_is_not_taken_for_closed(tmp_path):
    (source,) = configured(tmp_path, {"g": {"url": "https://a.example/", "kind": "wordpress"}}).of("news")
    request = PostList("all").request("https://a.example/?rest_route=/wp/v2/posts")
    for status, reason in ((503, Reason.SERVER_ERROR), (429, Reason.RATE_LIMITED), (403, Reason.BOT_WALL)):
        body = io.BytesIO(b"<html><h1>Please try again later</h1>")
        result = follow(source, {}, Answer(request, status, {}, body, datetime(2026, 11, 22, tzinfo=UTC)))
        assert (result.skip, "closed" in result.learned) == (reason, status == 403)


def test_posts_that_a_cut_answer_without_a_total_lacks_are_requested_alone_before_they_are_gone():
    request = Request("https://a.example/wp-json/wp/v2/posts?include=1,2,3", BY_NUMBER, context="1,2,3")
    assert missing_numbers(request, {}, [{"id": 1}]) is None
    (remaining,) = remaining_posts(request, [{"id": 1}], "1")
    assert remaining.context == "2,3"
    assert missing_numbers(remaining, {}, []) == [2, 3]
    assert missing_numbers(request, {"x-wp-total": "1"}, [{"id": 1}]) == [2, 3]
