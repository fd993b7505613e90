"""Times as the ledger spells them: ISO 8601, UTC, microseconds, one width, so text sorts as time."""

from __future__ import annotations

from datetime import UTC, datetime


def spell(at: datetime) -> str:
    """Spell a time.

    >>> spell(datetime(2026, 1, 2, tzinfo=UTC))
    '2026-01-02T00:00:00.000000Z'
    """
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def parse(text: str) -> datetime:
    """Read a time that `spell` wrote."""
    return datetime.fromisoformat(text)


def now() -> datetime:
    """Tell the time; the engine alone asks the clock."""
    return datetime.now(UTC)
