"""What the tests of a whole harvest share."""

from __future__ import annotations

from tests.clock import real_clock
from tests.faults.conftest import place

__all__ = ["place", "real_clock"]
