"""Written by `make queries` from items.sql: edit that file, and run `make queries` again."""

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
    """A listed file or a member that waits for a step or failed at it, and the capture that is, or contains, the item.

    `capture` is the digest of the capture, `size` its size. `capture`, `size` and `source` are empty or None without
    one.
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
    """The step that an item waits for, failed at or was cancelled before."""

    item: int
    step: str
    status: Status
    reason: Reason | None
    since: int


class KnownReading(NamedTuple):
    """The result of a step for some bytes, and the item that it read."""

    seq: int
    item: int
    reason: Reason | None
    number: int
    md5: str


class ReadItem(NamedTuple):
    """A member, or a file that a step has read."""

    item: int
    key: str
    attempt: int


class StepCount(NamedTuple):
    """The number of items of one kind for which a step ended with the same reason, or without one."""

    collection: str
    kind: str
    step: str
    reason: Reason | None
    number: int


class NamedCount(NamedTuple):
    """The number of items of one kind that were refused for one reason when they were first seen, or were accepted.

    `reason` is None for accepted items.
    """

    kind: str
    reason: Reason | None
    number: int


class FindingCountRow(NamedTuple):
    """The number of findings of one kind and level."""

    kind: str
    level: Level
    number: int


class ReasonCountRow(NamedTuple):
    """The number of items that failed or were ended for a reason, or of entries that were refused for it.

    For two of the reasons, `number` counts files that changed, or that differ between sources.
    """

    reason: Reason
    number: int


class DifferingFile(NamedTuple):
    """A listed file of which a source offers other content than was fetched, and the message of that finding."""

    key: str
    message: str


class ItemRow(NamedTuple):
    """An item, and the step that it waits for, failed at or was cancelled before (None if all are done).

    `file` is the file that contains a member, and None for other items. `attempt` is the attempt that fetched the
    member, or 0. `latest` is that attempt or, for a listed file, the last attempt at the file, or 0.
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
    """The result of a step for an item.

    `reason` is why the step failed, or None. `number` is a count, such as that of rows.
    """

    seq: int
    at: datetime
    session: int
    step: str
    version: str
    digest: str
    reason: Reason | None
    number: int


class FindingRow(NamedTuple):
    """A finding about an item, from one phase."""

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
    """A decision about an item: `act` is retried (also if a listing or the configuration changed) or cancelled."""

    seq: int
    at: datetime
    session: int
    act: Reason
    message: str


class StartRow(NamedTuple):
    """A step that has begun to read an item. It is running, or was interrupted."""

    seq: int
    at: datetime
    session: int
    step: str


class ItemEvent(NamedTuple):
    """An event that changed the state of an item.

    `event` is attempt (its beginning), end (of an attempt), start (of a step), reading or decision. `reason` is why the
    attempt or the reading failed, or what was decided. `checksum` is empty if no side-car was compared with the bytes.
    """

    item: int
    seq: int
    event: str
    step: str
    reason: Reason | None
    checksum: str


