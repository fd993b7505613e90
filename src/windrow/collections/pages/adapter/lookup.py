"""The Summary Database of a workspace, where there is one, and times as it has them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.collections.pages.settings import Pages
from windrow.config import Workspace
from windrow.errors import WindrowError
from windrow.reasons import Reason
from windrow.stores.sqlite import SqliteReader

if TYPE_CHECKING:
    import sqlalchemy as sa

_THERE = "SELECT count(*) FROM sqlite_master WHERE name IN ('entity_generation', 'full_text_entity_index')"


def _file(workspace: Workspace) -> Path | None:
    """Return the file of the Summary Database; None if it does not exist or is empty."""
    path = workspace.section(Pages).summary
    if not path.is_file():
        return None
    with closing(SqliteReader(path)) as reader, reader.reading() as link:
        return path if link.execute(_THERE).fetchone()[0] == 2 else None


def summary_file(workspace: Workspace) -> Path:
    """Return the file of the Summary Database; if there is none yet, a WindrowError names the command that makes it."""
    path = _file(workspace)
    if path is None:
        raise WindrowError(
            f"there are no pages to look into yet: {workspace.section(Pages).summary} is not there, or empty",
            hint="windrow run pages",
            reason=Reason.NOT_FOUND,
        )
    return path


@contextmanager
def summary_if_there(workspace: Workspace) -> Iterator[sa.Engine | None]:
    """Open the Summary Database; None if it does not exist or is empty."""
    from windrow.stores.databases import connect  # noqa: PLC0415 a search does without

    path = _file(workspace)
    if path is None:
        yield None
        return
    engine = connect(f"sqlite:///{path}")
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def summaries(workspace: Workspace) -> Iterator[sa.Engine]:
    """Open the Summary Database; if there is none yet, a WindrowError names the command that makes it."""
    summary_file(workspace)
    with summary_if_there(workspace) as engine:
        assert engine is not None
        yield engine


def when(seconds: int | None) -> datetime | None:
    """Return a time of the Summary Database, None where there is none or no calendar has it.

    >>> when(0).isoformat()
    '1970-01-01T00:00:00+00:00'
    """
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None
