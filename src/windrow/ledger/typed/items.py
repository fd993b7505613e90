"""Written by `make queries` from items.sql: change that, and run it again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse
from windrow.ledger.database import LedgerQueries
from windrow.ledger.rows import ItemKey, finding
from windrow.model import Finding, Level, Status
from windrow.reasons import Reason


class DueRow(NamedTuple):
    """An item that waits for a step or failed at it.

    With the capture it lies in: its digest, size and source, empty for none.
    """

    item: int
    kind: str
    key: str
    parent: int | None
    rank: str
    attempt: int
    digest: str
    member: str
    owner: str
    reason: Reason | None
    since: int
    capture: str
    size: int | None
    source: str


class PendingStep(NamedTuple):
    """The step that an item waits for, failed at, or was ended before."""

    item: int
    step: str
    status: Status
    reason: Reason | None
    since: int


class KnownReading(NamedTuple):
    """What a step made of bytes before, with the item it read then."""

    seq: int
    item: int
    reason: Reason | None
    number: int
    md5: str


class ListedItem(NamedTuple):
    """A listed item, and the latest attempt to get it, 0 for none."""

    item: int
    key: str
    attempt: int


class BroughtItem(NamedTuple):
    """A row of `read_items`."""

    item: int
    key: str
    fetch: int


class LoadedRow(NamedTuple):
    """A row of `loaded`."""

    item: int
    key: str
    number: int


class StepCount(NamedTuple):
    """How many items of a kind a step ended for in one way."""

    collection: str
    kind: str
    step: str
    reason: Reason | None
    number: int


class ArrivalCount(NamedTuple):
    """How many files were fetched, or not for a reason; `compared` with a checksum that lies beside them."""

    reason: Reason | None
    compared: bool
    number: int


class NamedCount(NamedTuple):
    """How many items of a kind have a good name, or one that was refused for a reason."""

    kind: str
    reason: Reason | None
    number: int


class PassedCount(NamedTuple):
    """How many files have documents that all `passed` a step, or of which one failed.

    It `failed` there where none did before. The step is empty for their names.
    """

    step: str
    passed: bool
    failed: bool
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
    """An item, with the step that it waits for, failed at or was ended before; None where it is through.

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
    step: str | None
    status: Status | None
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


class DecisionRow(NamedTuple):
    """What was decided of an item."""

    seq: int
    at: datetime
    session: int
    act: Reason
    message: str


class StartRow(NamedTuple):
    """A step that was begun for an item and has not ended: it is under way, or was cut."""

    seq: int
    at: datetime
    session: int
    step: str


