"""Take things down, by the collections whose they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from windrow.adapter import Burden
from windrow.config import Workspace
from windrow.engine.ledger import Ledger
from windrow.engine.session import Setup
from windrow.engine.takedown import TakedownResult
from windrow.errors import UsageError
from windrow.registry import capable

T = TypeVar("T")


def estimate(workspace: Workspace, ledger: Ledger, names: Sequence[str]) -> list[Burden]:
    """Count what would be taken down."""
    parts = _each(names, lambda one, some: one.estimate(workspace, ledger, some))
    return [burden for part in parts for burden in part]


def take_down(workspace: Workspace, setup: Setup, names: Sequence[str], reason: str = "") -> list[TakedownResult]:
    """Take down what is named, and what an earlier run left undone; return what was removed, target by target."""
    parts = _each(names, lambda one, some: one.take_down(workspace, setup, some, reason))
    return [buried for part in parts for buried in part]


def let_again(workspace: Workspace, setup: Setup, names: Sequence[str]) -> int:
    """Let what was taken down be asked for again by the next run; return how many tombstones that lifts."""
    return sum(_each(names, lambda one, some: one.let_again(workspace, setup, some)))


def _each(names: Sequence[str], act: Callable[[Any, Sequence[str]], T]) -> list[T]:
    """Have every collection act on the names that it knows; UsageError for a name that none knows."""
    makers = list(capable("take_down").values())
    if len(makers) == 1 or not names:
        return [act(one, names) for one in makers]
    done: list[T] = []
    for name in names:
        known = []
        for one in makers:
            try:
                known.append(act(one, [name]))
            except UsageError as error:
                last = error
        if not known:
            raise last
        done += known
    return done
