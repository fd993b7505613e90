"""Benchmarks of the collection `events`: `python -m benchmarks.events [NAME ...] [--json]`."""

from __future__ import annotations

from benchmarks.comparison import Comparisons, show
from benchmarks.events.documents import queries, written

COMPARISONS: Comparisons = {"written": written, "queries": queries}

if __name__ == "__main__":
    show(__doc__ or "", COMPARISONS)
