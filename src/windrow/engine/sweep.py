"""How often Python looks for objects that refer to each other in circles and can be freed."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 100_000
"""Objects that may be made before the young ones are looked through; Python's own number is 700."""


@contextmanager
def seldom() -> Iterator[None]:
    """Look for circles seldom: rows by the ten thousand hold none, and looking through them again and again takes long.

    >>> with seldom():
    ...     gc.get_threshold()[0]
    100000
    """
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
