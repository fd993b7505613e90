"""Sites of other kinds: BLOX searches, feeds, sitemaps and section pages, found out or told, and what their pages say."""

import json
import time
import unittest.mock

import pytest

from tests.collections.news.press import Press
from tests.collections.news.workspace import articles, configured, run, summaries
from windrow.collections.news import standard


@pytest.fixture
def press():
    served = Press()
    yield served
    served.close()


PROSE = "".join(
    f"<p>Sentence {n} of a story about the harbour, the council and its plan for the quay.</p>" for n in range(8)
)


def page(press, number, title="The quay", extra="", text=PROSE):
    told = {
        "@context": "https://schema.org", "@type": "NewsArticle", "headline": f"{title} {number}",
        "datePublished": f"2025-11-{number:02}T08:00:00-06:00", "author": [{"name": "Ann Lee"}, {"name": "Bo Ek"}],
        "keywords": ["harbour", "council"], "image": "/quay.jpg",
    }  # fmt: skip
    press.put(
        f"/news/the-quay-story-{number}.html",
        f"<html><head><title>{title} {number} | Gazette</title><meta property='og:site_name' content='Gazette'>{extra}"
        f"<script type='application/ld+json'>{json.dumps(told)}</script></head><body><nav><a href='/'>Home</a></nav>"
        f"<main><article><h1>{title} {number}</h1>{text}<ul><li>one<ul><li>two</ul></ul>"
        f"<p>See <a href='/x'>the plan</a>.</p></article></main><footer>(c)</footer></body></html>",
    )
    return f"{press.url}/news/the-quay-story-{number}.html"


def rss(press, numbers, updated=""):
    items = "".join(
        f"<item><title>The quay {n}</title><link>{press.url}/news/the-quay-story-{n}.html?utm_source=rss</link>"
        f"<pubDate>Sat, {n:02} Nov 2025 14:00:00 GMT</pubDate>{updated}</item>"
        for n in numbers
    )
    press.put("/rss.xml", f"<?xml version='1.0'?><rss version='2.0'><channel><title>G</title>{items}</channel></rss>",
              "application/rss+xml")  # fmt: skip
    for n in numbers:
        press.pages[f"/news/the-quay-story-{n}.html?utm_source=rss"] = press.pages[f"/news/the-quay-story-{n}.html"]


def test_the_articles_of_a_feed_are_read_from_their_pages(tmp_path, press):
    for number in (1, 2):
        page(press, number, extra=f"<link rel=canonical href='/news/the-quay-story-{number}.html'>")
    rss(press, (1, 2))
    run(configured(tmp_path, {"g": {"url": f"{press.url}/rss.xml", "kind": "feed"}}))
    found = list(articles(tmp_path).values())
    assert len(found) == 2
    one = next(each for each in found if each["title"] == "The quay 1")
    assert list(standard.problems(one)) == []
    assert (one["publication_date"], one["publication_timestamp_gmt"]) == ("2025-11-01T08:00:00-06:00", 1762005600)
    assert one["author"] == "Ann Lee, Bo Ek"
    assert one["keywords"] == ["harbour", "council"]
    assert one["image_url"] == f"{press.url}/quay.jpg"
    assert one["article_text"].startswith("# The quay 1\n\nSentence 0 of") or one["article_text"].startswith(
        "Sentence 0"
    )
    assert f"See [the plan]({press.url}/x)." in one["article_text"]
    assert one["metadata"]["canonical_url"] == f"{press.url}/news/the-quay-story-1.html"
    (summary,) = summaries(tmp_path)
    assert (summary["source"], summary["statistics"]["articles_new"]) == ("feed", 2)
    (manifest,) = summaries(tmp_path, "_manifest.json")
    assert {one["url"] for one in manifest} >= {f"{press.url}/rss.xml"}
    assert all(one["warc"] and one["digest"].startswith("sha256:") for one in manifest)


def test_a_feed_is_asked_again_and_only_new_articles_are(tmp_path, press):
    for number in (1, 2, 3):
        page(press, number)
    rss(press, (1, 2))
    workspace = configured(tmp_path, {"g": {"url": f"{press.url}/rss.xml", "kind": "feed"}})
    run(workspace)
    press.asked.clear()
    rss(press, (3, 2, 1))
    time.sleep(1.1)
    run(workspace)
    assert [one for one in press.asked if "quay" in one] == ["/news/the-quay-story-3.html?utm_source=rss"]
    assert len(articles(tmp_path)) == 3


