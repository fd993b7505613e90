"""Lists that people read agree with what the command line says, and no page of a list leaves an entry out."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from lxml import html

import windrow
from tests.web.farm import get, warc_record
from tests.web.homes import ADDRESS, event, observed
from windrow.caps import WEB_CARDS
from windrow.collections.events.adapter import home as events_home
from windrow.collections.events.adapter.databases import open_databases
from windrow.collections.pages.adapter import home
from windrow.contract import AttemptObservations, Skip
from windrow.reasons import Reason
from windrow.stores.late_attempts import LateAttemptStore
from windrow.stores.time_limit import limit_wait, time_limit
from windrow.web import app, application
from windrow.web.query import PageQuery

URLS = [f"https://town.{end}/{name}" for end in ("co", "co.uk") for name in ("a", "b", "c")]


@pytest.fixture(scope="module")
def papers(tmp_path_factory) -> Any:
    """Make a web view of two sources of news with an article each, and an entry that could not be read."""
    root = tmp_path_factory.mktemp("papers") / "papers"
    workspace = windrow.init(root)
    for name in ("gazette", "herald"):
        workspace.new_source(name, f"https://{name}.example/feed", collection="news")
    skip = Skip(Reason.INCOMPLETE_RECORD, "entry 2", "it has no title")
    unread = AttemptObservations(3, datetime(2026, 1, 2, tzinfo=UTC), ADDRESS, "gazette", (skip,))
    articles = [
        observed(1, "ferry", {"title": "The ferry returns"}),
        observed(2, "other", {"title": "A ferry of others"}, "herald"),
    ]
    with closing(LateAttemptStore(root / "news.db")) as store:
        store.settle([*articles, unread], 3)
    return app(windrow.open(root))


@pytest.fixture(scope="module")
def town(tmp_path_factory) -> Any:
    """Make a web view of a site with two origins, of which one's name begins with the other's; a page changed twice."""
    folder = tmp_path_factory.mktemp("town")
    workspace = windrow.init(folder / "farm")
    workspace.new_source("town", "https://town.co/", collection="pages")
    seeds = 'collection = "pages"\nseeds = ["https://town.co/", "https://town.co.uk/"]\n'
    (folder / "farm" / "sources" / "town.toml").write_text(seeds)
    workspace = windrow.open(folder / "farm")
    for day, urls, word in (("21", URLS, "one"), ("22", URLS[:1], "two"), ("23", URLS[:1], "three")):
        pages = (warc_record(url, f"<title>{url}</title><p>{url} is page {word}.</p>".encode(), day) for url in urls)
        (folder / f"{day}.warc").write_bytes(b"".join(pages))
        workspace.run(str(folder / f"{day}.warc"), source="town")
    return app(workspace)


def test_each_change_leads_to_its_own_difference(town) -> None:
    page = html.fromstring(get(town, "/changes?since=2025-01-01&kind=changed").text)
    links = page.xpath("//a[starts-with(@href, '/diff')]/@href")
    shown = [html.fromstring(get(town, link).text).text_content() for link in links]
    assert [[word in text for word in ("one", "two", "three")] for text in shown] == [
        [False, True, True], [True, True, False],
    ]  # fmt: skip


def test_words_are_searched_in_the_source_that_is_chosen(papers) -> None:
    for words, expected in (("ferry", ["A ferry of others"]), ("ferry OR returns", ["A ferry of others"])):
        page = html.fromstring(get(papers, f"/collections?collection=news&group=source:herald&q={words}").text)
        assert [record.xpath("string(.//a)") for record in page.find_class("record")] == expected, words


def test_today_names_what_was_not_read_by_its_reason(papers) -> None:
    page = html.fromstring(get(papers, "/").text)
    _, card = page.xpath("//section[@aria-labelledby='needs']//li")  # the first says that the ledger is older
    assert "1 document not read:" in card.text_content()
    assert card.xpath(".//a[contains(@href, 'reasons#')]/text()") == ["incomplete_record"]
    assert get(papers, "/index.json").json["reasons"][0]["reason"] == "incomplete_record"
    assert "incomplete_record" in page.xpath("string(//details)")


def test_today_shows_the_first_things_that_need_a_person_and_counts_the_others(papers, monkeypatch) -> None:
    monkeypatch.setattr(application, "WEB_CARDS", WEB_CARDS._replace(number=1))
    page = html.fromstring(get(papers, "/").text)
    assert len(page.xpath("//section[@aria-labelledby='needs']//li")) == 1
    assert "and 1 more: windrow status" in page.text_content()


def test_programs_are_told_of_what_fails_and_is_left_out(papers, tmp_path: Path) -> None:
    workspace = windrow.init(tmp_path)
    workspace.new_source("nobody", f"file://{tmp_path}/missing/", collection="drops", centre="H")
    windrow.open(tmp_path).run()
    view = app(windrow.open(tmp_path))
    text = get(view, "/metrics").text
    for line in ('source_error{source="nobody"} 1', "unread 0", "problems 0", "not_counted 0"):
        assert f"windrow_{line}" in text
    assert get(view, "/healthz").json["failing"] == ["nobody"]
    assert "1 of 1 source failed" in html.fromstring(get(view, "/").text).xpath("string(//p[@class='lead'])")
    assert 'windrow_failures{reason="incomplete_record"} 1' in get(papers, "/metrics").text


def test_an_agenda_begins_with_the_first_event_of_the_day_where_it_takes_place(tmp_path: Path) -> None:
    workspace = windrow.init(tmp_path)
    workspace.new_source(
        "tokyo", ADDRESS, collection="events", reader="icalendar", branch="Legislative", entity="Senate",
        timezone="Asia/Tokyo",
    )  # fmt: skip
    workspace = windrow.open(tmp_path)
    times = {
        "Evening before": ("2026-11-26T11:00:00Z", "2026-11-26T20:00:00", "Asia/Tokyo"),
        "Breakfast": ("2026-11-26T22:30:00Z", "2026-11-27T07:30:00", "Asia/Tokyo"),
        "Honolulu": ("2026-11-28T05:00:00Z", "2026-11-27T19:00:00", "Pacific/Honolulu"),
        "Next morning": ("2026-11-27T23:00:00Z", "2026-11-28T08:00:00", "Asia/Tokyo"),
    }
    events = [
        event(number, utc, title, local_datetime=local, source_timezone=zone, parser_name="tokyo", source="tokyo")
        for number, (title, (utc, local, zone)) in enumerate(times.items())
    ]
    with open_databases(workspace.config) as databases:
        databases.write(databases.events, events)
    view = app(windrow.open(tmp_path))
    (agenda,) = get(view, "/collections.json?collection=events&day=2026-11-27").json["home"]["parts"]
    listed = [(entry["day"], entry["title"]["text"]) for entry in agenda["entries"]]
    assert listed == [("2026-11-27", "Breakfast"), ("2026-11-27", "Honolulu"), ("2026-11-28", "Next morning")]
    (found,) = get(view, "/collections.json?collection=events&day=2026-11-27&q=breakfast").json["home"]["parts"]
    assert [entry["title"]["text"] for entry in found["entries"]] == ["Breakfast"]


def test_the_events_of_a_source_are_listed_whatever_its_parser_was_called(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(events_home, "_MAX_READ", 2)
    workspace = windrow.init(tmp_path)
    for name in ("north", "south"):
        workspace.new_source(
            name, ADDRESS, collection="events", reader="icalendar", branch="Legislative", entity="Senate",
            timezone="Europe/Paris",
        )  # fmt: skip
    sources = {1: "north", 2: "north", 3: "north", 4: "south"}
    events = [
        event(day, f"2026-12-0{day}T10:00:00Z", f"Session {day}", parser_name="earlier", source=source)
        for day, source in sources.items()
    ]
    with open_databases(workspace.config) as databases:
        databases.write(databases.events, events)
    view = app(windrow.open(tmp_path))
    target, listed, notes = "/collections?collection=events&day=2026-12-01&group=source:south", [], []
    while target:
        page = html.fromstring(get(view, target).text)
        listed += [link.text for link in page.xpath("//main//a[contains(@href, 'name=')]")]
        notes += page.xpath("//p[@class='empty']/text()")
        target = next(iter(page.xpath("//a[@rel='next']/@href")), "")
    assert listed == ["Session 4"]
    assert "None of the next 2 events is one of these" in notes[0]
    page = get(view, "/collections.json?collection=events&day=2026-12-02&q=session&group=source:north").json["home"]
    assert [entry["title"]["text"] for entry in page["parts"][0]["entries"]] == ["Session 2", "Session 3"]


def test_a_parameter_that_chooses_nothing_is_refused(town) -> None:
    for target in ("/changes?origin=town", "/changes.atom?origin=town", "/changes?source=town&source=other", "/?odd=1"):
        assert get(town, target).status == 400, target
    assert get(town, "/changes?utm_source=letter&_=1").status == 200
    for day in ("yesterday", "7d"):
        assert "searched as words" not in get(town, f"/search?q=page&as_of={day}").text
        assert get(town, f"/search.json?q=page&as_of={day}").json["as_of"].startswith("20")


def test_no_page_of_a_site_is_left_out_between_two_origins(town, monkeypatch) -> None:
    monkeypatch.setattr(home, "_PAGE_PAGES", 2)
    target, listed = "/collections?collection=pages&name=town", []
    while target:
        page = html.fromstring(get(town, target).text)
        listed += [record.xpath("string(.//a)") for record in page.find_class("record")]
        target = next(iter(page.xpath("//a[@rel='next']/@href")), "")
    assert sorted(listed) == sorted(URLS)


def test_words_in_the_list_of_a_site_find_its_pages_only(town) -> None:
    for name, number in (("town", 6), ("", 6)):
        page = html.fromstring(get(town, f"/collections?collection=pages&name={name}&q=page").text)
        assert len(page.find_class("record")) == number
    assert get(town, "/collections.json?collection=pages&name=town&q=page").json["home"]["title"] == (
        "Pages with “page” of town"
    )


def test_a_story_leads_to_the_thing_itself(town, papers) -> None:
    for view, name in ((town, URLS[0]), (town, "town"), (papers, "ferry")):
        (link,) = html.fromstring(get(view, f"/why?name={name}").text).xpath("//p[@class='lead']/a/@href")
        assert get(view, link).status == 200, name


def test_a_capture_is_downloaded_in_pieces_and_never_packed(town) -> None:
    story = get(town, f"/why.json?name={URLS[1]}").json["explained"][0]
    (capture,) = {message["number"] for message in story if message["type"] == "page_attempt"}
    reply = get(town, f"/captures/{capture}/download", accept_encoding="gzip")
    assert reply.text.startswith(f"<title>{URLS[1]}")
    assert (reply.fields["content-length"], reply.fields.get("content-encoding")) == (str(len(reply.body)), None)
    assert get(town, f"/captures/{capture}/download", if_none_match=reply.fields["etag"]).status == 304
    head = get(town, f"/captures/{capture}/download", "HEAD")
    assert (head.body, head.fields["content-length"]) == (b"", reply.fields["content-length"])


def test_a_collection_that_is_none_is_refused_and_the_end_of_a_day_includes_it(town) -> None:
    assert "nwes" in get(town, "/changes?collection=nwes").text
    assert get(town, "/changes.atom?collection=nwes").status == 400
    query = PageQuery({"until": "yesterday"}, datetime(2026, 11, 27, 9, tzinfo=UTC))
    assert query.time("until", "", is_end=True) == datetime(2026, 11, 27, tzinfo=UTC)
    assert query.time("until", "") == datetime(2026, 11, 26, tzinfo=UTC)


def test_a_capture_is_shown_as_text_in_its_own_encoding(tmp_path: Path) -> None:
    workspace = windrow.init(tmp_path / "farm")
    workspace.new_source("town", "https://town.co/", collection="pages")
    body = "<!doctype html><meta charset=iso-8859-1><p>Café de la Gare</p>".encode("latin-1")
    record = warc_record("https://town.co/a", body, "21").replace(b"; charset=utf-8", b"".ljust(15))
    (tmp_path / "town.warc").write_bytes(record)
    workspace.run(str(tmp_path / "town.warc"), source="town")
    story = get(app(workspace), "/why.json?name=https://town.co/a").json["explained"][0]
    (capture,) = {message["number"] for message in story if message["type"] == "page_attempt"}
    assert "Café de la Gare" in get(app(workspace), f"/captures/{capture}/text").text


def test_an_archive_whose_ledger_is_missing_is_a_problem(tmp_path: Path) -> None:
    workspace = windrow.init(tmp_path)
    (workspace.config.archive.folder).mkdir(exist_ok=True)
    (workspace.config.archive.folder / "windrow-000001.warc").write_bytes(b"WARC/1.0\r\n")
    (problem,) = workspace.status().problems
    assert "contains WARC files and the ledger is new" in problem


def test_a_page_waits_for_a_server_no_longer_than_it_may_take() -> None:
    assert limit_wait(60) == 60
    with time_limit(monotonic() + 5):
        assert 4 < limit_wait(60) <= 5
        assert limit_wait(1) == 1
    with time_limit(0.0):
        assert limit_wait(60) == 0.1
