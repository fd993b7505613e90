"""Reading: all that the Summary Database keeps of a page (texts, description, links), beside trafilatura's fast mode.

The same pages, those of WINDROW_SHARED/data/extraction, in turn; the CPU time of one process. WINDROW_READING_PAGES is
how many pages are taken, evenly (250).
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.comparison import Comparison, median_of, spread
from benchmarks.daemon import Missing
from benchmarks.pages.extractor import extract, lines
from benchmarks.pages.sample import chosen

TURNS = 3
PEER = "trafilatura fast"


def reading(turns: int = TURNS) -> Iterator[Comparison]:
    """Compare pages a second of one core."""
    pages = chosen("WINDROW_READING_PAGES", 250)
    records = lines(pages)
    rates: dict[str, list[float]] = {"windrow reading": [], PEER: []}
    remark = ""
    for _ in range(turns):
        for who, figures in rates.items():
            try:
                figures.append(len(pages) / sum(record.spent for record in extract(who, records)))
            except Missing as missing:
                remark = f"; {missing}"
    ours, theirs = rates.values()
    note = f"{len(pages)} pages of {sum(len(page.raw) for page in pages) / len(pages) / 1e3:.0f} kB, CPU time; "
    yield Comparison(
        "read pages", "pages/s per core", median_of(ours), PEER, median_of(theirs) or None, 5.0,
        note=note + spread(ours, theirs) + remark,
    )  # fmt: skip
