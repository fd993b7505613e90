"""Sites of other kinds: BLOX searches, feeds, sitemaps and section pages, detected or configured, and their articles."""

import io
import json
import re
import unittest.mock
from contextlib import closing
from datetime import UTC, datetime

import pytest

from tests.clock import pass_time
from tests.collections.news.press import Press
from tests.collections.news.workspace import articles, configured, run, summaries
from windrow.collections.news import standard
from windrow.collections.news.collection import COLLECTION
from windrow.collections.news.discover import follow
from windrow.contract import Answer, Request
from windrow.engine.frontier import frontier_of
from windrow.ledger import Ledger
from windrow.reasons import Reason
from windrow.stores.records import RecordStore


@pytest.fixture
def press():
    served = Press()
    yield served
    served.close()


PROSE = "".join(
    f"<p>Sentence {n} of a story about the harbour, the council and its plan for the quay.</p>" for n in range(8)
)


def page(press, number, title="The quay", extra="", text=PROSE):
    sources = {
        "@context": "https://schema.org", "@type": "NewsArticle", "headline": f"{title} {number}",
        "datePublished": f"2025-11-{number:02}T08:00:00-06:00", "author": [{"name": "Ann Lee"}, {"name": "Bo Ek"}],
        "keywords": ["harbour", "council"], "image": "/quay.jpg",
    }  # fmt: skip
    press.put(
        f"/news/the-quay-story-{number}.html",
        f"<html><head><title>{title} {number} | Gazette</title><meta property='og:site_name' content='Gazette'>{extra}"
        f"<script type='application/ld+json'>{json.dumps(sources)}</script></head><body><nav><a href='/'>Home</a></nav>"
        f"<main><article><h1>{title} {number}</h1>{text}<ul><li>one<ul><li>two</ul></ul>"
        f"<p>See <a href='/x'>the plan</a>.</p></article></main><footer>(c)</footer></body></html>",
    )
    return f"{press.url}/news/the-quay-story-{number}.html"


def rss(press, numbers, updated=""):
    entries = "".join(
        f"<item><title>The quay {n}</title><link>{press.url}/news/the-quay-story-{n}.html?utm_source=rss</link>"
        f"<pubDate>Sat, {n:02} Nov 2025 14:00:00 GMT</pubDate>{updated}</item>"
        for n in numbers
    )
    press.put("/rss.xml", f"<?xml version='1.0'?><rss version='2.0'><channel><title>G</title>{entries}</channel></rss>",
              "application/rss+xml")  # fmt: skip
    for n in numbers:
        press.pages[f"/news/the-quay-story-{n}.html?utm_source=rss"] = press.pages[f"/news/the-quay-story-{n}.html"]


def test_the_articles_of_a_feed_are_read_from_their_pages(tmp_path, press):
    for number in (1, 2):
        page(press, number, extra=f"<link rel=canonical href='/news/the-quay-story-{number}.html'>")
    rss(press, (1, 2))
    run(configured(tmp_path, {"g": {"url": f"{press.url}/rss.xml", "kind": "feed"}}))
    written = list(articles(tmp_path).values())
    assert len(written) == 2
    first = next(each for each in written if each["title"] == "The quay 1")
    assert list(standard.problems(first)) == []
    assert (first["publication_date"], first["publication_timestamp_gmt"]) == ("2025-11-01T08:00:00-06:00", 1762005600)
    assert first["author"] == "Ann Lee, Bo Ek"
    assert first["keywords"] == ["harbour", "council"]
    assert first["image_url"] == f"{press.url}/quay.jpg"
    assert first["article_text"].startswith("Sentence 0 of")  # the headline is the title
    assert f"See [the plan]({press.url}/x)." in first["article_text"]
    assert first["metadata"]["canonical_url"] == f"{press.url}/news/the-quay-story-1.html"
    (summary,) = summaries(tmp_path)
    assert (summary["source"], summary["statistics"]["articles_new"]) == ("feed", 2)
    (manifest,) = summaries(tmp_path, "_manifest.json")
    assert {entry["url"] for entry in manifest} >= {f"{press.url}/rss.xml"}
    assert all(entry["warc"] and entry["digest"].startswith("sha256:") for entry in manifest)


