"""Replay a collection that keeps versions in one file: build a new file, compare it and replace the old one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from windrow.adapters.adapter import ReplayResult, VersionCounts
from windrow.config.workspace import replay_folder
from windrow.engine.progress import Progress
from windrow.engine.replay import rebuild
from windrow.engine.run import SessionSettings
from windrow.engine.session import Session
from windrow.reasons import Reason


class VersionFile(NamedTuple):
    """A collection's file of versions, and functions for its replay.

    `build` builds the file at a path. `compare` is called with the paths of the old and the new file, and returns the
    number of versions in each of them and how many differ. `finish` updates the search index at the end.
    """

    collection: str
    path: Path
    build: Callable[[Session, Path], None]
    compare: Callable[[Path, Path], tuple[int, int, int]]
    finish: Callable[[Session], None]


def replay_versions(file: VersionFile, setup: SessionSettings, progress: Progress) -> ReplayResult | None:
    """Rebuild a file of versions from the captures, or return None if the file does not exist yet.

    The old file is replaced once all captures have been read. If the replay is stopped earlier, Stopped is raised, and
    the old file is left unchanged.
    """
    old_path = file.path
    if not old_path.is_file():
        return None
    new_path = replay_folder(old_path) / old_path.name
    with Session(setup, f"replay {file.collection}", progress) as session:
        counts = rebuild(
            session,
            old_path,
            new_path,
            partial(file.build, session, new_path),
            lambda _: file.compare(old_path, new_path),
        )
        file.finish(session)
        unread = session.ledger.unread.addresses(file.collection, reason=Reason.DISK_FAILED)
        damaged = len({document.attempt for document in unread})
    return ReplayResult(session.ordinal, versions=VersionCounts(session.ordinal, *counts, damaged))
