"""Progress as lines of JSON, for programs that watch a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from windrow.engine.progress import Progress


class ProgressLines(Progress):
    """Tell the counts of the phase in hand about once a second, and at its end."""

    def __init__(self, tell: Callable[[str, Any], None]) -> None:
        """Tell by `tell(type, values)`."""
        self._tell = tell
        super().__init__(quiet=True)

    def show(self) -> None:
        """Tell if it is time."""
        if self._what and time.monotonic() - self._shown >= 1:
            self._shown = time.monotonic()
            self._say()

    def end(self) -> None:
        """Tell the last counts of a phase."""
        if getattr(self, "_what", ""):
            self._say()
        super().end()

    def _say(self) -> None:
        seconds = round(time.monotonic() - self._began, 3)
        told = {"phase": self._what, "done": self._done, "total": self._total, "failed": self._failed}
        self._tell("progress", {**told, "seconds": seconds})
