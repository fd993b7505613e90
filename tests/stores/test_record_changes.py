"""What a store of records says of changes: between two visits, and by source."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from windrow.adapters.record_changes import content, difference
from windrow.contract import AttemptObservations, Observation, Skip
from windrow.reasons import Reason
from windrow.stores.records import RecordStore

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path):
    made = RecordStore(tmp_path / "records.db")
    told = (
        (1, "council", [("pier", {"status": "planned"}), ("lamps", {"status": "planned"})]),
        (2, "council", [("pier", {"status": "cancelled"}), ("lamps", {"status": "planned"})]),
        (3, "council", [("lamps", None)]),
        (4, "museum", [("boats", {"status": "open"})]),
    )
    for visit, source, said in told:
        results = [Observation(key, value) for key, value in said]
        at = BEGIN + timedelta(days=visit)
        made.settle(
            [AttemptObservations(visit, at, f"https://{source}.example/", source, tuple(results))], visit, visit
        )
    yield made
    made.close()


def test_changes_between_visits_have_what_was_said_before(store: RecordStore) -> None:
    found = {(one.key, one.change): before.value if before else None for before, one in store.changed_versions((2, 3))}
    assert found == {("pier", "changed"): {"status": "planned"}, ("lamps", "gone"): {"status": "planned"}}
    assert {(one.key, one.change) for _, one in store.changed_versions((1, 1))} == {("pier", "new"), ("lamps", "new")}
    assert list(store.changed_versions((5, 9))) == []


def test_changes_and_what_is_there_are_counted_by_source(store: RecordStore) -> None:
    assert content(store, (2, 4)) == {"council": {"changed": 1, "gone": 1}, "museum": {"new": 1}}
    assert store.count_by_source() == {"council": 1, "museum": 1}


def test_a_difference_names_few_fields_and_counts_the_others() -> None:
    assert difference({"a": 1}, {"a": 2, "b": "x"}) == "a 1 -> 2; b nothing -> x"
    assert difference({}, dict.fromkeys("abcdef", 1)).endswith("d nothing -> 1; 2 more fields")
    assert difference("one", "two") == "one -> two"
    assert len(difference({"text": "a" * 500}, {"text": "b" * 500})) < 150


def test_a_store_that_replaces_another_tells_of_each_session_what_that_one_told(tmp_path: Path) -> None:
    def told(visit: int, result: Observation | Skip, source: str = "council") -> AttemptObservations:
        return AttemptObservations(visit, BEGIN, f"https://{source}.example/", source, (result,))

    pier, lamps = Observation("pier", {"n": 1}), Observation("lamps", {"n": 2})
    with closing(RecordStore(tmp_path / "a.db")) as before, closing(RecordStore(tmp_path / "b.db")) as after:
        before.settle([told(5, Skip(Reason.TIME_LIMIT, ""))], 5, 1)
        before.settle([told(6, Skip(Reason.TIME_LIMIT, ""), "museum")], 6, 1)
        before.settle([told(9, Observation("boats", {"n": 3}))], 9, 8)
        before.settle([told(5, pier), told(6, lamps, "museum")], 9, 8)  # read late
        after.settle([told(5, pier), told(9, Observation("boats", {"n": 3}))], 9, 40)
        after.carry_over(before, {"council"})
        changes = [
            {session: {(one.key, one.change) for _, one in store.written_versions((session, session))}
             for session in (1, 8, 40)} for store in (before, after)
        ]  # fmt: skip
    assert changes[0] == {1: set(), 8: {("pier", "new"), ("lamps", "new"), ("boats", "new")}, 40: set()}
    assert changes[1] == changes[0]
