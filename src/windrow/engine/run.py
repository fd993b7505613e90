"""What the phases of a run share; and giving back what a part of it holds, whatever of that fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from windrow.clock import now
from windrow.contract import Collection, ContentCheck, PendingAsk, Rows, Undecided
from windrow.engine.fetchers.crew import FetcherPool
from windrow.engine.fetchers.message import ArchiveSettings
from windrow.engine.progress import Progress
from windrow.engine.steps.pool import Pool
from windrow.errors import Stopped
from windrow.ledger import Lease, Ledger, LedgerWriter
from windrow.model import ArchivePlace, Attempt, Finding, Item, Level, Limits, Reading, Resource, Source
from windrow.reasons import Reason

COMMENT = 2000
"""Characters of a task's comment that are kept; projection may have less room."""

TICK = 1.0
"""Seconds between two looks at the lease, the projection and the progress line."""
BOOKS, LATE = 20, 2.0
"""While nothing is transferred the projection take a twentieth of the time, unless that leaves them seconds behind."""


class Store(Protocol):
    """Where a collection's records live; every call is one transaction and may be repeated."""

    def stage(self, documents: Sequence[tuple[Item, Rows]], at: datetime) -> None:
        """Write documents' rows, not current yet."""

    def judge(self, documents: Sequence[Undecided], at: datetime) -> Sequence[tuple[Finding, ...]]:
        """Make staged documents current or withhold them, in their order; return what publishing each found."""

    def summarise(self, at: datetime) -> int:
        """Update the summaries and return how many rows changed."""

    def close(self) -> None:
        """Close the connections."""


class VersionStore(Protocol):
    """Where what a collection's visits saw becomes the history of its addresses; every call is one transaction."""

    def checkpoint(self) -> int:
        """Return the number of the last visit that it was told of, 0 at first."""

    def note_earlier_sessions(self, read: Callable[[], Mapping[int, int]]) -> None:
        """Note up to which visit earlier sessions wrote, as `read` says it, where no session is known here."""

    def settle(self, entries: Sequence[Any], checkpoint: int, session: int = 0) -> None:
        """Take what visits told, up to the visit that the checkpoint names; what changed belongs to the session."""

    def finish(self, at: int, pulse: Callable[[], bool]) -> int:
        """Do what must wait for all visits, at a time in UNIX seconds; `pulse` is called between, and may end it."""

    def close(self) -> None:
        """Close the connections."""


@runtime_checkable
class ContentStore(VersionStore, Protocol):
    """A version store that remembers what bytes said at an address, so that they need not be read each time."""

    def same(self, url: str, payload: str) -> bool:
        """Tell whether it knows what these bytes said at this address."""

    def is_temporary(self, url: str, payload: str) -> bool:
        """Tell whether what these bytes said at this address was not for all times."""

    def changes(self, urls: Iterable[str]) -> Mapping[str, list[ContentCheck]]:
        """Return of addresses what each visit after the first with a content found, oldest first."""

    def to_read_again(self, limit: int) -> list[int]:
        """Return visits whose bytes must be read once more."""

    def read_again(self, readings: Mapping[int, Any]) -> None:
        """Take what these visits told; None where they could not be read."""


@runtime_checkable
class WaitingStore(VersionStore, Protocol):
    """A version store that remembers which visits wait for answers of services."""

    def waiting(self, after: int) -> Mapping[int, Sequence[PendingAsk]]:
        """Return some visits after a given one whose step asked services, and was not taken with their answers yet."""

    def count_waiting(self) -> tuple[int, int]:
        """Count these visits, and return the first of them, 0 where there is none."""


@runtime_checkable
class SearchedStore(VersionStore, Protocol):
    """A version store with a search index of its own; others have a phase that makes theirs."""

    def update_index(self, pulse: Callable[[], bool]) -> None:
        """Bring the search index up to date; `pulse` is called between, and may end it: the next search goes on."""


@runtime_checkable
class ValueStore(VersionStore, Protocol):
    """A version store that says what is known of a record."""

    def latest(self, keys: Sequence[str], before: int = 0) -> Mapping[str, Mapping[str, Any] | None]:
        """Return the values of records by key, None for one that is gone; those that never were are left out.

        What the visit `before` and later ones said does not count, unless it is 0.
        """


@runtime_checkable
class VersionedStore(VersionStore, Protocol):
    """A version store that remembers by which version of its step the first of what it holds was read."""

    def reader_version(self) -> str:
        """Return that version; empty where it is not known."""

    def set_reader_version(self, version: str) -> None:
        """Note the version by which an empty store is filled."""


class Projection(Protocol):
    """The standard's own bookkeeping, projected from the ledger."""

    def catch_up(self, ledger: Ledger) -> None:
        """Project every fact after the checkpoint."""

    def grow(self, sizes: Mapping[int, int]) -> None:
        """Show how many bytes of each open fetch are here (fetch seq -> bytes)."""

    def close(self) -> None:
        """Close the connections."""


class Derived(NamedTuple):
    """What a derivation did, in one line, and why sources failed, by name."""

    told: str
    failed: Mapping[str, str] = {}


Derivation = Callable[[Callable[[], bool]], str | Derived]
"""Brings what is derived from the store up to date, and says in a line what it did. It is given a pulse to call between
batches, which says whether to go on; what a killed one left, the next one mends."""


class WarcFile(NamedTuple):
    """A WARC file of another maker: where it is, what it is called, and the source that it comes in by."""

    path: Path
    name: str
    source: str


