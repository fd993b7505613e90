"""Main content of pages, beside each peer that is here: mean F1 over WINDROW_SHARED/data/extraction.

Our forests were taught with these very pages, so that our figure here is too good; what counts on pages of sites
never seen is told by `tools/teach.py --check`, and by `python -m benchmarks.pages.quality FOLDER` on others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from benchmarks.comparison import Comparison
from benchmarks.daemon import Missing
from benchmarks.pages.extractor import PUBLISHED, WHO, lines
from benchmarks.pages.quality import measure
from benchmarks.pages.sample import samples
from benchmarks.shared import shared


def content() -> Iterator[Comparison]:
    """Compare the mean F1, in per cent."""
    pages = list(samples(shared("extraction")))
    records = lines(pages)
    ours = _f1(measure("windrow", pages, records))
    for who in WHO:
        if who == "windrow":
            continue
        note = "ours was taught with these pages: tools/teach.py --check scores sites never seen"
        theirs: float | None = None
        try:
            theirs = _f1(measure(who, pages, records))
        except Missing as missing:
            note += f"; {missing}" + (f"; published {100 * PUBLISHED[who]:.1f}" if who in PUBLISHED else "")
        yield Comparison("main content, pages taught with", "F1 x 100", ours, who, theirs, 1.0, note=note)


def _f1(row: dict[str, object]) -> float:
    return 100 * cast("float", row["f1"])
