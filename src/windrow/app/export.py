"""Plain forms of what a workspace holds, for tools that know nothing of windrow."""

from __future__ import annotations

import mimetypes
from typing import TextIO

from windrow.app.secret import password
from windrow.collections.drops.tracker import DATABASE, TRACKER
from windrow.config import Workspace
from windrow.engine.ledger import Ledger
from windrow.engine.ledger.moment import parse
from windrow.formats.cdxj import line
from windrow.formats.warc import target
from windrow.stores.connect import connect
from windrow.stores.database import named
from windrow.stores.dump import dump


def tracker(workspace: Workspace, dialect: str, out: TextIO) -> int:
    """Write the tracker's 17 tables as SQL for the client of `dialect`; return the rows."""
    place = workspace.drops.tracker
    engine = connect(named(place.url, DATABASE), password(place))
    try:
        return dump(engine, TRACKER, dialect, out)
    finally:
        engine.dispose()


def captures(workspace: Workspace, ledger: Ledger, out: TextIO) -> int:
    """Write an index line for every capture, sorted as CDXJ asks; return how many.

    File names are relative to the archive's folder.
    """
    del workspace
    lines = []
    for warc in [row[0] for row in ledger.ask("promised")]:
        for _, path, at, digest, _, status, offset, length, _ in ledger.ask("captures_in", warc):
            kind = mimetypes.guess_type(path, strict=False)[0] or "application/octet-stream"
            lines.append(line(target(path), parse(at), (warc, offset, length), status=status, mime=kind, digest=digest))
    lines.sort()
    out.writelines(f"{one}\n" for one in lines)
    return len(lines)
