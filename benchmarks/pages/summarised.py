"""Captured pages in a workspace, and their summaries: `python -m benchmarks.pages.summarised ROOT` prints CPU seconds.

From WARC to a database that can be searched: read, settled, with duplicates and near-duplicates, full text and index.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from benchmarks.pages.sample import Sample
from windrow.archive import ArchiveWriter, CaptureSink
from windrow.collections.pages.adapter.search_index import index_pages
from windrow.collections.pages.collection import COLLECTION
from windrow.collections.pages.database.fulltext_table import fill
from windrow.collections.pages.database.store import SummaryStore
from windrow.collections.pages.search.index_query import VERSION
from windrow.digest import hash64
from windrow.engine.run import Harvest, SessionSettings
from windrow.engine.session import Session
from windrow.formats.url import normalise, parts
from windrow.model import Attempt, FetchJob, FoundUrl, Limits
from windrow.query.word import count_words

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
ASKED = b"GET / HTTP/1.1\r\n\r\n"
_TICKS = os.sysconf("SC_CLK_TCK")


class Spent(NamedTuple):
    """CPU seconds of this process, how many of them for the index beside, those of readers; what the summaries hold."""

    own: float
    beside: float
    others: float
    generations: int
    links: int


def keep(root: Path, pages: Iterable[Sample]) -> int:
    """Write pages to an archive and a ledger, as a crawl does; return the number of addresses."""
    session = Session(SessionSettings(root / "ledger.sqlite", root / "archive", Limits()), "benchmark")
    keeper = ArchiveWriter(root / "archive", f"windrow-{session.number:06}-1", Limits(), 1 << 30, "benchmark")
    hosts: dict[str, int] = {}
    seen: set[str] = set()
    at = datetime(2026, 1, 1, tzinfo=UTC)
    with session.ledger.writing() as writer:
        for page in pages:
            url = normalise(page.url).url
            if not url or url in seen:
                continue
            seen.add(url)
            at += timedelta(seconds=1)
            origin, digest = parts(url).origin, hash64(url)
            if origin not in hosts:
                hosts[origin] = writer.addresses.add_host(session.number, "pages", "sample", origin)
            writer.addresses.add(hosts[origin], 0, [FoundUrl(digest, origin, url)])
            deposit = CaptureSink(keeper, FetchJob(0, url), at)
            deposit.open(len(page.raw), HEAD, ASKED)
            deposit.write(page.raw)
            kept = deposit.finish()
            writer.attempts.record_attempt(
                session.number, hosts[origin], Attempt(digest, url, 0, True, at, 0.1, 200, kept)
            )
    keeper.close()
    session.close()
    session.ledger.close()
    return len(seen)


def summarise(root: Path) -> Spent:
    """Summarise and index everything; return the CPU seconds of this process and of the readers."""
    place = root / "summary.sqlite"
    session = Session(SessionSettings(root / "ledger.sqlite", root / "archive", Limits()), "benchmark")
    version_store = SummaryStore(place)
    index = _Index(place, root / "index")
    derivations = {"index": index.follow}
    session.run_harvest(Harvest(COLLECTION, (), version_store=version_store, derivations=derivations), fetch=False)
    code = session.close()
    session.ledger.close()
    assert code == 0, code
    with closing(sqlite3.connect(place)) as link:
        rows = [
            link.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("entity_generation", "full_text_entity_index_docsize")
        ]
    times = os.times()
    return Spent(
        times.user + times.system, index.beside, times.children_user + times.children_system + _living(), *rows
    )


class _Index:
    """The index phase, its two parts one after the other; `beside` has the CPU seconds of the second."""

    def __init__(self, place: Path, folder: Path) -> None:
        self._place = place
        self._folder = folder
        self.beside = 0.0

    def follow(self, pulse: Callable[[], bool]) -> str:
        """Fill the full text of the Summary Database, then, where nothing of that is left to do, the index beside."""
        fill(self._place, count_words, pulse, VERSION)
        began = time.process_time()
        index_pages(self._place, self._folder, pulse)
        self.beside = time.process_time() - began
        return ""


def _living() -> float:
    """Return the CPU seconds of the processes that this one started and that still live, and of those they ended."""
    spent = 0.0
    for task in Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text().split():
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            spent += sum(map(int, fields[11:15])) / _TICKS
    return spent


if __name__ == "__main__":
    print(json.dumps(summarise(Path(sys.argv[1]))._asdict()))
