"""Fixtures of the tests of a whole harvest."""

from __future__ import annotations

from tests.clock import real_clock
from tests.faults.conftest import make_workspace

__all__ = ["make_workspace", "real_clock"]
