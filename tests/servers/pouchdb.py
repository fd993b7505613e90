"""A server that speaks CouchDB's API: the one that WINDROW_COUCHDB names, else pouchdb-server on this machine.

`make pouchdb` installs it from npm into build/npm; WINDROW_NPM names another folder.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from benchmarks.daemon import free_port, listens

from tests.servers.daemon import running

ROOT = Path(__file__).parent.parent.parent
NPM = Path(os.environ.get("WINDROW_NPM", ROOT / "build" / "npm"))


@contextmanager
def couchdb(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the address of a server, with its secret; skip without a server."""
    if url := os.environ.get("WINDROW_COUCHDB"):
        yield url, os.environ.get("WINDROW_COUCHDB_SECRET", "")
        return
    program = NPM / "node_modules" / ".bin" / "pouchdb-server"
    if not program.exists() or shutil.which("node") is None:
        pytest.skip("no pouchdb-server: make pouchdb, or name a CouchDB in WINDROW_COUCHDB")
    port = free_port()
    (folder / "config.json").write_text(json.dumps({"log": {"level": "none", "file": str(folder / "log.txt")}}))
    command = [
        *("node", "--no-deprecation", "--unhandled-rejections=warn", str(program), "--host", "127.0.0.1"),
        *("--port", str(port), "--dir", str(folder), "--config", str(folder / "config.json"), "--no-color"),
    ]
    with running(command, folder / "log", lambda: listens(port), end=signal.SIGKILL):
        yield f"http://127.0.0.1:{port}/", ""
