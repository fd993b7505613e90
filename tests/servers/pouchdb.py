"""A server that speaks CouchDB's API: the one that WINDROW_COUCHDB names, else pouchdb-server on this machine.

`make pouchdb` installs it from npm into build/npm; WINDROW_NPM names another folder.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

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


@contextmanager
def refusing_above(max_size: int, url: str) -> Iterator[str]:
    """Yield the address of a server that hands requests on to `url`, and refuses larger ones as CouchDB does."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if len(content) > max_size:
                body = json.dumps({"error": "document_too_large", "reason": json.loads(content)["docs"][0]["_id"]})
                self.send(413, body.encode())
                return
            request = Request(url.rstrip("/") + self.path, content or None, dict(self.headers), method=self.command)
            try:
                with urlopen(request) as response:
                    self.send(response.status, response.read())
            except HTTPError as error:
                self.send(error.code, error.read())

        do_GET = do_PUT = do_POST = do_DELETE = answer  # noqa: N815 as the library calls them

        def send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http_server:
        threading.Thread(target=http_server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{http_server.server_port}/"
        http_server.shutdown()
