"""Extractors of main content, ours and the peers': each runs in a Python of its own that has it.

WINDROW_PEERS names the Pythons that have peers, divided as in PATH; the one that runs this is tried too, and a
`python3.12`, which is what rs-trafilatura comes for.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.daemon import Missing
from benchmarks.pages.extract import MODULES
from benchmarks.pages.sample import Sample
from windrow.content.charset import decode

WHO = tuple(who for who in MODULES if who != "windrow reading")
PUBLISHED = {"rs-trafilatura": 0.859}
"""Published mean F1 on the development set of which `data/extraction` is a half, for those that cannot run here."""

_SCRIPT = Path(__file__).with_name("extract.py")


class Extraction(NamedTuple):
    """The text that an extractor found on a page, and the CPU seconds it took."""

    text: str
    spent: float


def _pythons() -> Iterable[str]:
    yield from filter(None, os.environ.get("WINDROW_PEERS", "").split(os.pathsep))
    yield sys.executable
    if executable := shutil.which("python3.12"):
        yield executable


@cache
def python(who: str) -> str:
    """Return the Python that has an extractor."""
    if who.startswith("windrow"):
        return sys.executable
    for path in _pythons():
        asked = subprocess.run([path, "-c", f"import {MODULES[who]}"], capture_output=True, check=False)
        if asked.returncode == 0:
            return path
    raise Missing(f"{who} is not installed: pip install it, and name the Python that has it by WINDROW_PEERS")


def lines(pages: Sequence[Sample]) -> bytes:
    """Return pages as the input lines of extractors."""
    arguments = [
        {"raw": base64.b64encode(page.raw).decode(), "text": decode(page.raw).text, "url": page.url} for page in pages
    ]
    return "\n".join(map(json.dumps, arguments)).encode()


def extract(who: str, records: bytes) -> list[Extraction]:
    """Extract all pages in a fresh process."""
    done = subprocess.run(
        [python(who), str(_SCRIPT), who], input=records, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    asked = len(records.splitlines())
    assert len(rows) == asked, (who, len(rows), asked)
    return [Extraction(row["found"], row["spent"]) for row in rows]
