"""The messages between the engine and its processes, sent over pipes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from windrow.contract import Crawl, Offering, Request
from windrow.engine.requests.answers import KeptAnswer
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
    """Where and how fetchers archive responses; `rotate` is the size of a file in bytes."""

    folder: Path
    session: int
    limits: Limits
    rotate: int
    agent: str


class TransferBatch(NamedTuple):
    """Listed files of one site, to be fetched over one connection."""

    number: int
    site: Site
    jobs: tuple[FetchJob, ...] = ()
    folders: tuple[str, ...] = ()  # or folders to list
    pace: float = 0.0  # least seconds between two requests to this host, over all batches
    abreast: int = 1  # requests in flight on the connection at a time


class CloseConnection(NamedTuple):
    """Close one idle connection to a site: another fetcher gets its next batch."""

    site: Site


class Halt(NamedTuple):
    """Begin no more jobs: finish those that have begun, and return the others."""


class TransferBegun(NamedTuple):
    """A long transfer has begun."""

    target: int
    at: datetime


class TransferProgress(NamedTuple):
    """A transfer has received `size` bytes so far."""

    target: int
    size: int


class ListedEntries(NamedTuple):
    """Entries of a site's folders."""

    batch: int
    entries: tuple[ListingEntry, ...]


class BatchBroken(NamedTuple):
    """Why a batch ended before its jobs, for example since the site could not be reached."""

    reason: Reason
    message: str
    hint: str
    retry: bool
    wait: float | None

    def describe(self, source: str) -> str:
        """Return the message with its hint, in which NAME becomes the name of the source."""
        return f"{self.message} ({self.hint.replace('NAME', source)})" if self.hint else self.message


class BatchEnded(NamedTuple):
    """A batch is done, or an origin is given up for this run; `untouched` jobs were not tried.

    If its process died while reading a response, `culprit` is the address of that response, 0 for a robots.txt;
    `spared` marks the other origins that this process walked.
    """

    batch: int
    untouched: tuple[int, ...] = ()
    broken: BatchBroken | None = None
    culprit: int | None = None
    spared: bool = False


class CrawlOrigin(NamedTuple):
    """An origin to walk: a batch whose jobs follow in groups. Its first request is made after `wait` seconds."""

    number: int
    source: Source
    origin: str
    crawl: Crawl
    options: Mapping[str, Any]
    wait: float = 0.0
    rules: HeldAnswer | None = None  # the robots.txt that another collection got in this run
    last: float = 0.0  # when another collection last made a request there, in UNIX seconds


class MoreJobs(NamedTuple):
    """Further addresses of an origin that is being walked."""

    batch: int
    jobs: tuple[FetchJob, ...]


class AttemptEnded(NamedTuple):
    """The attempt at one job of a batch, the addresses it links to, and those that a rule leaves out.

    The attempt has a `wait` where that is to be stored; `endless` says that new addresses of its origin have long
    brought nothing new.
    """

    batch: int
    attempt: Attempt
    found: tuple[FoundUrl, ...] = ()
    left: tuple[LeftOut, ...] = ()
    endless: bool = False
    held: int = 0  # the attempt of another collection whose response this is; 0 for a request of its own


Event = TransferBegun | TransferProgress | ListedEntries | AttemptEnded | BatchEnded


class Job(NamedTuple):
    """One document for a worker: which step to take, on which bytes."""

    step: int
    item: Item
    place: ArchivePlace  # of its capture
    options: Mapping[str, str]
    head: ArchivePlace | None = None  # of a later response that repeated those bytes
    source: Source | None = None  # of an attempt
    visited: datetime | None = None
    offers: tuple[Offering, ...] = ()
    answers: Mapping[str, KeptAnswer] = {}
    request: Request | None = None
    retakes: int = 0  # how often a stopped step is repeated
    stopped: tuple[Reading, ...] = ()  # the reading of each stop


class Done(NamedTuple):
    """The result of a step, and the seconds that it took."""

    result: Any
    seconds: float
