"""Events in a CouchDB: the same documents as in SQLite, and a CouchDB client replicates them unchanged."""

import json
import os
import secrets
import subprocess
from contextlib import contextmanager

import pytest

from tests.clock import pass_time
from tests.collections.events.place import ADAPTER, calendar, configured, event, events, logs, run, serving
from tests.servers.pouchdb import NPM, couchdb, refusing_above
from tests.sessions import session_settings
from windrow.collections.events.adapter import databases as databases_module
from windrow.collections.events.adapter.databases import connect_databases, open_databases
from windrow.engine.progress import Progress
from windrow.errors import ConfigError
from windrow.ledger import Ledger

REPLICATE = """
const PouchDB = require('pouchdb-core').plugin(require('pouchdb-adapter-http')).plugin(require('pouchdb-adapter-memory'))
  .plugin(require('pouchdb-replication'));
(async () => {
  const here = new PouchDB('copy', {adapter: 'memory'});
  await PouchDB.replicate(process.argv[1], here);
  const all = await here.allDocs({include_docs: true});
  console.log(JSON.stringify(all.rows.map(row => row.doc)));
})();
"""


def test_events_are_written_to_a_couchdb_as_to_sqlite_and_replicated_unchanged(tmp_path):
    folder = tmp_path / "couchdb"
    folder.mkdir()
    with couchdb(folder) as (url, secret), serving() as site:
        mark = f"t{os.getpid()}_{secrets.token_hex(3)}"
        names = f'event_database = "{mark}_events"\nlog_database = "{mark}_log"\n'
        (tmp_path / "secret").write_text(secret)
        where = f'documents = "{url}"\n' + (f'documents_secret = "file:{tmp_path}/secret"\n' if secret else "")
        both = [event("a@x", ":20270115T150000Z", "Bürger 😀"), event("b@x", ";VALUE=DATE:20270116", "A day")]
        site.put("/a.ics", calendar(*both))
        workspace = configured(tmp_path, f"{site.url}/a.ics", where + names, every="1s")
        run(workspace)
        (first, day), (log,) = events(workspace), logs(workspace)
        assert (first["title"], day["all_day"], log["insert_count"]) == ("Bürger 😀", True, 2)
        site.put("/a.ics", calendar(event("a@x", ":20270120T150000Z", "Moved"), both[1]))
        pass_time(1.05)
        run(workspace)
        by_uid = {document["uid"]: document for document in events(workspace)}
        assert len(by_uid) == 2
        assert by_uid["council/a@x"]["previous_ids"] == [first["_id"]]
        before = (events(workspace), logs(workspace))
        ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
        assert (events(workspace), logs(workspace)) == before
        ledger = Ledger(workspace.ledger)
        assert list(ADAPTER.check(workspace, ledger)) == []
        ledger.close()
        copied = replicated(f"{url}{mark}_events")
        plain = [
            {name: value for name, value in document.items() if name != "_rev"}
            for document in copied
            if not document["_id"].startswith("_")
        ]
        assert sorted(plain, key=lambda document: document["datetime"]) == before[0]
        with open_databases(workspace) as held:
            for name in (held.events, held.log):
                held.store._request("DELETE", f"/{name}", good=(200, 202))


@contextmanager
def workspace_on_couchdb(folder, url, secret, address, **source):
    """Yield a workspace whose databases are on a server; they are deleted at the end."""
    mark = f"t{os.getpid()}_{secrets.token_hex(3)}"
    settings = f'documents = "{url}"\nevent_database = "{mark}_events"\nlog_database = "{mark}_log"\n'
    if secret:
        (folder / "secret").write_text(secret)
        settings += f'documents_secret = "file:{folder}/secret"\n'
    workspace = configured(folder, address, settings, every="1s", **source)
    yield workspace
    with open_databases(workspace) as held:
        for name in (held.events, held.log):
            held.store._request("DELETE", f"/{name}", good=(200, 202))


def failures(workspace):
    """Return the comments of the failed tasks of the last session."""
    ledger = Ledger(workspace.ledger)
    last = max(ledger.sessions.numbers())
    comments = [
        task.comment for task in ledger.sessions.tasks_of_source("council") if task.session == last and task.failed
    ]
    ledger.close()
    return comments


