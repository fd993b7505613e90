"""What sites send instead of an article: soft 404s, consent pages, redirects to the front page, wrong canonical addresses."""

import gzip
import io
import json
import string
from datetime import UTC, datetime

import pytest

from tests.clock import pass_time
from tests.collections.news.press import Press
from tests.collections.news.test_sites import PROSE
from tests.collections.news.workspace import articles, configured, run, summaries
from windrow.caps import FRONT_PAGE_FEEDS, JSON_LD_CHARACTERS, JSON_LD_OBJECTS
from windrow.collections.news import discover, feed, listed_details
from windrow.collections.news.article import FoundArticle, article_observation
from windrow.collections.news.collection import COLLECTION
from windrow.content.substitute import asks_for_consent
from windrow.contract import Answer, Observation, Request, Task
from windrow.engine.frontier import frontier_of
from windrow.engine.source_counts import UNUSED_RULE
from windrow.formats.url_hints import HintKind
from windrow.ledger import Ledger


@pytest.fixture
def press():
    served = Press()
    yield served
    served.close()


def put_article(press, path, title, canonical="", text=PROSE):
    link = f"<link rel=canonical href='{canonical}'>" if canonical else ""
    press.put(
        path,
        f"<html><head><title>{title} | Gazette</title><meta property=og:type content=article>{link}</head>"
        f"<body><main><article><h1>{title}</h1>{text}</article></main></body></html>",
    )


def put_sitemap(press, entries):
    """Serve a sitemap of (path, day of November) at the front page's sibling `/sitemap.xml`."""
    urls = "".join(
        f"<url><loc>{press.url}{path}</loc><lastmod>2025-11-{day:02}</lastmod></url>" for path, day in entries
    )
    press.put(
        "/sitemap.xml", f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{urls}</urlset>", "text/xml"
    )


def put_feed(press, titles):
    """Serve an RSS feed of titles by path."""
    items = "".join(
        f"<item><title>{title}</title><link>{press.url}{path}</link></item>" for path, title in titles.items()
    )
    press.put("/rss.xml", f"<rss version='2.0'><channel><title>G</title>{items}</channel></rss>", "application/rss+xml")


def gazette(tmp_path, press, seed="sitemap.xml"):
    return configured(tmp_path, {"g": {"url": press.url, "kind": "feed", "seeds": [seed]}})


@pytest.mark.parametrize(
    "canonical", ["/", "/?utm_source=x", "/index.html", "/index.php?", "/home", "/en/", "/news", "/news/index.html"]
)
@pytest.mark.parametrize("folder", ["", "/news"])
def test_articles_whose_canonical_address_is_a_front_page_or_a_section_are_not_merged(
    tmp_path, press, canonical, folder
):
    paths = {f"{folder}/harbour-plan-{number}": f"Harbour plan {number}" for number in (1, 2, 3)}
    for path, title in paths.items():
        put_article(press, path, title, f"{press.url}{canonical}")
    put_sitemap(press, [(path, 20) for path in paths])
    run(gazette(tmp_path, press))
    assert sorted(article["title"] for article in articles(tmp_path).values()) == sorted(paths.values())


def test_articles_that_a_parameter_distinguishes_are_not_merged_by_a_canonical_address_without_it(tmp_path, press):
    for number in (1, 2):
        put_article(press, f"/article.php?id={number}", f"Harbour plan {number}", f"{press.url}/article.php")
    put_sitemap(press, [(f"/article.php?id={number}", 20) for number in (1, 2)])
    run(gazette(tmp_path, press))
    assert len(articles(tmp_path)) == 2


def test_parts_of_a_series_with_one_title_and_one_canonical_address_are_not_merged(tmp_path, press):
    def put_part(path, day, text):
        date = f"<meta property=article:published_time content=2025-11-{day:02}T10:00:00Z>"
        put_article(press, path, "Police log", f"{press.url}/police-log.html'>{date}<meta name='x", text + PROSE)

    for day in (1, 2):
        put_part(f"/log-2025-11-{day:02}.html", day, f"<p>{day} calls on this day.</p>")
    put_part("/amp/log-2025-11-02.html", 2, "<p>2 calls on this day.</p>")
    put_sitemap(press, [("/log-2025-11-01.html", 1), ("/log-2025-11-02.html", 2), ("/amp/log-2025-11-02.html", 2)])
    run(gazette(tmp_path, press))
    texts = [article["article_text"].partition(" ")[0] for article in articles(tmp_path).values()]
    assert sorted(texts) == ["1", "2"]
    assert summaries(tmp_path)[0]["details"]["joined_address"] == 1


