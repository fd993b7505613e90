"""The store of JSON records."""

import sqlite3
from contextlib import closing, nullcontext
from datetime import UTC, datetime

from windrow.adapters.selection import CountsUnrepaired
from windrow.contract import AttemptObservations, Observation, PendingAsk, Skip
from windrow.query import parse
from windrow.reasons import Reason
from windrow.stores import record_tables
from windrow.stores.late_attempts import LateAttemptStore
from windrow.stores.records import RecordStore


def observe(attempt, *observed, url="http://a.example/", source="a"):
    return AttemptObservations(attempt, datetime(2026, 1, attempt, tzinfo=UTC), url, source, observed)


def observe_k(attempt, record, aside):
    return observe(attempt, Observation("k", record, "text", aside=aside))


def test_what_stands_aside_is_kept_as_it_was_first_seen_and_makes_no_version(tmp_path):
    store = RecordStore(tmp_path / "a.db")
    store.settle([observe_k(1, {"n": 1}, {"markup": "<b>1</b>"}), observe_k(2, {"n": 1}, {"markup": "<i>1</i>"})], 2)
    store.settle([observe_k(3, {"n": 2}, {"markup": "<i>2</i>"})], 3)
    assert [(version.change, version.aside) for version in store.history("k")] == [
        ("new", '{"markup": "<b>1</b>"}'),
        ("same", '{"markup": "<b>1</b>"}'),
        ("changed", '{"markup": "<i>2</i>"}'),
    ]
    assert store.changed_keys((1, 1)) == store.changed_keys((3, 3)) == ["k"]
    assert store.changed_keys((2, 2)) == store.changed_keys((4, 9)) == []
    assert store.count_records([1, 2, 3]) == {1: (1, 1), 2: (1, 0), 3: (1, 0)}
    assert not list(store.faults())
    store.close()


def test_records_with_equal_values_have_what_stands_aside_of_their_own(tmp_path):
    """Two towns may list an equal event: a takedown of one must not leave its markup with the other."""
    with closing(RecordStore(tmp_path / "a.db")) as store:
        towns = [Observation(key, {"n": 1}, "text", aside={"by": key}) for key in ("a", "b")]
        store.settle([observe(1, towns[0]), observe(2, towns[1], source="b")], 2)
        later = [town._replace(aside={"by": "later"}) for town in towns]
        store.settle([observe(3, *later), observe(4, *towns)], 4)
        for key in ("a", "b"):
            assert [version.aside for version in store.history(key)] == [f'{{"by": "{key}"}}'] * 3
            assert {version.change for version in store.history(key)[1:]} == {"same"}
        assert not list(store.faults())
        store.settle([observe(attempt) for attempt in (1, 3, 4)], 4)
        store.finish(0, lambda: True)
        assert [json for (json,) in store._connection.execute("SELECT aside FROM value")] == ['{"by": "b"}']


def test_written_keys_has_a_record_whose_answer_came_in_a_later_session(tmp_path):
    store = RecordStore(tmp_path / "a.db")
    early, late = Observation("early", {"n": 1}), Observation("late", {"n": 1})
    store.settle([observe(1, PendingAsk("tei", 7)), observe(2, early)], 2, 10)
    assert store.written_keys(0) == (["early"], 10)
    store.settle([observe(1, late)], 2, 20)
    assert store.written_keys(10) == (["late"], 20)
    assert store.written_keys(20) == ([], 20)
    store.close()


def test_of_two_entries_of_a_document_that_are_one_record_the_second_is_counted_as_skipped(tmp_path):
    with closing(RecordStore(tmp_path / "a.db")) as store:
        by_key = observe(1, Observation("k", {"n": 1}), Observation("k", {"n": 1}), Observation("k", {"n": 2}))
        by_alias = observe(
            2, Observation("http://x", {"n": 1}, aliases=("x",)), Observation("https://x", {"n": 2}, aliases=("x",))
        )
        repeated = store.settle([by_key, by_alias], 2)
        assert [(attempt, skip.key, skip.reason) for attempt, skip in repeated] == [
            (1, "k", Reason.LISTED_TWICE),
            (2, "https://x", Reason.LISTED_TWICE),
        ]
        assert store.latest(["k", "http://x"]) == {"k": {"n": 1}, "http://x": {"n": 1}}
        assert [skip.attempt for skip in store.skipped("https://x")] == [2]
        assert store.settle([by_key, by_alias], 2) == repeated, "reading it again changes nothing"
        assert not list(store.faults())