def test_a_feed_is_asked_again_and_only_new_articles_are(tmp_path, press):
    for number in (1, 2, 3):
        page(press, number)
    rss(press, (1, 2))
    workspace = configured(tmp_path, {"g": {"url": f"{press.url}/rss.xml", "kind": "feed"}})
    run(workspace)
    press.asked.clear()
    rss(press, (3, 2, 1))
    pass_time(1.1)
    run(workspace)
    assert [path for path in press.asked if "quay" in path] == ["/news/the-quay-story-3.html?utm_source=rss"]
    assert len(articles(tmp_path)) == 3


@pytest.mark.parametrize("kind", ["sitemap", "section", "list", "front"])
def test_sitemaps_sections_and_front_pages_lead_to_articles_whose_kind_is_found_out(tmp_path, press, kind):
    urls = [page(press, number) for number in (1, 2)]
    links = "".join(f"<li><a href='{url}'>A long headline of a story in the paper</a>" for url in urls)
    if kind == "sitemap":
        press.put(urls[1].removeprefix(press.url), f"<title>The quay 2</title>{PROSE}")  # it has no metadata
        news = (
            "<n:news><n:publication_date>2025-11-20T10:00:00Z</n:publication_date><n:title>The quay 2</n:title>"
            "<n:keywords>harbour, council</n:keywords></n:news>"
        )
        entries = "".join(f"<url><loc>{url}</loc><lastmod>2025-11-20</lastmod>{news}</url>" for url in urls)
        names = "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:n='http://www.google.com/schemas/sitemap-news/0.9'"
        press.put("/", f"<urlset {names}>{entries}</urlset>", "text/xml")
    elif kind == "section":
        press.put("/", f"<html><body><h1>News</h1><ul>{links}<li><a href='/tag/harbour-news-of-the-day/'>x</a></ul>")
    elif kind == "list":
        item_list = {"@type": "ItemList", "itemListElement": [{"@type": "ListItem", "url": url} for url in urls]}
        press.put(
            "/", f"<h1>News</h1><script type=application/ld+json>{json.dumps(item_list)}</script><div id=app></div>"
        )
    else:
        page(press, 2)
        rss(press, (1, 2))
        press.put("/", f"<link rel=alternate type='application/rss+xml' href='/rss.xml'><ul>{links}</ul>")
    run(configured(tmp_path, {"g": {"url": press.url}}))
    written = articles(tmp_path)
    assert sorted(article["title"] for article in written.values()) == ["The quay 1", "The quay 2"]
    if kind == "sitemap":
        second = written[urls[1]]
        assert (second["publication_timestamp_gmt"], second["keywords"]) == (1763632800, ["harbour", "council"])


def test_a_wordpress_is_found_out_by_what_its_front_page_says(tmp_path, press):
    press.post(1)
    press.put(
        "/", f"<html><head><link rel='https://api.w.org/' href='{press.url}/wp-json/' /></head><body>x</body></html>"
    )
    run(configured(tmp_path, {"g": {"url": press.url}}))
    assert len(articles(tmp_path)) == 1
    assert summaries(tmp_path)[0]["source"] == "wordpress"


