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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.collection import EMPTY
from benchmarks.comparison import Comparison, show
from benchmarks.web import make_site, nginx
from windrow.engine.run import Harvest
from windrow.engine.session import Session, SessionSettings
from windrow.model import Allowed, Limits, Site, Source

PAGES = 20_000
HOSTS = 8
PORT = 58180


@dataclass
class Web:
    """The site on disk and its addresses."""

    folder: Path
    roots: dict[str, Path]


def harvest(web: Web, into: Path) -> float:
    """Harvest everything with windrow; return pages a second, and check that every page is there."""
    site = {"scheme": "http", "port": PORT, "base": "/", "manifest": "manifest.txt", "agent": "windrow-benchmark"}
    site["allowed"] = Allowed(everything=True)
    sources = tuple(
        Source(address, "empty", Site(host=address, **site), connections=1)
        for address in web.roots  # type: ignore[arg-type]
    )
    session = Session(SessionSettings(into / "ledger.sqlite", into / "archive", Limits()), "benchmark")
    began = time.monotonic()
    session.harvest(Harvest(EMPTY, sources, listers=8))
    code = session.close()
    spent = time.monotonic() - began
    kept = session.ledger.database.connection.execute(
        "SELECT count(*), count(DISTINCT item) FROM attempt WHERE warc <> '' AND reason IS NULL"
    ).fetchone()
    session.ledger.close()
    assert (code, *kept) == (0, PAGES, PAGES), (code, kept)
    return PAGES / spent


def mirror(web: Web, into: Path) -> float:
    """Mirror everything with wget, host by host as it does; return pages a second."""
    addresses = [f"http://{address}:{PORT}/" for address in web.roots]
    began = time.monotonic()
    subprocess.run(["wget", "--mirror", "-q", "-e", "robots=off", *addresses], cwd=into, check=False)
    spent = time.monotonic() - began
    found = sum(1 for _ in into.rglob("p/*.html"))
    assert found == PAGES, found
    return PAGES / spent


def compare() -> Iterator[Comparison]:
    """Run both three times in turn and compare the medians."""
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as name:
        folder = Path(name)
        roots = {f"127.0.0.{10 + number}": folder / f"host{number}" for number in range(HOSTS)}
        for number, root in enumerate(roots.values()):
            make_site(root, PAGES // HOSTS, number)
        web = Web(folder, roots)
        ours, theirs = [], []
        has_wget = shutil.which("wget") is not None
        with nginx(folder, roots, PORT):
            for turn in range(3):
                for made, run in ((ours, harvest), (theirs, mirror)):
                    if run is mirror and not has_wget:
                        continue
                    into = folder / f"{run.__name__}{turn}"
                    into.mkdir()
                    made.append(run(web, into))
                    shutil.rmtree(into)
        theirs_median = sorted(theirs)[1] if theirs else None
        yield Comparison("keep 20,000 pages", "pages/s", sorted(ours)[1], "wget --mirror", theirs_median, 1.0)


COMPARISONS = {"pages": compare}

if __name__ == "__main__":
    show(__doc__ or "", COMPARISONS)
