"""A workspace over a folder of drops, run in processes that may be killed, and the rows of its tables."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import threading
import time
from contextlib import closing
from hashlib import md5
from pathlib import Path

from tests import programs
from tests.waiting import PATIENCE
from windrow.app.check import check_workspace
from windrow.collections.drops.adapter.current_states import all_states, read_xml_states
from windrow.collections.drops.states import StateEvent, xml_state
from windrow.config import load
from windrow.demo.partner import drop, pack
from windrow.engine.check import Fault
from windrow.ledger import Ledger
from windrow.model import Status

TOML = """
name = "crash"
contact = "operator@example.org"
[run]
fetchers = 2
readers = 2
[[drops.centre]]
short_name = "H"
[[drops.centre]]
short_name = "J"
"""
SOURCE = 'url = "file://{base}/"\ncollection = "drops"\ncentre = "{centre}"\nconnections = 2\n'
RUN = """
import sys
from pathlib import Path
from windrow.collections.drops.adapter.harvest import harvest
from windrow.config import load
from windrow.engine.run import SessionSettings
from windrow.engine.session import Session
config = load(Path(sys.argv[1]))
if sys.argv[2:]:
    from tests.crash.workspace import kill_this_process
    kill_this_process(config.ledger, sys.argv[2])
session = Session(SessionSettings(config.ledger, config.archive.folder, config.limits), "test")
session.run_harvest(harvest(config))
sys.exit(session.close())
"""


def make_workspace(root: Path, zips: int = 3, documents: int = 2) -> Path:
    """Make a workspace with two sources; one zip is on both, one is broken, one corrects another."""
    for centre in ("H", "J"):
        for action in ("add", "edit", "delete"):
            (root / "drop" / centre / action).mkdir(parents=True)
    for number in range(zips):
        for centre in ("H", "J"):
            name, content = drop(centre, "2026-01-12", number, documents)
            (root / "drop" / centre / "add" / name).write_bytes(content)
    shutil.copyfile(root / "drop/H/add/H.2026-01-12.0.impc.zip", root / "drop/J/add/H.2026-01-12.0.impc.zip")
    name, content = drop("J", "2026-01-12", 1, documents)
    (root / "drop/J/add" / f"{name}.md5").write_text(md5(content, usedforsecurity=False).hexdigest())
    name, content = drop("H", "2026-01-13", 1, documents, shift=1.0)
    (root / "drop/H/edit" / name).write_bytes(content)
    (root / "drop/H/add/H.2026-01-13.9.impc.zip").write_bytes(content[: len(content) // 2])
    bad = pack({"J.2026-01-13.1.specimen.impc.xml": b"<centreSpecimenSet/>", "x.xml": b"<x/>"})
    (root / "drop/J/add/J.2026-01-13.8.impc.zip").write_bytes(bad)
    (root / "drop/J/add/J.2026-02-31.8.impc.zip").write_bytes(bad)
    (root / "windrow.toml").write_text(TOML)
    (root / "sources").mkdir()
    for centre in ("H", "J"):
        source = SOURCE.format(base=root / "drop" / centre, centre=centre)
        (root / "sources" / f"{centre.lower()}.toml").write_text(source)
    return root


def start_run(root: Path, *query: str) -> programs.Process:
    """Start a run in a process group of its own, which kills itself once this query of its ledger is true."""
    return programs.start("-c", RUN, root, *query)


def finish_run(root: Path) -> int:
    """Run to the end and return the exit code; every document stands where the facts put it."""
    process = start_run(root)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode in {0, 3}, errors.decode()
    assert misplaced_documents(root) == []
    return process.returncode


def kill_when(root: Path, query: str) -> None:
    """Start a run that is killed as soon as a query of its ledger is true; fail if it ends before."""
    process = start_run(root, query)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL


def kill_this_process(ledger: Path, query: str) -> None:
    """Query a ledger again and again in a thread, and kill this process as soon as the answer is true."""

    def wait() -> None:
        while not _query(ledger, "SELECT count(*) FROM sqlite_master"):
            time.sleep(0.004)
        with closing(_connect(ledger)) as connection:  # connecting anew for each query takes much longer than the query
            while not _query_once(connection, query):
                time.sleep(0.004)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


def find_faults(root: Path) -> list[Fault]:
    """Return what `windrow check` finds wrong."""
    workspace = load(root)
    ledger = Ledger(workspace.ledger)
    try:
        return check_workspace(workspace, ledger).faults
    finally:
        ledger.close()


LISTING = "SELECT (SELECT count(*) FROM task) > (SELECT count(*) FROM task_end)"
"""Whether a run is listing sources."""


_NAMED = "SELECT 1 FROM {} WHERE reason IS {} NULL"
_ATTEMPT = "SELECT 1 FROM attempt WHERE listed_file IS NOT NULL AND {}"
_ARRIVED = _ATTEMPT.format("end_seq > 0 AND reason IS NULL")
_REACHED = {
    ("download", Status.PENDING): _NAMED.format("listed_file", ""),
    ("download", Status.RUNNING): _ATTEMPT.format("end_seq IS NULL"),
    ("download", Status.FAILED): _ATTEMPT.format("reason <> 'digest_mismatch'"),
    ("download", Status.DONE): _ARRIVED,
    ("zip_name", Status.FAILED): _NAMED.format("listed_file", "NOT"),
    ("zip_name", Status.DONE): _ARRIVED,
    ("zip_md5", Status.FAILED): _ATTEMPT.format("reason = 'digest_mismatch'"),
    ("zip_md5", Status.DONE): _ATTEMPT.format("reason IS NULL AND checksum <> ''"),
    ("xml_name", Status.FAILED): _NAMED.format("member", "NOT"),
    ("xml_name", Status.DONE): _NAMED.format("member", ""),
}


def reached_query(phase: str, status: Status) -> str:
    """Return the query whether the facts on record ever put an item into this state."""
    if status is Status.RUNNING:
        step = f"SELECT 1 FROM step_start WHERE step = '{phase}'"
    else:
        step = f"SELECT 1 FROM reading WHERE step = '{phase}' AND reason IS {'NOT ' * (status is Status.FAILED)}NULL"
    return f"SELECT EXISTS ({_REACHED.get((phase, status), step)})"


def reached(root: Path, phase: str, status: Status) -> bool:
    """Return whether an item was ever in this state."""
    return _query(root / "ledger.sqlite", reached_query(phase, status))


STEPPED = "(SELECT count(*) FROM step_start) + (SELECT count(*) FROM reading)"
"""The number of steps begun and ended."""


def misplaced_documents(root: Path) -> list[tuple[int, object, object]]:
    """Return the documents whose state by their pending step differs from that by all facts: number, both states."""
    with closing(Ledger(root / "ledger.sqlite")) as ledger:
        documents = [item for item in ledger.items.seen(ledger.items.numbers("drops")) if item.kind == "xml"]
        stated = read_xml_states(ledger, documents)
        events = {item.item: [StateEvent(*row[1:]) for row in ledger.items.events([item.item])] for item in documents}
    derived = {item.item: xml_state(item.reason, events[item.item]) for item in documents}
    return [(item, stated[item], derived[item]) for item in stated if stated[item] != derived[item]]


def _query(ledger: Path, query: str) -> bool:
    if not ledger.exists():
        return False
    with closing(_connect(ledger)) as connection:
        return _query_once(connection, query)


def _connect(ledger: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{ledger}?mode=ro", uri=True, timeout=5)


def _query_once(connection: sqlite3.Connection, query: str) -> bool:
    try:
        return bool(connection.execute(query).fetchone()[0])
    except sqlite3.OperationalError:
        return False  # its tables are not made yet


def read_tables(root: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of all tables, without times, sessions and the numbers that follow from them."""
    rows_by_table: dict[str, list[tuple[object, ...]]] = {}
    with closing(Ledger(root / "ledger.sqlite")) as ledger:
        states = all_states(ledger)
    with closing(sqlite3.connect(root / "ledger.sqlite")) as connection, connection:
        rows = connection.execute(
            "SELECT i.kind, i.key, p.reason, i.seq FROM (SELECT kind, file_key AS key, seq FROM listed_file UNION ALL"
            " SELECT m.kind, m.member_key, m.seq FROM member m JOIN attempt a ON a.seq = m.attempt"
            " WHERE m.attempt = (SELECT max(v.seq) FROM attempt v WHERE v.listed_file = a.listed_file)"
            ") i LEFT JOIN pending_step p ON p.item = i.seq ORDER BY 1, 2"
        )
        rows_by_table["standing"] = [(kind, key, *states[item], reason) for kind, key, reason, item in rows]
    with closing(sqlite3.connect(root / "tracker.sqlite")) as tracker, tracker:
        for name, text in TRACKER.items():
            rows_by_table[name] = tracker.execute(text).fetchall()
    with closing(sqlite3.connect(root / "drops.sqlite")) as store, store:
        for name, text in STORE.items():
            rows_by_table[name] = store.execute(text).fetchall()
    return rows_by_table


