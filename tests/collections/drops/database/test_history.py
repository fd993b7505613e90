from __future__ import annotations

import itertools

import pytest

from tests.collections.drops.database.store_queries import (
    find_known,
    history_of,
    publish,
    put,
    query_store,
    stage,
    versions_as_of,
    withhold,
)
from tests.collections.drops.sample import at, embryo, experiment, experiments, load, mouse, specimens, submission
from windrow.collections.drops.database.table_store import TableStore
from windrow.model import Level
from windrow.reasons import Reason


def test_an_edit_takes_the_place_and_the_past_stays(store: TableStore, store_url: str) -> None:
    put(store, 1, specimens(mouse("s1", colony="old"), mouse("s2")))
    published = put(store, 2, specimens(mouse("s1", colony="new")), "edit")
    assert (published.current, published.ended) == (1, 1)
    assert [(finding.kind, finding.message, finding.level) for finding in published.findings] == [
        ("Overrides", "specimen H_s1 overrides the earlier version: add/H.2024-05-01.1.impc.zip", Level.NOTE)
    ]
    assert query_store(store_url, "SELECT colony_id FROM current_mouse WHERE specimen_id = 's1'") == [("new",)]
    assert query_store(store_url, "SELECT colony_id FROM mouse WHERE specimen_id = 's1' ORDER BY id") == [
        ("old",),
        ("new",),
    ]
    first, second = history_of(store, "specimen", "H_s1")
    assert (first.valid_from, first.valid_to, first.ended_by) == (at(1), at(2), second.submission)
    assert (second.valid_from, second.valid_to, second.action) == (at(2), None, "edit")


def test_as_of_tells_what_was_current(store: TableStore) -> None:
    put(store, 1, specimens(mouse("s1"), mouse("s2")))
    put(store, 2, specimens(mouse("s1", colony="new")), "edit")
    put(store, 3, specimens(mouse("s2")), "delete")

    def existed_at(hours: float) -> dict[str, int]:
        return {version.identifier: version.item for version in versions_as_of(store, "specimen", at(hours))}

    assert existed_at(0.5) == {}
    assert existed_at(1) == existed_at(1.9) == {"H_s1": 1, "H_s2": 1}
    assert existed_at(2) == {"H_s1": 2, "H_s2": 1}
    assert existed_at(3) == {"H_s1": 2}


def test_a_delete_leaves_a_tombstone_that_an_add_can_end(store: TableStore, store_url: str) -> None:
    put(store, 1, specimens(mouse("s1")))
    published = put(store, 2, specimens(mouse("s1")), "delete")
    assert (published.current, published.ended) == (1, 1)
    assert [(finding.kind, finding.level) for finding in published.findings] == [("Overrides", Level.NOTE)]
    assert query_store(store_url, "SELECT * FROM current_mouse") == []
    assert find_known(store, "specimen", ["H_s1"]) == {"H_s1"}
    assert find_known(store, "specimen:current", ["H_s1"]) == set()
    published = put(store, 3, specimens(mouse("s1", colony="again")))
    assert published.findings == ()
    assert query_store(store_url, "SELECT colony_id FROM current_mouse") == [("again",)]
    assert [version.tombstone for version in history_of(store, "specimen", "H_s1")] == [False, True, False]


@pytest.mark.parametrize("action", ["edit", "delete"])
def test_an_unknown_record_is_told(store: TableStore, action: str) -> None:
    published = put(store, 1, specimens(mouse("s1")), action)
    (finding,) = published.findings
    assert (finding.kind, finding.level) == ("UnknownRecord", Level.WARN)
    assert "H_s1" in finding.message
    assert len(versions_as_of(store, "specimen", at(1))) == (action == "edit")


def test_an_add_of_a_known_record_is_told_and_the_newer_counts(store: TableStore, store_url: str) -> None:
    put(store, 1, specimens(mouse("s1", colony="old")))
    published = put(store, 2, specimens(mouse("s1", colony="new")))
    assert [(finding.kind, finding.level) for finding in published.findings] == [("AlreadyKnown", Level.NOTE)]
    assert query_store(store_url, "SELECT colony_id FROM current_mouse") == [("new",)]


def test_of_two_equal_records_in_a_document_the_last_counts(store: TableStore, store_url: str) -> None:
    assert put(store, 1, specimens(mouse("s1", colony="a"), mouse("s1", colony="b"))).findings == ()
    assert query_store(store_url, "SELECT colony_id FROM current_mouse") == [("b",)]


