"""Bad responses, pages and rows in a whole run: each gets a reason and is counted, and the run continues."""

import json
import re
from contextlib import closing

import pytest

from tests.collections.news import paper
from tests.collections.news.press import Press
from tests.collections.news.test_blox import blox, row
from tests.collections.news.workspace import articles, configured, run, summaries
from windrow.app import Windrow
from windrow.collections.news import standard
from windrow.ledger import Ledger


@pytest.fixture
def press():
    served = Press(posts=2)
    yield served
    served.close()


JSON, HTML = "application/json", "text/html; charset=utf-8"
ANSWERS = {
    "wall": (HTML, b"<html>Checking your browser", "bot_wall"),
    "wall-as-json": (JSON, b"\xef\xbb\xbf <!doctype html><p>Are you human?", "bot_wall"),
    "envelope": (JSON, b'{"body": {"code": "rest_no_route"}, "status": 404, "headers": []}', "not_found"),
    "empty": (JSON, b"", "truncated"),
    "gigantic": (JSON, b'[{"id": 1, "title": "' + b"x" * 300_000 + b'"}]', "too_large"),
    "not-utf-8": (JSON, b'[{"id": 1, "title": "\xff\xfe"}]', "wrong_encoding"),
    "cut": (JSON, b'[{"id": 1, "title": "x', "not_well_formed"),
    "deep": (JSON, b"[" * 100_000, "not_well_formed"),
    "no-list": (JSON, b'{"id": 1}', "not_valid"),
}


def followed(workspace):
    """Return why responses could not be used, by the first part of their paths."""
    outcomes = {}
    with closing(Ledger(workspace.ledger)) as ledger:
        for recorded in ledger.attempts.after("news", 0, 999):
            outcome = ledger.requests.followed(recorded.seq)
            if reason := recorded.attempt.reason or (outcome.reason if outcome else None):
                outcomes.setdefault(recorded.attempt.url.split("/")[3], set()).add(str(reason))
    return outcomes


@pytest.mark.parametrize("kind", ["wordpress", "townnews"])
def test_answers_that_are_no_json_have_a_reason_each_and_the_other_sites_are_read(tmp_path, press, monkeypatch, kind):
    rows = [{"uuid": "u", "type": "article", "url": f"{press.url}/a.html", "title": "T", "content": ["<p>x"]}]
    good = json.dumps({"total": 1, "rows": rows}).encode() if kind == "townnews" else None

    def answer(path):
        name = path.split("/")[1]
        if name in ANSWERS:
            media, body, _ = ANSWERS[name]
            return 200, {"Content-Type": media}, body
        if good and path.startswith("/search/"):
            return 200, {"Content-Type": JSON}, good
        return Press._answer(press, path)

    monkeypatch.setattr(press, "_answer", answer)
    sites = {name: {"url": f"{press.url}/{name}/", "kind": kind} for name in ANSWERS}
    workspace = configured(tmp_path, sites | {"fine": {"url": press.url, "kind": kind}}, "document_size = 200_000")
    run(workspace)
    outcomes = followed(workspace)
    assert {name: outcomes.get(name) for name in ANSWERS} == {name: {expected[2]} for name, expected in ANSWERS.items()}
    assert len(articles(tmp_path)) == (2 if kind == "wordpress" else 1)
    (collected,) = summaries(tmp_path, "_collection_summary.json")
    assert collected["results"][0]["status"] == "success"


PAGES = {
    "empty": ("", "no_text"),
    "spaces": (" \n ", "no_text"),
    "no-title": ("<html><head><meta property=og:type content=article></head><body>{text}</body></html>", "no_title"),
    "script-only": ("<html><title>T</title><meta property=og:type content=article><script>x()</script>", "no_text"),
    "shut": ("<html><meta name=robots content='noindex, follow'><title>T</title><article>{text}", "noindex"),
    "gigantic": ("<html><title>T</title><article>{text}" + "<!-- x -->" * 40_000, "too_large"),
}
DATES = {
    "2999-01-01T00:00:00Z": (32472144000, "in the future"),
    "2025-11-20T08:00:00": (None, "no time zone"),
    "2025-11-20T08:00:00+00:00": (1763625600, None),
    "2025-11-20T08:00:00+99:00": (None, "time not understood"),
    "2025-11-20 09:00-17:00": (None, "time not understood"),
    "Thu, 20 Nov 2025 14:30:00 +1500": (None, "time not understood"),
    "Thu, 20 Nov 2025 14:30:00 IST": (None, "time not understood"),
    "1763670600": (None, "not a date"),
    "0000-00-00T00:00:00Z": (None, "not a date"),
    "1970-01-01T00:00:00Z": (None, "before 1990"),
    "yesterday": (None, "not a date"),
}


