"""Keep what takes long to read until the next fact of the ledger, and what depends on the time at most for a minute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from windrow.app import Windrow
from windrow.clock import now
from windrow.ledger.facts import last_number

_Value = TypeVar("_Value")
RUN_SECONDS = 5
"""The seconds for which a value is kept while a session is under way."""
_CACHED_VALUES = 64
"""The maximum number of values that are kept of a workspace; the oldest is dropped for another one."""
_KEPT: WeakKeyDictionary[Windrow, dict[str, tuple[tuple[int, str], Any, Any]]] = WeakKeyDictionary()


def read_facts(workspace: Windrow) -> tuple[bool, int]:
    """Return whether a session is under way or was killed, and the number of the last fact, or 0 if there is none."""
    with workspace.open_ledger() as ledger:
        return ledger.sessions.running(), last_number(ledger)


def steady_fact(workspace: Windrow) -> int:
    """Return the number of the last fact, or 0 while a session is under way, was killed, or has not been yet.

    While it is the same and not 0, nothing that windrow stores has changed.
    """
    is_running, fact = read_facts(workspace)
    return 0 if is_running else fact


def keep_steady(
    workspace: Windrow, name: str, read: Callable[[], _Value], *, lasts: Callable[[_Value], bool] | None = None
) -> _Value:
    """Return what `read` returned under this name, unless there are facts since, or another configuration.

    It is called again in the next minute, since more addresses are due then. If `lasts` is given, it tells whether a
    value is the same until the next fact; one that is not is not kept. While a session is under way, it is called again
    after `RUN_SECONDS`, however many facts there are, so that readers do not slow the run.
    """
    is_running, fact = read_facts(workspace)  # before it is read, so that what is newer is read again
    if is_running:
        moment = 0, f"{int(now().timestamp()) // RUN_SECONDS}"
    else:
        moment = fact, f"{now():%Y-%m-%dT%H:%M}" if lasts is None else ""
    kept = _KEPT.setdefault(workspace, {})
    known = kept.get(name)
    if known is not None and (fact or is_running) and known[0] == moment and known[1] is workspace.config:
        value: _Value = known[2]
        return value
    value = read()
    kept.pop(name, None)
    if lasts is not None and not lasts(value):
        return value
    kept[name] = moment, workspace.config, value
    for oldest in [*kept][:-_CACHED_VALUES]:
        kept.pop(oldest, None)
    return value
