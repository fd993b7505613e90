"""Importing the room of main content, beside importing trafilatura: milliseconds of CPU, each in processes of its own.

What Python takes by itself to start and end is measured in the same turns and taken off both.
"""

from __future__ import annotations

import statistics
import subprocess
from collections.abc import Iterator

from benchmarks.comparison import Comparison, spread
from benchmarks.cpu import Meter
from benchmarks.daemon import Missing
from benchmarks.pages.extractor import python

TURNS = 9
OURS, PEER = "windrow", "trafilatura"
_MODULES = {OURS: "windrow.content", PEER: "trafilatura"}


def importing(turns: int = TURNS) -> Iterator[Comparison]:
    """Compare the CPU time of one import."""
    times: dict[str, list[float]] = {OURS: [], PEER: []}
    note = ""
    for _ in range(turns):
        for name, taken in times.items():
            try:
                program = python(name)
            except Missing as missing:
                note = f"; {missing}"
                continue
            taken.append(_milliseconds(program, f"import {_MODULES[name]}") - _milliseconds(program, "pass"))
    ours, theirs = times.values()
    yield Comparison(
        "import the room of main content", "ms", statistics.median(ours), PEER,
        statistics.median(theirs) if theirs else None, 1.5, "less",
        note=f"CPU time without that of Python alone; {spread(ours, theirs)}{note}",
    )  # fmt: skip


def _milliseconds(program: str, code: str) -> float:
    with (meter := Meter()):
        subprocess.run([program, "-c", code], check=True)
    return 1000 * meter.seconds
