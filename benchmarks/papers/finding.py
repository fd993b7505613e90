"""Lines of CDX files: parsed and judged by the rules of papers, beside a bare split in Python and grep."""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.comparison import Comparison
from windrow.collections.papers.finding import select
from windrow.formats.cdx import parse_line
from windrow.model import CdxLine, Site, Source

LINES = 300_000
GOAL = 300_000.0
"""Lines a second and core."""

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def lines(count: int = LINES) -> list[bytes]:
    """Make lines as a crawl of many sites gives them: a third are PDFs."""
    chance = random.Random(1)
    made = []
    for number in range(count):
        mime, status = chance.choice([("application/pdf", 200), ("text/html", 200), ("text/html", 301)])
        digest = "".join(chance.choices(_DIGITS, k=32))
        path = f"papers/{number % 97}/{number}.pdf"
        site, month = number % 5000, number % 12 + 1
        place = f"- - {number % 90_000} {number * 977} CRAWL-2017-{number % 400:05}.warc.gz"
        address = f"org,example{site})/{path} 2017{month:02}05123456 http://www.example{site}.org/{path}"
        made.append(f"{address} {mime} {status} {digest} {place}".encode())
    return made


def finding() -> Iterator[Comparison]:
    """Judge the lines, then split them, then let grep count those that say PDF."""
    made = lines()
    rule = select(Source("library", "papers", Site("", ""), options={}), {})

    def judge() -> int:
        return sum(rule(one) is None for line in made if type(one := parse_line(line)) is CdxLine)

    ours = LINES / _seconds(judge)
    split = LINES / _seconds(lambda: sum(line.split()[3] == b"application/pdf" for line in made))
    yield Comparison("CDX lines parsed and judged", "lines/s", ours, "a bare split", split, 0.3)
    yield Comparison("CDX lines parsed and judged", "lines/s", ours, "the goal", GOAL, 1.0)
    if shutil.which("grep"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lines.cdx"
            path.write_bytes(b"\n".join(made))
            command = ["grep", "-c", " application/pdf 200 ", path]
            took = _seconds(lambda: subprocess.run(command, capture_output=True, check=True))
        yield Comparison("CDX lines parsed and judged", "lines/s", ours, "grep", LINES / took, 0.05)


def _seconds(run: Callable[[], object]) -> float:
    """Return the best of three."""
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - began)
    return best
