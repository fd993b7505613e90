"""Articles are requested again: soon while they are young, and seldom when they are old."""

from datetime import UTC, datetime, timedelta
from io import BytesIO

import pytest

from tests.clock import pass_time, present
from tests.collections.news.press import Press
from tests.collections.news.test_substitutes import put_article
from tests.collections.news.workspace import articles, configured, run
from windrow.collections.news import feed
from windrow.contract import LONGEST_PAUSE, Answer, Request
from windrow.engine.requests.answers import context_text, interval_of
from windrow.model import HttpRequest

HOUR, DAY = 3_600, 86_400


@pytest.fixture
def press():
    served = Press()
    yield served
    served.close()


def put_feed(press, dates, category=""):
    """Serve a feed of articles in a category: paths with dates of publication (None: without a date)."""
    items = "".join(
        f"<item><title>{path}</title><link>{press.url}{path}</link>"
        + (f"<pubDate>{date:%a, %d %b %Y %H:%M:%S} GMT</pubDate>" if date else "")
        + f"<category>{category}</category></item>"
        for path, date in dates.items()
    )
    feed_text = f"<rss version='2.0'><channel><title>G</title>{items}</channel></rss>"
    press.put(f"/{category or 'rss'}.xml", feed_text, "application/rss+xml")


def asked_by_run(press, workspace, hours):
    """Run after these hours; return the paths of articles that were requested."""
    pass_time(hours * HOUR)
    press.asked.clear()
    run(workspace)
    return sorted(path for path in press.asked if path != "/robots.txt" and not path.endswith(".xml"))


def test_an_edit_and_a_removal_that_no_list_tells_are_seen(tmp_path, press, real_clock):
    now = present()
    put_feed(press, {"/young": now - timedelta(hours=1), "/old": now - timedelta(days=40), "/undated": None})
    for path in ("/young", "/old", "/undated"):
        put_article(press, path, f"The title of {path}")
    workspace = configured(
        tmp_path, {"g": {"url": press.url, "kind": "feed", "seeds": ["rss.xml"]}}, "rewrite_changed = true"
    )
    assert asked_by_run(press, workspace, 0) == ["/old", "/undated", "/young"]
    assert asked_by_run(press, workspace, 5) == [], "the first pause has not passed"
    put_article(
        press, "/young", "The title of /young", text="<p>The mayor said no, and the quay stays shut all winter."
    )
    assert asked_by_run(press, workspace, 2) == ["/young"]
    article = articles(tmp_path)[f"{press.url}/young"]
    assert "shut all winter" in article["article_text"]
    revisions = article["metadata"]["revisions"]
    assert [revision["changed"] for revision in revisions] == [[], ["article_text", "word_count"]]
    assert asked_by_run(press, workspace, 11) == [], "the pause has doubled"
    assert asked_by_run(press, workspace, 2) == ["/young"]
    assert asked_by_run(press, workspace, 30 * 24) == ["/undated", "/young"]
    assert asked_by_run(press, workspace, 11 * 24) == ["/old", "/young"]


def test_two_sources_whose_feeds_name_an_article_differently_do_not_change_it_in_turn(tmp_path, press, real_clock):
    def put_feeds():
        for name in ("Sports", "Politics"):
            put_feed(press, {"/a": present() - timedelta(minutes=1)}, name)

    put_feeds()
    put_article(press, "/a", "The title of /a")
    sources = {name: {"url": press.url, "kind": "feed", "seeds": [f"{name}.xml"]} for name in ("Sports", "Politics")}
    workspace = configured(tmp_path, sources, "rewrite_changed = true")
    assert asked_by_run(press, workspace, 0) == ["/a", "/a"]
    keywords = articles(tmp_path)[f"{press.url}/a"]["keywords"]
    assert keywords in (["Sports"], ["Politics"]), "those of the first feed"
    assert asked_by_run(press, workspace, 7) == ["/a", "/a"]
    article = articles(tmp_path)[f"{press.url}/a"]
    assert (article["keywords"], article.get("metadata")) == (keywords, None), "there is no revision"
    page = press.pages["/a"][2].decode()
    press.put("/a", page.replace("</head>", "<meta name=keywords content='Harbour'></head>"))
    assert asked_by_run(press, workspace, 13) == ["/a", "/a"]
    article = articles(tmp_path)[f"{press.url}/a"]
    assert ("Harbour" in article["keywords"], len(article["metadata"]["revisions"])) == (True, 2)


def test_pauses_double_up_to_a_year():
    request = HttpRequest(context=context_text(Request("https://a.example/a", "feed.article", again=6 * HOUR)))
    pauses, pause = [], 0
    while sum(pauses) < 3 * 366 * DAY:
        pause = interval_of(request, pause)
        pauses.append(pause)
    assert [round(pause / HOUR, 1) for pause in pauses[:4]] == [6, 12, 24, 48]
    assert pauses[-1] == LONGEST_PAUSE
    assert len(pauses) == 13, "requests for an article in its first three years"
    assert interval_of(request, 48 * HOUR, failures=3) == 48 * HOUR, "a failure does not make the article older"
    assert (
        interval_of(HttpRequest(context=context_text(Request("https://a.example/a", "feed.article", again=6), 1))) == 0
    )


@pytest.mark.parametrize(
    ("again", "pauses"), [("0", [0, 0]), ("2h", [2 * HOUR, 400 * DAY]), ("500 d", [500 * DAY] * 2)]
)
def test_the_first_pause_is_a_setting(tmp_path, again, pauses):
    now = datetime(2026, 11, 22, tzinfo=UTC)
    settings = {"url": "https://a.example/", "kind": "feed", "again": again}
    source = configured(tmp_path, {"g": settings}).source("g")
    urls = "".join(
        f"<url><loc>https://a.example/{days}</loc><lastmod>{now - timedelta(days=days):%Y-%m-%d}</lastmod></url>"
        for days in (0, 400)
    )
    body = f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{urls}</urlset>"
    answer = Answer(Request("https://a.example/list", "feed.list"), 200, {}, BytesIO(body.encode()), now)
    result = feed.follow(source, {}, answer)
    expected = [min(pause, LONGEST_PAUSE) if again != "500 d" else pause for pause in pauses]
    assert [request.again for request in result.requests] == expected
