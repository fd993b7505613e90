"""The crawl of the collection `pages`, and nothing else of it: what it asks is what is looked at."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from windrow.collections.pages.collection import CRAWL
from windrow.contract import Collection
from windrow.engine.check import check_archive, check_index, check_standing
from windrow.engine.run import Harvest
from windrow.engine.session import Session, SessionSettings
from windrow.fetch.politeness.guard import read_allowed
from windrow.ledger import Ledger
from windrow.model import Limits, Site, Source

ROAM = Collection(name="roam", phases=("get",), discovery=CRAWL, steps=())
AGENT = "sites-crawler (for https://example.org/)"
LIMITS = Limits(transfer_size=16 << 20, member_size=64 << 20, answer_time=60.0)


def source(seeds: Iterable[str], timeout: float = 60.0, **options: Any) -> Source:
    """Make a site of seeds; its private hosts are those that the tests' servers have.

    `timeout` is the seconds of silence it bears: few only where silence is what is tested.
    """
    told: dict[str, Any] = {
        "seeds": tuple(seeds), "hosts": (), "paths": (), "do_not_crawl": (), "url_query_parameters": ("page",),
        "sitemaps": (), "feeds": (), "delay": 0.0, "recrawl_interval": 7 * 86_400.0,
        "read_sitemaps": True, "read_feeds": True,
    }  # fmt: skip
    site = Site("http", "127.0.0.2", timeout=timeout, agent=AGENT, allowed=read_allowed(["127.0.0.0/27"]))
    return Source("site", "roam", site, connections=1, options=told | options)


def roam(root: Path, *sources: Source, limits: Limits = LIMITS, stops: bool = False) -> int:
    """Crawl in a workspace, and return the exit code."""
    session = Session(SessionSettings(root / "ledger.sqlite", root / "archive", limits), "test")
    harvest = Harvest(ROAM, sources, options={"patience": 2.0})
    if stops:
        with session.polite_stop():
            session.harvest(harvest)
    else:
        session.harvest(harvest)
    code = session.close()
    session.ledger.close()
    return code


def told(root: Path, sql: str, *values: object) -> list[tuple[object, ...]]:
    """Ask the ledger something."""
    with closing(sqlite3.connect(root / "ledger.sqlite", timeout=30)) as ledger:
        return ledger.execute(sql, values).fetchall()


def change(root: Path, sql: str, *values: object) -> None:
    """Change the ledger, as time would."""
    with closing(sqlite3.connect(root / "ledger.sqlite", timeout=30)) as ledger, ledger:
        ledger.execute(sql, values)


def faults(root: Path) -> list[object]:
    """Return what a check of the archive, its index and the ledger finds."""
    archive = root / "archive"
    with closing(Ledger(root / "ledger.sqlite")) as ledger:
        found = [*check_archive(ledger, archive), *check_index(ledger, archive), *check_standing(ledger)]
    return [one for one in found if not isinstance(one, int)]


if __name__ == "__main__":
    sys.exit(roam(Path(sys.argv[1]), source(sys.argv[3:], delay=float(sys.argv[2])), stops=True))
