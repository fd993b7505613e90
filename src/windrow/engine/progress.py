"""Progress of a run: a live line on a terminal, a plain line a minute in a log, or lines of JSON."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

PLAIN_EVERY = 60.0


class Progress:
    """Counts of the current phase: done of total, rate, errors and time left."""

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        """Write to `stream` (default: stderr), live if it is a terminal; write nothing if `quiet`."""
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self._live = not quiet and self._stream.isatty()
        self._shown = time.monotonic()
        self.begin("")

    def begin(self, phase: str, total: int | None = None) -> None:
        """Start counting a new phase."""
        self.end()
        self._phase = phase
        self._total = total
        self._began = time.monotonic()
        self._done = self._failed = 0

    def step(self, done: int = 1, failed: int = 0) -> None:
        """Count what was done, and how much of it failed."""
        self._done += done
        self._failed += failed

    def line(self) -> str:
        """Return the counts as one line."""
        spent = max(time.monotonic() - self._began, 1e-6)
        rate = self._done / spent
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
        """Show the line if it is time."""
        if self._quiet or not self._phase:
            return
        if self._live:
            self._stream.write(f"\r\x1b[K{self.line()}")
            self._stream.flush()
        elif time.monotonic() - self._shown >= PLAIN_EVERY:
            self._shown = time.monotonic()
            self._stream.write(self.line() + "\n")
            self._stream.flush()

    def end(self) -> None:
        """Clear the live line."""
        if getattr(self, "_live", False) and getattr(self, "_phase", ""):
            self._stream.write("\r\x1b[K")
            self._stream.flush()
        self._phase = ""


class ProgressLines(Progress):
    """Sends the counts of the current phase about once a second, and at its end."""

    def __init__(self, send: Callable[[str, Any], None]) -> None:
        self._send = send
        super().__init__(quiet=True)

    def show(self) -> None:
        """Send the counts, if the last ones are a second old."""
        if self._phase and time.monotonic() - self._shown >= 1:
            self._shown = time.monotonic()
            self._send_counts()

    def end(self) -> None:
        """Send the final counts of a phase."""
        if getattr(self, "_phase", ""):
            self._send_counts()
        super().end()

    def _send_counts(self) -> None:
        seconds = round(time.monotonic() - self._began, 3)
        counts = {"phase": self._phase, "done": self._done, "total": self._total, "failed": self._failed}
        self._send("progress", {**counts, "seconds": seconds})
