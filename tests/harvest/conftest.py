"""What the tests of a whole harvest share."""

from __future__ import annotations

from tests.faults.conftest import place, real_clock

__all__ = ["place", "real_clock"]
