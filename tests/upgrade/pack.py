"""Make `workspace-0100.tar.xz`: a workspace as this version leaves it, for the tests of later ones.

    python -m tests.upgrade.pack

It has mirrors of a zip, one that was corrected, broken ones, one of them cancelled and one retried, a refused name, a
document with a finding, a source that rests, a replay, pages, and a large transfer that was cut with its part file. What
is kept: the configuration, the archive, the databases as SQL, the part file, and what commands said of them. The names
of the machine and of its folder are left out.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from tests.crash.workspace import read_tables
from tests.faults.server import RogueServer, rogue_server
from tests.faults.workspace import DropsWorkspace, WorkspaceDatabases
from windrow.cli.root import main
from windrow.demo.partner import drop, pack, specimens

TARGET = Path(__file__).parent / "workspace-0100.tar.xz"
DAY = "2026-01-12"
MIRRORED = f"H.{DAY}.10.impc.zip"
TIRED = f"H.{DAY}.20.impc.zip"
LARGE = f"H.{DAY}.30.impc.zip"
BROKEN, CANCELLED = f"H.{DAY}.4.impc.zip", f"H.{DAY}.5.impc.zip"
OWN = {
    **{f"add/{name}": content for name, content in (drop("H", DAY, number) for number in (1, 2, 3))},
    f"add/{BROKEN}": b"not a zip",
    f"add/{CANCELLED}": b"not a zip either",
    "add/notes.txt": b"not a name of the standard",
    f"add/H.{DAY}.6.impc.zip": pack({f"H.{DAY}.6.specimen.impc.xml": b"<centreSpecimenSet/>"}),
}
EDITED = {f"edit/H.{DAY}.1.impc.zip": drop("H", DAY, 1)[1]}
FILES = {
    "own": OWN,
    "north": {f"add/{MIRRORED}": drop("H", DAY, 10)[1]},
    "south": {f"add/{MIRRORED}": drop("H", DAY, 10)[1]},
    "tired": {f"add/{TIRED}": drop("H", DAY, 20)[1]},
    "large": {
        f"add/{LARGE}": pack(
            {f"H.{DAY}.1.specimen.impc.xml": specimens("H", 1, 3), "plot.png": random.Random(5).randbytes(65_536) * 40}
        )
    },
}
"""What the servers of the sources have, by source and path. The large one is packed small by LZMA, not by zip."""

KEYS = [f"add/{name}" for name in (MIRRORED, TIRED, LARGE, BROKEN, CANCELLED)]
RUN = """
import socket, sys
socket.gethostname = lambda: "machine"
from windrow.cli.root import main
main(["run", "large", "--workspace", sys.argv[1]])
"""


def messages(root: Path, *arguments: str) -> list[dict[str, Any]]:
    """Run a command of windrow and return its lines of JSON."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
        main([*arguments, "--json", "--workspace", str(root)])
    return [json.loads(line) for line in out.getvalue().splitlines()]


@contextmanager
def servers() -> Iterator[dict[str, RogueServer]]:
    """Start the servers of the sources."""
    with ExitStack() as running:
        yield {name: running.enter_context(rogue_server(files=dict(files))) for name, files in FILES.items()}


def build(root: Path) -> dict[str, Any]:
    """Make the workspace, and return what is to be the same after an upgrade."""
    workspace = DropsWorkspace(root)
    with servers() as running:
        for name in ("own", "north", "south", "tired"):
            workspace.add_source(name, running[name].url(), secret="env:HOME", attempts=1)
        running["north"].refused[f"add/{MIRRORED}"] = b"450 busy\r\n"
        running["tired"].refused[f"add/{TIRED}"] = b"450 busy\r\n"
        messages(root, "run", "drops")
        running["own"].files |= EDITED
        messages(root, "cancel", f"add/{CANCELLED}")
        messages(root, "retry", f"add/{BROKEN}")
        for _ in range(3):
            messages(root, "run", "drops")
        messages(root, "replay", "drops")
        workspace.add_source("large", running["large"].url(), secret="env:HOME", attempts=1)
        running["large"].rate = 1e6
        cut(root)
    return {
        "why": {key: messages(root, "why", key) for key in KEYS},
        "status": messages(root, "status"),
        "tables": json.loads(json.dumps(read_tables(root))),
    }


def cut(root: Path) -> None:
    """Begin to fetch the large file, and kill the run in the middle of it."""
    process = subprocess.Popen([sys.executable, "-c", RUN, str(root)], start_new_session=True)
    under_way = "SELECT count(*) FROM attempt WHERE listed_file IS NOT NULL AND end_seq IS NULL"
    workspace = WorkspaceDatabases()
    workspace.root = root
    while not (workspace.query_ledger(under_way)[0][0] and any((root / "archive" / "parts").iterdir())):
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def write(root: Path, expected: dict[str, Any], target: Path) -> None:
    """Write the packed workspace."""
    with tarfile.open(target, "w:xz") as tar:

        def add(name: str, content: bytes) -> None:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))

        for path in sorted(root.rglob("*")):
            name = str(path.relative_to(root))
            if path.suffix in {".sqlite", ".db"}:
                with closing(sqlite3.connect(path)) as connection:
                    version = connection.execute("PRAGMA user_version").fetchone()[0]
                    text = "\n".join([*connection.iterdump(), f"PRAGMA user_version = {version};"])
                add(f"{name}.sql", text.replace(str(root), "/srv/workspace").encode())
            elif path.is_file() and "sqlite-" not in name:
                add(name, path.read_bytes())
        add("expected.json", json.dumps(expected).replace(str(root), "/srv/workspace").encode())


if __name__ == "__main__":
    socket.gethostname = lambda: "machine"
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "workspace"
        write(built, build(built), TARGET)
        sys.stdout.write(f"{TARGET.stat().st_size:,} bytes\n")
