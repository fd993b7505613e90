"""Find what a person means: a number, an address, a key, a file's name, a centre."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from windrow.app.kind import KINDS, collection, phases
from windrow.app.naming import options
from windrow.app.summary import phase_name
from windrow.config import Workspace
from windrow.contract import Collection, Listing
from windrow.engine.ledger import Ledger
from windrow.model import Entry, Offer, Site, Source, Status

MOST = 50
"""Things listed, when a question may mean several."""

LONGEST = 1024
"""Characters of a name that is looked for among those of WARC files."""

Named = tuple[int, str]
"""An item's number and key."""


class Candidate(NamedTuple):
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

    def items(self, what: str) -> list[Named]:
        """Return the items that `what` names; the more exact meaning wins."""
        for look in (self._numbered, self._keyed, self._placed, self._taken_in, self._tailed, self._left_out):
            if found := look(what):
                self.total = max(len(found), self.total)
                return found
        return []

    def owned(self, centre: str) -> list[Named]:
        """Return the latest items that a centre made."""
        self.total = self._ledger.ask("told_owner_count", centre)[0][0]
        return self._ledger.ask("told_items_by_owner", centre, MOST) if self.total else []

    def candidates(self, items: list[Named]) -> tuple[Candidate, ...]:
        """Return items with how they stand."""
        found = []
        for number, _ in items[:MOST]:
            row = self._ledger.ask("told_item", number)[0]
            phase = phase_name(phases(), row[3], row[13])
            found.append(Candidate(number, row[4], row[5], row[7], phase, Status(row[14]).name.lower(), row[15] or ""))
        return tuple(found)

    def _numbered(self, what: str) -> list[Named]:
        if not is_number(what):
            return []
        number = int(what)
        if row := self._ledger.ask("told_item", number):
            return [(number, row[0][5])]
        rows = self._ledger.ask("told_item_of_fetch", number)
        return [(item, self._ledger.ask("told_item", item)[0][5]) for (item,) in rows]

    def _keyed(self, what: str) -> list[Named]:
        plans = (collection(name).discovery for name in KINDS)
        folders = [folder for plan in plans if isinstance(plan, Listing) for folder in plan.folders]
        keys = [what, *(f"{folder}/{what}" for folder in folders)]
        return list(self._ledger.ask_many("told_items_by_key", keys))

    def _placed(self, what: str) -> list[Named]:
        """Look for an address: one that was fetched, or a path below a source's base."""
        if "://" not in what and not what.startswith("/"):
            return []
        wanted = f"file://{what}" if what.startswith("/") else what
        found: dict[int, str] = dict(self._ledger.ask("told_items_by_address", wanted))
        for source in self._workspace.sources:
            base = source.site.address().rstrip("/") + "/"
            if wanted.startswith(base):
                found |= dict(self._ledger.ask("told_items_by_path", source.name, wanted.removeprefix(base)))
        return sorted(found.items())

    def _taken_in(self, what: str) -> list[Named]:
        """Look for a WARC file of another maker by what it was called."""
        tail = Path(what).name
        if not tail or "\0" in what or len(what) > LONGEST:
            return []
        found = self._ledger.ask("intake_called", str(Path(what).absolute()))
        return found or self._ledger.ask("intake_called_at_end", f"/{tail}", MOST)

    def _tailed(self, what: str) -> list[Named]:
        return self._ledger.ask("told_items_by_tail", f"/{what.strip('/')}", MOST) if what.strip("/") else []

    def _left_out(self, what: str) -> list[Named]:
        return self._ledger.ask("told_left_out", f"{what[:200]!r} ", MOST)


def is_number(what: str) -> bool:
    """Tell whether a text is a number that the ledger can have.

    >>> is_number("12"), is_number("9" * 20)
    (True, False)
    """
    return what.isdecimal() and what.isascii() and len(what) <= 18


def clue(workspace: Workspace, what: str) -> str:
    """Say what would become of a file of this name, by running the rules on it; empty if nothing can be told."""
    folder, _, name = what.rpartition("/")
    folder = folder.rpartition("/")[2]
    kinds = {source.collection for source in workspace.sources} or set(KINDS)
    for kind in sorted(kinds & set(KINDS)):
        plan = collection(kind)
        if plan.crawl is not None:
            if what.startswith(("http://", "https://")):
                return "; the address belongs to none of the sites of this workspace"
            continue
        inside = folder in plan.listing.folders
        offers = _planned(workspace, plan, Entry(folder if inside else plan.listing.folders[0], name or what))
        if offers and offers[0].reason:
            return f"; a file of this name would be refused: {offers[0].reason.meaning}"
        if offers:
            return "; its name is good, but no source has offered it so far"
        if inside or "." in name:
            return "; by rule, files of this name are left out without a row: they are not what is harvested"
    return ""


def _planned(workspace: Workspace, plan: Collection, entry: Entry) -> list[Offer]:
    return plan.listing.plan(Source("", plan.name, Site("")), [entry], options(workspace))
