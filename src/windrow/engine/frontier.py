"""The frontier of a collection: what it still has to fetch, and what a decision about it means.

`FileFrontier` is for files that sources list, and `AddressFrontier` is for addresses that are requested one by one.
Both have the same methods, so callers need not distinguish them.
"""

from __future__ import annotations

from collections import Counter
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
from windrow.engine.requests.origin_rules import crawl_of
from windrow.engine.source_counts import Reasons, count_left_out_now, count_left_out_of_files, estimate_seconds
from windrow.engine.steps.due import due
from windrow.errors import StepError
from windrow.ledger import Ledger, LedgerWriter
from windrow.ledger.addresses import ELSEWHERE
from windrow.ledger.rows import SourceCounts
from windrow.ledger.sessions import RuleCount
from windrow.ledger.typed.addresses import ChosenAddress
from windrow.ledger.typed.listed_files import KnownFile
from windrow.ledger.typed.mirrors import Mirror
from windrow.ledger.typed.unread import UnreadAddress
from windrow.model import Finding, FoundUrl, Level, OfferingSource, Source, State, Status
from windrow.reasons import Reason


class FetchBounds(NamedTuple):
    """What to fetch: which items, and how many.

    At most `limit` items are fetched (None: all). Unless `since` is None, files with an earlier date are not fetched.
    If `again` is true, items that are not due are fetched too, as after `fetch_again`.
    """

    limit: int | None = None
    since: datetime | None = None
    again: bool = False

    def excludes(self, modified: datetime | None) -> bool:
        """Return whether a file's date is before `since`. A file without a date is not excluded."""
        return self.since is not None and modified is not None and modified < self.since


