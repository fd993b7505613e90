"""The search of a BLOX (TownNews) site: its pages, later runs, and the fields of its rows."""

import io
import json
from contextlib import closing
from datetime import UTC, datetime
from urllib.parse import parse_qs

import pytest

from tests.clock import pass_time
from tests.collections.news.press import Press
from tests.collections.news.workspace import articles, configured, run, summaries
from windrow.collections.news import standard, townnews
from windrow.contract import Answer, Request
from windrow.reasons import Reason
from windrow.stores.records import RecordStore


@pytest.fixture
def press():
    served = Press()
    yield served
    served.close()


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


def test_rows_of_a_blox_site_that_go_come_late_or_are_corrected_are_noticed(tmp_path, press):
    rows = [row(press, number) for number in range(9, 0, -1)]
    blox(press, rows, size=4)
    workspace = configured(tmp_path, {"g": {"url": press.url, "kind": "townnews", "full_listing_every": "0s"}})
    run(workspace)

    def run_again():
        pass_time(1.1)
        press.asked.clear()
        run(workspace)
        return [path.partition("&o=")[2] or path for path in press.asked[1:]], summaries(tmp_path)[-1]["details"]

    blox(press, [rows[0], *rows[2:]], size=4)
    asked, details = run_again()
    assert asked == ["0", "/news/article_8.html"], "the total shows that nothing else changed"
    assert details["gone"] == 1
    rows[7]["title"], rows[7]["lastupdated"] = "Corrected", {"iso8601": "2025-12-01T00:00:00-06:00"}
    rows.insert(7, row(press, 2, uuid="late", url=f"{press.url}/news/article_late.html"))
    blox(press, [rows[0], *rows[2:]], size=4)
    asked, _ = run_again()
    assert asked == ["0", "4", "8"], "the total shows that a row is late"
    with closing(RecordStore(tmp_path / "news.db", read_only=True)) as store:
        titles = {
            version.key.rpartition("_")[2]: version.value and version.value["title"] for version in store.versions()
        }
    assert (titles["late.html"], titles["2.html"], titles["8.html"]) == ("Row & 2", "Corrected", None)
    assert run_again()[0] == ["0"]
    pass_time(31 * 86_400)
    assert run_again()[0] == ["0", "4", "8"], "all rows are read once a month"


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
    blox(press, rows)
    workspace = configured(tmp_path / "cut", {"g": {"url": press.url, "kind": "townnews"}})
    pass_time(1.1)
    run(workspace)
    assert len(articles(tmp_path / "cut")) == 9, "all rows are read when the days were changed"


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
    assert (continued.skip, {*continued.learned}) == (None, {"rows"})
    refused = follow_last_page(continued.requests[0].context.replace("0 ", "999999 ", 1))
    assert (refused.skip, {*refused.learned}, refused.requests) == (Reason.CRAWLER_TRAP, {"rows"}, ())
    assert "more than 1,000,000 rows for one day" in refused.findings[0].message
    assert follow_last_page("", total=2, rows=2).end == "the oldest row"  # whatever is in the rows


def test_rows_of_a_blox_site_have_each_field_wherever_the_row_tells_it(tmp_path, press):
    at = {"iso8601": "", "rfc2822": "Sat, 01 Nov 2025 12:00:00 -0500", "utc": "1762016400000"}
    blox(press, [
        row(press, 1, authors=[{"full_name": "Ann Lee"}, {"first_name": "Bo", "last_name": "Ek"}, {"screen_name": "cy"}]),
        row(press, 2, authors=None, byline="By <a href='/x'>Ann Lee</a>", keywords=None, sections=None, starttime=at),
        row(press, 3, authors=[], byline=None, starttime={"utc": "1762016400000"}, content=None),
        row(press, 4, type="collection"), row(press, 5, type="image"), row(press, 6, url="/news/article_6.html"),
        row(press, 7, uuid="u6"), row(press, 8, title=None), row(press, 9, content=[], prologue=None),
        row(press, 10, starttime="0000-00-00"), row(press, 10, title="Again"),
        row(press, 11, authors=None, author=[{"name": "Ann Lee"}], keywords="quay; R&amp;D, <b>sea</b> wall", sections=[{"title": "News"}]),
        row(press, 12, authors={"1": {"full_name": "", "name": "Bo Ek"}, "2": "cy"}, byline="Staff", keywords=[["a"], {"id": 7}]),
        row(press, 13, authors=[{"email": "x@a.example"}], byline=["By Ann Lee", {"name": "by Bo Ek"}], sections=None),
    ], size=100)  # fmt: skip
    run(configured(tmp_path, {"g": {"url": press.url, "kind": "townnews"}}))
    written = {url.rpartition("_")[2][:-5]: article for url, article in articles(tmp_path).items()}
    assert " ".join(sorted(written)) == "1 10 11 12 13 2 3 6 7"  # rows 6 and 7 have one uuid, and two addresses
    assert [written[number]["author"] for number in "123"] == ["Ann Lee, Bo Ek, cy", "Ann Lee", None]
    assert [written[f"1{number}"]["author"] for number in "123"] == ["Ann Lee", "Bo Ek, cy", "Ann Lee, Bo Ek"]
    assert [written[f"1{number}"]["keywords"][:3] for number in "12"] == [
        ["quay", "R&D", "sea wall"],
        ["a", "news/local", "quay"],
    ]
    assert written["2"]["keywords"] == []
    assert (written["2"]["publication_date"], written["2"]["publication_timestamp_gmt"]) == (at["rfc2822"], 1762016400)
    assert (written["3"]["publication_date"], written["3"]["publication_timestamp_gmt"]) == (None, 1762016400)
    assert written["3"]["article_text"] == "Prologue 3."
    assert written["10"]["publication_timestamp_gmt"] is None
    (summary,) = summaries(tmp_path)
    assert summary["statistics"] == {
        "files_processed": 1, "articles_new": 9, "articles_skipped": 0, "articles_skipped_image_type": 2, "errors": 3,
    }  # fmt: skip
    wanted = {"its type is collection, not article": 1, "its type is image, not article": 1, "error: listed_twice": 1,
              "error: no_title": 1, "error: no_text": 1}  # fmt: skip
    assert {name: summary["details"][name] for name in wanted} == wanted
