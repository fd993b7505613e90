"""The minimum rate of transfers: a server that sends a few bytes at a time must not keep a run from ending."""

from __future__ import annotations

import time

from windrow.errors import TransientFailure
from windrow.model import Site
from windrow.reasons import Reason


class TransferRate:
    """Counts the bytes that transfers receive, and checks their rate over each period of `window` seconds."""

    def __init__(self, site: Site, hint: str = "") -> None:
        """`hint` is added to errors."""
        self._address = site.address()
        self._hint = hint
        self.window = max(1.0, site.timeout)
        self._min_bytes = site.min_rate * self.window
        self.received = 0
        self.is_slow = False

    def check_rate(self, start_count: int) -> None:
        """Raise TransientFailure if too few bytes arrived in this window, or in an earlier one.

        `start_count` is the number of bytes received when this window began.
        """
        self.is_slow = self.is_slow or self.received - start_count < self._min_bytes
        if self.is_slow:
            rate = f"{self._min_bytes / self.window:g} bytes a second"
            message = f"{self._address}: received less than {rate} in {self.window:g} seconds"
            raise TransientFailure(message, Reason.TIMEOUT, hint=self._hint)


class RateWindow:
    """The present window of one of the transfers that a TransferRate counts. It begins with the first call of `add`."""

    def __init__(self, rate: TransferRate) -> None:
        self._rate = rate
        self._start: float | None = None
        self._start_count = 0

    def add(self, size: int) -> None:
        """Count `size` bytes that the transfer received. Raises TransientFailure at the end of a slow window."""
        current_time = time.monotonic()
        if self._start is None:
            self._start, self._start_count = current_time, self._rate.received
        self._rate.received += size
        if current_time - self._start >= self._rate.window:
            self._rate.check_rate(self._start_count)
            self._start, self._start_count = current_time, self._rate.received
