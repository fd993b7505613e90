"""How a run shows what it does: a live line for a person, a plain line a minute for a log, JSON for a program."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

PLAIN_EVERY = 60.0


class Progress:
    """Counts of the phase in hand: done of total, rate, errors and time left."""

    def __init__(self, out: TextIO | None = None, *, quiet: bool = False) -> None:
        """Talk to `out` (stderr as it is now), live when it is a terminal, not at all when `quiet`."""
        self._out = out or sys.stderr
        self._quiet = quiet
        self._live = not quiet and self._out.isatty()
        self._shown = time.monotonic()
        self.begin("")

    def begin(self, what: str, total: int | None = None) -> None:
        """Start counting a new phase."""
        self.end()
        self._what = what
        self._total = total
        self._began = time.monotonic()
        self._done = self._failed = 0

    def step(self, done: int = 1, failed: int = 0) -> None:
        """Count what was done, and how much of it failed."""
        self._done += done
        self._failed += failed

    def line(self) -> str:
        """Say it in one line."""
        spent = max(time.monotonic() - self._began, 1e-6)
        rate = self._done / spent
        parts = [f"{self._what}: {self._done:,}"]
        if self._total:
            parts[0] += f"/{self._total:,}"
        parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
        parts.append(f"{self._failed:,} failed")
        if self._total and rate > 0 and self._done < self._total:
            left = int((self._total - self._done) / rate)
            parts.append(f"{left // 60}:{left % 60:02} left")
        return ", ".join(parts)

    def show(self) -> None:
        """Show the line if it is time."""
        if self._quiet or not self._what:
            return
        if self._live:
            self._out.write(f"\r\x1b[K{self.line()}")
            self._out.flush()
        elif time.monotonic() - self._shown >= PLAIN_EVERY:
            self._shown = time.monotonic()
            self._out.write(self.line() + "\n")
            self._out.flush()

    def end(self) -> None:
        """Clear the live line."""
        if getattr(self, "_live", False) and getattr(self, "_what", ""):
            self._out.write("\r\x1b[K")
            self._out.flush()
        self._what = ""


class ProgressLines(Progress):
    """Sends the counts of the current phase about once a second, and at its end."""

    def __init__(self, send: Callable[[str, Any], None]) -> None:
        self._send = send
        super().__init__(quiet=True)

    def show(self) -> None:
        """Send the counts, if the last ones are a second old."""
        if self._what and time.monotonic() - self._shown >= 1:
            self._shown = time.monotonic()
            self._send_counts()

    def end(self) -> None:
        """Send the final counts of a phase."""
        if getattr(self, "_what", ""):
            self._send_counts()
        super().end()

    def _send_counts(self) -> None:
        seconds = round(time.monotonic() - self._began, 3)
        counts = {"phase": self._what, "done": self._done, "total": self._total, "failed": self._failed}
        self._send("progress", {**counts, "seconds": seconds})
