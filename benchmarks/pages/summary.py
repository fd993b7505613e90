"""Summarising: WARC to a searchable database, beside trafilatura's fast mode, which finds the main text alone.

Compared is what makes the Summary Database with its full text. The index beside it, which searches use where it is
there and which can be made again at any time, is left out; what it takes more is told in the note.

The same pages, those of WINDROW_SHARED/data/extraction, each once; CPU time of all processes, without what a run of
few pages takes: that is mostly the start. WINDROW_SUMMARY_PAGES is how many are taken, evenly (all).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.comparison import Comparison, median_of, spread
from benchmarks.daemon import Missing
from benchmarks.pages.extractor import extract, lines
from benchmarks.pages.sample import Sample, chosen
from benchmarks.pages.summarised import Spent, keep

TURNS = 3
FEW = 32
PEER = "trafilatura fast"


def summary(few: int = FEW, turns: int = TURNS) -> Iterator[Comparison]:
    """Compare pages a second of one core."""
    pages = [page for page in chosen("WINDROW_SUMMARY_PAGES") if page.url]
    records = lines(pages)
    ours: list[float] = []
    theirs: list[float] = []
    remark, shares = "", ""
    for _ in range(turns):
        rate, shares = _ours(pages, few)
        ours.append(rate)
        try:
            theirs.append(len(pages) / sum(record.spent for record in extract(PEER, records)))
        except Missing as missing:
            remark = f"; {missing}"
    note = (
        f"{len(pages)} pages of {sum(len(page.raw) for page in pages) / len(pages) / 1e3:.0f} kB, CPU time; {shares}; "
    )
    yield Comparison(
        "summarise pages", "pages/s per core", median_of(ours), PEER, median_of(theirs) or None, 3.0,
        note=note + spread(ours, theirs) + remark,
    )  # fmt: skip


def _ours(pages: Sequence[Sample], few: int) -> tuple[float, str]:
    """Return pages a CPU second, and where the time went."""
    (start, least), (whole, spent) = _spent(pages[:few]), _spent(pages)
    beside = spent.beside - least.beside
    own, others = spent.own - least.own - beside, spent.others - least.others
    count = whole - start
    shares = f"{1e3 * others / count:.1f} ms a page in readers, {1e3 * own / count:.1f} ms in the writer"
    shares += f" (not counted: the index beside, {1e3 * beside / count:.1f} ms more)"
    return count / max(own + others, 1e-3), shares


def _spent(pages: Sequence[Sample]) -> tuple[int, Spent]:
    with tempfile.TemporaryDirectory() as folder:
        count = keep(Path(folder), pages)
        command = [sys.executable, "-m", "benchmarks.pages.summarised", folder]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        spent = Spent(**json.loads(done.stdout))
    assert spent.generations == count, (spent, count)
    return count, spent