def test_pages_that_are_no_article_or_lie_about_their_date_have_a_reason_each_and_are_counted(tmp_path, press):
    numbers = {name: n for n, name in enumerate([*PAGES, *DATES], 1)}
    for name, (body, _) in PAGES.items():
        press.put(f"/news/the-quay-story-{numbers[name]}.html", body.replace("{text}", paper.PROSE))
    for name in DATES:
        body = paper.article(press.url, numbers[name]).replace(f"2025-11-{numbers[name]:02}T08:00:00-06:00", name)
        press.put(f"/news/the-quay-story-{numbers[name]}.html", body)
    tricks = paper.article(press.url, 50, title="How to use the &lt;script&gt; tag, and why &amp;lt;b&amp;gt; is bold")
    press.put("/news/the-quay-story-50.html", tricks.encode("latin-1", "replace"), "text/html; charset=utf-8")
    press.put("/news/the-quay-story-51.html", b"%PDF-1.7 ...", "application/pdf")
    listed = paper.rss(press.url, [*numbers.values(), 50, 51], "").replace("<title>The quay 3</title>", "")
    listed = re.sub("<pubDate>.*?</pubDate>", "", listed).replace(
        "</channel>", "<item><link>https://../../etc/passwd</link></item></channel>"
    )
    press.put("/rss.xml", listed, "application/rss+xml")
    workspace = configured(
        tmp_path, {"g": {"url": press.url, "kind": "feed", "seeds": ["rss.xml"]}}, "document_size = 300_000"
    )
    run(workspace)
    (summary,) = summaries(tmp_path)
    reasons = {}
    for _, reason in PAGES.values():
        reasons[f"error: {reason}"] = reasons.get(f"error: {reason}", 0) + 1
    assert {name: summary["details"].get(name) for name in reasons} == reasons
    assert summary["statistics"]["errors"] == len(PAGES)
    assert (
        summary["details"]["its media type is application/pdf, not HTML"]
        == summary["statistics"]["articles_skipped_image_type"]
        == 1
    )
    written = articles(tmp_path)
    assert not [problem for dated in written.values() for problem in standard.problems(dated)]
    for date, (stamp, doubt) in DATES.items():
        (article,) = [each for url, each in written.items() if url.endswith(f"-{numbers[date]}.html")]
        stated = article.get("metadata", {}).get("date_doubt")
        assert (article["publication_date"], article["publication_timestamp_gmt"], stated) == (date, stamp, doubt)
    (trick,) = [dated for url, dated in written.items() if url.endswith("-50.html")]
    assert trick["title"] == "How to use the <script> tag, and why &lt;b&gt; is bold 50"
    assert trick["article_text"].startswith(("Sentence", "#"))
    assert {path.name for path in (tmp_path / "normalized_news").glob("*/")} == {"127.0.0.1"}


def test_rows_that_are_listed_twice_protected_or_of_other_types_are_counted_by_reason(tmp_path, press):
    press.post(3, content={"rendered": "", "protected": True})
    press.post(4, type="page")
    press.posts[5] = press.posts[1] | {"slug": "again"}
    press.post(6, link=f"{press.url}/../../x\u0000y/")
    press.post(7, title={"rendered": ""})
    for number in (8, 9):  # a site may leave the numbers out
        press.post(number, id=None, modified_gmt="2025-11-02T00:00:00")
    run(configured(tmp_path, {"g": {"url": press.url, "kind": "wordpress"}}))
    (summary,) = summaries(tmp_path)
    wanted = {"error: password_protected": 1, "its type is page, not post": 1, "error: no_title": 1}
    assert {name: summary["details"].get(name) for name in wanted} == wanted
    assert {f"{press.url}/2025/11/story-{number}/" for number in (8, 9)} < {*articles(tmp_path)}
    assert not [problem for article in articles(tmp_path).values() for problem in standard.problems(article)]


@pytest.mark.parametrize("chosen", [[], ["/*"]])
def test_entries_without_an_address_are_counted_each_for_that_reason(tmp_path, press, chosen):
    """Those of one answer counted as one, and with `article` as entries that are not wanted."""
    press.post(1)
    for number, link in ((2, ""), (3, None), (4, "mailto:a@b.example"), (5, 5)):
        press.post(number, link=link)
    rows = [row(press, 1), row(press, 2, url=""), row(press, 3, url=None), row(press, 4, url="tel:1")]
    rows.append({name: value for name, value in row(press, 5).items() if name not in {"url", "uuid"}})
    blox(press, rows, size=5)
    items = "<item><title>b</title></item><item><title>c</title><link>mailto:a@b.example</link></item>"
    press.put("/rss.xml", f"<rss version='2.0'><channel>{items}</channel></rss>", "application/rss+xml")
    settings = {"url": press.url, "article": chosen}
    kinds = {"w": {"kind": "wordpress"}, "b": {"kind": "townnews"}, "f": {"kind": "feed", "seeds": ["rss.xml"]}}
    run(configured(tmp_path, {name: settings | kind for name, kind in kinds.items()}))
    details = {summary["source"]: summary["details"] for summary in summaries(tmp_path)}
    assert [details[kind]["error: bad_address"] for kind in ("wordpress", "townnews")] == [4, 4]
    left_out = {(count.source, count.reason): count.addresses for count in Windrow(tmp_path).status().left_out}
    assert left_out == {("w", "bad_address"): 4, ("b", "bad_address"): 4, ("f", "bad_address"): 2}
