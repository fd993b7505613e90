"""A harvest of events that is killed with SIGKILL at given moments, and run again, has the documents of one that was not."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.clock import pass_time
from tests.collections.events.place import ADAPTER, calendar, event, events, logs, run, serving
from tests.servers.pouchdb import couchdb
from windrow.collections.events.adapter.databases import open_databases
from windrow.collections.events.adapter.run_logs import RunLogs
from windrow.collections.events.collection import COLLECTION
from windrow.config import load
from windrow.ledger import Ledger

ROOT = Path(__file__).parents[3]
OFTEN = 8
"""Moments of each kind at which it is killed, evenly spread over all moments."""

FIRST = [event(f"e{number}@x", f":202701{number:02}T150000Z", f"Event {number}") for number in range(1, 9)]
SECOND = [
    event("e1@x", ":20270120T150000Z", "Moved"), event("e2@x", ":20270102T150000Z", "Event 2", status="CANCELLED"),
    *FIRST[3:],  # the third has vanished
    event("n1@x", ":20270103T150000Z", "New"), event("n2@x", ";VALUE=DATE:20270104", "A new day"),
]  # fmt: skip
SOURCE = (
    'collection = "events"\nreader = "icalendar"\nbranch = "Legislative"\nentity = "Senate"\ndelay = "0s"\n'
    'timezone = "America/New_York"\nmissing_after = 1\n'
)


def configured(folder, site, every="6h", settings=""):
    """Write a workspace with a calendar, a feed of votes, and a source that does not exist; return it."""
    lines = [f"[events]\n{settings}\n"]
    for name in ("council", "board", "none"):
        url = "" if site is None else f'url = "{site.url}/{name}.ics"\n'
        lines.append(f'[source.{name}]\n{url}every = "{every}"\n{SOURCE}')
    (folder / "windrow.toml").write_text("".join(lines))
    return load(folder, environ={}, collections={"events": COLLECTION})


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Run a command in a process that kills itself at a moment; for moment 0, return the number of moments."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.collections.events.dying", str(tmp_path_factory.mktemp("dying"))],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip

    def kill(folder, command, moment):
        process.stdin.write(f"{folder} {command} {moment}\n")
        process.stdin.flush()
        passed, status = map(int, process.stdout.readline().split())
        # A slow run renews its lease and so has more moments than a fast one: a late moment may never come.
        assert status == (-signal.SIGKILL if moment and passed == moment else 0)
        assert passed <= moment or not moment
        return passed

    yield kill
    process.stdin.close()
    process.wait(60)
    process.stdout.close()


def spread(moments):
    """Choose some of the moments, with the first and the last."""
    return sorted({1 + round(number * (moments - 1) / (OFTEN - 1)) for number in range(OFTEN)})


def timeless(documents):
    """Return documents without what depends on the time and session of the requests."""
    moving = {"access_datetime", "first_seen", "changed", "session", "attempt", "parser_runtime"}
    return sorted(
        str({
            name: document["_id"].split(" - ", 1)[1] if name == "_id" and "result" in document else value
            for name, value in document.items() if name not in moving
        })
        for document in documents
    )  # fmt: skip


def faults(workspace):
    ledger = Ledger(workspace.ledger)
    problems = list(ADAPTER.check(workspace, ledger))
    ledger.close()
    return problems


def test_a_harvest_that_is_killed_at_any_commit_goes_on_to_the_same_events_and_logs(tmp_path, killed):
    with serving() as site:
        site.put("/council.ics", calendar(*FIRST))
        site.put("/board.ics", calendar(event("a@x", ":20270115T150000Z", "Board"), "UID:bad\r\nSUMMARY:No time"))
        whole = tmp_path / "whole"
        whole.mkdir()
        wanted = configured(whole, site)
        moments = killed(whole, "run", 0)
        assert (len(events(wanted)), len(logs(wanted))) == (9, 3)
        for moment in spread(moments):
            folder = tmp_path / f"run{moment}"
            folder.mkdir()
            workspace = configured(folder, site)
            killed(folder, "run", moment)
            run(workspace)
            assert timeless(events(workspace)) == timeless(events(wanted)), moment
            assert timeless(logs(workspace)) == timeless(logs(wanted)), moment
            assert faults(workspace) == [], moment
            shutil.rmtree(folder)


@pytest.fixture(scope="module")
def two_sessions(tmp_path_factory):
    """Return a workspace after its first session and after its second, with the documents of both."""
    root = tmp_path_factory.mktemp("sessions")
    (root / "second").mkdir()
    with serving() as site:
        site.put("/council.ics", calendar(*FIRST))
        site.put("/board.ics", calendar(event("a@x", ":20270115T150000Z", "Board")))
        workspace = configured(root / "second", site, every="1s")
        run(workspace)
        shutil.copytree(root / "second", root / "first")
        site.put("/council.ics", calendar(*SECOND))
        time.sleep(1.05)
        run(workspace)
        documents = (events(workspace), logs(workspace))
        assert [document["status"] for document in documents[0]].count("missing") == 1
        assert len(documents[1]) == 6
        return root, site, documents


def test_documents_whose_writing_to_sqlite_is_killed_at_any_commit_are_the_same_when_it_goes_on(
    tmp_path, two_sessions, killed
):
    root, _, wanted = two_sessions

    def half_way(name):
        """Return a workspace that was harvested twice, and whose documents are those of the first session."""
        folder = tmp_path / name
        shutil.copytree(root / "second", folder)
        for path in folder.glob("votersdaily.db*"):
            path.unlink()
        for path in (root / "first").glob("votersdaily.db*"):
            shutil.copy(path, folder)
        return folder

    for moment in spread(killed(half_way("counted"), "derive", 0)):
        folder = half_way(f"derive{moment}")
        workspace = load(folder, environ={}, collections={"events": COLLECTION})
        assert len(events(workspace)) == 9
        killed(folder, "derive", moment)
        ADAPTER._derive(workspace, lambda: True)
        assert (events(workspace), logs(workspace)) == wanted, moment
        assert faults(workspace) == [], moment


def test_documents_whose_writing_to_a_couchdb_is_killed_at_any_request_are_the_same_when_it_goes_on(
    tmp_path, two_sessions, killed
):
    root, site, wanted = two_sessions
    for name in ("first", "second"):
        shutil.copytree(root / name, tmp_path / name)
    served = tmp_path / "couchdb"
    served.mkdir()
    with couchdb(served) as (url, secret):
        (tmp_path / "secret").write_text(secret)
        where = f'documents = "{url}"\n' + (f'documents_secret = "file:{tmp_path}/secret"\n' if secret else "")

        def half_way():
            """Write the documents of the first session to databases; return the workspace after the second one."""
            mark = f"t{os.getpid()}_{secrets.token_hex(3)}"
            settings = f'{where}event_database = "{mark}_events"\nlog_database = "{mark}_log"'
            first, second = (configured(tmp_path / name, site, "1s", settings) for name in ("first", "second"))
            ADAPTER._derive(first, lambda: True)
            assert len(events(second)) == 9
            return second

        moments = killed(half_way().root, "derive", 0)
        for moment in spread(moments):
            workspace = half_way()
            killed(workspace.root, "derive", moment)
            ADAPTER._derive(workspace, lambda: True)
            assert (events(workspace), logs(workspace)) == wanted, moment
            assert faults(workspace) == [], moment
            with open_databases(workspace) as held:
                for name in (held.events, held.log):
                    held.store._request("DELETE", f"/{name}", good=(200, 202))


def test_what_vanished_in_a_session_whose_documents_were_not_written_is_told_when_the_next_one_has_it_again(tmp_path):
    with serving() as site:
        site.put("/board.ics", calendar())
        site.put("/council.ics", calendar(*FIRST))
        workspace = configured(tmp_path, site, every="1s")
        run(workspace)
        (tmp_path / "kept").mkdir()
        for path in tmp_path.glob("votersdaily.db*"):
            shutil.copy(path, tmp_path / "kept")
        site.put("/council.ics", calendar(*FIRST[1:]))
        pass_time(1.05)
        run(workspace)
        for path in (tmp_path / "kept").iterdir():  # as after a kill before anything was written
            shutil.copy(path, tmp_path)
        site.put("/council.ics", calendar(*FIRST))
        pass_time(1.05)
        run(workspace)
        documents = events(workspace)
        assert [change["fields"]["status"] for change in documents[0]["history"]] == [
            ["scheduled", "missing"], ["missing", "scheduled"]
        ]  # fmt: skip
        ADAPTER._rewrite_documents(workspace)
        assert events(workspace) == documents


def test_an_event_of_several_days_that_began_already_is_missing_too_when_its_calendar_leaves_it_out(tmp_path):
    with serving() as site:
        site.put("/board.ics", calendar())
        recess = event("r@x", ";VALUE=DATE:20260801", "Recess", dtend=";VALUE=DATE:20990901")
        site.put("/council.ics", calendar(recess, FIRST[0]))
        workspace = configured(tmp_path, site, every="1s")
        run(workspace)
        site.put("/council.ics", calendar(FIRST[0]))
        pass_time(1.05)
        run(workspace)
        documents = events(workspace)
        states = [(document["title"], document["status"]) for document in documents]
        assert states == [("Recess", "missing"), ("Event 1", "scheduled")]
        ADAPTER._rewrite_documents(workspace)
        assert events(workspace) == documents


def test_drift_is_told_to_the_status_once_though_its_log_is_written_twice(tmp_path):
    with serving() as site:
        site.put("/board.ics", calendar())
        site.put("/council.ics", calendar(*FIRST))
        workspace = configured(tmp_path, site, every="1s")
        run(workspace)
        with open_databases(workspace) as databases, ADAPTER._store(workspace) as records:
            ledger = Ledger(workspace.ledger)
            run_logs = RunLogs(
                records, ledger, databases, {}, archive=workspace.archive.folder, limits=workspace.limits
            )
            (log, *_) = databases.store.view(databases.log, "all")
            for _ in range(2):
                run_logs.add_failed_task({**log, "drift": ["there is no event"]})
            comments = [task.comment for task in ledger.sessions.tasks_of_source(log["source"])]
            told = [comment for comment in comments if comment.startswith(f"{log['source']}: drift: there is no event")]
            assert len(told) == 1
            ledger.close()
