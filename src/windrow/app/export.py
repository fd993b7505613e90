"""Plain forms of what a workspace holds, for tools that know nothing of windrow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import BinaryIO, TextIO

import sqlalchemy as sa

from windrow.collections.drops.settings import drops_of
from windrow.collections.drops.tracker import DATABASE, TRACKER
from windrow.collections.pages.adapter.open_summary import summaries
from windrow.config import Workspace
from windrow.config.password import password
from windrow.engine.indexing import lines
from windrow.engine.ledger import Ledger
from windrow.errors import WindrowError
from windrow.form import plain
from windrow.formats.terminal import escape_json
from windrow.reasons import Reason
from windrow.stores.connect import connect, guarded
from windrow.stores.database import named
from windrow.stores.dump import dump
from windrow.stores.summary.plain import copy, generations


def tracker(workspace: Workspace, dialect: str, out: TextIO) -> int:
    """Write the tracker's 17 tables as SQL for the client of `dialect`; return the rows."""
    place = drops_of(workspace.sections).tracker
    engine = connect(named(place.url, DATABASE), password(place))
    try:
        path = engine.url.database if engine.dialect.name == "sqlite" else None
        if path and not Path(path).exists():
            raise WindrowError(f"there is no tracker yet: {path}", hint="windrow run drops", reason=Reason.NOT_FOUND)
        with guarded(engine):
            empty = not sa.inspect(engine).has_table("zip_file")
        if empty:
            told = place.url if path is None else path
            raise WindrowError(f"the tracker is empty: {told}", hint="windrow run drops", reason=Reason.NOT_FOUND)
        return dump(engine, TRACKER, dialect, out)
    finally:
        engine.dispose()


def captures(ledger: Ledger, out: TextIO) -> int:
    """Write an index line for every capture, sorted as CDXJ asks; return how many.

    File names are relative to the archive's folder.
    """
    count = 0
    for one in lines(ledger, *ledger.captures.sessions()):
        out.write(f"{one}\n")
        count += 1
    return count


def summary(workspace: Workspace, out: BinaryIO) -> int:
    """Write the Summary Database as one SQLite file, as it is now; return its bytes."""
    with summaries(workspace) as engine:
        return copy(engine, out)


def pages(workspace: Workspace, out: TextIO) -> int:
    """Write a line of JSON for every generation of the Summary Database; return how many."""
    count = 0
    with summaries(workspace) as engine:
        for one in generations(engine):
            out.write(escape_json(json.dumps(plain(one), ensure_ascii=False)) + "\n")
            count += 1
    return count
