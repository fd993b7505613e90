"""CPU time of all processes that a block starts, also of short-lived ones and those waited for by others."""

from __future__ import annotations

import ctypes
import os
import resource
import time
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER, of <linux/prctl.h>
_PATIENCE = 10.0  # seconds for processes that outlive the block by a little, as a fork server does


class Taken(NamedTuple):
    """The seconds of one run: by the clock, and of CPU time of all its processes."""

    clock: float
    cpu: float


class Meter:
    """Seconds of CPU, user and system, that the processes started within a block take; those from before do not count.

    The kernel adds what a process took to the one that waits for it. Within the block, processes whose parent has
    ended become children of this one, so that all of them are waited for at its end.
    """

    def __init__(self) -> None:
        """Adopt orphaned processes from now on."""
        ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)
        self.seconds = 0.0
        self._running: set[int] = set()

    def __enter__(self) -> Self:
        """Start counting; processes that already run do not count."""
        self._running = _children()
        self.seconds -= _taken()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for the remaining processes, and stop counting."""
        until = time.monotonic() + _PATIENCE
        while (left := _children() - self._running) and time.monotonic() < until:
            for process in left:
                os.waitpid(process, os.WNOHANG)
            time.sleep(0.005)
        self.seconds += _taken()


def _taken() -> float:
    """Return the seconds of all processes that were waited for so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _children() -> set[int]:
    """Return the processes whose parent this one is."""
    cores: set[int] = set()
    for path in Path("/proc/self/task").glob("*/children"):
        cores.update(map(int, path.read_text().split()))
    return cores
