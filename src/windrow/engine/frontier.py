"""The frontier of a collection: what it has still to get, however that is found, and what is decided about it.

Of the two classes one is for the files that sources list, the other for addresses that are asked one by one. Nobody
above the engine asks which of them it has: both have the same methods, and what differs is what these return. A
preview says without a connection, and without a fact on the ledger, what a run would ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from windrow.clock import now
from windrow.contract import Collection, Crawl, ItemStep
from windrow.digest import number
from windrow.engine.listed import rest
from windrow.engine.requests.origin_rules import walked
from windrow.engine.steps.due import due
from windrow.ledger import Lease, Ledger, LedgerWriter
from windrow.ledger.rows import SourceRecord
from windrow.ledger.sessions import RuleCount, holder
from windrow.ledger.typed.addresses import ChosenAddress
from windrow.ledger.typed.listed_files import KnownFile
from windrow.ledger.typed.mirrors import Mirror
from windrow.ledger.typed.unread import UnreadAddress
from windrow.model import Finding, FoundUrl, Level, OfferingHost, Source, State, Status
from windrow.reasons import Reason


class FetchBounds(NamedTuple):
    """How much to fetch at most, what is too old, and whether what is done is fetched once more."""

    limit: int | None = None
    since: datetime | None = None
    again: bool = False

    def leaves_out(self, modified: datetime | None) -> bool:
        """Tell whether something of this date is too old; what has no date is not."""
        return self.since is not None and modified is not None and modified < self.since


class PlannedSource(NamedTuple):
    """A source that a run would ask: what it would list there, and what it would then fetch.

    `waiting` and `bytes` are what the ledger already knows of: new files show only when it is
    listed. `seconds` at the pace measured so far, None where nothing was measured.
    """

    source: str
    collection: str
    address: str
    folders: tuple[str, ...]
    asked: bool
    why_not: str
    waiting: int
    bytes: int
    seconds: float | None


class Waiting(NamedTuple):
    """Something that waits to be fetched, and the source that a run would ask for it first."""

    key: str
    source: str
    path: str
    bytes: int | None


class Reads(NamedTuple):
    """How many items are due for a phase already."""

    phase: str
    items: int


@dataclass(frozen=True, slots=True)
class Preview:
    """What a run would do, told without a connection and without a fact on the ledger."""

    sources: tuple[PlannedSource, ...]
    waiting: tuple[Waiting, ...]
    documents: tuple[Reads, ...]


def why_not_asked(source: Source) -> str:
    """Say why a source is not asked; empty where it is."""
    state = "" if source.active else source.options.get("state", "inactive")
    return "its owner is not active" if state == "available" else str(state)


RETRY, CANCEL = "retry", "cancel"

SHOWN = 50
"""Addresses that a preview names one by one."""

ROBOTS = ("robots.txt",)
"""What is asked of a host before any of its addresses."""

EVER = 2**62
"""A time in UNIX seconds that comes after every time at which an address is due."""


class Chosen(NamedTuple):
    """A listed file, and the members of its latest attempt that wait for a step; or an address.

    The state of a file is its pending step: a projection may have another word for that. The children of an address
    are its visits that a step did not read, and not by their fault. One that was chosen only for these stands at the
    phase of the first step, not at that of requests. `through` tells whether all of it went all the way.
    """

    number: int
    key: str
    state: State
    children: tuple[tuple[int, State], ...]
    through: bool = False


class FileFrontier:
    """The files that sources of a collection list, in tasks of phase `asked_at`; they are fetched in `fetched_at`."""

    def __init__(self, ledger: Ledger, collection: Collection) -> None:
        self._ledger = ledger
        self._collection = collection
        self._listing = collection.listing
        self.asked_at = collection.phase(self._listing.list_phase)
        self.fetched_at = self._listing.fetch_phase

    def spellings(self, name: str) -> tuple[str, ...]:
        """Return the keys that a name may stand for: it may be whole, or the name alone (`NAME` of `add/NAME`)."""
        return (name, *(f"{folder}/{name}" for folder in self._listing.folders))

    def named(self, names: Iterable[str]) -> list[Chosen]:
        """Find the files that are named; those that are not known are left out."""
        keys = sorted({key for name in names for key in self.spellings(name)})
        files = self._ledger.listed_files.known(self._collection.name, keys)
        return [self._chosen(file) for file in files.values()]

    def narrowed(self, act: str, source: str, reason: str) -> list[Chosen]:
        """Find what failed (for `retry`) or waits (for `cancel`), of a source and for a reason; empty means any."""
        statuses = (Status.FAILED, Status.CANCELLED) if act == RETRY else (Status.PENDING, Status.PENDING)
        return self.named(self._ledger.listed_files.keys_by_status(self._collection.name, statuses, source, reason))

    def decide(self, writer: LedgerWriter, session: int, act: str, chosen: Sequence[Chosen]) -> None:
        """Have files fetched again, or end them where they stand, with those documents of each that are not through."""
        reason = Reason.RETRIED if act == RETRY else Reason.CANCELLED
        message = "" if act == RETRY else reason.meaning
        for file in chosen:
            for child, (phase, _) in file.children:
                writer.items.end(session, child, reason, message)
                if act == CANCEL:
                    writer.items.find(session, child, phase, [Finding("Cancelled", message, Level.WARN)])
            if act == RETRY:
                asked = "an operator asked for another attempt"
                writer.items.retry(session, file.number, self._listing.fetch_phase, asked)
            else:
                writer.items.end(session, file.number, reason, message)

    def put_back(self, session: int, sources: Iterable[Source]) -> int:
        """Have all that these sources list, done or failed, fetched once more; return how many files that are."""
        files = sorted({mirror.file for mirror in self._done(source.name for source in sources)})
        with self._ledger.writing() as writer:
            for file in files:
                writer.items.retry(session, file, self._listing.fetch_phase)
        return len(files)

    def preview(self, sources: Sequence[Source], bounds: FetchBounds, phases: AbstractSet[str] | None) -> Preview:
        """Return what a run would ask of these sources, and the documents that are due for phases (None: for all)."""
        waiting = self._waiting({source.name: source for source in sources if source.active}, bounds)
        pace = self._ledger.attempts.by_source()
        planned = []
        for source in sources:
            files = [file for file in waiting if file.source == source.name]
            size = sum(file.bytes or 0 for file in files)
            seconds = _seconds(source, pace.get(source.name), len(files), size)
            planned.append(
                PlannedSource(
                    source.name, self._collection.name, source.site.address(), self._listing.folders, source.active,
                    why_not_asked(source), len(files), size, seconds,
                )
            )  # fmt: skip
        return Preview(tuple(planned), waiting, self._documents(phases))

    def resting(self, at: datetime) -> list[rest.RestingFile]:
        """Return the files that failed in session after session, and are left alone at a moment."""
        return rest.resting(self._ledger, self._collection, at)

    def left_out(self, source: str) -> list[RuleCount]:
        """Return nothing: what a listing names and is not wanted is refused, by its name."""
        del source
        return []

    def activity(self, phase: int) -> str:
        """Say what a task of a phase does at a source, such as listing; empty where it takes the step of that phase."""
        if phase in {self._collection.phase(step.phase) for step in self._collection.steps}:
            return ""
        return "fetching" if phase == self._collection.fetch_phase else "listing"

    def _is_untouched(self, file: int) -> bool:
        """Tell whether a file is refused, or waits for its transfer anyhow."""
        step = self._ledger.items.pending(file)
        if step is None:
            return False
        waits = step.step == self._listing.fetch_phase and step.status is Status.PENDING
        return waits or (not step.step and step.status is Status.FAILED)

    def _chosen(self, row: KnownFile) -> Chosen:
        """Return a file with those of its documents that wait for a step."""
        members = self._ledger.members.brought(row.attempt)
        phase = self._collection.phase
        children = tuple(
            (member.member, (phase(member.step), member.status))
            for member in members
            if member.step and member.status is Status.PENDING
        )
        if step := self._ledger.items.pending(row.file):
            state = phase(step.step or self._listing.list_phase), step.status
            return Chosen(row.file, row.key, state, children)
        steps = self._collection.steps
        last = phase(steps[-1].phase if steps else self._listing.fetch_phase), Status.DONE
        through = all(member.status is None for member in members)
        return Chosen(row.file, row.key, last, children, through)

    def _waiting(self, active: Mapping[str, Source], bounds: FetchBounds) -> tuple[Waiting, ...]:
        """Return what is new, cut or failed for a passing reason, from its best host."""
        if not active:
            return ()
        step = self._listing.fetch_phase
        failed = due(self._ledger, self._collection, step, Status.FAILED)
        wanted = [*due(self._ledger, self._collection, step), *rest.divide(self._ledger, failed, now())[0]]
        mirrors: dict[int, dict[str, Mirror]] = {file.item.id: {} for file in wanted}
        for mirror in chain(self._ledger.mirrors.of_files([*mirrors]), self._done(active) if bounds.again else ()):
            if mirror.source in active and not bounds.leaves_out(mirror.modified):
                mirrors.setdefault(mirror.file, {}).setdefault(mirror.source, mirror)
        pace = self._ledger.attempts.by_source()
        waiting = []
        for by_source in [*filter(None, mirrors.values())][: bounds.limit]:
            hosts = [offering_host(active[source], pace.get(source)) for source in by_source]
            owner = next(iter(by_source.values())).owner
            best = self._listing.prefer(owner, hosts)[0].source
            mirror = by_source[best]
            waiting.append(Waiting(mirror.key, best, active[best].site.address(mirror.path), mirror.size))
        return tuple(waiting)

    def _done(self, sources: Iterable[str]) -> Iterator[Mirror]:
        """Yield what `put_back` would: all that these sources list and that is done or failed."""
        mirrors = chain.from_iterable(map(self._ledger.mirrors.of_source, sources))
        return (mirror for mirror in mirrors if mirror.present and not self._is_untouched(mirror.file))

    def _documents(self, phases: AbstractSet[str] | None) -> tuple[Reads, ...]:
        """Count the documents that are due for steps."""
        counts = self._ledger.items.count_due(self._collection.name)
        steps = [step for step in self._collection.steps if isinstance(step, ItemStep)]
        reads = [
            Reads(step.phase, counts[step.phase])
            for step in steps
            if (phases is None or step.phase in phases) and counts.get(step.phase)
        ]
        return tuple(reads)


class AddressFrontier:
    """The addresses of a collection, each of them due at a time; `asked_at` is the phase of the tasks that ask them."""

    def __init__(self, ledger: Ledger, collection: Collection, crawl: Crawl) -> None:
        """Look at this collection's addresses on the ledger, which are asked as `crawl` says."""
        self._ledger = ledger
        self._collection = collection
        self._crawl = crawl
        self.asked_at = 1
        self.fetched_at = collection.phases[0]

    def spellings(self, name: str) -> tuple[str, ...]:
        """Return the address that a name stands for, as it is kept; nothing where it is none."""
        url = self._crawl.normal(name)
        return (url,) if url else ()

    def named(self, names: Iterable[str]) -> list[Chosen]:
        """Find the addresses that are named; those that are not known are left out, and those that were taken down."""
        digests = [number(url) for name in names for url in self.spellings(name)]
        known = self._ledger.addresses.chosen(self._collection.name, digests)
        return self._chosen(known, self._ledger.unread.addresses(self._collection.name, among=digests))

    def narrowed(self, act: str, source: str, reason: str) -> list[Chosen]:
        """Find what fails (for `retry`) or waits (for `cancel`), of a source and for a reason; empty means any."""
        rows = self._ledger.addresses.failing if act == RETRY else self._ledger.addresses.waiting
        unread = self._ledger.unread.addresses(self._collection.name, source, reason)
        return self._chosen(rows(self._collection.name, source, reason), unread)

    def decide(self, writer: LedgerWriter, session: int, act: str, chosen: Sequence[Chosen]) -> None:
        """Have addresses asked next, or never again, and those visits to them read that a step did not read."""
        del session  # that an operator decided so is told by its session alone
        asked = [address.number for address in chosen if address.state[0] == 1]
        writer.addresses.due_at(self._collection.name, asked, 1 if act == RETRY else None)
        visits = [(phase, visit) for address in chosen for visit, (phase, _) in address.children]
        (writer.unread.ask if act == RETRY else writer.unread.remove)(visits)

    def put_back(self, session: int, sources: Iterable[Source]) -> int:
        """Have all addresses of these sources asked once more; return how many they are."""
        del session
        names = {source.name for source in sources}
        with self._ledger.writing() as writer:
            hosts = self._ledger.addresses.hosts(self._collection.name)
            return writer.addresses.due_again(host.seq for host in hosts if host.source in names)

    def preview(self, sources: Sequence[Source], bounds: FetchBounds, phases: AbstractSet[str] | None) -> Preview:
        """Return what a run would ask of these sources: what is due of what is known, and beginnings that are new."""
        del phases  # which documents its steps take is known to the version store alone
        if not sources:
            return Preview((), (), ())
        at = EVER if bounds.again else int(now().timestamp())
        due = self._due(at)
        pace = self._ledger.attempts.seconds_by_origin(self._collection.name)
        room = SHOWN if bounds.limit is None else min(bounds.limit, SHOWN)
        planned, waiting = [], []
        for source in sources:
            by_origin = dict(due.get(source.name, {}))
            fresh = [address for address in self._beginnings(source) if not self._is_known(source, address)]
            for address in fresh:
                by_origin[address.origin] = by_origin.get(address.origin, 0) + 1
            bound = min(
                most for most in (bounds.limit, source.most or None, sum(by_origin.values())) if most is not None
            )
            delay = float(source.options.get("delay", 0))
            seconds = max((many * max(delay, pace.get(origin, 0.0)) for origin, many in by_origin.items()), default=0.0)
            listed = ROBOTS if source.site.scheme else ()  # without a scheme it takes captures of others alone
            planned.append(
                PlannedSource(
                    source.name, self._collection.name, source.site.address(), listed, source.active,
                    why_not_asked(source), bound, 0, round(seconds, 1),
                )
            )  # fmt: skip
            if source.active:
                known = self._ledger.addresses.next_of_source(self._collection.name, source.name, at, room)
                urls = [*known, *(address.url for address in fresh)]
                waiting += [Waiting(url, source.name, url, None) for url in urls[:room]]
        return Preview(tuple(planned), tuple(waiting[:room]), ())

    def resting(self, at: datetime) -> list[rest.RestingFile]:
        """Return nothing: an address that fails is due again at its own time."""
        del at
        return []

    def left_out(self, source: str) -> list[RuleCount]:
        """Return what rules left out of a source in the last session that met such links.

        A session that reads no page anew meets no link.
        """
        rules = [
            (task.session, rule)
            for task in self._ledger.sessions.tasks_of_source(source)
            if task.reason and task.comment and (rule := RuleCount.read(source, task.reason, task.comment))
        ]
        return [rule for session, rule in rules if session == rules[-1][0]]

    def activity(self, phase: int) -> str:
        """Return nothing: a task does what its phase is called."""
        del phase
        return ""

    def _chosen(self, rows: Iterable[ChosenAddress], unread: Iterable[UnreadAddress]) -> list[Chosen]:
        """Join addresses with their visits that were not read; those that have nothing but such visits come last."""
        visits: dict[int, list[UnreadAddress]] = {}
        for visit in unread:
            visits.setdefault(visit.address, []).append(visit)
        chosen = []
        for row in rows:
            status = Status.FAILED if row.failures else Status.PENDING if (row.due or 0) <= 1 else Status.DONE
            state = (1, Status.CANCELLED if row.due is None else status)
            chosen.append(Chosen(row.digest, row.url, state, _states(visits.pop(row.digest, ()))))
        if visits:
            state = (self._collection.phase(self._collection.steps[0].phase), Status.FAILED)
            chosen += [Chosen(rest[0].address, rest[0].url, state, _states(rest)) for rest in visits.values()]
        return chosen

    def _due(self, at: int) -> dict[str, dict[str, int]]:
        """Return how many addresses of each source are due at a time (UNIX seconds), by origin."""
        counts: dict[str, dict[str, int]] = {}
        for row in self._ledger.addresses.due_by_host(self._collection.name, at):
            counts.setdefault(row.source, {})[row.origin] = row.number
        return counts

    def _beginnings(self, source: Source) -> Sequence[FoundUrl]:
        """Return what a source begins with: its seeds, or its first requests."""
        if not self._crawl.by_request:
            return self._crawl.seeds(source, {})
        from windrow.engine.requests.answers import begin  # noqa: PLC0415 what only asks how things stand needs none

        learned = self._ledger.requests.learned(self._collection.name, source.name)
        return begin(self._collection, source, learned)

    def _is_known(self, source: Source, address: FoundUrl) -> bool:
        """Tell whether an address is known: of a crawl to any source, since an origin belongs to one."""
        rows = self._ledger.addresses.of_sources(source.collection, address.digest)
        return any(address.request is None or row.source == source.name for row in rows)