@pytest.mark.parametrize("further", ["/2026/story/2", "/2026/story/page/2/", "/2026/story-2", "/2026/story?page=2"])
def test_further_pages_of_an_article_do_not_replace_its_first(tmp_path, further):
    def read_aliases(path):
        head = "<link rel=canonical href=https://a.example/2026/story><meta property=og:type content=article>"
        page = f"<title>The quay</title>{head}<h1>The quay</h1>{PROSE}".replace("harbour", path)
        (entry,) = read_whole_page(tmp_path, page, url=f"https://a.example{path}")
        return {*entry.aliases}

    assert read_aliases("/2026/story") & read_aliases("/2026/story/1")
    assert not read_aliases("/2026/story") & read_aliases(further)


SUBSTITUTES = {
    "soft_404": ("Page not found", "<p>Sorry, the page you requested was not found. Try our search.</p>"),
    "consent_page": ("Before you continue", "<p>We and our 812 partners store cookies on your device.</p>"),
    "bot_wall": ("Just a moment...", "<p>Checking that you are a person. This takes some seconds.</p>"),
}


@pytest.mark.parametrize("reason", SUBSTITUTES)
@pytest.mark.parametrize("seed", ["sitemap.xml", "rss.xml"])
def test_a_page_that_replaces_an_article_leaves_its_text_alone_and_has_a_reason(tmp_path, press, reason, seed):
    path, title = "/news/harbour-plan-1.html", "Harbour plan"
    put_article(press, path, title)
    put_sitemap(press, [(path, 20)])
    put_feed(press, {path: title})
    workspace = configured(
        tmp_path, {"g": {"url": press.url, "kind": "feed", "seeds": [seed]}}, "rewrite_changed = true"
    )
    run(workspace)
    before = articles(tmp_path)
    assert len(before) == 1
    put_article(press, path, SUBSTITUTES[reason][0], text=SUBSTITUTES[reason][1])
    other = "/news/another-plan-2.html"  # never was an article
    put_article(press, other, SUBSTITUTES[reason][0], text=SUBSTITUTES[reason][1])
    put_sitemap(press, [(path, 21), (other, 21)])
    put_feed(press, {other: "Another plan"})
    pass_time(1.1)
    run(workspace)
    assert articles(tmp_path) == before
    assert summaries(tmp_path)[-1]["details"][f"error: {reason}"] == (2 if seed == "sitemap.xml" else 1)


CONSENT_IN_OTHER_WORDS = [
    "We and our vendors keep data on your device, such as cookies. You can accept or decline.",
    "Mit Ihrer Zustimmung nutzen wir und unsere Partner Cookies, um personenbezogene Daten zu lesen. Akzeptieren?",
    "Avec votre consentement, nos partenaires et nous utilisons des cookies et des données personnelles. Accepter ?",
    "Con su consentimiento, nosotros y nuestros socios usamos cookies y datos personales. Aceptar o rechazar.",
]
ARTICLES = [
    "The court ruled that sites need consent for cookies of their partners, and that users may reject them.",
    "We asked you about your week. Our readers accept that cookies taste better with tea.",
    "The council said your privacy matters to us; the new library opens on Monday.",
]


@pytest.mark.parametrize("text", CONSENT_IN_OTHER_WORDS)
def test_a_request_for_consent_in_other_words_does_not_replace_an_article(tmp_path, press, text):
    path = "/news/harbour-plan-1.html"
    put_article(press, path, "Harbour plan")
    put_sitemap(press, [(path, 20)])
    workspace = configured(
        tmp_path, {"g": {"url": press.url, "kind": "feed", "seeds": ["sitemap.xml"]}}, "rewrite_changed = true"
    )
    run(workspace)
    before = articles(tmp_path)
    assert len(before) == 1
    put_article(press, path, "Gazette", text=f"<p>{text}</p>")
    put_sitemap(press, [(path, 21)])
    pass_time(1.1)
    run(workspace)
    assert articles(tmp_path) == before
    assert summaries(tmp_path)[-1]["details"]["error: consent_page"] == 1


