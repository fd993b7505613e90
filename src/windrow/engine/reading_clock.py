"""How long a process of the run has been at its document: in CPU time, and by the clock without pauses."""

from __future__ import annotations

import time

ASLEEP = 10
"""How many times its limit of CPU time a process may sleep."""

_GAP = 1.0  # seconds between two looks that count: who looks may itself have been stopped meanwhile
_AWAKE = 0.02  # share of a core that a process takes which is at work, however busy the machine is
_PROCESS_CLOCK = 2  # of Linux: the lowest bits of the number of a clock, above them the complement of a process's


def cpu_time(pid: int) -> float:
    """Return the CPU time that a process took so far, in seconds; 0 for one that is gone."""
    try:
        return time.clock_gettime((~pid << 3) | _PROCESS_CLOCK)
    except OSError:
        return 0.0


class ReadingClock:
    """For how long a process has shown the same mark; it is looked at about once a second, or more often.

    `wall_seconds` leave out any in which nobody looked: a machine that is suspended, or a run that is stopped and goes
    on, ends no reading. `asleep_seconds` are those of them in which it took hardly any CPU time.
    """

    def __init__(self) -> None:
        """Begin with no mark."""
        self.cpu_seconds = self.wall_seconds = self.asleep_seconds = 0.0
        self._mark: int | None = None
        self._began = self._span_cpu = 0.0
        self._looked = self._span_began = time.monotonic()

    def look(self, pid: int, mark: int) -> None:
        """Look at a process, which shows a mark."""
        at, cpu = time.monotonic(), cpu_time(pid)
        passed, self._looked = min(at - self._looked, _GAP), at
        if mark != self._mark:
            self._mark, self._began, self.wall_seconds, self.asleep_seconds = mark, cpu, 0.0, 0.0
            self._span_began, self._span_cpu = at, cpu
        else:
            self.wall_seconds += passed
        self.cpu_seconds = cpu - self._began
        if (span := at - self._span_began) >= _GAP:  # a shorter one may be between two turns of a process at work
            if cpu - self._span_cpu < _AWAKE * span:
                self.asleep_seconds += min(span, 2 * _GAP)
            self._span_began, self._span_cpu = at, cpu
