"""The state that the phases of a run share, the protocols of stores, and functions that close several things."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from windrow.clock import now
from windrow.contract import Collection, ContentCheck, PendingAsk, Rows, Skip, Undecided
from windrow.engine.fetchers.fetcher_pool import FetcherPool
from windrow.engine.fetchers.message import ArchiveSettings
from windrow.engine.progress import Progress
from windrow.engine.steps.pool import Pool
from windrow.errors import Stopped
from windrow.ledger import Lease, Ledger, LedgerWriter
from windrow.ledger.sessions import RuleCount
from windrow.model import ArchivePlace, Attempt, Finding, Item, Level, Limits, Reading, Resource, Source
from windrow.reasons import Reason
from windrow.stores.store_mark import StoreMark

MAX_COMMENT_LENGTH = 2000
"""The maximum number of characters of a task's comment that are stored. A projection may store fewer."""

TICK_SECONDS = 1.0
"""The minimum time between two updates of the lease, the projection and the progress line, in seconds."""
PROJECTION_RATIO, MAX_PROJECTION_DELAY = 20, 2.0
"""The pause after an update of a projection, as a multiple of the update's duration, and the longest pause in seconds.

While transfers are in progress, there is no pause.
"""


class Store(Protocol):
    """The store of a collection's records. Each call that writes is one transaction and may be repeated."""

    def stage(self, documents: Sequence[tuple[Item, Rows]], at: datetime) -> None:
        """Write the rows of documents. `judge` decides later whether they become current."""

    def judge(self, documents: Sequence[Undecided], at: datetime) -> Sequence[tuple[Finding, ...]]:
        """Make staged documents current or withhold them, in the given order. Return the findings of each document."""

    def summarise(self, at: datetime) -> int:
        """Update the summaries, and return the number of rows that changed."""

    def close(self) -> None:
        """Close the connections."""


class VersionStore(Protocol):
    """A store of the histories of records or pages, built from results of attempts. `settle` is one transaction."""

    def checkpoint(self) -> int:
        """Return the number of the last attempt that was settled, or 0."""

    def note_earlier_sessions(self, read_last_attempts: Callable[[], Mapping[int, int]]) -> None:
        """If the store has no session yet, record how far earlier sessions settled.

        `read_last_attempts` returns a dict from session to a number. The attempts that the session settled have this
        number or a lower one.
        """

    def settle(self, entries: Sequence[Any], checkpoint: int, session: int = 0) -> Sequence[tuple[int, Skip]]:
        """Write entries that the Settle step made, and set the checkpoint. Return what is not written, by attempt.

        The changes are recorded as those of `session` or, if it is 0, as those of the next session that writes.
        """

    def finish(self, at: int, pulse: Callable[[], bool]) -> int:
        """Do the work at the end of a run, for example find duplicates. Return how many things were processed.

        Changes begin at the UNIX time `at`. The work may end early if `pulse` returns False; the next call continues
        it.
        """

    def close(self) -> None:
        """Close the connections."""


@runtime_checkable
class ContentStore(VersionStore, Protocol):
    """A version store that remembers content, so that the same bytes are not read again."""

    def same(self, url: str, payload: str) -> bool:
        """Return whether the store has the content of `url` in the bytes that `Settle.name_payload` calls `payload`."""

    def is_temporary(self, url: str, payload: str) -> bool:
        """Return whether the bytes called `payload` may have other content at this address now."""

    def changes(self, urls: Iterable[str]) -> Mapping[str, list[ContentCheck]]:
        """Return a dict from address to its content checks, oldest first.

        The first attempt with content, and the attempts before it, have no check.
        """

    def to_read_again(self, limit: int) -> list[int]:
        """Return up to `limit` attempts whose bytes must be read again."""

    def read_again(self, readings: Mapping[int, Any]) -> None:
        """Write new readings. `readings` is a dict from attempt to its entry (None: it could not be read)."""


@runtime_checkable
class WaitingStore(VersionStore, Protocol):
    """A version store that remembers which attempts wait for answers of services."""

    def waiting(self, after: int) -> Mapping[int, Sequence[PendingAsk]]:
        """Return the next attempts with numbers above `after` that wait for answers, with the asks of each attempt."""

    def count_waiting(self) -> tuple[int, int]:
        """Return how many attempts wait, and the number of the first waiting attempt (0: none waits)."""


@runtime_checkable
class SearchedStore(VersionStore, Protocol):
    """A version store with its own search index. For other stores, a phase builds the index."""

    def update_index(self, pulse: Callable[[], bool]) -> None:
        """Update the search index. It ends early if `pulse` returns False, and the next search continues the update."""


