"""A session: the lease taken, the archive mended, the phases in order, the summary told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any

from windrow.contract import Check, Collection, Derive, Judge, Load, Read, Settle, Step, Summarise
from windrow.digest import digest
from windrow.engine.context import warm
from windrow.engine.crawling import Crawling
from windrow.engine.crew import Crew
from windrow.engine.deriving import derive_step
from windrow.engine.fetching import Fetching
from windrow.engine.indexing import index_archive
from windrow.engine.intake import Intake
from windrow.engine.ledger import Lease, Ledger
from windrow.engine.ledger.lease import holder
from windrow.engine.ledger.moment import now, spell
from windrow.engine.listing import list_all
from windrow.engine.loading import load_step
from windrow.engine.message import Keep
from windrow.engine.pool import Pool
from windrow.engine.progress import Progress
from windrow.engine.run import Books, Harvest, Run
from windrow.engine.settling import settle_step
from windrow.engine.stepping import take_step
from windrow.engine.wish import heard_by
from windrow.engine.worker import Desk
from windrow.errors import WindrowError
from windrow.model import Limits
from windrow.reasons import Reason
from windrow.stores.archive import alone, mark_ledger, mend, refuse_other_ledger, sweep

SOME_FAILED = 3

WORK: dict[type[Step], Callable[[Run, Any], None]] = {
    Read: take_step,
    Check: take_step,
    Load: load_step,
    Judge: load_step,
    Summarise: load_step,
    Settle: settle_step,
    Derive: derive_step,
}
"""What takes each kind of step."""


@dataclass(frozen=True, slots=True)
class Setup:
    """How this machine runs sessions."""

    ledger: Path
    archive: Path
    limits: Limits
    rotate: int = 1 << 30
    fetchers: int = 2
    workers: int = 2
    agent: str = "windrow"


class Session:
    """One run of a workspace, from lease to summary."""

    def __init__(self, setup: Setup, command: str, progress: Progress | None = None) -> None:
        """Take the lease, put the session on record, and mend what a crash left."""
        self.setup = setup
        self.progress = progress or Progress(quiet=True)
        self.ledger = Ledger(setup.ledger)
        self.stops = 0
        self.failed = 0
        self._books: list[Books] = []
        lease = None
        try:
            lease = self.lease = Lease(self.ledger)
            with alone(setup.archive):
                promised = self.ledger.captures.promised()
                refuse_other_ledger(setup.archive, self._identity(), promised)
                self.mended = mend(setup.archive, promised)
            last = self.ledger.sessions.last_at()
            with self.ledger.writing() as writer:
                self.number = writer.sessions.open(holder(), command)
                if last and last > spell(now()):
                    # Order is by seq, so nothing goes wrong; but it must be known.
                    task = writer.sessions.open_task(self.number, "", "", 1)
                    ended = f"the last session ended at {last}"
                    writer.sessions.close_task(task, Reason.CLOCK_WENT_BACK, ended, failed=False)
            mark_ledger(setup.archive, self._identity())
        except BaseException:
            if lease is not None:
                with suppress(WindrowError):
                    lease.release()
            self.ledger.close()
            raise

    def harvest(
        self, harvest: Harvest, *, phases: frozenset[str] | None = None, limit: int | None = None,
        fetch: bool = True, since: datetime | None = None,
    ) -> None:  # fmt: skip
        """Run a harvest's phases in order; each begins when the one before is through for every item."""
        setup = replace(self.setup, limits=harvest.limits or self.setup.limits)
        # A crawl has lines of its own, unless they go through a proxy.
        sites = [one.site for one in harvest.sources if one.site.proxy or not harvest.collection.crawl]
        warm({site.scheme for site in sites}, _modules(harvest.collection))
        self._books += [harvest.books] if harvest.books else []
        keep = Keep(setup.archive, self.number, setup.limits, setup.rotate, setup.agent)
        crew = Crew(keep, setup.fetchers)
        pool = Pool(Desk(harvest.collection, setup.archive, setup.limits, harvest.resources), setup.workers)
        run = Run(
            harvest, self.ledger, self.lease, crew, pool, self.number, setup.archive, setup.limits,
            self.progress, lambda: self.stops, limit, since,
        )  # fmt: skip
        try:
            if harvest.lots:
                Intake(run).run()
            if fetch:
                self._fetch(run)
            crew.close()
            for step in harvest.collection.steps:
                if self.stops:
                    break
                if phases is None or step.phase in phases:
                    WORK[type(step)](run, step)
                    run.tick()
        finally:
            self.failed += run.failed
            crew.close(at_once=self.stops > 1)
            pool.close(at_once=self.stops > 1)
            for one in (harvest.store, harvest.chronicle):
                if one:
                    one.close()
        run.tick(force=True)

    def _identity(self) -> str:
        """Return what tells this ledger from all others; empty before its first session."""
        first = self.ledger.sessions.first()
        return digest(first.encode()) if first else ""

    def _fetch(self, run: Run) -> None:
        """Ask the sources: by the links of their pages where the collection is walked, else by their listings."""
        if crawl := run.harvest.collection.crawl:
            Crawling(run, crawl).run()
        else:
            down = list_all(run)
            if self.stops:
                return
            Fetching(run, down).run()
        sweep(self.setup.archive)

    def follow(self, books: Books) -> None:
        """Bring these books up to date, with the session's own end, and close them when it closes."""
        self._books.append(books)

    def close(self, outcome: int | None = None) -> int:
        """Put the end on record, give the lease back, and return the exit code."""
        code = outcome if outcome is not None else 130 if self.stops else SOME_FAILED if self.failed else 0
        index_archive(self.ledger, self.setup.archive)
        with self.ledger.writing() as writer:
            writer.sessions.close(self.number, code)
        for books in self._books:
            books.catch_up(self.ledger)
            books.close()
        self.lease.release()
        return code

    @contextmanager
    def polite_stop(self) -> Iterator[None]:
        """Let the first Ctrl-C finish what is in hand, and the second stop at once."""

        def heard(_number: int, _frame: FrameType | None) -> None:
            self.stops += 1
            if self.stops == 1:
                os.write(2, b"\nfinishing what is in hand; Ctrl-C again stops at once\n")
            else:
                raise KeyboardInterrupt

        with heard_by(heard):
            yield


def _modules(collection: Collection) -> set[str]:
    """Return the modules of the functions that readers and fetchers run for a collection."""
    modules = {one.run.__module__ for one in collection.steps if not isinstance(one, Summarise | Derive)}
    return modules | ({collection.crawl.rules.__module__} if collection.crawl else set())
