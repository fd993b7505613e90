"""The changes in a store of records: between two attempts, and by source."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from windrow.adapters.adapter import Window
from windrow.adapters.record_changes import changes, compare, count_versions, describe_difference
from windrow.contract import AttemptObservations, Observation, Skip
from windrow.errors import WindrowError
from windrow.ledger import Ledger
from windrow.reasons import Reason
from windrow.stores.record_versions import Removal
from windrow.stores.records import RecordStore

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path):
    opened = RecordStore(tmp_path / "records.db")
    settled = (
        (1, "council", [("pier", {"status": "planned"}), ("lamps", {"status": "planned"})]),
        (2, "council", [("pier", {"status": "cancelled"}), ("lamps", {"status": "planned"})]),
        (3, "council", [("lamps", None)]),
        (4, "museum", [("boats", {"status": "open"})]),
    )
    for attempt, source, record_by_key in settled:
        observations = [Observation(key, record) for key, record in record_by_key]
        at = BEGIN + timedelta(days=attempt)
        opened.settle(
            [AttemptObservations(attempt, at, f"https://{source}.example/", source, tuple(observations))],
            attempt,
            attempt,
        )
    yield opened
    opened.close()


def test_changes_between_attempts_have_what_was_said_before(store: RecordStore) -> None:
    old_records = {
        (version.key, version.change): before.value if before else None
        for before, version in store.changed_versions((2, 3))
    }
    assert old_records == {("pier", "changed"): {"status": "planned"}, ("lamps", "gone"): {"status": "planned"}}
    assert {(version.key, version.change) for _, version in store.changed_versions((1, 1))} == {
        ("pier", "new"),
        ("lamps", "new"),
    }
    assert list(store.changed_versions((5, 9))) == []


def test_a_version_that_a_new_store_lacks_differs(store: RecordStore, tmp_path: Path) -> None:
    with closing(RecordStore(tmp_path / "new.db")) as new_store:
        for attempt, record in ((1, {"status": "planned"}), (2, {"status": "cancelled"})):
            at = BEGIN + timedelta(days=attempt)
            observation = AttemptObservations(
                attempt, at, "https://council.example/", "council", (Observation("pier", record),)
            )
            new_store.settle([observation], attempt, attempt)
    assert count_versions(tmp_path / "records.db", tmp_path / "new.db") == (5, 2, 3)
    assert count_versions(tmp_path / "new.db", tmp_path / "new.db") == (2, 2, 0)


def test_changes_and_what_is_there_are_counted_by_source(store: RecordStore) -> None:
    assert store.count_changes((2, 4)) == {"council": {"changed": 1, "gone": 1}, "museum": {"new": 1}}
    cancelled = Removal("status", "cancelled", "it was called off")
    assert store.count_changes((2, 4), cancelled) == {"council": {"gone": 2}, "museum": {"new": 1}}
    for first, last in ((1, 1), (1, 4), (2, 2), (5, 9)):
        counted = Counter((version.source, version.change) for _, version in store.changed_versions((first, last)))
        counts = store.count_changes((first, last), by_attempt=True)
        assert counted == {(source, kind): number for source, of in counts.items() for kind, number in of.items()}
    assert store.count_by_source() == {"council": 1, "museum": 1}


@pytest.mark.parametrize(
    ("key", "since", "until", "message"),
    [
        ("boats", "", "", "boats has only one version so far"),
        ("pier", "", "2026-11-02", "pier had only one version at the end of 2026-11-02"),
        ("pier", "2026-11-10", "", "pier has had no other version since the end of 2026-11-10"),
        ("pier", "2026-10", "", "pier was not known yet at the end of 2026-10"),
    ],
)
def test_a_comparison_with_no_other_version_says_why(
    store: RecordStore, key: str, since: str, until: str, message: str
) -> None:
    with pytest.raises(WindrowError) as caught:
        compare(store, key, since, until, context=3)
    assert str(caught.value) == message


def test_a_difference_names_few_fields_and_counts_the_others() -> None:
    assert describe_difference({"a": 1}, {"a": 2, "b": "x"}) == "a 1 -> 2; b nothing -> x"
    assert describe_difference({}, dict.fromkeys("abcdef", 1)).endswith("d nothing -> 1; 2 more fields")
    assert describe_difference("one", "two") == "one -> two"
    assert len(describe_difference({"text": "a" * 500}, {"text": "b" * 500})) < 150


def test_changes_have_the_changed_lines_of_long_texts_if_asked(tmp_path: Path) -> None:
    with closing(RecordStore(tmp_path / "records.db")) as store, closing(Ledger(Path(":memory:"))) as ledger:
        for attempt, text in ((1, "first\nsecond"), (2, "first\nthird")):
            at = BEGIN + timedelta(days=attempt)
            observation = Observation("pier", {"title": "Pier", "text": text})
            store.settle(
                [AttemptObservations(attempt, at, "https://a.example/", "a", (observation,))], attempt, attempt
            )
        for asks_for_lines, expected in ((True, ["-second", "+third"]), (False, [])):
            listed = changes(store, ledger, "notices", Window(facts=(2, 2), lines=asks_for_lines))
            assert [f"{sign}{text}" for change in listed for sign, text in change.lines if sign != "@"] == expected


def test_a_store_that_replaces_another_tells_of_each_session_what_that_one_told(tmp_path: Path) -> None:
    def observe(attempt: int, observation: Observation | Skip, source: str = "council") -> AttemptObservations:
        return AttemptObservations(attempt, BEGIN, f"https://{source}.example/", source, (observation,))

    pier, lamps = Observation("pier", {"n": 1}), Observation("lamps", {"n": 2})
    with closing(RecordStore(tmp_path / "a.db")) as before, closing(RecordStore(tmp_path / "b.db")) as after:
        before.settle([observe(5, Skip(Reason.TIME_LIMIT, ""))], 5, 1)
        before.settle([observe(6, Skip(Reason.TIME_LIMIT, ""), "museum")], 6, 1)
        before.settle([observe(9, Observation("boats", {"n": 3}))], 9, 8)
        before.settle([observe(5, pier), observe(6, lamps, "museum")], 9, 8)  # read late
        after.settle([observe(5, pier), observe(9, Observation("boats", {"n": 3}))], 9, 40)
        after.carry_over(before, {"council"})
        changes = [
            {session: {(version.key, version.change) for _, version in store.written_versions((session, session))}
             for session in (1, 8, 40)} for store in (before, after)
        ]  # fmt: skip
    assert changes[0] == {1: set(), 8: {("pier", "new"), ("lamps", "new"), ("boats", "new")}, 40: set()}
    assert changes[1] == changes[0]


def test_the_counts_of_a_session_are_kept_until_what_they_count_changes(store: RecordStore) -> None:
    def settle(attempt: int, record: object, *, session: int, day: int = 9) -> None:
        observation = Observation("pier", record)
        entry = AttemptObservations(
            attempt, BEGIN + timedelta(days=day), "https://a.example/", "council", (observation,)
        )
        store.settle([entry], attempt, session)
        store.finish(0, lambda: True)

    def kept() -> list[str]:
        query = "SELECT name FROM meta WHERE name GLOB 'changes *' ORDER BY name"
        return [name for (name,) in store._connection.execute(query)]

    settle(5, {"status": "open"}, session=5)
    assert kept() == ["changes 5 5"]
    settle(7, None, session=6, day=10)
    assert kept() == ["changes 5 5", "changes 7 7"]
    with store._writing():
        store._connection.execute("UPDATE meta SET value = ? WHERE name = 'changes 5 5'", ('{"council": {"new": 99}}',))
    assert store.count_changes((5, 6), by_attempt=True) == store.count_changes((5, 5)) == {"council": {"new": 99}}
    assert store.count_changes((5, 6)) == {"council": {"changed": 1, "gone": 1}}  # of both sessions together
    settle(8, {"status": "planned"}, session=7, day=3)  # a capture that is older than those before
    assert kept() == ["changes 8 8"]
    assert store.count_changes((5, 5)) == {"council": {"changed": 1}}
    settle(8, {"status": "again"}, session=8, day=3)  # which is read again, otherwise
    assert kept() == []
    settle(9, {"status": "later"}, session=9, day=11)
    store.forget([5])
    assert kept() == []