@pytest.mark.parametrize("text", ARTICLES)
def test_a_short_article_about_consent_or_cookies_is_no_request_for_consent(text):
    assert not asks_for_consent(text)


def test_a_page_of_a_feed_that_has_no_mark_of_an_article_and_not_the_words_of_its_title_is_left_out(tmp_path, press):
    prose = PROSE.replace("harbour", "weather")
    press.put("/news/harbour-plan-1.html", f"<title>Gazette</title><main><h1>Welcome</h1>{prose}</main>")
    press.put("/news/harbour-plan-2.html", f"<title>Gazette</title><main><h1>Lighthouse restored</h1>{PROSE}</main>")
    put_feed(press, {"/news/harbour-plan-1.html": "Ferry timetable published yesterday",
                     "/news/harbour-plan-2.html": "Lighthouse restored"})  # fmt: skip
    run(gazette(tmp_path, press, "rss.xml"))
    assert [*articles(tmp_path)] == [f"{press.url}/news/harbour-plan-2.html"]
    assert summaries(tmp_path)[-1]["details"]["error: soft_404"] == 1


@pytest.mark.parametrize("target", ["/", "/index.html", "/news/"])
def test_an_article_that_redirects_to_the_front_page_or_its_section_keeps_its_text_and_the_source_goes_on(
    tmp_path, press, target
):
    first, second = "/news/harbour-plan-1.html", "/news/harbour-plan-2.html"
    for path in (first, second):
        put_article(press, path, f"Harbour plan {path[-6]}")
    put_article(press, target, "The Gazette: all the news", text=f"<a href='{second}'>Harbour plan 2</a>{PROSE}")
    put_feed(press, {first: "Harbour plan 1", second: "Harbour plan 2"})
    workspace = configured(tmp_path, {"g": {"url": press.url, "kind": "feed", "seeds": ["rss.xml", "/"]}})
    run(workspace)
    before = articles(tmp_path)
    assert len(before) == 2
    press.pages[first] = (302, f"-> {target}", b"")
    put_feed(press, {second: "Harbour plan 2"})
    put_feed(press, {"/news/new-plan-3.html": "New plan 3", second: "Harbour plan 2"})
    press.pages["/news/new-plan-3.html"] = (301, f"-> {target}", b"")
    press.asked.clear()
    pass_time(1.1)
    run(workspace)
    assert articles(tmp_path) == before
    assert press.asked.count("/") == 1  # as a seed
    assert summaries(tmp_path)[-1]["details"]["error: redirected"] >= 1
    ledger = Ledger(workspace.ledger)
    attempts = ledger.attempts.after("news", 0, 100)
    followed = {each.attempt.url: ledger.requests.followed(each.seq) for each in attempts if each.attempt.location}
    assert {row.reason for row in followed.values()} == {"redirected"}
    counts = {count.reason: count[2:4] for count in frontier_of(ledger, COLLECTION).left_out("g", ())}
    assert counts["redirected"] == (UNUSED_RULE, len(followed))
    ledger.close()


def test_a_removed_article_that_its_list_does_not_name_any_more_is_asked_again_and_is_gone(tmp_path, press):
    paths = [f"/news/harbour-plan-{number}.html" for number in range(1, 7)]
    for path in paths:
        put_article(press, path, f"Harbour plan {path[-6]}")
    put_feed(press, {path: f"Harbour plan {path[-6]}" for path in reversed(paths)})  # the newest first
    workspace = gazette(tmp_path, press, "rss.xml")
    run(workspace)
    before = articles(tmp_path)
    removed, aged = paths[3], paths[0]
    press.put(removed, "<h1>Gone</h1>", status=404)
    put_feed(press, {path: f"Harbour plan {path[-6]}" for path in reversed(paths) if path not in {removed, aged}})
    press.asked.clear()
    pass_time(1.1)
    run(workspace)
    assert [path for path in press.asked if path in paths] == [removed]  # not the one that is only too old for the feed
    assert articles(tmp_path) == before
    assert summaries(tmp_path)[-1]["details"]["gone"] == 1
    press.asked.clear()
    pass_time(1.1)
    run(workspace)
    assert [path for path in press.asked if path in paths] == []