class PlannedSource(NamedTuple):
    """What a run would do at a source: list its `folders` or fetch robots.txt, then fetch what is `waiting`.

    If addresses are requested, `folders` has only `robots.txt`, or is empty. `asked` is false for an inactive source,
    and if its first requests cannot be made and nothing is due; `why_not` says why. `waiting` is the number of known
    files, or of known addresses and new seeds, that a run would fetch; new files are found only when the source is
    listed. `bytes` is the size of the files, and 0 for addresses. `seconds` is an estimate, or None if files wait and
    the source has not sent any file yet.
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
    """An item that a run would fetch, and the source from which it is requested first. `path` is its address there."""

    key: str
    source: str
    path: str
    bytes: int | None


class Reads(NamedTuple):
    """The number of items that now wait for the step of a phase."""

    phase: str
    items: int


@dataclass(frozen=True, slots=True)
class Preview:
    """What a run would do: `waiting` has all files, or at most 50 addresses, for which `documents` is empty."""

    sources: tuple[PlannedSource, ...]
    waiting: tuple[Waiting, ...]
    documents: tuple[Reads, ...]


def why_not_requested(source: Source) -> str:
    """Return why a run does not request a source, or "" if it is active."""
    if source.active or not source.part.has_origin(source.site.origin):
        return "" if source.active else source.part.describe(source.site.origin)
    state = source.options.get("state", "inactive")
    return "its owner is not active" if state == "available" else str(state)


RETRY, CANCEL = "retry", "cancel"
"""The names of the decisions that an operator can make (`act`)."""

MAX_PREVIEWED = 50
"""The maximum number of addresses that a preview names one by one."""

FAR_FUTURE = 2**62
"""A UNIX time that is later than the due time of every address."""


class Chosen(NamedTuple):
    """A listed file or an address that a decision is about.

    `number` is the number of the file or the digest of the address. `state` is the number of its phase and its status
    there. `children` are documents with their states: for a file, the members of its latest attempt that wait for a
    step; for an address, its attempts that a step could not read for a cause other than their bytes. An address chosen
    only for these has the phase of the first step. `is_done` is true if a file and the members of its latest attempt
    are all done. `source` is one of the sources that request an address, each of which is chosen, or empty for a file.
    """

    number: int
    key: str
    state: State
    children: tuple[tuple[int, State], ...]
    is_done: bool = False
    source: str = ""


class FileFrontier:
    """The files of a collection, which sources list.

    They are listed in the phase with the number `task_phase`, and fetched in the phase `fetch_phase`.
    """

    def __init__(self, ledger: Ledger, collection: Collection) -> None:
        self._ledger = ledger
        self._collection = collection
        self._listing = collection.listing
        self.task_phase = collection.phase(self._listing.list_phase)
        self.fetch_phase = self._listing.fetch_phase

    def spellings(self, name: str) -> tuple[str, ...]:
        """Return the keys that a name may mean: the name itself, and its path in each folder, such as `add/NAME`."""
        return (name, *(f"{folder}/{name}" for folder in self._listing.folders))

    def find_named(self, names: Iterable[str]) -> list[Chosen]:
        """Return the files with these names. Unknown names are left out."""
        keys = sorted({key for name in names for key in self.spellings(name)})
        files = self._ledger.listed_files.known(self._collection.name, keys)
        return [self._choose(file) for file in files.values()]

    def find_undone(self, act: str, source: str, reason: str, excluded: Sequence[str] = ()) -> list[Chosen]:
        """Return the files to which `act` (RETRY or CANCEL) can be applied.

        Files that only the sources `excluded` list or have listed are left out. If `source` is not empty, only files
        that it lists or has listed are returned. If `reason` is not empty, only files that have this reason, or a
        document with it, are returned.
        """
        statuses = (Status.FAILED, Status.CANCELLED) if act == RETRY else (Status.PENDING, Status.PENDING)
        return self.find_named(
            self._ledger.listed_files.keys_by_status(self._collection.name, statuses, source, reason, excluded)
        )

    def decide(self, writer: LedgerWriter, session: int, act: str, chosen: Sequence[Chosen]) -> None:
        """Let files be fetched again (`act` is RETRY) or cancel them, and end their documents that wait for a step."""
        reason = Reason.RETRIED if act == RETRY else Reason.CANCELLED
        message = "" if act == RETRY else reason.meaning
        for file in chosen:
            for child, (phase, _) in file.children:
                writer.items.end(session, child, reason, message)
                if act == CANCEL:
                    writer.items.add_findings(session, child, phase, [Finding("Cancelled", message, Level.WARN)])
            if act == RETRY:
                explanation = "an operator asked for another attempt"
                writer.items.retry(session, file.number, self._listing.fetch_phase, explanation)
            else:
                writer.items.end(session, file.number, reason, message)

    def fetch_again(self, session: int, sources: Iterable[Source]) -> int:
        """Let files of these sources be fetched again, except refused and waiting files. Return their number."""
        files = sorted({mirror.file for mirror in self._finished_mirrors(source.name for source in sources)})
        with self._ledger.writing() as writer:
            for file in files:
                writer.items.retry(session, file, self._listing.fetch_phase)
        return len(files)

    def preview(self, sources: Sequence[Source], bounds: FetchBounds, phases: AbstractSet[str] | None) -> Preview:
        """Return what a run would fetch from these sources, and count the documents due in `phases` (None: in all)."""
        waiting = self._waiting_files({source.name: source for source in sources if source.active}, bounds)
        counts_by_source = self._ledger.attempts.by_source()
        planned = []
        for source in sources:
            files = [file for file in waiting if file.source == source.name]
            size = sum(file.bytes or 0 for file in files)
            seconds = estimate_seconds(source, counts_by_source.get(source.name), len(files), size)
            planned.append(
                PlannedSource(
                    source.name, self._collection.name, source.site.address(), self._listing.folders, source.active,
                    why_not_requested(source), len(files), size, seconds,
                )
            )  # fmt: skip
        return Preview(tuple(planned), waiting, self._count_documents(phases))

    def resting(self, current_time: datetime) -> list[rest.RestingFile]:
        """Return the files that failed in several sessions in a row and are not requested at `current_time`."""
        return rest.resting(self._ledger, self._collection, current_time)

    def left_out(self, source: str, of_captures: Sequence[RuleCount], unrepaired: Reasons = None) -> list[RuleCount]:
        """Return what rules left out of a source: of its last listing, and of the files as they were fetched last."""
        del unrepaired
        return [*count_left_out_of_files(self._ledger, self._collection, source), *of_captures]

    def activity(self, phase: int) -> str:
        """Return what a task of a phase does at a source: "fetching" or "listing", or "" if a step has this phase."""
        if phase in {self._collection.phase(step.phase) for step in self._collection.steps}:
            return ""
        return "fetching" if phase == self._collection.fetch_phase else "listing"

    def _is_untouched(self, file: int) -> bool:
        pending = self._ledger.items.pending(file)
        if pending is None:
            return False
        waits = pending.step == self._listing.fetch_phase and pending.status is Status.PENDING
        return waits or (not pending.step and pending.status is Status.FAILED)

    def _choose(self, file: KnownFile) -> Chosen:
        members = self._ledger.members.brought(file.attempt)
        phase = self._collection.phase
        children = tuple(
            (member.member, (phase(member.step), member.status))
            for member in members
            if member.step and member.status is Status.PENDING
        )
        if pending := self._ledger.items.pending(file.file):
            state = phase(pending.step or self._listing.list_phase), pending.status
            return Chosen(file.file, file.key, state, children)
        steps = self._collection.steps
        done_state = phase(steps[-1].phase if steps else self._listing.fetch_phase), Status.DONE
        is_done = all(member.status is None for member in members)
        return Chosen(file.file, file.key, done_state, children, is_done)

    def _waiting_files(self, active: Mapping[str, Source], bounds: FetchBounds) -> tuple[Waiting, ...]:
        """Return the files that a run would fetch at the `active` sources (by name), each with its preferred source."""
        if not active:
            return ()
        phase = self._listing.fetch_phase
        failed_files = due(self._ledger, self._collection, phase, Status.FAILED)
        due_files = [
            *due(self._ledger, self._collection, phase),
            *rest.split_resting(self._ledger, failed_files, now())[0],
        ]
        mirrors: dict[int, dict[str, Mirror]] = {file.item.id: {} for file in due_files}
        for mirror in chain(
            self._ledger.mirrors.of_files([*mirrors]), self._finished_mirrors(active) if bounds.again else ()
        ):
            if mirror.source in active and not bounds.excludes(mirror.modified):
                mirrors.setdefault(mirror.file, {}).setdefault(mirror.source, mirror)
        counts_by_source = self._ledger.attempts.by_source()
        waiting = []
        for mirrors_by_source in [*filter(None, mirrors.values())][: bounds.limit]:
            offerings = [offering_source(active[source], counts_by_source.get(source)) for source in mirrors_by_source]
            owner = next(iter(mirrors_by_source.values())).owner
            best = self._listing.prefer(owner, offerings)[0].source
            mirror = mirrors_by_source[best]
            waiting.append(Waiting(mirror.key, best, active[best].site.address(mirror.path), mirror.size))
        return tuple(waiting)

    def _finished_mirrors(self, sources: Iterable[str]) -> Iterator[Mirror]:
        mirrors = chain.from_iterable(map(self._ledger.mirrors.of_source, sources))
        return (mirror for mirror in mirrors if mirror.present and not self._is_untouched(mirror.file))

    def _count_documents(self, phases: AbstractSet[str] | None) -> tuple[Reads, ...]:
        counts = self._ledger.items.count_due(self._collection.name)
        steps = [step for step in self._collection.steps if isinstance(step, ItemStep)]
        return tuple(
            Reads(step.phase, counts[step.phase])
            for step in steps
            if (phases is None or step.phase in phases) and counts.get(step.phase)
        )


class AddressFrontier:
    """The addresses of a collection, each due at its own time.

    They are requested in the phase `fetch_phase`, whose number is `task_phase`.
    """

    def __init__(self, ledger: Ledger, collection: Collection, crawl: Crawl) -> None:
        self._ledger = ledger
        self._collection = collection
        self._crawl = crawl
        self.task_phase = 1
        self.fetch_phase = collection.phases[0]

    def spellings(self, name: str) -> tuple[str, ...]:
        """Return a name as a normalised address in a tuple. The tuple is empty if the name is not an address."""
        return (url,) if (url := self._crawl.normal(name)) else ()

    def find_named(self, names: Iterable[str]) -> list[Chosen]:
        """Return the addresses with these names. Addresses that are unknown or taken down are left out."""
        digests = [hash64(url) for name in names for url in self.spellings(name)]
        rows = self._ledger.addresses.chosen(self._collection.name, digests)
        return self._choose(rows, self._ledger.unread.addresses(self._collection.name, among=digests))

    def find_undone(self, act: str, source: str, reason: str, excluded: Sequence[str] = ()) -> list[Chosen]:
        """Return the addresses to which `act` (RETRY or CANCEL) can be applied, except those of the sources `excluded`.

        If `source` is not empty, only its addresses are returned; if `reason` is not empty, only what failed for it.
        Unread attempts of the sources `excluded` are returned too, because reading them sends no request.
        """
        addresses, name = self._ledger.addresses, self._collection.name
        unread = self._ledger.unread.addresses(name, source, reason)
        if act == CANCEL:
            return self._choose(addresses.waiting(name, source, reason, excluded), unread, act)
        rows = [find(name, source, reason, excluded) for find in (addresses.failed_captures, addresses.failing)]
        return self._choose({(row.digest, row.source): row for row in chain(*rows)}.values(), unread)

    def decide(self, writer: LedgerWriter, session: int, act: str, chosen: Sequence[Chosen]) -> None:
        """If `act` is RETRY, let the next run request addresses again and read their unread attempts again.

        If it is CANCEL, neither happens any more. An address chosen only for its unread attempts keeps its due time.
        """
        del session  # the session itself is the record of the decision
        digests_by_source: dict[str, list[int]] = {}
        for address in chosen:
            if address.state[0] == self.task_phase:
                digests_by_source.setdefault(address.source, []).append(address.number)
        for source, digests in digests_by_source.items():
            writer.addresses.set_due(self._collection.name, digests, 1 if act == RETRY else None, source)
        attempts = [(phase, attempt) for address in chosen for attempt, (phase, _) in address.children]
        (writer.unread.ask if act == RETRY else writer.unread.remove)(attempts)

    def fetch_again(self, session: int, sources: Iterable[Source]) -> int:
        """Make the addresses of these sources due now if they are due later. Return their number."""
        del session
        names = {source.name for source in sources}
        with self._ledger.writing() as writer:
            hosts = self._ledger.addresses.hosts(self._collection.name)
            return writer.addresses.make_due_again(host.seq for host in hosts if host.source in names)

    def preview(self, sources: Sequence[Source], bounds: FetchBounds, phases: AbstractSet[str] | None) -> Preview:
        """Return what a run would request from these sources: known addresses that are due, and new seeds.

        If `bounds.again`, known addresses that are due later are included.
        """
        del phases  # only the version store records which documents steps are to read
        due_before = FAR_FUTURE if bounds.again else int(now().timestamp())
        due_counts = self._count_due(due_before)
        pace = self._ledger.attempts.seconds_by_origin(self._collection.name)  # per request
        shown = MAX_PREVIEWED if bounds.limit is None else min(bounds.limit, MAX_PREVIEWED)
        planned, waiting = [], []
        for source in sources:
            origin_counts = Counter(due_counts.get(source.name) if source.active else None)
            seeds, problem = self._seeds(source) if source.active else ((), why_not_requested(source))
            new_seeds = [address for address in seeds if not self._is_known(source, address)]
            origin_counts.update(address.origin for address in new_seeds)
            limits = (bounds.limit, source.most or None, origin_counts.total())
            count = min(limit for limit in limits if limit is not None)
            delay = float(source.options.get("delay", 0))
            times = (number * max(delay, pace.get(origin, 0.0)) for origin, number in origin_counts.items())
            requested_first = ("robots.txt",) if source.site.scheme else ()  # without a scheme, nothing is requested
            planned.append(
                PlannedSource(
                    source.name, self._collection.name, source.site.address(), requested_first,
                    source.active and (count > 0 or not problem), problem, count, 0, round(max(times, default=0.0), 1),
                )
            )  # fmt: skip
            if source.active:
                urls = self._ledger.addresses.next_of_source(source.collection, source.name, due_before, shown)
                urls += (address.url for address in new_seeds)
                waiting += [Waiting(url, source.name, path=url, bytes=None) for url in urls[:shown]]
        return Preview(tuple(planned), tuple(waiting[:shown]), ())

    def resting(self, current_time: datetime) -> list[rest.RestingFile]:
        """Return an empty list, since an address that fails is due again at its own time."""
        del current_time
        return []

    def left_out(self, source: str, of_captures: Sequence[RuleCount], unrepaired: Reasons = None) -> list[RuleCount]:
        """Return how much of a source each rule or cap left out in the last such session, or `of_captures` in all.

        `unrepaired` has the reasons for which something of it could not be read so far, None if they are not known.
        """
        name = self._collection.name
        return count_left_out_now(self._ledger, name, source, of_captures, self._crawl, unrepaired=unrepaired)

    def activity(self, phase: int) -> str:
        """Return "", since a task of this collection is described by the name of its phase."""
        del phase
        return ""

    def _choose(self, rows: Iterable[ChosenAddress], unread: Iterable[UnreadAddress], act: str = RETRY) -> list[Chosen]:
        """Join addresses with unread attempts; the last have only these, for RETRY requested if capped or damaged."""
        unread_by_address: dict[tuple[int, str], list[UnreadAddress]] = {}
        for attempt in unread:
            unread_by_address.setdefault((attempt.address, attempt.source), []).append(attempt)
        chosen = []
        for address in rows:
            status = Status.FAILED if address.failures else Status.PENDING if (address.due or 0) <= 1 else Status.DONE
            state = (1, Status.CANCELLED if address.due is None else status)
            children = _unread_states(unread_by_address.pop((address.digest, address.source), ()))
            chosen.append(Chosen(address.digest, address.url, state, children, source=address.source))
        for (digest, source), attempts in unread_by_address.items():
            requested = (Reason.DISK_FAILED, *(() if self._crawl.by_request else (Reason.CAPPED,)))
            must_request = act == RETRY and any(attempt.reason in requested for attempt in attempts)
            phase = self._collection.phase(self.fetch_phase if must_request else self._collection.steps[0].phase)
            children = _unread_states(attempts)
            chosen.append(Chosen(digest, attempts[0].url, (phase, Status.FAILED), children, source=source))
        return chosen

    def _count_due(self, until: int) -> dict[str, dict[str, int]]:
        counts: dict[str, dict[str, int]] = {}
        for host in self._ledger.addresses.due_by_host(self._collection.name, until):
            counts.setdefault(host.source, {})[host.origin] = host.number
        return counts

    def _seeds(self, source: Source) -> tuple[Sequence[FoundUrl], str]:
        """Return the seeds or first requests of a source, and why there are none, or an empty text."""
        if not self._crawl.by_request:
            return [seed for seed in self._crawl.seeds(source, {}) if source.part.has_origin(seed.origin)], ""
        from windrow.engine.requests.answers import first_requests  # noqa: PLC0415 `status` does not need it

        learned = self._ledger.requests.learned(self._collection.name, source.name)
        try:
            return first_requests(self._collection, source, learned), ""
        except StepError as error:
            return (), str(error)

    def _is_known(self, source: Source, address: FoundUrl) -> bool:
        known_addresses = self._ledger.addresses.of_sources(source.collection, address.digest)
        return any(known.source == source.name and known.interval != ELSEWHERE for known in known_addresses)


Frontier = FileFrontier | AddressFrontier


def frontier_of(ledger: Ledger, collection: Collection) -> Frontier:
    """Return the frontier of a collection: of its files, or of its addresses."""
    crawl = crawl_of(collection)
    return FileFrontier(ledger, collection) if crawl is None else AddressFrontier(ledger, collection, crawl)


def _unread_states(unread: Iterable[UnreadAddress]) -> tuple[tuple[int, State], ...]:
    return tuple((attempt.attempt, (attempt.phase, Status.FAILED)) for attempt in unread)


def offering_source(source: Source, counts: SourceCounts | None) -> OfferingSource:
    """Return a source with the `counts` of its earlier attempts (None: none), by which `Listing.prefer` chooses."""
    if counts is None:
        return OfferingSource(source.name, source.owner)
    return OfferingSource(source.name, source.owner, counts.attempts, counts.failures, counts.speed)
