"""Where a workspace has its pages: the Summary Database, the crawler's books, and the index beside them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from windrow.config import Workspace
from windrow.errors import WindrowError
from windrow.reasons import Reason
from windrow.stores.connect import READS, connect, guarded

_THERE = "SELECT count(*) FROM sqlite_master WHERE name IN ('entity_generation', 'full_text_entity_index')"


@dataclass(frozen=True, slots=True)
class Shelf:
    """Two files and a folder; none of them need be there."""

    summary: Path
    crawler: Path
    index: Path


def shelf(workspace: Workspace) -> Shelf:
    """Return where a workspace's configuration puts its pages."""
    said = getattr(workspace, "pages", None)
    names = {"summary": "summary.sqlite", "crawler": "crawler.sqlite", "index": "index"}
    return Shelf(*(_path(getattr(said, name, workspace.root / file)) for name, file in names.items()))


def _path(told: Path | str) -> Path:
    return Path(str(getattr(told, "url", told)).removeprefix("sqlite:///"))


@contextmanager
def summaries(workspace: Workspace) -> Iterator[sa.Engine]:
    """Open the Summary Database; where there is none yet, a WindrowError names what makes it."""
    path = shelf(workspace).summary
    if not path.is_file():
        raise _missing(f"{path} is not there")
    engine = connect(f"sqlite:///{path}")
    try:
        with guarded(engine), engine.connect().execution_options(**READS) as link:
            if link.exec_driver_sql(_THERE).scalar() != 2:
                raise _missing(f"{path} has no pages in it")
        yield engine
    finally:
        engine.dispose()


def _missing(why: str) -> WindrowError:
    return WindrowError(
        f"there are no pages to look into yet: {why}", hint="windrow run pages", reason=Reason.NOT_FOUND
    )
