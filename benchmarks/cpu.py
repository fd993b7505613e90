"""CPU time of what a block starts: all processes, those included that nobody waits for."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.memory import tree

_EVERY = 0.05  # seconds between two looks: what a process does after the last one is not counted


class Meter:
    """Seconds of CPU that the processes started within a block take; those from before do not count."""

    def __init__(self) -> None:
        """Leave out what runs now."""
        self._before = set(tree(os.getpid()))
        self._seen: dict[int, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        """Begin to look."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Look no more."""
        self._ended.set()
        self._thread.join()

    @property
    def seconds(self) -> float:
        """Return what all of them took."""
        return sum(self._seen.values())

    def _watch(self) -> None:
        while not self._ended.wait(_EVERY):
            for process in set(tree(os.getpid())) - self._before:
                self._seen[process] = max(_taken(process), self._seen.get(process, 0.0))


def _taken(process: int) -> float:
    """Return the seconds that a process took so far; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
