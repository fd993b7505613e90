"""The states of zips and XML files, by the facts recorded of them."""

from collections import Counter
from contextlib import closing

import pytest

from windrow.app.item_states import count_reached
from windrow.collections.drops.phase import phase_id
from windrow.collections.drops.states import StateEvent, xml_state, xml_state_at_step, zip_states
from windrow.ledger import Ledger
from windrow.ledger.typed.items import StepCount, TypedItems
from windrow.model import Status
from windrow.reasons import Reason

PENDING, RUNNING, DONE, CANCELLED, FAILED = Status


def begun(step):
    return "start", step


def read(step, reason=None):
    return "reading", step, reason


ATTEMPT, END, RETRIED = ("attempt",), ("end",), ("decision", "", Reason.RETRIED)
ENDED = ("decision", "", Reason.CANCELLED)
SUM, BREAK = ("end", "", None, "md5:0"), ("end", "", Reason.TIMEOUT)
OTHER_SUM = ("end", "", Reason.DIGEST_MISMATCH)


def events(*changes):
    return [StateEvent(number, *event) for number, event in enumerate(changes, 1)]


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ([], ("xml_name", DONE)),
        ([begun("xsd")], ("xsd", RUNNING)),
        ([begun("xsd"), read("xsd")], ("xsd", DONE)),
        ([begun("xsd"), read("xsd", Reason.NOT_VALID)], ("xsd", FAILED)),
        ([read("xsd"), begun("upload"), ENDED], ("upload", CANCELLED)),
        ([read("xsd"), RETRIED], ("xsd", CANCELLED)),
        ([read("data"), read("context"), read("overview")], ("overview", DONE)),
        ([read("xsd"), ENDED, read("data", Reason.INTEGRITY_FATAL)], ("data", FAILED)),
        ([read("xsd"), read("", Reason.BAD_NAME)], ("xml_name", FAILED)),
    ],
)
def test_an_xml_file(changes, state):
    assert xml_state(None, events(*changes)) == (phase_id(state[0]), state[1])
    assert xml_state(Reason.BAD_NAME, []) == (phase_id("xml_name"), FAILED)


@pytest.mark.parametrize(
    ("changes", "state", "shown"),
    [
        ([], ("download", PENDING), ("download", PENDING)),
        ([ATTEMPT], ("download", RUNNING), ("download", RUNNING)),
        ([ATTEMPT, BREAK], ("download", FAILED), ("download", FAILED)),
        ([ATTEMPT, OTHER_SUM], ("zip_md5", FAILED), ("zip_md5", FAILED)),
        ([ATTEMPT, END], ("zip_name", DONE), ("zip_name", DONE)),
        ([ATTEMPT, SUM], ("zip_md5", DONE), ("zip_md5", DONE)),
        ([ATTEMPT, END, begun("unzip")], ("unzip", RUNNING), ("unzip", RUNNING)),
        ([ATTEMPT, END, read("unzip", Reason.TRUNCATED)], ("unzip", FAILED), ("unzip", FAILED)),
        ([ATTEMPT, END, read("unzip")], ("xsd", FAILED), ("xsd", FAILED)),
        ([ATTEMPT, END, read("unzip"), ENDED], ("xsd", CANCELLED), ("xsd", CANCELLED)),
        ([ATTEMPT, END, read("unzip"), RETRIED], ("download", PENDING), ("xsd", FAILED)),
        ([ATTEMPT, END, read("unzip"), RETRIED, ATTEMPT], ("download", RUNNING), ("download", RUNNING)),
        ([ENDED], ("download", CANCELLED), ("download", CANCELLED)),
    ],
)
def test_a_zip(changes, state, shown):
    members = {1: Counter({(phase_id("xsd"), FAILED): 1, (phase_id("overview"), DONE): 9})}
    zip_ = zip_states(None, events(*changes), members)
    assert zip_.state == (phase_id(state[0]), state[1])
    assert zip_.shown == (phase_id(shown[0]), shown[1])


def test_a_refused_zip_and_one_that_is_asked_for_after_all():
    assert zip_states(Reason.BAD_NAME, [], {}).state == (phase_id("zip_name"), FAILED)
    assert zip_states(Reason.BAD_NAME, events(RETRIED), {}).state == (phase_id("download"), PENDING)


def test_an_ended_zip_stands_where_its_xml_files_stood_then():
    now = {1: Counter({(phase_id("overview"), DONE): 1})}
    then = {1: Counter({(phase_id("xsd"), CANCELLED): 1})}
    zip_ = zip_states(None, events(ATTEMPT, END, read("unzip"), ENDED), now, lambda _: then)
    assert zip_.shown == (phase_id("xsd"), CANCELLED)


def test_each_attempt_stands_where_its_own_xml_files_do():
    members = {1: Counter({(phase_id("data"), FAILED): 1}), 4: Counter({(phase_id("overview"), DONE): 1})}
    changes = events(ATTEMPT, END, read("unzip"), ATTEMPT, END, read("unzip"), ATTEMPT, ATTEMPT)
    downloads = zip_states(None, changes, members).attempt_states
    assert downloads == {
        1: (phase_id("data"), FAILED), 4: (phase_id("overview"), DONE),
        7: (phase_id("download"), FAILED),  # it was cut: another one was begun
        8: (phase_id("download"), RUNNING),
    }  # fmt: skip


@pytest.mark.parametrize("steps", range(6))
@pytest.mark.parametrize("started", [False, True])
def test_the_step_that_an_xml_file_waits_for_says_the_same_as_its_facts(steps, started):
    chain = ["xsd", "upload", "data", "context", "overview"]
    changes = [read(step) for step in chain[:steps]]
    waits = chain[steps] if steps < len(chain) else None
    if waits and started:
        changes.append(begun(waits))
    status = PENDING if waits else None
    assert xml_state_at_step(waits, status, has_started=bool(waits) and started) == xml_state(None, events(*changes))


def test_the_readings_of_a_session_are_read_once(tmp_path, monkeypatch):
    ranges = []

    def read_between(self, facts):
        ranges.append(facts)
        steps = [("drops", "xml", "xsd"), ("other", "file", "reading")]
        return [StepCount(*step, reason, 3) for step in steps for reason in (None, Reason.NOT_VALID)]

    monkeypatch.setattr(TypedItems, "read_between", read_between)
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        counts = count_reached(ledger, (1, 9), {"drops", "other"})
    assert ranges == [(1, 9)]
    assert {(count.collection, count.phase, count.status, count.number) for count in counts} == {
        (collection, phase, status, 3)
        for collection, phase in (("drops", "xsd"), ("other", "reading"))
        for status in (Status.DONE, Status.FAILED)
    }
