"""Items: what moves through the phases of a collection, where it stands, and what steps made of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from windrow.ledger.batch import LedgerBatch
from windrow.ledger.database import LedgerDatabase
from windrow.ledger.rows import ItemKey
from windrow.model import Finding, Level, Member, Reading, Status
from windrow.reasons import Reason


class ItemRow(NamedTuple):
    """An item and how it stands.

    `fetch` is the attempt that brought it, 0 for what was listed, and `latest` that of what it stands for now.
    """

    seq: int
    at: datetime
    session: int
    collection: str
    kind: str
    key: str
    parent: int | None
    owner: str
    fetch: int
    digest: str
    member: str
    size: int | None
    md5: str
    rank: str
    phase: int
    status: Status
    reason: Reason | None
    latest: int


class DueRow(NamedTuple):
    """An item in a state, with the capture it lies in: its digest, size and source, empty for none."""

    item: int
    key: str
    parent: int | None
    rank: str
    phase: int
    status: Status
    fetch: int
    digest: str
    member: str
    owner: str
    reason: Reason | None
    since: int
    capture: str
    size: int | None
    source: str


class ItemStanding(NamedTuple):
    """Where an item stands, and its latest fetch."""

    phase: int
    status: Status
    fetch: int

    @property
    def state(self) -> tuple[int, Status]:
        """Its phase and status."""
        return self.phase, self.status


class ListedItem(NamedTuple):
    """A listed item and where it stands."""

    item: int
    key: str
    phase: int
    status: Status
    fetch: int


class ChildState(NamedTuple):
    """A document, and where it stands."""

    item: int
    phase: int
    status: Status


class ChildCount(NamedTuple):
    """How many children of a parent stand somewhere."""

    parent: int
    phase: int
    status: Status
    number: int


class ChildRow(NamedTuple):
    """A document that an item holds; `fetch` is the attempt that brought it."""

    item: int
    key: str
    kind: str
    phase: int
    status: Status
    reason: Reason | None
    owner: str
    fetch: int


class FetchedStanding(NamedTuple):
    """Where something stands that a fetch brought or that was fetched."""

    item: int
    key: str
    fetch: int
    phase: int
    status: Status
    reason: Reason | None


class ItemCount(NamedTuple):
    """How many items of a kind stand somewhere."""

    collection: str
    kind: str
    phase: int
    status: Status
    number: int


class TrackedCount(NamedTuple):
    """How many items of a kind the books show somewhere."""

    kind: str
    phase: int
    status: int
    number: int


class MoveCount(NamedTuple):
    """How many items of a kind came to rest somewhere, for a reason."""

    collection: str
    kind: str
    phase: int
    status: Status
    reason: Reason | None
    number: int


class FindingCountRow(NamedTuple):
    """How often something was found."""

    kind: str
    level: str
    number: int


class ReasonCountRow(NamedTuple):
    """How many did not go on for a reason."""

    reason: Reason
    number: int


class ReadingRow(NamedTuple):
    """What a step made of an item's bytes."""

    seq: int
    at: datetime
    session: int
    step: str
    version: str
    digest: str
    reason: Reason | None
    number: int


class KnownReading(NamedTuple):
    """What a step made of bytes before, with the item it read then."""

    seq: int
    item: int
    reason: Reason | None
    number: int
    md5: str


class LoadedRow(NamedTuple):
    """How many rows a step made of a document."""

    item: int
    key: str
    number: int


class FindingRow(NamedTuple):
    """Something found in an item."""

    seq: int
    at: datetime
    session: int
    phase: int
    kind: str
    level: Level
    message: str
    line: int | None
    column: int | None


class MoveRow(NamedTuple):
    """A state that an item came to."""

    seq: int
    at: datetime
    session: int
    phase: int
    status: Status
    reason: Reason | None
    message: str


class WrongStanding(NamedTuple):
    """An item that stands elsewhere than its last move says."""

    item: int
    phase: int
    status: int
    moved_phase: int
    moved_status: int


class _FindingValue(NamedTuple):
    kind: str
    level: Level
    message: str
    line: int | None
    column: int | None


