"""A server that speaks CouchDB's API: the one that WINDROW_COUCHDB names, else pouchdb-server on this machine.

`make pouchdb` installs it from npm into build/npm; WINDROW_NPM names another folder.
"""

import json
import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent.parent
NPM = Path(os.environ.get("WINDROW_NPM", ROOT / "build" / "npm"))


@contextmanager
def couchdb(folder):
    """Yield the address of a server, with its secret; skip where there is none."""
    if url := os.environ.get("WINDROW_COUCHDB"):
        yield url, os.environ.get("WINDROW_COUCHDB_SECRET", "")
        return
    program = NPM / "node_modules" / ".bin" / "pouchdb-server"
    if not program.exists() or shutil.which("node") is None:
        pytest.skip("no pouchdb-server: make pouchdb, or name a CouchDB in WINDROW_COUCHDB")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "config.json").write_text(json.dumps({"log": {"level": "none"}}))
    process = subprocess.Popen(
        ["node", "--no-deprecation", "--unhandled-rejections=warn", str(program), "--host", "127.0.0.1", "--port", str(port),
         "--dir", str(folder), "--config", str(folder / "config.json"), "--no-color"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < deadline, "pouchdb-server did not start"
                assert process.poll() is None, "pouchdb-server ended at once"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/", ""
    finally:
        process.kill()
        process.wait()
