"""The present time, and times as the texts that the ledger stores: ISO 8601 in UTC with microseconds, sortable."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)


def spell(time: datetime) -> str:
    """Return an aware time as the text that the ledger stores.

    >>> spell(datetime(2026, 1, 2, tzinfo=UTC))
    '2026-01-02T00:00:00.000000Z'
    """
    time = time if time.tzinfo is UTC else time.astimezone(UTC)
    return f"{time.isoformat(timespec='microseconds')[:26]}Z"


def parse(text: str) -> datetime:
    """Convert a text that `spell` returned back to a time."""
    return datetime.fromisoformat(text)


def from_unix_time(seconds: float | None) -> datetime | None:
    """Convert UNIX seconds to a time in UTC; return None for None, and for a time outside the years 1 to 9999.

    >>> from_unix_time(0), from_unix_time(2.0**63)
    (datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), None)
    """
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
