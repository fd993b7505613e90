"""The states of items: derived by the collection's adapter or, without one, from the step that each item waits for.

An adapter that cannot be imported counts as none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from windrow.adapters.adapter import DerivesStates, ReachedCount
from windrow.contract import Collection, ItemStep
from windrow.contract.registry import capable, installed
from windrow.ledger import Ledger
from windrow.model import State, Status


class StateCount(NamedTuple):
    """The number of items of one kind that are in a phase with a status."""

    collection: str
    kind: str
    phase: str
    status: str
    items: int


def _describe_state(collection: str, state: State) -> tuple[str, str]:
    phase, status = state
    return installed()[collection].phases[phase - 1], status.name.lower()


def _state_by_step(collection: str, kind: str, step: str | None, status: Status | None) -> tuple[str, str]:
    """Return the phase and status, in words, of an item that waits for `step` or, if `step` is None, is finished."""
    if step is None:
        return _last_phase(installed().get(collection), kind), Status.DONE.name.lower()
    return step, (status or Status.PENDING).name.lower()


def _last_phase(collection: Collection | None, kind: str) -> str:
    if collection is None:
        return ""
    phases = [step.phase for step in collection.steps if isinstance(step, ItemStep) and step.kind == kind]
    return phases[-1] if phases else collection.phases[0]


def states(ledger: Ledger, items: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Return the phase and the status of each item, in words, by item number; unknown items are left out."""
    rows = [row for item in items if (row := ledger.items.get(item))]
    states_by_item = {row.seq: _state_by_step(row.collection, row.kind, row.step, row.status) for row in rows}
    for name, adapter in _state_adapters({row.collection for row in rows}).items():
        numbers = [row.seq for row in rows if row.collection == name]
        states_by_item |= {
            item: _describe_state(name, state) for item, state in adapter.states(ledger, numbers).items()
        }
    return states_by_item


def count_states(ledger: Ledger) -> tuple[StateCount, ...]:
    """Count the items of each collection by kind, phase and status."""
    rows = ledger.items.by_step()
    adapters = _state_adapters({row.collection for row in rows})
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for row in rows:
        if row.collection not in adapters:
            phase, status = _state_by_step(row.collection, row.kind, row.step, row.status)
            counts[row.collection, row.kind, phase, status] += row.number
    for name, adapter in adapters.items():
        state_counts = adapter.count_states(ledger)
        for kind, state in sorted(state_counts):
            counts[name, kind, *_describe_state(name, state)] += state_counts[kind, state]
    return tuple(StateCount(*key, number) for key, number in counts.items())


def count_reached(ledger: Ledger, facts: tuple[int, int], collections: Iterable[str]) -> list[ReachedCount]:
    """Count, by state and reason, the items of these collections that reached a state within `facts` (first, last)."""
    adapters = _state_adapters({*collections})
    step_counts = ledger.items.read_between(facts)
    counts = [
        ReachedCount(
            count.collection,
            count.kind,
            count.step,
            Status.FAILED if count.reason else Status.DONE,
            count.reason,
            count.number,
        )
        for count in step_counts
        if count.collection not in adapters
    ]
    for adapter in adapters.values():
        counts += adapter.count_reached(ledger, facts, step_counts)
    return counts


def _state_adapters(collections: Container[str]) -> dict[str, DerivesStates]:
    return capable(DerivesStates, [name for name in installed() if name in collections], skip_broken=True)
