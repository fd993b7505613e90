"""Names that follow from what is named: of crawls, of crawl agents, and of what was there.

Made from the ledger's own facts, so that reading them again gives the same names. They have the form of
UUIDs of version 7 (RFC 9562, section 5.7): the time leads, so that their order is that of time.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b

from windrow.collections.pages.code import Mime

_SHORT = 32
"""Bytes of the identity of what has no text; that of a text pile is its digest, of 64."""


def crawl_uuid(started: datetime, session: int, address: int, kind: int) -> bytes:
    """Name the crawl of an address (`windrow.digest.number` of its URL) in a session.

    >>> from datetime import UTC
    >>> crawl_uuid(datetime(2026, 1, 2, tzinfo=UTC), 1, 7, 0).hex()[:16]
    '019b7c0104007000'
    """
    return _timed(started, f"crawl {session} {address} {kind}")


def agent_uuid(opened: datetime, session: int) -> bytes:
    """Name the crawl agent that a session is, by the time when it was opened."""
    return _timed(opened, f"agent {session}")


def _timed(at: datetime, rest: str) -> bytes:
    """Make a UUID of version 7: milliseconds, twelve bits of what is below them, and 62 bits of a hash."""
    seconds = int(at.timestamp())
    milliseconds, below = divmod(at.microsecond, 1000)
    time = (seconds * 1000 + milliseconds) & (1 << 48) - 1
    low = int.from_bytes(blake2b(rest.encode(), digest_size=8).digest())
    high = time << 16 | 7 << 12 | below * 4096 // 1000
    return (high << 64 | 2 << 62 | low & (1 << 62) - 1).to_bytes(16)


def of_file(mime: Mime | None, size: int | None, mark: str, reason: str = "") -> bytes:
    """Tell versions of a file without text apart: by type, size, and the digest of its bytes or else its ETag."""
    return _short("file", mime.essence if mime else "", str(size), mark, reason)


def of_move(url: str, fragment: str | None) -> bytes:
    """Tell versions of a redirect apart: by where it leads."""
    return _short("move", url, "" if fragment is None else f"#{fragment}")


def of_hidden(pile: bytes, reason: str) -> bytes:
    """Tell versions of a document apart whose text is not to be found, by the digest of that text."""
    return _short("hidden", pile.hex(), reason)


def _short(*parts: str) -> bytes:
    return blake2b("\0".join(parts).encode(), digest_size=_SHORT).digest()