def follow(press, body, media="text/xml", learned=None, url="/list"):
    source = configured(press.root, {"g": {"url": press.url, "kind": "feed"}}).of("news")[0]
    request = Request(f"{press.url}{url}", "feed.list", every=60)
    answer = Answer(request, 200, {"content-type": media}, io.BytesIO(body.encode()), datetime.now(UTC))
    return feed.follow(source, learned or {}, answer)


def test_every_entry_of_a_long_sitemap_is_requested_the_newest_first(tmp_path, press):
    press.root = tmp_path
    entries = "".join(
        f"<url><loc>{press.url}/a-{n}</loc><lastmod>{1990 + n % 30}-01-01</lastmod></url>" for n in range(12_000)
    )
    followed = follow(press, f"<urlset>{entries}</urlset>")
    assert len({request.url for request in followed.requests}) == 12_000
    assert followed.requests[0].url.endswith("-29")
    assert followed.left_out == ()


def test_an_old_article_of_a_long_sitemap_that_changes_is_requested_again(tmp_path, press):
    press.root = tmp_path

    def sitemap(changed):
        days = [f"2024-{1 + n // 28 % 12:02}-{1 + n % 28:02}" for n in range(3_000)]
        days[0] = changed
        return "".join(f"<url><loc>{press.url}/a-{n}</loc><lastmod>{day}</lastmod></url>" for n, day in enumerate(days))

    first = follow(press, f"<urlset>{sitemap('2024-01-01')}</urlset>")
    second = follow(press, f"<urlset>{sitemap('2025-01-01')}</urlset>", learned=first.learned)
    assert f"{press.url}/a-0" in [request.url for request in second.requests if request.only_if_new]


def test_every_sitemap_of_an_index_is_requested_and_old_ones_again_when_their_time_changes(tmp_path, press):
    press.root = tmp_path

    def index(changed=""):
        times = {n: f"{2000 + n // 12}-{n % 12 + 1:02}-01" for n in range(150)}
        times |= {3: changed} if changed else {}
        return "".join(
            f"<sitemap><loc>{press.url}/s-{n}.xml</loc><lastmod>{time}</lastmod></sitemap>" for n, time in times.items()
        )

    first = follow(press, f"<sitemapindex>{index()}</sitemapindex>")
    assert len({request.url for request in first.requests}) == 150
    assert sum(request.every == 60 for request in first.requests) == 100
    second = follow(press, f"<sitemapindex>{index('2000-05-05')}</sitemapindex>", learned=first.learned)
    assert [request.url for request in second.requests if request.only_if_new] == [f"{press.url}/s-3.xml"]


def test_what_a_list_names_and_is_not_requested_is_counted_by_rule(tmp_path, press):
    links = "".join(f"<a href='/news/a-story-about-it-{n}'>A long headline</a>" for n in range(2_100))
    press.root = tmp_path
    (count,) = follow(press, f"<html><body>{links}</body></html>", "text/html").left_out
    assert (count.reason, count.rule, count.addresses) == ("capped", "more than 2,000 articles of a section page", 100)
    source = configured(tmp_path, {"g": {"url": press.url, "kind": "feed", "max_links": 2_099}}).of("news")[0]
    answer = Answer(Request(f"{press.url}/list", "feed.list", every=60), 200, {"content-type": "text/html"},
                    io.BytesIO(f"<html><body>{links}</body></html>".encode()), datetime.now(UTC))  # fmt: skip
    (count,) = feed.follow(source, {}, answer).left_out
    assert (count.rule, count.addresses) == ("more than 2,099 articles of a section page", 1)
    put_article(press, "/news/harbour-plan-1.html", "Harbour plan")
    put_feed(press, {"/news/harbour-plan-1.html": "Harbour plan"})
    elsewhere = "<item><title>x</title><link>http://other.example/a</link></item><item><title>no address</title></item>"
    press.put(
        "/rss.xml", press.pages["/rss.xml"][2].decode().replace("</channel>", f"{elsewhere}</channel>"), "text/xml"
    )
    workspace = gazette(tmp_path, press, "rss.xml")
    run(workspace)
    ledger = Ledger(workspace.ledger)
    left_out = frontier_of(ledger, COLLECTION).left_out("g", ())
    ledger.close()
    assert {(count.reason, count.addresses) for count in left_out} == {("out_of_scope", 1), ("bad_address", 1)}