@pytest.mark.parametrize("kind", ["sitemap", "section", "front"])
def test_sitemaps_sections_and_front_pages_lead_to_articles_whose_kind_is_found_out(tmp_path, press, kind):
    urls = [page(press, number) for number in (1, 2)]
    links = "".join(f"<li><a href='{url}'>A long headline of a story in the paper</a>" for url in urls)
    if kind == "sitemap":
        entries = "".join(f"<url><loc>{url}</loc><lastmod>2025-11-20</lastmod></url>" for url in urls)
        press.put("/", f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{entries}</urlset>", "text/xml")
    elif kind == "section":
        press.put("/", f"<html><body><h1>News</h1><ul>{links}<li><a href='/tag/harbour-news-of-the-day/'>x</a></ul>")
    else:
        page(press, 2)
        rss(press, (1, 2))
        press.put("/", f"<link rel=alternate type='application/rss+xml' href='/rss.xml'><ul>{links}</ul>")
    run(configured(tmp_path, {"g": {"url": press.url}}))
    assert sorted(one["title"] for one in articles(tmp_path).values()) == ["The quay 1", "The quay 2"]


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
    told = ("<html>Are you human?", 200) if wall == "html" else ('{"code":"rest_login_required"}', 401)
    with unittest.mock.patch.object(press, "_answer", lambda path: closed(press, path, told)):
        workspace = configured(tmp_path, {"g": {"url": press.url, "kind": "wordpress"}})
        run(workspace)
        (collected,) = summaries(tmp_path, "_collection_summary.json")
        assert collected["results"][0]["status"] == ("blocked" if wall == "html" else "error")
        run(workspace)
    assert len(articles(tmp_path)) == 1


def closed(press, path, told):
    if "wp/v2/posts" in path:
        return told[1], {"Content-Type": "text/html" if told[1] == 200 else "application/json"}, told[0].encode()
    return Press._answer(press, path)


def row(press, number, **told):
    at = f"2025-11-{number:02}T12:00:00-06:00"
    return {
        "uuid": f"u{number}", "type": "article", "url": f"{press.url}/news/article_{number}.html",
        "title": f"Row &amp; {number}", "byline": "By <b>Ann Lee</b>", "prologue": f"<p>Prologue {number}.</p>",
        "content": ["<p>Text &lt;script&gt; of it.</p>", {"more": ["<ul><li>a<ul><li>b</ul></ul>"]}],
        "keywords": ["quay", "council"], "sections": ["news/local", "quay"],
        "starttime": {"iso8601": at, "rfc2822": "", "utc": "1763000000000"}, "lastupdated": {"iso8601": at},
        "preview": {"url": f"{press.url}/p.jpg"},
    } | told  # fmt: skip


def blox(press, rows, size=2):
    for path in [one for one in press.pages if one.startswith("/search/")]:
        del press.pages[path]
    for offset in range(0, len(rows) + 1, size):
        told = {"total": len(rows), "next": None, "prev": None, "rows": rows[offset : offset + size]}
        path = f"/search/?f=json&l=100&s=start_time&sd=desc&t=article&o={offset}"
        press.put(path, json.dumps(told), "application/json")


def test_a_blox_search_is_paged_to_its_oldest_row_and_later_until_a_known_one(tmp_path, press):
    rows = [row(press, number) for number in range(9, 0, -1)]
    rows[3]["type"] = "image"
    blox(press, rows)
    workspace = configured(tmp_path, {"g": {"url": press.url, "kind": "townnews"}})
    run(workspace)
    found = articles(tmp_path)
    assert len(found) == 8
    one = found[f"{press.url}/news/article_2.html"]
    assert list(standard.problems(one)) == []
    assert (one["title"], one["author"]) == ("Row & 2", "Ann Lee")
    assert one["article_text"] == "Prologue 2.\n\nText \\<script> of it.\n\n- a\n  - b"
    assert one["keywords"] == ["quay", "council", "news/local"]
    assert one["publication_timestamp_gmt"] == 1762106400
    statistics = summaries(tmp_path)[0]["statistics"]
    assert (statistics["articles_new"], statistics["articles_skipped_image_type"]) == (8, 1)
    (collected,) = summaries(tmp_path, "_collection_summary.json")
    assert (collected["results"][0]["status"], collected["results"][0]["article_count"]) == ("success", 9)
    (raw,) = (tmp_path / "raw_news_data").glob("*/*/127_*.json")
    assert [one["uuid"] for one in json.loads(raw.read_text())["rows"]] == [f"u{n}" for n in range(9, 0, -1)]
    blox(press, [row(press, 10), *rows])
    press.asked.clear()
    time.sleep(1.1)
    run(workspace)
    assert len([one for one in press.asked if "search" in one]) == 2
    assert len(articles(tmp_path)) == 9


def test_one_article_that_is_named_in_several_spellings_has_one_file(tmp_path, press):
    page(press, 1)
    rss(press, (1,))
    press.put("/two.xml", press.pages["/rss.xml"][2].replace(b"?utm_source=rss", b""), "application/rss+xml")
    run(configured(tmp_path, {"g": {"url": press.url, "kind": "feed", "addresses": ["/rss.xml", "two.xml"]}}))
    assert len(articles(tmp_path)) == 1
    statistics = summaries(tmp_path)[0]["statistics"]
    assert (statistics["articles_new"], statistics["articles_skipped"]) == (1, 1)
