"""The time. The engine alone asks for it; fetchers do without the ledger, whose `moment` spells times."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)
