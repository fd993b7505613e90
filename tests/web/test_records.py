"""A collection of records is listed, each record with its fields, without a line of HTML of its own."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lxml import html

import windrow
from tests.web.farm import HOSTILE, get
from windrow.contract import AttemptObservations, Observation
from windrow.stores.late_attempts import LateAttemptStore
from windrow.web import app

ADDRESS = "https://town.example/feed"


def observed(attempt: int, key: str, value: dict | None) -> AttemptObservations:
    at = datetime(2026, 1, 1, attempt % 24, attempt // 24, tzinfo=UTC)
    return AttemptObservations(attempt, at, ADDRESS, "gazette", (Observation(key, value, "text"),))


def make_gazette(folder: Path) -> windrow.Windrow:
    """Make a workspace with a source of news and 31 articles, of which one is gone and one changed."""
    gazette = windrow.init(folder)
    gazette.new_source("gazette", ADDRESS, collection="news")
    articles = [
        observed(number, f"article {number}", {"headline": f"{number} ferries", "tags": ["harbour"]})
        for number in range(1, 31)
    ]
    last = {"headline": f"The last {HOSTILE}", "text": "x" * 900, "author": None}
    with closing(LateAttemptStore(gazette.config.root / "news.db")) as store:
        store.settle([*articles, observed(31, "article 31", last), observed(32, "article 30", None)], 32)
        store.settle([observed(33, "article 2", {"headline": "Two ferries"})], 33)
    return windrow.open(folder)


def test_records_are_listed_the_newest_first_with_their_fields(tmp_path: Path) -> None:
    view = app(make_gazette(tmp_path / "gazette"))
    page = html.fromstring(get(view, "/records").text)
    records = page.find_class("record")
    assert len(records) == 25
    assert records[0].xpath(".//a")[0].text == f"The last {HOSTILE}"
    assert records[0].xpath(".//dt/text()") == ["headline", "text"]
    assert records[0].xpath(".//dd")[1].text == f"{'x' * 300}…"
    assert records[1].xpath(".//a")[0].text == "29 ferries"  # the one before is gone
    (older,) = page.xpath("//a[@rel='next']/@href")
    shown = html.fromstring(get(view, older).text).find_class("record")
    assert [record.xpath(".//a")[0].text for record in shown] == [
        "5 ferries",
        "4 ferries",
        "3 ferries",
        "Two ferries",
        "1 ferries",
    ]
    assert ["difference" in record.text_content() for record in shown] == [False, False, False, True, False]
    (change,) = get(view, "/records.json?collection=news&before=2").json["records"]
    assert change["value"] == {"headline": "1 ferries", "tags": ["harbour"]}


def test_a_collection_without_records_of_its_own_says_so(farm) -> None:
    with pytest.raises(
        windrow.UsageError, match="'drops' does not list its records; collections that do are events, news"
    ):
        farm.records("drops")
    with pytest.raises(windrow.UsageError, match="'nothing' does not list"):
        farm.records("nothing")
    assert farm.records("news").records == ()