def test_a_reading_that_was_stopped_adds_to_what_was_read_of_an_attempt_and_replaces_nothing(tmp_path):
    with closing(LateAttemptStore(tmp_path / "a.db")) as store:
        store.settle([observe(1, Observation("k", {"text": "the whole text"}))], 1)
        for key in ("k", ""):
            part, other = Observation("k", {"text": "the"}), Observation("l", {"text": "other"})
            assert store.settle([observe(1, part, other, Skip(Reason.TIME_LIMIT, key))], 1) == []
            assert store.latest(["k", "l"]) == {"k": {"text": "the whole text"}, "l": {"text": "other"}}
        assert store.late_records(store.late_attempts()) == {"l": []}


def test_what_a_source_left_out_is_counted_by_number_until_this_source_reads_its_address(tmp_path):
    with closing(RecordStore(tmp_path / "a.db")) as store:
        broken = Skip(Reason.NOT_VALID, "", "it is no object")
        store.settle([observe(1, broken, broken, Skip(Reason.NOT_WELL_FORMED, "JSON-LD", "m", 7))], 1)
        store.settle([observe(2, Skip(Reason.NO_TITLE, "k"), source="b")], 2)
        assert store.count_unrepaired({}) == {"not_valid": 2, "not_well_formed": 7, "no_title": 1}
        assert store.count_skipped((1, 1), {}) == {"not_valid": 2, "not_well_formed": 7}
        store.settle([observe(3, Observation("k", {"n": 1}), source="b")], 3)
        assert store.count_unrepaired({}) == {"not_valid": 2, "not_well_formed": 7}
        store.settle([observe(4, Observation("l", {"n": 1}))], 4)
        assert store.count_unrepaired({}) == {}


def test_a_row_that_was_left_out_is_counted_until_its_list_or_its_record_is_read(tmp_path):
    row, page = Skip(Reason.NO_TITLE, "k"), Observation("l", {"n": 1}, url="http://a.example/l")
    with closing(RecordStore(tmp_path / "a.db")) as store:
        store.settle([observe(1, row, page), observe(2, row, url="http://a.example/2")], 2)
        store.settle([observe(3, Skip(Reason.TIME_LIMIT, "m"))], 3)
        assert store.count_unrepaired({}) == {"no_title": 1, "time_limit": 1}, "the list was not read"
        store.settle([observe(4, page)], 4)
        assert store.count_unrepaired({}) == {"no_title": 1}, "the record has an address of its own"
        store.settle([observe(5, row), observe(6)], 6)
        assert store.count_unrepaired({}) == {"no_title": 1}, "the list is empty now"
        store.settle([observe(7, Observation("k", {"n": 1}), url="http://a.example/k")], 7)
        assert store.count_unrepaired({}) == {}
        with closing(RecordStore(tmp_path / "b.db")) as replayed:
            replayed.copy_undone(store, range(8))
            assert replayed.count_unrepaired({}) == {"no_title": 1}, "it has no records"


def test_what_several_lists_leave_out_under_its_address_is_counted_once(tmp_path):
    address = "http://a.example/k"
    with closing(RecordStore(tmp_path / "a.db")) as store:
        for attempt in (1, 2):
            skips = (Skip(Reason.NO_TITLE, address), Skip(Reason.NO_TEXT, "row 3"))
            store.settle([observe(attempt, *skips, url=f"http://a.example/list?page={attempt}")], attempt)
        assert store.count_unrepaired({}) == {"no_title": 1, "no_text": 2}, "other keys may name another thing"
        store.settle([observe(3, Observation("x", {"n": 1}), url="http://a.example/list?page=2")], 3)
        assert store.count_unrepaired({}) == {"no_title": 1, "no_text": 1}, "the first list still leaves it out"
        store.settle([observe(4, Observation(address, {"n": 1}), url="http://a.example/list?page=3")], 4)
        assert store.count_unrepaired({}) == {"no_text": 1}


