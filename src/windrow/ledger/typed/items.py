"""Written by `make queries` from items.sql: change that, and run it again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse
from windrow.ledger.database import LedgerQueries
from windrow.ledger.rows import ItemKey, ItemStanding, finding
from windrow.model import Finding, Level, Status
from windrow.reasons import Reason


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


class ChildState(NamedTuple):
    """A row of `standings`."""

    item: int
    phase: int
    status: Status


class ItemCount(NamedTuple):
    """A row of `by_state`."""

    collection: str
    kind: str
    phase: int
    status: Status
    number: int


class ChildCount(NamedTuple):
    """A row of `children_by_state`."""

    parent: int
    phase: int
    status: Status
    number: int


class KnownReading(NamedTuple):
    """What a step made of bytes before, with the item it read then."""

    seq: int
    item: int
    reason: Reason | None
    number: int
    md5: str


class ListedItem(NamedTuple):
    """A row of `listed`."""

    item: int
    key: str
    phase: int
    status: Status
    fetch: int


class FetchedStanding(NamedTuple):
    """A row of `fetched`."""

    item: int
    key: str
    fetch: int
    phase: int
    status: Status
    reason: Reason | None


class TrackedCount(NamedTuple):
    """A row of `tracked`."""

    kind: str
    phase: int
    status: int
    number: int


class LoadedRow(NamedTuple):
    """A row of `loaded`."""

    item: int
    key: str
    number: int


class MoveCount(NamedTuple):
    """A row of `moved_between`."""

    collection: str
    kind: str
    phase: int
    status: Status
    reason: Reason | None
    number: int


class FindingCountRow(NamedTuple):
    """A row of `found_between`."""

    kind: str
    level: Level
    number: int


class ReasonCountRow(NamedTuple):
    """A row of `by_reason`."""

    reason: Reason
    number: int


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


class ReadingRow(NamedTuple):
    """A row of `readings`."""

    seq: int
    at: datetime
    session: int
    step: str
    version: str
    digest: str
    reason: Reason | None
    number: int


class FindingRow(NamedTuple):
    """A row of `findings`."""

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
    """A row of `moves`."""

    seq: int
    at: datetime
    session: int
    phase: int
    status: Status
    reason: Reason | None
    message: str


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


class ItemEvent(NamedTuple):
    """Something that changed where an item stands.

    `event` is attempt, end (of an attempt), start (of a step), reading or decision; `reason` says why the attempt or
    the reading failed, or is what was decided; `checksum` is empty where no checksum beside the file was compared.
    """

    item: int
    seq: int
    event: str
    step: str
    reason: Reason | None
    checksum: str


class SeenItem(NamedTuple):
    """An item, and why its name was refused.

    `file` is that which it lies in, None for a listed file, and `attempt` the one that brought it.
    """

    item: int
    kind: str
    file: int | None
    attempt: int
    reason: Reason | None


class WrongStanding(NamedTuple):
    """A row of `wrong`."""

    item: int
    phase: int
    status: int
    moved_phase: int
    moved_status: int


def _make_due_row(row: tuple[Any, ...]) -> DueRow:
    item, key, parent, rank, phase, status, fetch, digest, member, owner, reason, since, capture, size, source = row
    return DueRow(
        item,
        key,
        parent,
        rank,
        phase,
        Status(status),
        fetch,
        digest,
        member,
        owner,
        None if reason is None else Reason(reason),
        since,
        capture,
        size,
        source,
    )


def _make_child_state(row: tuple[Any, ...]) -> ChildState:
    item, phase, status = row
    return ChildState(item, phase, Status(status))


def _make_item_standing(row: tuple[Any, ...]) -> ItemStanding:
    phase, status, fetch = row
    return ItemStanding(phase, Status(status), fetch)


def _make_item_count(row: tuple[Any, ...]) -> ItemCount:
    collection, kind, phase, status, number = row
    return ItemCount(collection, kind, phase, Status(status), number)


def _make_child_count(row: tuple[Any, ...]) -> ChildCount:
    parent, phase, status, number = row
    return ChildCount(parent, phase, Status(status), number)


def _make_known_reading(row: tuple[Any, ...]) -> KnownReading:
    seq, item, reason, number, md5 = row
    return KnownReading(seq, item, None if reason is None else Reason(reason), number, md5)


def _make_listed_item(row: tuple[Any, ...]) -> ListedItem:
    item, key, phase, status, fetch = row
    return ListedItem(item, key, phase, Status(status), fetch)


def _make_fetched_standing(row: tuple[Any, ...]) -> FetchedStanding:
    item, key, fetch, phase, status, reason = row
    return FetchedStanding(item, key, fetch, phase, Status(status), None if reason is None else Reason(reason))


def _make_move_count(row: tuple[Any, ...]) -> MoveCount:
    collection, kind, phase, status, reason, number = row
    return MoveCount(collection, kind, phase, Status(status), None if reason is None else Reason(reason), number)


def _make_finding_count_row(row: tuple[Any, ...]) -> FindingCountRow:
    kind, level, number = row
    return FindingCountRow(kind, Level(level), number)


def _make_reason_count_row(row: tuple[Any, ...]) -> ReasonCountRow:
    reason, number = row
    return ReasonCountRow(Reason(reason), number)


def _make_item_row(row: tuple[Any, ...]) -> ItemRow:
    (
        seq,
        at,
        session,
        collection,
        kind,
        key,
        parent,
        owner,
        fetch,
        digest,
        member,
        size,
        md5,
        rank,
        phase,
        status,
        reason,
        latest,
    ) = row
    return ItemRow(
        seq,
        parse(at),
        session,
        collection,
        kind,
        key,
        parent,
        owner,
        fetch,
        digest,
        member,
        size,
        md5,
        rank,
        phase,
        Status(status),
        None if reason is None else Reason(reason),
        latest,
    )


def _make_reading_row(row: tuple[Any, ...]) -> ReadingRow:
    seq, at, session, step, version, digest, reason, number = row
    return ReadingRow(
        seq, parse(at), session, step, version, digest, None if reason is None else Reason(reason), number
    )


def _make_finding_row(row: tuple[Any, ...]) -> FindingRow:
    seq, at, session, phase, kind, level, message, line, column = row
    return FindingRow(seq, parse(at), session, phase, kind, Level(level), message, line, column)


def _make_move_row(row: tuple[Any, ...]) -> MoveRow:
    seq, at, session, phase, status, reason, message = row
    return MoveRow(seq, parse(at), session, phase, Status(status), None if reason is None else Reason(reason), message)


def _make_child_row(row: tuple[Any, ...]) -> ChildRow:
    item, key, kind, phase, status, reason, owner, fetch = row
    return ChildRow(item, key, kind, phase, Status(status), None if reason is None else Reason(reason), owner, fetch)


def _make_item_event(row: tuple[Any, ...]) -> ItemEvent:
    item, seq, event, step, reason, checksum = row
    return ItemEvent(item, seq, event, step, None if reason is None else Reason(reason), checksum)


def _make_seen_item(row: tuple[Any, ...]) -> SeenItem:
    item, kind, file, attempt, reason = row
    return SeenItem(item, kind, file, attempt, None if reason is None else Reason(reason))


class TypedItems(LedgerQueries):
    """The queries of items.sql."""

    def by_key(self, collection: str, kind: str, keys: Sequence[str]) -> dict[str, int]:
        """Return the numbers of listed items, by their keys."""
        return dict(self._database.rows(tuple, "items.by_key", collection, kind, json.dumps([*keys])))

    def due(
        self, collection: str, kind: str, state: tuple[int, Status], after: tuple[str, int], limit: int
    ) -> list[DueRow]:
        """Return items in one state, in the order of work: rank and number, after a given one."""
        return self._database.rows(
            _make_due_row, "items.due", collection, kind, state[0], state[1], after[0], after[1], limit
        )

    def count_due(self, collection: str, kind: str, state: tuple[int, Status]) -> int:
        """Count the items in one state."""
        value: int = self._database.value("items.count_due", collection, kind, state[0], state[1])
        return value

    def standings(self, items: Sequence[int]) -> list[ChildState]:
        """Return where items stand."""
        return self._database.rows(_make_child_state, "items.standings", json.dumps([*items]))

    def standing(self, item: int) -> ItemStanding | None:
        """Return where an item stands."""
        return self._database.first(_make_item_standing, "items.standing", item)

    def by_state(self) -> list[ItemCount]:
        """Count the items of all collections by where they stand; of documents those that the latest fetch brought."""
        return self._database.rows(_make_item_count, "items.by_state")

    def children_by_state(self, parents: Sequence[int]) -> list[ChildCount]:
        """Count what the latest fetch of each parent brought, by where it stands."""
        return self._database.rows(_make_child_count, "items.children_by_state", json.dumps([*parents]))

    def reading(self, digest: str, step: str, version: str) -> KnownReading | None:
        """Return what a step of a version made of these bytes before."""
        return self._database.first(_make_known_reading, "items.reading", digest, step, version)

    def findings_in_phase(self, item: int, phase: int) -> list[Finding]:
        """Return what was found in an item in one phase, in order."""
        return self._database.rows(finding, "items.findings_in_phase", item, phase)

    def listed(self, collection: str, kind: str, keys: Sequence[str]) -> list[ListedItem]:
        """Return listed items of these keys, and where they stand."""
        return self._database.rows(_make_listed_item, "items.listed", collection, kind, json.dumps([*keys]))

    def children_of_fetch(self, item: int, fetch: int) -> list[ChildState]:
        """Return the documents that one fetch of an item brought."""
        return self._database.rows(_make_child_state, "items.children_of_fetch", item, fetch)

    def of_fetch(self, collection: str, key: str, fetch: int) -> int | None:
        """Return the number of a document by its key and the fetch that brought it."""
        value: int | None = self._database.value("items.of_fetch", collection, key, fetch)
        return value

    def fetched(self, collection: str) -> list[FetchedStanding]:
        """Return where everything stands that a fetch brought or that was fetched."""
        return self._database.rows(_make_fetched_standing, "items.fetched", collection)

    def standing_of_fetch(self, collection: str, key: str, fetch: int) -> ChildState | None:
        """Return where a document stands, by its key and the fetch that brought it."""
        return self._database.first(_make_child_state, "items.standing_of_fetch", collection, key, fetch)

    def tracked(self, collection: str) -> list[TrackedCount]:
        """Count a collection's items by where its books show them.

        One that waits to be fetched again still shows what became of its latest fetch, and a member whose name no table
        can hold is not there.
        """
        return self._database.rows(TrackedCount._make, "items.tracked", collection)

    def loaded(self, step: str, collection: str) -> list[LoadedRow]:
        """Return how many rows a step made of each document since the store was last made anew."""
        return self._database.rows(LoadedRow._make, "items.loaded", step, collection)

    def moved_between(self, span: tuple[int, int]) -> list[MoveCount]:
        """Count where items came to rest between two facts, each once for each state and reason."""
        return self._database.rows(_make_move_count, "items.moved_between", span[0], span[1])

    def found_between(self, span: tuple[int, int]) -> list[FindingCountRow]:
        """Count what was found between two facts, the most frequent first."""
        return self._database.rows(_make_finding_count_row, "items.found_between", span[0], span[1])

    def by_reason(self) -> list[ReasonCountRow]:
        """Count why items do not go on: parents follow their children. A reason may occur twice."""
        return self._database.rows(_make_reason_count_row, "items.by_reason")

    def get(self, item: int) -> ItemRow | None:
        """Return an item, None where there is none of this number."""
        return self._database.first(_make_item_row, "items.get", item)

    def named(self, keys: Sequence[str]) -> list[ItemKey]:
        """Return items of any collection by their keys."""
        return self._database.rows(ItemKey._make, "items.named", json.dumps([*keys]))

    def by_tail(self, tail: str, limit: int) -> list[ItemKey]:
        """Return items whose key, or path at a source, ends in a text."""
        return self._database.rows(ItemKey._make, "items.by_tail", tail, limit)

    def by_owner(self, owner: str, limit: int) -> list[ItemKey]:
        """Return items of an owner, in upper or lower case."""
        return self._database.rows(ItemKey._make, "items.by_owner", owner, limit)

    def count_by_owner(self, owner: str) -> int:
        """Count the items of an owner."""
        value: int = self._database.value("items.count_by_owner", owner)
        return value

    def by_address(self, address: str) -> list[ItemKey]:
        """Return items that were fetched from an address."""
        return self._database.rows(ItemKey._make, "items.by_address", address)

    def by_path(self, source: str, path: str) -> list[ItemKey]:
        """Return items that a source offers or offered at a path."""
        return self._database.rows(ItemKey._make, "items.by_path", source, path)

    def of_attempt(self, attempt: int) -> list[int]:
        """Return the numbers of items by the number of an attempt to get them, or of its end."""
        return self._database.column("items.of_attempt", attempt)

    def leaving_out(self, name: str, limit: int) -> list[ItemKey]:
        """Return items in which a member was left out by rule; `name` is how the finding's message begins."""
        return self._database.rows(ItemKey._make, "items.leaving_out", name, limit)

    def readings(self, item: int) -> list[ReadingRow]:
        """Return what steps made of an item, in order."""
        return self._database.rows(_make_reading_row, "items.readings", item)

    def findings(self, item: int) -> list[FindingRow]:
        """Return what was found in an item, in order."""
        return self._database.rows(_make_finding_row, "items.findings", item)

    def moves(self, item: int) -> list[MoveRow]:
        """Return where an item came to, in order."""
        return self._database.rows(_make_move_row, "items.moves", item)

    def children(self, item: int) -> list[ChildRow]:
        """Return the documents that an item's fetches brought, in the order of fetches and work."""
        return self._database.rows(_make_child_row, "items.children", item)

    def keys_by_status(
        self, collection: str, kind: str, statuses: tuple[Status, Status], source: str, reason: str
    ) -> list[str]:
        """Return the keys of items in either status, of a source and with a reason; empty means any.

        The reason may be that of one of their children.
        """
        return self._database.column("items.keys_by_status", collection, kind, statuses[0], statuses[1], source, reason)

    def events(self, items: Sequence[int]) -> list[ItemEvent]:
        """Return what changed where items stand, for each in order."""
        return self._database.rows(_make_item_event, "items.events", json.dumps([*items]))

    def seen(self, collection: str) -> list[SeenItem]:
        """Return the items of a collection."""
        return self._database.rows(_make_seen_item, "items.seen", collection)

    def wrong(self) -> Iterator[WrongStanding]:
        """Yield items that stand elsewhere than their last move says."""
        return self._database.stream(WrongStanding._make, "items.wrong")
