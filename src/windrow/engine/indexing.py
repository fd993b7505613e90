"""The archive's CDXJ index: one sorted file per session, made from the ledger at the session's end."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from windrow.engine.ledger import Ledger
from windrow.engine.ledger.moment import parse
from windrow.formats.cdxj import line
from windrow.formats.warc import target


def index_name(session: int) -> str:
    """Name a session's index, which stands beside its WARC files."""
    return f"windrow-{session:06}.cdxj"


def index_archive(ledger: Ledger, folder: Path) -> None:
    """Write the index of every session that has captures but no index yet; a crash leaves at most none."""
    for session in [row[0] for row in ledger.ask("sessions_with_captures")]:
        path = folder / index_name(session)
        if path.exists():
            continue
        part = path.with_suffix(".part")
        # Where there is no room for it now, the next session makes it.
        with suppress(OSError):
            part.write_text("".join(f"{one}\n" for one in sorted(lines(ledger, session))), encoding="ascii")
            part.replace(path)


def lines(ledger: Ledger, session: int) -> Iterator[str]:
    """Yield an index line for every capture of a session; file names are relative to the archive."""
    for path, at, digest, status, *place, revisit, mime in ledger.ask("captures_of", session, session):
        kind = mime or mimetypes.guess_type(path, strict=False)[0] or "application/octet-stream"
        shown = "warc/revisit" if revisit else kind
        yield line(target(path), parse(at), tuple(place), status=status, mime=shown, digest=digest)
