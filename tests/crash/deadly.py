"""A process that is killed before or after so many calls of some functions."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from typing import Any


def kill_at(number: int, calls: Iterable[tuple[Any, str]]) -> None:
    """Kill this process at the given count; before and after each call of these functions (owner, name) one is counted."""
    left = number

    def count() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(function: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            count()
            returned = function(*args, **more)
            count()
            return returned

        return call

    for owner, name in calls:
        setattr(owner, name, counted(getattr(owner, name)))
