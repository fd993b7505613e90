"""Find and open the Summary Database of a workspace."""

from __future__ import annotations

from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

from windrow.adapters.adapter import refuse_lost_store
from windrow.collections.pages.settings import Pages
from windrow.config import Workspace
from windrow.errors import WindrowError
from windrow.reasons import Reason
from windrow.stores.sqlite import SqliteReader

_COUNT_TABLES = "SELECT count(*) FROM sqlite_master WHERE name IN ('entity_generation', 'full_text_entity_index')"


def _find_summary(workspace: Workspace) -> Path | None:
    path = workspace.section(Pages).summary_database
    if not path.is_file():
        refuse_lost_store(workspace, "pages", path)
        return None
    with closing(SqliteReader(path)) as reader, reader.reading() as connection:
        return path if connection.execute(_COUNT_TABLES).fetchone()[0] == 2 else None


def require_summary(workspace: Workspace) -> Path:
    """Return the path of the Summary Database; raise WindrowError if it does not exist or has no tables."""
    path = _find_summary(workspace)
    if path is None:
        raise WindrowError(
            f"there are no pages yet: {workspace.section(Pages).summary_database} does not exist or has no tables",
            hint="windrow run pages",
            reason=Reason.NOT_FOUND,
        )
    return path


def open_existing_summary(workspace: Workspace) -> AbstractContextManager[SqliteReader | None]:
    """Open the Summary Database for a `with` block; yield None if it does not exist or has no tables."""
    path = _find_summary(workspace)
    return nullcontext() if path is None else closing(SqliteReader(path))


def open_summary(workspace: Workspace) -> closing[SqliteReader]:
    """Open the Summary Database for a `with` block; raise WindrowError if it does not exist or has no tables."""
    return closing(SqliteReader(require_summary(workspace)))
