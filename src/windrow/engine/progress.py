"""How a run shows what it does: one live line for a person, a plain line a minute for a log."""

from __future__ import annotations

import sys
import time
from typing import TextIO

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