class SeenItem(NamedTuple):
    """An item, the reason if it was refused, and its pending step.

    `file` is the file that contains a member, and `attempt` the attempt that fetched the member (None and 0 for other
    items). `step` and `status` are those of the step that it waits for, failed at or was cancelled before, or None if
    all steps are done. `started` is whether this step has begun.
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
    """The number of items of one kind with the same pending step and status, which are None if all steps are done."""

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
        """Return at most `limit` items that have a status at a step, in the order of their ranks.

        `after` has the rank and the number of the item after which they begin.
        """
        return self._database.rows(_make_due_row, "items.due", collection, step, status, after[0], after[1], limit)

    def count_due(self, collection: str) -> dict[str, int]:
        """Return a dict from step to the number of a collection's items that wait for it."""
        return dict(self._database.rows(tuple, "items.count_due", collection))

    def pending(self, item: int) -> PendingStep | None:
        """Return the step that an item waits for, failed at or was cancelled before, or None if all are done."""
        return self._database.first(_make_pending_step, "items.pending", item)

    def reading(self, digest: str, step: str, version: str) -> KnownReading | None:
        """Return the first result of a step with this version for these bytes, or None."""
        return self._database.first(_make_known_reading, "items.reading", digest, step, version)

    def findings_in_phase(self, item: int, phase: int) -> list[Finding]:
        """Return the findings about an item in one phase, in order."""
        return self._database.rows(finding, "items.findings_in_phase", item, phase)

    def number(self, collection: str, key: str, attempt: int) -> int | None:
        """Return the number of the member with a key that an attempt fetched, or None.

        If `attempt` is 0, return that of the listed file or imported WARC file with this key.
        """
        value: int | None = self._database.value("items.number", collection, key, attempt)
        return value

    def read_items(self, collection: str) -> list[ReadItem]:
        """Return the members of a collection, and its files for which a step has a result."""
        return self._database.rows(ReadItem._make, "items.read_items", collection)

    def read_between(self, facts: tuple[int, int]) -> list[StepCount]:
        """Count the items that steps read between two facts, each once for each step and reason."""
        return self._database.rows(_make_step_count, "items.read_between", facts[0], facts[1])

    def named_between(self, collection: str, facts: tuple[int, int]) -> list[NamedCount]:
        """Count by kind and reason the items of a collection that were first seen between two facts."""
        return self._database.rows(_make_named_count, "items.named_between", facts[0], facts[1], collection)

    def ended_between(self, collection: str, facts: tuple[int, int]) -> dict[int, str]:
        """Return a dict from item to the last decision about it (retried, cancelled) between two facts."""
        return dict(self._database.rows(tuple, "items.ended_between", facts[0], facts[1], collection))

    def found_between(self, facts: tuple[int, int]) -> list[FindingCountRow]:
        """Count the findings between two facts by kind and level, the most frequent first."""
        return self._database.rows(_make_finding_count_row, "items.found_between", facts[0], facts[1])

    def by_reason(self) -> list[ReasonCountRow]:
        """Count by reason the failed and ended items, the refused entries, and the changed or different files.

        A reason may be returned twice. Of the members of a file, only those of its latest attempt count. A file counts
        as changed, or as different at its sources, if no attempt at it has followed that finding, and a source lists
        it.
        """
        return self._database.rows(_make_reason_count_row, "items.by_reason")

    def differing(self) -> list[DifferingFile]:
        """Return the listed files that changed, or differ at their sources, without a later attempt at them.

        Files that no source lists any more are left out: a retry would not find them.
        """
        return self._database.rows(DifferingFile._make, "items.differing")

    def get(self, item: int) -> ItemRow | None:
        """Return an item, or None if no item has this number."""
        return self._database.first(_make_item_row, "items.get", item)

    def named(self, keys: Sequence[str]) -> list[ItemKey]:
        """Return the items of all collections with these keys."""
        return self._database.rows(ItemKey._make, "items.named", json.dumps([*keys]))

    def by_tail(self, tail: str) -> list[ItemKey]:
        """Return the items with a key, or a path at a source, that ends with `tail`."""
        return self._database.rows(ItemKey._make, "items.by_tail", tail)

    def by_owner(self, owner: str, limit: int) -> list[ItemKey]:
        """Return files of a centre, or WARC files that a source imported, the latest first. Case does not matter."""
        return self._database.rows(ItemKey._make, "items.by_owner", owner, limit)

    def count_by_owner(self, owner: str) -> int:
        """Count the items that `by_owner` returns without a limit."""
        value: int = self._database.value("items.count_by_owner", owner)
        return value

    def leaving_out(self, name: str) -> list[ItemKey]:
        """Return the listed files with a finding that the file `name` in them was left out or has an unsafe name."""
        return self._database.rows(ItemKey._make, "items.leaving_out", name)

    def readings(self, item: int) -> list[ReadingRow]:
        """Return the results of steps for an item, in order."""
        return self._database.rows(_make_reading_row, "items.readings", item)

    def findings(self, item: int) -> list[FindingRow]:
        """Return the findings about an item, in order."""
        return self._database.rows(_make_finding_row, "items.findings", item)

    def decisions(self, item: int) -> list[DecisionRow]:
        """Return the decisions about an item, in order."""
        return self._database.rows(_make_decision_row, "items.decisions", item)

    def unended(self, item: int) -> StartRow | None:
        """Return the step that has begun to read an item and has not ended, or None."""
        return self._database.first(_make_start_row, "items.unended", item)

    def events(self, items: Sequence[int]) -> list[ItemEvent]:
        """Return the events that changed the states of items, in order for each item."""
        return self._database.rows(_make_item_event, "items.events", json.dumps([*items]))

    def seen(self, items: Sequence[int]) -> list[SeenItem]:
        """Return items with the steps that they wait for, failed at or were cancelled before, in order."""
        return self._database.rows(_make_seen_item, "items.seen", json.dumps([*items]))

    def numbers(self, collection: str) -> list[int]:
        """Return the numbers of all items of a collection, in order."""
        return self._database.column("items.numbers", collection)

    def by_step(self) -> list[KindCount]:
        """Count the items of all collections by the step that they wait for, failed at or were cancelled before."""
        return self._database.rows(_make_kind_count, "items.by_step")
