"""Resolve a name, a key or an address to items, and write an operator's decisions to retry or cancel them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from windrow.adapters.adapter import DerivesStates, PredictsOutcome
from windrow.app.item_states import states
from windrow.config import Workspace
from windrow.contract import registry
from windrow.contract.registry import capable, installed
from windrow.engine.frontier import CANCEL, Chosen, Frontier, frontier_of, write_decision
from windrow.errors import UsageError
from windrow.ledger import Ledger
from windrow.ledger.rows import ItemKey
from windrow.model import Status
from windrow.reasons import Reason
from windrow.renamed import REASONS, current, spellings

MOST = 50
"""The most items listed if a name may mean several."""

LONGEST = 1024
"""The longest name looked for among those of WARC files, in characters."""


class Meaning(NamedTuple):
    """An item that a name may mean, and its state."""

    number: int
    kind: str
    key: str
    owner: str
    phase: str
    status: str
    reason: str


class Question:
    """Looks up items by name in the ledger. `total` is the most that a look-up found, also beyond `MOST`."""

    def __init__(self, workspace: Workspace, ledger: Ledger) -> None:
        self._workspace = workspace
        self._ledger = ledger
        self.total = 0

    def items(self, name: str) -> list[ItemKey]:
        """Return the items that a name means, by the most exact look-up that finds any."""
        for find_keys in (
            self._by_number,
            self._by_key,
            self._by_address,
            self._by_warc,
            self._by_tail,
            self._by_left_out,
        ):
            if keys := find_keys(name):
                self.total = max(len(keys), self.total)
                return keys
        return []

    def owned(self, owner: str) -> list[ItemKey]:
        """Return the latest items of an owner, `MOST` at most."""
        self.total = self._ledger.items.count_by_owner(owner)
        return self._ledger.items.by_owner(owner, MOST) if self.total else []

    def candidates(self, items: list[ItemKey]) -> tuple[Meaning, ...]:
        """Return the first `MOST` items with their states."""
        numbers = [number for number, _ in items[:MOST]]
        states_by_number = states(self._ledger, numbers)
        rows = [row for number in numbers if (row := self._ledger.items.get(number))]
        return tuple(
            Meaning(row.seq, row.kind, row.key, row.owner, *states_by_number[row.seq], row.reason or "") for row in rows
        )

    def _by_number(self, name: str) -> list[ItemKey]:
        if not is_number(name):
            return []
        row = self._ledger.items.get(int(name))
        return [ItemKey(row.seq, row.key)] if row else self._ledger.listed_files.of_attempt(int(name))

    def _by_key(self, name: str) -> list[ItemKey]:
        spellings = (frontier_of(self._ledger, collection).spellings(name) for collection in installed().values())
        return self._ledger.items.named([*{name, *chain.from_iterable(spellings)}])

    def _by_address(self, address: str) -> list[ItemKey]:
        """Find items by an address that was fetched, or by a path below a source's base."""
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
        if not file_name or "\0" in name or len(name) > LONGEST:
            return []
        imports = self._ledger.imports
        return imports.named(str(Path(name).absolute())) or imports.by_tail(f"/{file_name}", MOST)

    def _by_tail(self, name: str) -> list[ItemKey]:
        return self._ledger.items.by_tail(f"/{name.strip('/')}", MOST) if name.strip("/") else []

    def _by_left_out(self, name: str) -> list[ItemKey]:
        return self._ledger.items.leaving_out(f"{name[:200]!r} ", MOST)


def is_number(text: str) -> bool:
    """Return whether a text is a number that the ledger can hold.

    >>> is_number("12"), is_number("9" * 20)
    (True, False)
    """
    return text.isdecimal() and text.isascii() and len(text) <= 18


def clue(workspace: Workspace, name: str) -> str:
    """Return what the rules would do with a file of this name, as a clause; empty if no rule applies."""
    kinds = {source.collection for source in workspace.sources} or None
    clues = (adapter.predict(workspace, name) for adapter in capable(PredictsOutcome, kinds).values())
    return next(filter(None, clues), "")


def decide(
    workspace: Workspace,
    ledger: Ledger,
    act: str,
    names: Sequence[str],
    *,
    reason: str = "",
    source: str = "",
    dry: bool = False,
) -> list[Chosen]:
    """Retry or cancel the items or addresses named, or those of a source or with a reason; return them.

    Without names, those that failed (`retry`) or still wait (`cancel`), narrowed by a source or a reason. With `dry`
    nothing is written. Raises UsageError for a name or reason that is not known.
    """
    if not names and not reason and not source:
        raise UsageError("nothing is named", hint=f"windrow {act} NAME, or --source NAME, or --reason WORD")
    reason = current(REASONS, reason)
    if reason and reason not in set(Reason):
        raise UsageError(f"there is no reason {reason!r}", hint="see docs/reference/reasons.md")
    frontiers = {kind: frontier_of(ledger, collection) for kind, collection in installed().items()}
    chosen = {
        kind: frontier.find_named(names) if names else _select(frontier, act, source, reason)
        for kind, frontier in frontiers.items()
    }
    keys = {choice.key for choices in chosen.values() for choice in choices}
    for name in names:
        if keys.isdisjoint(chain([name], *(frontier.spellings(name) for frontier in frontiers.values()))):
            raise UsageError(f"nothing is known as {name!r}", hint=f"windrow why {name}")
    if act == CANCEL:  # an item is cancelled once
        chosen = {
            kind: [choice for choice in choices if choice.state[1] is not Status.CANCELLED]
            for kind, choices in chosen.items()
        }
        _refuse_finished(chosen)
    projected = [choice for kind, choices in chosen.items() for choice in _as_projected(ledger, kind, choices)]
    if projected and not dry:
        for kind, choices in chosen.items():
            if choices:
                write_decision(ledger, registry.collection(kind), act, choices)
                registry.adapter(kind).update_projection(workspace, ledger)
    return projected


def _select(frontier: Frontier, act: str, source: str, reason: str) -> list[Chosen]:
    """Find the items with a reason, which may be on the ledger under an old name of it."""
    return [choice for name in spellings(REASONS, reason) for choice in frontier.find_undone(act, source, name)]


def _as_projected(ledger: Ledger, kind: str, chosen: Sequence[Chosen]) -> list[Chosen]:
    """Return the choices with the states that their collection's projection has."""
    adapter = capable(DerivesStates, [kind]).get(kind) if chosen else None
    if adapter is None:
        return [*chosen]
    states_by_item = adapter.states(ledger, [choice.number for choice in chosen])
    return [choice._replace(state=states_by_item.get(choice.number, choice.state)) for choice in chosen]


def _refuse_finished(chosen: Mapping[str, Sequence[Chosen]]) -> None:
    """Raise UsageError for a finished item: its records are loaded, and cancelling would not remove them."""
    for choices in chosen.values():
        for choice in choices:
            if choice.through:
                raise UsageError(
                    f"{choice.key} is done already: its records are loaded, and cancelling would not remove them",
                    hint="only its source can remove the records, in a later delivery",
                )
