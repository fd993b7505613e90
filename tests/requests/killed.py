"""Runs that kill themselves at a commit of each kind, and are run again: MODULE TEMPLATE INTO, told as JSON.

A commit's kind is which tables of which file its transaction wrote. One process forks all of them, since to load what
a run needs takes longer than the run. MODULE has `again(root)`, which runs a workspace there; TEMPLATE is one that was
not run yet. Whole runs are in INTO/whole, those that were killed in INTO/KIND-TIME. Which writes share a commit depends on the moment: a run that does
not meet its kind is begun anew some times, and a kind that is not met again is not told. Callers check what they need.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from multiprocessing import forkserver
from pathlib import Path
from typing import Any, ClassVar

from tests.waiting import PATIENCE
from windrow.engine import runtime
from windrow.ledger import database
from windrow.stores import sqlite

WRITES = re.compile(r"\b(?:INTO|UPDATE(?: OR \w+)?|DELETE FROM) (?!SET\b)(\w+)")


TIMES = 4
ROOT = Path(__file__).parent.parent.parent


def killed_at_each_kind(module: str, template: Path, into: Path) -> Iterator[tuple[str, str, Path]]:
    """Kill a run at a commit of each kind and run it again; yield the kind and when, and the workspace."""
    command = [sys.executable, "-m", "tests.requests.killed", module, str(template), str(into)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr.decode()
    for load in json.loads(done.stdout):
        yield load["kind"], load["when"], Path(load["root"])


class Dying(sqlite3.Connection):
    """A connection that ends its process before or after the first commit of a kind, and lists the kinds."""

    name = ""
    kinds: ClassVar[list[str]] = []
    kind = ""
    when = ""

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self.tables: set[str] = set()

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql == "PRAGMA synchronous = FULL":
            sql = "PRAGMA synchronous = OFF"  # what a killed process wrote is there all the same
        if sql == "BEGIN IMMEDIATE":
            self.tables = set()
        if sql != "COMMIT":
            self._wrote(sql)
            return super().execute(sql, *values)
        kind = f"{self.name}: {' '.join(sorted(self.tables))}"
        if self.tables and kind not in Dying.kinds:
            Dying.kinds.append(kind)
        if kind == Dying.kind and Dying.when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        done = super().execute(sql, *values)
        if kind == Dying.kind:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    def executemany(self, sql: str, *values: Any) -> sqlite3.Cursor:
        self._wrote(sql)
        return super().executemany(sql, *values)

    def _wrote(self, sql: str) -> None:
        self.tables |= {*WRITES.findall(sql)}


class Sqlite:
    """The module sqlite3, with connections that die."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sqlite3, name)

    def connect(self, path: Path, *values: Any, **named: Any) -> Dying:
        made: Dying = sqlite3.connect(path, *values, factory=Dying, **named)
        made.name = Path(path).name
        return made


def forked(act: Callable[[Path], object], root: Path) -> bool:
    """Act in a process of its own; return whether it was killed."""
    child = os.fork()
    if not child:
        ended = 1
        try:
            act(root)
            (root / "kinds.json").write_text(json.dumps(Dying.kinds))
            ended = 0
        finally:
            if ended:
                traceback.print_exc()
            os._exit(ended)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in {0, -signal.SIGKILL}:
        sys.exit(f"a run in {root} ended with {status}")
    return status != 0


def _use(sqlite: Any, *users: Any) -> None:
    for module in users:
        module.sqlite3 = sqlite


def main(module: str, template: Path, into: Path) -> None:
    again = import_module(module).again
    posix: Any = os  # functions of modules are changed here for the children that are forked
    posix.fsync = posix.fdatasync = lambda _: None
    runtime.warm_up(["http"], [again.__module__])  # one server of processes for all runs: to start it takes longest
    serving: Any = forkserver
    serving.ensure_running = serving._forkserver.ensure_running = lambda: None
    whole = into / "whole"
    shutil.copytree(template, whole)
    dying, users = Sqlite(), (database, sqlite)
    _use(dying, *users)
    forked(again, whole)
    told: list[dict[str, str]] = []
    for number, kind in enumerate(json.loads((whole / "kinds.json").read_text())):
        Dying.kind, Dying.when = kind, ("before", "after")[number % 2]
        for time in range(TIMES):
            root = into / f"{number}-{time}"
            shutil.copytree(template, root)
            _use(dying, *users)
            killed = forked(again, root)
            _use(sqlite3, *users)
            if killed:
                forked(again, root)
                told.append({"kind": kind, "when": Dying.when, "root": str(root)})
                break
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
