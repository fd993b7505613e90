"""Find items by name, number or address, for `windrow why`."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import NamedTuple

from windrow.adapters.adapter import PredictsOutcome
from windrow.app.item_states import states
from windrow.config import Workspace
from windrow.contract.registry import capable, installed
from windrow.engine.frontier import frontier_of
from windrow.ledger import Ledger
from windrow.ledger.rows import ItemKey

MAX_NAME_LENGTH = 1024
"""The maximum length of a name that is looked up among the names of imported WARC files, in characters."""


class Meaning(NamedTuple):
    """An item that a name may mean, or a document in a zip, with its state."""

    number: int
    kind: str
    key: str
    owner: str
    phase: str
    status: str
    reason: str


class ItemLookup:
    """Looks up items by name in the ledger, and lists at most `limit` of them. `total` is the number of items found."""

    def __init__(self, workspace: Workspace, ledger: Ledger, limit: int) -> None:
        self.limit = limit
        self._workspace = workspace
        self._ledger = ledger
        self.total = 0

    def items(self, name: str) -> list[ItemKey]:
        """Return the items with this name, from the first look-up that finds any; exact look-ups come first."""
        exact = (self._by_number, self._by_key, self._by_address)
        for find_keys in (*exact, self._by_warc, self._by_tail, self._by_left_out):
            if keys := find_keys(name):
                self.total = max(len(keys), self.total)
                return keys
        return []

    def items_of_owner(self, owner: str) -> list[ItemKey]:
        """Return the items of an owner that were recorded last, at most `limit`."""
        self.total = self._ledger.items.count_by_owner(owner)
        return self._ledger.items.by_owner(owner, self.limit) if self.total else []

    def candidates(self, items: list[ItemKey]) -> tuple[Meaning, ...]:
        """Return the items with their states, the latest ones first, at most `limit`."""
        numbers = sorted((number for number, _ in items), reverse=True)[: self.limit]
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
        file_name = Path(name).name
        if not file_name or "\0" in name or len(name) > MAX_NAME_LENGTH:
            return []
        imports = self._ledger.imports
        return imports.named(str(Path(name).absolute())) or imports.by_tail(f"/{file_name}")

    def _by_tail(self, name: str) -> list[ItemKey]:
        return self._ledger.items.by_tail(f"/{name.strip('/')}") if name.strip("/") else []

    def _by_left_out(self, name: str) -> list[ItemKey]:
        return self._ledger.items.leaving_out(f"{name[:200]!r} ")


def is_number(text: str) -> bool:
    """Return whether a text is a number that fits into a column of the ledger.

    >>> is_number("12"), is_number("9" * 20)
    (True, False)
    """
    return text.isdecimal() and text.isascii() and len(text) <= 18


def predict_outcome(workspace: Workspace, name: str) -> str:
    """Return a clause on what would happen to a file with this name; empty if no collection predicts anything."""
    collections = {source.collection for source in workspace.sources} or None
    clauses = (adapter.predict(workspace, name) for adapter in capable(PredictsOutcome, collections).values())
    return next(filter(None, clauses), "")
