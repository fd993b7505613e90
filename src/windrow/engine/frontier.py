"""The frontier of a collection: what it still has to fetch, and the operator's decisions about that.

One class is for files that sources list, the other for addresses that are requested one by one. Both have the same
methods, so that callers need not distinguish them. A preview tells what a run would request; it opens no connection
and writes nothing to the ledger.
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
from windrow.digest import hash64
from windrow.engine.listed import rest
from windrow.engine.requests.origin_rules import walked
from windrow.engine.steps.due import due
from windrow.ledger import Lease, Ledger, LedgerWriter
from windrow.ledger.rows import SourceRecord
from windrow.ledger.sessions import RuleCount, name_this_process
from windrow.ledger.typed.addresses import ChosenAddress
from windrow.ledger.typed.listed_files import KnownFile
from windrow.ledger.typed.mirrors import Mirror
from windrow.ledger.typed.unread import UnreadAddress
from windrow.model import Finding, FoundUrl, Level, OfferingHost, Source, State, Status
from windrow.reasons import Reason


class FetchBounds(NamedTuple):
    """The most items to fetch, the oldest date, and whether finished items are fetched again."""

    limit: int | None = None
    since: datetime | None = None
    again: bool = False

    def leaves_out(self, modified: datetime | None) -> bool:
        """Return whether a date is too old; None is not."""
        return self.since is not None and modified is not None and modified < self.since


class PlannedSource(NamedTuple):
    """A source that a run would ask: the folders it would list there, and how much it would then fetch.

    `waiting` and `bytes` count only items already on the ledger: new files are found when the source is
    listed. `seconds` is an estimate by the pace measured so far, None if nothing was measured.
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
    """An item that waits to be fetched, and the source that a run would ask first."""

    key: str
    source: str
    path: str
    bytes: int | None


class Reads(NamedTuple):
    """The number of items that are due for a phase now."""

    phase: str
    items: int


@dataclass(frozen=True, slots=True)
class Preview:
    """What a run would do; made without a connection and without writing to the ledger."""

    sources: tuple[PlannedSource, ...]
    waiting: tuple[Waiting, ...]
    documents: tuple[Reads, ...]


def why_not_asked(source: Source) -> str:
    """Return why a source is not asked, or an empty text if it is asked."""
    state = "" if source.active else source.options.get("state", "inactive")
    return "its owner is not active" if state == "available" else str(state)


RETRY, CANCEL = "retry", "cancel"

SHOWN = 50
"""Addresses that a preview names one by one."""

ROBOTS = ("robots.txt",)
"""The file that is requested from a host before any other address."""

AFTER_ALL_TIMES = 2**62
"""A time in UNIX seconds that comes after every time at which an address is due."""


