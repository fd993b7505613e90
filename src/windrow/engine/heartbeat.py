"""Heartbeats: how long a process has been at one document; a process that hangs is ended.

A fetcher reads untrusted bytes in its only loop. While it reads, it shows the address they are from. A reading
that takes too long is ended by a signal if Python code or `re` runs. A library cannot be interrupted so: then the
beats stop, and the engine ends the process, which loses only the jobs in progress. CPU time is
measured, so that a busy or suspended machine does not end a reading.
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
"""A process may sleep this many times its limit of CPU time."""

_LOOK_INTERVAL = 1.0  # seconds between two looks that count: who looks may itself have been stopped meanwhile
_WORKING_SHARE = 0.02  # share of a core that a process takes which is at work, however busy the machine is
_PROCESS_CLOCK = 2  # of Linux: the lowest bits of the number of a clock, above them the complement of a process's


def cpu_time(pid: int) -> float:
    """Return the CPU time that a process has used, in seconds, or 0 if it is gone."""
    try:
        return time.clock_gettime((~pid << 3) | _PROCESS_CLOCK)
    except OSError:
        return 0.0


class ReadingClock:
    """Measures for how long a process has shown the same mark; `look` is called about once a second, or more often.

    `wall_seconds` leaves out longer gaps between calls, as when the machine is suspended or the run is stopped and
    continued. `asleep_seconds` is the part of them in which the process used hardly any CPU time.
    """

    def __init__(self) -> None:
        self.cpu_seconds = self.wall_seconds = self.asleep_seconds = 0.0
        self._mark: int | None = None
        self._began = self._span_cpu = 0.0
        self._looked_at = self._span_began = time.monotonic()

    def look(self, pid: int, mark: int) -> None:
        """Update the times of a process that now shows `mark`."""
        at, cpu = time.monotonic(), cpu_time(pid)
        passed, self._looked_at = min(at - self._looked_at, _LOOK_INTERVAL), at
        if mark != self._mark:
            self._mark, self._began, self.wall_seconds, self.asleep_seconds = mark, cpu, 0.0, 0.0
            self._span_began, self._span_cpu = at, cpu
        else:
            self.wall_seconds += passed
        self.cpu_seconds = cpu - self._began
        if (
            span := at - self._span_began
        ) >= _LOOK_INTERVAL:  # a shorter one may be between two turns of a process at work
            if cpu - self._span_cpu < _WORKING_SHARE * span:
                self.asleep_seconds += min(span, 2 * _LOOK_INTERVAL)
            self._span_began, self._span_cpu = at, cpu


READING = 20.0
"""Seconds of CPU time that a reading may take before the engine ends the process, whatever library it is in."""

STOPPING = 3.0
"""Seconds by the clock without a beat after which a process that reads is ended once the run is to stop."""

SILENT = 60.0
"""Seconds without a beat after which a process that is not reading is ended; it may start, or wait for a disk."""

_READING_CPU = 4.0  # seconds of CPU time after which a reading is ended from within
_TICK = 0.5  # seconds of CPU time between two looks at it
_BEATS, _BATCH, _TARGET = range(3)


def board() -> Any:
    """Return the memory that a fetcher and the engine share: number of beats, and batch and target being read, or 0."""
    return CONTEXT.RawArray(c_longlong, 3)


class Overdue(StepError):
    """A reading took longer than it may."""

    def __init__(self) -> None:
        super().__init__(f"stopped after {_READING_CPU:g} seconds of CPU time", Reason.TIME_LIMIT)


class Heartbeat:
    """The fetcher's side: it beats, and every reading is a `with` block."""

    def __init__(self, shown: Any) -> None:
        self._board = shown
        self._reading = False
        self._ticks = 0

    def start(self) -> None:
        """Start the timer that interrupts readings; called in the main thread of the process."""
        signal.signal(signal.SIGPROF, self._tick)
        signal.setitimer(signal.ITIMER_PROF, _TICK, _TICK)

    def beat(self) -> None:
        """Count one round of the loop."""
        self._board[_BEATS] += 1

    def reading(self, batch: int, target: int) -> Self:
        """Record what the `with` block reads: the batch and the target's number, 0 for the host's robots.txt."""
        shown = self._board
        shown[_BEATS] += 1
        shown[_BATCH], shown[_TARGET] = batch, target
        return self

    def __enter__(self) -> None:
        self._ticks = 0
        self._reading = True

    def __exit__(self, *_: object) -> None:
        self._reading = False
        self._board[_BATCH] = 0

    def _tick(self, _number: int, _frame: FrameType | None) -> None:
        """Raise Overdue if a reading takes too long; repeatedly, since the code may catch errors and go on."""
        if self._reading:
            self._ticks += 1
            if self._ticks > _READING_CPU / _TICK:
                raise Overdue


class FetcherWatch:
    """The engine's side: how long a fetcher has been silent, and what it was reading."""

    def __init__(self) -> None:
        self.board = board()
        self._clock = ReadingClock()

    def overdue(self, pid: int, *, stopping: bool) -> bool:
        """Return whether the process must be ended; called often."""
        self._clock.look(pid, self.board[_BEATS])
        if not self.board[_BATCH]:
            return self._clock.wall_seconds > SILENT
        if stopping and self._clock.wall_seconds > STOPPING:
            return True
        return self._clock.cpu_seconds > READING or self._clock.asleep_seconds > READING * ASLEEP

    def reading(self) -> tuple[int, int] | None:
        """Return batch and target that the fetcher is reading, or None if it is not reading."""
        return (self.board[_BATCH], self.board[_TARGET]) if self.board[_BATCH] else None


def limit_memory(most: int) -> None:
    """Limit the data of this process to `most` bytes more than it has now.

    The limit is on data and not on addresses: the latter count what threads reserve and never use.
    """
    try:
        status = Path("/proc/self/status").read_text()
        current = int(status.partition("VmData:")[2].split(None, 1)[0]) * 1024
    except (OSError, IndexError, ValueError):
        current = 1 << 30
    lower_limit(resource.RLIMIT_DATA, current + most)
