"""What collections show of themselves, without a line of HTML of their own."""

from __future__ import annotations

import sqlite3
import xml.etree.ElementTree as ET
from contextlib import closing
from pathlib import Path

import pytest
from lxml import html

import windrow
from tests.web.farm import HOSTILE, SITE, get
from tests.web.homes import JPEG, make_council, make_gazette, make_library
from windrow.adapters.home import HomeView, Matrix, MatrixCount, Point, Series
from windrow.adapters.record_home import find_picture
from windrow.collections.drops.adapter import home as tracker_home
from windrow.collections.events.adapter.databases import location_of
from windrow.collections.pages.database.page_lists import PageLink, list_links_from, list_links_to, list_present
from windrow.collections.pages.database.store import SummaryStore
from windrow.stores.sqlite import SqliteReader, SqliteStore, reads_only, store_errors
from windrow.stores.time_limit import time_limit
from windrow.web import app
from windrow.web.homes import picture_type, series_bars, swatch


@pytest.fixture(scope="module")
def gazette(tmp_path_factory):
    return app(make_gazette(tmp_path_factory.mktemp("gazette") / "gazette"))


@pytest.fixture(scope="module")
def council(tmp_path_factory):
    return app(make_council(tmp_path_factory.mktemp("council") / "council"))


def test_records_are_listed_the_newest_first(gazette) -> None:
    page = html.fromstring(get(gazette, "/collections").text)
    records = page.find_class("record")
    assert len(records) == 25
    assert records[0].xpath(".//a")[0].text == f"The last {HOSTILE}"
    assert records[1].xpath(".//a")[0].text == "29 ferries"  # the one before is gone
    (older,) = page.xpath("//a[@rel='next']/@href")
    shown = html.fromstring(get(gazette, older).text).find_class("record")
    titles = [record.xpath(".//a")[0].text for record in shown]
    assert titles == ["5 ferries", "4 ferries", "3 ferries", "Two ferries", "1 ferries", "The ferry"]
    assert ["as it is since" in record.text_content() for record in shown] == [False, False, False, True, False, False]
    assert "No records here" in get(gazette, "/collections?q=unheardof").text


def test_an_article_is_read_with_its_revisions(gazette) -> None:
    page = html.fromstring(get(gazette, "/collections?name=article%202").text)
    assert page.xpath("string(//h1)") == "Two ferries"
    assert page.xpath("//ol[@class='story']/li/span[1]")[1].text_content().endswith("changed")
    (difference,) = page.xpath("//a[starts-with(@href, '/diff')]/@href")
    assert "Two ferries" in html.fromstring(get(gazette, difference).text).text_content()
    page = html.fromstring(get(gazette, "/collections?name=https%3A%2F%2Ftown.example%2Fferry").text)
    assert page.xpath("//h2/text()") == ["Text", "History"]
    assert page.xpath("//div[@class='prose']/p/text()") == ["The ferry sails.", f"Again. {HOSTILE}"]
    assert get(gazette, "/collections?name=unheard-of").status == 404


def test_a_record_of_a_collection_that_says_nothing_has_its_fields_and_history(gazette) -> None:
    page = html.fromstring(get(gazette, "/collections?name=article%2031").text)
    assert page.xpath("//dl[@class='facts']/dt/text()") == ["key", "headline"]
    assert page.xpath("string(//h2)") == "text"  # a long field
    assert page.xpath("string(//div[@class='prose'])").strip() == "x" * 900


def test_events_are_an_agenda_by_the_days_of_their_places(council) -> None:
    page = html.fromstring(get(council, "/collections?day=2026-11-01").text)
    assert page.xpath("//h3//text()") == [
        "Tuesday, 3 November 2026",
        "Thursday, 5 November 2026",
        "Friday, 6 November 2026",
    ]
    assert page.find_class("when")[0].text == "21:30 New York"
    assert page.xpath("//option/text()")[:5] == ["everything", "Executive", "Legislative", "Senate", "White House"]
    of_group = html.fromstring(get(council, "/collections?day=2026-11-01&group=branch:Executive").text)
    assert [entry.text_content() for entry in of_group.xpath("//ol[@class='agenda']//a")] == ["Open day"]
    assert "Night session" in get(council, "/collections?q=night").text
    assert "No events here" in get(council, "/collections?day=2027-01-01").text
    assert get(council, "/collections?group=branch").status == 400
    for day in ("someday", "0001-01-01", "9999-12-31&view=month"):
        assert get(council, f"/collections?day={day}").status == 400