@pytest.mark.parametrize("wall", ["html", "forbidden"])
def test_a_wordpress_whose_interface_is_closed_is_read_by_its_feed_from_the_next_run_on(tmp_path, press, wall):
    page(press, 1)
    rss(press, (1,))
    press.pages["/feed/"] = press.pages["/rss.xml"]
    refusal = ("<html>Are you human?", 200) if wall == "html" else ('{"code":"rest_login_required"}', 401)
    with unittest.mock.patch.object(press, "_answer", lambda path: closed(press, path, refusal)):
        workspace = configured(tmp_path, {"g": {"url": press.url, "kind": "wordpress"}})
        run(workspace)
        (collected,) = summaries(tmp_path, "_collection_summary.json")
        assert collected["results"][0]["status"] == ("blocked" if wall == "html" else "error")
        run(workspace)
        assert len(articles(tmp_path)) == 1
        (unused,) = left_out(workspace)
        assert (unused.reason, unused.example.partition("?")[0]) == (
            "permission_denied", f"{press.url}/wp-json/wp/v2/posts",
        )  # fmt: skip
    press.post(2)
    page(press, 3)
    rss(press, (1, 3))
    press.pages["/feed/"] = press.pages["/rss.xml"]
    pass_time(86_401)
    run(workspace)  # the interface is requested once a day
    assert len(articles(tmp_path)) == 3
    press.asked.clear()
    page(press, 4)
    rss(press, (1, 3, 4))
    press.pages["/feed/"] = press.pages["/rss.xml"]
    pass_time(1.1)
    run(workspace)
    assert any("modified_after=" in path for path in press.asked)
    assert not any(path.startswith("/news/") for path in press.asked), "the feed is not read any more"
    assert left_out(workspace) == []


def left_out(workspace):
    with closing(Ledger(workspace.ledger)) as ledger:
        return frontier_of(ledger, COLLECTION).left_out("g", ())


def closed(press, path, refusal):
    if "wp/v2/posts" in path:
        return (
            refusal[1],
            {"Content-Type": "text/html" if refusal[1] == 200 else "application/json"},
            refusal[0].encode(),
        )
    return Press._answer(press, path)


def test_one_article_that_is_named_in_several_spellings_has_one_file(tmp_path, press):
    page(press, 1)
    rss(press, (1,))
    press.put("/two.xml", press.pages["/rss.xml"][2].replace(b"?utm_source=rss", b""), "application/rss+xml")
    run(configured(tmp_path, {"g": {"url": press.url, "kind": "feed", "seeds": ["/rss.xml", "two.xml"]}}))
    assert len(articles(tmp_path)) == 1
    statistics = summaries(tmp_path)[0]["statistics"]
    assert (statistics["articles_new"], statistics["articles_skipped"]) == (1, 1)


@pytest.mark.parametrize(("status", "reason"), [
    (404, Reason.NOT_FOUND), (410, Reason.GONE), (429, Reason.RATE_LIMITED), (503, Reason.SERVER_ERROR),
])  # fmt: skip
def test_a_guessed_list_has_the_reason_of_its_status_and_is_forgotten_only_if_it_is_gone(
    tmp_path, press, status, reason
):
    (source,) = configured(tmp_path, {"g": {"url": press.url}}).of("news")
    url = f"{press.url}/feed/"
    answer = Answer(Request(url, "page.guess"), status, {}, io.BytesIO(b"x"), datetime(2026, 11, 22, tzinfo=UTC))
    followed = follow(source, {"guessed": [url]}, answer)
    assert followed.skip is reason
    assert followed.learned == ({"guessed": []} if status in {404, 410} else {})


def test_a_feed_that_named_12_articles_and_names_1_is_trouble_until_it_names_them_again(tmp_path, press):
    for number in range(1, 13):
        page(press, number)
    workspace = configured(tmp_path, {"g": {"url": press.url, "kind": "feed", "seeds": ["/rss.xml"]}})
    for _ in range(5):
        rss(press, range(1, 13))
        assert run(workspace).failed == 0
        pass_time(2 * 86_400)
    for _ in range(2):
        rss(press, (12,))
        assert run(workspace).failed == 1
        pass_time(2 * 86_400)
    rss(press, range(1, 13))
    assert run(workspace).failed == 0
    assert len(articles(tmp_path)) == 12


