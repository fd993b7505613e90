"""Records are searched with the query language of pages, and their index equals a fresh one."""

import random
import shutil
import signal
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from tests import programs
from tests.unwritable import unwritable
from windrow.contract import AttemptObservations, Observation
from windrow.errors import ConfigError
from windrow.query import parse
from windrow.stores.index.folder import index_folder, lock_folder
from windrow.stores.records import RecordStore
from windrow.stores.sqlite import close_into_file

NEW, OLD = datetime(2026, 5, 1, tzinfo=UTC), datetime(2024, 5, 1, tzinfo=UTC)
LATER = datetime(2026, 6, 1, tzinfo=UTC)
RECORDS = (
    ("a", {"title": "Green tea"}, "Brewing green tea takes two minutes.", "https://www.tea.example/green", NEW),
    ("b", {"title": "Black tea"}, "Black tea wilts first, green does not.", "https://shop.example:8443/black", OLD),
    ("c", {"name": "Café Ørsted"}, "A house for coffee; asyncio.Queue.put_nowait.", "https://tea.example/cafe", OLD),
    ("d", {"other": 1}, "東京 and its stations", "http://far.example/x?tea=1", NEW),
)


def observe(attempt, key, record, text, url, at):
    return AttemptObservations(attempt, at, url, "here", (Observation(key, record, text, at, url),))


@pytest.fixture
def store(tmp_path):
    opened = RecordStore(tmp_path / "records.db")
    opened.settle([observe(number, *record) for number, record in enumerate(RECORDS, 1)], 4)
    yield opened
    opened.close()


def keys(store, text):
    return [entry.key for entry in store.search(parse(text), "things", offset=0, limit=10).entries]


@pytest.mark.parametrize(("typed", "keys_found"), [
    ("green tea", "ab"), ('"green tea"', "a"), ("green -black", "a"), ("tea OR coffee", "abcd"), ("caf*", "c"),
    ("CAFE orsted", "c"), ("東", "d"), ("title:tea", "ab"), ("title:te*", "ab"), ("inurl:tea", "acd"),
    ("site:tea.example", "ac"), ("host:tea.example", "c"), ("host:www.", "a"), ("site:shop.example:8443", "b"),
    ("url:tea.example/cafe", "c"), ("after:2026", "ad"), ("before:2026 tea", "bc"), ("updated-after:2026-05 tea", "ad"),
    ("type:things tea", "abcd"), ("type:html tea", ""), ("-type:html", "abcd"), ("lang:de", ""), ("is:leaf", ""),
    ("seen:2024-05", "bc"), ("(green OR black) -site:shop.example", "a"), ("asyncio.Queue.put_nowait", "c"),
    ("as-of:2025-01-01 tea", ""), ("!!!", ""), ("zebra", ""),
])  # fmt: skip
def test_records_are_found_by_words_phrases_and_filters_as_pages_are(store, typed, keys_found):
    assert "".join(sorted(keys(store, typed))) == keys_found


def test_records_with_most_of_the_words_are_found_where_none_has_all_and_that_is_told(store):
    answer = store.search(parse("brewing green tea zebra"), "things", offset=0, limit=10)
    assert answer.relaxed
    assert answer.entries[0].key == "a"
    assert answer.frequency["tea"] == 4
    assert answer.documents == 4


def test_a_record_that_is_titled_so_comes_before_one_that_only_speaks_of_it(store):
    assert keys(store, "black")[0] == "b"
    assert keys(store, "green")[0] == "a"


def answers(store):
    """Return the keys found by searches of every kind, in order where times define one."""
    asked = (
        "title",
        "text",
        "0",
        "title:title",
        "-text",
        "after:2026",
        "seen:2026-01",
        "inurl:k1",
        "k3 k4",
        "host:.example",
    )
    found_keys = [sorted(keys(store, text)) for text in asked]
    return [
        *found_keys,
        keys(store, "-zebra"),
        [*store.search(parse("type:things"), "things", offset=2, limit=3).entries],
    ]