def test_feeds_of_a_front_page_beyond_the_cap_are_counted(tmp_path, press):
    source = configured(tmp_path, {"g": {"url": press.url}}).of("news")[0]
    links = "".join(
        f"<link rel=alternate type=application/rss+xml href=/feed-{n}.xml>" for n in range(FRONT_PAGE_FEEDS.number + 7)
    )
    body = io.BytesIO(f"<html><head>{links}</head><body><p>News</body></html>".encode())
    answer = Answer(Request(press.url, discover.HOME), 200, {"content-type": "text/html"}, body, datetime.now(UTC))
    result = discover.follow(source, {}, answer)
    assert len([request for request in result.requests if "/feed-" in request.url]) == FRONT_PAGE_FEEDS.number
    (count,) = result.left_out
    assert (count.reason, count.rule, count.addresses) == ("capped", "more than 100 feeds of a front page", 7)


@pytest.mark.parametrize(("head", "text", "target"), [
    ("<meta http-equiv=refresh content='0; url=/news/b'>", "Moved", "/news/b"),
    ('<META content="3;URL=\'/news/b?x=1&amp;y=2\'" HTTP-EQUIV="Refresh">', "Moved <a href=/b>here</a>", "/news/b?x=1&y=2"),
    ("<meta http-equiv=refresh content='600; url=/'>", "A short note", ""),  # goes back to the front page later
    ("<meta http-equiv=refresh content='0; url=/news/a#top'>", "Moved", ""),  # the page itself
    ("<meta http-equiv=refresh content=5>", "Moved", ""),
    ("<!-- <meta http-equiv=refresh content='0; url=/b'> <meta name=robots content=noindex> -->", "Moved", ""),
    ("<noscript><meta http-equiv=refresh content='0; url=/no-script'></noscript>", "A brief.", ""),
    ("<script>document.write('<meta http-equiv=refresh content=\"0; url=/b\">')</script>", "Moved", ""),
    ("<template><meta http-equiv=refresh content='0; url=/b'></template>", "Moved", ""),
    ("<meta http-equiv = ' refresh ' content = '0; url=/news/b'>", "Moved", "/news/b"),
    ("<meta http-equiv=refresh title='a > b' content='0; url=/news/b'>", "Moved", "/news/b"),
    ("<base href='/other/'><meta http-equiv=refresh content='0; url=c'>", "Moved", "/other/c"),
    ("<meta http-equiv=refresh content=5><meta http-equiv=refresh content='0; url=/news/b'>", "Moved", "/news/b"),
])  # fmt: skip
def test_a_page_without_a_text_that_leads_to_another_page_is_followed_and_no_article(tmp_path, head, text, target):
    (source,) = configured(tmp_path, {"g": {"url": "https://a.example/", "kind": "feed"}}).of("news")
    url, body = "https://a.example/news/a", f"<html><head><title>T</title>{head}</head><body><p>{text}".encode()
    request = Request(url, "feed.article", context='{"title": "T", "published": "2026-11-20"}')
    at = datetime(2026, 11, 22, tzinfo=UTC)
    followed = discover.follow(source, {}, Answer(request, 200, {}, io.BytesIO(body), at))
    assert [further._replace(url=url) for further in followed.requests] == [request] * bool(target)
    assert [further.url for further in followed.requests] == [f"https://a.example{target}"] * bool(target)
    task = Task(None, io.BytesIO(body), None, {}, {}, {}, source, at, request=request)  # type: ignore[arg-type]
    assert [type(entry) for entry in discover.read(task)] == [Observation] * (not target)