def test_a_month_shows_the_first_events_of_each_day(council) -> None:
    page = html.fromstring(get(council, "/collections?view=month&day=2026-11-09&group=source:council").text)
    days = {cell.xpath("string(./a/text())"): cell for cell in page.xpath("//table[@class='month']//td[a]")}
    assert len(days) == 30
    assert [len(days[number].xpath(".//li")) for number in ("3", "4", "5", "6")] == [1, 0, 1, 4]
    assert "and more" in days["6"].text_content()
    page = html.fromstring(
        get(council, "/collections?view=month&day=2026-11-09&q=session&group=branch:Legislative").text
    )
    assert [entry.text_content()[:5] for entry in page.xpath("//table[@class='month']//li//a")] == ["Night"]
    views = {link.text: link.get("href") for link in page.xpath("//nav[@aria-label='Views']/a")}
    for name in ("agenda", "month", "month before"):
        assert "q=session" in views[name], name
    assert "Night session" in get(council, views["agenda"].replace("11-09", "11-03")).text
    assert "No events here" in get(council, views["agenda"]).text


def test_an_event_shows_how_it_changed(council) -> None:
    page = html.fromstring(get(council, "/collections?name=council/1").text)
    assert "Night session" in page.xpath("string(//h1)")
    assert "'Old town hall' -> 'Town hall'" in page.text_content()
    assert page.xpath("//div[@class='prose']/p/text()") == ["Agenda: the ferry.", "All may come."]


def test_events_can_be_subscribed_to_at_the_addresses_of_their_standard(council) -> None:
    page = html.fromstring(get(council, "/collections?group=branch:Executive").text)
    calendar = next(link for link in page.xpath("//link[@rel='alternate']/@href") if "ical" in link)
    reply = get(council, calendar)
    assert reply.fields["content-type"].startswith("text/calendar")
    assert reply.text.count("BEGIN:VEVENT") == 1
    assert len(get(council, "/api/events/all").json["results"]) == 7
    assert len(get(council, "/api/events/all?q=hearing&format=jsonfeed").json["items"]) == 5
    feeds = [
        ET.fromstring(get(council, f"/api/events/all?format=atom{more}", host=host).body)
        for more, host in (("", "localhost"), ("&q=hearing", "localhost"), ("&limit=2&offset=2", "localhost:81"))
    ]
    assert len({feed.findtext("{*}id") for feed in feeds}) == 3
    links = {link.get("rel"): link.get("href") for link in feeds[2].findall("{*}link")}
    assert links["self"] == "http://localhost:81/api/events/all?format=atom&limit=2&offset=2"
    further = get(council, links["next"].removeprefix("http://localhost:81"), host="localhost:81").body
    assert ET.fromstring(further).findtext("{*}id") == feeds[2].findtext("{*}id")
    feed = get(council, "/api/events/all?limit=2&format=jsonfeed").json
    assert feed["feed_url"] == "http://localhost/api/events/all?limit=2&format=jsonfeed"
    assert get(council, feed["next_url"].removeprefix("http://localhost")).json["items"]
    assert get(council, "/api/events/nothing").status == 404
    assert get(council, f"/api/events/all?{'&'.join(f'a{number}=1' for number in range(30))}").status == 400
    assert len(get(council, "/api/events/entity/White%20House").json["results"]) == 1
    assert get(council, "/api/other").status == 404


def test_the_tracker_leads_from_a_number_to_a_zip_a_file_and_its_findings(view, farm, monkeypatch) -> None:
    tracker = farm.home("drops").parts[0]
    assert isinstance(tracker, Matrix)
    assert tracker.legend[4] == MatrixCount("failed: the phase ended with an error", 0, "ff0000")
    page = html.fromstring(get(view, "/collections?collection=drops").text)
    cell = page.xpath("(//table)[1]//tr[th='H']/td[@data-name='unzip']")[0]
    assert cell.xpath(".//*[local-name()='rect']/@fill") == ["#ff0000"]
    (listed,) = cell.xpath(".//a/@href")
    (zip_page,) = html.fromstring(get(view, listed).text).xpath("//tbody//th/a/@href")
    assert "NotAZip" in html.fromstring(get(view, zip_page).text).text_content()
    zip_page = "/collections?collection=drops&name=H.2026-01-12.1.impc.zip"
    xml_page = html.fromstring(get(view, zip_page).text).xpath("//tbody//a[contains(text(), 'specimen')]/@href")[0]
    page = html.fromstring(get(view, xml_page).text)
    assert "CheckNotRun" in page.text_content()
    for link in page.xpath("//main//a/@href"):
        assert get(view, link).status == 200, link
    findings = page.xpath("//table[.//th='finding']//tr")
    monkeypatch.setattr(tracker_home, "_MAX_FINDINGS", 1)
    pages = [html.fromstring(get(view, f"{xml_page}&start={start}").text) for start in range(len(findings) - 1)]
    assert [page.xpath("count(//table[.//th='finding']/tbody/tr)") for page in pages] == [1.0] * len(pages)
    assert [bool(page.xpath("//a[@rel='next']")) for page in pages] == [*[True] * (len(pages) - 1), False]
    assert get(view, "/collections?collection=drops&name=none.zip").status == 404
    assert get(view, "/collections?collection=drops&view=zips&group=odd:failed").status == 400