@runtime_checkable
class ValueStore(VersionStore, Protocol):
    """A version store that returns the current values of records."""

    def latest(self, keys: Sequence[str], before: int = 0) -> Mapping[str, Mapping[str, Any] | None]:
        """Return a dict from key to the latest value of the record, or to None if the record is gone.

        Unknown keys are left out. Attempts from `before` on are ignored, unless `before` is 0.
        """


@runtime_checkable
class SkippingStore(VersionStore, Protocol):
    """A version store that remembers what the step skipped."""

    def left_out(self, keys: Sequence[str]) -> Sequence[str]:
        """Return those of `keys`, sorted, under which something was skipped for a reason that is not in BY_RULE."""


@runtime_checkable
class VersionedStore(VersionStore, Protocol):
    """A version store that remembers which version of its step read its first records."""

    def reader_version(self) -> str:
        """Return the version of the step that read the first records, or "" if it is not known."""

    def set_reader_version(self, version: str) -> None:
        """Record the version of the step that fills an empty store."""


class Projection(Protocol):
    """The standard's own tables, updated from the ledger."""

    def catch_up(self, ledger: Ledger) -> None:
        """Project every fact after the checkpoint."""

    def grow(self, sizes: Mapping[int, int]) -> None:
        """Record how many bytes transfers in progress have received. `sizes` is a dict from attempt to bytes."""

    def close(self) -> None:
        """Close the connections."""


class Derived(NamedTuple):
    """The result of a derivation: a line that says what it did, and a dict from source (empty: none) to its error.

    `failed` is the number of failed tasks that the derivation itself wrote to the ledger. `left_out` counts what is
    left out of the result, by source and rule; the source is empty for what belongs to no source.
    """

    message: str
    errors: Mapping[str, str] = {}
    failed: int = 0
    left_out: tuple[RuleCount, ...] = ()


Derivation = Callable[[Callable[[], bool]], str | Derived]
"""A function that updates what is derived from the store, and returns what it did. Its argument is a pulse.

If a call is killed, the next call completes its work.
"""


class WarcFile(NamedTuple):
    """A WARC file of another program, and the source for which it is imported.

    `name` is recorded as the name of the file. `problem` is why the file cannot be imported, or empty.
    """

    path: Path
    name: str
    source: str
    problem: str = ""


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
    listers: int = 4  # the maximum number of sources that are listed in parallel
    downloaders: int = 4  # the maximum number of batches of one source in parallel
    attempts: int = 3  # the maximum number of attempts at a file in one run, at one source
    listing_deadline: float = 0.0  # seconds after which unfinished listings are left to the next run; 0: never
    download_deadline: float = 0.0  # seconds after which unfinished transfers are left to the next run; 0: never
    limits: Limits | None = None  # limits that replace the workspace's limits
    reread: bool = False  # true in a replay: due times of addresses and records of unread attempts are not changed
    again: bool = False  # whether what was fetched before, and is still offered, is fetched again
    unread: dict[int, Reason] = field(default_factory=dict)  # attempts that a replay could not read, and why
    services: tuple[Source, ...] = ()  # services that steps may ask, each as a source with the option `service`
    unasked: Callable[[Sequence[str]], Mapping[str, Reason]] | None = None  # returns why services are not asked, by key
    warc_files: tuple[WarcFile, ...] = ()  # WARC files of other programs, to be imported
    pipe_readers: Mapping[Path, Sequence[str]] = field(default_factory=dict)  # names of sources, by real path


@dataclass(slots=True)
class SessionRequests:
    """The sources, by name, that earlier harvests of a session requested, and when each origin was last requested.

    `stored_pipes` are the real paths of the pipes whose indexes of captures they stored for all sources of the session
    that read them.
    """

    sources: dict[str, Source] = field(default_factory=dict)
    last_requests: dict[str, float] = field(default_factory=dict)  # by origin, in UNIX seconds
    stored_pipes: set[Path] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """The settings of sessions on this machine. `fetchers` and `workers` are numbers of processes."""

    ledger: Path
    archive: Path
    limits: Limits
    rollover_size: int = 1 << 30  # bytes after which a WARC file is closed and the next one is begun
    fetchers: int = 2
    workers: int = 2
    agent: str = "windrow"  # the User-Agent of requests
    sandbox: bool = True  # whether workers can only read captures, and fetchers only write the archive
    group_reads: bool = False  # whether the group may read what is written
    part_folder: Path = Path("parts")  # where the parts of a divided crawl leave addresses to each other
    read_marks: Callable[[Ledger], Mapping[str, StoreMark]] = lambda _: {}  # how far each store goes, and whose it is
    left_replays: Mapping[Path, Sequence[str]] = field(default_factory=dict)  # folders to remove, and their databases
    secret_variables: tuple[str, ...] = ()  # environment variables that readers must not have
    request_deadline: float = 0.0  # seconds after which a run leaves its other addresses to the next one; 0: never

    def for_fetchers(self, session: int) -> ArchiveSettings:
        """Return what the fetchers of a session need of these settings."""
        return ArchiveSettings(self.archive, session, self.limits, self.rollover_size, self.agent, self.sandbox)


