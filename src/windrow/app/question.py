"""Find what a person means: a number, an address, a key, a file's name, an owner."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from windrow.app.summary import phase_name
from windrow.config import Workspace
from windrow.contract import Listing
from windrow.engine.ledger import Ledger
from windrow.engine.ledger.items import ItemKey
from windrow.registry import capable, installed, phases

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
        found = []
        for number, _ in items[:MOST]:
            if one := self._ledger.items.get(number):
                phase, status = phase_name(phases(), one.collection, one.phase), one.status.name.lower()
                found.append(Meaning(number, one.kind, one.key, one.owner, phase, status, one.reason or ""))
        return tuple(found)

    def _numbered(self, what: str) -> list[ItemKey]:
        if not is_number(what):
            return []
        numbers = [int(what)] if self._ledger.items.get(int(what)) else self._ledger.items.of_attempt(int(what))
        return [ItemKey(number, one.key) for number in numbers if (one := self._ledger.items.get(number))]

    def _keyed(self, what: str) -> list[ItemKey]:
        plans = (made.discovery for made in installed().values())
        folders = [folder for plan in plans if isinstance(plan, Listing) for folder in plan.folders]
        keys = [what, *(f"{folder}/{what}" for folder in folders)]
        return self._ledger.items.named(keys)

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
    told = (one.clue(workspace, what) for one in capable("clue", kinds).values())
    return next(filter(None, told), "")
