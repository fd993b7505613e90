"""A folder of pages with the main content that a person marked, laid out as `data/extraction`."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.shared import shared
from windrow.errors import UsageError


class Sample(NamedTuple):
    """A page and its ground truth."""

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


def chosen(variable: str, usual: int = 0) -> list[Sample]:
    """Return the shared pages, or as many of them, evenly, as an environment variable says; `usual` 0 is all."""
    pages = list(samples(shared("extraction")))
    wanted = int(os.environ.get(variable, usual)) or len(pages)
    return pages[:: max(len(pages) // wanted, 1)]
