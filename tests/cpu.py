"""Measures the CPU time of a piece of work, which does not depend on the load of the machine."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def cpu_seconds(work: Callable[..., object], *values: object) -> float:
    """Return the seconds of processor time that this thread takes for `work(*values)`, without collecting garbage."""
    is_enabled = gc.isenabled()
    gc.disable()  # collecting the garbage of a whole test run takes long
    try:
        began = time.thread_time()
        work(*values)
        return time.thread_time() - began
    finally:
        if is_enabled:
            gc.enable()