def test_a_time_of_the_source_in_the_future_does_not_hide_what_is_read_later(tmp_path):
    with closing(RecordStore(tmp_path / "a.db")) as store:
        for attempt, at in ((1, None), (2, datetime(2099, 1, 1, tzinfo=UTC)), (3, None)):
            store.settle([observe(attempt, Observation("k", {"n": attempt}, at=at))], attempt)
        assert [version.at.day for version in store.history("k")] == [1, 2, 3]
        assert store.latest(["k"]) == {"k": {"n": 3}}
        with closing(RecordStore(tmp_path / "b.db")) as replayed:
            replayed.carry_over(store, ())
            assert replayed.history("k") == store.history("k")


def test_a_store_of_an_earlier_windrow_gets_the_source_of_what_it_skips(tmp_path):
    with closing(RecordStore(tmp_path / "a.db")) as store:
        store.settle([observe(1, Skip(Reason.NO_TEXT, "k"))], 1)
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        for column in ("source", "number", "replaced"):
            database.execute(f"ALTER TABLE skipped DROP COLUMN {column}")
    with closing(RecordStore(tmp_path / "a.db", read_only=True)) as store:
        assert store.count_unrepaired({}) == {"no_text": 1}
    with closing(RecordStore(tmp_path / "a.db")) as store:
        assert store.count_unrepaired({}) == {"no_text": 1}
        store.settle([observe(2, Skip(Reason.NO_TITLE, "k"))], 2)
        assert store.count_unrepaired({}) == {"no_title": 1}
        store.settle([observe(3, Observation("k", {"n": 1}))], 3)
        assert store.count_unrepaired({}) == {}


def test_a_record_is_said_to_be_gone_by_a_name_it_went_by_and_nothing_is_where_nothing_has_the_name(tmp_path):
    def observe_named(attempt, key, record, *names):
        return observe(attempt, Observation(key, record, "text", names=names))

    store = RecordStore(tmp_path / "a.db")
    store.settle([observe_named(1, "k", {"n": 1}, "number 1"), observe_named(2, "l", {"n": 2}, "number 2")], 2)
    store.settle([observe_named(3, "moved", {"n": 1}, "number 1")], 3)
    store.settle(
        [
            observe_named(4, "?", None, "number 1"),
            observe_named(5, "?", None, "number 3"),
            observe_named(6, "l", None, "l"),
        ],
        6,
    )
    assert [version.change for version in store.history("k")] == ["new", "gone"]  # it moved
    assert [version.change for version in store.history("moved")] == ["new", "gone"]
    assert [version.change for version in store.history("l")] == ["new", "gone"]
    assert not store.has_record("?")
    store.forget([2, 3, 6])
    store.settle([observe_named(7, "?", None, "number 2")], 7)
    assert not store.has_record("l")
    store.close()


def test_a_record_that_moved_stays_gone_whichever_attempt_is_settled_again(tmp_path):
    def article(attempt, key):
        return observe(attempt, Observation(key, {"n": 1}, "text", url=key, names=("n/1",)))

    entries = [article(1, "old"), article(2, "new"), article(3, "new")]
    store = RecordStore(tmp_path / "a.db")
    for entry in entries:
        store.settle([entry], entry.attempt)
    for again in (entries[1:2], entries[:1], entries, entries[::-1]):
        store.settle(again, 3)
        changes = {key: [version.change for version in store.history(key)] for key in ("old", "new")}
        assert changes == {"old": ["new", "gone"], "new": ["new", "same"]}
    store.settle([article(4, "newest")], 4)  # the name is still that of "new"
    assert [store.history(key)[-1].change for key in ("old", "new", "newest")] == ["gone", "gone", "new"]
    assert list(store.faults()) == []
    store.close()


def test_what_a_attempt_said_stays_where_it_is_not_read_again_by_no_fault_of_its_bytes(tmp_path):
    store = RecordStore(tmp_path / "a.db")

    store.settle([observe(5, Observation("k", {"n": 1}), Observation("l", {"n": 1}))], 5, 1)
    store.settle([observe(5, Skip(Reason.TIME_LIMIT, "", "stopped"))], 5, 2)
    assert {version.key: version.value for version in store.versions()} == {"k": {"n": 1}, "l": {"n": 1}}
    assert [(skip.reason, skip.message) for skip in store.skipped(attempts=[5])] == [(Reason.TIME_LIMIT, "stopped")]
    assert list(store.written_versions((2, 2))) == []
    store.settle([observe(5, Observation("k", {"n": 2}), Skip(Reason.STEP_FAILED, "l"))], 5, 3)
    assert {version.key: version.value for version in store.versions()} == {"k": {"n": 2}, "l": {"n": 1}}
    store.settle([observe(5, Skip(Reason.NOT_VALID))], 5, 4)
    assert store.count() == (0, 0), "of its bytes, which were read, nothing is made any more"
    assert not list(store.faults())
    store.close()


