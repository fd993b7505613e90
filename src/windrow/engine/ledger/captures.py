"""Captures: where kept bytes lie, whoever asked for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from windrow.engine.ledger.database import Database
from windrow.model import Place


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

    def __init__(self, database: Database) -> None:
        """Ask this database."""
        self._database = database

    def of_digest(self, digest: str) -> Place | None:
        """Return where the bytes of a fetched file lie."""
        return self._database.first(Place, "capture_of_digest", digest)

    def original(self, address: int, digest: str) -> Place | None:
        """Return where the bytes lie that a later visit to the same address brought again."""
        return self._database.first(Place, "capture_original", address, digest)

    def payload(self, digest: str) -> Place | None:
        """Return where bytes lie that only another address has."""
        return self._database.first(Place, "payload_place", digest)

    def promised(self) -> dict[str, int]:
        """Return how far the ledger promises each file of the archive: the end of its last record."""
        return {one.warc: one.end for one in self._database.rows(_Promise, "archive_promised")}

    def sessions(self) -> list[int]:
        """Return the sessions in which captures were put on record."""
        return self._database.column("sessions_with_captures")

    def of_session(self, session: int) -> Iterator[CaptureRow]:
        """Yield the captures put on record from one session's begin to the next one's."""
        return self._database.stream(CaptureRow, "session_captures", session)

    def held(self) -> Iterator[HeldCapture]:
        """Yield every record of the archive that holds bytes of its own, file by file."""
        return self._database.stream(HeldCapture, "captures_all")
