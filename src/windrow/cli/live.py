"""Progress as lines of JSON, for programs that watch a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from windrow.engine.progress import Progress


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
