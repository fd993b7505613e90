"""Plain forms of what a workspace holds, for tools that know nothing of windrow."""

from __future__ import annotations

import json
from typing import BinaryIO, TextIO

from windrow.app.form import plain
from windrow.app.secret import password
from windrow.app.shelf import summaries
from windrow.collections.drops.tracker import DATABASE, TRACKER
from windrow.config import Workspace
from windrow.engine.indexing import lines
from windrow.engine.ledger import Ledger
from windrow.stores.connect import connect
from windrow.stores.database import named
from windrow.stores.dump import dump
from windrow.stores.summary.plain import copy, generations


def tracker(workspace: Workspace, dialect: str, out: TextIO) -> int:
    """Write the tracker's 17 tables as SQL for the client of `dialect`; return the rows."""
    place = workspace.drops.tracker
    engine = connect(named(place.url, DATABASE), password(place))
    try:
        return dump(engine, TRACKER, dialect, out)
    finally:
        engine.dispose()


def captures(ledger: Ledger, out: TextIO) -> int:
    """Write an index line for every capture, sorted as CDXJ asks; return how many.

    File names are relative to the archive's folder.
    """
    sessions = [row[0] for row in ledger.ask("sessions_with_captures")]
    count = 0
    for one in lines(ledger, *sessions):
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
            out.write(json.dumps(plain(one), ensure_ascii=False) + "\n")
            count += 1
    return count
