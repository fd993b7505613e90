"""PDFs extracted by the embedded extractor, beside pypdfium2 alone and pdftotext."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from benchmarks.comparison import Comparison
from benchmarks.daemon import Missing
from benchmarks.shared import shared
from windrow.collections.papers.extract import guess_metadata
from windrow.formats import pdf

ROUNDS = 10


def samples() -> list[Path]:
    """Return PDFs of the shared data."""
    folder = shared("papers")
    paths = [path for path in sorted(folder.rglob("*.pdf")) if not path.name.startswith("err-")]
    if not paths:
        raise Missing(f"no PDFs at {folder}")
    return paths


def extraction(rounds: int = ROUNDS) -> Iterator[Comparison]:
    """Read all samples some times."""
    from pypdfium2 import PdfDocument  # noqa: PLC0415 an extra

    contents = [path.read_bytes() for path in samples()]
    pages = sum(pdf.read_pages(content).page_count for content in contents)

    def bare(raw: bytes) -> None:
        with closing(PdfDocument(raw)) as document:
            for number in range(len(document)):
                with closing(document[number]) as page, closing(page.get_textpage()) as text:
                    text.get_text_bounded()

    # In turns, and the best of each: other work on the machine takes from one round more than from another.
    took = {"ours": float("inf"), "bare": float("inf")}
    for _ in range(rounds):
        for name, run in (("ours", lambda raw: guess_metadata(pdf.read_pages(raw))), ("bare", bare)):
            began = time.process_time()
            for content in contents:
                run(content)
            took[name] = min(took[name], time.process_time() - began)
    ours = pages / took["ours"]
    yield Comparison("PDF pages extracted", "pages/s", ours, "pypdfium2 alone", pages / took["bare"], 1 / 1.3)
    if not shutil.which("pdftotext"):
        raise Missing("pdftotext is not here: make servers")
    before = os.times()
    for path in samples():
        subprocess.run(["pdftotext", path, os.devnull], check=False, capture_output=True)
    spent = sum(os.times()[:4]) - sum(before[:4])  # seconds of a core, of these processes too, in ticks
    theirs = pages / max(spent, 1e-3)
    yield Comparison("PDF pages extracted", "pages/s", ours, "pdftotext, a process each", theirs, None)
