"""The folder that every test server offers, and the description of a running server."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from windrow.model import Site

MODIFIED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SMALL = b"PK small " * 2000
LARGE = random.Random(7).randbytes(5 * 2**20 + 12345)
ODD = (
    "with space.zip",
    "  two  inside .zip",
    'quote\'s "x".zip',
    "per%20cent.zip",
    "plus+and&amp;.zip",
    "hash#and?mark.zip",
    "[br]ack{et}s.zip",
    "-dash.zip",
    "ünï-cödé-数.zip",
)
MANY = 2000


@dataclass(frozen=True)
class Served:
    """A running server: its site, one with wrong credentials, and its folder on this disk."""

    site: Site
    wrong: Site | None
    root: Path


def fill(root: Path) -> Path:
    """Make add/ (files, odd names, a folder, a link), edit/ (empty) and many/ (2,000 files)."""
    for folder in ("add", "add/sub", "edit", "many"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    files = {"small.zip": SMALL, "large.zip": LARGE, "empty.zip": b""} | {name: name.encode() for name in ODD}
    for name, content in files.items():
        path = root / "add" / name
        path.write_bytes(content)
        os.utime(path, (MODIFIED.timestamp(), MODIFIED.timestamp()))
    for number in range(MANY):
        (root / "many" / f"H.2026-01-02.{number}.impc.zip").write_bytes(b"x" * (number % 50))
    link = root / "add" / "link.zip"
    if not link.is_symlink():
        link.symlink_to("small.zip")
    root.chmod(0o755)
    return root