def change_randomly(store, rng):
    for attempt in range(1, 120):
        key, at = f"k{rng.randrange(12)}", datetime(2026, 1, 1 + rng.randrange(28), tzinfo=UTC)
        record = None if rng.random() < 0.2 else {"title": f"Title {rng.randrange(4)}"}
        text = f"text {rng.randrange(5)}"
        store.settle([observe(attempt, key, record, text, f"https://a.example/{key}", at)], attempt)
        if rng.random() < 0.1:
            store.forget(rng.sample(range(1, attempt + 1), min(attempt, 5)))
        yield


def test_the_index_of_records_is_as_a_fresh_one_after_any_changes_and_takedowns(tmp_path):
    rng = random.Random(7)
    path = tmp_path / "records.db"
    store = RecordStore(path)
    for _ in change_randomly(store, rng):
        if rng.random() < 0.1:
            store.update_index(lambda: True)
            assert list(store.index_faults()) == []
    assert list(store.faults()) == []
    before = answers(store)
    assert before[0]
    assert list(store.index_faults()) == []
    store.rebuild_index(lambda: True)
    assert list(store.index_faults()) == []
    assert answers(store) == before
    shutil.rmtree(index_folder(path))  # the next search makes it
    assert answers(store) == before
    store.close()


def test_the_check_of_records_tells_of_an_index_that_is_not_as_it_should_be(store):
    assert list(store.index_faults()) == [], "none was made yet"
    store.update_index(lambda: True)
    assert list(store.index_faults()) == []
    store._connection.execute("UPDATE indexed SET stamp = 1 WHERE record = 1")
    store._connection.execute("DELETE FROM indexed WHERE record = 2")
    assert list(store.index_faults()) == ["the search index is out of date for 3 records"]
    shutil.rmtree(index_folder(store.path))
    assert list(store.index_faults()) == ["the search index is missing, or was not written from this store"]
    assert keys(store, "brewing") == ["a"]
    assert list(store.index_faults()) == []


def test_an_index_that_is_behind_catches_up_with_its_store_when_it_is_searched(store):
    assert keys(store, "brewing") == ["a"]
    before = read_tree(index_folder(store.path))
    assert keys(store, "brewing") == ["a"]
    assert read_tree(index_folder(store.path)) == before, "nothing is written where nothing changed"
    store.settle([observe(5, "a", {"title": "Tea"}, "Pouring", "https://www.tea.example/green", LATER)], 5)
    assert keys(store, "brewing") == []
    assert keys(store, "pouring") == ["a"]
    store.settle([observe(6, "a", None, "", "https://www.tea.example/green", LATER.replace(month=7))], 6)
    assert keys(store, "pouring") == []
    store.settle([observe(7, "b", *RECORDS[1][1:])], 7)
    commit = store._meta("index_commit")
    store.update_index(lambda: True)
    assert store._meta("index_commit") == commit, "what says the same as before is not written again"


def read_tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_index_of_another_file_is_not_asked(store, tmp_path):
    """As after a replay, whose new store replaces the old one, and after a copy is restored."""
    assert keys(store, "brewing") == ["a"]
    second_store = RecordStore(tmp_path / "other.db")
    second_store.settle([observe(1, "z", {"title": "Brewing"}, "beer", "https://z.example/", NEW)], 1)
    second_store.close()
    store.close()
    close_into_file(tmp_path / "other.db")
    close_into_file(store.path)
    copy = tmp_path / "copy.db"
    shutil.copyfile(store.path, copy)
    (tmp_path / "other.db").replace(store.path)
    with closing(RecordStore(store.path)) as swapped:
        assert keys(swapped, "brewing") == ["z"]
    copy.replace(store.path)
    with closing(RecordStore(store.path)) as back:
        assert keys(back, "brewing") == ["a"]


