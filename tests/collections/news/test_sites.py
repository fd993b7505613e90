"""Sites of other kinds: BLOX searches, feeds, sitemaps and section pages, detected or configured, and their articles."""

import io
import json
import unittest.mock
from contextlib import closing
from datetime import UTC, datetime
from urllib.parse import parse_qs

import pytest

from tests.clock import pass_time
from tests.collections.news.press import Press
from tests.collections.news.workspace import articles, configured, run, summaries
from windrow.collections.news import standard, townnews
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


@pytest.mark.parametrize("kind", ["sitemap", "section", "front"])
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


def row(press, number, **settings):
    at = f"2025-11-{number:02}T12:00:00-06:00"
    return {
        "uuid": f"u{number}", "type": "article", "url": f"{press.url}/news/article_{number}.html",
        "title": f"Row &amp; {number}", "byline": "By <b>Ann Lee</b>", "prologue": f"<p>Prologue {number}.</p>",
        "content": ["<p>Text &lt;script&gt; of it.</p>", {"more": ["<ul><li>a<ul><li>b</ul></ul>"]}],
        "keywords": ["quay", {"name": "council"}], "sections": {"1": {"name": "news/local", "id": 7}, "2": "quay"},
        "starttime": {"iso8601": at, "rfc2822": "", "utc": "1763000000000"}, "lastupdated": {"iso8601": at},
        "preview": {"url": f"{press.url}/p.jpg"},
    } | settings  # fmt: skip


def blox(press, rows, size=2, days=""):
    for path in [page for page in press.pages if page.startswith("/search/")]:
        del press.pages[path]
    for offset in range(0, len(rows) + 1, size):
        listing = {"total": len(rows), "next": None, "prev": None, "rows": rows[offset : offset + size]}
        path = f"/search/?f=json&l=100&s=start_time&sd=desc&t=article&o={offset}{days}"
        press.put(path, json.dumps(listing), "application/json")


def test_a_blox_search_is_paged_to_its_oldest_row_and_later_until_a_known_one(tmp_path, press):
    rows = [row(press, number) for number in range(9, 0, -1)]
    rows[3]["type"] = "image"
    blox(press, rows)
    workspace = configured(tmp_path, {"g": {"url": press.url, "kind": "townnews"}})
    run(workspace)
    written = articles(tmp_path)
    assert len(written) == 8
    article = written[f"{press.url}/news/article_2.html"]
    assert list(standard.problems(article)) == []
    assert (article["title"], article["author"]) == ("Row & 2", "Ann Lee")
    assert article["article_text"] == "Prologue 2.\n\nText \\<script> of it.\n\n- a\n  - b"
    assert article["keywords"] == ["quay", "council", "news/local"]
    assert article["publication_timestamp_gmt"] == 1762106400
    statistics = summaries(tmp_path)[0]["statistics"]
    assert (statistics["articles_new"], statistics["articles_skipped_image_type"]) == (8, 1)
    (collected,) = summaries(tmp_path, "_collection_summary.json")
    assert (collected["results"][0]["status"], collected["results"][0]["article_count"]) == ("success", 9)
    (raw,) = (tmp_path / "raw_news_data").glob("*/*/127_*.json")
    assert [row_["uuid"] for row_ in json.loads(raw.read_text())["rows"]] == [f"u{n}" for n in range(9, 0, -1)]
    blox(press, [row(press, 10), *rows])
    press.asked.clear()
    pass_time(1.1)
    run(workspace)
    assert len([path for path in press.asked if "search" in path]) == 2
    assert len(articles(tmp_path)) == 9


def test_one_article_that_is_named_in_several_spellings_has_one_file(tmp_path, press):
    page(press, 1)
    rss(press, (1,))
    press.put("/two.xml", press.pages["/rss.xml"][2].replace(b"?utm_source=rss", b""), "application/rss+xml")
    run(configured(tmp_path, {"g": {"url": press.url, "kind": "feed", "seeds": ["/rss.xml", "two.xml"]}}))
    assert len(articles(tmp_path)) == 1
    statistics = summaries(tmp_path)[0]["statistics"]
    assert (statistics["articles_new"], statistics["articles_skipped"]) == (1, 1)


