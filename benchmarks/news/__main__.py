"""Benchmarks of the collection `news`: `python -m benchmarks.news [NAME ...] [--json]`."""

from __future__ import annotations

import base64
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.comparison import Comparison, show
from benchmarks.daemon import Missing
from benchmarks.news.extract import MODULES

PAGES = 150
GOALS = {"trafilatura": 5.0, "newspaper4k": 5.0}
_SHARED = Path(os.environ.get("WINDROW_SHARED", "../shared")) / "data" / "extraction"
_SCRIPT = Path(__file__).with_name("extract.py")


def _pages() -> list[bytes]:
    paths = sorted((_SHARED / "html").glob("*.gz"))
    if not paths:
        raise Missing(f"there are no pages in {_SHARED}")
    return [gzip.decompress(path.read_bytes()) for path in paths[:: max(1, len(paths) // PAGES)]]


def _python(who: str) -> str:
    paths = [one for one in os.environ.get("WINDROW_PEERS", "").split(os.pathsep) if one]
    for path in (sys.executable, *paths):
        asked = subprocess.run([path, "-c", f"import {MODULES[who]}"], capture_output=True, check=False)
        if asked.returncode == 0:
            return path
    raise Missing(f"{who} is not installed: pip install it, and name the Python that has it by WINDROW_PEERS")


def _read(who: str, pages: list[bytes]) -> list[dict[str, Any]]:
    lines = "".join(json.dumps({"raw": base64.b64encode(one).decode(), "url": ""}) + "\n" for one in pages)
    done = subprocess.run([_python(who), str(_SCRIPT), who], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def speed() -> Iterator[Comparison]:
    """Compare article pages to Markdown and fields, each second of a core."""
    pages = _pages()
    ours = len(pages) / sum(one["spent"] for one in _read("windrow", pages))
    size = sum(map(len, pages)) // len(pages) // 1000
    for who, goal in GOALS.items():
        try:
            theirs: float | None = len(pages) / sum(one["spent"] for one in _read(who, pages))
        except Missing as missing:
            print(missing, file=sys.stderr)
            theirs = None
        yield Comparison(
            "article to Markdown", "pages/s of a core", ours, who, theirs, goal, note=f"pages of {size} kB"
        )


COMPARISONS = {"speed": speed}

if __name__ == "__main__":
    show(__doc__ or "", COMPARISONS)
