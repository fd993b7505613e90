"""A workspace whose sources misbehave, run in this process, and queries of its ledger, tracker and store."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from tests.crash.workspace import TRACKER, misplaced_documents, reached
from tests.waiting import PATIENCE
from windrow.app.check import check_workspace
from windrow.app.status import WorkspaceState
from windrow.app.workspace import Windrow
from windrow.collections.drops.adapter.current_states import states
from windrow.collections.drops.collection import COLLECTION
from windrow.collections.drops.phase import PHASES
from windrow.demo.partner import drop
from windrow.engine.check import Fault
from windrow.engine.decision import write_decision
from windrow.engine.frontier import RETRY, frontier_of
from windrow.errors import WindrowError
from windrow.ledger import Ledger
from windrow.model import Site, Status

DAY = "2026-01-12"
ITEMS = "(SELECT seq, file_key AS key FROM listed_file UNION ALL SELECT seq, member_key FROM member)"
RUN = """
import sys
from windrow.app.workspace import Windrow
from windrow.errors import WindrowError
try:
    sys.exit(Windrow(sys.argv[1]).run().exit_code)
except WindrowError as error:
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
"""


class RunOutcome(NamedTuple):
    """The outcome of a run: its exit code, the error that ended it, the troubles of its tasks, its notes."""

    code: int
    error: WindrowError | None = None
    troubles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class ItemState(NamedTuple):
    """The state of an item, in words."""

    phase: str
    status: str
    reason: str | None


class WorkspaceDatabases:
    """The three databases of a workspace."""

    root: Path

    def query_ledger(self, text: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return rows of the ledger."""
        return _query(self.root / "ledger.sqlite", text, parameters)

    def query_tracker(self, text: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return rows of the tracker."""
        return _query(self.root / "tracker.sqlite", text, parameters)

    def query_store(self, text: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return rows of the store."""
        return _query(self.root / "drops.sqlite", text, parameters)


class RunnableWorkspace(WorkspaceDatabases):
    """A workspace that can run, with the centres H and J and the sources that a test adds."""

    def __init__(self, root: Path, settings: str = "", run: str = "") -> None:
        """Make the workspace; `settings` are further tables of windrow.toml, `run` lines of [run]."""
        self.root = root
        self._started: list[subprocess.Popen[bytes]] = []
        root.mkdir(parents=True, exist_ok=True)
        (root / "sources").mkdir()
        self.configure(settings, run)

    def configure(self, settings: str = "", run: str = "") -> None:
        """Write windrow.toml anew."""
        head = 'name = "faults"\ncontact = "operator@example.org"\n'
        centres = "".join(f'[[drops.centre]]\nshort_name = "{centre}"\n' for centre in ("H", "J"))
        (self.root / "windrow.toml").write_text(f"{head}[run]\nfetchers = 2\nreaders = 2\n{run}{settings}\n{centres}")

    def add_source(self, name: str, site: Site | str, centre: str = "H", **more: Any) -> None:
        """Declare a source at the site of a test server, or at a URL."""
        settings: dict[str, Any] = {"collection": "drops", "centre": centre}
        if isinstance(site, Site):
            user = f"{site.username}@" if site.username else ""
            settings["url"] = f"{site.scheme}://{user}{site.host}:{site.port}{site.base}"
            settings |= {"timeout": site.timeout, "ca_bundle": site.ca_bundle, "host_keys": list(site.host_keys)}
            settings |= {
                "secret": site.secret.place if site.secret else "",
                "ssh_key": site.key.place if site.key else "",
            }
        else:
            settings["url"] = site
        lines = [f"{key} = {_format_toml(setting)}" for key, setting in {**settings, **more}.items()]
        (self.root / "sources" / f"{name}.toml").write_text("\n".join(lines) + "\n")

    def add_folder(self, name: str, centre: str = "H", path: Path | None = None, **more: Any) -> Path:
        """Declare a source that is a local folder, and return the folder."""
        folder = make_drop_folders(path or self.root / "partner" / name)
        self.add_source(name, f"{folder.as_uri()}/", centre, **more)
        return folder

    def add_healthy(self, number: int = 1, centre: str = "J") -> str:
        """Add a source with one good zip, and return the zip's key."""
        folder = self.add_folder("healthy", centre)
        return put(folder, *drop(centre, DAY, number))

    def run(self, *names: str, last: str = "", limit: int | None = None, **flags: Any) -> RunOutcome:
        """Run to the end, in this process."""
        try:
            summary = Windrow(self.root, flags).run(names, last=last, limit=limit)
        except WindrowError as error:
            return RunOutcome(error.exit_code, error)
        assert self.faults() == []
        return RunOutcome(summary.exit_code or 0, None, summary.errors, summary.notes)

    def status(self) -> WorkspaceState:
        """Return what `windrow status` shows."""
        return Windrow(self.root).status()

    def faults(self) -> list[Fault]:
        """Return the faults that `windrow check` finds; captures, states and tracker must agree."""
        assert misplaced_documents(self.root) == []
        ledger = Ledger(self.root / "ledger.sqlite")
        try:
            return check_workspace(Windrow(self.root).config, ledger).faults
        finally:
            ledger.close()

    def retry(self, *keys: str) -> None:
        """Do what `windrow retry` does."""
        ledger = Ledger(self.root / "ledger.sqlite")
        try:
            chosen = frontier_of(ledger, COLLECTION).find_named(keys)
            assert write_decision(ledger, COLLECTION, RETRY, chosen) == len(keys)
        finally:
            ledger.close()

    def start(self) -> subprocess.Popen[bytes]:
        """Start a run in a process of its own, which `end` ends if it is still there."""
        process = subprocess.Popen([sys.executable, "-c", RUN, str(self.root)], stderr=subprocess.PIPE)
        self._started.append(process)
        return process

    def end(self) -> None:
        """Kill the runs that were started and are still going, as after a test that failed."""
        for process in self._started:
            process.kill()
            process.wait()
            if process.stderr:
                process.stderr.close()

    def finish(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for a run's end, check the workspace, and return the exit code."""
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode in {0, 3}, errors.decode()
        assert self.faults() == []
        return process.returncode

    def has_reached(self, phase: str, status: Status) -> bool:
        """Return whether an item was ever in this state; a run may be going on."""
        return reached(self.root, phase, status)


class DropsWorkspace(RunnableWorkspace):
    """Such a workspace, with the rows of ledger, tracker and store that the tests compare."""

    def loaded_zips(self) -> set[str]:
        """Return the names of the zips that have current records in the store."""
        text = "SELECT DISTINCT zip_name FROM submission WHERE published_at IS NOT NULL AND withheld_at IS NULL"
        return {row[0] for row in self.query_store(text)}

    def item_state(self, key: str) -> ItemState:
        """Return an item's state: of a zip by `add/NAME`, of a document by `add/NAME/MEMBER`."""
        rows = self.query_ledger(
            f"SELECT i.seq, p.reason FROM {ITEMS} i LEFT JOIN pending_step p ON p.item = i.seq WHERE i.key = ?"
            " ORDER BY i.seq DESC",
            key,
        )
        assert rows, f"{key} is not on the ledger"
        item, reason = rows[0]
        with closing(Ledger(self.root / "ledger.sqlite")) as ledger:
            phase, status = states(ledger, [item])[item]
        return ItemState(PHASES[phase - 1], Status(status).name.lower(), reason)

    def findings(self, key: str) -> list[tuple[str, str]]:
        """Return the findings of an item: kind and message."""
        return self.query_ledger(
            f"SELECT f.kind, f.message FROM finding f JOIN {ITEMS} i ON i.seq = f.item WHERE i.key = ? ORDER BY f.seq",
            key,
        )

    def tasks(self, source: str) -> list[tuple[int, str | None, str]]:
        """Return the ended tasks of a source: failed, reason, comment."""
        return self.query_ledger(
            "SELECT e.failed, e.reason, e.comment FROM task t JOIN task_end e ON e.task = t.seq WHERE t.source = ?"
            " ORDER BY t.seq",
            source,
        )

    def attempts(self, key: str) -> list[tuple[str, str | None, int, str]]:
        """Return the ended attempts at a file: source, reason, bytes received, message."""
        return self.query_ledger(
            "SELECT h.source, e.reason, e.received, e.message FROM attempt e JOIN listed_file f ON f.seq = e.listed_file"
            " JOIN host h ON h.seq = e.host"
            " WHERE f.file_key = ? ORDER BY e.seq",
            key,
        )

    def downloads(self, name: str) -> list[tuple[str, str, int]]:
        """Return a zip's rows in zip_download: phase, status, bytes."""
        rows = self.query_tracker(
            "SELECT d.phase_id, d.status_id, d.downloaded_size_bytes FROM zip_download d"
            " JOIN file_source_has_zip h ON h.id = d.zf_id JOIN zip_action a ON a.id = h.za_id"
            " JOIN zip_file f ON f.id = a.zip_id WHERE f.file_name = ? ORDER BY d.id",
            name.rpartition("/")[2],
        )
        return [(PHASES[phase - 1], Status(status).name.lower(), size) for phase, status, size in rows]

    def zip_log(self, name: str) -> list[tuple[str, str]]:
        """Return the tracker's log of a zip: class and message."""
        return self.query_tracker(
            "SELECT e.short_name, l.message FROM zip_log l JOIN an_exception e ON e.id = l.exception_id"
            " JOIN zip_download d ON d.id = l.zip_id JOIN file_source_has_zip h ON h.id = d.zf_id"
            " JOIN zip_action a ON a.id = h.za_id JOIN zip_file f ON f.id = a.zip_id WHERE f.file_name = ? ORDER BY l.id",
            name.rpartition("/")[2],
        )

    def xml_log(self, fname: str) -> list[tuple[str, str, int | None, int | None]]:
        """Return the tracker's log of a document: class, message, line, column."""
        return self.query_tracker(
            "SELECT e.short_name, l.message, l.line, l.col FROM xml_log l JOIN xml_file x ON x.id = l.xml_id"
            " JOIN an_exception e ON e.id = l.exception_id WHERE x.fname = ? ORDER BY l.id",
            fname,
        )

    def action_state(self, name: str) -> tuple[str, str]:
        """Return a zip's phase and status in the tracker."""
        rows = [row for row in self.query_tracker(TRACKER["zip_action"]) if row[0] == name.rpartition("/")[2]]
        return rows[0][2], rows[0][3]

    def assert_complete(self, *keys: str) -> None:
        """Assert that these zips passed all phases, by ledger, tracker and store."""
        for key in keys:
            assert self.item_state(key) == ("overview", "done", None)
            assert self.action_state(key) == ("overview", "done")
            assert key.rpartition("/")[2] in self.loaded_zips()

    def session_status(self) -> int:
        """Return the last session's status in the tracker; 0 is good."""
        return int(self.query_tracker("SELECT status FROM crawling_session ORDER BY id DESC LIMIT 1")[0][0])


def _format_toml(setting: Any) -> str:
    if isinstance(setting, list):
        return f"[{', '.join(_format_toml(each) for each in setting)}]"
    return str(setting) if isinstance(setting, int | float) else f'"{setting}"'


def _query(path: Path, text: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path, timeout=10)) as connection, connection:
        rows = connection.execute(text, parameters).fetchall()
    connection.close()
    return rows


def make_drop_folders(root: Path) -> Path:
    """Make the three folders of a drop."""
    for action in ("add", "edit", "delete"):
        (root / action).mkdir(parents=True, exist_ok=True)
    return root


def put(folder: Path, name: str, content: bytes, action: str = "add") -> str:
    """Drop a file and return its key."""
    (folder / action / name).write_bytes(content)
    return f"{action}/{name}"