class Chosen(NamedTuple):
    """A listed file, and the members of its latest attempt that wait for a step; or an address.

    The state of a file is its pending step; a projection may have another word for it. The children of an address
    are its attempts that a step could not read, by no fault of theirs. An address chosen only for these is in the
    phase of the first step, not in that of requests. `through` is true if all its documents are done.
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
        """Return the keys that a name may stand for: it may be a whole key, or the `NAME` of `add/NAME`."""
        return (name, *(f"{folder}/{name}" for folder in self._listing.folders))

    def named(self, names: Iterable[str]) -> list[Chosen]:
        """Return the files with these names; unknown names are left out."""
        keys = sorted({key for name in names for key in self.spellings(name)})
        files = self._ledger.listed_files.known(self._collection.name, keys)
        return [self._choose(file) for file in files.values()]

    def narrowed(self, act: str, source: str, reason: str) -> list[Chosen]:
        """Return the files that failed (`retry`) or wait (`cancel`), of a source and with a reason; empty means any."""
        statuses = (Status.FAILED, Status.CANCELLED) if act == RETRY else (Status.PENDING, Status.PENDING)
        return self.named(self._ledger.listed_files.keys_by_status(self._collection.name, statuses, source, reason))

    def decide(self, writer: LedgerWriter, session: int, act: str, chosen: Sequence[Chosen]) -> None:
        """Put files back to be fetched again (`retry`), or cancel them, and end their unfinished documents."""
        reason = Reason.RETRIED if act == RETRY else Reason.CANCELLED
        message = "" if act == RETRY else reason.meaning
        for file in chosen:
            for child, (phase, _) in file.children:
                writer.items.end(session, child, reason, message)
                if act == CANCEL:
                    writer.items.add_findings(session, child, phase, [Finding("Cancelled", message, Level.WARN)])
            if act == RETRY:
                asked = "an operator asked for another attempt"
                writer.items.retry(session, file.number, self._listing.fetch_phase, asked)
            else:
                writer.items.end(session, file.number, reason, message)

    def put_back(self, session: int, sources: Iterable[Source]) -> int:
        """Have the done and failed files of these sources fetched again; return the number of files."""
        files = sorted({mirror.file for mirror in self._finished_mirrors(source.name for source in sources)})
        with self._ledger.writing() as writer:
            for file in files:
                writer.items.retry(session, file, self._listing.fetch_phase)
        return len(files)

    def preview(self, sources: Sequence[Source], bounds: FetchBounds, phases: AbstractSet[str] | None) -> Preview:
        """Return what a run would request of these sources, and count the documents due in `phases` (None: in all)."""
        waiting = self._waiting_files({source.name: source for source in sources if source.active}, bounds)
        pace = self._ledger.attempts.by_source()
        planned = []
        for source in sources:
            files = [file for file in waiting if file.source == source.name]
            size = sum(file.bytes or 0 for file in files)
            seconds = _estimate_seconds(source, pace.get(source.name), len(files), size)
            planned.append(
                PlannedSource(
                    source.name, self._collection.name, source.site.address(), self._listing.folders, source.active,
                    why_not_asked(source), len(files), size, seconds,
                )
            )  # fmt: skip
        return Preview(tuple(planned), waiting, self._count_documents(phases))

    def resting(self, at: datetime) -> list[rest.RestingFile]:
        """Return the files that failed in several sessions in a row and are not requested at a time."""
        return rest.resting(self._ledger, self._collection, at)

    def left_out(self, source: str) -> list[RuleCount]:
        """Return an empty list: files that are not wanted are refused by name, not left out by rules."""
        del source
        return []

    def activity(self, phase: int) -> str:
        """Return what a task of a phase does at a source, such as listing, or an empty text if it runs a step."""
        if phase in {self._collection.phase(step.phase) for step in self._collection.steps}:
            return ""
        return "fetching" if phase == self._collection.fetch_phase else "listing"

    def _is_untouched(self, file: int) -> bool:
        """Return whether a file is refused, or waits for its transfer already."""
        pending = self._ledger.items.pending(file)
        if pending is None:
            return False
        waits = pending.step == self._listing.fetch_phase and pending.status is Status.PENDING
        return waits or (not pending.step and pending.status is Status.FAILED)

    def _choose(self, row: KnownFile) -> Chosen:
        """Return a file with its state and its documents that wait for a step."""
        members = self._ledger.members.brought(row.attempt)
        phase = self._collection.phase
        children = tuple(
            (member.member, (phase(member.step), member.status))
            for member in members
            if member.step and member.status is Status.PENDING
        )
        if pending := self._ledger.items.pending(row.file):
            state = phase(pending.step or self._listing.list_phase), pending.status
            return Chosen(row.file, row.key, state, children)
        steps = self._collection.steps
        done_state = phase(steps[-1].phase if steps else self._listing.fetch_phase), Status.DONE
        through = all(member.status is None for member in members)
        return Chosen(row.file, row.key, done_state, children, through)

    def _waiting_files(self, active: Mapping[str, Source], bounds: FetchBounds) -> tuple[Waiting, ...]:
        """Return the files that are due, each with its best host; with `bounds.again`, finished ones too."""
        if not active:
            return ()
        phase = self._listing.fetch_phase
        failed = due(self._ledger, self._collection, phase, Status.FAILED)
        due_files = [*due(self._ledger, self._collection, phase), *rest.divide(self._ledger, failed, now())[0]]
        mirrors: dict[int, dict[str, Mirror]] = {file.item.id: {} for file in due_files}
        for mirror in chain(
            self._ledger.mirrors.of_files([*mirrors]), self._finished_mirrors(active) if bounds.again else ()
        ):
            if mirror.source in active and not bounds.leaves_out(mirror.modified):
                mirrors.setdefault(mirror.file, {}).setdefault(mirror.source, mirror)
        pace = self._ledger.attempts.by_source()
        waiting = []
        for mirrors_by_source in [*filter(None, mirrors.values())][: bounds.limit]:
            hosts = [offering_host(active[source], pace.get(source)) for source in mirrors_by_source]
            owner = next(iter(mirrors_by_source.values())).owner
            best = self._listing.prefer(owner, hosts)[0].source
            mirror = mirrors_by_source[best]
            waiting.append(Waiting(mirror.key, best, active[best].site.address(mirror.path), mirror.size))
        return tuple(waiting)

    def _finished_mirrors(self, sources: Iterable[str]) -> Iterator[Mirror]:
        """Return the files that `put_back` would put back: those listed by these sources that are done or failed."""
        mirrors = chain.from_iterable(map(self._ledger.mirrors.of_source, sources))
        return (mirror for mirror in mirrors if mirror.present and not self._is_untouched(mirror.file))

    def _count_documents(self, phases: AbstractSet[str] | None) -> tuple[Reads, ...]:
        """Count the documents that are due for each step."""
        counts = self._ledger.items.count_due(self._collection.name)
        steps = [step for step in self._collection.steps if isinstance(step, ItemStep)]
        reads = [
            Reads(step.phase, counts[step.phase])
            for step in steps
            if (phases is None or step.phase in phases) and counts.get(step.phase)
        ]
        return tuple(reads)


class AddressFrontier:
    """The addresses of a collection, each due at its own time; `asked_at` is the phase of their tasks."""

    def __init__(self, ledger: Ledger, collection: Collection, crawl: Crawl) -> None:
        """Use this collection's addresses on the ledger; `crawl` says how they are requested."""
        self._ledger = ledger
        self._collection = collection
        self._crawl = crawl
        self.asked_at = 1
        self.fetched_at = collection.phases[0]

    def spellings(self, name: str) -> tuple[str, ...]:
        """Return the normalised address that a name stands for, or nothing if it is not an address."""
        url = self._crawl.normal(name)
        return (url,) if url else ()

    def named(self, names: Iterable[str]) -> list[Chosen]:
        """Return the addresses named; unknown addresses and those taken down are left out."""
        digests = [hash64(url) for name in names for url in self.spellings(name)]
        rows = self._ledger.addresses.chosen(self._collection.name, digests)
        return self._choose(rows, self._ledger.unread.addresses(self._collection.name, among=digests))

    def narrowed(self, act: str, source: str, reason: str) -> list[Chosen]:
        """Return addresses that fail (`retry`) or wait (`cancel`), of a source and with a reason; empty means any."""
        rows = self._ledger.addresses.failing if act == RETRY else self._ledger.addresses.waiting
        unread = self._ledger.unread.addresses(self._collection.name, source, reason)
        return self._choose(rows(self._collection.name, source, reason), unread)

    def decide(self, writer: LedgerWriter, session: int, act: str, chosen: Sequence[Chosen]) -> None:
        """Have addresses requested next and their unread attempts read (`retry`), or neither ever again (`cancel`)."""
        del session  # only the session records that an operator decided so
        addresses = [address.number for address in chosen if address.state[0] == 1]
        writer.addresses.due_at(self._collection.name, addresses, 1 if act == RETRY else None)
        attempts = [(phase, attempt) for address in chosen for attempt, (phase, _) in address.children]
        (writer.unread.ask if act == RETRY else writer.unread.remove)(attempts)

    def put_back(self, session: int, sources: Iterable[Source]) -> int:
        """Have all addresses of these sources requested again; return the number of addresses."""
        del session
        names = {source.name for source in sources}
        with self._ledger.writing() as writer:
            hosts = self._ledger.addresses.hosts(self._collection.name)
            return writer.addresses.due_again(host.seq for host in hosts if host.source in names)

    def preview(self, sources: Sequence[Source], bounds: FetchBounds, phases: AbstractSet[str] | None) -> Preview:
        """Return what a run would request of these sources: known addresses that are due, and new first addresses."""
        del phases  # only the version store knows which documents its steps read
        if not sources:
            return Preview((), (), ())
        at = AFTER_ALL_TIMES if bounds.again else int(now().timestamp())
        due_counts = self._count_due(at)
        pace = self._ledger.attempts.seconds_by_origin(self._collection.name)
        room = SHOWN if bounds.limit is None else min(bounds.limit, SHOWN)
        planned, waiting = [], []
        for source in sources:
            by_origin = dict(due_counts.get(source.name, {}))
            fresh = [address for address in self._first_addresses(source) if not self._is_known(source, address)]
            for address in fresh:
                by_origin[address.origin] = by_origin.get(address.origin, 0) + 1
            count = min(
                limit for limit in (bounds.limit, source.most or None, sum(by_origin.values())) if limit is not None
            )
            delay = float(source.options.get("delay", 0))
            seconds = max((many * max(delay, pace.get(origin, 0.0)) for origin, many in by_origin.items()), default=0.0)
            listed = ROBOTS if source.site.scheme else ()  # without a scheme it takes captures of others alone
            planned.append(
                PlannedSource(
                    source.name, self._collection.name, source.site.address(), listed, source.active,
                    why_not_asked(source), count, 0, round(seconds, 1),
                )
            )  # fmt: skip
            if source.active:
                known_urls = self._ledger.addresses.next_of_source(self._collection.name, source.name, at, room)
                urls = [*known_urls, *(address.url for address in fresh)]
                waiting += [Waiting(url, source.name, url, None) for url in urls[:room]]
        return Preview(tuple(planned), tuple(waiting[:room]), ())

    def resting(self, at: datetime) -> list[rest.RestingFile]:
        """Return an empty list: an address that fails is due again at its own time."""
        del at
        return []

    def left_out(self, source: str) -> list[RuleCount]:
        """Return what rules left out of a source in the last session that found such links.

        A session that does not read pages finds no links.
        """
        rules = [
            (task.session, rule)
            for task in self._ledger.sessions.tasks_of_source(source)
            if task.reason and task.comment and (rule := RuleCount.read(source, task.reason, task.comment))
        ]
        return [rule for session, rule in rules if session == rules[-1][0]]

    def activity(self, phase: int) -> str:
        """Return an empty text: a task is described by the name of its phase."""
        del phase
        return ""

    def _choose(self, rows: Iterable[ChosenAddress], unread: Iterable[UnreadAddress]) -> list[Chosen]:
        """Join addresses with their unread attempts; addresses that only have unread attempts come last."""
        attempts: dict[int, list[UnreadAddress]] = {}
        for attempt in unread:
            attempts.setdefault(attempt.address, []).append(attempt)
        chosen = []
        for row in rows:
            status = Status.FAILED if row.failures else Status.PENDING if (row.due or 0) <= 1 else Status.DONE
            state = (1, Status.CANCELLED if row.due is None else status)
            chosen.append(Chosen(row.digest, row.url, state, _states(attempts.pop(row.digest, ()))))
        if attempts:
            state = (self._collection.phase(self._collection.steps[0].phase), Status.FAILED)
            chosen += [
                Chosen(unread_attempts[0].address, unread_attempts[0].url, state, _states(unread_attempts))
                for unread_attempts in attempts.values()
            ]
        return chosen

    def _count_due(self, at: int) -> dict[str, dict[str, int]]:
        """Return how many addresses of each source are due at a time (UNIX seconds), by origin."""
        counts: dict[str, dict[str, int]] = {}
        for row in self._ledger.addresses.due_by_host(self._collection.name, at):
            counts.setdefault(row.source, {})[row.origin] = row.number
        return counts

    def _first_addresses(self, source: Source) -> Sequence[FoundUrl]:
        """Return the first addresses of a source: its seeds, or its first requests."""
        if not self._crawl.by_request:
            return self._crawl.seeds(source, {})
        from windrow.engine.requests.answers import begin  # noqa: PLC0415 `status` does not need it

        learned = self._ledger.requests.learned(self._collection.name, source.name)
        return begin(self._collection, source, learned)

    def _is_known(self, source: Source, address: FoundUrl) -> bool:
        """Return whether a source knows an address; in a crawl any source counts, as an origin belongs to one."""
        rows = self._ledger.addresses.of_sources(source.collection, address.digest)
        return any(address.request is None or row.source == source.name for row in rows)


