"""The engine by itself: pages over loopback HTTP into WARC and onto the ledger, beside wget --mirror.

20,000 pages of 30 kB over 8 hosts. windrow is told the pages by a manifest per host and has a
collection without steps; wget finds them by the links of each host's index. Both keep every page
on disk; windrow also keeps requests, digests, the index data and a ledger of every attempt.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.collection import EMPTY
from benchmarks.comparison import Comparison, Comparisons, median_of, show
from benchmarks.daemon import Missing, find, free_port
from benchmarks.web import make_site, nginx
from windrow.engine.run import Harvest, SessionSettings
from windrow.engine.session import Session
from windrow.model import Allowed, Limits, Site, Source

PAGES = 20_000
HOSTS = 8
TURNS = 3


@dataclass
class Web:
    """The roots of the hosts by their addresses, the port of all of them, and how many pages they have."""

    roots: dict[str, Path]
    port: int
    pages: int


def harvest(web: Web, into: Path) -> float:
    """Harvest everything with windrow; return pages a second, and check that every page is there."""
    sources = tuple(
        Source(
            address, "empty",
            Site("http", address, web.port, base="/", manifest="manifest.txt", agent="windrow-benchmark",
                 allowed=Allowed(everything=True)),
            connections=1,
        )
        for address in web.roots
    )  # fmt: skip
    session = Session(SessionSettings(into / "ledger.sqlite", into / "archive", Limits()), "benchmark")
    began = time.monotonic()
    session.run_harvest(Harvest(EMPTY, sources, listers=8))
    code = session.close()
    spent = time.monotonic() - began
    kept = session.ledger.database.connection.execute(
        "SELECT count(*), count(DISTINCT listed_file) FROM attempt WHERE warc <> '' AND reason IS NULL"
    ).fetchone()
    session.ledger.close()
    assert (code, *kept) == (0, web.pages, web.pages), (code, kept)
    return web.pages / spent


def mirror(web: Web, into: Path) -> float:
    """Mirror everything with wget, host by host as it does; return pages a second."""
    program = find("wget")
    addresses = [f"http://{address}:{web.port}/" for address in web.roots]
    began = time.monotonic()
    subprocess.run([program, "--mirror", "-q", "-e", "robots=off", *addresses], cwd=into, check=False)
    spent = time.monotonic() - began
    kept = sum(1 for _ in into.rglob("p/*.html"))
    assert kept == web.pages, kept
    return web.pages / spent


def compare(pages: int = PAGES, turns: int = TURNS) -> Iterator[Comparison]:
    """Run both in turns and compare the medians; `pages` is a multiple of the number of hosts."""
    rates: dict[Callable[[Web, Path], float], list[float]] = {harvest: [], mirror: []}
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as name:
        folder = Path(name)
        roots = {f"127.0.0.{10 + number}": folder / f"host{number}" for number in range(HOSTS)}
        for number, root in enumerate(roots.values()):
            make_site(root, pages // HOSTS, number)
        web = Web(roots, free_port(), pages)
        with nginx(folder, roots, web.port):
            for turn in range(turns):
                for run, reached in rates.items():
                    into = folder / f"{run.__name__}{turn}"
                    into.mkdir()
                    try:
                        reached.append(run(web, into))
                    except Missing:
                        assert run is mirror
                    shutil.rmtree(into)
        ours, theirs = rates.values()
        ahead = median_of(ours), median_of(theirs) or None
        yield Comparison(f"keep {pages:,} pages", "pages/s", ahead[0], "wget --mirror", ahead[1], 1.0)


COMPARISONS: Comparisons = {"pages": compare}

if __name__ == "__main__":
    show(__doc__ or "", COMPARISONS)