class ChildRow(NamedTuple):
    """A document that an item holds, and why it does not go on."""

    item: int
    key: str
    kind: str
    owner: str
    reason: Reason | None


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

    `file` is that which it lies in, None for a listed file, and `attempt` the one that brought it; `step` and `status`
    are of the step that it waits for, failed at or was ended before, None for what is through.
    """

    item: int
    kind: str
    file: int | None
    attempt: int
    reason: Reason | None
    step: str | None
    status: Status | None
    started: bool


class MemberCount(NamedTuple):
    """How many documents that an attempt brought stand alike.

    `step` is what they wait for, failed at or were ended before, None for those that are through; `started` where it
    was begun for them meanwhile.
    """

    file: int
    attempt: int
    step: str | None
    status: Status | None
    started: bool
    number: int


class KindCount(NamedTuple):
    """How many items of a kind wait for a step, failed at it or were ended before it.

    The step is None for those that are through.
    """

    collection: str
    kind: str
    step: str | None
    status: Status | None
    number: int


def _make_due_row(row: tuple[Any, ...]) -> DueRow:
    item, kind, key, parent, rank, attempt, digest, member, owner, reason, since, capture, size, source = row
    return DueRow(
        item,
        kind,
        key,
        parent,
        rank,
        attempt,
        digest,
        member,
        owner,
        None if reason is None else Reason(reason),
        since,
        capture,
        size,
        source,
    )


def _make_pending_step(row: tuple[Any, ...]) -> PendingStep:
    item, step, status, reason, since = row
    return PendingStep(item, step, Status(status), None if reason is None else Reason(reason), since)


def _make_known_reading(row: tuple[Any, ...]) -> KnownReading:
    seq, item, reason, number, md5 = row
    return KnownReading(seq, item, None if reason is None else Reason(reason), number, md5)


def _make_step_count(row: tuple[Any, ...]) -> StepCount:
    collection, kind, step, reason, number = row
    return StepCount(collection, kind, step, None if reason is None else Reason(reason), number)


def _make_arrival_count(row: tuple[Any, ...]) -> ArrivalCount:
    reason, compared, number = row
    return ArrivalCount(None if reason is None else Reason(reason), bool(compared), number)


def _make_named_count(row: tuple[Any, ...]) -> NamedCount:
    kind, reason, number = row
    return NamedCount(kind, None if reason is None else Reason(reason), number)


def _make_passed_count(row: tuple[Any, ...]) -> PassedCount:
    step, passed, failed, number = row
    return PassedCount(step, bool(passed), bool(failed), number)


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
        step,
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
        step,
        None if status is None else Status(status),
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


def _make_decision_row(row: tuple[Any, ...]) -> DecisionRow:
    seq, at, session, act, message = row
    return DecisionRow(seq, parse(at), session, Reason(act), message)


def _make_start_row(row: tuple[Any, ...]) -> StartRow:
    seq, at, session, step = row
    return StartRow(seq, parse(at), session, step)


def _make_child_row(row: tuple[Any, ...]) -> ChildRow:
    item, key, kind, owner, reason = row
    return ChildRow(item, key, kind, owner, None if reason is None else Reason(reason))


def _make_item_event(row: tuple[Any, ...]) -> ItemEvent:
    item, seq, event, step, reason, checksum = row
    return ItemEvent(item, seq, event, step, None if reason is None else Reason(reason), checksum)


def _make_seen_item(row: tuple[Any, ...]) -> SeenItem:
    item, kind, file, attempt, reason, step, status, started = row
    return SeenItem(
        item,
        kind,
        file,
        attempt,
        None if reason is None else Reason(reason),
        step,
        None if status is None else Status(status),
        bool(started),
    )


def _make_member_count(row: tuple[Any, ...]) -> MemberCount:
    file, attempt, step, status, started, number = row
    return MemberCount(file, attempt, step, None if status is None else Status(status), bool(started), number)


def _make_kind_count(row: tuple[Any, ...]) -> KindCount:
    collection, kind, step, status, number = row
    return KindCount(collection, kind, step, None if status is None else Status(status), number)


class TypedItems(LedgerQueries):
    """The queries of items.sql."""

    def by_key(self, collection: str, kind: str, keys: Sequence[str]) -> dict[str, int]:
        """Return the numbers of listed items, by their keys."""
        return dict(self._database.rows(tuple, "items.by_key", collection, kind, json.dumps([*keys])))

    def due(self, collection: str, step: str, status: Status, after: tuple[str, int], limit: int) -> list[DueRow]:
        """Return items that wait for a step, or failed at it, in the order of work, after a given rank and number."""
        return self._database.rows(_make_due_row, "items.due", collection, step, status, after[0], after[1], limit)

    def count_due(self, collection: str) -> dict[str, int]:
        """Count the items of a collection that wait for each step."""
        return dict(self._database.rows(tuple, "items.count_due", collection))

    def pending(self, item: int) -> PendingStep | None:
        """Return the step that an item waits for, failed at or was ended before; None where it is through."""
        return self._database.first(_make_pending_step, "items.pending", item)

    def refused(self, items: Sequence[int]) -> set[int]:
        """Return those of some items whose names are refused."""
        return {*self._database.column("items.refused", json.dumps([*items]))}

    def reading(self, digest: str, step: str, version: str) -> KnownReading | None:
        """Return what a step of a version made of these bytes before."""
        return self._database.first(_make_known_reading, "items.reading", digest, step, version)

    def findings_in_phase(self, item: int, phase: int) -> list[Finding]:
        """Return what was found in an item in one phase, in order."""
        return self._database.rows(finding, "items.findings_in_phase", item, phase)

    def listed(self, collection: str, kind: str, keys: Sequence[str]) -> list[ListedItem]:
        """Return listed items of these keys."""
        return self._database.rows(ListedItem._make, "items.listed", collection, kind, json.dumps([*keys]))

    def pending_of(self, item: int, attempt: int) -> list[PendingStep]:
        """Return the steps that the documents which an attempt brought wait for, failed at, or were ended before."""
        return self._database.rows(_make_pending_step, "items.pending_of", item, attempt)

    def of_fetch(self, collection: str, key: str, fetch: int) -> int | None:
        """Return the number of a document by its key and the fetch that brought it."""
        value: int | None = self._database.value("items.of_fetch", collection, key, fetch)
        return value

    def read_items(self, collection: str) -> list[BroughtItem]:
        """Return the documents that attempts brought, and the files of which steps made something."""
        return self._database.rows(BroughtItem._make, "items.read_items", collection)

    def loaded(self, step: str, collection: str) -> list[LoadedRow]:
        """Return how many rows a step made of each document since the store was last made anew."""
        return self._database.rows(LoadedRow._make, "items.loaded", step, collection)

    def read_between(self, span: tuple[int, int]) -> list[StepCount]:
        """Count what steps made of items between two facts, each once for each step and reason."""
        return self._database.rows(_make_step_count, "items.read_between", span[0], span[1])

    def fetched_between(self, collection: str, span: tuple[int, int]) -> list[ArrivalCount]:
        """Count what came of attempts to get files between two facts, each file once for each reason."""
        return self._database.rows(_make_arrival_count, "items.fetched_between", span[0], span[1], collection)

    def named_between(self, collection: str, span: tuple[int, int]) -> list[NamedCount]:
        """Count the items that were seen first between two facts."""
        return self._database.rows(_make_named_count, "items.named_between", span[0], span[1], collection)

    def ended_between(self, collection: str, span: tuple[int, int]) -> dict[int, str]:
        """Return the items of which something was decided between two facts, and what."""
        return dict(self._database.rows(tuple, "items.ended_between", span[0], span[1], collection))

    def passed_between(self, collection: str, span: tuple[int, int]) -> list[PassedCount]:
        """Count the files of whose documents a step took some between two facts."""
        return self._database.rows(_make_passed_count, "items.passed_between", span[1], span[0], collection)

    def found_between(self, span: tuple[int, int]) -> list[FindingCountRow]:
        """Count what was found between two facts, the most frequent first."""
        return self._database.rows(_make_finding_count_row, "items.found_between", span[0], span[1])

    def by_reason(self) -> list[ReasonCountRow]:
        """Count why items do not go on; of documents those of the latest attempt. A reason may occur twice."""
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

    def decisions(self, item: int) -> list[DecisionRow]:
        """Return what was decided of an item, in order."""
        return self._database.rows(_make_decision_row, "items.decisions", item)

    def unended(self, item: int) -> StartRow | None:
        """Return the step that was begun for an item and has not ended."""
        return self._database.first(_make_start_row, "items.unended", item)

    def children(self, item: int, attempt: int) -> list[ChildRow]:
        """Return the documents that an attempt to get an item brought, in the order of work."""
        return self._database.rows(_make_child_row, "items.children", item, attempt)

    def keys_by_status(
        self, collection: str, kind: str, statuses: tuple[Status, Status], source: str, reason: str
    ) -> list[str]:
        """Return the keys of files in either status, of a source and with a reason; empty means any.

        A file that waits for nothing is what one of its latest documents is.
        """
        return self._database.column("items.keys_by_status", collection, kind, source, statuses[0], statuses[1], reason)

    def events(self, items: Sequence[int]) -> list[ItemEvent]:
        """Return what changed where items stand, for each in order."""
        return self._database.rows(_make_item_event, "items.events", json.dumps([*items]))

    def seen(self, items: Sequence[int]) -> list[SeenItem]:
        """Return items with the steps that they wait for."""
        return self._database.rows(_make_seen_item, "items.seen", json.dumps([*items]))

    def numbers(self, collection: str, kind: str) -> list[int]:
        """Return the numbers of the items of a kind."""
        return self._database.column("items.numbers", collection, kind)

    def count_named(self, collection: str, reasons: Iterable[str]) -> int:
        """Count the documents whose names were refused for one of some reasons."""
        value: int = self._database.value("items.count_named", collection, json.dumps([*reasons]))
        return value

    def count_members(self, files: Sequence[int]) -> list[MemberCount]:
        """Count the documents of each attempt to get files by the step that they wait for."""
        return self._database.rows(_make_member_count, "items.count_members", json.dumps([*files]))

    def members(self, file: int) -> list[int]:
        """Return the documents that attempts to get a file brought."""
        return self._database.column("items.members", file)

    def ended_members(self, files: Sequence[int]) -> list[int]:
        """Return the documents of files that were ended by an operator."""
        return self._database.column("items.ended_members", json.dumps([*files]))

    def by_step(self) -> list[KindCount]:
        """Count the items of all collections by the step that they wait for."""
        return self._database.rows(_make_kind_count, "items.by_step")
