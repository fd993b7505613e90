"""A session: take the lease, repair the archive, run the phases in order, return the exit code."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from windrow.archive import (
    lock_archive,
    mark_ledger,
    refuse_other_ledger,
    remove_old_parts,
    repair_archive,
)
from windrow.clock import now, spell
from windrow.contract import (
    Captures,
    Check,
    Crawl,
    Derive,
    Discovery,
    Judge,
    Listing,
    Load,
    Read,
    Requests,
    Settle,
    Step,
    Summarise,
)
from windrow.engine.archive_losses import find_losses, find_lost_files
from windrow.engine.check import index_archive
from windrow.engine.fetchers.fetcher_pool import FetcherPool
from windrow.engine.frontier import frontier_of
from windrow.engine.listed.rest import MAX_RECORDED_PAUSE
from windrow.engine.older_ledger import claim_store, mark_session, refuse_wrong_ledger
from windrow.engine.plain_values import step_modules
from windrow.engine.progress import Progress
from windrow.engine.requests.origin_rules import crawl_of
from windrow.engine.returned_records import erase_returned
from windrow.engine.run import (
    MAX_COMMENT_LENGTH,
    Close,
    Harvest,
    HarvestRun,
    Projection,
    SessionRequests,
    SessionSettings,
    close_all,
    closing_all,
)
from windrow.engine.runtime import signals_to, warm_up
from windrow.engine.steps.due import due_attempts
from windrow.engine.steps.pool import Pool
from windrow.engine.steps.sandbox import linked_files
from windrow.engine.steps.settling import settle_step
from windrow.engine.steps.stepping import derive_step, take_step
from windrow.engine.steps.worker import WorkerConfig
from windrow.errors import SOURCES_FAILED, ConfigError, Stopped, StoreError, WindrowError
from windrow.formats.text import counted
from windrow.ledger import Lease, Ledger, LedgerWriter
from windrow.ledger.lease import name_this_process
from windrow.private_files import private_files
from windrow.reasons import Reason
from windrow.stores.sqlite import remove_scratch

WORK: dict[type[Step], Callable[[HarvestRun, Any], None]] = {
    Read: take_step,
    Check: take_step,
    Load: take_step,
    Judge: take_step,
    Summarise: take_step,
    Settle: settle_step,
    Derive: derive_step,
}
"""A dict from kind of step to the function that runs such steps."""


def _list_and_fetch(run: HarvestRun, _discovery: Listing) -> None:
    from windrow.engine.listed import comparing, fetching, listing  # noqa: PLC0415 a run loads only what it needs

    failed_sources = listing.list_all(run)
    if run.harvest.again:  # only now is it known which files the sources still have
        _fetch_again(run, failed_sources)
    if not run.stopping():
        fetching.Fetching(run, failed_sources).run()
        comparing.compare_folders(run)
    if not run.stopping():
        comparing.compare_mirrors(run, failed_sources)


def _fetch_again(run: HarvestRun, excluded: AbstractSet[str] = frozenset()) -> None:
    sources = [source for source in run.harvest.sources if source.name not in excluded]
    frontier_of(run.ledger, run.collection).fetch_again(run.session, sources)


def _request_addresses(run: HarvestRun, _discovery: Crawl | Requests) -> None:
    if not any(source.site.scheme for source in run.harvest.sources):
        return
    from windrow.engine.crawl.crawling import CrawlDispatcher  # noqa: PLC0415 as in _list_and_fetch

    crawl = crawl_of(run.collection)
    assert crawl is not None
    with CrawlDispatcher(run, crawl) as crawling:
        crawling.run()


def _take_captures(run: HarvestRun, discovery: Captures) -> None:
    from windrow.engine.captures.capturing import Capturing  # noqa: PLC0415 as in _list_and_fetch

    Capturing(run, discovery).run()


FETCH: dict[type[Discovery], Callable[[HarvestRun, Any], None]] = {
    Listing: _list_and_fetch,
    Crawl: _request_addresses,
    Requests: _request_addresses,
    Captures: _take_captures,
}
"""A dict from kind of discovery to the function that finds and fetches its documents."""


class Session:
    """One run of a workspace, from taking the lease to recording the end.

    `number` is the number of the session's fact on the ledger, and is part of the names of its WARC files. `ordinal` is
    shown to people: 1 for the first session, 2 for the second. `stops` is how often Ctrl-C or SIGTERM was received.
    `repaired` has messages on what was repaired in the archive, and `losses` on what is missing in it, or was taken
    down and is there again.
    """

    def __init__(self, settings: SessionSettings, command: str, progress: Progress | None = None) -> None:
        """Take the lease, repair what a crash left in the archive, and record the session with its `command`.

        If an earlier session was under way at a later time than now, a task that says so is recorded.
        """
        self.settings = settings
        self.progress = progress or Progress(quiet=True)
        self.ledger = Ledger(settings.ledger)
        self.stops = 0
        self.failed = 0
        self._requested_before = SessionRequests()
        self._projections: list[Projection] = []
        self._closed = False
        self._modes = ExitStack()  # the modes of new files, restored when the session is closed
        self._modes.enter_context(private_files(group_reads=settings.group_reads))
        lease = None
        try:
            lease = self.lease = Lease(self.ledger)
            with lock_archive(settings.archive):
                recorded_ends = self.ledger.captures.promised()
                refuse_other_ledger(settings.archive, self.ledger.sessions.identity(), recorded_ends)
                refuse_wrong_ledger(self.ledger, settings.archive, settings.read_marks(self.ledger))
                self.repaired = repair_archive(settings.archive, recorded_ends)
                erased, not_erased = erase_returned(self.ledger, settings.archive)
                self.repaired += [*erased, *_remove_left_replays(settings.left_replays)]
                self.losses = [*find_losses(settings.archive, lambda: recorded_ends), *not_erased]
                self._lost_files = frozenset(find_lost_files(settings.archive, recorded_ends))
            last_time, before = self.ledger.sessions.last_at(), self.ledger.sessions.latest()
            with self.ledger.writing() as writer:
                self.number = writer.sessions.open(name_this_process(), command)
                if last_time and last_time > spell(now()):
                    self._mend_times(writer, last_time, before)
            session_row = self.ledger.sessions.get(self.number)
            self.ordinal = session_row.number if session_row else 0
            mark_ledger(settings.archive, self.ledger.sessions.identity())
            mark_session(settings.archive, self.ledger, self.number)
        except BaseException:
            if lease is not None:
                with suppress(WindrowError):
                    lease.release()
            self.ledger.close()
            self._modes.close()
            raise

    def _mend_times(self, writer: LedgerWriter, last_time: str, before: int | None) -> None:
        """Record that a session was under way at `last_time`, later than now, and make due what would wait for it.

        Facts are ordered by number, but times at which addresses are due may be those of a clock that was ahead. What
        was requested while it was ahead is made due once: by the next session after `before`, if that one was ahead.
        """
        at = now()
        number = writer.addresses.make_far_due(int(at.timestamp() + MAX_RECORDED_PAUSE))
        session_before = self.ledger.sessions.get(before) if before else None
        if session_before and max(session_before.began, session_before.ended or session_before.began) > at:
            number += writer.addresses.make_ahead_due(at)
        task = writer.sessions.open_task(self.number, collection="", source="", phase=1)
        message = f"an earlier session was under way at {last_time}, later than now"
        if number:
            message += f"; made due: {counted(number, 'address')} that would wait for that time"
        if requests := self.ledger.attempts.count_ahead(at):
            message += f"; what {counted(requests, 'request')} gave then stands before what is received until then"
        writer.sessions.close_task(task, Reason.CLOCK_WENT_BACK, message, failed=False)

    def run_harvest(
        self, harvest: Harvest, *, phases: frozenset[str] | None = None, limit: int | None = None,
        fetch: bool = True, since: datetime | None = None,
    ) -> None:  # fmt: skip
        """Run a harvest's phases in order, each after the one before has ended, and close the harvest's stores.

        Only the steps of `phases` are run (None: all). At most `limit` items are fetched (None: all). Files that their
        source dates before `since` are not fetched. If `fetch` is false, the discoveries are not run; but WARC files
        are imported, and steps may ask services.
        """
        settings = replace(self.settings, limits=harvest.limits or self.settings.limits)
        is_listed = isinstance(harvest.collection.discovery, Listing)
        schemes = {source.site.scheme for source in harvest.sources} if is_listed else ()
        warm_up(schemes, step_modules(harvest.collection))
        self._projections += [harvest.projection] if harvest.projection else []
        close_stores = [store.close for store in (harvest.store, harvest.version_store) if store]
        with ExitStack() as stack:
            stack.enter_context(closing_all(*close_stores))
            for store in (harvest.store, harvest.version_store):
                claim_store(store, self.ledger)
            fetchers = FetcherPool(settings.for_fetchers(self.number), settings.fetchers)
            stack.enter_context(closing_all(lambda: fetchers.close(at_once=self.stops > 1)))
            config = WorkerConfig(
                harvest.collection, settings.archive, settings.limits, harvest.resources,
                _readable_paths(harvest, settings.archive), settings.sandbox, settings.secret_variables,
            )  # fmt: skip
            pool = Pool(config, settings.workers)
            stack.enter_context(closing_all(lambda: pool.close(at_once=self.stops > 1)))
            run = HarvestRun(
                harvest, settings, ledger=self.ledger, lease=self.lease, fetchers=fetchers, pool=pool,
                session=self.number, progress=self.progress, stopping=lambda: self.stops, limit=limit, since=since,
                session_requests=self._requested_before, lost_files=self._lost_files,
            )  # fmt: skip
            try:
                self._run_phases(run, phases, fetch=fetch)
            finally:
                self.failed += run.failed
        run.tick(force=True)

    def _run_phases(self, run: HarvestRun, phases: frozenset[str] | None, *, fetch: bool) -> None:
        if run.harvest.warc_files:
            from windrow.engine.crawl.warc_import import WarcImporter  # noqa: PLC0415 as in _list_and_fetch

            WarcImporter(run).run()
        if fetch:
            self._fetch(run)
        run.fetchers.close()
        for step in run.collection.steps:
            if self.stops:
                break
            if phases is None or step.phase in phases:
                WORK[type(step)](run, step)
                run.tick()
        if self.stops and run.harvest.version_store is not None:
            _note_unread(run, run.harvest.version_store.checkpoint())

    def _fetch(self, run: HarvestRun) -> None:
        if run.harvest.again and not isinstance(run.collection.discovery, Listing):
            _fetch_again(run)
        for discovery in run.collection.discoveries:
            if not self.stops:
                FETCH[type(discovery)](run, discovery)
        remove_old_parts(self.settings.archive)

    def add_failed_task(self, collection: str, error: WindrowError) -> None:
        """Record that a collection could not be harvested, as a failed task with the `error` and its hint."""
        comment = f"{collection}: {error}" + (f" ({error.hint})" if error.hint else "")
        with self.ledger.writing() as writer:
            task = writer.sessions.open_task(self.number, collection, source="", phase=1)
            writer.sessions.close_task(task, error.reason, comment[:MAX_COMMENT_LENGTH], failed=True)
        self.failed += 1

    def add_projection(self, projection: Projection) -> None:
        """Add a projection that is updated and closed at the end of the session."""
        self._projections.append(projection)

    def close(self, outcome: int | None = None, error: BaseException | None = None) -> int:
        """Index the archive, record the end, update and close the projections, and release the lease.

        Return the exit code: `outcome`, or by default the session's own. The ledger stays open for reading. All of this
        is done even if a part of it fails. The first error is raised at the end, or added as a note to `error`, the
        error that is being handled.
        """
        self._closed = True
        exit_code = outcome if outcome is not None else 130 if self.stops else SOURCES_FAILED if self.failed else 0
        closers: list[Close] = [
            lambda: index_archive(self.ledger, self.settings.archive),
            lambda: self._record_end(exit_code),
        ]
        for projection in self._projections:
            closers += [partial(projection.catch_up, self.ledger), projection.close]
        close_all([*closers, self.lease.release, self._modes.close], error)
        return exit_code

    def _record_end(self, exit_code: int) -> None:
        with self.ledger.writing() as writer:
            writer.sessions.close(self.number, exit_code)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the session if it is open (exit code 130 after a stop, 1 after another error), then the ledger."""
        closers: list[Close] = [self.ledger.close]
        if not self._closed:
            stopped = isinstance(error, KeyboardInterrupt | Stopped)
            exit_code = 130 if stopped else 1 if error else None
            closers.insert(0, lambda: self.close(exit_code, error))
        close_all(closers, error)

    @contextmanager
    def polite_stop(self) -> Iterator[None]:
        """In the block, let the first Ctrl-C or SIGTERM end the run after the items in progress.

        The second one raises KeyboardInterrupt.
        """

        def count_stop(_number: int, _frame: FrameType | None) -> None:
            self.stops += 1
            if self.stops == 1:
                os.write(2, b"\nfinishing the items in progress; Ctrl-C again stops at once\n")
            else:
                raise KeyboardInterrupt

        with signals_to(count_stop):
            yield