def test_a_paper_has_its_first_page_its_text_and_why_it_matched(tmp_path: Path) -> None:
    view = app(make_library(tmp_path / "library"))
    page = html.fromstring(get(view, "/collections").text)
    assert "Ann Lee · 2019 · 10.5000/ferry" in page.find_class("record")[0].text_content()
    (paper,) = page.xpath("//li[@class='record']//a[text()='On ferries']/@href")
    page = html.fromstring(get(view, paper).text)
    assert page.xpath("//h2/text()") == ["Match with the catalogue", "Embedded extractor", "Text", "History"]
    assert "title and authors" in page.text_content()
    assert page.xpath("//div[@class='prose']/p/text()") == [f"We sailed. {HOSTILE}"]
    (picture,) = page.xpath("//img/@src")
    assert page.xpath("//img/@alt") == ["The first page of On ferries"]
    assert (get(view, picture).body, get(view, picture).fields["content-type"]) == (JPEG, "image/jpeg")
    assert get(view, "/picture?collection=papers&name=none").status == 404


def test_a_page_has_its_history_links_and_its_copy_of_any_day(view) -> None:
    page = html.fromstring(get(view, "/collections?collection=pages").text)
    assert page.xpath("//tbody//th/a/text()") == ["town"]
    (site,) = page.xpath("//tbody//th/a/@href")
    pages = html.fromstring(get(view, site).text).xpath("//li[@class='record']//a/@href")
    assert len(pages) == 2
    ferry = next(target for target in pages if "ferry" in target)
    assert "every day" in get(view, ferry).text
    former = html.fromstring(get(view, f"{ferry}&day=2026-11-21").text)
    assert "every hour" in former.xpath("string(//div[@class='prose'])")
    kinds = [line.text_content().rpartition(" ")[2] for line in former.xpath("//ol[@class='story']/li/span[1]")]
    assert kinds == ["attempt", "version", "attempt", "version", "changed"]
    for link in former.xpath("//main//a/@href"):
        assert get(view, link).status == 200, link
    assert "No version of it is kept" in get(view, f"{ferry}&day=2026-11-01").text
    assert "The ferry" in get(view, "/collections?collection=pages&q=harbour").text
    assert "No page has these words" in get(view, "/collections?collection=pages&q=unheardof").text
    assert get(view, "/collections?collection=pages&name=http%3A%2F%2Fother.example%2F").status == 404


def test_a_story_leads_to_the_home_that_shows_its_thing(view, council, gazette) -> None:
    zip_name = "H.2026-01-12.1.impc.zip"
    xml_page = html.fromstring(get(view, f"/why?name={zip_name}").text).xpath("//ul[@class='cards']//a/@href")[0]
    for asked, path in (
        (view, f"/why?name={zip_name}"), (view, xml_page), (view, "/why?name=town"),
        (view, f"/why?name={SITE}/ferry.html"), (council, "/why?name=council/1"), (gazette, "/why?name=article%2030"),
    ):  # fmt: skip
        (link,) = html.fromstring(get(asked, path).text).xpath("//p[@class='lead']/a/@href")
        assert get(asked, link).status == 200, path
    assert not html.fromstring(get(view, "/why?name=harwell").text).xpath("//p[@class='lead']/a")


def test_links_of_pages_are_listed_in_both_directions(tmp_path: Path) -> None:
    with closing(SummaryStore(tmp_path / "summary.db")) as store:
        del store
    with closing(sqlite3.connect(tmp_path / "summary.db")) as file:
        file.execute("PRAGMA foreign_keys = OFF")
        file.execute("INSERT INTO origin VALUES (1, 'http', 'a.example', NULL, 'http://a.example')")
        for number, name in enumerate(("", "kept", "wanted"), 1):
            file.execute("INSERT INTO url VALUES (?, 1, '', '', '', '', ?)", (number, f"http://a.example/{name}"))
        for number in (1, 2):
            generation = (number, bytes([number]), number, 10, 20)
            file.execute("INSERT INTO entity_generation VALUES (?, ?, ?, NULL, ?, ?, NULL, 0, NULL)", generation)
        for number, target in enumerate((2, 3, 3), 1):
            row = (number, 1, target, None, *[0] * 19, None, 0, "a", f"link {number}")
            file.execute(f"INSERT INTO link_summary VALUES ({', '.join('?' * len(row))})", row)
        file.commit()
    with closing(SqliteReader(tmp_path / "summary.db")) as reader:
        kept, wanted = (f"http://a.example/{name}" for name in ("kept", "wanted"))
        assert list_links_from(reader, 1, 9) == [PageLink(kept, "link 1", True), PageLink(wanted, "link 3", False)]
        assert list_links_to(reader, kept, 9) == [PageLink("http://a.example/", "link 1", True)]
        front, origin = "http://a.example/", "http://a.example"
        assert [page.url for page in list_present(reader, origin, "", 9)] == [front, kept]
        assert [page.url for page in list_present(reader, origin, front, 9)] == [kept]
        assert list_present(reader, origin, kept, 9) == []


