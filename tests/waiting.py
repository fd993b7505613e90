"""How long tests wait for what must come: for as long as a busy machine may need."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 300.0
"""Seconds after which a test gives up: only what never comes takes so long."""

Value = TypeVar("Value")


def until(value: Callable[[], Value], patience: float = PATIENCE) -> Value:
    """Return the first true value that a function gives."""
    end = time.monotonic() + patience
    while not (current := value()):
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)
    return current
