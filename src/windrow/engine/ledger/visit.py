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
    seq, session, opened, holder, source, address, url, kind, allowed, started, seconds, status, reason, message = row[
        :14
    ]
    digest, size, warc, offset, length, revisit, mime, etag, modified, location = row[14:]
    kept = Kept(digest, size, Place(warc, offset, length), bool(revisit), mime=mime) if warc else None
    visit = Visit(
        address, url, kind, bool(allowed), parse(started), seconds, status, kept,
        Reason(reason) if reason else None, message, (etag, modified), location,
    )  # fmt: skip
    return Logged(Recorded(seq, session, parse(opened), source, visit), holder)