def test_each_reason_why_a_part_without_a_key_is_left_out_is_kept(tmp_path):
    store = RecordStore(tmp_path / "a.db")
    skips = (
        Skip(Reason.CAPPED, "", "more than 500 references", 7),
        Skip(Reason.CAPPED, "", "more than 9 pages", 1_200),
        Skip(Reason.BAD_DATE, "", "the date is 31 June"),
        Skip(Reason.BAD_DATE, "", "the date is 32 July"),
    )
    store.settle([observe(5, Observation("k", {"n": 1}), *skips)], 5, 1)
    assert sorted(skip.message for skip in store.skipped(attempts=[5])) == [
        "more than 500 references: 7 left out", "more than 9 pages: 1,200 left out",
        "the date is 31 June", "the date is 32 July",
    ]  # fmt: skip
    store.close()


def test_half_a_character_of_a_source_is_stored_as_a_mark_and_stops_nothing(tmp_path):
    store = RecordStore(tmp_path / "records.db")
    half = "\ud800 half"
    observed = (
        Observation("key", {"title": half}, half, aside={"text": half}),
        Skip(Reason.INCOMPLETE_RECORD, half, half),
    )
    store.settle([observe(1, *observed)], 1)
    assert store.history("key")[0].value == {"title": "? half"}
    assert list(store.faults()) == []
    store.close()


def test_the_history_of_one_record_is_looked_up_without_a_look_at_all_others(tmp_path):
    store = RecordStore(tmp_path / "records.db")
    store.settle([observe_k(1, {"n": 1}, {}), observe_k(2, {"n": 2}, {})], 2)
    queries = []
    store._connection.set_trace_callback(queries.append)
    assert [version.change for version in store.history("k")] == ["new", "changed"]
    assert store.history("none") == []
    store._connection.set_trace_callback(None)
    plans = [row[3] for query in queries for row in store._connection.execute(f"EXPLAIN QUERY PLAN {query}")]
    assert not [plan for plan in plans if plan.startswith("SCAN observation")]
    store.close()


def test_what_is_told_beside_requests_holds_until_they_are_answered_and_replaces_nothing(tmp_path):
    store = RecordStore(tmp_path / "records.db")

    def record_values():
        return [version.value for version in store.history("key")]

    store.settle([observe(1, Observation("key", {"n": 1}), PendingAsk("tei", 7))], 1)
    assert record_values() == [{"n": 1}]
    assert store.waiting(0) == {1: [PendingAsk("tei", 7)]}
    store.settle([observe(1, Observation("key", {"n": 1, "answer": True}))], 1)
    assert record_values() == [{"n": 1, "answer": True}]
    assert not store.waiting(0)
    store.settle([observe(1, Observation("key", {"n": 1}), PendingAsk("tei", 8))], 1)
    assert record_values() == [{"n": 1, "answer": True}], "what it told before holds"
    assert store.waiting(0)
    assert list(store.faults()) == []
    store.close()


