"""Old public names that are still accepted, each with its name of today: docs/reference/promises.md.

A row stays for at least one release after the one that renamed.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

SETTINGS: dict[str, str] = {}
"""Names as below their table: `drops.attempts` of a workspace, `delay` of a source."""

COMMANDS: dict[str, str] = {}
"""Commands as they are typed: `windrow check`, `windrow config trust`. Both names are of the same group."""

OPTIONS: dict[str, str] = {}
"""Options with their command: `windrow run --limit`."""

REASONS: dict[str, str] = {}


class RenamedWarning(FutureWarning):
    """An old name was used."""


def current(table: Mapping[str, str], name: str, place: str = "") -> str:
    """Return the name of today for an old one, with a warning that begins with `place`; any other name as it is.

    >>> current({"pace": "delay"}, "timeout")
    'timeout'
    """
    if name not in table:
        return name
    message = f"{place}{name} is called {table[name]} now; the old name will go"
    warnings.warn(message, RenamedWarning, stacklevel=2)
    return table[name]


def spellings(table: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return a name of today and the old ones for it.

    >>> spellings({"pace": "delay", "wait": "delay"}, "delay")
    ('delay', 'pace', 'wait')
    """
    return (name, *(old for old, new in table.items() if new == name))
