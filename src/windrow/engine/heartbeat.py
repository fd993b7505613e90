"""Heartbeats: measure how long a process has been reading one document, and find a process that hangs.

A fetcher reads untrusted bytes in the event loop of its main thread. While it reads, it shows the engine whose response
it reads: the numbers of the batch and of the address. A reading that takes too long is ended by a signal if Python code
or `re` is running. A library cannot be interrupted like this: the beats of the process stop, and the engine ends the
process, which loses only the jobs in progress. CPU time is measured, so no reading ends because the machine is busy.
"""

from __future__ import annotations

import resource
import signal
import time
from pathlib import Path
from types import FrameType
from typing import Self

from windrow.engine.runtime import SharedNumbers, lower_limit
from windrow.errors import StepError
from windrow.reasons import Reason

SLEEP_FACTOR = 10
"""A reading process may sleep for at most this multiple of its CPU time limit."""

_LOOK_INTERVAL = 1.0  # the maximum time counted between two looks: the looking process may have been suspended
_WORKING_SHARE = 0.02  # the minimum share of a core that a working process uses, however busy the machine is
_PROCESS_CLOCK = 2  # the lowest bits of a Linux clock id for a process's CPU time; the other bits are its inverted pid


def cpu_time(pid: int) -> float:
    """Return the CPU time that a process has used, in seconds, or 0 if the process has ended."""
    try:
        return time.clock_gettime((~pid << 3) | _PROCESS_CLOCK)
    except OSError:
        return 0.0


class ReadingClock:
    """Measures for how long a process has shown the same number, which changes at least when it begins a document.

    `look` is called about once a second or more often. `wall_seconds` grows by at most a second between two calls,
    since the machine or the engine may have been suspended. `cpu_seconds` is the CPU time that the process used since
    it showed the number, and `asleep_seconds` the time in which it used hardly any.
    """

    def __init__(self) -> None:
        self.cpu_seconds = self.wall_seconds = self.asleep_seconds = 0.0
        self._shown_number: int | None = None
        self._cpu_at_begin = self._cpu_at_span_begin = 0.0
        self._looked_at = self._span_began = time.monotonic()

    def look(self, pid: int, shown_number: int) -> None:
        """Update the times. They start again from 0 if the process now shows another number."""
        looked_at, cpu_now = time.monotonic(), cpu_time(pid)
        seconds_since, self._looked_at = min(looked_at - self._looked_at, _LOOK_INTERVAL), looked_at
        if shown_number != self._shown_number:
            self._shown_number, self._cpu_at_begin = shown_number, cpu_now
            self.wall_seconds = self.asleep_seconds = 0.0
            self._span_began, self._cpu_at_span_begin = looked_at, cpu_now
        else:
            self.wall_seconds += seconds_since
        self.cpu_seconds = cpu_now - self._cpu_at_begin
        span = looked_at - self._span_began
        if span >= _LOOK_INTERVAL:  # in a shorter span, even a working process may not have had its turn
            if cpu_now - self._cpu_at_span_begin < _WORKING_SHARE * span:
                self.asleep_seconds += min(span, 2 * _LOOK_INTERVAL)
            self._span_began, self._cpu_at_span_begin = looked_at, cpu_now


MAX_READING_CPU = 20.0
"""The CPU time for reading one document after which the engine ends the process, in seconds."""

MAX_READING_AFTER_STOP = 3.0
"""The time without a beat after which a reading process is ended while the run is being stopped, in seconds."""

MAX_SILENCE = 60.0
"""The time without a beat after which a process that is not reading is ended, in seconds. It may wait for a disk."""

_READING_CPU = 4.0  # seconds of CPU time after which the process itself ends a reading
_TICK = 0.5  # seconds of CPU time between two checks of that time
_BEATS, _BATCH, _TARGET = range(3)  # the indexes of the numbers on a board


def board() -> SharedNumbers:
    """Return numbers that a fetcher shares with the engine.

    They are the number of beats, the number of the batch whose response is being read (0: none), and the number of the
    target of this response.
    """
    return SharedNumbers.make()


class Overdue(StepError):
    """Reading a document took more CPU time than allowed."""

    def __init__(self) -> None:
        super().__init__(f"stopped after {_READING_CPU:g} seconds of CPU time", Reason.TIME_LIMIT)


class Heartbeat:
    """The fetcher's side: it counts beats on the `board`, and limits the CPU time of each reading."""

    def __init__(self, board: SharedNumbers) -> None:
        self._board = board.numbers
        self._reading = False
        self._ticks = 0

    def start(self) -> None:
        """Start the timer that interrupts readings. This must be called in the main thread of the process."""
        signal.signal(signal.SIGPROF, self._tick)
        signal.setitimer(signal.ITIMER_PROF, _TICK, _TICK)

    def beat(self) -> None:
        """Count a beat, which shows that the event loop runs."""
        self._board[_BEATS] += 1

    def reading(self, batch: int, target: int) -> Self:
        """Count a beat, and show what the `with` block reads: the numbers of batch and target (0: a robots.txt)."""
        self._board[_BEATS] += 1
        self._board[_BATCH], self._board[_TARGET] = batch, target
        return self

    def __enter__(self) -> None:
        self._ticks = 0
        self._reading = True

    def __exit__(self, *_: object) -> None:
        self._reading = False
        self._board[_BATCH] = 0

    def _tick(self, _number: int, _frame: FrameType | None) -> None:
        """Raise Overdue if a reading takes too long, and again at each further tick, since the code may catch it."""
        if self._reading:
            self._ticks += 1
            if self._ticks > _READING_CPU / _TICK:
                raise Overdue


class FetcherWatch:
    """The engine's side: it finds out whether a fetcher hangs, and what the fetcher is reading."""

    def __init__(self) -> None:
        self.board = board()
        self._clock = ReadingClock()

    def overdue(self, pid: int, *, stopping: bool) -> bool:
        """Return whether the process must be ended. If the run is `stopping`, a reading may take less time.

        This must be called at least once a second.
        """
        self._clock.look(pid, self.board.numbers[_BEATS])
        if not self.board.numbers[_BATCH]:
            return self._clock.wall_seconds > MAX_SILENCE
        if stopping and self._clock.wall_seconds > MAX_READING_AFTER_STOP:
            return True
        return self._clock.cpu_seconds > MAX_READING_CPU or self._clock.asleep_seconds > MAX_READING_CPU * SLEEP_FACTOR

    def reading(self) -> tuple[int, int] | None:
        """Return the numbers of the batch and the target that the fetcher is reading, or None if it is not reading."""
        numbers = self.board.numbers
        return (numbers[_BATCH], numbers[_TARGET]) if numbers[_BATCH] else None


def limit_memory(max_bytes: int) -> None:
    """Let this process allocate at most `max_bytes` more bytes. Address space that threads only reserve does not count.

    If the number of bytes that it has allocated so far cannot be read, 1 GiB is assumed.
    """
    try:
        status = Path("/proc/self/status").read_text()
        current = int(status.partition("VmData:")[2].split(None, 1)[0]) * 1024
    except (OSError, IndexError, ValueError):
        current = 1 << 30
    lower_limit(resource.RLIMIT_DATA, current + max_bytes)
