"""Benchmarks of the collection `pages`: `python -m benchmarks.pages [NAME ...] [--json]`."""

from __future__ import annotations

from benchmarks.comparison import Comparisons, show
from benchmarks.pages.content import content
from benchmarks.pages.crawl import crawl
from benchmarks.pages.frontier import frontier
from benchmarks.pages.importing import importing
from benchmarks.pages.memory import memory
from benchmarks.pages.reading import reading
from benchmarks.pages.search import COMPARISONS as SEARCH
from benchmarks.pages.summary import summary

COMPARISONS: Comparisons = {
    "crawl": crawl, "reading": reading, "summary": summary, "content": content, "importing": importing, **SEARCH,
    "memory": memory, "frontier": frontier,
}  # fmt: skip

if __name__ == "__main__":
    show(__doc__ or "", COMPARISONS)
