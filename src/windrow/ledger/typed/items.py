"""Written by `make queries` from items.sql: change that, and run it again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.clock import parse
from windrow.ledger.database import LedgerQueries
from windrow.ledger.rows import ItemKey, finding
from windrow.model import Finding, Level, Status
from windrow.reasons import Reason


class DueRow(NamedTuple):
    """A listed file or a member that waits for a step or failed at it.

    With the capture it lies in: its digest, size and source, empty for none.
    """

    item: int
    kind: str
    key: str
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


class ReadItem(NamedTuple):
    """A row of `read_items`."""

    item: int
    key: str
    attempt: int


class StepCount(NamedTuple):
    """How many items of a kind a step ended for in one way."""

    collection: str
    kind: str
    step: str
    reason: Reason | None
    number: int


class NamedCount(NamedTuple):
    """How many items of a kind have a good name, or one that was refused for a reason."""

    kind: str
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
    """An item, with the step that it waits for, failed at or was ended before; None where it is through.

    `file` is that which a member lies in, None for others. `attempt` is the one that brought it, 0 for others, and
    `latest` that of what it stands for now.
    """

    seq: int
    at: datetime
    session: int
    collection: str
    kind: str
    key: str
    file: int | None
    owner: str
    attempt: int
    name: str
    size: int | None
    digest: str
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

    `file` is that which a member lies in, None for others, and `attempt` the one that brought it; `step` and `status`
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
    item, kind, key, rank, attempt, digest, member, owner, reason, since, capture, size, source = row
    return DueRow(
        item,
        kind,
        key,
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


def _make_named_count(row: tuple[Any, ...]) -> NamedCount:
    kind, reason, number = row
    return NamedCount(kind, None if reason is None else Reason(reason), number)


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
        file,
        owner,
        attempt,
        name,
        size,
        digest,
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
        file,
        owner,
        attempt,
        name,
        size,
        digest,
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


def _make_kind_count(row: tuple[Any, ...]) -> KindCount:
    collection, kind, step, status, number = row
    return KindCount(collection, kind, step, None if status is None else Status(status), number)


class TypedItems(LedgerQueries):
    """The queries of items.sql."""

    def due(self, collection: str, step: str, status: Status, after: tuple[str, int], limit: int) -> list[DueRow]:
        """Return items that wait for a step, or failed at it, in the order of work, after a given rank and number."""
        return self._database.rows(_make_due_row, "items.due", collection, step, status, after[0], after[1], limit)

    def count_due(self, collection: str) -> dict[str, int]:
        """Count the items of a collection that wait for each step."""
        return dict(self._database.rows(tuple, "items.count_due", collection))

    def pending(self, item: int) -> PendingStep | None:
        """Return the step that an item waits for, failed at or was ended before; None where it is through."""
        return self._database.first(_make_pending_step, "items.pending", item)

    def reading(self, digest: str, step: str, version: str) -> KnownReading | None:
        """Return what a step of a version made of these bytes before."""
        return self._database.first(_make_known_reading, "items.reading", digest, step, version)

    def findings_in_phase(self, item: int, phase: int) -> list[Finding]:
        """Return what was found in an item in one phase, in order."""
        return self._database.rows(finding, "items.findings_in_phase", item, phase)

    def number(self, collection: str, key: str, attempt: int) -> int | None:
        """Return the number of an item by its key and the attempt that brought it, 0 for a file."""
        value: int | None = self._database.value("items.number", collection, key, attempt)
        return value

    def read_items(self, collection: str) -> list[ReadItem]:
        """Return the members that attempts brought, and the files of which steps made something."""
        return self._database.rows(ReadItem._make, "items.read_items", collection)

    def read_between(self, facts: tuple[int, int]) -> list[StepCount]:
        """Count what steps made of items between two facts, each once for each step and reason."""
        return self._database.rows(_make_step_count, "items.read_between", facts[0], facts[1])

    def named_between(self, collection: str, facts: tuple[int, int]) -> list[NamedCount]:
        """Count the items that were seen first between two facts."""
        return self._database.rows(_make_named_count, "items.named_between", facts[0], facts[1], collection)

    def ended_between(self, collection: str, facts: tuple[int, int]) -> dict[int, str]:
        """Return the items of which something was decided between two facts, and what."""
        return dict(self._database.rows(tuple, "items.ended_between", facts[0], facts[1], collection))

    def found_between(self, facts: tuple[int, int]) -> list[FindingCountRow]:
        """Count what was found between two facts, the most frequent first."""
        return self._database.rows(_make_finding_count_row, "items.found_between", facts[0], facts[1])

    def by_reason(self) -> list[ReasonCountRow]:
        """Count why items do not go on; of members those of the latest attempt. A reason may occur twice."""
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

    def leaving_out(self, name: str, limit: int) -> list[ItemKey]:
        """Return files in which a member was left out by rule; `name` is how the finding's message begins."""
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

    def events(self, items: Sequence[int]) -> list[ItemEvent]:
        """Return what changed where items stand, for each in order."""
        return self._database.rows(_make_item_event, "items.events", json.dumps([*items]))

    def seen(self, items: Sequence[int]) -> list[SeenItem]:
        """Return items with the steps that they wait for."""
        return self._database.rows(_make_seen_item, "items.seen", json.dumps([*items]))

    def numbers(self, collection: str) -> list[int]:
        """Return the numbers of all items of a collection."""
        return self._database.column("items.numbers", collection)

    def by_step(self) -> list[KindCount]:
        """Count the items of all collections by the step that they wait for."""
        return self._database.rows(_make_kind_count, "items.by_step")