def test_a_thing_that_is_told_of_by_several_spellings_of_its_key_is_one_record_by_the_first(tmp_path):
    def observe_aliased(attempt, key, record, *aliases, source="a"):
        return observe(attempt, Observation(key, record, "text", url=key, aliases=aliases), url=key, source=source)

    store = RecordStore(tmp_path / "a.db")
    store.settle([observe_aliased(1, "http://k?x", {"url": "http://k?x", "n": 1}, "k", "canon"),
                  observe_aliased(2, "https://k", {"url": "https://k", "n": 1}, "k")], 2)  # fmt: skip
    store.settle([observe_aliased(3, "http://canon", {"url": "http://canon", "n": 2}, "canon", "third"),
                  observe_aliased(4, "http://l", {"url": "http://l", "n": 3}, "l", "k", source="b"),
                  observe_aliased(5, "http://m", {"url": "http://m", "n": 3}, "m")], 5)  # fmt: skip
    assert [(version.change, version.url, version.value) for version in store.history("http://k?x")] == [
        ("new", "http://k?x", {"url": "http://k?x", "n": 1}),
        ("same", "https://k", {"url": "http://k?x", "n": 1}),
        ("changed", "http://canon", {"url": "http://k?x", "n": 2}),
        ("changed", "http://l", {"url": "http://k?x", "n": 3}),
    ]
    assert store.count()[0] == 2
    assert not store.has_record("https://k")
    assert store.history("http://m")[0].value == {"url": "http://m", "n": 3}
    with closing(RecordStore(tmp_path / "b.db")) as second_store:
        second_store.carry_over(store, {"b"})
        second_store.settle([observe_aliased(6, "http://third", {"n": 4}, "third", source="b")], 6)
        assert [version.value for version in second_store.history("http://k?x")][-1] == {"n": 4}
    store.forget([1, 2, 3, 4])
    store.settle([observe_aliased(7, "https://k", {"n": 1}, "k")], 7)
    assert store.has_record("https://k")  # nothing of what was forgotten names it
    assert list(store.faults()) == []
    store.close()


def test_things_with_other_names_and_other_texts_are_records_of_their_own_even_at_one_address(tmp_path):
    def post(key, name, text="", alias="k"):
        return Observation(key, {"url": key, "text": text or name}, text or name, names=(name,), aliases=(alias,))

    def texts(store):
        keys = ("http://k", "http://k#n2", "https://k/3", "https://k/4", "http://k#n5")
        return {key: [version.value["text"] for version in store.history(key) if version.value] for key in keys}

    store = RecordStore(tmp_path / "a.db")
    entries = [
        observe(1, post("http://k", "n1"), post("http://k", "n2"), post("https://k/3", "n3")),
        observe(2, post("http://k", "n2", "edited"), post("http://k", "n1"), post("https://k/4", "n4", "n3", "k/3")),
        observe(3, Observation("n1", None, names=("n1",)), post("http://k", "n2", "edited")),
    ]
    for _ in range(2):  # reading attempts again changes nothing
        store.settle(entries, 3)
        assert texts(store) == {
            "http://k": ["n1", "n1"], "http://k#n2": ["n2", "edited", "edited"], "https://k/3": ["n3"],
            "https://k/4": ["n3"], "http://k#n5": [],
        }  # fmt: skip
    assert store.history("http://k#n2")[0].value["url"] == "http://k#n2"
    store.settle([observe(4, post("http://k", "n5"))], 4)  # the post that had the address is gone
    store.settle([observe(5, post("http://k", "another system/1"))], 5)  # which may have the same post
    assert texts(store)["http://k"] == ["n1", "n1", "n5", "another system/1"]
    store.settle([
        observe(6, Observation("u/1", {"n": 1}, names=("uuid",)), Observation("u/2", {"n": 2})),
        observe(7, Observation("u/2", {"n": 2}, names=("uuid",))), observe(8, Observation("u/3", {"n": 2}, names=("uuid",))),
    ], 8)  # fmt: skip
    changes = {key: [version.change for version in store.history(key)] for key in ("u/1", "u/2", "u/3")}
    assert changes == {"u/1": ["new", "gone"], "u/2": ["new", "same"], "u/3": ["new"]}  # the last one has moved
    assert list(store.faults()) == []
    store.close()


def test_a_record_of_two_sources_remains_if_one_of_them_gets_a_record_of_its_own_at_its_address(tmp_path):
    def claim(attempt, key):
        return observe(attempt, Observation(key, {"n": attempt}, names=("list/1",)), source="list")

    with closing(RecordStore(tmp_path / "a.db")) as store:
        owner = [observe(2, Observation("k", {"n": 2}), source="owner")]
        for own_observations in (owner, []):
            store.settle([claim(1, "k"), *own_observations, claim(3, "k#list/1")], 3)
            store.settle([observe(4, Observation("list/1", None, names=("list/1",)), source="list")], 4)
            assert store.history("k#list/1")[-1].change == "gone"
            assert store.history("k")[-1].change == ("changed" if own_observations else "gone")
            store.forget([1, 2, 3, 4])


