"""Captures: where kept bytes lie, whoever asked for them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from windrow.engine.ledger.attempts import recorded
from windrow.engine.ledger.database import LedgerDatabase
from windrow.model import ArchivePlace, Recorded


class CaptureRow(NamedTuple):
    """A capture for an index: the address, the record's date as the ledger spells it, and where it lies."""

    address: str
    at: str
    digest: str
    status: int | None
    warc: str
    offset: int
    length: int
    revisit: bool
    mime: str


class HeldCapture(NamedTuple):
    """A record that holds bytes of its own; `key` is what it is a capture of."""

    warc: str
    offset: int
    length: int
    digest: str
    size: int
    key: str


class _Promise(NamedTuple):
    warc: str
    end: int


class CaptureQueries:
    """What is asked of captures."""

    def __init__(self, database: LedgerDatabase) -> None:
        """Ask this database."""
        self._database = database

    def of_digest(self, digest: str) -> ArchivePlace | None:
        """Return where the bytes of a fetched file lie."""
        return self._database.first(ArchivePlace, "capture_of_digest", digest)

    def original(self, address: int, digest: str) -> ArchivePlace | None:
        """Return where the bytes lie that a later visit to the same address brought again."""
        return self._database.first(ArchivePlace, "capture_original", address, digest)

    def payload(self, digest: str) -> ArchivePlace | None:
        """Return where bytes lie that only another address has."""
        return self._database.first(ArchivePlace, "payload_place", digest)

    def promised(self) -> dict[str, int]:
        """Return how far the ledger promises each file of the archive: the end of its last record."""
        return {one.warc: one.end for one in self._database.rows(_Promise, "archive_promised")}

    def sessions(self) -> list[int]:
        """Return the sessions in which captures were put on record."""
        return self._database.column("sessions_with_captures")

    def of_session(self, session: int) -> Iterator[CaptureRow]:
        """Yield the captures put on record from one session's begin to the next one's."""
        return self._database.stream(CaptureRow, "session_captures", session)

    def after(
        self, visit: int, limit: int, *, collections: Iterable[str] = (), sources: Iterable[str] = (), mime: str = "",
        url: str = "",
    ) -> list[Recorded]:  # fmt: skip
        """Return answers that were kept after a given visit, in the order of the ledger, whoever asked.

        `collections` and `sources` name those whose answers are wanted, none for all; `mime` and `url` are patterns of
        SQLite's GLOB, such as `text/html` and `https://example.org/*`. The last one's `seq` is where to go on.
        """
        chosen = (json.dumps([*collections]), json.dumps([*sources]))
        return self._database.mapped(recorded, "captures_after", visit, *chosen, mime, url, limit)

    def newest(self, address: int, since: int) -> Recorded | None:
        """Return the latest answer kept of an address (the digest of what is asked) since a fact, whoever asked.

        With a session's number, two collections on one site ask for each page once.
        """
        return next(iter(self._database.mapped(recorded, "capture_newest", address, since)), None)

    def held(self) -> Iterator[HeldCapture]:
        """Yield every record of the archive that holds bytes of its own, file by file."""
        return self._database.stream(HeldCapture, "captures_all")
