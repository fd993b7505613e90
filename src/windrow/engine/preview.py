"""What a run would ask for, told without a connection and without a fact on the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from windrow.model import Source


class FetchBounds(NamedTuple):
    """How much to fetch at most, what is too old, and whether what is done is fetched once more."""

    limit: int | None = None
    since: datetime | None = None
    again: bool = False

    def leaves_out(self, modified: datetime | None) -> bool:
        """Tell whether something of this date is too old; what has no date is not."""
        return self.since is not None and modified is not None and modified < self.since


class PlannedSource(NamedTuple):
    """A source that a run would ask: what it would list there, and what it would then fetch.

    `waiting` and `bytes` are what the ledger already knows of: new files show only when it is
    listed. `seconds` at the pace measured so far, None where nothing was measured.
    """

    source: str
    collection: str
    address: str
    folders: tuple[str, ...]
    asked: bool
    why_not: str
    waiting: int
    bytes: int
    seconds: float | None


class Waiting(NamedTuple):
    """Something that waits to be fetched, and the source that a run would ask for it first."""

    key: str
    source: str
    path: str
    bytes: int | None


class Reads(NamedTuple):
    """How many items are due for a phase already."""

    phase: str
    items: int


@dataclass(frozen=True, slots=True)
class Preview:
    """What a run would do, told without a connection and without a fact on the ledger."""

    sources: tuple[PlannedSource, ...]
    waiting: tuple[Waiting, ...]
    documents: tuple[Reads, ...]


def why_not_asked(source: Source) -> str:
    """Say why a source is not asked; empty where it is."""
    state = "" if source.active else source.options.get("state", "inactive")
    return "its owner is not active" if state == "available" else str(state)
