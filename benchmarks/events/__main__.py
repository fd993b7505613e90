"""Benchmarks of the collection `events`: `python -m benchmarks.events [NAME ...] [--json]`."""

from __future__ import annotations

from benchmarks.comparison import show
from benchmarks.events.documents import queries, written

if __name__ == "__main__":
    show(__doc__ or "", {"written": written, "queries": queries})
