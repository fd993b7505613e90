"""Make `workspace-0008.tar.gz`: a small workspace as the first version of windrow left it, for the tests of upgrades.

    PYTHONPATH=OLD/src python tests/upgrade/make.py

OLD is a checkout of commit 122dcc7, whose ledger has schema 8. The demo is harvested over two days (drops and pages; a
page that goes, one that changes), then a zip is tried again, a WARC file of another maker is taken in, and a page is
taken down. What is kept: the configuration, the archive, the ledger and the tracker as SQL, the numbers of rows in the
store, and what `windrow why` and `windrow search` said. The name of the machine and its folder are left out.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import socket
import sqlite3
import sys
import tarfile
import tempfile
from pathlib import Path

from windrow.cli import main
from windrow.digest import Hasher

HERE = Path(__file__).parent
FOLDER = "/srv/workspace"
DATABASES = ("ledger", "tracker")


def said(*words: str) -> list[dict[str, object]]:
    """Run a command of windrow and return its lines of JSON."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
        main([*words, "--json"])
    return [json.loads(line) for line in out.getvalue().splitlines()]


def response(url: str, body: bytes) -> bytes:
    """Write one record as another maker would."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    hasher = Hasher()
    hasher.update(body)
    head = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-03-01T00:00:00Z\r\n"
        "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(answer)}\r\n\r\n"
    )
    return head.encode() + answer + b"\r\n\r\n"


def counts(path: Path) -> dict[str, int]:
    """Count the rows of every table of a database."""
    with contextlib.closing(sqlite3.connect(path)) as link:
        names = [row[0] for row in link.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {name: link.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}


def build(root: Path) -> dict[str, object]:
    """Harvest, retry, take in and take down; return what is to be the same after the upgrade."""
    said("demo", str(root))
    at = ("--workspace", str(root))
    elsewhere = root / "elsewhere.warc"
    body = b"<!doctype html><title>Tea</title><main><h1>Tea</h1><p>Pour hot water over leaves, and wait.</main>"
    elsewhere.write_bytes(response("http://elsewhere.example/tea", body))
    said("run", str(elsewhere), "--as", "elsewhere", *at)
    harbour = json.loads(json.dumps(re.findall(r"http://[^\"/]+", (root / "sources/harbour.toml").read_text())[0]))
    said("retry", "Wtsi.2026-01-12.8.impc.zip", *at)
    said("run", "wtsi", *at)
    said("forget", f"{harbour}/", "--yes", "--reason", "asked", *at)
    with contextlib.closing(sqlite3.connect(root / "ledger.sqlite")) as link:
        keys = [
            row[0] for row in link.execute("SELECT DISTINCT item_key FROM item WHERE collection = 'drops' ORDER BY 1")
        ]
        urls = [row[0] for row in link.execute("SELECT url FROM address ORDER BY url")]
    return {
        "why": {name: said("why", name, *at) for name in [*keys[:12], *keys[-4:], *urls]},
        "search": {word: said("search", word, *at) for word in ("ferry", "museum", "tea", "boat")},
        "status": said("status", *at),
        "store": counts(root / "drops.sqlite"),
        "summary": counts(root / "summary.sqlite"),
        "keys": keys,
    }


def clean(text: str, root: Path) -> str:
    """Leave out what tells of this machine."""
    return text.replace(str(root), FOLDER).replace(socket.gethostname(), "machine")


def pack(root: Path, expected: dict[str, object], target: Path) -> None:
    """Write the archive, the configuration, the databases as SQL, and what is expected."""
    with tarfile.open(target, "w:gz", compresslevel=9) as tar:

        def add(name: str, content: bytes) -> None:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))

        for name in DATABASES:
            with contextlib.closing(sqlite3.connect(root / f"{name}.sqlite")) as link:
                version = link.execute("PRAGMA user_version").fetchone()[0]
                text = "\n".join([*link.iterdump(), f"PRAGMA user_version = {version};"])
            add(f"{name}.sql", clean(text, root).encode())
        for path in sorted([*root.glob("archive/**/*.warc*"), *root.glob("archive/*.cdxj")]):
            add(str(path.relative_to(root)), path.read_bytes())
        for path in [root / "windrow.toml", *sorted(root.glob("sources/*.toml"))]:
            add(str(path.relative_to(root)), clean(path.read_text(), root).encode())
        add("expected.json", clean(json.dumps(expected), root).encode())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "demo"
        pack(made, build(made), HERE / "workspace-0008.tar.gz")
    sys.stdout.write(f"{(HERE / 'workspace-0008.tar.gz').stat().st_size:,} bytes\n")