@dataclass(slots=True)
class HarvestRun:
    """One harvest of a session, while it runs."""

    harvest: Harvest
    settings: SessionSettings
    ledger: Ledger
    lease: Lease
    fetchers: FetcherPool
    pool: Pool
    session: int  # its number on the ledger
    progress: Progress
    stopping: Callable[[], int]  # returns 0: continue, 1: finish the items in progress, 2: stop at once
    limit: int | None = None  # the maximum number of items to fetch
    since: datetime | None = None  # files with an older date are not fetched
    clock: Callable[[], datetime] = now  # returns when records become current; in a replay, when their session began
    session_requests: SessionRequests = field(default_factory=SessionRequests)
    lost_files: frozenset[str] = frozenset()  # WARC files whose bytes must be received again to be kept
    failed: int = 0  # the number of tasks that failed
    received_bytes: dict[int, int] = field(default_factory=dict)  # by attempt, of the transfers in progress
    _last_tick: float = 0.0  # by time.monotonic, like the next one
    _projection_due: float = 0.0
    _last_batch: int = 0  # its number

    @property
    def collection(self) -> Collection:
        """The collection that is run."""
        return self.harvest.collection

    def next_batch(self) -> int:
        """Return the number for a new batch of requests, which is unique in this run."""
        self._last_batch += 1
        return self._last_batch

    def place_of(self, attempt: Attempt) -> ArchivePlace | None:
        """Return where an attempt's bytes are, or None if none were kept. A revisit has the bytes of its original."""
        return self.ledger.captures.place_of(attempt)

    def tick(self, *, force: bool = False) -> None:
        """Renew the lease, update the projection if it is due, and show progress.

        Without `force`, this is done at most once a second. Raises Stopped if the run must stop at once.
        """
        if self.stopping() > 1:
            raise Stopped("stopped at once; the next run continues from here")
        started = time.monotonic()
        if not force and started - self._last_tick < TICK_SECONDS:
            return
        self._last_tick = started
        self.lease.beat()
        if self.harvest.projection and (force or self.received_bytes or started >= self._projection_due):
            self.harvest.projection.catch_up(self.ledger)
            if self.received_bytes:
                self.harvest.projection.grow(self.received_bytes)
            # The longer an update takes, the more facts are gathered for the next one.
            delay = min(PROJECTION_RATIO * (time.monotonic() - started), MAX_PROJECTION_DELAY)
            self._projection_due = started + delay
        self.progress.show()

    def open_task(self, phase: int, source: str = "") -> int:
        """Record that a phase begins for a source ("": for the collection). Return the number of the task."""
        with self.ledger.writing() as writer:
            return writer.sessions.open_task(self.session, self.collection.name, source, phase)

    def close_task(
        self, task: int, comment: str, reason: Reason | None = None, *, failed: bool = False,
        writer: LedgerWriter | None = None,
    ) -> None:  # fmt: skip
        """Count a task if it failed, and record its end in the transaction of `writer` (None: one of its own)."""
        self.failed += failed
        if writer is not None:
            writer.sessions.close_task(task, reason, comment[:MAX_COMMENT_LENGTH], failed=failed)
            return
        with self.ledger.writing() as new_writer:
            new_writer.sessions.close_task(task, reason, comment[:MAX_COMMENT_LENGTH], failed=failed)

    def add_findings(self, writer: LedgerWriter, item: int, phase: int, reading: Reading) -> None:
        """Record the findings of an item's reading.

        If the reading failed and all its findings are notes, its reason becomes a finding too.
        """
        findings = reading.findings
        if reading.reason and not any(finding.level is not Level.NOTE for finding in findings):
            findings = (*findings, Finding(reading.reason.class_name, reading.reason.meaning))
        writer.items.add_findings(self.session, item, phase, findings)


Close = Callable[[], object]
"""A function that closes or finishes something. Its result is ignored."""


def close_all(closers: Iterable[Close], error: BaseException | None = None) -> None:
    """Call all `closers` in order, even if some raise. Then raise the first error, with the others as notes.

    If an `error` is being handled, nothing is raised: all errors are added to it as notes.
    """
    first_error = error
    for close in closers:
        try:
            close()
        except BaseException as failure:  # noqa: BLE001 the others must be called too
            if first_error is None:
                first_error = failure
            else:
                first_error.add_note(f"and then: {type(failure).__name__}: {failure}")
    if error is None and first_error is not None:
        raise first_error


@contextmanager
def closing_all(*closers: Close) -> Iterator[None]:
    """Call all `closers` when the block ends, even if it raises an error."""
    try:
        yield
    except BaseException as error:
        close_all(closers, error)
        raise
    else:
        close_all(closers)
