"""A crawl of one folder that is summarised: the collection `pages` with the crawl of `folder_crawl`."""

import sqlite3
import sys
from dataclasses import replace
from pathlib import Path

from tests.engine.folder_crawl import FOLDER_CRAWL
from windrow.collections.pages.collection import COLLECTION
from windrow.collections.pages.database.store import SummaryStore
from windrow.engine.run import Harvest, SessionSettings
from windrow.engine.session import Session
from windrow.formats.url import parts
from windrow.model import Allowed, Limits, Site, Source

PAGES = replace(COLLECTION, discovery=FOLDER_CRAWL.discovery)


def crawl_and_summarise(
    root: Path, origin: str, folder: str, *, fetch: bool = True, limits: Limits | None = None
) -> int:
    """Crawl a folder of a server into a workspace, summarise it, and return the exit code."""
    address = parts(f"{origin}/")
    site = Site(address.scheme, address.host, address.port, timeout=60, allowed=Allowed(everything=True))
    options = {"seed": f"{origin}{folder}index.html", "below": f"{folder}*"}
    source = Source("site", "pages", site, options=options)
    session = Session(SessionSettings(root / "ledger.sqlite", root / "archive", limits or Limits()), "test")
    version_store = SummaryStore(root / "summary.sqlite")
    try:
        session.run_harvest(Harvest(PAGES, (source,), version_store=version_store), fetch=fetch)
        return session.close()
    finally:
        session.ledger.close()


def query_summary(root: Path, sql: str, *parameters: object) -> list[tuple[object, ...]]:
    """Return rows of the Summary Database."""
    connection = sqlite3.connect(root / "summary.sqlite")
    try:
        return connection.execute(sql, parameters).fetchall()
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(crawl_and_summarise(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
