"""The list of changes and its feeds: cursors, ids, words and times, in lists of many pages."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from lxml import html

import windrow
from tests.cli.conftest import lay_out_partner
from tests.web.farm import SITE, get, warc_record
from windrow.adapters.adapter import SourceChange
from windrow.app import changes as app_changes
from windrow.app.changes import identify, newest_changes, place_of
from windrow.caps import URL_CHARACTERS, WEB_CHANGES
from windrow.web import app, pages

SINCE = "since=2026-01-01"


def walk(view: Any, target: str) -> list[Any]:
    """Return the changes of a list, or the items of a feed, on all its pages."""
    is_feed, entries, page = ".feed" in target, [], {}
    for _ in range(100):
        reply = get(view, target)
        assert reply.status == 200, reply.text
        page = reply.json
        entries += page["items" if is_feed else "changes"]
        following = page.get("next_url", "").removeprefix("http://localhost") if is_feed else page["next"]
        if not following:
            return entries
        target = following if is_feed else f"{target.partition('&cursor')[0]}&cursor={following}"
    raise AssertionError("the list has no end")


def title_page(url: str, text: str) -> bytes:
    return f"<!doctype html><title>{url[-5:]}</title><p>{text} is what this page of the town is about.</p>".encode()


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> windrow.Windrow:
    """Return a workspace of pages with long addresses, which change twice in one second on their second day."""
    folder = tmp_path_factory.mktemp("crowd")
    workspace = windrow.init(folder / "farm")
    workspace.new_source("town", f"{SITE}/", collection="pages")
    urls = [f"{SITE}/{number}".ljust(URL_CHARACTERS.number - 5, "y") for number in range(7)]
    for day, texts in (("21", ("one",)), ("22", ("two", "one")), ("23", ("three",))):
        records = [warc_record(url, title_page(url, text), day) for url in urls for text in texts]
        (folder / f"{day}.warc").write_bytes(b"".join(records))
        workspace.run(str(folder / f"{day}.warc"), source="town")
    return windrow.open(folder / "farm")


@pytest.fixture(params=[1, 2, 5, 100])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_changes, "_READ_AT_ONCE", request.param)
    monkeypatch.setattr(pages, "_PAGE_LINES", 3)


def count(changes: list[Any]) -> Counter[tuple[str, ...]]:
    return Counter((each["kind"], each["key"], each["difference"], str(each["fact"])) for each in changes)


@pytest.mark.usefixtures("blocks")
def test_each_page_of_long_addresses_leads_on_and_has_each_change_once(crowd: windrow.Windrow) -> None:
    listed = [change._asdict() for change in crowd.changes(date(2026, 1, 1))]
    assert len(listed) == 7 * 4
    view = app(windrow.open(crowd.config.root))
    assert count(walk(view, f"/changes.json?{SINCE}")) == count(listed)
    assert count(walk(view, f"/changes.json?{SINCE}&kind=changed&q=one")) == count(
        [each for each in listed if each["kind"] == "changed" and "one" in each["difference"]]
    )
    today = get(view, f"/index.json?{SINCE}").json
    assert today["counts"] == {"new": 7, "changed": 21, "gone": 0}


@pytest.mark.usefixtures("blocks")
def test_ids_of_a_feed_are_those_of_each_other_feed(crowd: windrow.Windrow) -> None:
    ids = [item["id"] for item in walk(app(windrow.open(crowd.config.root)), f"/changes.feed?{SINCE}")]
    assert len({*ids}) == 7 * 4
    assert {*ids} == {identify(change) for change in crowd.changes(date(2026, 1, 1))}


def test_a_cursor_of_a_change_that_was_removed_leaves_none_of_its_fact_out(
    view: Any, farm: windrow.Windrow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def list_newest(*_: object, upto: int, **others: object) -> Iterator[SourceChange]:
        return (change for change in listed if change.fact <= upto)

    at = farm.sessions()[0].began
    listed = [SourceChange(at, "town", "pages", "new", f"key {name}", "", "", fact=7) for name in "edcba"]
    monkeypatch.setattr(pages, "newest_changes", list_newest)
    monkeypatch.setattr(pages, "_PAGE_LINES", 2)
    following = get(view, "/changes.json?since=2026-01-04").json["next"]
    del listed[1]
    shown = get(view, f"/changes.json?since=2026-01-04&cursor={following}").json["changes"]
    assert [change["key"] for change in shown] == ["key e", "key c"]


@pytest.mark.parametrize("cursor", [f"{'9' * 19}-{'0' * 16}", "5", f"5-{'g' * 16}", "-", "WyI5OTkiXQ=="])
def test_what_is_no_cursor_is_refused(view: Any, cursor: str) -> None:
    for suffix in ("", ".json", ".atom", ".feed"):
        reply = get(view, f"/changes{suffix}?cursor={cursor}")
        assert reply.status == 400
        assert "cursor is not one" in reply.text


def test_a_feed_of_a_word_reads_on_where_a_page_says_how_far_it_looked(
    crowd: windrow.Windrow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "WEB_CHANGES", WEB_CHANGES._replace(number=3))
    view = app(windrow.open(crowd.config.root))
    target = f"?{SINCE}&q=town.example/0"
    assert len(get(view, f"/changes.feed{target}").json["items"]) == 4
    text = html.fromstring(get(view, f"/changes{target}").text).text_content()
    assert "0 of the newest 3 changes have these words, of those back to 2026-11-23 10:00; there are older ones" in text
    assert "None of the 3 changes that this page looked through" in text
    following = get(view, f"/changes.json{target}").json["next"]
    assert "of the next 3 changes" in get(view, f"/changes{target}&cursor={following}").text
    assert len(walk(view, f"/changes.json{target}")) == 4


def test_changes_until_a_time_are_not_described_when_they_are_newer(
    crowd: windrow.Windrow, monkeypatch: pytest.MonkeyPatch
) -> None:
    from windrow.collections.pages.adapter import changes as page_changes  # noqa: PLC0415 it is imported when it is used

    described = []
    describe = page_changes._describe_change
    monkeypatch.setattr(page_changes, "_describe_change", lambda *each: (described.append(each), describe(*each))[1])
    page = get(app(windrow.open(crowd.config.root)), f"/changes.json?{SINCE}&until=2026-11-21").json
    assert page["total"] == len(page["changes"]) == len(described) == 7
    assert {change["at"][:10] for change in page["changes"]} == {"2026-11-21"}


def test_only_what_is_compared_leads_to_a_difference(tmp_path: Path) -> None:
    lay_out_partner(tmp_path / "partner")
    workspace = windrow.init(tmp_path / "farm")
    workspace.new_source("harwell", f"file://{tmp_path / 'partner'}", collection="drops", centre="H")
    workspace.run()
    for path in (tmp_path / "partner").rglob("*.zip"):
        os.utime(path, (path.stat().st_mtime + 3600,) * 2)
    workspace.run()
    view = app(windrow.open(tmp_path / "farm"))
    (session, *_) = workspace.sessions()
    for target in (f"/changes?{SINCE}&kind=changed", f"/?{SINCE}", f"/sessions/{session.session}"):
        page = html.fromstring(get(view, target).text)
        assert target.startswith("/sessions") or page.find_class("kind changed")
        assert page.xpath("//a[contains(@href, '/diff')]") == []


def test_a_source_that_is_not_declared_any_more_stays_chosen_and_has_a_link(
    farm: windrow.Windrow, tmp_path: Path
) -> None:
    root = shutil.copytree(farm.config.root, tmp_path / "farm")
    (root / "sources" / "town.toml").unlink()
    view = app(windrow.open(root))
    page = html.fromstring(get(view, f"/changes?{SINCE}&source=town").text)
    assert page.xpath("//select[@name='source']/option[@selected]/text()") == ["town"]
    assert page.find_class("changes")
    page = html.fromstring(get(view, "/").text)
    assert page.xpath("//p[starts-with(., 'Not declared any more')]/a/@href") == ["/why?name=town"]


@pytest.mark.parametrize("most", [1, 3, 1_000])
def test_the_newest_changes_are_those_of_the_list_however_many_are_read_at_once(
    farm: windrow.Windrow, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(app_changes, "_READ_AT_ONCE", most)
    listed = farm.changes(date(2000, 1, 1))
    assert len({each.fact for each in listed}) > 3
    with closing(farm.ledger()) as ledger:
        since = datetime(2000, 1, 1, tzinfo=UTC)
        newest = [*newest_changes(farm.config, ledger, since, unreadable={})]
        assert newest == sorted(listed, key=place_of, reverse=True)
        facts = sorted({change.fact for change in newest})
        older = newest_changes(farm.config, ledger, since, only="pages", upto=facts[-2], unreadable={})
        assert [*older] == [each for each in newest if each.collection == "pages" and each.fact <= facts[-2]]