def test_all_spellings_of_one_address_have_one_file_named_by_the_first_and_other_sites_cannot_claim_it(tmp_path, press):
    page(press, 1)
    first = f"{press.url}/news/the-quay-story-1.html"
    again = [
        "?utm_source=a&utm_medium=b",
        "?fbclid=x",
        "#top",
        "?utm_campaign=c#x",
        "?msclkid=x&_gl=y",
        "?print=1",
        "?amp",
    ]
    for mark in again:
        press.pages[f"/news/the-quay-story-1.html{mark.partition('#')[0]}"] = press.pages["/news/the-quay-story-1.html"]
    canonical = f"<link rel=canonical href='{first}'>"
    page(press, 2, extra=canonical, text="<p>The same article at another address.</p>" + PROSE)
    status, media, body = press.pages["/news/the-quay-story-2.html"]
    same_article = body.replace(b"The quay 2", b"The quay 1").replace(b"2025-11-02", b"2025-11-01")
    press.pages["/news/the-quay-story-2.html"] = status, media, same_article
    page(press, 5, extra=canonical)  # another article, with the canonical address that the site writes in all
    page(press, 3, extra="<link rel=canonical href='https://elsewhere.example/news/1'>")
    page(press, 4, extra="<link rel=canonical href='https://elsewhere.example/news/1'>")
    links = "".join(f"<item><link>{first}{mark}</link></item>" for mark in ["", *again])
    links += "".join(f"<item><link>{press.url}/news/the-quay-story-{n}.html</link></item>" for n in (2, 3, 4, 5))
    press.put("/rss.xml", f"<rss version='2.0'><channel><title>G</title>{links}</channel></rss>", "application/rss+xml")
    run(configured(tmp_path, {"g": {"url": press.url, "kind": "feed", "seeds": ["rss.xml"]}}))
    written = articles(tmp_path)
    assert len(written) == 4, list(written)
    assert summaries(tmp_path)[0]["details"]["shared_canonical"] == 1
    assert sum("story-1" in url or "story-2" in url for url in written) == 1
    for url in written:
        assert (tmp_path / "normalized_news" / "127.0.0.1" / standard.file_name(url)).is_file()
    (three,) = [article for url, article in written.items() if url.endswith("story-3.html")]
    assert three["metadata"]["canonical_url"] == "https://elsewhere.example/news/1"


def test_an_article_that_moves_to_another_address_of_its_site_is_one_article_until_it_is_removed_there(tmp_path, press):
    """Each article was doubled when a site changed its addresses, and gone when the former one ended."""
    old, moved = "/news/the-quay-story-3.html", "/2025/11/the-quay-story/"
    for number in (1, 2, 3):
        page(press, number)
    rss(press, (3, 2))
    workspace = configured(tmp_path, {"g": {"url": press.url, "kind": "feed", "seeds": ["rss.xml"], "every": "1s"}})
    run(workspace)

    def move(path):
        press.pages[path] = press.pages[f"{old}?utm_source=rss"]
        feed = press.pages["/rss.xml"][2].replace(f"{old}?utm_source=rss".encode(), path.encode())
        press.put("/rss.xml", feed, "application/rss+xml")

    def run_again():
        pass_time(2 * 86_400)
        press.asked.clear()
        run(workspace)
        with closing(RecordStore(tmp_path / "news.db", read_only=True)) as store:
            return {version.key: version.value is not None for version in store.versions()}

    move(moved)
    press.put(f"{old}?utm_source=rss", "gone", status=404)
    assert [*run_again().values()] == [True, True]
    assert {*press.asked} >= {moved, f"{old}?utm_source=rss"}
    assert len(articles(tmp_path)) == 2
    assert summaries(tmp_path)[-1]["details"]["joined_address"] == 1
    press.put(moved, "gone", status=404)
    rss(press, (2, 1))
    assert [*run_again().values()].count(False) == 1