def read_entries(tmp_path, body, context="{}", **settings):
    """Return all that is read from the page of an article, whose head and text are `body`."""
    return read_whole_page(
        tmp_path,
        "<html><head><title>The quay</title><meta property=og:type content=article>"
        "<meta property='article:published_time' content='2026-11-20T23:30:00-06:00'><meta name=keywords content=quay>"
        f"</head><body><article><h1>The quay</h1>{body}</article></body></html>",
        context,
        **settings,
    )


def read_whole_page(tmp_path, page, context="{}", fields=None, url="https://a.example/news/a", **settings):
    """Return all that is read from a page of a news site; `fields` are the header fields of the response."""
    (source,) = configured(tmp_path, {"g": {"url": "https://a.example/", "kind": "page"} | settings}).of("news")
    request = Request(url, "page.article", context=context)
    at = datetime(2026, 11, 22, tzinfo=UTC)
    return list(discover.read(
        Task(None, io.BytesIO(page.encode()), None, {}, {}, fields or {}, source, at, request=request)  # type: ignore[arg-type]
    ))  # fmt: skip


LONG_SCRIPT = f"<script>{'x = 1; ' * 30_000}</script>"
NAMES_OTHER_AGENT = "<meta name=otherbot content=noindex>"


@pytest.mark.parametrize(("head", "tag", "is_read"), [
    (f"{LONG_SCRIPT}<meta name=robots content='noindex, follow'>", "", False),
    ("<meta content = 'NONE' name = 'Robots'>", "", False),
    ("<!-- <meta name=robots content=noindex> -->", "", True), (NAMES_OTHER_AGENT, "otherbot: noindex", True),
    ("<script>'<meta name=robots content=noindex>'</script>", "", True), ("", "noindex", False),
    ("<meta name=windrow content=noindex>", "", False), ("", "windrow: noindex", False),
])  # fmt: skip
def test_a_page_that_asks_not_to_be_indexed_is_skipped_wherever_it_asks(tmp_path, head, tag, is_read):
    page = f"<title>The quay</title><meta property=og:type content=article>{head}<h1>The quay</h1>{PROSE}"
    (entry,) = read_whole_page(tmp_path, page, fields={"x-robots-tag": tag})
    assert isinstance(entry, Observation) == is_read
    assert is_read or entry.reason == "noindex"


@pytest.mark.parametrize("mark", [
    "<meta content='Article' property='og:type'>", "<div itemscope itemtype=https://schema.org/NewsArticle></div>",
    '<script type=application/ld+json>{"@type": ["Thing", "x"]}{"@type" : [ "NewsArticle"]}</script>',
])  # fmt: skip
def test_a_mark_of_an_article_counts_wherever_it_is(tmp_path, mark):
    page = f"<title>The quay</title>{LONG_SCRIPT}{mark}<h1>The quay</h1>{PROSE}"
    assert [type(entry) for entry in read_whole_page(tmp_path, page)] == [Observation]
    (skip,) = read_whole_page(tmp_path, page.replace(mark, ""))
    assert skip.reason == "not_wanted"


def linked_data(**fields):
    data = json.dumps({"@type": "NewsArticle", **fields})
    return f"<script type=application/ld+json>{data}</script>"


def read_article(tmp_path, body, context="{}", **settings):
    """Return the only entry that is read from the page of an article, whose head and text are `body`."""
    (entry,) = read_entries(tmp_path, body, context, **settings)
    return entry


def test_articles_of_which_a_page_only_tells_make_it_no_article(tmp_path):
    """A section page to which a removed article redirects became an article, by the JSON-LD of its teasers."""
    teasers = {"@type": "ItemList", "itemListElement": [{"@type": "NewsArticle", "headline": "Bridge"}]}
    page = f"<title>News | Gazette</title><script type=application/ld+json>{json.dumps(teasers)}</script>{PROSE}"
    (skip,) = read_whole_page(tmp_path, page, json.dumps({"title": "Mayor resigns"}))
    assert skip.reason == "soft_404"


LETTERS = string.ascii_lowercase
NAMES = [f"{name} X{first}{second}" for name in ("Ann", "Bo") for first in LETTERS for second in LETTERS][:1_003]