def _note_unread(run: HarvestRun, checkpoint: int) -> None:
    """Record how many requests were made whose answers the stopped run does not read."""
    count, name = sum(1 for _ in due_attempts(run.ledger, run.collection, checkpoint)), run.collection.name
    if count:
        message = f"{name}: {counted(count, 'answer')} kept and not read yet: the next run reads them"
        run.close_task(run.open_task(phase=1), message)  # a task of the step's own phase says that the session read


def _remove_left_replays(folders: Mapping[Path, Sequence[str]]) -> Iterator[str]:
    """Remove what killed replays left, and yield a message for each folder; `windrow status` names one that remains."""
    for folder, databases in folders.items():
        with suppress(StoreError, OSError):
            remove_scratch(folder, databases)
            yield f"{folder.name} was removed, which a killed replay had left"


def _readable_paths(harvest: Harvest, archive: Path) -> tuple[Path, ...]:
    """Return what workers may read outside the archive: other programs' captures, and the targets of links."""
    inputs = []
    for source in harvest.sources:
        with suppress(ConfigError):  # of a remote folder; the run reports it
            inputs.append(harvest.collection.inputs(source))
    warc_paths = {path for source_inputs in inputs for path in source_inputs.warc}
    index_paths = {path for source_inputs in inputs for path in source_inputs.cdx if not path.is_fifo()}
    paths = {*warc_paths, *(path if path.is_dir() else path.parent for path in index_paths)}
    return (*paths, *linked_files([archive, *paths]))