@pytest.mark.parametrize("is_listed", [False, True])
@pytest.mark.parametrize("title", ["The quay 3", "Another story"])
def test_an_article_without_a_date_whose_address_redirects_is_one_article_with_both_addresses(
    tmp_path, press, title, is_listed
):
    """It was kept once for the old address and once for the new one."""
    old, between, moved = "/news/the-quay-story-3.html", "/news/3/the-quay-story", "/2025/the-quay-story/"
    page(press, 3)
    page_without_date = re.sub(rb'"datePublished": "[^"]*", ', b"", press.pages[old][2])
    press.put(old, page_without_date)
    feed = f"<rss version='2.0'><channel><item><title>Quay</title><link>{press.url}{old}</link></item></channel></rss>"
    press.put("/rss.xml", feed, "application/rss+xml")
    workspace = configured(tmp_path, {"g": {"url": press.url, "kind": "feed", "seeds": ["rss.xml"], "every": "1s"}})
    run(workspace)
    press.pages |= {old: (301, f"-> {between}", b""), between: (308, f"-> {moved}", b"")}
    press.put(moved, page_without_date.replace(b"The quay 3", title.encode()).replace(b"Sentence 1", b"New sentence 1"))
    if is_listed:
        press.put("/rss.xml", feed.replace(old, moved), "application/rss+xml")
    pass_time(61 * 86_400)
    run(workspace)
    is_same = title == "The quay 3"
    assert len(articles(tmp_path)) == (1 if is_same else 2)
    with closing(RecordStore(tmp_path / "news.db", read_only=True)) as store:
        keys = {store.key_of_alias(standard.alias(press.url + path)) for path in (old, moved)}
    assert keys == ({press.url + old} if is_same else {press.url + old, press.url + moved})


@pytest.mark.parametrize(
    ("status", "was_article", "is_same_text"),
    [(302, False, False), (301, False, False), (301, True, False), (302, True, True)],
)
def test_pages_to_which_an_address_leads_in_turn_are_articles_of_their_own(
    tmp_path, press, status, was_article, is_same_text
):
    """The second one became a version of the first one, and its text had no file."""
    page(press, 28)
    today = re.sub(rb'"datePublished": "[^"]*", ', b"", press.pages["/news/the-quay-story-28.html"][2])
    yesterday = (
        today if is_same_text else re.sub(rb"<p>Sentence .*</p><ul>", b"<p>A storm closed the port.</p><ul>", today)
    )
    assert is_same_text == (today == yesterday)
    latest, days = "/news/the-latest-story", ["/news/the-day-27-story", "/news/the-day-28-story"]
    press.put(days[0], yesterday)
    press.put(days[1], today)
    press.pages[latest] = (200, "text/html", yesterday) if was_article else (status, f"-> {days[0]}", b"")

    def rss_of(paths):
        items = "".join(f"<item><title>The quay 28</title><link>{press.url}{path}</link></item>" for path in paths)
        press.put("/rss.xml", f"<rss version='2.0'><channel>{items}</channel></rss>", "application/rss+xml")

    rss_of([latest])
    workspace = configured(tmp_path, {"g": {"url": press.url, "kind": "feed", "seeds": ["rss.xml"], "every": "1s"}})
    run(workspace)
    press.pages[latest] = (status, f"-> {days[1]}", b"")
    pass_time(61 * 86_400)
    run(workspace)
    rss_of(days[1:])
    pass_time(61 * 86_400)
    run(workspace)
    first = press.url + (latest if was_article else days[0])
    with closing(RecordStore(tmp_path / "news.db", read_only=True)) as store:
        assert store.key_of_alias(standard.alias(press.url + days[1])) == press.url + days[1]
        assert store.key_of_alias(standard.alias(first)) == first
    files = articles(tmp_path)
    assert sorted(files) == sorted([first, press.url + days[1]])
    assert ("storm" in files[first]["article_text"]) is not is_same_text


def test_a_page_to_which_two_articles_redirect_is_neither_of_them(tmp_path, press):
    """It became a version of one of them even if all have one title and nearly the same text."""
    paths = []
    for number in (1, 2, 3):
        page(press, number)
        path = f"/news/the-quay-story-{number}.html"
        html = re.sub(rb'"datePublished": "[^"]*", ', b"", press.pages[path][2]).replace(
            b"The quay %d" % number, b"Quay"
        )
        press.put(path, html.replace(b"Sentence 1", b"Sentence %d of" % number))
        paths.append(path)

    def rss_of(paths):
        items = "".join(f"<item><title>Quay</title><link>{press.url}{path}</link></item>" for path in paths)
        press.put("/rss.xml", f"<rss version='2.0'><channel>{items}</channel></rss>", "application/rss+xml")

    rss_of(paths[:2])
    workspace = configured(tmp_path, {"g": {"url": press.url, "kind": "feed", "seeds": ["rss.xml"], "every": "1s"}})
    run(workspace)
    rss_of(paths)
    press.pages |= dict.fromkeys(paths[:2], (301, f"-> {paths[2]}", b""))
    pass_time(61 * 86_400)
    run(workspace)
    assert sorted(articles(tmp_path)) == [press.url + path for path in paths]


