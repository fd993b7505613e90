"""Documents that a step could not read for a cause outside them: decide when later runs read or request them again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from windrow import clock
from windrow.contract import Collection, Judge, Load, Read, Settle
from windrow.ledger import Ledger, LedgerWriter
from windrow.ledger.typed.unread import UnreadDocument
from windrow.model import RecordedAttempt
from windrow.reasons import SUBSTITUTE_REASONS, TRANSIENT_REASONS, Reason

FOLLOWING_PHASE = 1
"""The number of the phase in which responses are followed. Following is not a step, but a part of making requests."""

LONGEST_PAUSE = timedelta(days=30)

FIRST_UNUSED_PAUSE = timedelta(minutes=1)
"""The pause before a request is repeated whose answer was not used. It doubles with each further such answer."""


def pause_after(failures: int, first: timedelta = timedelta(hours=1)) -> timedelta:
    """Return the pause after a number of failures in a row.

    It is 0 after one failure and `first` after two. It doubles with each further failure, up to LONGEST_PAUSE.

    >>> [str(pause_after(failures)) for failures in (1, 2, 4, 99)]
    ['0:00:00', '1:00:00', '4:00:00', '30 days, 0:00:00']
    """
    return min(LONGEST_PAUSE, first * (1 << min(failures - 2, 16))) if failures > 1 else timedelta()


def pause_after_unused(failures: int) -> timedelta:
    """Return the pause before a request is repeated after a number of answers in a row that were not used.

    >>> [str(pause_after_unused(failures)) for failures in (1, 2, 11, 99)]
    ['0:01:00', '0:02:00', '17:04:00', '30 days, 0:00:00']
    """
    return min(FIRST_UNUSED_PAUSE * (1 << min(failures - 1, 16)), LONGEST_PAUSE)


def next_try(document: UnreadDocument) -> datetime | None:
    """Return when a document is read again, or None if that needs another version of its step or `windrow retry`.

    A document in whose place the server sent another page is requested again then.
    """
    if document.reason in SUBSTITUTE_REASONS:
        return document.at + pause_after_unused(document.times)
    return (
        document.at + pause_after(document.times)
        if document.reason in TRANSIENT_REASONS or not document.version
        else None
    )


def is_due(document: UnreadDocument, version: str, now: datetime) -> bool:
    """Return whether a run reads a document again now. `version` is the version of the step in this run.

    A document that could not be read at a time to come is due: the clock was ahead.
    """
    due_at = None if document.reason in SUBSTITUTE_REASONS else next_try(document)
    return document.version != version or (due_at is not None and not document.at <= now < due_at)


class UnreadCount(NamedTuple):
    """How many documents of a collection a step could not read for a cause outside them, and why.

    `due` is when the first of them is due again, or None if they wait for another version of the step or for `windrow
    retry`.
    """

    collection: str
    phase: str
    reason: Reason
    documents: int
    due: datetime | None


def count_unread(ledger: Ledger, collection: Collection) -> list[UnreadCount]:
    """Count the documents that steps could not read, and the responses that were not followed, by phase and reason."""
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
    """The attempts that a step could not read for a cause outside them, in earlier runs and in this one."""

    def __init__(self, ledger: Ledger, collection: str, phase: int, version: str) -> None:
        """Load the attempts that earlier runs could not read in a phase. `version` is the step's present version."""
        self._ledger = ledger
        self._collection = collection
        self._phase = phase
        self._version = version
        self._unread = {attempt.number: attempt for attempt in ledger.unread.attempts(collection, phase)}
        self._waiting: set[int] = set()  # unread attempts that now wait for answers of services

    def __contains__(self, attempt: int) -> bool:
        """Return whether an attempt is unread, and does not wait for services."""
        return attempt in self._unread and attempt not in self._waiting

    def reason(self, attempt: int) -> Reason:
        """Return why an attempt is unread. Raises KeyError if it is not unread."""
        return self._unread[attempt].reason

    def due(self) -> list[int]:
        """Return the numbers of the attempts that must be read again now."""
        now = clock.now()
        return [document.number for document in self._unread.values() if is_due(document, self._version, now)]

    def record_unread(self, writer: LedgerWriter, reasons: Mapping[int, Reason]) -> None:
        """Record why attempts could not be read. A new version of the step counts failures from 1 again.

        If the bytes of the last attempt at an address are damaged, it is due now, so that the next run gets them anew.
        """
        documents, now = [], clock.now()
        for attempt, reason in reasons.items():
            earlier = self._unread.get(attempt)
            times = earlier.times + 1 if earlier is not None and earlier.version == self._version else 1
            documents.append(UnreadDocument(attempt, self._version, reason, times, now))
            if reason is Reason.DISK_FAILED:
                writer.addresses.make_due_by(attempt, int(now.timestamp()))
        writer.unread.put(self._collection, self._phase, documents)
        self._unread |= {document.number: document for document in documents}
        self._waiting -= {*reasons}

    def record_substitute(self, writer: LedgerWriter, recorded: RecordedAttempt, reason: Reason) -> None:
        """Record that the server sent another page than the document; it is requested again after a growing pause."""
        times = self._ledger.unread.substitutes_before(recorded.seq, self._phase, SUBSTITUTE_REASONS) + 1
        document = UnreadDocument(recorded.seq, self._version, reason, times, recorded.attempt.started)
        writer.unread.put(self._collection, self._phase, [document])
        self._unread[document.number] = document
        writer.addresses.mark_unused(recorded, times, int((document.at + pause_after_unused(times)).timestamp()))

    def record_unfinished(self, writer: LedgerWriter, attempts: Iterable[int]) -> None:
        """Record that attempts must be read again, so that the next run reads them if this one does not."""
        documents = [UnreadDocument(attempt, "", Reason.STOPPED, 0, writer.at) for attempt in attempts]
        writer.unread.put(self._collection, self._phase, documents)
        self._unread |= {document.number: document for document in documents}

    def record_waiting(self, writer: LedgerWriter, attempts: Iterable[int]) -> None:
        """Record that unread attempts now wait for services. The step is repeated when they have answered."""
        waiting = [attempt for attempt in attempts if attempt in self]
        self._waiting.update(waiting)
        writer.unread.remove((self._phase, number) for number in waiting)

    def record_read(self, writer: LedgerWriter, attempts: Iterable[int]) -> None:
        """Record that attempts have been read. Attempts that were not unread are ignored."""
        read_numbers = [attempt for attempt in attempts if self._unread.pop(attempt, None) is not None]
        writer.unread.remove((self._phase, number) for number in read_numbers)
