"""Detect the kind of a site whose front page does not tell it; an address without articles fails."""

import io
import json
from contextlib import closing
from datetime import UTC, datetime

import pytest

from tests.clock import pass_time
from tests.collections.news.paper import article, rss, sitemap
from tests.collections.news.press import Press
from tests.collections.news.workspace import ADAPTER, articles, configured, run, summaries
from tests.sessions import session_settings
from windrow.collections.news import discover, feed
from windrow.collections.news.collection import COLLECTION
from windrow.contract import Answer, Request
from windrow.engine.frontier import frontier_of
from windrow.engine.session import Session
from windrow.errors import ConfigError
from windrow.ledger import Ledger
from windrow.model import Site, Source
from windrow.reasons import Reason


@pytest.fixture
def press():
    served = Press()
    for number in (1, 2):
        served.put(f"/news/the-quay-story-{number}.html", article(served.url, number))
    yield served
    served.close()


def code_of(workspace):
    with Session(session_settings(workspace), "run news") as session:
        session.run_harvest(ADAPTER.harvest(workspace))
        return session.close()


def put(press, path, numbers=(1, 2)):
    if path == "feed.json":
        entries = [{"id": n, "url": f"{press.url}/news/the-quay-story-{n}.html"} for n in numbers]
        json_feed = {"version": "https://jsonfeed.org/version/1.1", "title": "G", "items": entries}
        press.put("/feed.json", json.dumps(json_feed), "application/json")
    elif "sitemap" in path:
        press.put(f"/{path}", sitemap(press.url, numbers), "text/xml")
    else:
        press.put(f"/{path}", rss(press.url, numbers, mark=""), "application/rss+xml")


@pytest.mark.parametrize("front", [None, "<html><div id=app></div><script src=/app.js></script>"])
@pytest.mark.parametrize("path", ["sitemap.xml", "feed/", "feed.json", "of-robots/news-sitemap-7.xml"])
def test_a_site_without_a_front_page_that_names_articles_is_read_by_its_sitemap_or_usual_feed(
    tmp_path, press, path, front
):
    put(press, path)
    if front is not None:
        press.put("/", front)
    if path.startswith("of-robots"):
        press.put("/robots.txt", f"User-agent: *\nAllow: /\nSitemap: {press.url}/{path}\n", "text/plain")
    workspace = configured(tmp_path, {"g": {"url": f"{press.url}/"}})
    assert code_of(workspace) == 0
    assert {article["title"] for article in articles(tmp_path).values()} == {"The quay 1", "The quay 2"}
    (site,) = summaries(tmp_path, "_collection_summary.json")[-1]["results"]
    assert site["status"] == "success"
    press.put("/news/the-quay-story-3.html", article(press.url, 3))
    put(press, path, (1, 2, 3))
    press.asked.clear()
    pass_time(1.1)
    assert code_of(workspace) == 0
    assert {*press.asked} == {"/robots.txt", "/", f"/{path}", "/news/the-quay-story-3.html"}  # it is learned
    assert len(articles(tmp_path)) == 3


def test_the_sitemaps_of_robots_txt_are_read_beside_the_feed_that_the_front_page_names(tmp_path, press):
    press.put("/", "<html><link rel=alternate type=application/rss+xml href=/feed/><p>The Gazette.")
    put(press, "feed/", (1,))
    put(press, "sitemap.xml", (1, 2))
    press.put("/robots.txt", f"User-agent: *\nAllow: /\nSitemap: {press.url}/sitemap.xml\n", "text/plain")
    workspace = configured(tmp_path, {"g": {"url": f"{press.url}/"}})
    assert code_of(workspace) == 0
    assert {article["title"] for article in articles(tmp_path).values()} == {"The quay 1", "The quay 2"}
    press.put("/news/the-quay-story-3.html", article(press.url, 3))
    put(press, "sitemap.xml", (1, 2, 3))
    pass_time(1.1)
    assert code_of(workspace) == 0
    assert len(articles(tmp_path)) == 3


def test_a_site_that_offers_nothing_at_all_fails_and_says_so(tmp_path):
    bare = Press()
    workspace = configured(tmp_path, {"g": {"url": f"{bare.url}/"}})
    assert code_of(workspace) == 3
    (site,) = summaries(tmp_path, "_collection_summary.json")[-1]["results"]
    assert (site["status"], site["error_message"]) == ("error", "the status is 404")
    asked = len(bare.asked)
    pass_time(1.1)
    assert code_of(workspace) == 3
    assert len(bare.asked) - asked <= 2  # usual paths are tried once a day
    bare.close()


@pytest.mark.parametrize("body", [
    {"posts": [{"content": "<a href='/news/the-quay-story-1.html'>x</a>"}]}, {}, {"version": "2.0", "items": []},
    {"version": "https://jsonfeed.org/version/1.1", "items": "none"}, {"items": [{"url": "/news/the-quay-story-1.html"}]},
])  # fmt: skip
@pytest.mark.parametrize("kind", ["feed", "auto"])
def test_json_that_is_no_json_feed_is_not_read_as_an_empty_one_and_its_source_fails(tmp_path, press, body, kind):
    press.put("/api", json.dumps(body), "application/json")
    workspace = configured(tmp_path, {"g": {"url": f"{press.url}/api", "kind": kind}})
    assert code_of(workspace) == 3
    assert articles(tmp_path) == {}
    (site,) = summaries(tmp_path, "_collection_summary.json")[-1]["results"]
    assert site["status"] == "error"
    assert "neither a feed nor a page" in site["error_message"]