def test_an_older_copy_of_a_store_is_searched_as_it_is_and_goes_on_from_there(store, tmp_path):
    assert keys(store, "brewing") == ["a"]
    with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
        store._connection.backup(copy)
    store.settle([observe(5, "e", {"title": "Brewing too"}, "beer", "https://z.example/", NEW)], 5)
    assert sorted(keys(store, "brewing")) == ["a", "e"]
    store.close()
    (tmp_path / "copy.db").replace(store.path)
    with closing(RecordStore(store.path)) as back:
        back.settle([observe(5, "f", {"title": "Wilting"}, "beer", "https://z.example/", NEW)], 5)
        assert keys(back, "brewing") == ["a"]
        assert keys(back, "beer") == ["f"]
        assert list(back.index_faults()) == []


DAMAGES = {
    "no list of segments": lambda text: (text / "meta.json").unlink(),
    "half a list": lambda text: (text / "meta.json").write_text('{"segments": ['),
    "another list": lambda text: (text / "meta.json").write_text("[]"),
    "no segment": lambda text: [path.unlink() for path in text.glob("*.term")],
    "half a segment": lambda text: [path.write_bytes(path.read_bytes()[:9]) for path in text.glob("*.idx")],
    "no positions": lambda text: [path.unlink() for path in text.glob("*.pos")],
    "other bytes": lambda text: [path.write_bytes(bytes(60) + path.read_bytes()[60:]) for path in text.glob("*.pos")],
    "other numbers": lambda text: [
        path.write_bytes(b"\x55" * 60 + path.read_bytes()[60:]) for path in text.glob("*.fast")
    ],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_torn_index_is_made_anew_from_the_records(store, damage):
    assert keys(store, '"green tea"') == ["a"]
    DAMAGES[damage](index_folder(store.path) / "text")
    assert keys(store, '"green tea"') == ["a"]
    assert sorted(keys(store, "tea")) == ["a", "b", "c", "d"]
    assert list(store.index_faults()) == []


def test_a_folder_of_somebody_else_beside_a_store_is_refused_and_left_alone(store):
    folder = index_folder(store.path)
    folder.mkdir()
    (folder / "letters.txt").write_text("mine")
    for act in (lambda: keys(store, "tea"), lambda: store.update_index(lambda: True)):
        with pytest.raises(ConfigError, match="has files that are not an index of windrow"):
            act()
    assert read_tree(folder) == {"letters.txt": b"mine"}


def test_what_is_taken_down_is_in_no_part_of_store_and_index(store, tmp_path):
    assert keys(store, "brewing") == ["a"]
    store.forget([1])
    store.rebuild_index(lambda: True)
    assert store.erase_deleted(lambda: None)
    assert keys(store, "brewing") == []
    held = (tmp_path / "records.db").read_bytes() + b"".join(read_tree(index_folder(store.path)).values())
    assert b"rewing" not in held


def test_what_was_touched_is_noted_in_the_transaction_that_changes_it(store, monkeypatch):
    def fail(self, records):
        raise KeyboardInterrupt

    assert keys(store, "brewing") == ["a"]
    before = [*store._connection.execute("SELECT * FROM unindexed")]
    with monkeypatch.context() as patched:
        patched.setattr(RecordStore, "_mark_unindexed", fail)
        with pytest.raises(KeyboardInterrupt):
            store.settle([observe(9, "a", {"title": "Changed"}, "other", "https://tea.example/", NEW)], 9)
    assert [*store._connection.execute("SELECT * FROM unindexed")] == before
    assert keys(store, "brewing") == ["a"]
    assert store.checkpoint() == 4


def test_while_another_process_writes_the_index_a_search_still_finds_what_is_new(store):
    assert keys(store, "brewing") == ["a"]
    before = read_tree(index_folder(store.path))
    store.settle([observe(5, "e", {"title": "Brewing too"}, "beer", "https://z.example/", NEW)], 5)
    with lock_folder(index_folder(store.path), lambda: False):
        assert sorted(keys(store, "brewing")) == ["a", "e"]
        assert read_tree(index_folder(store.path)) == before
    assert sorted(keys(store, "brewing")) == ["a", "e"]
    assert list(store.index_faults()) == []


@pytest.mark.parametrize("text", ["a\0b tea", "half \ud800 tea", "z" * 3_000_000 + " tea", "tea " * 2_500_000],
                         ids=["null", "surrogate", "long", "large"])  # fmt: skip
def test_any_text_can_be_put_in_and_found(store, text):
    store.settle(
        [observe(5, "odd", {"title": text[:200_000]}, text, "https://odd.example/\0\ud800?" + "x" * 70_000, LATER)], 5
    )
    assert "odd" in keys(store, "tea")
    assert keys(store, "host:odd.example") == []  # the address is longer than an address may be
    assert list(store.index_faults()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from windrow.stores import record_index
from windrow.stores.index import fulltext_index
from windrow.stores.records import RecordStore

left = int(sys.argv[2])
record_index.BATCH_SIZE = 5

def kill_within(function):
    def call(*args, **more):
        global left
        for _ in range(2):  # before and after the call
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            result = function(*args, **more) if not _ else result
        return result
    return call

fulltext_index.FullTextIndex.write = kill_within(fulltext_index.FullTextIndex.write)
fulltext_index.FullTextIndex.empty = kill_within(fulltext_index.FullTextIndex.empty)
fulltext_index.prepare_folder = kill_within(fulltext_index.prepare_folder)
fulltext_index.write_note = kill_within(fulltext_index.write_note)
record_index.read_entry = kill_within(record_index.read_entry)
RecordStore(Path(sys.argv[1])).update_index(lambda: True)
"""


@pytest.mark.parametrize("index_state", ["behind", "gone"])
def test_after_a_kill_at_any_place_searches_answer_as_if_there_had_been_none(tmp_path, index_state):
    path = tmp_path / "records.db"
    store = RecordStore(path)
    rng = random.Random(3)
    for _ in change_randomly(store, rng):
        pass
    expected = answers(store)
    if index_state == "gone":
        shutil.rmtree(index_folder(path))
    else:
        for attempt, (key, record, text, url, at) in enumerate(RECORDS, 200):
            store.settle([observe(attempt, key, record, text, url, at)], attempt)
        expected = None
    killed = 0
    for number in range(0, 80, 3):
        process = programs.run("-c", KILLED, path, number)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, process.stderr
        killed += 1
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for file in tmp_path.glob("records.db*"):
            (shutil.copytree if file.is_dir() else shutil.copyfile)(file, copy / file.name)
        with closing(RecordStore(copy / "records.db")) as copied_store:
            after_kill = answers(copied_store)
            expected = expected or after_kill
            assert after_kill == expected, number
            assert list(copied_store.index_faults()) == []
    assert killed > 5
    assert answers(store) == expected
    store.close()


SEARCHED = """
import sys
from contextlib import closing
from pathlib import Path
from tests.unwritable import become_ordinary
from windrow.query import parse
from windrow.stores.records import RecordStore

become_ordinary()
with closing(RecordStore(Path(sys.argv[1]), read_only=True)) as store:
    print(*sorted(entry.key for entry in store.search(parse("brewing"), "things", offset=0, limit=10).entries))
    print(*store.index_faults())
"""


@pytest.mark.parametrize("index", ["current", "behind", "gone", "torn"])
def test_records_in_a_place_that_cannot_be_written_are_searched(store, tmp_path, index):
    keys(store, "brewing")
    store.settle([observe(5, "e", {"title": "Brewing too"}, "beer", "https://z.example/", NEW)], 5)
    if index != "behind":
        keys(store, "brewing")
    store.close()
    if index == "gone":
        shutil.rmtree(index_folder(store.path))
    if index == "torn":
        DAMAGES["other bytes"](index_folder(store.path) / "text")
    before = read_tree(tmp_path)
    with unwritable(tmp_path):
        process = programs.run("-c", SEARCHED, store.path)
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines()[0] == "a e"
    assert read_tree(tmp_path) == before
