"""Tables of old public names that are still accepted, each with its new name (docs/reference/promises.md).

An old name is accepted for at least one release after the release that renamed it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

SETTINGS: dict[str, str] = {}
"""A dict from the old names of settings, such as `drops.attempts` (workspace) or `delay` (source), to the new ones."""

COMMANDS: dict[str, str] = {}
"""A dict from the old names of commands, as typed (`windrow config trust`), to new names in the same group."""

OPTIONS: dict[str, str] = {}
"""A dict from the old names of options, with their command (`windrow run --limit`), to the new ones."""

REASONS: dict[str, str] = {}


class RenamedWarning(FutureWarning):
    """An old name that is still accepted was used."""


def current_name(table: Mapping[str, str], name: str, prefix: str = "") -> str:
    """Return the new name for an old name, with a warning that begins with `prefix`; return any other name unchanged.

    >>> current_name({"pace": "delay"}, "timeout")
    'timeout'
    """
    if name not in table:
        return name
    message = f"{prefix}{name} is now called {table[name]}; a later release will not accept the old name"
    warnings.warn(message, RenamedWarning, stacklevel=2)
    return table[name]


def all_names(table: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return a name, followed by the old names for it in a table of this module.

    >>> all_names({"pace": "delay", "wait": "delay"}, "delay")
    ('delay', 'pace', 'wait')
    """
    return (name, *(old for old, new in table.items() if new == name))
