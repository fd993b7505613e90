"""The state that the phases of a run share; and closing several resources, whichever of them fails."""

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
"""Characters of a task's comment that are kept; a projection may keep fewer."""

TICK = 1.0
"""Seconds between two updates of the lease, the projection and the progress line."""
PROJECTION_RATIO, MAX_PROJECTION_DELAY = 20, 2.0
"""If nothing is transferred, a projection may take a twentieth of the time, but is at most these seconds behind."""


class Store(Protocol):
    """The store of a collection's records; every call is one transaction and may be repeated."""

    def stage(self, documents: Sequence[tuple[Item, Rows]], at: datetime) -> None:
        """Write documents' rows, not current yet."""

    def judge(self, documents: Sequence[Undecided], at: datetime) -> Sequence[tuple[Finding, ...]]:
        """Make staged documents current or withhold them, in their order; return the findings of each."""

    def summarise(self, at: datetime) -> int:
        """Update the summaries and return how many rows changed."""

    def close(self) -> None:
        """Close the connections."""


class VersionStore(Protocol):
    """A store of versions: it turns the results of attempts into histories; every call is one transaction."""

    def checkpoint(self) -> int:
        """Return the number of the last attempt that was written, 0 at first."""

    def note_earlier_sessions(self, read: Callable[[], Mapping[int, int]]) -> None:
        """If no session is recorded yet, record the last attempt of each earlier session, as `read` returns it."""

    def settle(self, entries: Sequence[Any], checkpoint: int, session: int = 0) -> None:
        """Write the results of attempts up to number `checkpoint`; changes belong to `session`."""

    def finish(self, at: int, pulse: Callable[[], bool]) -> int:
        """Do the work that needs all attempts, at a time in UNIX seconds; it ends early when `pulse` returns False."""

    def close(self) -> None:
        """Close the connections."""


@runtime_checkable
class ContentStore(VersionStore, Protocol):
    """A version store that remembers the content read from bytes, so that the same bytes are not read again."""

    def same(self, url: str, payload: str) -> bool:
        """Return whether the content of these bytes at this address is known."""

    def is_temporary(self, url: str, payload: str) -> bool:
        """Return whether the content of these bytes at this address was valid for a limited time only."""

    def changes(self, urls: Iterable[str]) -> Mapping[str, list[ContentCheck]]:
        """Return by address the content checks of each attempt after the first with content, oldest first."""

    def to_read_again(self, limit: int) -> list[int]:
        """Return up to `limit` attempts whose bytes must be read again."""

    def read_again(self, readings: Mapping[int, Any]) -> None:
        """Write the new readings of these attempts; None for one that could not be read."""


@runtime_checkable
class WaitingStore(VersionStore, Protocol):
    """A version store that remembers which attempts wait for answers of services."""

    def waiting(self, after: int) -> Mapping[int, Sequence[PendingAsk]]:
        """Return the requests of some attempts after number `after` whose step waits for answers of services."""

    def count_waiting(self) -> tuple[int, int]:
        """Return the number of attempts that wait, and the first of them, or 0 if none waits."""


@runtime_checkable
class SearchedStore(VersionStore, Protocol):
    """A version store with its own search index; for other stores a phase builds the index."""

    def update_index(self, pulse: Callable[[], bool]) -> None:
        """Update the search index; it ends early when `pulse` returns False, and the next search continues."""


@runtime_checkable
class ValueStore(VersionStore, Protocol):
    """A version store that returns the current values of records."""

    def latest(self, keys: Sequence[str], before: int = 0) -> Mapping[str, Mapping[str, Any] | None]:
        """Return the values of records by key, None for a record that is gone; unknown keys are left out.

        Unless `before` is 0, attempts from that number on are ignored.
        """


@runtime_checkable
class VersionedStore(VersionStore, Protocol):
    """A version store that remembers which version of its step read its first records."""

    def reader_version(self) -> str:
        """Return the version of the step that read the first records, or an empty text if it is not known."""

    def set_reader_version(self, version: str) -> None:
        """Record the version of the step that fills an empty store."""


class Projection(Protocol):
    """The standard's own tables, updated from the ledger."""

    def catch_up(self, ledger: Ledger) -> None:
        """Project every fact after the checkpoint."""

    def grow(self, sizes: Mapping[int, int]) -> None:
        """Record how many bytes each open fetch has received, by the fetch's number."""

    def close(self) -> None:
        """Close the connections."""


class Derived(NamedTuple):
    """What a derivation did, in one line, and the errors of sources that failed, by name."""

    told: str
    failed: Mapping[str, str] = {}


Derivation = Callable[[Callable[[], bool]], str | Derived]
"""Updates what is derived from the store, and returns a line on what it did. It is given a pulse to call between
batches, which returns whether to go on; the next call repairs what a killed one left."""


class WarcFile(NamedTuple):
    """A WARC file of another program: its path, its name, and the source that it is imported as."""

    path: Path
    name: str
    source: str


@dataclass(slots=True)
class Harvest:
    """A collection with the sources, settings and stores of this workspace."""

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
    unread: dict[int, Reason] = field(default_factory=dict)  # the attempts that were then not read, and why
    services: tuple[Source, ...] = ()  # what steps may ask, each as a source that has its option `service`
    unasked: Callable[[Sequence[str]], Mapping[str, Reason]] | None = None  # for which records no service is asked: why
    warc_files: tuple[WarcFile, ...] = ()  # WARC files of other makers, to be taken in


@dataclass(slots=True)
class SessionAnswers:
    """Sources that a session's harvests asked, and when each origin got its last request, in UNIX seconds."""

    sources: dict[str, Source] = field(default_factory=dict)
    asked: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class HarvestRun:
    """One harvest of a session, while it runs."""

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
        """Return the place of an attempt's bytes, for a revisit that of the original; None if it has no bytes."""
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
            self._projection_due = at + min(PROJECTION_RATIO * (time.monotonic() - at), MAX_PROJECTION_DELAY)
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
        """Record the end of a task, in the transaction of `writer`, or in a new one."""
        self.failed += failed
        if writer is not None:
            writer.sessions.close_task(task, reason, comment[:COMMENT], failed=failed)
            return
        with self.ledger.writing() as new_writer:
            new_writer.sessions.close_task(task, reason, comment[:COMMENT], failed=failed)

    def add_findings(self, writer: LedgerWriter, item: int, phase: int, reading: Reading) -> None:
        """Record a reading's findings; a failure without a finding is given one."""
        findings = reading.findings
        if reading.reason and not any(finding.level is not Level.NOTE for finding in findings):
            findings = (*findings, Finding(reading.reason.class_name, reading.reason.meaning))
        writer.items.add_findings(self.session, item, phase, findings)


Close = Callable[[], object]


def release(parts: Iterable[Close], error: BaseException | None = None) -> None:
    """Call all `parts` in order; raise the first error at the end, with the others as notes.

    With an `error` that is being handled nothing is raised: all errors become notes of that one.
    """
    first_error = error
    for part in parts:
        try:
            part()
        except BaseException as failure:  # noqa: BLE001 the rest must be given back too
            if first_error is None:
                first_error = failure
            else:
                first_error.add_note(f"and then: {type(failure).__name__}: {failure}")
    if error is None and first_error is not None:
        raise first_error


@contextmanager
def released(*parts: Close) -> Iterator[None]:
    """Call all `parts` when the block ends, also by an error."""
    try:
        yield
    except BaseException as error:
        release(parts, error)
        raise
    else:
        release(parts)
