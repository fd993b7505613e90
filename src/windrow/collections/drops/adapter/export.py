"""Export the tracker's tables as SQL, and the zips and XML files in it as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import sqlalchemy as sa

from windrow.adapters.adapter import Export, refuse_lost_store
from windrow.collections.drops.database.dump import dump
from windrow.collections.drops.database.tracker_tables import DATABASE, TRACKER
from windrow.collections.drops.settings import Drops
from windrow.config import Workspace
from windrow.config.workspace import read_password
from windrow.errors import WindrowError
from windrow.reasons import Reason
from windrow.stores.databases import READ_ONLY, connect, map_errors, with_database


def tracker(workspace: Workspace, dialect: str, output: TextIO) -> int:
    """Write the tracker as SQL for the client of the database that `dialect` names; return the number of rows.

    Raises WindrowError if the tracker does not exist or has no tables.
    """
    with open_tracker(workspace) as engine:
        return dump(engine, TRACKER, dialect, output)


_SELECT_FILES = sa.text("""
SELECT z.file_name AS zip_file, ac.short_name AS action, ap.short_name AS zip_phase, ast.short_name AS zip_status,
    x.fname AS xml_file, xp.short_name AS xml_phase, xs.short_name AS xml_status, c.short_name AS centre,
    coalesce(x.created, z.created) AS created, coalesce(x.inc, z.inc) AS inc,
    coalesce(x.size_bytes, z.size_bytes) AS size_bytes, coalesce(x.content_md5, z.content_md5) AS content_md5
FROM zip_file z LEFT JOIN zip_action a ON a.zip_id = z.id
LEFT JOIN processing_type ac ON ac.id = a.todo_id
LEFT JOIN phase ap ON ap.id = a.phase_id LEFT JOIN a_status ast ON ast.id = a.status_id
LEFT JOIN (SELECT f.za_id, m.* FROM file_source_has_zip f JOIN zip_download d ON d.zf_id = f.id
    JOIN xml_file m ON m.zip_id = d.id) x ON x.za_id = a.id
LEFT JOIN phase xp ON xp.id = x.phase_id LEFT JOIN a_status xs ON xs.id = x.status_id
LEFT JOIN centre c ON c.id = coalesce(x.centre_id, z.centre_id)
ORDER BY z.id, a.id, x.id
""")


def files(workspace: Workspace, form: str, output: TextIO) -> int:
    """Write a line of JSON for each XML file of each transfer of a zip; return the number of lines.

    A transfer without an XML file, and a zip without a transfer, have a line too. Equal lines, such as those for two
    transfers of the same bytes, are written once. Raises WindrowError if the tracker does not exist or has no tables.
    """
    del form  # it is always jsonl; `windrow export` makes CSV of these lines
    with open_tracker(workspace) as engine, map_errors(engine), engine.connect() as connection:
        lines = dict.fromkeys(
            json.dumps(dict(row), default=str) for row in connection.execute(_SELECT_FILES).mappings()
        )
    output.writelines(f"{line}\n" for line in lines)
    return len(lines)


@contextmanager
def open_tracker(workspace: Workspace) -> Iterator[sa.Engine]:
    """Open the tracker for reading; raise WindrowError (NOT_FOUND) if it does not exist yet or has no tables."""
    tracker_address = workspace.section(Drops).tracker
    engine = connect(with_database(tracker_address.url, DATABASE), read_password(tracker_address))
    engine = engine.execution_options(**READ_ONLY)
    try:
        sqlite_file = engine.url.database if engine.dialect.name == "sqlite" else None
        if sqlite_file and not Path(sqlite_file).exists():
            refuse_lost_store(workspace, "drops", Path(sqlite_file))
            raise WindrowError(
                f"the tracker does not exist yet: {sqlite_file}", hint="windrow run drops", reason=Reason.NOT_FOUND
            )
        with map_errors(engine):
            has_tables = sa.inspect(engine).has_table("zip_file")
        if not has_tables:
            database = tracker_address.url if sqlite_file is None else sqlite_file
            message = f"the tracker has no tables yet: {database}"
            raise WindrowError(message, hint="windrow run drops", reason=Reason.NOT_FOUND)
        yield engine
    finally:
        engine.dispose()


EXPORTS = (
    Export(
        "tracker",
        ("mysql", "postgresql", "sqlite"),
        "SQL that creates its tables and rows, without DROP statements; load it into an empty database",
        tracker,
    ),
    Export("files", ("jsonl",), "a line for each XML file and its zip, with their phases and statuses", files),
)
