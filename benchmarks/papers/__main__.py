"""Benchmarks of the collection `papers`: `python -m benchmarks.papers [NAME ...] [--json]`."""

from __future__ import annotations

from benchmarks.comparison import Comparisons, show
from benchmarks.papers.extraction import extraction
from benchmarks.papers.fetching import fetching
from benchmarks.papers.finding import finding
from benchmarks.papers.matching import matching

COMPARISONS: Comparisons = {
    "finding": finding, "fetching": fetching, "extraction": extraction, "matching": matching,
}  # fmt: skip

if __name__ == "__main__":
    show(__doc__ or "", COMPARISONS)
