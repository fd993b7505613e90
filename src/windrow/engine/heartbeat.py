"""Signs of life: how long a process of the run has been at its document, and what ends one that hangs.

A fetcher reads what strangers sent in its only loop. While it does, it shows of which address the bytes are. A reading
that takes too long is ended from within where Python or its `re` is at work. A library cannot be ended so: then there
is no beat any more, and the engine ends the process, which costs what it had in hand and nothing else. What counts is
CPU time: a machine that is busy or pauses ends no reading.
"""

from __future__ import annotations

import resource
import signal
import time
from ctypes import c_longlong
from pathlib import Path
from types import FrameType
from typing import Any, Self

from windrow.engine.runtime import CONTEXT, lower_limit
from windrow.errors import StepError
from windrow.reasons import Reason

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


READING = 20.0
"""Seconds of CPU time that a reading may take before the engine ends the process, whatever library it is in."""

STOPPING = 3.0
"""Seconds by the clock without a beat after which a process that reads is ended once the run is to stop."""

SILENT = 60.0
"""Seconds without a beat after which it is ended though it reads nothing: it starts, or waits for a slow disk."""

_CPU = 4.0  # seconds of CPU time after which a reading is ended from within
_TICK = 0.5  # seconds of CPU time between two looks at it
_BEATS, _BATCH, _TARGET = range(3)


def board() -> Any:
    """Make what a fetcher and the engine share: the number of beats, and batch and target of what is read, or 0."""
    return CONTEXT.RawArray(c_longlong, 3)


class Overdue(StepError):
    """A reading took longer than it may."""

    def __init__(self) -> None:
        super().__init__(f"stopped after {_CPU:g} seconds of CPU time", Reason.TIME_LIMIT)


class Heartbeat:
    """The fetcher's end: it beats, and every reading is a `with` block."""

    def __init__(self, shown: Any) -> None:
        self._shown = shown
        self._reading = False
        self._ticks = 0

    def start(self) -> None:
        """Look at readings from now on; called in the main thread of the process."""
        signal.signal(signal.SIGPROF, self._tick)
        signal.setitimer(signal.ITIMER_PROF, _TICK, _TICK)

    def beat(self) -> None:
        """Show that the loop goes round."""
        self._shown[_BEATS] += 1

    def reading(self, batch: int, target: int) -> Self:
        """Name what the block reads: the bytes of an address, 0 being the host's rules."""
        shown = self._shown
        shown[_BEATS] += 1
        shown[_BATCH], shown[_TARGET] = batch, target
        return self

    def __enter__(self) -> None:
        self._ticks = 0
        self._reading = True

    def __exit__(self, *_: object) -> None:
        self._reading = False
        self._shown[_BATCH] = 0

    def _tick(self, _number: int, _frame: FrameType | None) -> None:
        """End what takes too long; again and again, since the code that is ended may pass over errors."""
        if self._reading:
            self._ticks += 1
            if self._ticks > _CPU / _TICK:
                raise Overdue


class Watch:
    """The engine's end: for how long a fetcher has not been heard of, and what it was at."""

    def __init__(self) -> None:
        self.board = board()
        self._clock = ReadingClock()

    def overdue(self, pid: int, *, stopping: bool) -> bool:
        """Tell whether the process is to be ended; called often."""
        self._clock.look(pid, self.board[_BEATS])
        if not self.board[_BATCH]:
            return self._clock.wall_seconds > SILENT
        if stopping and self._clock.wall_seconds > STOPPING:
            return True
        return self._clock.cpu_seconds > READING or self._clock.asleep_seconds > READING * ASLEEP

    def reading(self) -> tuple[int, int] | None:
        """Return batch and target of what it reads, None where it reads nothing."""
        return (self.board[_BATCH], self.board[_TARGET]) if self.board[_BATCH] else None


def limit_memory(most: int) -> None:
    """Let this process have so many bytes of data beside what it has now.

    The limit is on data and not on addresses: the latter count what threads reserve and never use.
    """
    try:
        status = Path("/proc/self/status").read_text()
        mine = int(status.partition("VmData:")[2].split(None, 1)[0]) * 1024
    except (OSError, IndexError, ValueError):
        mine = 1 << 30
    lower_limit(resource.RLIMIT_DATA, mine + most)