def test_a_back_fill_of_a_blox_site_is_limited_to_days_and_goes_on_in_its_middle(tmp_path, press):
    rows = [row(press, number) for number in range(9, 0, -1)]
    days = "&d1=2025-11-03&d2=2025-11-08"
    blox(press, rows[1:7], days=days)
    settings = {"url": press.url, "kind": "townnews", "since": "2025-11-03", "until": "2025-11-08"}
    run(configured(tmp_path / "whole", {"g": settings}))
    assert len(articles(tmp_path / "whole")) == 6
    workspace = configured(tmp_path / "cut", {"g": settings})
    run(workspace, limit=1)
    assert len(articles(tmp_path / "cut")) == 2
    press.asked.clear()
    run(workspace)
    asked = [path for path in press.asked if "search" in path]
    assert [path.partition("&o=")[2].partition("&")[0] for path in asked] == ["2", "4"]
    assert articles(tmp_path / "cut").keys() == articles(tmp_path / "whole").keys()
    press.asked.clear()
    run(workspace)
    assert press.asked == []  # a range that was read to its end is not requested again


def test_a_blox_site_that_moves_rows_between_pages_while_they_are_read_hides_none(tmp_path, press):
    """An article published meanwhile shifts the others: one is listed twice, none is missed."""
    rows = [row(press, number) for number in range(6, 0, -1)]
    blox(press, rows)

    def publish(path):
        if path.endswith("o=2"):
            blox(press, [row(press, 7), *rows])
            press.before = lambda path: None

    press.before = publish
    workspace = configured(tmp_path, {"g": {"url": press.url, "kind": "townnews"}})
    run(workspace)
    assert len(articles(tmp_path)) == 6
    pass_time(1.1)
    run(workspace)
    assert len(articles(tmp_path)) == 7


def test_a_blox_site_from_which_rows_go_while_it_is_paged_hides_no_other_one(tmp_path, press, monkeypatch):
    rows = [row(press, 1, uuid=f"u{n}", url=f"{press.url}/a{n}.html") for n in range(60)]

    def answer(path):
        if "/search/" not in path:
            return 404, {}, b""
        offset = int(path.partition("&o=")[2])
        rows[offset]["title"] += " (edited)" if offset else ""  # the last row of the response before
        listing = {"total": len(rows), "rows": rows[offset : offset + 20]}
        del rows[0]  # the newest is withdrawn
        return 200, {"Content-Type": "application/json"}, json.dumps(listing).encode()

    monkeypatch.setattr(press, "_answer", answer)
    run(configured(tmp_path, {"g": {"url": press.url, "kind": "townnews"}}))
    assert len(articles(tmp_path)) == 60
    assert summaries(tmp_path)[0]["details"]["rows_changed_in_run"] == 3


def test_a_blox_search_that_ends_before_its_total_is_continued_by_day(tmp_path, press, monkeypatch):
    """It was taken for read where the site ended it: a later run did not request the older rows either."""
    rows = [row(press, number) for number in range(28, 0, -1)]

    def answer(path):
        query = {name: texts[0] for name, texts in parse_qs(path).items()}
        if "/search/" not in path:
            return 404, {}, b""
        found, offset = (
            [row for row in rows if row["starttime"]["iso8601"][:10] <= query.get("d2", "9")],
            int(query["o"]),
        )
        page = [] if offset >= 10 else found[offset : offset + 5]
        return 200, {"Content-Type": "application/json"}, json.dumps({"total": len(found), "rows": page}).encode()

    monkeypatch.setattr(press, "_answer", answer)
    assert run(configured(tmp_path, {"g": {"url": press.url, "kind": "townnews"}})).failed == 0
    assert len(articles(tmp_path)) == 28