def test_a_feed_in_json_and_one_in_atom_give_the_same_articles_as_one_in_rss(tmp_path, press):
    urls = [page(press, number) for number in (1, 2)]
    listed = [{"id": url, "url": url, "title": "The quay", "date_published": "2025-11-01T14:00:00Z"} for url in urls]
    json_feed = {"version": "https://jsonfeed.org/version/1.1", "title": "G", "items": listed}
    press.put("/feed.json", json.dumps(json_feed), "application/feed+json")
    entries = "".join(
        f"<entry><title>The quay</title><id>{url}</id><link href='{url}'/><updated>2025-11-01T14:00:00Z</updated></entry>"
        for url in urls
    )
    press.put("/atom.xml", f"<feed xmlns='http://www.w3.org/2005/Atom'><title>G</title>{entries}</feed>",
              "application/atom+xml")  # fmt: skip
    for name in ("feed.json", "atom.xml"):
        root = tmp_path / name
        run(configured(root, {"g": {"url": press.url, "kind": "feed", "seeds": [name]}}))
        assert sorted(articles(root)) == sorted(urls), name


def test_a_shorter_every_applies_at_once_to_what_a_list_leads_to(tmp_path, press):
    entry = f"<url><loc>{page(press, 1)}</loc></url>"
    for path in ("/child.xml", "/moved.xml"):
        press.put(path, f"<urlset>{entry}</urlset>", "text/xml")
    child = f"<sitemap><loc>{press.url}/child.xml</loc></sitemap>"
    press.put("/index.xml", f"<sitemapindex>{child}</sitemapindex>", "text/xml")
    press.put("/old.xml", "", f"-> {press.url}/moved.xml", 301)
    site = {"url": press.url, "kind": "feed", "seeds": ["index.xml", "old.xml"]}
    asked = []
    for every in ("30d", "30d", "1s"):
        pass_time(1.1)
        run(configured(tmp_path, {"g": site | {"every": every}}))
        asked.append((press.asked.count("/child.xml"), press.asked.count("/moved.xml")))
    assert asked == [(1, 1), (1, 1), (2, 2)]


@pytest.mark.parametrize("status", [404, 410])
def test_an_article_whose_page_is_not_there_any_more_is_gone_and_keeps_its_file(tmp_path, press, status):
    def sitemap(day):
        entries = "".join(f"<url><loc>{url}</loc><lastmod>2025-11-{day}</lastmod></url>" for url in (*urls, missing))
        press.put("/", f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{entries}</urlset>", "text/xml")

    urls = [page(press, number) for number in (1, 2)]
    missing = f"{press.url}/news/never-there-at-all-3.html"
    sitemap(20)
    workspace = configured(tmp_path, {"g": {"url": press.url}})
    run(workspace)
    before = articles(tmp_path)
    assert before.keys() == {*urls}
    press.put("/news/the-quay-story-2.html", "<h1>Gone</h1>", status=status)
    sitemap(21)
    pass_time(1.1)
    run(workspace)
    assert articles(tmp_path) == before
    assert summaries(tmp_path)[-1]["details"]["gone"] == 1
    assert summaries(tmp_path)[-1]["statistics"]["errors"] == 1  # the page that is not an article
    with closing(RecordStore(tmp_path / "news.db", read_only=True)) as store:
        assert [version.change for version in store.history(urls[1])] == ["new", "gone"]
        assert not store.has_record(missing)
    page(press, 2)
    sitemap(22)
    pass_time(1.1)
    run(workspace)
    with closing(RecordStore(tmp_path / "news.db", read_only=True)) as store:
        assert store.history(urls[1])[-1].change != "gone"
        assert store.history(urls[1])[-1].value["title"] == "The quay 2"
