"""A function of a collection that is loaded when it is called first.

A command that only looks something up has every collection's value, and none of its readers.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


class Later:
    """A function named as `module:name`; it goes to other processes by that name.

    >>> Later("math:sqrt")(16.0)
    4.0
    """

    def __init__(self, where: str) -> None:
        """Keep the name; nothing is loaded."""
        self.__module__, _, self._name = where.partition(":")
        self._function: Callable[..., Any] | None = None

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Load it, and call it."""
        if self._function is None:
            self._function = getattr(import_module(self.__module__), self._name)
        return self._function(*given, **named)

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to other processes by name."""
        return Later, (repr(self),)

    def __eq__(self, other: object) -> bool:
        """Tell whether the other one names the same function."""
        return isinstance(other, Later) and repr(self) == repr(other)

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(repr(self))

    def __repr__(self) -> str:
        """Return the name, as `module:name`."""
        return f"{self.__module__}:{self._name}"


def later(where: str) -> Any:
    """Return a function that is loaded when it is called first, as `module:name`; it may stand where any may."""
    return Later(where)
