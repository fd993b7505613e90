"""Fixtures of the tests of collections."""

from tests.clock import real_clock

__all__ = ["real_clock"]