def test_a_blox_search_is_continued_by_day_at_the_limit_of_rows_and_refused_if_they_are_of_one_day(tmp_path, press):
    (source,) = configured(tmp_path, {"g": {"url": press.url, "kind": "townnews"}}).of("news")

    def follow_last_page(context, total=2_000_000, rows=1):
        request = Request(f"{press.url}/search/", townnews.SEARCH, context=context)
        body = io.BytesIO(json.dumps({"total": total, "rows": [row(press, 3), "not a row"][:rows]}).encode())
        return townnews.follow(source, {}, Answer(request, 200, {}, body, datetime(2026, 11, 22, tzinfo=UTC)))

    continued = follow_last_page("999999")
    assert continued.requests[0].url.endswith("&t=article&o=0&d2=2025-11-04")
    assert (continued.skip, continued.learned) == (None, {})
    refused = follow_last_page(continued.requests[0].context.replace("0 ", "999999 ", 1))
    assert (refused.skip, refused.learned, refused.requests) == (Reason.CRAWLER_TRAP, {}, ())
    assert "more than 1,000,000 rows for one day" in refused.findings[0].message
    assert follow_last_page("", total=2, rows=2).end == "the oldest row"  # whatever is in the rows


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


def test_rows_of_a_blox_site_have_each_field_wherever_the_row_tells_it(tmp_path, press):
    at = {"iso8601": "", "rfc2822": "Sat, 01 Nov 2025 12:00:00 -0500", "utc": "1762016400000"}
    blox(press, [
        row(press, 1, authors=[{"full_name": "Ann Lee"}, {"first_name": "Bo", "last_name": "Ek"}, {"screen_name": "cy"}]),
        row(press, 2, authors=None, byline="By <a href='/x'>Ann Lee</a>", keywords=None, sections=None, starttime=at),
        row(press, 3, authors=[], byline=None, starttime={"utc": "1762016400000"}, content=None),
        row(press, 4, type="collection"), row(press, 5, type="image"), row(press, 6, url="/news/article_6.html"),
        row(press, 7, uuid="u6"), row(press, 8, title=None), row(press, 9, content=[], prologue=None),
        row(press, 10, starttime="0000-00-00"), row(press, 10, title="Again"),
    ], size=100)  # fmt: skip
    run(configured(tmp_path, {"g": {"url": press.url, "kind": "townnews"}}))
    written = {url.rpartition("_")[2][:-5]: article for url, article in articles(tmp_path).items()}
    assert sorted(written) == ["1", "10", "2", "3", "6", "7"]  # rows 6 and 7 have one uuid, and two addresses
    assert [written[number]["author"] for number in "123"] == ["Ann Lee, Bo Ek, cy", "Ann Lee", None]
    assert written["2"]["keywords"] == []
    assert (written["2"]["publication_date"], written["2"]["publication_timestamp_gmt"]) == (at["rfc2822"], 1762016400)
    assert (written["3"]["publication_date"], written["3"]["publication_timestamp_gmt"]) == (None, 1762016400)
    assert written["3"]["article_text"] == "Prologue 3."
    assert written["10"]["publication_timestamp_gmt"] is None
    (summary,) = summaries(tmp_path)
    assert summary["statistics"] == {
        "files_processed": 1, "articles_new": 6, "articles_skipped": 0, "articles_skipped_image_type": 2, "errors": 3,
    }  # fmt: skip
    wanted = {"its type is collection, not article": 1, "its type is image, not article": 1, "error: listed_twice": 1,
              "error: no_title": 1, "error: no_text": 1}  # fmt: skip
    assert {name: summary["details"][name] for name in wanted} == wanted


def test_all_spellings_of_one_address_have_one_file_named_by_the_first_and_other_sites_cannot_claim_it(tmp_path, press):
    page(press, 1)
    first = f"{press.url}/news/the-quay-story-1.html"
    again = ["?utm_source=a&utm_medium=b", "?fbclid=x", "#top", "?utm_campaign=c#x"]
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
