"""`windrow check` compares each document of events and of the log with what was read."""

import shutil
from contextlib import closing

import pytest

from tests.clock import pass_time
from tests.collections.events.place import ADAPTER, calendar, configured, event, events, logs, run, serving
from tests.collections.events.test_couchdb import workspace_on_couchdb
from tests.servers.pouchdb import couchdb
from tests.sessions import session_settings
from windrow.collections.events.adapter.databases import open_databases
from windrow.engine.progress import Progress
from windrow.errors import StoreError
from windrow.ledger import Ledger


@pytest.fixture(params=["sqlite", "couchdb"])
def workspace(request, tmp_path):
    """A workspace with two events and the logs of two runs."""
    with serving() as site:
        address = f"{site.url}/a.ics"
        site.put("/a.ics", calendar(event("a@x", ":20990115T150000Z"), event("b@x", ":20990116T150000Z", "Other")))
        if request.param == "sqlite":
            workspace = configured(tmp_path, address, every="1s")
            run_twice(workspace)
            yield workspace
            return
        folder = tmp_path / "couchdb"
        folder.mkdir()
        with (
            couchdb(folder) as (url, secret), workspace_on_couchdb(tmp_path, url, secret, address) as workspace,
        ):  # fmt: skip
            run_twice(workspace)
            yield workspace


def run_twice(workspace):
    run(workspace)
    pass_time(1.05)
    run(workspace)


def faults(workspace):
    """Return the faults of the documents, as (message, remedy)."""
    with closing(Ledger(workspace.ledger)) as ledger:
        return [(fault.problem, fault.hint) for fault in ADAPTER.check(workspace, ledger)]


def test_each_document_that_differs_from_what_was_read_is_a_fault(workspace):
    assert faults(workspace) == []
    (first, second), (log, later_log) = events(workspace), logs(workspace)
    with open_databases(workspace) as databases:
        store = databases.store
        store.write(databases.events, [{**first, "title": "forged", "extra": 1}], [second["_id"]])
        store.write(databases.log, [{**log, "insert_count": 7}], [later_log["_id"]])
        store.write(databases.log, [{**log, "_id": "2001-01-01T00:00:00Z - council - success"}])
        store.write(databases.events, [{"_id": "of another program", "datetime": "2026-01-01T00:00:00Z", "uid": "17"}])
    messages = [message.partition("_")[2] for message, _ in faults(workspace)]
    assert [message.partition(": ")[2] for message in messages] == [
        f"{first['_id']}: differs from what was read, in extra, title",
        f"{second['_id']}: is missing",
        f"{log['_id']}: differs from what was read, in insert_count",
        f"{later_log['_id']}: is missing",
        "2001-01-01T00:00:00Z - council - success: belongs to no event or run that was read",
    ]
    assert {remedy for _, remedy in faults(workspace)} == {"windrow replay rewrites the documents"}
    ADAPTER._rewrite_documents(workspace)
    assert faults(workspace) == []


def test_documents_that_are_not_written_yet_are_a_fault_until_the_next_run(workspace):
    with ADAPTER._store(workspace) as records, open_databases(workspace) as databases:
        databases.store.rewind(records.identity())
    assert faults(workspace) == [("some documents are not written yet", "windrow run events")]
    run(workspace)
    assert faults(workspace) == []


def test_records_that_are_gone_are_a_fault_until_the_next_run(workspace):
    documents = workspace.root / "votersdaily.db"
    if documents.exists():
        documents.unlink()
        assert faults(workspace) == [("does not exist", "windrow run events")]
        assert not documents.exists()
        run(workspace)
        assert faults(workspace) == []
    for path in workspace.root.glob("events.db*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (fault,) = faults(workspace)
    assert fault[0] == "does not exist"
    assert "windrow replay events" in fault[1]
    with pytest.raises(StoreError, match="the file of the records is another one") as caught:
        run(workspace)
    assert "windrow replay events" in caught.value.hint
    assert [problem for problem, _ in faults(workspace)] == [
        "has documents of other records: the file of the records is another one, of another workspace or made anew"
    ]
    ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
    assert faults(workspace) == []
