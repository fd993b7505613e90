"""What the engine and its processes say to each other over their pipes."""

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
    """How and where fetchers keep what comes; `rotate` is a file's size in bytes."""

    folder: Path
    session: int
    limits: Limits
    rotate: int
    agent: str


class TransferBatch(NamedTuple):
    """Listed files for one connection to one site, to be got one after another."""

    number: int
    site: Site
    jobs: tuple[FetchJob, ...] = ()
    folders: tuple[str, ...] = ()  # or folders to list
    pace: float = 0.0  # least seconds between two requests to this host, over all batches
    abreast: int = 1  # requests in flight on the connection at a time


class CloseConnection(NamedTuple):
    """A site whose next batch another fetcher gets: one connection that rests here is to be closed."""

    site: Site


class Halt(NamedTuple):
    """Begin nothing more: what is in hand is finished, the rest of every batch goes back."""


class TransferBegun(NamedTuple):
    """A transfer that takes its time has begun."""

    target: int
    at: datetime


class TransferProgress(NamedTuple):
    """So many bytes of it are here."""

    target: int
    size: int


class ListedEntries(NamedTuple):
    """Some entries of a site's folders."""

    batch: int
    entries: tuple[ListingEntry, ...]


class BatchBroken(NamedTuple):
    """Why a batch ended before its requests did: the site could not be reached."""

    reason: Reason
    message: str
    hint: str
    retry: bool
    wait: float | None

    def told(self, source: str) -> str:
        """Say it of a source, with what to do about it: hints call the source NAME."""
        return f"{self.message} ({self.hint.replace('NAME', source)})" if self.hint else self.message


class BatchEnded(NamedTuple):
    """A batch is through, or an origin is left alone for this run; jobs that are `untouched` were not tried.

    Where its process ended over bytes of an origin, `culprit` is their address, 0 for the rules of its host; `spared`
    are the other origins that this process walked.
    """

    batch: int
    untouched: tuple[int, ...] = ()
    broken: BatchBroken | None = None
    culprit: int | None = None
    spared: bool = False


class WalkOrigin(NamedTuple):
    """An origin to walk: a batch whose jobs follow, some at a time. It is to be left alone for `wait` seconds first."""

    number: int
    source: Source
    origin: str
    crawl: Crawl
    options: Mapping[str, Any]
    wait: float = 0.0
    rules: HeldAnswer | None = None  # those that another collection got in this run
    last: float = 0.0  # when another one asked there last, in UNIX seconds


class MoreJobs(NamedTuple):
    """Addresses to ask of an origin that is walked."""

    batch: int
    jobs: tuple[FetchJob, ...]


class AttemptEnded(NamedTuple):
    """What came of one job of a batch, the addresses that it offers, and those that a rule leaves out.

    The attempt has a `wait` where that is to be put on record; `endless` says that for long no new address of its
    origin brought anything new.
    """

    batch: int
    attempt: Attempt
    found: tuple[FoundUrl, ...] = ()
    left: tuple[LeftOut, ...] = ()
    endless: bool = False
    held: int = 0  # the attempt of another collection whose answer it is; 0 where the host was asked


Event = TransferBegun | TransferProgress | ListedEntries | AttemptEnded | BatchEnded


class Job(NamedTuple):
    """One document for a worker: which step, on which bytes."""

    step: int
    item: Item
    place: ArchivePlace  # of the capture it lies in
    options: Mapping[str, str]
    head: ArchivePlace | None = None  # of the answer that brought those bytes again, where that is another one
    source: Source | None = None  # that of a visit
    visited: datetime | None = None
    offers: tuple[Offering, ...] = ()
    answers: Mapping[str, KeptAnswer] = {}
    request: Request | None = None
    retakes: int = 0  # how often the step is taken again where it was stopped
    stopped: tuple[Reading, ...] = ()  # why it was, each time


class Done(NamedTuple):
    """What the step made of it, and how long it took in seconds."""

    result: Any
    seconds: float
