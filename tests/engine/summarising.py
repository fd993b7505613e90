"""A crawl of one folder that is summarised: the collection `pages` with the walk of the tests."""

import sqlite3
import sys
from dataclasses import replace
from pathlib import Path

from tests.engine.strolling import STROLL
from windrow.collections.pages.collection import COLLECTION
from windrow.collections.pages.database.store import SummaryStore
from windrow.engine.run import Harvest
from windrow.engine.session import Session, SessionSettings
from windrow.formats.url import parts
from windrow.model import Allowed, Limits, Site, Source

PAGES = replace(COLLECTION, discovery=STROLL.discovery)


def gather(root: Path, origin: str, folder: str, *, fetch: bool = True, limits: Limits | None = None) -> int:
    """Crawl a folder of a server in a workspace, summarise it, and return the exit code."""
    where = parts(f"{origin}/")
    site = Site(where.scheme, where.host, where.port, timeout=60, allowed=Allowed(everything=True))
    options = {"seed": f"{origin}{folder}index.html", "below": f"{folder}*"}
    source = Source("site", "pages", site, options=options)
    session = Session(SessionSettings(root / "ledger.sqlite", root / "archive", limits or Limits()), "test")
    version_store = SummaryStore(root / "summary.sqlite")
    try:
        session.harvest(Harvest(PAGES, (source,), version_store=version_store), fetch=fetch)
        return session.close()
    finally:
        session.ledger.close()


def ask(root: Path, sql: str, *values: object) -> list[tuple[object, ...]]:
    """Ask the Summary Database."""
    link = sqlite3.connect(root / "summary.sqlite")
    try:
        return link.execute(sql, values).fetchall()
    finally:
        link.close()


if __name__ == "__main__":
    sys.exit(gather(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
