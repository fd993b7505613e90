"""Events in a CouchDB: the same documents as in SQLite, and a CouchDB client replicates them unchanged."""

import json
import os
import secrets
import subprocess

import pytest

from tests.clock import pass_time
from tests.collections.events.place import ADAPTER, calendar, configured, event, events, logs, run, serving
from tests.servers.pouchdb import NPM, couchdb
from tests.sessions import session_settings
from windrow.collections.events.adapter.databases import open_databases
from windrow.engine.progress import Progress
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


def replicated(url):
    """Return the documents that PouchDB, the client, has after it replicated a database."""
    if not (NPM / "node_modules" / "pouchdb-replication").exists():
        pytest.skip("no pouchdb-server: make pouchdb, or name its folder in WINDROW_NPM")
    done = subprocess.run(
        ["node", "--no-deprecation", "-e", REPLICATE, url], cwd=NPM, check=True, capture_output=True, text=True, timeout=60
    )  # fmt: skip
    return json.loads(done.stdout)
