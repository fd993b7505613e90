"""The present time; `windrow.engine.ledger.moment` spells it for the ledger, which fetchers do without."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)
