"""What a person means by a name, a key or an address; what an operator decides, and what becomes of it."""

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
from windrow.engine import operator
from windrow.engine.frontier import CANCEL, Chosen, frontier_of
from windrow.errors import UsageError
from windrow.ledger import Ledger
from windrow.ledger.rows import ItemKey
from windrow.model import Status
from windrow.reasons import Reason

MOST = 50
"""Things listed, when a question may mean several."""

LONGEST = 1024
"""Characters of a name that is looked for among those of WARC files."""


class Meaning(NamedTuple):
    """One thing that a question may mean, and how it stands."""

    number: int
    kind: str
    key: str
    owner: str
    phase: str
    status: str
    reason: str


class Question:
    """One question to the ledger."""

    def __init__(self, workspace: Workspace, ledger: Ledger) -> None:
        """Look in this workspace's ledger."""
        self._workspace = workspace
        self._ledger = ledger
        self.total = 0  # how many things the last answer should have had

    def items(self, what: str) -> list[ItemKey]:
        """Return the items that `what` names; the more exact meaning wins."""
        for look in (self._numbered, self._keyed, self._placed, self._taken_in, self._tailed, self._left_out):
            if found := look(what):
                self.total = max(len(found), self.total)
                return found
        return []

    def owned(self, owner: str) -> list[ItemKey]:
        """Return the latest items that an owner made."""
        self.total = self._ledger.items.count_by_owner(owner)
        return self._ledger.items.by_owner(owner, MOST) if self.total else []

    def candidates(self, items: list[ItemKey]) -> tuple[Meaning, ...]:
        """Return items with how they stand."""
        numbers = [number for number, _ in items[:MOST]]
        stand = states(self._ledger, numbers)
        rows = [row for number in numbers if (row := self._ledger.items.get(number))]
        return tuple(Meaning(row.seq, row.kind, row.key, row.owner, *stand[row.seq], row.reason or "") for row in rows)

    def _numbered(self, what: str) -> list[ItemKey]:
        if not is_number(what):
            return []
        numbers = [int(what)] if self._ledger.items.get(int(what)) else self._ledger.items.of_attempt(int(what))
        return [ItemKey(number, one.key) for number in numbers if (one := self._ledger.items.get(number))]

    def _keyed(self, what: str) -> list[ItemKey]:
        spellings = (frontier_of(self._ledger, collection).spellings(what) for collection in installed().values())
        return self._ledger.items.named([*{what, *chain.from_iterable(spellings)}])

    def _placed(self, what: str) -> list[ItemKey]:
        """Look for an address: one that was fetched, or a path below a source's base."""
        if "://" not in what and not what.startswith("/"):
            return []
        wanted = f"file://{what}" if what.startswith("/") else what
        found = {*self._ledger.items.by_address(wanted)}
        for source in self._workspace.sources:
            base = source.site.address().rstrip("/") + "/"
            if wanted.startswith(base):
                found |= {*self._ledger.items.by_path(source.name, wanted.removeprefix(base))}
        return sorted(found)

    def _taken_in(self, what: str) -> list[ItemKey]:
        """Look for a WARC file of another maker by what it was called."""
        tail = Path(what).name
        if not tail or "\0" in what or len(what) > LONGEST:
            return []
        imports = self._ledger.imports
        return imports.named(str(Path(what).absolute())) or imports.by_tail(f"/{tail}", MOST)

    def _tailed(self, what: str) -> list[ItemKey]:
        return self._ledger.items.by_tail(f"/{what.strip('/')}", MOST) if what.strip("/") else []

    def _left_out(self, what: str) -> list[ItemKey]:
        return self._ledger.items.leaving_out(f"{what[:200]!r} ", MOST)


def is_number(what: str) -> bool:
    """Tell whether a text is a number that the ledger can have.

    >>> is_number("12"), is_number("9" * 20)
    (True, False)
    """
    return what.isdecimal() and what.isascii() and len(what) <= 18


def clue(workspace: Workspace, what: str) -> str:
    """Say what would become of a file of this name, by running the rules on it; empty if nothing can be told."""
    kinds = {source.collection for source in workspace.sources} or None
    told = (one.predict(workspace, what) for one in capable(PredictsOutcome, kinds).values())
    return next(filter(None, told), "")


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
    """Retry or cancel the items or addresses named, or those of a source or with a reason; return which.

    Without names, only what failed is meant (for `retry`) or what still waits (for `cancel`), and
    at least a source or a reason must narrow it. With `dry` nothing is written.
    """
    if not names and not reason and not source:
        raise UsageError("nothing is named", hint=f"windrow {act} NAME, or --source NAME, or --reason WORD")
    if reason and reason not in set(Reason):
        raise UsageError(f"there is no reason {reason!r}", hint="see docs/reference/reasons.md")
    frontiers = {kind: frontier_of(ledger, collection) for kind, collection in installed().items()}
    chosen = {
        kind: frontier.named(names) if names else frontier.narrowed(act, source, reason)
        for kind, frontier in frontiers.items()
    }
    keys = {one.key for some in chosen.values() for one in some}
    for name in names:
        if keys.isdisjoint(chain([name], *(frontier.spellings(name) for frontier in frontiers.values()))):
            raise UsageError(f"nothing is known as {name!r}", hint=f"windrow why {name}")
    if act == CANCEL:  # what was ended before is not ended again
        chosen = {kind: [one for one in some if one.state[1] is not Status.CANCELLED] for kind, some in chosen.items()}
        _refuse_finished(chosen)
    found = [one for kind, some in chosen.items() for one in _as_projected(ledger, kind, some)]
    if found and not dry:
        for kind, some in chosen.items():
            if some:
                operator.decide(ledger, registry.collection(kind), act, some)
                registry.adapter(kind).update_projection(workspace, ledger)
    return found


def _as_projected(ledger: Ledger, kind: str, chosen: Sequence[Chosen]) -> list[Chosen]:
    """Let items stand where their collection's projection shows them."""
    adapter = capable(DerivesStates, [kind]).get(kind) if chosen else None
    if adapter is None:
        return [*chosen]
    states_by_item = adapter.states(ledger, [choice.item for choice in chosen])
    return [choice._replace(state=states_by_item.get(choice.item, choice.state)) for choice in chosen]


def _refuse_finished(chosen: Mapping[str, Sequence[Chosen]]) -> None:
    """Refuse to end an item that went all the way: what it brought is loaded, and would stay."""
    for some in chosen.values():
        for one in some:
            if one.through:
                raise UsageError(
                    f"{one.key} is through already: what it brought is loaded, and cancelling would not take it out",
                    hint="only its source can take records out again, by what it offers next",
                )
