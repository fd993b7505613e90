"""Lines of CDX files: parsed and judged by the rules of papers, beside a bare split in Python and grep."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.comparison import Comparison
from windrow.collections.papers.collection import COLLECTION
from windrow.engine.captures.foreign_records import BlockJob
from windrow.model import Limits, Site, Source

LINES, ROUNDS = 300_000, 5
GOAL = 300_000.0
"""Lines a second and core."""

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def lines(count: int = LINES) -> list[bytes]:
    """Make lines as a crawl of many sites gives them: a third are PDFs."""
    chance = random.Random(1)
    index_lines = []
    for number in range(count):
        mime, status = chance.choice([("application/pdf", 200), ("text/html", 200), ("text/html", 301)])
        digest = "".join(chance.choices(_DIGITS, k=32))
        path = f"papers/{number % 97}/{number}.pdf"
        site, month = number % 5000, number % 12 + 1
        place = f"- - {number % 90_000} {number * 977} CRAWL-2017-{number % 400:05}.warc.gz"
        address = f"org,example{site})/{path} 2017{month:02}05123456 http://www.example{site}.org/{path}"
        index_lines.append(f"{address} {mime} {status} {digest} {place}".encode())
    return index_lines


def finding(count: int = LINES, rounds: int = ROUNDS) -> Iterator[Comparison]:
    """Judge the lines, then split them, then let grep count those that say PDF."""
    index_lines = lines(count)
    source = Source("library", "papers", Site("", ""), options={})
    size = 5_000
    captures = COLLECTION.captures
    assert captures is not None
    jobs = [
        BlockJob(captures, source, {}, b"\n".join(index_lines[at : at + size]), None) for at in range(0, count, size)
    ]

    def judge() -> int:
        return sum(len(job.run(Limits()).wanted) for job in jobs)

    assert judge() == sum(b" application/pdf 200 " in line for line in index_lines)
    ours = count / _seconds(judge, rounds)
    split = count / _seconds(lambda: sum(int(line.split()[3] == b"application/pdf") for line in index_lines), rounds)
    yield Comparison("CDX lines parsed and judged", "lines/s", ours, "a bare split", split, None)
    yield Comparison("CDX lines parsed and judged", "lines/s", ours, "the goal", GOAL, 1.0)
    if shutil.which("grep"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lines.cdx"
            path.write_bytes(b"\n".join(index_lines))
            command = ["grep", "-c", " application/pdf 200 ", str(path)]
            ten = _seconds(
                lambda: [subprocess.run(command, capture_output=True, check=True) for _ in range(10)], rounds
            )
        yield Comparison("CDX lines parsed and judged", "lines/s", ours, "grep", 10 * count / ten, None)


def _seconds(run: Callable[[], object], rounds: int) -> float:
    """Return the best of some rounds, since other work may run: in seconds of a core, of processes started too."""
    best = float("inf")
    for _ in range(rounds):
        began = os.times()
        run()
        best = min(best, sum(os.times()[:4]) - sum(began[:4]))
    return max(best, 1e-3)  # the tick clock is too coarse for short runs
