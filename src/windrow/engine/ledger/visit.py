"""Visits read from the ledger, in its order."""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.engine.ledger.book import Ledger
from windrow.engine.ledger.moment import parse
from windrow.model import Kept, Place, Recorded, Visit
from windrow.reasons import Reason


class Logged(NamedTuple):
    """A visit, and who made it: the holder of its session."""

    recorded: Recorded
    holder: str


def logged(ledger: Ledger, collection: str, after: int, limit: int) -> list[Logged]:
    """Return the visits of a collection after a given one, those to the rules of hosts too."""
    return [_logged(row) for row in ledger.ask("visits_logged", collection, after, limit)]


def _logged(row: tuple[Any, ...]) -> Logged:
    return Logged(recorded(row[:3] + row[4:]), row[3])


def recorded(row: tuple[Any, ...]) -> Recorded:
    """Read a visit's row: its number, session and the session's begin, its source, its address, and what came."""
    seq, session, opened, source, address, url, kind, allowed, started, seconds, status, reason, message = row[:13]
    digest, size, warc, offset, length, revisit, mime, etag, modified, location = row[13:]
    kept = Kept(digest, size, Place(warc, offset, length), bool(revisit), mime=mime) if warc else None
    visit = Visit(
        address, url, kind, bool(allowed), parse(started), seconds, status, kept,
        Reason(reason) if reason else None, message, (etag, modified), location,
    )  # fmt: skip
    return Recorded(seq, session, parse(opened), source, visit)
