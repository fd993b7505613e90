"""Show the progress of a run: a line updated in place on a terminal, a line a minute in a log, or JSON messages."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

LOG_INTERVAL_SECONDS = 60.0
"""The time between two lines, in seconds, if the output is not a terminal."""


class Progress:
    """Counts the items of the current phase, and shows them with the rate and the time left."""

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        """`stream` gets the lines (None: stderr), or none if `quiet`. On a terminal, one line is updated in place."""
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self._live = not quiet and self._stream.isatty()
        self._shown_at = time.monotonic()
        self.begin("")

    def begin(self, phase: str, total: int | None = None) -> None:
        """End the current phase, and begin one with `total` items (None: not known)."""
        self.end()
        self._phase = phase
        self._total = total
        self._began_at = time.monotonic()
        self._done = self._failed = 0

    def step(self, done: int = 1, failed: int = 0) -> None:
        """Add to the number of items done, which includes failed ones, and to the number of failed items."""
        self._done += done
        self._failed += failed

    def line(self) -> str:
        """Return the counts as one line: done, rate and failed, and, if known, the total and the time left."""
        seconds_spent = max(time.monotonic() - self._began_at, 1e-6)
        rate = self._done / seconds_spent
        parts = [f"{self._phase}: {self._done:,}"]
        if self._total:
            parts[0] += f"/{self._total:,}"
        parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
        parts.append(f"{self._failed:,} failed")
        if self._total and rate > 0 and self._done < self._total:
            seconds_left = int((self._total - self._done) / rate)
            parts.append(f"{seconds_left // 60}:{seconds_left % 60:02} left")
        return ", ".join(parts)

    def show(self) -> None:
        """Write the line if a phase has begun: on a terminal at each call, otherwise once a minute; if quiet, never."""
        if self._quiet or not self._phase:
            return
        if self._live:
            self._stream.write(f"\r\x1b[K{self.line()}")
            self._stream.flush()
        elif time.monotonic() - self._shown_at >= LOG_INTERVAL_SECONDS:
            self._shown_at = time.monotonic()
            self._stream.write(self.line() + "\n")
            self._stream.flush()

    def end(self) -> None:
        """End the phase, and clear its line on a terminal."""
        if getattr(self, "_live", False) and getattr(self, "_phase", ""):
            self._stream.write("\r\x1b[K")
            self._stream.flush()
        self._phase = ""


class ProgressLines(Progress):
    """Passes the counts of the phase to a function about once a second, and at the end of the phase."""

    def __init__(self, send: Callable[[str, Any], None]) -> None:
        """`send` is called with the kind of message, always "progress", and a dict of the counts."""
        self._send = send
        super().__init__(quiet=True)

    def show(self) -> None:
        """Send the counts if a phase has begun and this method did not send any in the last second."""
        if self._phase and time.monotonic() - self._shown_at >= 1:
            self._shown_at = time.monotonic()
            self._send_counts()

    def end(self) -> None:
        """Send the final counts of the phase, if one has begun, and end it."""
        if getattr(self, "_phase", ""):
            self._send_counts()
        super().end()

    def _send_counts(self) -> None:
        seconds = round(time.monotonic() - self._began_at, 3)
        counts = {"phase": self._phase, "done": self._done, "total": self._total, "failed": self._failed}
        self._send("progress", {**counts, "seconds": seconds})
