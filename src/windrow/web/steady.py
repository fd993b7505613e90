"""Keep what takes long to read until the next fact of the ledger, and what depends on the time at most for a minute."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from windrow.app import Windrow
from windrow.clock import now
from windrow.ledger.facts import last_number

_Value = TypeVar("_Value")
_MAX_KEPT = 64
"""The maximum number of values that are kept of a workspace; the oldest is dropped for another one."""
_KEPT: WeakKeyDictionary[Windrow, dict[str, tuple[tuple[int, str], Any, Any]]] = WeakKeyDictionary()


def steady_fact(workspace: Windrow) -> int:
    """Return the number of the last fact, or 0 while a session is under way, was killed, or has not been yet.

    While it is the same and not 0, nothing that windrow stores has changed.
    """
    with closing(workspace.ledger()) as ledger:
        return 0 if ledger.sessions.running() else last_number(ledger)


def keep_steady(workspace: Windrow, name: str, read: Callable[[], _Value], *, by_minute: bool = True) -> _Value:
    """Return what `read` returned under this name, unless there are facts since, or another configuration.

    With `by_minute`, it is called again in the next minute, since more addresses are due then.
    """
    fact = steady_fact(workspace)  # before it is read, so that what is newer is read again
    moment = fact, f"{now():%Y-%m-%dT%H:%M}" if by_minute else ""
    kept = _KEPT.setdefault(workspace, {})
    known = kept.get(name)
    if known is not None and fact and known[0] == moment and known[1] is workspace.config:
        value: _Value = known[2]
        return value
    value = read()
    kept.pop(name, None)
    kept[name] = moment, workspace.config, value
    for oldest in [*kept][:-_MAX_KEPT]:
        kept.pop(oldest, None)
    return value
