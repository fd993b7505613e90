"""What a piece of work costs, however busy the machine is with other things."""

from __future__ import annotations

import time
from collections.abc import Callable


def cpu_seconds(work: Callable[..., object], *values: object) -> float:
    """Return the seconds of processor time that this thread takes for `work(*values)`."""
    began = time.thread_time()
    work(*values)
    return time.thread_time() - began