@pytest.mark.parametrize("head", [
    "".join(f"<meta name=citation_author content='{name}'>" for name in NAMES),
    linked_data(author=[{"@type": "Person", "name": name} for name in NAMES]), linked_data(author=NAMES),
])  # fmt: skip
def test_authors_beyond_the_cap_are_counted(tmp_path, head):
    article, skip = read_entries(tmp_path, head + PROSE)
    assert article.value["author"].split(", ") == NAMES[:1_000]
    assert (skip.reason, skip.full_message) == ("capped", "more than 1,000 authors of an article: 3 left out")


@pytest.mark.parametrize(("data", "rule", "number"), [
    ({"text": "x" * JSON_LD_CHARACTERS.number}, "more than 1,048,576 characters of a JSON-LD script", 36),
    ({"description": "x" * 200_000}, "more than 100,000 characters of one value in a page's head", 100_000),
    ({"hasPerson": [{}] * (JSON_LD_OBJECTS.number + 6)}, "more than 5,000 objects in a page's JSON-LD", 7),
])  # fmt: skip
def test_json_ld_beyond_its_caps_is_counted(tmp_path, data, rule, number):
    article, skip = read_entries(tmp_path, "<meta name=author content='Ann Lee'>" + linked_data(**data) + PROSE)
    assert (article.value["author"], skip.reason, skip.message, skip.number) == ("Ann Lee", "capped", rule, number)


def test_json_ld_that_cannot_be_read_is_counted(tmp_path):
    broken = "<script type=application/ld+json>{'author': 'Ann Lee'}</script>" * 2
    article, skip = read_entries(tmp_path, broken + PROSE)
    assert article.value["author"] is None
    assert (skip.reason, skip.key, skip.number) == ("not_well_formed", "JSON-LD", 2)


@pytest.mark.parametrize(("body", "words"), [
    ("<p>See <a href='/the/plan_(1)'>the plan</a> of <img src='/two/words.jpg' alt='a picture'> it.</p>", 5),
    ("<p>東京都は2026年に港を改修する。</p>", 13),
    ("<img src='/harbour.jpg' alt='The harbour'>", None), ("<a href='/x'><img src='/y.jpg'></a>", None),
])  # fmt: skip
def test_addresses_and_images_are_no_words_of_an_article(body, words):
    entry = article_observation(FoundArticle("https://a.example/news/a", "wordpress", "The quay", body), "", None)
    if words is None:
        assert (entry.reason, entry.message) == ("no_text", "its text has no words")
    else:
        assert entry.value["word_count"] == words


@pytest.mark.parametrize(("settings", "is_read"), [
    ({"since": "2026-11-20"}, True), ({"until": "2026-11-20"}, True), ({"since": "2026-11-21"}, False),
    ({"until": "2026-11-19"}, False),
])  # fmt: skip
def test_an_article_of_a_list_without_dates_is_wanted_by_its_own_date(tmp_path, settings, is_read):
    entry = read_article(tmp_path, PROSE, **settings)
    assert isinstance(entry, Observation) == is_read
    assert is_read or (entry.reason, entry.message) == ("not_wanted", "it is before `since` or after `until`")


def test_a_title_is_not_cut_and_a_feed_adds_its_authors_and_categories(tmp_path):
    long_title = "word " * 1_000
    feed_body = (
        "<rss version='2.0' xmlns:dc='http://purl.org/dc/elements/1.1/'><channel><title>G</title><item>"
        f"<title>{long_title}</title><link>https://a.example/news/a</link><dc:creator>Ann Lee</dc:creator>"
        "<category>Politics</category><category>quay</category></item></channel></rss>"
    ).encode()
    by_address, *_ = listed_details.read_details(feed_body, "https://a.example/feed", HintKind.FEED)
    packed = listed_details.read_details(gzip.compress(feed_body), "https://a.example/feed", HintKind.FEED)
    assert packed[0] == by_address
    details = by_address["https://a.example/news/a"]
    assert details["title"] == long_title.strip()
    entry = read_article(tmp_path, PROSE, json.dumps(details))
    assert (entry.value["author"], entry.value["keywords"]) == ("Ann Lee", ["quay", "Politics"])
    page = FoundArticle("https://a.example/news/b", "page", long_title, PROSE)
    assert article_observation(page, "", None).value["title"] == long_title.strip()
