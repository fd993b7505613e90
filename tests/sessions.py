"""Settings of the sessions that tests run in their own process."""

from __future__ import annotations

from windrow.config import Workspace
from windrow.engine.run import SessionSettings


def session_settings(workspace: Workspace, *, workers: int = 1) -> SessionSettings:
    """Return the settings of a session of a workspace: one fetcher, and so many workers."""
    return SessionSettings(workspace.ledger, workspace.archive.folder, workspace.limits, fetchers=1, workers=workers)
