"""What a step could not read, and not by the document's fault, is read again by later runs: when, and by which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from windrow.clock import now
from windrow.contract import Collection, Judge, Load, Read, Settle
from windrow.ledger import Ledger, LedgerWriter
from windrow.ledger.typed.unread import UnreadDocument
from windrow.reasons import PASSING, Reason

FOLLOWING_PHASE = 1
"""The phase of looking for what an answer leads to: it is no step, and belongs to the requests."""

FIRST = timedelta(hours=1)
LONGEST = timedelta(days=30)


def pause(times: int) -> timedelta:
    """Return how long a document is left alone after it was not read so many times in a row: not at all at first.

    >>> [str(pause(times)) for times in (1, 2, 4, 99)]
    ['0:00:00', '1:00:00', '4:00:00', '30 days, 0:00:00']
    """
    return min(LONGEST, FIRST * (1 << min(times - 2, 16))) if times > 1 else timedelta()


def next_try(document: UnreadDocument) -> datetime | None:
    """Return when a document is read again; None if only another version of its step reads it."""
    return document.at + pause(document.times) if document.reason in PASSING or not document.version else None


def is_due(document: UnreadDocument, version: str, at: datetime) -> bool:
    """Return whether a run with this version of the step reads a document again at a time."""
    due = next_try(document)
    return document.version != version or (due is not None and due <= at)


class UnreadCount(NamedTuple):
    """How many documents of a collection a step did not read, and not by their fault, and why.

    `due` is when a run reads the first of them again; None where only another version of the step, or an operator,
    has them read.
    """

    collection: str
    phase: str
    reason: Reason
    documents: int
    due: datetime | None


def count_unread(ledger: Ledger, collection: Collection) -> list[UnreadCount]:
    """Return what later runs read again, by the phase and reason."""
    unread: dict[tuple[str, Reason], list[UnreadDocument]] = {}
    for document in ledger.unread.attempts(collection.name, FOLLOWING_PHASE):
        unread.setdefault((collection.phases[0], document.reason), []).append(document)
    for step in collection.steps:
        phase = collection.phase(step.phase)
        rows: list[UnreadDocument] = []
        if isinstance(step, Settle):
            rows = ledger.unread.attempts(collection.name, phase)
        elif isinstance(step, Read | Load | Judge):
            rows = ledger.unread.items(collection.name, step.phase)
        for document in rows:
            unread.setdefault((step.phase, document.reason), []).append(document)
    return [
        UnreadCount(collection.name, phase, reason, len(rows), min(filter(None, map(next_try, rows)), default=None))
        for (phase, reason), rows in unread.items()
    ]


class UnreadAttempts:
    """The visits that a step did not read, and not by their fault, in earlier runs and in this one."""

    def __init__(self, ledger: Ledger, collection: str, phase: int, version: str) -> None:
        """Load those of earlier runs."""
        self._collection = collection
        self._phase = phase
        self._version = version
        self._known = {visit.number: visit for visit in ledger.unread.attempts(collection, phase)}
        self._waiting: set[int] = set()  # of these, those that wait for services

    def __contains__(self, visit: int) -> bool:
        """Return whether a visit is still to be read."""
        return visit in self._known and visit not in self._waiting

    def reason(self, visit: int) -> Reason:
        """Return why a visit was not read; KeyError for one that was."""
        return self._known[visit].reason

    def due(self) -> list[int]:
        """Return those that are to be read again now."""
        at = now()
        return [document.number for document in self._known.values() if is_due(document, self._version, at)]

    def note(self, writer: LedgerWriter, reasons: Mapping[int, Reason]) -> None:
        """Record that visits were not read; another version of the step starts its count at 1."""
        failed, at = [], now()
        for visit, reason in reasons.items():
            before = self._known.get(visit)
            times = before.times + 1 if before is not None and before.version == self._version else 1
            failed.append(UnreadDocument(visit, self._version, reason, times, at))
        writer.unread.put(self._collection, self._phase, failed)
        self._known |= {document.number: document for document in failed}
        self._waiting -= {*reasons}

    def wait(self, writer: LedgerWriter, visits: Iterable[int]) -> None:
        """Take visits off the record that wait for services: the step is taken again when these answer.

        If a visit is not read then, within this run, that counts as one more time in a row.
        """
        waiting = [visit for visit in visits if visit in self]
        self._waiting.update(waiting)
        writer.unread.remove((self._phase, number) for number in waiting)

    def remove(self, writer: LedgerWriter, visits: Iterable[int]) -> None:
        """Record that visits are read."""
        read = [visit for visit in visits if self._known.pop(visit, None) is not None]
        writer.unread.remove((self._phase, number) for number in read)