class ItemQueries:
    """What is asked of items."""

    def __init__(self, database: LedgerDatabase) -> None:
        """Ask this database."""
        self._database = database

    def get(self, item: int) -> ItemRow | None:
        """Return an item, None where there is none of this number."""
        return self._database.first(ItemRow, "item", item)

    def by_key(self, collection: str, kind: str, keys: Sequence[str]) -> dict[str, int]:
        """Return the numbers of listed items, by their keys."""
        found = self._database.rows_of(ItemKey, "items_by_key", keys, collection, kind)
        return {one.key: one.item for one in found}

    def listed(self, collection: str, kind: str, keys: Sequence[str]) -> Iterator[ListedItem]:
        """Yield listed items of these keys."""
        return self._database.rows_of(ListedItem, "items_listed", keys, collection, kind)

    def due(
        self, collection: str, kind: str, state: tuple[int, Status], after: tuple[str, int], limit: int
    ) -> list[DueRow]:
        """Return items in one state, in the order of work: rank and number, after a given one."""
        phase, status = state
        return self._database.rows(DueRow, "items_due", collection, kind, phase, int(status), *after, limit)

    def count_due(self, collection: str, kind: str, state: tuple[int, Status]) -> int:
        """Count the items in one state."""
        phase, status = state
        return int(self._database.value("items_due_count", collection, kind, phase, int(status)))

    def standing(self, item: int) -> ItemStanding | None:
        """Return where an item stands."""
        return self._database.first(ItemStanding, "item_standing", item)

    def states(self, items: Sequence[int]) -> dict[int, tuple[int, Status]]:
        """Return phase and status of each item."""
        found = self._database.rows_of(ChildState, "item_standings", items)
        return {one.item: (one.phase, one.status) for one in found}

    def by_state(self) -> list[ItemCount]:
        """Count the items of all collections by where they stand."""
        return self._database.rows(ItemCount, "items_by_state")

    def by_reason(self) -> list[ReasonCountRow]:
        """Count why items do not go on; a reason may occur twice."""
        return self._database.rows(ReasonCountRow, "items_by_reason")

    def tracked(self, collection: str) -> list[TrackedCount]:
        """Count a collection's items by where its books show them."""
        return self._database.rows(TrackedCount, "items_tracked", collection)

    def keys_by_status(
        self, collection: str, kind: str, statuses: tuple[Status, Status], source: str, reason: str
    ) -> list[str]:
        """Return the keys of items in either status, of a source and with a reason; empty means any."""
        values = (collection, kind, *map(int, statuses), source, reason)
        return self._database.column("item_keys_by_status", *values)

    def children(self, item: int) -> list[ChildRow]:
        """Return the documents that an item's fetches brought, in the order of fetches and work."""
        return self._database.rows(ChildRow, "item_children", item)

    def children_of_fetch(self, item: int, fetch: int) -> list[ChildState]:
        """Return the documents that one fetch of an item brought."""
        return self._database.rows(ChildState, "children_of_fetch", item, fetch)

    def children_by_state(self, parents: Sequence[int]) -> Iterator[ChildCount]:
        """Count what the latest fetch of each parent brought, by where it stands."""
        return self._database.rows_of(ChildCount, "children_by_state", parents)

    def of_fetch(self, collection: str, key: str, fetch: int) -> int | None:
        """Return the number of a document by its key and the fetch that brought it."""
        found: int | None = self._database.value("item_of_fetch", collection, key, fetch)
        return found

    def standing_of_fetch(self, collection: str, key: str, fetch: int) -> ChildState | None:
        """Return where a document stands, by its key and the fetch that brought it."""
        return self._database.first(ChildState, "standing_of_fetch", collection, key, fetch)

    def fetched(self, collection: str) -> list[FetchedStanding]:
        """Return where everything stands that a fetch brought or that was fetched."""
        return self._database.rows(FetchedStanding, "standings_fetched", collection)

    def named(self, keys: Sequence[str]) -> list[ItemKey]:
        """Return items of any collection by their keys."""
        return [*self._database.rows_of(ItemKey, "items_named", keys)]

    def by_tail(self, tail: str, limit: int) -> list[ItemKey]:
        """Return items whose key ends in a text."""
        return self._database.rows(ItemKey, "items_by_tail", tail, limit)

    def by_owner(self, owner: str, limit: int) -> list[ItemKey]:
        """Return items of an owner, in upper or lower case."""
        return self._database.rows(ItemKey, "items_by_owner", owner, limit)

    def count_by_owner(self, owner: str) -> int:
        """Count the items of an owner."""
        return int(self._database.value("items_by_owner_count", owner))

    def by_address(self, address: str) -> list[ItemKey]:
        """Return items that were fetched from an address."""
        return self._database.rows(ItemKey, "items_by_address", address)

    def by_path(self, source: str, path: str) -> list[ItemKey]:
        """Return items that a source offers or offered at a path."""
        return self._database.rows(ItemKey, "items_by_path", source, path)

    def of_attempt(self, attempt: int) -> list[int]:
        """Return the numbers of items by the number of an attempt to get them, or of its end."""
        return self._database.column("item_of_attempt", attempt)

    def leaving_out(self, name: str, limit: int) -> list[ItemKey]:
        """Return items in which a member was left out by rule; `name` is how the finding's message begins."""
        return self._database.rows(ItemKey, "items_leaving_out", name, limit)

    def reading(self, digest: str, step: str, version: str) -> KnownReading | None:
        """Return what a step of a version made of these bytes before."""
        return self._database.first(KnownReading, "reading_known", digest, step, version)

    def readings(self, item: int) -> list[ReadingRow]:
        """Return what steps made of an item, in order."""
        return self._database.rows(ReadingRow, "item_readings", item)

    def loaded(self, step: str, collection: str) -> list[LoadedRow]:
        """Return how many rows a step made of each document since the store was last made anew."""
        return self._database.rows(LoadedRow, "readings_loaded", step, collection)

    def findings(self, item: int) -> list[FindingRow]:
        """Return what was found in an item, in order."""
        return self._database.rows(FindingRow, "item_findings", item)

    def findings_in_phase(self, item: int, phase: int) -> list[Finding]:
        """Return what was found in an item in one phase, in order."""
        found = self._database.rows(_FindingValue, "item_findings_in_phase", item, phase)
        return [Finding(one.kind, one.message, one.level, one.line, one.column) for one in found]

    def moves(self, item: int) -> list[MoveRow]:
        """Return where an item came to, in order."""
        return self._database.rows(MoveRow, "item_moves", item)

    def moved_between(self, span: tuple[int, int]) -> list[MoveCount]:
        """Count where items came to rest between two facts."""
        return self._database.rows(MoveCount, "session_moves", *span)

    def found_between(self, span: tuple[int, int]) -> list[FindingCountRow]:
        """Count what was found between two facts, the most frequent first."""
        return self._database.rows(FindingCountRow, "session_findings", *span)

    def wrong(self) -> Iterator[WrongStanding]:
        """Yield items that stand elsewhere than their last move says."""
        return self._database.stream(WrongStanding, "standings_wrong")


