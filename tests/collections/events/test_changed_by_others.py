"""A run writes documents again that others removed or changed in the databases, and leaves those of others alone."""

import shutil
import sqlite3
from contextlib import closing, contextmanager

import pytest

from tests.clock import pass_time
from tests.collections.events.place import calendar, configured, event, events, logs, run, serving
from tests.collections.events.test_couchdb import workspace_on_couchdb
from tests.servers.pouchdb import couchdb
from windrow.collections.events.adapter.databases import open_databases
from windrow.collections.events.adapter.projection import EventProjection

BOTH = calendar(event("a@x", ":20990115T150000Z"), event("b@x", ":20990116T150000Z", "Other"))
WRITTEN_AGAIN = "written again that others had removed or changed"


@contextmanager
def harvested(folder, on_couchdb):
    """Yield a workspace with two events and the log of one run."""
    with serving() as site:
        site.put("/a.ics", BOTH)
        address = f"{site.url}/a.ics"
        if not on_couchdb:
            workspace = configured(folder, address, every="1s")
            run_later(workspace)
            yield workspace
            return
        (folder / "couchdb").mkdir()
        with (
            couchdb(folder / "couchdb") as (url, secret),
            workspace_on_couchdb(folder, url, secret, address) as workspace,
        ):
            run_later(workspace)
            yield workspace


def run_later(workspace):
    """Run a session; return the comments of its tasks."""
    number = run(workspace).number
    pass_time(1.05)
    with closing(sqlite3.connect(workspace.ledger)) as ledger:
        rows = ledger.execute("SELECT comment FROM task_end WHERE seq > ?", (number,)).fetchall()
    return "\n".join(str(comment) for (comment,) in rows)


@pytest.mark.parametrize("on_couchdb", [False, True])
def test_documents_that_others_removed_are_written_again_and_counted(tmp_path, on_couchdb):
    with harvested(tmp_path, on_couchdb) as workspace:
        first_events, first_logs = events(workspace), logs(workspace)
        assert WRITTEN_AGAIN not in run_later(workspace)
        with open_databases(workspace) as databases:
            databases.store.write(databases.events, (), [first_events[0]["_id"]])
            databases.store.write(databases.log, (), [first_logs[0]["_id"]])
        assert f"2 documents {WRITTEN_AGAIN}" in run_later(workspace)
        assert events(workspace) == first_events
        assert logs(workspace)[0] == first_logs[0]
        assert WRITTEN_AGAIN not in run_later(workspace)


def test_a_database_that_is_deleted_alone_is_filled_again(tmp_path):
    folder = tmp_path / "couchdb"
    folder.mkdir()
    with (
        couchdb(folder) as (url, secret), serving() as site,
        workspace_on_couchdb(tmp_path, url, secret, f"{site.url}/a.ics") as workspace,
    ):  # fmt: skip
        for number in range(3):
            site.put("/a.ics", calendar(event("a@x", f":2099011{number}T150000Z"), event("b@x", ":20990116T150000Z")))
            run_later(workspace)
        before = (events(workspace), logs(workspace))
        assert len(before[1]) == 3
        with open_databases(workspace) as databases:
            names = (databases.log, databases.events)
        for name, count in zip(names, (3, 2), strict=True):
            with open_databases(workspace) as databases:
                databases.store._request("DELETE", f"/{name}", good=(200, 202))
            assert f"0 events new, 0 changed, 1 log; {count} documents {WRITTEN_AGAIN}" in run_later(workspace)
            assert events(workspace) == before[0]
            assert [log for log in logs(workspace) if log["session"] <= before[1][-1]["session"]] == before[1]


@pytest.mark.parametrize("losing", [False, True])
def test_revisions_that_a_replication_left_in_conflict_are_removed(tmp_path, losing):
    with harvested(tmp_path, True) as workspace:
        first_events, first_logs = events(workspace), logs(workspace)
        with open_databases(workspace) as databases:
            for name, document in ((databases.events, first_events[0]), (databases.log, first_logs[0])):
                generation, hash_ = (9, "f" * 32) if losing else (1, "0" * 32)
                replicated = {**document, "source_url": "elsewhere", "_rev": f"{generation}-{hash_}"}
                body = {
                    "docs": [{**replicated, "_revisions": {"start": generation, "ids": [hash_]}}],
                    "new_edits": False,
                }
                databases.store._request("POST", f"/{name}/_bulk_docs", body, good=(201,))
        assert (events(workspace) != first_events) == losing
        assert f"2 documents {WRITTEN_AGAIN}" in run_later(workspace)
        assert events(workspace) == first_events
        assert logs(workspace)[0] == first_logs[0]
        with open_databases(workspace) as databases:
            stored = databases.store.get(databases.events, [first_events[0]["_id"]])
        assert stored == {first_events[0]["_id"]: first_events[0]}
        assert WRITTEN_AGAIN not in run_later(workspace)


def test_documents_that_others_wrote_are_neither_changed_nor_counted(tmp_path, monkeypatch):
    theirs = [
        {"_id": "notes", "text": "of a person"},
        {"_id": "2026-01-01T00:00:00Z - Other Parser - 17", "datetime": "2026-01-01T00:00:00Z", "title": "Theirs"},
    ]
    with harvested(tmp_path, True) as workspace:
        first_events = events(workspace)
        with open_databases(workspace) as databases:
            databases.store.write(databases.events, theirs)
        assert WRITTEN_AGAIN not in run_later(workspace)
        with open_databases(workspace) as databases:
            assert [*databases.store.get(databases.events, [document["_id"] for document in theirs]).values()] == theirs
            databases.store.write(databases.events, (), [theirs[1]["_id"]])
            databases.store.write(databases.events, [theirs[0] | {"text": "new"}])
        assert WRITTEN_AGAIN not in run_later(workspace)
        assert events(workspace) == first_events
        # Neither are all events looked at, if no change can be one of windrow's documents.
        looked_at = []
        monkeypatch.setattr(EventProjection, "_event_document", lambda *arguments: looked_at.append(arguments))
        with open_databases(workspace) as databases:
            databases.store.write(databases.events, (), ["notes"])
        run_later(workspace)
        assert looked_at == []


def test_an_older_copy_of_the_file_of_documents_is_brought_up_to_date(tmp_path):
    with harvested(tmp_path, False) as workspace:
        first_events = events(workspace)
        path = workspace.root / "votersdaily.db"
        with open_databases(workspace) as databases:
            databases.store.write(databases.events, [{**first_events[0], "title": "as it was before"}])
        shutil.copy(path, tmp_path / "older.db")
        run_later(workspace)
        shutil.copy(tmp_path / "older.db", path)
        assert f"1 document {WRITTEN_AGAIN}" in run_later(workspace)
        assert events(workspace) == first_events