def test_searches_find_other_forms_after_the_word_as_typed_and_count_by_facet(tmp_path):
    def article(key, title, language):
        return Observation(key, {"title": title, "language": language}, title)

    store = RecordStore(tmp_path / "a.db")
    plural, typed = article("plural", "Harbours, harbours", "en-US"), article("typed", "A harbour of old", "en")
    german = article("german", "Harboured", "de")
    store.settle([observe(1, plural, typed), observe(2, german, source="b")], 2)
    found = store.search(parse("harbour"), "news", offset=0, limit=10)
    assert [entry.key for entry in found.entries] == ["typed", "plural"]
    assert [entry.key for entry in store.search(parse("harbour"), "news", offset=1, limit=1).entries] == ["plural"]
    assert found.forms == ("harboured", "harbours")
    assert [entry.key for entry in store.search(parse("harboured lang:de"), "news", offset=0, limit=9).entries] == [
        "german"
    ]
    counts = store.search(parse("harbour* OR harboured"), "news", offset=0, limit=1, facets=True).counts
    assert (counts.documents, counts.facets) == (3, {
        "source": {"a": 2, "b": 1}, "language": {"en": 2, "de": 1}, "type": {"news": 3}, "year": {"2026": 3},
    })  # fmt: skip
    assert store.search(parse("nothing"), "news", offset=0, limit=1, facets=True).counts.documents == 0
    store.close()


def test_a_record_is_counted_for_the_source_that_observed_it_last(tmp_path):
    with closing(RecordStore(tmp_path / "a.db")) as store:
        here, there = Observation("moved", {"n": 1}), Observation("moved", {"n": 2})
        store.settle([observe(1, here), observe(2, there, source="b"), observe(3, Observation("gone", {"n": 1}))], 3)
        store.settle([observe(4, Observation("gone", None)), observe(5, Observation("late", {"n": 1}))], 5)
        assert store.count_by_source() == {"a": 1, "b": 1}
        plan = store._connection.execute(f"EXPLAIN QUERY PLAN {record_tables.COUNT_BY_SOURCE}").fetchall()
        assert not any("SCAN o" in line for *_, line in plan), "each record needs its last observation only"


def test_what_could_not_be_read_is_counted_until_a_later_attempt_reads_it(tmp_path):
    class Adapter(CountsUnrepaired):
        _store = staticmethod(nullcontext)

    store, adapter = RecordStore(tmp_path / "a.db"), Adapter()
    broken, elsewhere = Skip(Reason.NO_TEXT, "k"), "http://a.example/2"
    store.settle([observe(1, broken), observe(2, Skip(Reason.ENCRYPTED), Skip(Reason.NOT_WANTED), url=elsewhere)], 2)
    store.settle([observe(3, Skip(Reason.TIME_LIMIT), url="http://a.example/3")], 3)
    assert adapter.count_skipped(store, None) == {"no_text": 1, "encrypted": 1}, "rules and faults have other counts"
    assert adapter.count_skipped(store, (1, 3)) == {}, "the session reports them as left out"
    store.settle([observe(4, Observation("k", {"n": 1}))], 4)
    assert adapter.count_skipped(store, None) == {"encrypted": 1}
    assert adapter.count_skipped(None, None) == {}
    store.close()


def test_changes_of_one_attempt_are_found_without_computing_all_versions(tmp_path):
    """With 600 records, the versions of all of them take over 100 rounds of 1,000 instructions."""
    with closing(RecordStore(tmp_path / "a.db")) as store:
        store.settle([observe(1, *(Observation(f"k{number}", {"n": number}) for number in range(600)))], 1, 10)
        store.settle([observe(2, Observation("k7", {"n": -7}))], 2, 20)
        rounds = []
        store._connection.set_progress_handler(lambda: rounds.append(1), 1_000)
        changed = [(old.value, new.value) for old, new in store.changed_versions((2, 2))]
        assert (
            changed
            == [(old.value, new.value) for old, new in store.written_versions((20, 20))]
            == [({"n": 7}, {"n": -7})]
        )
        assert store.count_changes((2, 2), by_attempt=True) == store.count_changes((20, 20)) == {"a": {"changed": 1}}
        assert len(rounds) < 5
        assert len([*store.changed_versions((1, 2))]) == 601  # more than are read at once
