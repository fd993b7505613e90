"""Attempts that are read late, or again with another result, change the documents of their events and no others."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.clock import pass_time
from tests.collections.events.place import ADAPTER, calendar, configured, event, events, logs, run, serving
from tests.engine.unsteady_steps import stop_all_steps
from tests.sessions import session_settings
from windrow.collections.events.adapter.projection import EventProjection
from windrow.collections.events.adapter.run_logs import RunLogs
from windrow.contract import AttemptObservations
from windrow.engine.progress import Progress
from windrow.stores.documented_records import DocumentedRecords
from windrow.stores.records import RecordStore

FIRST, SECOND = ":20990115T150000Z", ":20990120T150000Z"


@pytest.fixture
def site():
    with serving() as web_site:
        yield web_site


@pytest.fixture
def workspace(tmp_path, site):
    return configured(tmp_path, f"{site.url}/a.ics", every="1h")


def harvest(site, workspace, *documents):
    """Run when the address is due again, with these events in the calendar."""
    site.put("/a.ics", calendar(*documents))
    pass_time(3601)
    run(workspace)


def read_as_empty(workspace, attempt):
    """Remove what an attempt of an earlier run said, and update the documents."""
    with ADAPTER._store(workspace) as records:
        before = next(version for version in records.versions() if version.attempt == attempt)
        records.settle([AttemptObservations(attempt, before.at, before.url, before.source, ())], records.checkpoint())
    ADAPTER._derive(workspace, lambda: True)
    with ADAPTER._store(workspace) as records:
        assert records.late_attempts() == []


def attempts(workspace, uid):
    with ADAPTER._store(workspace) as records:
        return [version.attempt for version in records.history(uid)]


def test_an_event_has_its_former_id_again_where_what_moved_it_is_taken_back(site, workspace):
    harvest(site, workspace, event("a@x", FIRST))
    before = events(workspace)
    harvest(site, workspace, event("a@x", SECOND))
    assert [document["_id"] for document in events(workspace)] == ["2099-01-20T15:00:00Z - council - a@x"]
    read_as_empty(workspace, attempts(workspace, "council/a@x")[-1])
    assert events(workspace) == before


def test_the_document_of_an_event_is_removed_where_all_that_was_said_of_it_is_taken_back(site, workspace):
    harvest(site, workspace, event("a@x", FIRST))
    harvest(site, workspace, event("a@x", FIRST), event("b@x", FIRST))
    (attempt,) = attempts(workspace, "council/b@x")
    read_as_empty(workspace, attempt)
    assert [document["uid"] for document in events(workspace)] == ["council/a@x"]
    assert [log["insert_count"] for log in logs(workspace)] == [1, 0]


def test_a_late_reading_writes_its_own_records_and_the_logs_that_it_changes(site, workspace, monkeypatch):
    harvest(site, workspace, event("z@x", FIRST))
    site.put("/a.ics", calendar(event("a@x", FIRST)))
    pass_time(3601)
    with stop_all_steps(monkeypatch):
        run(workspace)
    with monkeypatch.context() as patched:
        patched.setattr("windrow.engine.steps.unread.UnreadAttempts.due", lambda _: [])
        for name in "abcd":
            harvest(site, workspace, event("a@x", FIRST), event(f"{name}-{name}@x", FIRST))
    assert [log["insert_count"] for log in logs(workspace)] == [1, 0, 2, 1, 1, 1]
    written, logged = [], []
    write, put = EventProjection._event_document, RunLogs.write_log
    monkeypatch.setattr(
        EventProjection, "_event_document", lambda *arguments: written.append(arguments[1]) or write(*arguments)
    )
    monkeypatch.setattr(RunLogs, "write_log", lambda *arguments: logged.append(arguments[1]) or put(*arguments))
    run(workspace)
    assert written == ["council/a@x"]
    assert len(logged) == 2, "of the session that had not read it, and of the one that told of it first till now"
    monkeypatch.undo()
    assert [log["insert_count"] for log in logs(workspace)] == [1, 1, 1, 1, 1, 1]
    before = events(workspace), logs(workspace)
    ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
    assert (events(workspace), logs(workspace)) == before


def test_nothing_of_what_was_taken_down_stays_on_the_list_of_late_attempts(site, workspace):
    harvest(site, workspace, event("a@x", FIRST))
    with ADAPTER._store(workspace) as records:
        assert isinstance(records, DocumentedRecords)
        assert records.forget(records.attempts_of("council/a@x")) == 1
        assert records.late_attempts() == []
        path = records.path
    with closing(RecordStore(path)) as records:
        assert records.count() == (0, 0)
