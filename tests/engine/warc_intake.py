"""WARC files of other programs, taken into a workspace without reading their pages."""

import sqlite3
import sys
from pathlib import Path

from tests.engine.folder_crawl import FOLDER_CRAWL
from windrow.engine.run import Harvest, SessionSettings, WarcFile
from windrow.engine.session import Session
from windrow.model import Limits


def take_warcs(root: Path, *paths: Path, source: str = "them") -> int:
    """Take WARC files in, and return the exit code."""
    session = Session(SessionSettings(root / "ledger.sqlite", root / "archive", Limits(), workers=1), "test")
    try:
        session.run_harvest(
            Harvest(FOLDER_CRAWL, (), warc_files=tuple(WarcFile(path, path.name, source) for path in paths)),
            fetch=False,
        )
        return session.close()
    finally:
        session.ledger.close()


def query_ledger(root: Path, sql: str, *parameters: object) -> list[tuple[object, ...]]:
    """Return rows of the ledger."""
    connection = sqlite3.connect(root / "ledger.sqlite")
    try:
        return connection.execute(sql, parameters).fetchall()
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(take_warcs(Path(sys.argv[1]), *map(Path, sys.argv[2:])))