def test_what_is_kept_is_shown_as_a_picture_if_it_is_one(view, farm) -> None:
    assert [picture_type(start) for start in (b"\xff\xd8\xff\xe0", b"RIFF\0\0\0\0WEBP")] == ["image/jpeg", "image/webp"]
    with closing(farm.ledger()) as ledger:
        assert find_picture(ledger, f"{SITE}/none.png", "") == ()
        (page,) = find_picture(ledger, f"{SITE}/ferry.html", "the ferry")
    assert get(view, f"/picture?capture={page.capture}").status == 404
    assert get(view, "/picture?collection=drops&name=a").status == 400


def test_numbers_become_bars_and_colours_stay_colours() -> None:
    picture = series_bars(Series("", (Point("<May>", 2), Point("June", 4))).points)
    assert "&lt;May&gt;: 2" in picture
    assert 'height="60' in picture
    assert series_bars(()).count("<g") == 0
    assert 'fill="#00bad0"' in swatch(MatrixCount("", 0, 'bad"0/>'))


def test_a_collection_without_records_of_its_own_says_so(farm, tmp_path: Path) -> None:
    with pytest.raises(
        windrow.UsageError, match="'drops' does not list its records; collections that do are events, news"
    ):
        farm.records("drops")
    with pytest.raises(windrow.UsageError, match="'nothing' has no home"):
        farm.home("nothing", HomeView())
    assert farm.records("news").records == ()
    empty = windrow.init(tmp_path / "empty")
    assert "windrow new source" in get(app(empty), "/collections").text
    assert "No records yet" in farm.home("news").note


def test_a_missing_table_or_view_is_empty_for_a_reader(tmp_path: Path) -> None:
    script = "-- a note\nCREATE TABLE IF NOT EXISTS a (b);\nCREATE VIEW IF NOT EXISTS c AS\nSELECT b FROM a;\n"
    alter(tmp_path / "s.db", "CREATE TABLE a (b)", "INSERT INTO a VALUES (1)")
    with reads_only(), closing(SqliteStore(tmp_path / "s.db", script + "CREATE TABLE IF NOT EXISTS d (e);")) as store:
        assert store._connection.execute("SELECT b FROM c").fetchall() == [(1,)]
        assert store._connection.execute("SELECT e FROM d").fetchall() == []
    with closing(sqlite3.connect(tmp_path / "s.db")) as file:
        assert file.execute("SELECT name FROM sqlite_schema").fetchall() == [("a",)]
    endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c"
    with (
        time_limit(0.0),
        reads_only(),
        closing(SqliteStore(tmp_path / "s.db")) as store,
        pytest.raises(sqlite3.OperationalError),
    ):
        store._connection.execute(endless).fetchone()
    with pytest.raises(windrow.StoreError, match="no such table: f yet; the next run adds it"), store_errors(tmp_path):
        sqlite3.connect(":memory:").execute("SELECT 1 FROM f")


def test_stores_of_an_earlier_windrow_are_read_or_say_that_a_run_upgrades_them(tmp_path: Path) -> None:
    council = make_council(tmp_path / "council")
    view, root = app(council), council.config.root
    alter(root / "events.db", "DROP TABLE late_statement", "DROP TABLE refused_document", "DROP TABLE alias")
    assert get(view, "/collections?day=2026-11-01").status == 200
    assert get(view, "/why?name=council/1").status == 200
    gazette = make_gazette(tmp_path / "gazette")  # nothing of it was published, so the index of its files is missing
    assert get(app(gazette), "/why?name=https%3A%2F%2Ftown.example%2Fnothing").status == 404
    gazette.new_source("town", f"{SITE}/", collection="pages")  # which never ran
    assert "ferries" in get(app(windrow.open(gazette.config.root)), "/search?q=ferries").text
    assert get(view, "/diff?name=nothing").status == 404
    documents = root / location_of(council.config)
    alter(documents, "PRAGMA user_version = 1")
    reply = get(view, "/collections", accept="application/json")
    assert (reply.status, reply.json["hint"]) == (503, "windrow run")
    documents.unlink()
    page = get(view, "/collections").text  # the records, as a list
    assert "Night session" in page
    assert not documents.exists()
    alter(council.config.ledger, "PRAGMA user_version = 1")
    assert "windrow init, which upgrades it" in get(view, "/sessions").text


def alter(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
