"""How long tests wait for a condition: for as long as a busy machine may need."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 300.0
"""Seconds after which a test gives up waiting."""

Value = TypeVar("Value")


def until(probe: Callable[[], Value], patience: float = PATIENCE) -> Value:
    """Return the first true value that a function gives."""
    end = time.monotonic() + patience
    while not (current := probe()):
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)
    return current
