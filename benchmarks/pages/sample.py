"""A folder of pages with what a person took for their main content, laid out as `data/extraction`."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.daemon import Missing
from windrow.errors import UsageError


class Sample(NamedTuple):
    """One page and its truth."""

    name: str
    kind: str
    url: str
    raw: bytes
    gold: str


def samples(folder: Path) -> Iterator[Sample]:
    """Read the folder, page by page: `html/ID.html.gz` beside `ground-truth/ID.json`."""
    truths = sorted((folder / "ground-truth").glob("*.json"))
    if not truths:
        raise UsageError(f"{folder} has no ground-truth/*.json")
    for path in truths:
        truth = json.loads(path.read_text())
        raw = gzip.decompress((folder / "html" / f"{path.stem}.html.gz").read_bytes())
        kind = truth.get("_internal", {}).get("page_type", {}).get("primary", "unknown")
        gold = truth["ground_truth"].get("main_content") or ""
        yield Sample(path.stem, kind, truth.get("url") or "", raw, gold)


def shared(variable: str, usual: int = 0) -> list[Sample]:
    """Return the shared pages, or as many of them, evenly, as an environment variable says; `usual` 0 is all."""
    folder = Path(os.environ.get("WINDROW_SHARED", "../shared")) / "data" / "extraction"
    if not folder.is_dir():
        raise Missing(f"{folder} is not here: WINDROW_SHARED names the folder of shared samples")
    pages = list(samples(folder))
    wanted = int(os.environ.get(variable, usual)) or len(pages)
    return pages[:: max(len(pages) // wanted, 1)]
