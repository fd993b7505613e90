"""Find the items with a name, a key or an address, and write an operator's decisions to retry or cancel them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from windrow.adapters.adapter import AsksAgain, DerivesStates, PredictsOutcome
from windrow.app.item_states import states
from windrow.config import Workspace
from windrow.contract import registry
from windrow.contract.registry import capable, installed
from windrow.engine.frontier import (
    CANCEL,
    MAX_NAMED,
    Chosen,
    Frontier,
    decision_session,
    frontier_of,
    write_decision,
)
from windrow.errors import UsageError
from windrow.ledger import Ledger
from windrow.ledger.rows import ItemKey
from windrow.model import Status
from windrow.reasons import Reason
from windrow.renamed import REASONS, all_names, current_name

MAX_CANDIDATES = 50
"""The most items that are listed if several have a name."""

MAX_NAME_LENGTH = 1024
"""The longest name that is looked up among those of WARC files, in characters."""


class Meaning(NamedTuple):
    """An item that has the name looked for, and its state."""

    number: int
    kind: str
    key: str
    owner: str
    phase: str
    status: str
    reason: str


class ItemLookup:
    """Looks up items by name in the ledger; `total` is the most items that a look-up found, listed or not."""

    def __init__(self, workspace: Workspace, ledger: Ledger) -> None:
        self._workspace = workspace
        self._ledger = ledger
        self.total = 0

    def items(self, name: str) -> list[ItemKey]:
        """Return the items with a name, from the most exact look-up with a result; `total` becomes their number."""
        exact = (self._by_number, self._by_key, self._by_address)
        for find_keys in (*exact, self._by_warc, self._by_tail, self._by_left_out):
            if keys := find_keys(name):
                self.total = max(len(keys), self.total)
                return keys
        return []

    def items_of_owner(self, owner: str) -> list[ItemKey]:
        """Return the latest items of an owner, at most `MAX_CANDIDATES`."""
        self.total = self._ledger.items.count_by_owner(owner)
        return self._ledger.items.by_owner(owner, MAX_CANDIDATES) if self.total else []

    def candidates(self, items: list[ItemKey]) -> tuple[Meaning, ...]:
        """Return the first `MAX_CANDIDATES` items with their states."""
        numbers = [number for number, _ in items[:MAX_CANDIDATES]]
        states_by_number = states(self._ledger, numbers)
        found_items = [item for number in numbers if (item := self._ledger.items.get(number))]
        return tuple(
            Meaning(item.seq, item.kind, item.key, item.owner, *states_by_number[item.seq], item.reason or "")
            for item in found_items
        )

    def _by_number(self, name: str) -> list[ItemKey]:
        if not is_number(name):
            return []
        item = self._ledger.items.get(int(name))
        return [ItemKey(item.seq, item.key)] if item else self._ledger.listed_files.of_attempt(int(name))

    def _by_key(self, name: str) -> list[ItemKey]:
        spellings = (frontier_of(self._ledger, collection).spellings(name) for collection in installed().values())
        return self._ledger.items.named([*{name, *chain.from_iterable(spellings)}])

    def _by_address(self, address: str) -> list[ItemKey]:
        """Find items by an address or path that was fetched, or that is below the base of a source."""
        if "://" not in address and not address.startswith("/"):
            return []
        url = f"file://{address}" if address.startswith("/") else address
        keys = {*self._ledger.listed_files.by_address(url)}
        for source in self._workspace.sources:
            base = source.site.address().rstrip("/") + "/"
            if url.startswith(base):
                keys |= {*self._ledger.listed_files.by_path(source.name, url.removeprefix(base))}
        return sorted(keys)

    def _by_warc(self, name: str) -> list[ItemKey]:
        """Find an imported WARC file by its original name."""
        file_name = Path(name).name
        if not file_name or "\0" in name or len(name) > MAX_NAME_LENGTH:
            return []
        imports = self._ledger.imports
        return imports.named(str(Path(name).absolute())) or imports.by_tail(f"/{file_name}", MAX_CANDIDATES)

    def _by_tail(self, name: str) -> list[ItemKey]:
        return self._ledger.items.by_tail(f"/{name.strip('/')}", MAX_CANDIDATES) if name.strip("/") else []

    def _by_left_out(self, name: str) -> list[ItemKey]:
        return self._ledger.items.leaving_out(f"{name[:200]!r} ", MAX_CANDIDATES)


def is_number(text: str) -> bool:
    """Return whether a text is a number that fits into a column of the ledger.

    >>> is_number("12"), is_number("9" * 20)
    (True, False)
    """
    return text.isdecimal() and text.isascii() and len(text) <= 18


def predict_outcome(workspace: Workspace, name: str) -> str:
    """Return a clause on what would happen to a file of this name, or an empty text if no rule applies to it."""
    collections = {source.collection for source in workspace.sources} or None
    clauses = (adapter.predict(workspace, name) for adapter in capable(PredictsOutcome, collections).values())
    return next(filter(None, clauses), "")


def decide(
    workspace: Workspace,
    ledger: Ledger,
    act: str,
    names: Sequence[str],
    *,
    reason: str = "",
    source: str = "",
    dry_run: bool = False,
) -> list[Chosen]:
    """Write an operator's decision, `act` (retry or cancel), on items and addresses; return these.

    Without `names`, the failed ones (retry) or the waiting ones (cancel) with the source and reason are chosen. With
    `dry_run` nothing is written. Raises UsageError for an unknown name or reason, and for an item to cancel that is
    finished.
    """
    if not names and not reason and not source:
        raise UsageError("no item is named", hint=f"windrow {act} NAME, or --source NAME, or --reason WORD")
    reason = current_name(REASONS, reason)
    if reason and reason not in set(Reason):
        raise UsageError(f"there is no reason {reason!r}", hint="see docs/reference/reasons.md")
    frontiers = {name: frontier_of(ledger, collection) for name, collection in installed().items()}
    chosen_by_collection = {
        collection: frontier.find_named(names) if names else _select(frontier, act, source, reason)
        for collection, frontier in frontiers.items()
    }
    keys = {item.key for items in chosen_by_collection.values() for item in items}
    for name in names:
        if keys.isdisjoint(chain([name], *(frontier.spellings(name) for frontier in frontiers.values()))):
            raise UsageError(f"there is no item or address {name!r}", hint=f"windrow why {name}")
    if act == CANCEL:  # an item is cancelled once
        chosen_by_collection = {
            collection: [item for item in items if item.state[1] is not Status.CANCELLED]
            for collection, items in chosen_by_collection.items()
        }
        _refuse_finished(chosen_by_collection)
    projected = [
        item for collection, items in chosen_by_collection.items() for item in _as_projected(ledger, collection, items)
    ]
    if projected and not dry_run:
        for collection, items in chosen_by_collection.items():
            if items:
                write_decision(ledger, registry.collection(collection), act, items)
                registry.adapter(collection).update_projection(workspace, ledger)
    return projected


def ask_again(
    workspace: Workspace,
    ledger: Ledger,
    service: str,
    names: Sequence[str],
    *,
    reason: str = "",
    source: str = "",
    dry_run: bool = False,
) -> list[Chosen]:
    """Have a service asked again about records, or about all without `names`; return these as waiting.

    This is a session of its own, which takes the lease. Raises UsageError if no collection has the service, or if it
    was not asked about a record that is named.
    """
    if source:
        raise UsageError("--service and --source cannot be combined", hint="windrow retry --service NAME [RECORD]...")
    asking = {
        name: adapter
        for name, adapter in capable(AsksAgain, None).items()
        if service in {declared.name for declared in registry.collection(name).configuration.services}
    }
    if not asking:
        raise UsageError(f"there is no service {service!r} that can be asked again", hint="windrow config")
    for name in names:  # each by itself, without a change: one that is unknown must not be passed over
        if not any(adapter.ask_again(workspace, service, [name], reason, dry_run=True) for adapter in asking.values()):
            raise UsageError(f"{service} was not asked about {name!r}, or is still to be", hint=f"windrow why {name}")
    command = f"retry --service {service} {' '.join(names[:MAX_NAMED])}".rstrip()
    with nullcontext() if dry_run else decision_session(ledger, command):
        return [
            Chosen(0, key, (collection.phase(collection.steps[0].phase), Status.PENDING), ())
            for name, adapter in asking.items()
            for collection in [registry.collection(name)]
            for key in adapter.ask_again(workspace, service, names, reason, dry_run=dry_run)
        ]


def _select(frontier: Frontier, act: str, source: str, reason: str) -> list[Chosen]:
    """Return the items of a source with a reason; the ledger may have the reason under an old name."""
    return [item for spelling in all_names(REASONS, reason) for item in frontier.find_undone(act, source, spelling)]


def _as_projected(ledger: Ledger, collection: str, items: Sequence[Chosen]) -> list[Chosen]:
    """Return the items with the states that they have in the projection of their collection."""
    adapter = capable(DerivesStates, [collection]).get(collection) if items else None
    if adapter is None:
        return [*items]
    states_by_item = adapter.states(ledger, [item.number for item in items])
    return [item._replace(state=states_by_item.get(item.number, item.state)) for item in items]


def _refuse_finished(chosen_by_collection: Mapping[str, Sequence[Chosen]]) -> None:
    """Raise UsageError for a finished item: its records are loaded, and cancelling would not remove them."""
    for items in chosen_by_collection.values():
        for item in items:
            if item.through:
                raise UsageError(
                    f"{item.key} is finished: its records are loaded, and cancelling would not remove them",
                    hint="only its source can remove the records, in a later delivery",
                )
