"""Benchmarks of the collection `news`: `python -m benchmarks.news [NAME ...] [--json]`.

WINDROW_PEERS names the Pythons that have the peers, joined as PATH is; WINDROW_PAGES how many pages of articles of the
shared data are read, evenly chosen, 150 by default, 0 for all. Each reader reads each of them once for a comparison, in
a process of its own without a network; one that has not ended after WINDROW_PATIENCE seconds, 600 by default, is left
out.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from markdown_it import MarkdownIt

from benchmarks.comparison import Comparison, Comparisons, show
from benchmarks.daemon import Missing
from benchmarks.news import extract, fidelity
from benchmarks.news.constructs import BASE, CONSTRUCTS
from benchmarks.pages.quality import score
from benchmarks.shared import shared

GOALS = {"trafilatura": 5.0, "newspaper4k": 5.0}
READERS = ("trafilatura", "newspaper4k", "news-please")
_HERE = Path(__file__).parent
_WORD = re.compile(r"\w+")


class Sample(NamedTuple):
    """A page of the shared data, and its ground truth."""

    raw: bytes
    url: str
    gold: dict[str, str]


def _samples() -> list[Sample]:
    folder = shared("extraction")
    truths = {path.stem: json.loads(path.read_text()) for path in sorted((folder / "ground-truth").glob("*.json"))}
    names = [name for name, truth in truths.items() if truth["_internal"]["page_type"]["primary"] == "article"]
    if not names:
        raise Missing(f"there are no pages in {folder}")
    most = int(os.environ.get("WINDROW_PAGES", "150")) or len(names)
    return [
        Sample(
            gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes()),
            truths[name].get("url") or "",
            truths[name]["ground_truth"],
        )
        for name in (names[at * len(names) // most] for at in range(min(most, len(names))))
    ]


def _python(who: str, module: str) -> str:
    paths = [peer for peer in os.environ.get("WINDROW_PEERS", "").split(os.pathsep) if peer]
    for path in (sys.executable, *(str(_program(Path(peer_path))) for peer_path in paths)):
        imported = subprocess.run([path, "-c", f"import {module}"], capture_output=True, check=False)
        if imported.returncode == 0:
            return path
    raise Missing(f"{who} is not installed: pip install it, and name the Python that has it by WINDROW_PEERS")


def _program(path: Path) -> Path:
    """Return the Python of a virtual environment, where one is named."""
    return path / "bin" / "python" if path.is_dir() else path


def _read(who: str, pages: Sequence[Sample], *words: str) -> list[dict[str, Any]]:
    lines = "".join(json.dumps({"raw": base64.b64encode(page.raw).decode(), "url": page.url}) + "\n" for page in pages)
    command = [_python(who, extract.MODULES[who]), str(_HERE / "extract.py"), who, *words]
    patience = float(os.environ.get("WINDROW_PATIENCE", "600"))
    try:
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=patience)
    except subprocess.TimeoutExpired:
        raise Missing(f"{who} did not read {len(pages)} pages in {patience:g} seconds") from None
    articles = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if len(articles) != len(pages):
        raise Missing(f"{who} said something of {len(articles)} pages of {len(pages)}")
    return articles


def speed() -> Iterator[Comparison]:
    """Compare article pages to Markdown and fields, each second of a core."""
    pages = _samples()
    ours = len(pages) / sum(article["spent"] for article in _read("windrow", pages, "markdown"))
    size = sum(len(page.raw) for page in pages) // len(pages) // 1000
    for who, goal in GOALS.items():
        try:
            theirs: float | None = len(pages) / sum(article["spent"] for article in _read(who, pages, "markdown"))
        except Missing as missing:
            print(missing, file=sys.stderr)
            theirs = None
        yield Comparison(
            "article to Markdown", "pages/s of a core", ours, who, theirs, goal, note=f"pages of {size} kB"
        )


def accuracy() -> Iterator[Comparison]:
    """Compare titles, authors and dates that are right, and the F1 of texts, in per cent, with the best peer.

    Our forests were taught with these pages, so that the texts show no more than that they are still read as they were;
    how well texts of sites never seen are told, `tools/teach.py --check` says.
    """
    pages = _samples()
    ours = _right(pages, _read("windrow", pages))
    theirs: dict[str, dict[str, list[float]]] = {}
    for who in READERS:
        try:
            theirs[who] = _right(pages, _read(who, pages))
        except Missing as missing:
            print(missing, file=sys.stderr)
    for name, right in ours.items():
        shares = {who: _per_cent(figures[name]) for who, figures in theirs.items()}
        best = max(shares, key=lambda who: shares[who], default="peers")
        note = ", ".join(
            [f"of the pages that have it, {len(right)}", *(f"{who} {share:.1f}" for who, share in shares.items())]
        )
        yield Comparison(
            f"{name} of an article", "per cent", _per_cent(right), best, shares.get(best), 1.0, note=note
        )  # fmt: skip


def _right(pages: Sequence[Sample], articles: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """Return by field, for each page that has it, whether it is right; and the F1 of each text."""
    hits: dict[str, list[float]] = {"title": [], "author": [], "date": [], "text": []}
    for page, article in zip(pages, articles, strict=True):
        gold = page.gold
        hits["text"].append(score(article["text"], gold.get("main_content") or "").f1)
        for name in ("title", "author"):
            if wanted := _words(gold.get(name)):
                hits[name].append(float(_words(article[name]) == wanted))
        if day := str(gold.get("publish_date") or "")[:10]:
            hits["date"].append(float(article["date"][:10] == day))
    return hits


def _per_cent(shares: Sequence[float]) -> float:
    return 100 * sum(shares) / max(1, len(shares))


def _words(text: Any) -> list[str]:
    """Return the words of a field; the order of names makes no difference, nor does `By`."""
    return sorted(word for word in _WORD.findall(str(text or "").lower()) if word not in {"by", "and"})


def constructs() -> Iterator[Comparison]:
    """Compare how many constructs of HTML are written as Markdown that says the same."""
    ours = _faithful("windrow")
    for who in ("markdownify", "html-to-markdown"):
        try:
            theirs = _faithful(who)
        except Missing as missing:
            print(missing, file=sys.stderr)
            theirs = None
        worse = [name for name in CONSTRUCTS if name not in ours and theirs and name in theirs]
        note = f"of {len(CONSTRUCTS)} constructs" + (f"; only theirs: {', '.join(worse)}" if worse else "")
        count = None if theirs is None else float(len(theirs))
        yield Comparison("HTML to Markdown", "constructs", float(len(ours)), who, count, 1.0, note=note)


def _faithful(who: str) -> set[str]:
    stdin = json.dumps([[html, BASE] for html, _ in CONSTRUCTS.values()])
    command = [_python(who, fidelity.MODULES[who]), str(_HERE / "fidelity.py"), who]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=True)
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return {
        name
        for (name, (_, wanted)), text in zip(CONSTRUCTS.items(), json.loads(done.stdout), strict=True)
        if fidelity.normalise(reader.render(text)) == fidelity.normalise(wanted)
    }


COMPARISONS: Comparisons = {"speed": speed, "accuracy": accuracy, "constructs": constructs}

if __name__ == "__main__":
    show(__doc__ or "", COMPARISONS)
