"""The crawl of the collection `pages` without its steps: tests look at the requests."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from windrow.collections.pages.collection import CRAWL
from windrow.contract import Collection
from windrow.engine.check import check_archive, check_index, check_states
from windrow.engine.run import Harvest, SessionSettings
from windrow.engine.session import Session
from windrow.fetch.politeness.guard import read_allowed
from windrow.ledger import Ledger
from windrow.model import Limits, Site, Source

CRAWL_ONLY = Collection(name="roam", phases=("get",), discovery=CRAWL, steps=())
AGENT = "sites-crawler (for https://example.org/)"
LIMITS = Limits(transfer_size=16 << 20, member_size=64 << 20, answer_time=60.0)


def source(seeds: Iterable[str], timeout: float = 60.0, **options: Any) -> Source:
    """Make a source of seeds; private addresses are allowed where the tests' servers listen.

    `timeout` is in seconds without a byte: short only in tests of silence.
    """
    settings: dict[str, Any] = {
        "seeds": tuple(seeds), "hosts": (), "paths": (), "do_not_crawl": (), "url_query_parameters": ("page",),
        "sitemaps": (), "feeds": (), "delay": 0.0, "recrawl_interval": 7 * 86_400.0,
        "read_sitemaps": True, "read_feeds": True,
    }  # fmt: skip
    site = Site("http", "127.0.0.2", timeout=timeout, agent=AGENT, allowed=read_allowed(["127.0.0.0/27"]))
    return Source("site", "roam", site, connections=1, options=settings | options)


def crawl_sites(root: Path, *sources: Source, limits: Limits = LIMITS, stops: bool = False) -> int:
    """Crawl sources in a workspace, and return the exit code."""
    settings = SessionSettings(root / "ledger.sqlite", root / "archive", limits, part_folder=root.parent / "parts")
    session = Session(settings, "test")
    harvest = Harvest(CRAWL_ONLY, sources, options={"patience": 2.0})
    if stops:
        with session.polite_stop():
            session.run_harvest(harvest)
    else:
        session.run_harvest(harvest)
    code = session.close()
    session.ledger.close()
    return code


def query_ledger(root: Path, sql: str, *parameters: object) -> list[tuple[object, ...]]:
    """Return rows of the ledger."""
    with closing(sqlite3.connect(root / "ledger.sqlite", timeout=30)) as ledger:
        return ledger.execute(sql, parameters).fetchall()


def change_ledger(root: Path, sql: str, *parameters: object) -> None:
    """Change the ledger, for instance to make addresses due."""
    with closing(sqlite3.connect(root / "ledger.sqlite", timeout=30)) as ledger, ledger:
        ledger.execute(sql, parameters)


def faults(root: Path) -> list[object]:
    """Return the faults that a check of the archive, its index and the ledger finds."""
    archive = root / "archive"
    with closing(Ledger(root / "ledger.sqlite")) as ledger:
        found_faults = [*check_archive(ledger, archive), *check_index(ledger, archive), *check_states(ledger)]
    return [fault for fault in found_faults if not isinstance(fault, int)]


if __name__ == "__main__":
    sys.exit(crawl_sites(Path(sys.argv[1]), source(sys.argv[3:], delay=float(sys.argv[2])), stops=True))


def damage_record(root: Path, name: str) -> None:
    """Change bytes of the record of the last attempt that kept bytes of an address or a file with this name."""
    (place, *_) = query_ledger(
        root,
        "SELECT v.warc, v.place_offset + v.place_length FROM attempt v LEFT JOIN address a ON a.digest = v.address"
        " WHERE coalesce(a.url, v.url) LIKE '%' || ? AND v.revisit = 0 AND v.warc <> '' ORDER BY v.seq DESC",
        name,
    )
    path, end = root / "archive" / str(place[0]), int(str(place[1]))
    content = bytearray(path.read_bytes())
    content[end - 20 : end - 10] = bytes(10)
    path.write_bytes(content)