@dataclass(slots=True)
class Harvest:
    """A collection as this workspace runs it."""

    collection: Collection
    sources: tuple[Source, ...]
    resources: Mapping[str, Resource] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    store: Store | None = None
    projection: Projection | None = None
    version_store: VersionStore | None = None
    derivations: Mapping[str, Derivation] = field(default_factory=dict)  # by phase
    listers: int = 4
    downloaders: int = 4
    attempts: int = 3
    listing_deadline: float = 0.0  # seconds for all listings together, 0 for no bound; then slow ones are left behind
    download_deadline: float = 0.0  # and for all transfers
    limits: Limits | None = None  # where they are not those of the workspace
    reread: bool = False  # what is kept is read anew: when addresses are due, and what is unread, stays as it is
    unread: dict[int, Reason] = field(default_factory=dict)  # the visits that were then not read, and why
    services: tuple[Source, ...] = ()  # what steps may ask, each as a source that has its option `service`
    unasked: Callable[[Sequence[str]], Mapping[str, Reason]] | None = None  # for which records no service is asked: why
    warc_files: tuple[WarcFile, ...] = ()  # WARC files of other makers, to be taken in


@dataclass(slots=True)
class SessionAnswers:
    """Whom a session's harvests asked so far: their sources, and when each origin was asked last, in UNIX seconds."""

    sources: dict[str, Source] = field(default_factory=dict)
    asked: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class HarvestRun:
    """A session at work on one harvest."""

    harvest: Harvest
    ledger: Ledger
    lease: Lease
    crew: FetcherPool
    pool: Pool
    session: int
    archive: Path
    limits: Limits
    progress: Progress
    stopping: Callable[[], int]  # 0 go on, 1 finish what is in hand, 2 stop at once
    limit: int | None = None  # most items to fetch
    since: datetime | None = None  # what its source dated earlier is not fetched
    clock: Callable[[], datetime] = now  # when records become current: a replay tells its captures' time
    keep: ArchiveSettings | None = None  # how the archive is written
    shared: SessionAnswers = field(default_factory=SessionAnswers)
    failed: int = 0  # tasks that failed
    grown: dict[int, int] = field(default_factory=dict)
    _ticked: float = 0.0
    _projection_due: float = 0.0
    _batches: int = 0

    @property
    def collection(self) -> Collection:
        """The collection that is run."""
        return self.harvest.collection

    def next_batch(self) -> int:
        """Return the number of a new batch of requests."""
        self._batches += 1
        return self._batches

    def place_of(self, attempt: Attempt) -> ArchivePlace | None:
        """Return the place of an attempt's bytes, which for a repeat is that of the original; None without bytes."""
        kept = attempt.kept
        if kept is None or not kept.revisit:
            return kept.place if kept else None
        captures = self.ledger.captures
        return captures.original(attempt.target, kept.digest) or captures.payload(kept.digest) or kept.place

    def tick(self, *, force: bool = False) -> None:
        """Renew the lease, bring the projection up to date, show progress; cheap when called often."""
        if self.stopping() > 1:
            raise Stopped("stopped at once; the next run goes on from here")
        at = time.monotonic()
        if not force and at - self._ticked < TICK:
            return
        self._ticked = at
        self.lease.beat()
        if self.harvest.projection and (force or self.grown or at >= self._projection_due):
            self.harvest.projection.catch_up(self.ledger)
            if self.grown:
                self.harvest.projection.grow(self.grown)
            # What happened since is written together: the longer that takes, the longer more is gathered.
            self._projection_due = at + min(BOOKS * (time.monotonic() - at), LATE)
        self.progress.show()

    def open_task(self, phase: int, source: str = "") -> int:
        """Record the start of one phase of one source."""
        with self.ledger.writing() as writer:
            return writer.sessions.open_task(self.session, self.collection.name, source, phase)

    def close_task(
        self,
        task: int,
        comment: str,
        reason: Reason | None = None,
        *,
        failed: bool = False,
        writer: LedgerWriter | None = None,
    ) -> None:
        """Record its end, within the transaction of a writer or one of its own."""
        self.failed += failed
        if writer is not None:
            writer.sessions.close_task(task, reason, comment[:COMMENT], failed=failed)
            return
        with self.ledger.writing() as own:
            own.sessions.close_task(task, reason, comment[:COMMENT], failed=failed)

    def record_findings(self, writer: LedgerWriter, item: int, phase: int, reading: Reading) -> None:
        """Record a reading's findings; a failure without a finding is given one."""
        findings = reading.findings
        if reading.reason and not any(finding.level is not Level.NOTE for finding in findings):
            findings = (*findings, Finding(reading.reason.class_name, reading.reason.meaning))
        writer.items.find(self.session, item, phase, findings)


Close = Callable[[], object]


def release(parts: Iterable[Close], error: BaseException | None = None) -> None:
    """Call all of the parts in order; the first error is raised at the end, with the others noted on it.

    With an `error` that is under way nothing is raised, and all are noted on that.
    """
    first = error
    for part in parts:
        try:
            part()
        except BaseException as failure:  # noqa: BLE001 the rest must be given back too
            if first is None:
                first = failure
            else:
                first.add_note(f"and then: {type(failure).__name__}: {failure}")
    if error is None and first is not None:
        raise first


@contextmanager
def released(*parts: Close) -> Iterator[None]:
    """Call all of the parts when the block ends, however it ends."""
    try:
        yield
    except BaseException as error:
        release(parts, error)
        raise
    else:
        release(parts)