Frontier = FileFrontier | AddressFrontier


def frontier_of(ledger: Ledger, collection: Collection) -> Frontier:
    """Return the frontier of a collection: of its files, or of its addresses."""
    crawl = walked(collection)
    return FileFrontier(ledger, collection) if crawl is None else AddressFrontier(ledger, collection, crawl)


def _states(unread: Iterable[UnreadAddress]) -> tuple[tuple[int, State], ...]:
    return tuple((attempt.attempt, (attempt.phase, Status.FAILED)) for attempt in unread)


def offering_host(source: Source, record: SourceRecord | None) -> OfferingHost:
    """Return a source as a host of a file, with the record of its attempts so far."""
    if record is None:
        return OfferingHost(source.name, source.owner)
    return OfferingHost(source.name, source.owner, record.attempts, record.failures, record.speed)


def _estimate_seconds(source: Source, pace: SourceRecord | None, count: int, size: int) -> float | None:
    if not count:
        return 0.0
    if pace is None or not pace.received:
        return None
    return round(max(size * pace.seconds / pace.received, count * source.pace) / max(1, source.connections), 1)


NAMED = 20
"""Items or addresses that a decision names on the ledger."""


def write_decision(ledger: Ledger, collection: Collection, act: str, chosen: Sequence[Chosen]) -> int:
    """Have the next run fetch items or addresses again (`retry`), or end them (`cancel`); return their number.

    Retry: loaded records of an item stay, and unfinished documents of its earlier fetch are ended, since those of the
    new fetch replace them; cancelled items come back too. Attempts that a step could not read are read again by it,
    whatever their pause. Cancel: items end in their present phase with their unfinished documents, and addresses are
    never requested again; kept captures stay.

    This is one transaction in a session of its own, whose command names the first `NAMED`; it needs the lease.
    """
    suffix = f" and {len(chosen) - NAMED} more" if len(chosen) > NAMED else ""
    names = " ".join(choice.key for choice in chosen[:NAMED]) + suffix
    lease = Lease(ledger)
    try:
        with ledger.writing() as writer:
            session = writer.sessions.open(name_this_process(), f"{act} {collection.name} {names}")
            frontier_of(ledger, collection).decide(writer, session, act, chosen)
            writer.sessions.close(session, 0)
    finally:
        lease.release()
    return len(chosen)
