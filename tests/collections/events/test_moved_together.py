"""A moved event is written under its new id, and removed under its old one, in the same request."""

from __future__ import annotations

from windrow.collections.events.adapter.projection import DocumentChanges, group_changes


def test_what_a_moved_event_is_and_the_ids_that_it_had_stay_in_one_request_however_many_move() -> None:
    moved = [
        DocumentChanges([{"_id": f"new {number}", "text": "x" * 9_000}], [f"old {number}", f"older {number}"])
        for number in range(900)
    ]
    groups = [*group_changes(moved)]
    assert len(groups) > 2
    for documents, removed in groups:
        assert len(documents) + len(removed) <= 500
        assert sum(len(str(document)) for document in documents) < 4_000_000
        numbers = [document["_id"].removeprefix("new ") for document in documents]
        assert removed == [f"{word} {number}" for number in numbers for word in ("old", "older")]
    assert sum(len(documents) for documents, _ in groups) == 900


def test_one_that_is_too_large_for_a_request_with_others_goes_with_its_old_id() -> None:
    changes = [DocumentChanges([{"_id": "a", "text": "x" * 5_000_000}], ["b"]), DocumentChanges([], ["c"])]
    assert [*group_changes(changes)] == changes


def test_ids_alone_are_removed_in_requests_of_the_same_size() -> None:
    changes = [DocumentChanges([], [f"{letter} {number}" for number in range(400)]) for letter in "ab"]
    assert [*group_changes(changes)] == changes
