"""What the tests of collections share."""

from tests.clock import real_clock

__all__ = ["real_clock"]
