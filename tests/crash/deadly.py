"""A process that is killed before or after so many calls of some functions."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from typing import Any


def kill_at(number: int, calls: Iterable[tuple[Any, str]]) -> None:
    """Have this process killed at a number, counted up before and after each call of functions: owners and names."""
    left = number

    def count() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def deadly(made: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            count()
            found = made(*args, **more)
            count()
            return found

        return call

    for owner, name in calls:
        setattr(owner, name, deadly(getattr(owner, name)))
