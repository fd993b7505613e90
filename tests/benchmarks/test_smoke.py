"""Every comparison runs to its end in its smoke form: small input, our own side wholly, peers where they are here.

What is compared takes seconds and says nothing of speed: only that the benchmark still measures what it says.
"""

from __future__ import annotations

import ast
import importlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from benchmarks.__main__ import COMPARISONS
from benchmarks.comparison import Comparison
from benchmarks.daemon import Missing
from benchmarks.events import documents
from benchmarks.news import __main__ as news
from benchmarks.news.constructs import CONSTRUCTS
from benchmarks.pages import (
    content,
    crawl,
    frontier,
    generated,
    importing,
    memory,
    near,
    quality,
    reading,
    search,
    summary,
)
from benchmarks.papers import extraction, fetching, finding, matching
from benchmarks.transfer import Load
from benchmarks.web_view import lasting
from benchmarks.web_view import measured as web_view

import benchmarks
from benchmarks import engine, pipeline, transfer, validity
from tests.collections.papers.library import pdf

PAGES = 12
"""Pages where the shared ones lie; a sixth of them are articles."""


class Smoke(NamedTuple):
    """A small run of a comparison: how many lines it has at least, and words of them, such as how much was taken."""

    run: Callable[[], Iterator[Comparison]]
    lines: int
    words: tuple[str, ...] = ()


FEW, ONE = Load(5, 20_000), Load(1, 1 << 20)
PARTS = ("us a file for the listing", "us a file for the ledger")
SMOKE = {
    "pages": Smoke(lambda: engine.compare(pages=16, turns=1), 1, ("keep 16 pages",)),
    "small-ftp": Smoke(lambda: transfer.small_ftp(FEW, turns=1), 2, ("5 files of 20 kB over FTP", *PARTS)),
    "small-sftp": Smoke(lambda: transfer.small_sftp(FEW, turns=1), 2, ("5 files of 20 kB over SFTP", *PARTS)),
    "large-ftp": Smoke(lambda: transfer.large_ftp(ONE, turns=1), 2, ("one file of 1 MiB over FTP",)),
    "large-sftp": Smoke(lambda: transfer.large_sftp(ONE, turns=1), 2, ("one file of 1 MiB over SFTP",)),
    "xsd": Smoke(lambda: validity.compare(room=200_000, turns=1), 4, ("documents", "goal 0.9", "no goal")),
    "pipeline": Smoke(lambda: pipeline.compare(zips=10, pairs=1), 2, ("10 zips", "nobody not run", "ratio")),
    "events written": Smoke(lambda: documents.written(count=1_000, bulk=1_000, turns=1), 1, ("1000 documents",)),
    "events queries": Smoke(lambda: documents.queries(count=1_000, questions=5), 6, ("1000 events",)),
    "news speed": Smoke(news.speed, 2),
    "news accuracy": Smoke(news.accuracy, 4, (f"of the pages that have it, {PAGES // 6}",)),
    "news constructs": Smoke(news.constructs, 2, (f"of {len(CONSTRUCTS)} constructs",)),
    "pages crawl": Smoke(lambda: crawl.crawl(pages=80, turns=1), 3, ("crawl 80 pages of 8 hosts",)),
    "pages reading": Smoke(lambda: reading.reading(turns=1), 1, (f"{PAGES} pages",)),
    "pages summary": Smoke(lambda: summary.summary(few=2, turns=1), 1, (f"{PAGES} pages",)),
    "pages content": Smoke(content.content, 5),
    "pages importing": Smoke(lambda: importing.importing(turns=1), 1, ("CPU time",)),
    "pages known": Smoke(lambda: search.known(hosts=3), 10, ("queries",)),
    "pages speed": Smoke(lambda: search.speed(count=300, rounds=1), 6),
    "pages memory": Smoke(lambda: memory.memory(hosts=2, depth=1), 1, ("222 pages of 2 hosts",)),
    "pages frontier": Smoke(lambda: frontier.frontier(count=40_000), 4, ("40,000 addresses of 4,000 hosts",)),
    "papers finding": Smoke(lambda: finding.finding(count=6_000, rounds=1), 2),
    "papers fetching": Smoke(lambda: fetching.fetching(records=20, mebibytes=1, rounds=1), 3),
    "papers extraction": Smoke(lambda: extraction.extraction(rounds=1), 1),
    "papers matching": Smoke(lambda: matching.matching(works=500, papers=50), 1, ("of 50 papers matched",)),
    "web view pages": Smoke(lambda: web_view.pages(count=60, asked=2), 21, ("60 records", "longest page")),
    "web view beside": Smoke(lambda: web_view.beside(count=60, asked=2), 3, ("60 events",)),
    "web view memory": Smoke(lambda: lasting.memory(count=60, requests=20, warming=20), 1, ("60 records",)),
    "web view runs": Smoke(lambda: lasting.runs(pairs=1, zips=1), 2, ("1 zips", "streams of events")),
}  # fmt: skip
PROGRAMS = {"benchmarks.pages.near": (near.main, 2), "benchmarks.pages.quality": (quality.main, 1)}
"""Benchmarks without a comparison: they are run by themselves over a folder of pages, and tell a line for each reader."""


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder that is laid out as the shared data."""
    folder = tmp_path_factory.mktemp("shared")
    generated.lay_out(folder / "data" / "extraction", PAGES)
    (folder / "data" / "papers").mkdir()
    (folder / "data" / "papers" / "quay.pdf").write_bytes(pdf("Tides of the quay"))
    return folder


NOT_ON_CI = {
    "trafilatura", "trafilatura fast", "rs-trafilatura", "newspaper4k", "markdownify", "html-to-markdown", "resiliparse",
    "readability-lxml", "peers", "Scrapy, 2 processes", "nobody", "Datasette",
}  # fmt: skip
"""Peers that are installed by hand, in an environment of their own; on CI all others run."""


@pytest.fixture(autouse=True)
def surroundings(samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the made data for the shared, and what a person may have set about sizes and peers away."""
    for name in ("PEERS", "PAGES", "READING_PAGES", "SUMMARY_PAGES"):
        monkeypatch.delenv(f"WINDROW_{name}", raising=False)
    monkeypatch.setenv("WINDROW_SHARED", str(samples))


