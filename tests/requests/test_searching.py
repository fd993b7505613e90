"""Records are searched by the language that pages are searched by, and their index is as a fresh one would be."""

import random
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from windrow.contract import Observation, Observed
from windrow.query import parse
from windrow.stores import record_index
from windrow.stores.records import RecordStore

NEW, OLD = datetime(2026, 5, 1, tzinfo=UTC), datetime(2024, 5, 1, tzinfo=UTC)
RECORDS = (
    ("a", {"title": "Green tea"}, "Brewing green tea takes two minutes.", "https://www.tea.example/green", NEW),
    ("b", {"title": "Black tea"}, "Black tea wilts first, green does not.", "https://shop.example:8443/black", OLD),
    ("c", {"name": "Café Ørsted"}, "A house for coffee; asyncio.Queue.put_nowait.", "https://tea.example/cafe", OLD),
    ("d", {"other": 1}, "東京 and its stations", "http://far.example/x?tea=1", NEW),
)


def seen(visit, key, value, text, url, at):
    return Observed(visit, at, url, "here", (Observation(key, value, text, at, url),))


@pytest.fixture
def store(tmp_path):
    made = RecordStore(tmp_path / "records.db")
    made.settle([seen(number, *one) for number, one in enumerate(RECORDS, 1)], 4)
    yield made
    made.close()


def keys(store, text):
    return [one.key for one in store.search(parse(text), "things", offset=0, limit=10).entries]


@pytest.mark.parametrize(("typed", "found"), [
    ("green tea", "ab"), ('"green tea"', "a"), ("green -black", "a"), ("tea OR coffee", "abcd"), ("caf*", "c"),
    ("CAFE orsted", "c"), ("東", "d"), ("title:tea", "ab"), ("title:te*", "ab"), ("inurl:tea", "acd"),
    ("site:tea.example", "ac"), ("host:tea.example", "c"), ("host:www.", "a"), ("site:shop.example:8443", "b"),
    ("url:tea.example/cafe", "c"), ("after:2026", "ad"), ("before:2026 tea", "bc"), ("updated-after:2026-05 tea", "ad"),
    ("type:things tea", "abcd"), ("type:html tea", ""), ("-type:html", "abcd"), ("lang:de", ""), ("is:leaf", ""),
    ("seen:2024-05", "bc"), ("(green OR black) -site:shop.example", "a"), ("asyncio.Queue.put_nowait", "c"),
    ("as-of:2025-01-01 tea", ""), ("!!!", ""), ("zebra", ""),
])  # fmt: skip
def test_records_are_found_by_words_phrases_and_filters_as_pages_are(store, typed, found):
    assert "".join(sorted(keys(store, typed))) == found


def test_records_with_most_of_the_words_are_found_where_none_has_all_and_that_is_told(store):
    answer = store.search(parse("brewing green tea zebra"), "things", offset=0, limit=10)
    assert answer.relaxed
    assert answer.entries[0].key == "a"
    assert answer.frequency["tea"] == 4
    assert answer.documents == 4


def test_a_record_that_is_titled_so_comes_before_one_that_only_speaks_of_it(store):
    assert keys(store, "black")[0] == "b"
    assert keys(store, "green")[0] == "a"


def everything(path):
    with closing(sqlite3.connect(path)) as link:
        return [
            link.execute("SELECT * FROM entry ORDER BY record").fetchall(),
            link.execute("SELECT rowid, * FROM current_text ORDER BY rowid").fetchall(),
        ]


def test_the_index_of_records_is_as_a_fresh_one_after_any_changes_and_takedowns(tmp_path):
    chance = random.Random(7)
    path = tmp_path / "records.db"
    store = RecordStore(path)
    for visit in range(1, 120):
        key, at = f"k{chance.randrange(12)}", datetime(2026, 1, 1 + chance.randrange(28), tzinfo=UTC)
        value = None if chance.random() < 0.2 else {"title": f"Title {chance.randrange(4)}"}
        text = f"text {chance.randrange(5)}"
        store.settle([seen(visit, key, value, text, f"https://a.example/{key}", at)], visit)
        if chance.random() < 0.1:
            store.forget(chance.sample(range(1, visit + 1), min(visit, 5)))
    assert list(store.faults()) == []
    before = everything(path)
    assert before[0]
    with store._writing():
        store._connection.execute("UPDATE meta SET value = 0 WHERE name = 'text_version'")
    store.close()
    with closing(RecordStore(path)) as again:  # makes it anew
        assert list(again.faults()) == []
    assert everything(path) == before


def test_the_check_of_records_tells_of_an_index_that_is_not_as_it_should_be(store):
    store._connection.execute("UPDATE entry SET title = 'Other' WHERE record = 1")
    store._connection.execute("DELETE FROM current_text WHERE rowid = 2")
    assert list(store.faults()) == ["the full text of 2 records is not what they say now"]


def test_a_store_with_an_index_of_before_gets_one_when_it_is_opened(tmp_path):
    path = tmp_path / "records.db"
    with closing(RecordStore(path)) as store:
        store.settle([seen(1, *RECORDS[0])], 1)
        with store._writing():
            store._connection.execute("DROP TABLE entry")
            store._connection.execute("DROP TABLE current_text")
            store._connection.execute("CREATE VIRTUAL TABLE current_text USING fts5(key, text)")
            store._connection.execute("DELETE FROM meta WHERE name = 'text_version'")
    with closing(RecordStore(path)) as store:
        assert keys(store, "brewing") == ["a"]


def test_what_is_taken_down_is_in_no_part_of_the_index(store, tmp_path):
    store.forget([1])
    assert store.scour(lambda: None)
    assert keys(store, "brewing") == []
    assert b"rewing" not in (tmp_path / "records.db").read_bytes()


def test_the_index_of_records_belongs_to_the_transaction_that_changes_them(store, monkeypatch):
    def fail(link, record):
        raise KeyboardInterrupt

    before = everything(store.path)
    with monkeypatch.context() as patched:
        patched.setattr(record_index, "put", fail)
        with pytest.raises(KeyboardInterrupt):
            store.settle([seen(9, "a", {"title": "Changed"}, "other", "https://tea.example/", NEW)], 9)
    assert everything(store.path) == before
    assert store.checkpoint() == 4
