"""How long a thread may wait for stores, such as the thread of a web view, whose page may take only some time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic

STOP_SECONDS = 5.0
"""The time for which a server is awaited after the run was stopped."""

_thread = threading.local()


@contextmanager
def time_limit(until: float) -> Iterator[None]:
    """In the block, in this thread, let stores not be waited for once `monotonic()` is greater than `until`."""
    _thread.until = until
    try:
        yield
    finally:
        _thread.until = inf


@contextmanager
def wait_while(may_wait: Callable[[], bool]) -> Iterator[None]:
    """In the block, in this thread, let servers not be awaited much longer once `may_wait` returns False.

    It is called again and again during a wait, and may show progress. A server that answers within STOP_SECONDS can
    still complete what is in progress.
    """
    stopped_at = inf

    def may_wait_longer() -> bool:
        nonlocal stopped_at
        if not may_wait():
            stopped_at = min(stopped_at, monotonic())
        return monotonic() <= stopped_at + STOP_SECONDS

    _thread.may_wait = may_wait_longer
    try:
        yield
    finally:
        del _thread.may_wait


def may_wait() -> bool:
    """Return whether this thread may wait for a server, by the function of its block."""
    return getattr(_thread, "may_wait", lambda: True)()


def is_over() -> bool:
    """Return whether the time of this thread's block is over."""
    return monotonic() > getattr(_thread, "until", inf)


def limit_wait(seconds: float) -> float:
    """Return for how many seconds to wait for a server: at most `seconds`, and not beyond the time of this block.

    So a server that does not answer keeps the threads of a web view no longer than a page may take.
    """
    return max(0.1, min(seconds, getattr(_thread, "until", inf) - monotonic()))