class ItemWriter:
    """What is written of items."""

    def __init__(self, batch: LedgerBatch) -> None:
        """Gather with the other parts of a writer."""
        self._batch = batch

    def add(
        self, session: int, collection: str, kind: str, key: str, *, rank: str = "", owner: str = "",
        parent: int | None = None, fetch: int = 0, member: Member | None = None,
        size: int | None = None, state: tuple[int, Status] = (1, Status.PENDING),
        reason: Reason | None = None,
    ) -> int:  # fmt: skip
        """Put a thing on record with its first state."""
        digest, name, md5 = (member.digest, member.name, member.md5) if member else ("", "", "")
        size = member.size if member else size
        values = (collection, kind, key, parent, owner, fetch, digest, name, size, md5, rank)
        item = self._batch.fact("item", session, *values)
        self._batch.row("standing", item, collection, kind, parent, fetch, rank, *state, reason, item)
        self._batch.fact("move", session, item, *state, reason, "")
        return item

    def read(self, session: int, item: int, step: tuple[str, str], digest: str, reading: Reading) -> int:
        """Note what a step (its phase and version) made of a document."""
        made = (reading.reason, reading.count, reading.md5)
        return self._batch.fact("reading", session, item, *step, digest, *made)

    def move(
        self, session: int, item: int, state: tuple[int, Status], reason: Reason | None = None, message: str = ""
    ) -> int:
        """Move an item to a state."""
        seq = self._batch.fact("move", session, item, *state, reason, message)
        self._batch.row("moved", *state, reason, seq, item)
        return seq

    def stands_for(self, item: int, fetch: int) -> None:
        """Let an item be what an attempt of its brought, at once."""
        self._batch.flush()
        self._batch.database.execute("standing_fetched", fetch, item)

    def find(self, session: int, item: int, phase: int, findings: Iterable[Finding]) -> None:
        """Put findings on record."""
        for one in findings:
            self._batch.fact(
                "finding", session, item, phase, one.kind, one.level, one.message, one.line, one.column
            )  # fmt: skip
