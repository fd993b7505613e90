"""The messages between the engine and its processes, sent over pipes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from windrow.contract import Crawl, Offering, Request
from windrow.engine.requests.answers import KeptAnswer
from windrow.errors import TransportError, WindrowError
from windrow.model import (
    ArchivePlace,
    Attempt,
    FetchJob,
    FoundUrl,
    HeldAnswer,
    Item,
    LeftOut,
    Limits,
    ListingEntry,
    Reading,
    Site,
    Source,
)
from windrow.reasons import Reason


class ArchiveSettings(NamedTuple):
    """Where and how fetchers archive responses. After `rollover_size` bytes, a new WARC file is begun."""

    folder: Path
    session: int  # its number, which is part of the files' names
    limits: Limits
    rollover_size: int
    agent: str  # the User-Agent of requests
    sandbox: bool = True  # whether the kernel lets fetchers write only there (`restrict_fetcher`)


class TransferBatch(NamedTuple):
    """Files of one site to fetch over one connection (`jobs`), or folders of the site to list."""

    number: int
    site: Site
    jobs: tuple[FetchJob, ...] = ()
    folders: tuple[str, ...] = ()
    pace: float = 0.0  # the minimum time between two requests to this host in all batches, in seconds
    parallel: int = 1  # the maximum number of requests on the connection at a time


class CloseConnection(NamedTuple):
    """Tells a fetcher to close one idle connection to a site, since another fetcher gets the site's next batch."""

    site: Site


class Halt(NamedTuple):
    """Tells a fetcher to finish the jobs that have begun, and to report the other jobs as untouched."""


class TransferBegun(NamedTuple):
    """A long transfer has begun; `target` is the number of the file."""

    target: int
    at: datetime


class TransferProgress(NamedTuple):
    """A transfer has received `size` bytes so far; `target` is the number of the file."""

    target: int
    size: int


class ListedEntries(NamedTuple):
    """Some of the entries of the folders that a batch lists."""

    batch: int
    entries: tuple[ListingEntry, ...]


class FolderMissing(NamedTuple):
    """A site does not have one of the folders to list."""

    batch: int
    folder: str


class BatchBroken(NamedTuple):
    """Why a batch ended before all its jobs were done, for example because the site could not be reached."""

    reason: Reason
    message: str
    hint: str
    retry: bool  # whether another attempt may succeed
    wait: float | None  # the pause in seconds that the server asked for, None if it did not

    @classmethod
    def of_error(cls, error: WindrowError) -> Self:
        """Describe an error of a transport or of the archive that ended a batch."""
        wait = error.wait if isinstance(error, TransportError) else None
        return cls(error.reason or Reason.PROTOCOL_ERROR, str(error), error.hint, error.retry, wait)

    @classmethod
    def of_fault(cls, error: Exception) -> Self:
        """Describe a lack of memory, or a bug in windrow, that ended a batch."""
        if isinstance(error, MemoryError):
            return cls(Reason.MEMORY_LIMIT, Reason.MEMORY_LIMIT.meaning, "", retry=False, wait=None)
        return cls(Reason.STEP_FAILED, f"{type(error).__name__}: {error}"[:1000], "", retry=False, wait=None)

    def describe(self, source: str) -> str:
        """Return the message and the hint. In the hint, NAME is replaced by the name of the source."""
        return f"{self.message} ({self.hint.replace('NAME', source)})" if self.hint else self.message


class BatchEnded(NamedTuple):
    """A batch is done, or the walk of an origin has ended. `untouched` has the targets of jobs that were not tried.

    When a walk ends, `untouched` may also have the last jobs that were tried. `broken` is None if the batch is done or
    was halted. If the fetcher died while it read a response of this batch, `culprit` is the response's target, or 0 for
    a robots.txt. If it died while it read a response of another batch, `spared` is true.
    """

    batch: int
    untouched: tuple[int, ...] = ()
    broken: BatchBroken | None = None
    culprit: int | None = None
    spared: bool = False


class CrawlOrigin(NamedTuple):
    """An origin to walk: a batch whose jobs are sent later. The first request is made after `wait` seconds.

    `settings` is a hash of the source's settings. `link_rules` is a hash of the settings and the robots.txt by which
    the links of the origin's pages were read last, or 0 if that is not known.
    """

    number: int
    source: Source
    origin: str
    crawl: Crawl
    options: Mapping[str, Any]
    wait: float = 0.0
    robots: HeldAnswer | None = None  # the origin's robots.txt, if another collection requested it in this run
    last_request: float = 0.0  # the UNIX time of another collection's last request to the origin, or 0
    settings: int = 0
    link_rules: int = 0


class MoreJobs(NamedTuple):
    """Further addresses of an origin that is being walked."""

    batch: int
    jobs: tuple[FetchJob, ...]


class AttemptEnded(NamedTuple):
    """The attempt at one job of a batch.

    `found` has the addresses that the response leads to, without those found recently; `left_out` has what rules and
    caps left out. In a walk, the attempt has a `wait` only if it is to be stored. `endless` is true if many new pages
    of the origin in a row repeated earlier texts. After a robots.txt, `link_rules` is as in `CrawlOrigin`, else 0.
    """

    batch: int
    attempt: Attempt
    found: tuple[FoundUrl, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    endless: bool = False
    held: int = 0  # the number of another collection's attempt whose response was used; 0 if a request was made
    link_rules: int = 0


Event = TransferBegun | TransferProgress | ListedEntries | FolderMissing | AttemptEnded | BatchEnded


class Job(NamedTuple):
    """One document for a worker: the step to run, and the place of the bytes that it reads."""

    step: int  # its index in the collection's steps
    item: Item
    place: ArchivePlace  # of its capture
    options: Mapping[str, str]
    head: ArchivePlace | None = None  # the place of a later response with the same bytes, None if there is none
    source: Source | None = None  # the source of an attempt, None for other items
    visited: datetime | None = None  # when the attempt was made
    offers: tuple[Offering, ...] = ()
    answers: Mapping[str, KeptAnswer] = {}
    request: Request | None = None
    retakes: int = 0  # how many times the step is repeated if it is stopped
    stopped: tuple[Reading, ...] = ()  # a failed reading for each time that it was stopped


class Done(NamedTuple):
    """The result of a job, and the seconds that the job took."""

    result: Any
    seconds: float