Frontier = FileFrontier | AddressFrontier


def frontier_of(ledger: Ledger, collection: Collection) -> Frontier:
    """Return what a collection has still to get."""
    crawl = walked(collection)
    return FileFrontier(ledger, collection) if crawl is None else AddressFrontier(ledger, collection, crawl)


def _states(unread: Iterable[UnreadAddress]) -> tuple[tuple[int, State], ...]:
    return tuple((visit.visit, (visit.phase, Status.FAILED)) for visit in unread)


def offering_host(source: Source, record: SourceRecord | None) -> OfferingHost:
    """Return a source as one of those that list a file, with how it did so far."""
    if record is None:
        return OfferingHost(source.name, source.owner)
    return OfferingHost(source.name, source.owner, record.attempts, record.failures, record.speed)


def _seconds(source: Source, pace: SourceRecord | None, count: int, size: int) -> float | None:
    if not count:
        return 0.0
    if pace is None or not pace.received:
        return None
    return round(max(size * pace.seconds / pace.received, count * source.pace) / max(1, source.connections), 1)


NAMED = 20
"""Items or addresses that a decision names on the ledger."""


def write_decision(ledger: Ledger, collection: Collection, act: str, chosen: Sequence[Chosen]) -> int:
    """Have the next run fetch items or addresses again (`retry`), or end them (`cancel`); return how many.

    Retry: what was loaded of an item stays, and its documents of an earlier fetch that are not through yet are ended,
    for those of the new one take their place; a cancelled item comes back too. Visits to addresses that a step did not
    read are read again by it, whatever their pause. Cancel: items end where they stand, with what is not through of
    their documents, and addresses are never asked again; what was kept of them stays.

    This is one transaction of a session of its own, which names the first of them, while nothing else runs.
    """
    more = f" and {len(chosen) - NAMED} more" if len(chosen) > NAMED else ""
    named = " ".join(choice.key for choice in chosen[:NAMED]) + more
    lease = Lease(ledger)
    try:
        with ledger.writing() as writer:
            session = writer.sessions.open(holder(), f"{act} {collection.name} {named}")
            frontier_of(ledger, collection).decide(writer, session, act, chosen)
            writer.sessions.close(session, 0)
    finally:
        lease.release()
    return len(chosen)
