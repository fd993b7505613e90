"""How long a thread may wait for stores, such as the thread of a web view, whose page may take only some time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic

_thread = threading.local()


@contextmanager
def time_limit(until: float) -> Iterator[None]:
    """In the block, in this thread, let stores not be waited for once `monotonic()` is greater than `until`."""
    _thread.until = until
    try:
        yield
    finally:
        _thread.until = inf


def is_over() -> bool:
    """Return whether the time of this thread's block is over."""
    return monotonic() > getattr(_thread, "until", inf)


def limit_wait(seconds: float) -> float:
    """Return for how many seconds to wait for a server: at most `seconds`, and not beyond the time of this block.

    So a server that does not answer keeps the threads of a web view no longer than a page may take.
    """
    return max(0.1, min(seconds, getattr(_thread, "until", inf) - monotonic()))
