"""How well main content is found, by us and by peers: `python -m benchmarks.pages.quality FOLDER [--json]`.

FOLDER is laid out as `data/extraction`: `html/ID.html.gz` and `ground-truth/ID.json`. The score is that set's own:
lower-cased words (`\\w+`) as multisets, precision, recall and F1 for each page, then the mean over pages. `--part 0/2`
takes one half of the sites, `--part 1/2` the other. Speed is the CPU time of one process, decoding not counted for
the peers. With `--json`, a line for each extractor has who, pages, precision, recall, f1, by_type; one that is not
here has its published f1 where there is one, and `"run": false`.

Our own forests were taught with the pages of `data/extraction`: what counts there is the score on sites never seen,
which `tools/teach.py --check` tells.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from benchmarks.daemon import Missing
from benchmarks.pages.extractor import PUBLISHED, WHO, extract, lines
from benchmarks.pages.sample import Sample, samples

WORD = re.compile(r"\w+")


class Score(NamedTuple):
    """Precision, recall and F1."""

    precision: float
    recall: float
    f1: float


def score(extracted: str, gold: str) -> Score:
    """Compare two texts as bags of words; two empty ones agree.

    >>> score("the cat sat", "The cat sat on the mat").recall
    0.5
    """
    mine, theirs = Counter(WORD.findall(extracted.lower())), Counter(WORD.findall(gold.lower()))
    if not mine or not theirs:
        same = float(not mine and not theirs)
        return Score(same, same, same)
    both = (mine & theirs).total()
    precision, recall = both / mine.total(), both / theirs.total()
    return Score(precision, recall, 2 * precision * recall / (precision + recall) if both else 0.0)


def measure(who: str, pages: Sequence[Sample], records: bytes) -> dict[str, object]:
    """Score one extractor on all pages."""
    extracted = extract(who, records)
    scores = [(page.kind, score(record.text, page.gold)) for page, record in zip(pages, extracted, strict=True)]
    spent = sum(record.spent for record in extracted)
    return {
        "who": who,
        "run": True,
        "pages": len(pages),
        **_mean([each for _, each in scores]),
        "by_type": {
            kind: {"pages": sum(k == kind for k, _ in scores), **_mean([each for k, each in scores if k == kind])}
            for kind in sorted({kind for kind, _ in scores})
        },
        "pages_per_second": round(len(pages) / spent, 1) if spent else 0.0,
    }


def _mean(scores: Sequence[Score]) -> dict[str, float]:
    return {name: round(sum(getattr(each, name) for each in scores) / len(scores), 4) for name in Score._fields}


def _line(row: dict[str, object]) -> str:
    kinds = row["by_type"]
    assert isinstance(kinds, dict)
    by = "  ".join(f"{kind} {each['f1']:.3f}" for kind, each in kinds.items())
    return (f"{row['who']:17} {row['pages']:>5} pages  P {row['precision']:.3f}  R {row['recall']:.3f}  "
            f"F1 {row['f1']:.3f}  {row['pages_per_second']:>7} a second  {by}")  # fmt: skip


def main() -> int:
    """Score us and the peers that are installed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true", help="one object for each extractor, a line each")
    parser.add_argument("--who", action="append", choices=WHO, help="only this one; may be repeated")
    parser.add_argument("--part", default="0/1", help="N/M: only the sites of part N of M")
    chosen = parser.parse_args()
    part, parts = map(int, chosen.part.split("/"))
    pages = [page for page in samples(chosen.folder) if _part(page.url, parts) == part]
    records = lines(pages)
    for who in chosen.who or WHO:
        try:
            row = measure(who, pages, records)
        except Missing as missing:
            print(f"{who}: not run: {missing}", file=sys.stderr)
            if who in PUBLISHED:
                row = {"who": who, "run": False, "f1": PUBLISHED[who]}
                print(json.dumps(row) if chosen.json else f"{who:17} not run; published F1 {PUBLISHED[who]:.3f}")
            continue
        print(json.dumps(row) if chosen.json else _line(row), flush=True)
    return 0


def _part(url: str, parts: int) -> int:
    return zlib.crc32((urlsplit(url).hostname or "").encode()) % parts


if __name__ == "__main__":
    sys.exit(main())
