"""WARC files of other makers taken into a workspace, without reading them any further."""

import sqlite3
import sys
from pathlib import Path

from tests.engine.strolling import STROLL
from windrow.engine.run import Harvest, WarcFile
from windrow.engine.session import Session, SessionSettings
from windrow.model import Limits


def take(root: Path, *paths: Path, source: str = "them") -> int:
    """Take files in, and return the exit code."""
    session = Session(SessionSettings(root / "ledger.sqlite", root / "archive", Limits(), workers=1), "test")
    try:
        session.harvest(
            Harvest(STROLL, (), warc_files=tuple(WarcFile(path, path.name, source) for path in paths)), fetch=False
        )
        return session.close()
    finally:
        session.ledger.close()


def ask(root: Path, sql: str, *values: object) -> list[tuple[object, ...]]:
    """Ask the ledger."""
    link = sqlite3.connect(root / "ledger.sqlite")
    try:
        return link.execute(sql, values).fetchall()
    finally:
        link.close()


if __name__ == "__main__":
    sys.exit(take(Path(sys.argv[1]), *map(Path, sys.argv[2:])))
