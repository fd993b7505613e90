"""Runs that kill themselves at a commit of each kind, and are run again: arguments MODULE TEMPLATE INTO, JSON output.

A commit's kind is the file and the tables that its transaction wrote. One process forks all runs, since loading the
modules takes longer than a run. MODULE has `run_again(root)`, which runs the workspace there; TEMPLATE is a workspace
that was not run yet. The whole run is in INTO/whole, killed ones in INTO/KIND-TIME. Which writes share a commit depends
on timing: a run that does not meet its kind is repeated, and a kind that never occurs again is left out.
Callers check the kinds they need.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from tests import programs
from tests.waiting import PATIENCE
from windrow.ledger import database
from windrow.stores import sqlite

WRITES = re.compile(r"\b(?:INTO|UPDATE(?: OR \w+)?|DELETE FROM) (?!SET\b)(\w+)")


TIMES = 4
ROOT = Path(__file__).parent.parent.parent


def killed_at_each_kind(module: str, template: Path, into: Path) -> Iterator[tuple[str, str, Path]]:
    """Kill a run at a commit of each kind and run it again; yield the kind and when, and the workspace."""
    done = programs.run("-m", "tests.requests.killed", module, template, into, cwd=ROOT, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    for load in json.loads(done.stdout):
        yield load["kind"], load["when"], Path(load["root"])


class KillingConnection(sqlite3.Connection):
    """A connection that kills its process before or after the first commit of a kind, and lists the kinds."""

    name = ""
    kinds: ClassVar[list[str]] = []
    kind = ""
    when = ""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.tables: set[str] = set()

    def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
        if sql == "PRAGMA synchronous = FULL":
            sql = "PRAGMA synchronous = OFF"  # the writes of a killed process survive anyway
        if sql == "BEGIN IMMEDIATE":
            self.tables = set()
        if sql != "COMMIT":
            self._wrote(sql)
            return super().execute(sql, *arguments)
        kind = f"{self.name}: {' '.join(sorted(self.tables))}"
        if self.tables and kind not in KillingConnection.kinds:
            KillingConnection.kinds.append(kind)
        if kind == KillingConnection.kind and KillingConnection.when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        cursor = super().execute(sql, *arguments)
        if kind == KillingConnection.kind:
            os.kill(os.getpid(), signal.SIGKILL)
        return cursor

    def executemany(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
        self._wrote(sql)
        return super().executemany(sql, *arguments)

    def _wrote(self, sql: str) -> None:
        self.tables |= {*WRITES.findall(sql)}


class KillingSqlite:
    """The module sqlite3, with connections that kill their process."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sqlite3, name)

    def connect(self, path: Path, *arguments: Any, **named: Any) -> KillingConnection:
        connection: KillingConnection = sqlite3.connect(path, *arguments, factory=KillingConnection, **named)
        connection.name = Path(path).name
        return connection


def run_in_fork(act: Callable[[Path], object], root: Path) -> bool:
    """Call a function in a forked process; return whether it was killed."""
    child = os.fork()
    if not child:
        ended = 1
        try:
            act(root)
            (root / "kinds.json").write_text(json.dumps(KillingConnection.kinds))
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
    run_again = import_module(module).run_again
    posix: Any = os  # functions of modules are changed here for the children that are forked
    posix.fsync = posix.fdatasync = lambda _: None
    whole = into / "whole"
    shutil.copytree(template, whole)
    dying, users = KillingSqlite(), (database, sqlite)
    _use(dying, *users)
    run_in_fork(run_again, whole)
    loads: list[dict[str, str]] = []
    for number, kind in enumerate(json.loads((whole / "kinds.json").read_text())):
        KillingConnection.kind, KillingConnection.when = kind, ("before", "after")[number % 2]
        for time in range(TIMES):
            root = into / f"{number}-{time}"
            shutil.copytree(template, root)
            _use(dying, *users)
            killed = run_in_fork(run_again, root)
            _use(sqlite3, *users)
            if killed:
                run_in_fork(run_again, root)
                loads.append({"kind": kind, "when": KillingConnection.when, "root": str(root)})
                break
    sys.stdout.write(json.dumps(loads))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
