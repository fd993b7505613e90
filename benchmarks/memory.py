"""Peak memory of a process and all below it: the sum of their proportional set sizes, sampled while it runs.

The proportional set size (PSS, proc(5), smaps_rollup) counts a page that processes share once, in parts.
"""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import Self


class PeakMemory:
    """Sample a process tree until the block ends; `peak` is in bytes."""

    def __init__(self, root: int, every: float = 0.25) -> None:
        self.peak = 0
        self._root = root
        self._every = every
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(self._every):
            self.peak = max(self.peak, sum(size(process) for process in tree(self._root)))


def tree(root: int) -> list[int]:
    """Return a process and its descendants."""
    processes, waiting = [], [root]
    while waiting:
        process = waiting.pop()
        processes.append(process)
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            try:
                waiting += map(int, children.read_text().split())
            except OSError:
                continue
    return processes


def size(process: int, part: str = "Pss") -> int:
    """Return a process's proportional set size in bytes, 0 if it has ended.

    `part` can be `Pss_Anon`, the memory of its own, or `Pss_File`, the pages of files that it maps: the kernel keeps
    them while it does not need the memory.
    """
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith(f"{part}:")), 0)


def run_measured(command: list[str], cwd: Path) -> tuple[int, int]:
    """Run a command to its end; return its exit code and the peak memory of its tree."""
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL) as process, PeakMemory(process.pid) as watch:
        code = process.wait()
    return code, watch.peak
