"""The archive's CDXJ index: one sorted file per session, made from the ledger at the session's end."""

from __future__ import annotations

import mimetypes
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from windrow.engine.ledger import Ledger
from windrow.formats.cdx import line
from windrow.formats.warc import target

RULES = "2"
"""The number of the rules by which lines are made; an archive whose index has older ones gets a new index."""

_MARK = ".index-rules"


def index_name(session: int) -> str:
    """Name a session's index, which stands beside its WARC files."""
    return f"windrow-{session:06}.cdxj"


def index_archive(ledger: Ledger, folder: Path) -> None:
    """Write the index of every session that has captures but no index yet; a crash leaves at most none."""
    with suppress(OSError):
        _renew(folder)
    for session in ledger.captures.sessions():
        path = folder / index_name(session)
        if path.exists():
            continue
        part = path.with_suffix(".part")
        # Where there is no room for it now, the next session makes it.
        with suppress(OSError, sqlite3.Error):
            with part.open("w", encoding="ascii") as file:
                file.writelines(f"{one}\n" for one in lines(ledger, session))
            part.replace(path)


def _renew(folder: Path) -> None:
    """Remove indexes that were made by older rules."""
    mark = folder / _MARK
    if not folder.is_dir() or (mark.exists() and mark.read_text(encoding="ascii") == RULES):
        return
    for path in folder.glob("windrow-*.cdxj"):
        path.unlink()
    mark.write_text(RULES, encoding="ascii")


def lines(ledger: Ledger, *sessions: int) -> Iterator[str]:
    """Yield an index line for every capture of sessions, sorted, whatever their number: they are sorted on disk.

    An answer 304 is no capture: what replays an archive would show an empty page as the latest one.
    """
    with closing(sqlite3.connect("", isolation_level=None)) as room:
        room.execute("BEGIN")
        room.execute("CREATE TABLE line (text TEXT NOT NULL)")
        for session in sessions:
            room.executemany("INSERT INTO line VALUES (?)", ((one,) for one in _lines(ledger, session)))
        for (text,) in room.execute("SELECT text FROM line ORDER BY text"):
            yield text


def _lines(ledger: Ledger, session: int) -> Iterator[str]:
    """Yield the lines as they come; file names are relative to the archive."""
    for one in ledger.captures.of_session(session):
        kind = one.mime or mimetypes.guess_type(one.address, strict=False)[0] or "application/octet-stream"
        shown = "warc/revisit" if one.revisit else kind
        place = (one.warc, one.offset, one.length)
        yield line(target(one.address), one.at, place, status=one.status, mime=shown, digest=one.digest)