_STATE = (
    "p.short_name, s.short_name FROM {t} JOIN phase p ON p.id = {t}.phase_id JOIN a_status s ON s.id = {t}.status_id"
)
TRACKER = {
    "zip_action": "SELECT f.file_name, a.todo_id, p.short_name, s.short_name FROM zip_action a"
    " JOIN zip_file f ON f.id = a.zip_id JOIN phase p ON p.id = a.phase_id JOIN a_status s ON s.id = a.status_id"
    " ORDER BY 1, 2",
    "zip_download": "SELECT f.file_name, a.todo_id, d.phase_id, d.status_id, d.downloaded_size_bytes, count(*)"
    " FROM zip_download d JOIN file_source_has_zip h ON h.id = d.zf_id JOIN zip_action a ON a.id = h.za_id"
    " JOIN zip_file f ON f.id = a.zip_id GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4",
    "hosts": "SELECT f.file_name, a.todo_id, h.file_source_id, h.num_retries FROM file_source_has_zip h"
    " JOIN zip_action a ON a.id = h.za_id JOIN zip_file f ON f.id = a.zip_id ORDER BY 1, 2, 3",
    "zip_file": "SELECT file_name, created, inc, size_bytes, content_md5 FROM zip_file ORDER BY 1",
    "xml_file": "SELECT f.file_name, x.fname, x.size_bytes, x.content_md5, x.phase_id, x.status_id FROM xml_file x"
    " JOIN zip_download d ON d.id = x.zip_id JOIN file_source_has_zip h ON h.id = d.zf_id"
    " JOIN zip_action a ON a.id = h.za_id JOIN zip_file f ON f.id = a.zip_id ORDER BY 1, 2",
    "xml_log": "SELECT x.fname, e.short_name, l.message, l.line, l.col FROM xml_log l JOIN xml_file x ON x.id = l.xml_id"
    " JOIN an_exception e ON e.id = l.exception_id ORDER BY 1, 2, 3, 4, 5",
    "zip_log": "SELECT e.short_name, l.message FROM zip_log l JOIN an_exception e ON e.id = l.exception_id ORDER BY 1, 2",
}
STORE = {
    "submission": "SELECT name, zip_name, action, centre, digest, kind, published_at IS NULL, withheld_at IS NULL"
    " FROM submission ORDER BY 1, 2, 3",
    "entity": "SELECT e.kind, e.identifier, s.zip_name, s.name, e.valid_from IS NULL, e.valid_to IS NULL, e.tombstone"
    " FROM entity e JOIN submission s ON s.id = e.submission_id ORDER BY 1, 2, 3, 4",
    "simple_parameter": "SELECT s.zip_name, s.name, p.parameter_id, p.value, p.ordinal FROM simple_parameter p"
    " JOIN submission s ON s.id = p.submission_id ORDER BY 1, 2, 5, 3, 4",
}


def open_files(folder: Path) -> list[str]:
    """Return the files below a folder that this process has open; an exception that is still held keeps its files open."""
    links = Path("/proc/self/fd").iterdir()
    return [name for name in map(os.path.realpath, links) if name.startswith(f"{folder}/")]