def test_findings_of_one_kind_are_bounded(store: TableStore) -> None:
    many = [mouse(f"s{number}") for number in range(130)]
    published = put(store, 1, specimens(*many), "edit")
    assert len(published.findings) == 101
    assert published.findings[-1].message.startswith("not listed: 30 more")
    assert published.current == 130


def test_same_bytes_are_not_published_twice(store: TableStore, store_url: str) -> None:
    content = specimens(mouse("s1"))
    put(store, 1, content)
    published = put(store, 2, content)
    assert published.reason is Reason.ALREADY_LOADED
    assert [finding.level for finding in published.findings] == [Level.NOTE]
    assert query_store(store_url, "SELECT COUNT(*) FROM current_mouse") == [(1,)]
    assert publish(store, 2, at(9)) == published
    put(store, 3, specimens(mouse("s1", colony="other")))
    assert put(store, 4, content).reason is None  # the first is no longer current
    assert query_store(store_url, "SELECT colony_id FROM current_mouse") == [("C1",)]


def test_a_withheld_document_is_there_but_never_current(store: TableStore, store_url: str) -> None:
    content = specimens(mouse("s1"))
    stage(store, submission(1, content), load(content))
    withhold(store, 1, at(1))
    assert query_store(store_url, "SELECT COUNT(*) FROM mouse") == [(1,)]
    assert query_store(store_url, "SELECT * FROM current_mouse") == []
    assert find_known(store, "specimen", ["H_s1"]) == set()
    assert query_store(store_url, "SELECT reason FROM submission") == [("integrity_fatal",)]
    assert put(store, 2, content).reason is None  # a withheld document does not count as loaded


def test_withholding_takes_a_publication_back(store: TableStore, store_url: str) -> None:
    put(store, 1, specimens(mouse("s1", colony="a")))
    put(store, 2, specimens(mouse("s1", colony="b")), "edit")
    put(store, 3, specimens(mouse("s1", colony="c")), "edit")
    withhold(store, 2, at(4))
    first, second, third = sorted(history_of(store, "specimen", "H_s1"), key=lambda version: version.item)
    assert (first.valid_from, first.valid_to, first.ended_by) == (at(1), at(3), third.submission)
    assert (second.valid_from, second.valid_to) == (None, None)
    withhold(store, 3, at(5))
    assert query_store(store_url, "SELECT colony_id FROM current_mouse") == [("a",)]
    publish(store, 3, at(6))
    assert query_store(store_url, "SELECT colony_id FROM current_mouse") == [("c",)]


def test_times_never_run_backwards(store: TableStore) -> None:
    put(store, 1, specimens(mouse("s1")), hours=5)
    put(store, 2, specimens(mouse("s1", colony="new")), "edit", hours=3)
    first, second = history_of(store, "specimen", "H_s1")
    assert first.valid_to == second.valid_from == at(5)
    assert [version.item for version in versions_as_of(store, "specimen", at(5))] == [2]


def test_ids_are_exact(store: TableStore) -> None:
    put(store, 1, specimens(mouse("Case"), mouse("blank "), mouse("ümlaut \U0001f42d")))
    asked = ["H_Case", "H_case", "H_blank ", "H_blank", "H_ümlaut \U0001f42d", "H_umlaut \U0001f42d"]
    assert find_known(store, "specimen", asked) == {"H_Case", "H_blank ", "H_ümlaut \U0001f42d"}
    assert find_known(store, "specimen", [f"H_{number}" for number in range(2000)]) == set()


STEPS = (("a1", "add", "one"), ("b2", "edit", "two"), ("c3", "delete", "three"), ("d4", "add", "four"))


@pytest.mark.parametrize("count", [3, 4])
def test_records_are_current_by_the_order_of_submissions_whatever_order_they_arrive_in(
    store: TableStore, store_url: str, count: int
) -> None:
    """Any order of arrival, with or without repetition, gives the result of one load in order."""
    expected = {3: [], 4: [("four",)]}[count]
    item = 0
    for round_, order in enumerate(itertools.permutations(STEPS[:count])):
        name = f"s{round_}"
        for key, action, colony in (*order, order[0]):  # the first comes once more, as after a retry
            item += 1
            content = specimens(mouse(name, colony=colony))
            document = submission(item, content, action, sort_key=key)
            stage(store, document, load(content))
            publish(store, item, at(item))
        colonies = query_store(store_url, f"SELECT colony_id FROM current_mouse WHERE specimen_id = '{name}'")
        assert colonies == expected, order
        assert (
            len(
                [
                    version
                    for version in history_of(store, "specimen", f"H_{name}")
                    if version.valid_from and not version.valid_to
                ]
            )
            == 1
        )


