"""The columns of the collections that are searched: what people filter records by, in each collection's own words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from windrow.adapters import record_search
from windrow.adapters.search_answer import SearchAnswer
from windrow.app import search as together
from windrow.collections.events.collection import COLLECTION as EVENTS
from windrow.collections.news.collection import COLLECTION as NEWS
from windrow.collections.papers.collection import COLLECTION as PAPERS
from windrow.contract import AttemptObservations, Collection, Observation
from windrow.stores.records import RecordStore

MEETING = {
    "title": "Budget meeting", "datetime": "2026-12-01T01:00:00Z", "end_datetime": "2026-12-01T02:30:00Z",
    "local_datetime": "2026-11-30T20:00:00", "source_timezone": "America/New_York", "all_day": False,
    "branch": "Legislative", "entity": "House of Representatives", "status": "scheduled",
}  # fmt: skip
FAIR = MEETING | {
    "title": "Fair meeting", "datetime": "2026-12-03T00:00:00Z", "end_datetime": "2026-12-05T00:00:00Z",
    "local_datetime": "2026-12-03", "all_day": True, "branch": "Judicial", "status": "cancelled",
}  # fmt: skip
RECORDS: dict[str, tuple[Collection, dict[str, Any]]] = {
    "events": (EVENTS, {"budget": MEETING, "fair": FAIR}),
    "papers": (PAPERS, {
        "tides": {"title": "On tides", "authors": ["Ada Lee", "Bo Berg"], "doi": "10.5000/tides", "year": 2018},
        "more": {"title": "More tides", "authors": ["Ann Berg"], "doi": "10.5000/tides.2", "year": 2019},
        "scan": {"title": "Scan of tides", "authors": [], "doi": None},
    }),
    "news": (NEWS, {
        "storm": {"title": "Storm", "author": "Jane Smith, Bo Berg", "publication_timestamp_gmt": 1_790_000_000},
        "calm": {"title": "Calm", "author": None, "publication_timestamp_gmt": None},
    }),
}  # fmt: skip


class Searched(NamedTuple):
    store: RecordStore
    name: str

    def answer(self, text: str) -> SearchAnswer:
        return record_search.search(self.store, self.name, text, offset=0, limit=9, explain=False)

    def keys(self, text: str) -> list[str]:
        return sorted(result.details.key for result in self.answer(text).results)


@pytest.fixture(scope="module")
def stores(tmp_path_factory) -> Iterator[dict[str, Searched]]:
    opened = {}
    for name, (collection, records) in RECORDS.items():
        store = RecordStore(tmp_path_factory.mktemp(name) / "a.db", collection.columns)
        observations = tuple(Observation(key, value, value["title"]) for key, value in records.items())
        at = datetime(2026, 1, 1, tzinfo=UTC)
        store.settle([AttemptObservations(1, at, "http://a.example/", "council", observations)], 1)
        opened[name] = Searched(store, name)
    yield opened
    for searched in opened.values():
        searched.store.close()


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("events", "date:2026-11-30", ["budget"]),  # of its own zone; in UTC it is the next day
        ("events", "date:2026-12-01", []),
        ("events", "date:2026-12-04", ["fair"]),
        ("events", "date:2026-11-30..2026-12-31", ["budget", "fair"]),
        ("events", "date:2026-12-06..", []),
        ("events", "branch:judicial meeting", ["fair"]),
        ("events", 'entity:"house of representatives" -status:cancelled', ["budget"]),
        ("events", "all_day:yes", ["fair"]),
        ("events", "source:council", ["budget", "fair"]),
        ("events", "source:senate", []),
        ("papers", "author:berg", ["more", "tides"]),
        ("papers", 'author:"ada lee"', ["tides"]),
        ("papers", "doi:10.5000/tides", ["tides"]),
        ("papers", "doi:https://doi.org/10.5000/TIDES.2", ["more"]),
        ("papers", "tides year:2018", ["tides"]),
        ("papers", "year:2018..2020", ["more", "tides"]),
        ("news", "author:smith", ["storm"]),
        ("news", "year:2026", ["storm"]),
        ("news", "date:2026-09", ["storm"]),
        ("news", "year:2025", []),
    ],
)
def test_records_are_found_by_what_people_filter_them_by(stores, name, text, found):
    assert stores[name].keys(text) == found


def test_an_answer_counts_the_records_without_a_value(stores):
    (note,) = stores["papers"].answer("year:2018").notes
    assert note == "the filter year: does not find 1 record of papers without a value that it can read"


def test_a_filter_for_other_collections_than_those_searched_is_reported(stores, monkeypatch):
    class Adapter:
        @staticmethod
        def search(_workspace, text, *, offset, limit, explain, facets):
            assert not facets
            return record_search.search(stores["news"].store, "news", text, offset=offset, limit=limit, explain=explain)

    monkeypatch.setattr(together, "capable", lambda _capability, _names=None: {"news": Adapter})
    monkeypatch.setattr(together, "harvested_collections", lambda _workspace: {"news"})
    answer = together.search(None, "storm doi:10.5000/tides")
    assert answer.results == ()
    assert answer.notes == ("the filter doi: is for records of papers, which are not searched here",)
    assert together.search(None, "storm author:smith").notes[0].startswith("the filter author: does not find 1 record")
    workspace = SimpleNamespace(sources=(SimpleNamespace(name="council"),))
    assert together.search(workspace, "source:concil").notes == ("source 'concil' is not declared",)
    assert together.search(workspace, "storm source:council").notes == ()


def test_a_column_is_the_same_in_a_store_that_is_opened_again(stores):
    with closing(RecordStore(stores["events"].store.path, EVENTS.columns)) as again:
        assert list(again.index_faults()) == []