def test_a_json_feed_without_entries_is_well_read(tmp_path, press):
    json_feed = {"version": "https://jsonfeed.org/version/1.1", "title": "G", "items": []}
    press.put("/feed.json", json.dumps(json_feed), "application/feed+json")
    workspace = configured(tmp_path, {"g": {"url": f"{press.url}/feed.json"}})
    assert code_of(workspace) == 0
    run(workspace)
    (site,) = summaries(tmp_path, "_collection_summary.json")[-1]["results"]
    assert (site["status"], site["article_count"]) == ("success", 0)
    with closing(Ledger(workspace.ledger)) as ledger:
        (count,) = frontier_of(ledger, COLLECTION).left_out("g", ())
    assert (count.rule, count.example) == ("a list that names no article", f"{press.url}/feed.json")


FRONT = (
    "<html><head><title>{}</title>{}</head><body><p>We use cookies. <a href=/legal/our-privacy-and-cookies>Privacy</a>"
)
API_LINK = "<link rel='https://api.w.org/' href='/wp-json/'>"


@pytest.mark.parametrize(("title", "head", "learned", "expected"), [
    ("Before you continue", "", {}, (Reason.CONSENT_PAGE, None)),
    ("Just a moment...", "", {"kind": "page", "addresses": ["https://a.example/"]}, (Reason.BOT_WALL, None)),
    ("G", "", {}, (None, "page")),
    ("G", "<link rel=author href=https://townnews.com/>", {}, (None, "page")),
    ("G", API_LINK, {"kind": "page", "addresses": ["https://a.example/"]}, (None, "wordpress")),
    ("G", "", {"kind": "page", "addresses": ["https://a.example/"]}, (None, None)),
])  # fmt: skip
def test_a_front_page_tells_the_kind_of_its_site_unless_another_page_is_sent_in_its_place(
    tmp_path, title, head, learned, expected
):
    source = configured(tmp_path, {"g": {"url": "https://a.example/"}}).source("g")
    body = io.BytesIO(FRONT.format(title, head).encode())
    answer = Answer(Request("https://a.example/", discover.HOME, every=1), 200, {}, body, datetime.now(UTC))
    followed = discover.follow(source, learned, answer)
    assert (followed.skip, followed.learned.get("kind")) == expected
    assert any("wp-json" in request.url for request in followed.requests) == bool(head == API_LINK)
    assert any(request.url.endswith("/sitemap.xml") for request in followed.requests) == bool(followed.skip)


def test_a_front_page_chooses_no_other_hosts(tmp_path):
    """What it named was left out in the first run, and requested in the second as if an operator had named it."""
    learned = {"kind": "feed", "addresses": ["https://b.example/rss"]}
    body = "<link rel=alternate type=application/rss+xml href=https://b.example/rss><a href=/2026/11/quay>Quay"
    for settings, expected in (
        ({}, ["https://a.example/2026/11/quay", "https://b.example/rss"]),  # the engine counts the second one
        ({"origins": ["https://b.example"]}, ["https://b.example/rss", "https://a.example/robots.txt"]),
    ):
        source = configured(tmp_path, {"g": {"url": "https://a.example/"} | settings}).source("g")
        for known in ({}, learned):
            begun = [request.url for request in discover.begin(source, known)]
            assert begun == (["https://b.example/rss"] if settings and known else ["https://a.example/"])
        request = Request("https://a.example/", discover.HOME, every=1)
        followed = discover.follow(source, {}, Answer(request, 200, {}, io.BytesIO(body.encode()), datetime.now(UTC)))
        assert [request.url for request in followed.requests] == expected
    (source,) = configured(tmp_path, {"g": {"url": "https://a.example/", "kind": "wordpress"}}).of("news")
    (request,) = discover.begin(source, {"api": "https://b.example/wp-json/wp/v2/posts"})
    assert request.url.startswith("https://a.example/wp-json/wp/v2/posts?")


@pytest.mark.parametrize(
    ("status", "reason"),
    [(401, "permission_denied"), (404, "not_found"), (410, "gone"), (429, "rate_limited"), (503, "server_error")],
)
def test_a_refused_list_has_the_reason_of_its_status(status, reason):
    answer = Answer(Request("https://a.example/feed", "feed.list"), status, {}, io.BytesIO(), datetime.now(UTC))
    assert feed.follow(Source("gazette", "news", Site("https", "a.example")), {}, answer).skip == reason


def test_a_selector_that_is_not_valid_is_an_error_of_the_configuration(tmp_path):
    with pytest.raises(ConfigError, match=r"exclude_selectors: 'p\[' is not a CSS selector"):
        configured(tmp_path, {"news": {"url": "https://a.example/", "exclude_selectors": ["p["]}}).source("news")