def test_what_arrives_late_was_never_current_and_is_told_what_overrides_it(store: TableStore) -> None:
    late, later = specimens(mouse("s1", colony="old")), specimens(mouse("s1", colony="new"))
    stage(store, submission(1, later, "edit", sort_key="2", zip_name="H.2024-06-01.1.impc.zip"), load(later))
    publish(store, 1, at(1))
    stage(store, submission(2, late, sort_key="1"), load(late))
    for published in (publish(store, 2, at(2)), publish(store, 2, at(3))):  # loaded again as before
        assert (published.current, published.ended) == (0, 0)
        (finding,) = published.findings
        assert (finding.kind, finding.level) == ("Overridden", Level.NOTE)
        assert "H_s1" in finding.message
        assert "edit/H.2024-06-01.1.impc.zip" in finding.message
    for hours in (1, 2, 3):
        assert [version.item for version in versions_as_of(store, "specimen", at(hours))] == [1]
    stage(store, submission(3, late, "delete", sort_key="1"), load(late))
    assert [finding.level for finding in publish(store, 3, at(3)).findings] == [Level.WARN]  # it remains without effect
    withhold(store, 3, at(3))
    withhold(store, 1, at(4))  # withdrawn: the late one continues
    assert [version.item for version in versions_as_of(store, "specimen", at(4))] == [2]


def test_a_zip_that_is_dated_in_the_future_is_told(store: TableStore) -> None:
    content = specimens(mouse("s1"))
    for item, sort_key, kinds in (
        (1, f"{at(20):%Y-%m-%d}.1", []),
        (2, "2999-03-01.1", ["FutureDate", "AlreadyLoaded"]),
    ):
        stage(store, submission(item, content, sort_key=sort_key), load(content))
        assert [finding.kind for finding in publish(store, item, at(1)).findings] == kinds


def test_a_record_that_the_zip_of_another_centre_replaces_or_deletes_is_told(store: TableStore) -> None:
    put(store, 1, specimens(mouse("s1")))
    for item, action in ((2, "add"), (3, "delete")):
        content = specimens(mouse("s1", colony="new"))
        centre = "J" if action == "add" else "H"
        zip_name = f"2024-06-0{item}-1_{centre}.zip"  # as a pattern of the workspace may have it
        stage(store, submission(item, content, action, zip_name=zip_name, centre=centre), load(content))
        (finding,) = publish(store, item, at(item)).findings
        assert (finding.kind, finding.level) == ("ForeignRecord", Level.WARN)
        assert finding.message.endswith("of another centre")


def test_an_experiment_that_only_shares_the_identifier_of_the_one_it_replaces_is_told(store: TableStore) -> None:
    put(store, 1, experiments(experiment("E_1", "s1")))
    published = put(store, 2, experiments(experiment("E", "s1", sequence="1")))
    assert [(finding.kind, finding.level) for finding in published.findings] == [
        ("AlreadyKnown", Level.NOTE),
        ("IdentifierCollision", Level.ERROR),
    ]
    published = put(store, 3, experiments(experiment("E", "s1", sequence="1", day="2024-02-02")))
    assert [finding.kind for finding in published.findings] == ["AlreadyKnown"]


def test_of_two_records_with_one_identifier_none_replaces_the_other_untold(store: TableStore) -> None:
    put(store, 1, specimens(mouse("A_1")))
    later = specimens(mouse("1"), centre="H_A")
    assert [finding.kind for finding in put(store, 2, later).findings] == ["AlreadyKnown", "IdentifierCollision"]
    both = specimens(mouse("s1"), embryo("s1"), mouse("s2"), mouse("s2"))
    stage(store, submission(3, both, sort_key="2"), load(both))
    findings = publish(store, 3, at(3)).findings
    assert [finding.kind for finding in findings] == ["IdentifierCollision"]
    message = "the identifier specimen H_s1 stands for two records, which differ in specimen_id, or as mouse and embryo"
    assert findings[-1].message == f"{message}; only one of them is current"
    late = specimens(mouse("s1"), mouse("s2"))
    stage(store, submission(4, late, sort_key="1"), load(late))
    for _ in range(2):  # it is the embryo that is current
        findings = publish(store, 4, at(4)).findings
        assert [finding.kind for finding in findings] == [*["Overridden"] * 2, "IdentifierCollision"]
