"""Export the tracker's tables as SQL."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

import sqlalchemy as sa

from windrow.adapters.adapter import Export
from windrow.collections.drops.database.dump import dump
from windrow.collections.drops.database.tracker_tables import DATABASE, TRACKER
from windrow.collections.drops.settings import Drops
from windrow.config import Workspace
from windrow.config.workspace import read_password
from windrow.errors import WindrowError
from windrow.reasons import Reason
from windrow.stores.databases import connect, map_errors, with_database


def tracker(workspace: Workspace, dialect: str, output: TextIO) -> int:
    """Write the tracker as SQL for the client of `dialect`; return the number of rows.

    Raises WindrowError if the tracker does not exist or has no tables.
    """
    tracker_address = workspace.section(Drops).tracker
    engine = connect(with_database(tracker_address.url, DATABASE), read_password(tracker_address))
    try:
        sqlite_file = engine.url.database if engine.dialect.name == "sqlite" else None
        if sqlite_file and not Path(sqlite_file).exists():
            raise WindrowError(
                f"the tracker does not exist yet: {sqlite_file}", hint="windrow run drops", reason=Reason.NOT_FOUND
            )
        with map_errors(engine):
            has_tables = sa.inspect(engine).has_table("zip_file")
        if not has_tables:
            database = tracker_address.url if sqlite_file is None else sqlite_file
            message = f"the tracker has no tables yet: {database}"
            raise WindrowError(message, hint="windrow run drops", reason=Reason.NOT_FOUND)
        return dump(engine, TRACKER, dialect, output)
    finally:
        engine.dispose()


EXPORTS = (
    Export(
        "tracker",
        ("mysql", "postgresql", "sqlite"),
        "SQL that creates its tables and rows and drops nothing; load it into an empty database",
        tracker,
    ),
)