def test_every_comparison_has_a_smoke_form() -> None:
    assert list(SMOKE) == list(COMPARISONS)


def test_every_comparison_is_in_the_table_of_the_manual() -> None:
    table = Path(__file__).parents[2].joinpath("docs/howto/measure.md").read_text()
    assert [name for name in COMPARISONS if f"| `{name}` |" not in table] == []


def test_every_function_that_compares_is_listed_by_its_room_and_every_room_by_all() -> None:
    listed = {(run.__module__, run.__name__) for run in COMPARISONS.values()}
    (folder,) = benchmarks.__path__
    left_out = set()
    for path in sorted(Path(folder).rglob("*.py")):
        name = _module(path)
        for statement in ast.parse(path.read_text()).body:
            if isinstance(statement, ast.FunctionDef) and _compares(statement) and (name, statement.name) not in listed:
                left_out.add((name, statement.name))
    assert left_out == set()


def _module(path: Path) -> str:
    (folder,) = benchmarks.__path__
    return ".".join(("benchmarks", *path.relative_to(folder).with_suffix("").parts))


def _compares(function: ast.FunctionDef) -> bool:
    """Return whether a function yields comparisons, and can be run as it is: without any argument."""
    required = len(function.args.args) - len(function.args.defaults)
    return function.returns is not None and ast.unparse(function.returns) == "Iterator[Comparison]" and not required


def test_every_program_of_the_benchmarks_is_a_room_a_part_of_one_or_has_a_smoke_form() -> None:
    (folder,) = benchmarks.__path__
    texts = {path: path.read_text() for path in Path(folder).rglob("*.py")}
    programs = {
        _module(path)
        for path, text in texts.items()
        if '__name__ == "__main__"' in text and not hasattr(importlib.import_module(_module(path)), "COMPARISONS")
    }
    started = {name for name in programs if any(f'"-m", "{name}"' in text for text in texts.values())}
    alone = {f"benchmarks.news.{name}" for name in ("extract", "fidelity")} | {"benchmarks.pages.extract"}
    counted = {name for name in programs if name.startswith("benchmarks.cost.")}  # test_cost.py runs them
    assert programs - started - alone - counted == PROGRAMS.keys()


@pytest.mark.parametrize("name", list(SMOKE))
def test_a_comparison_takes_all_of_a_small_input(name: str) -> None:
    smoke = SMOKE[name]
    rows: list[Comparison] = []
    try:
        rows.extend(smoke.run())
    except Missing as missing:
        if not rows or os.environ.get("CI"):
            pytest.skip(str(missing))
    assert len(rows) >= smoke.lines
    for row in rows:
        assert math.isfinite(row.ours) and row.ours > (20 if "peak memory" in row.work else 0), row
        assert row.theirs is None or (math.isfinite(row.theirs) and row.theirs >= 0), row
        assert row.theirs is not None or row.peer in NOT_ON_CI or not os.environ.get("CI"), row
        assert json.loads(json.dumps(row.row()))["ours"] == row.ours
    lines = "\n".join(row.line() for row in rows)
    assert [words for words in smoke.words if words not in lines] == [], lines


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_program_tells_a_line_for_each_reader(
    name: str, samples: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main, lines = PROGRAMS[name]
    monkeypatch.setattr(sys, "argv", [name, str(samples / "data" / "extraction"), "--json"])
    assert main() == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) >= lines
    assert rows[0]["who"] == "windrow" and 0 < rows[0]["precision"] <= 1 and 0 < rows[0]["recall"] <= 1
