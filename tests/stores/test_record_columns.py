"""Searches of a store of records by the columns of its collection."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime

import pytest

from windrow.adapters import record_search
from windrow.contract import AttemptObservations, ColumnType, Observation, TypedColumn
from windrow.query.columns import parse_query
from windrow.stores.index.folder import NOTE_FILE, index_folder
from windrow.stores.records import RecordStore

COLUMNS = (
    TypedColumn("price", ColumnType.NUMBER, "offer.price"),
    TypedColumn("date", ColumnType.DATE),
    TypedColumn("tag", ColumnType.TEXT, "tags"),
    TypedColumn("in_stock", ColumnType.SWITCH),
    TypedColumn("code", ColumnType.NAME),
)
RECORDS = {
    "cup": {"offer": {"price": 5}, "date": "2026-12-03", "tags": ["green", "tea cup"], "in_stock": True, "code": "A-1"},
    "pot": {"offer": {"price": -2.5}, "date": ["2026-12-05", "2027-01-02"], "tags": ["tea"], "in_stock": False, "code": "a-10"},
    "tin": {"offer": {"price": "12"}, "date": 1999, "tags": ["green tin"], "in_stock": True, "code": "B"},
    "lid": {"offer": {"price": "on request"}, "tags": []},
}  # fmt: skip
AT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path):
    with closing(RecordStore(tmp_path / "shop.db", COLUMNS)) as opened:
        observations = tuple(Observation(key, value, "a thing to buy") for key, value in RECORDS.items())
        opened.settle([AttemptObservations(1, AT, "http://a.example/", "here", observations)], 1)
        there = Observation("far", {"offer": {"price": 1}}, "a thing to buy")
        opened.settle([AttemptObservations(2, AT, "http://b.example/", "there", (there,))], 2)
        yield opened


def keys(store, text):
    return {entry.key for entry in store.search(parse_query(text, COLUMNS), "shop", offset=0, limit=9).entries}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("price:5", {"cup"}),
        ("price:-3..0", {"pot"}),
        ("price:1..", {"cup", "tin", "far"}),
        ("price:..5", {"cup", "pot", "far"}),
        ("date:2026-12", {"cup", "pot"}),
        ("date:2026-12-04", set()),
        ("date:2026-12-31", {"pot"}),
        ("date:..2000", {"tin"}),
        ("date:2000..", {"cup", "pot"}),
        ("tag:tea", {"cup", "pot"}),
        ('tag:"green tea"', set()),
        ("tag:ti*", {"tin"}),
        ("in_stock:true", {"cup", "tin"}),
        ("in_stock:no", {"pot"}),
        ("code:a-1", {"cup"}),
        ("code:A-10", {"pot"}),
        ("buy price:5..20 -in_stock:no", {"cup", "tin"}),
        ("price:5 OR code:b", {"cup", "tin"}),
        ("source:here -tag:tea", {"tin", "lid"}),
        ("source:there", {"far"}),
    ],
)
def test_records_are_found_by_the_values_of_their_columns(store, text, found):
    assert keys(store, text) == found
    counts = store.search(parse_query(text, COLUMNS), "shop", offset=0, limit=1, facets=True).counts
    assert counts.documents == len(found)


def test_a_list_by_date_begins_with_the_latest(store):
    entries = store.search(parse_query("date:1900..", COLUMNS), "shop", offset=0, limit=9).entries
    assert [entry.key for entry in entries] == ["pot", "cup", "tin"]
    entries = store.search(parse_query("date:1900.. -tag:tea", COLUMNS), "shop", offset=0, limit=9).entries
    assert [entry.key for entry in entries] == ["tin"]
    entries = store.search(parse_query("date:2027 OR source:there", COLUMNS), "shop", offset=0, limit=9).entries
    assert {entry.key for entry in entries} == {"pot", "far"}


def test_the_answer_says_how_many_records_a_filter_cannot_find(store, monkeypatch):
    monkeypatch.setattr(record_search, "columns", lambda: COLUMNS)
    answer = record_search.search(store, "shop", "price:..100", offset=0, limit=10, explain=False)
    assert len(answer.results) == 4
    assert answer.notes == ("the filter price: does not find 1 record of shop without a value that it can read",)
    assert record_search.search(store, "shop", "source:here", offset=0, limit=10, explain=False).notes == ()


def test_another_column_builds_the_index_anew_and_the_same_ones_do_not(store, tmp_path):
    note = index_folder(store.path) / NOTE_FILE
    assert keys(store, "price:5") == {"cup"}
    first_note, written = note.read_text(), note.stat().st_mtime_ns
    with closing(RecordStore(store.path, COLUMNS)) as again:
        assert keys(again, "price:5") == {"cup"}
    assert (note.read_text(), note.stat().st_mtime_ns) == (first_note, written)
    moved = (TypedColumn("price", ColumnType.NUMBER, "cost"), *COLUMNS[1:])
    with closing(RecordStore(store.path, moved)) as other:
        assert keys(other, "price:5") == set()
        assert list(other.index_faults()) == []
    assert note.read_text() != first_note