VALIDATION = """function (doc) { if (doc.title === 'Forbidden') { throw({forbidden: 'no such title'}); } }"""


def test_a_document_that_the_server_refuses_stops_no_other_and_is_reported_until_it_is_written(tmp_path):
    """A huge inline ATTACH costs the source text alone; an event that the server refuses is tried by each run."""
    folder = tmp_path / "couchdb"
    folder.mkdir()
    attachment = ";ENCODING=BASE64;VALUE=BINARY:" + "QUJD" * 30_000
    with (
        couchdb(folder) as (url, secret), refusing_above(60_000, url) as limited_url, serving() as site,
        workspace_on_couchdb(tmp_path, limited_url, secret, f"{site.url}/a.ics") as workspace,
    ):  # fmt: skip
        with open_databases(workspace) as databases:
            design = {"validate_doc_update": VALIDATION}
            databases.store._request("PUT", f"/{databases.events}/_design/theirs", design, good=(201, 202))
        large = event("b@x", ":20990116T150000Z", "Large", attach=attachment)
        calendars = [event("a@x", ":20990115T150000Z"), large, event("c@x", ":20990117T150000Z", "Forbidden")]
        site.put("/a.ics", calendar(*calendars, event("d@x", ":20990118T150000Z")))
        assert run(workspace).failed == 1
        documents = {document["uid"][-3:]: document for document in events(workspace)}
        assert sorted(documents) == ["a@x", "b@x", "d@x"]
        assert documents["b@x"]["source_text"] == ""
        assert documents["b@x"]["source_text_left_out"] > 120_000
        (comment,) = failures(workspace)
        assert (
            "the store refuses 1 document, such as 2099-01-17T15:00:00Z - council - c@x: forbidden no such" in comment
        )
        (log,) = logs(workspace)
        assert (log["events"], log["source_text"]) == (4, "")
        pass_time(1.05)
        assert run(workspace).failed == 1  # nothing changed, and it is still reported
        assert failures(workspace) == [comment]
        with open_databases(workspace) as databases:
            path = f"/{databases.events}/_design/theirs"
            revision = databases.store._request("GET", path).content["_rev"]
            databases.store._request("DELETE", f"{path}?rev={revision}", good=(200, 202))
        pass_time(1.05)
        assert run(workspace).failed == 0
        assert [document["title"] for document in events(workspace)] == ["Hearing", "Large", "Forbidden", "Hearing"]
        assert failures(workspace) == []
        pass_time(1.05)
        assert run(workspace).failed == 0


def test_a_password_is_not_sent_unencrypted_beyond_this_machine_unless_the_setting_allows_it(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(databases_module, "CouchDocuments", lambda url, *_: opened.append(url))
    (tmp_path / "secret").write_text("user:word")
    secret = f'documents_secret = "file:{tmp_path}/secret"'
    far, near = "http://couch.example.org:5984/", "http://127.0.0.1:5984/"

    def connect(url, settings):
        connect_databases(configured(tmp_path, "http://a.example/a.ics", f'documents = "{url}"\n{settings}\n'))

    with pytest.raises(ConfigError, match="would be sent unencrypted") as refused:
        connect(far, secret)
    assert "events.documents_unencrypted" in refused.value.hint
    for url in (far.upper(), "http://10.0.0.7/", "http://127.0.0.1.example.org/"):
        with pytest.raises(ConfigError):
            connect(url, secret)
    connect(far, "")
    connect(near, secret)
    connect("https://couch.example.org/", secret)
    connect(far, f"{secret}\ndocuments_unencrypted = true")
    assert opened == [far, near, "https://couch.example.org/", far]


def replicated(url):
    """Return the documents that PouchDB, the client, has after it replicated a database."""
    if not (NPM / "node_modules" / "pouchdb-replication").exists():
        pytest.skip("no pouchdb-server: make pouchdb, or name its folder in WINDROW_NPM")
    done = subprocess.run(
        ["node", "--no-deprecation", "-e", REPLICATE, url], cwd=NPM, check=True, capture_output=True, text=True, timeout=60
    )  # fmt: skip
    return json.loads(done.stdout)
