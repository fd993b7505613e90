"""What a run would ask, which phases it takes, and when the next one begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from windrow.app.crawled import due, following
from windrow.clock import now
from windrow.contract import Collection, Crawl, ItemStep, State
from windrow.engine.listed import rest
from windrow.engine.listed.rest import AGAIN
from windrow.engine.requests.answers import begin
from windrow.engine.requests.origin_rules import walked
from windrow.engine.run import Harvest, WarcFile
from windrow.engine.runtime import signals_to
from windrow.errors import UsageError, WindrowError
from windrow.ledger import Ledger
from windrow.ledger.rows import SourceRecord
from windrow.ledger.typed.listings import WaitingOffer
from windrow.model import FoundUrl, OfferingHost, Source, Status
from windrow.reasons import Reason

SHOWN = 50
"""Addresses of a crawl that are named one by one."""

ROBOTS = ("robots.txt",)
"""What a crawl asks of a host before anything else."""


class PhaseSpan(NamedTuple):
    """The part of a run between two phases: whether it lists and fetches, and the steps it takes."""

    fetch: bool
    phases: frozenset[str] | None


def span(collection: Collection, first: str = "", last: str = "") -> PhaseSpan:
    """Return what lies from phase `first` to phase `last`, both included; empty means no bound.

    Whatever comes before the collection's first step is fetching, and so is the first phase of one that
    has no steps.

    >>> from windrow.collections.drops.collection import COLLECTION
    >>> span(COLLECTION, "xsd", "upload") == PhaseSpan(False, frozenset({"xsd", "upload"}))
    True
    >>> span(COLLECTION, last="download")
    PhaseSpan(fetch=True, phases=frozenset())
    """
    for option, name in (("--from", first), ("--to", last)):
        if name and name not in collection.phases:
            raise UsageError(
                f"{option}: {collection.name} has no phase {name!r}; there are {', '.join(collection.phases)}"
            )
    low = collection.phase(first) if first else 1
    high = collection.phase(last) if last else len(collection.phases)
    if low > high:
        raise UsageError(f"--from {first} comes after --to {last}")
    steps = [step.phase for step in collection.steps]
    begin = min((collection.phase(name) for name in steps), default=2)
    chosen = frozenset(name for name in steps if low <= collection.phase(name) <= high)
    return PhaseSpan(low < begin, None if len(chosen) == len(steps) else chosen)


def in_order(collections: Mapping[str, Collection], sources: Iterable[Source]) -> list[str]:
    """Return the names of collections in the order of a run: each after those whose captures it takes."""
    takes: dict[str, set[str]] = {name: set() for name in collections}
    for one in sources:
        captures = collections[one.collection].captures if one.collection in collections else None
        takes.get(one.collection, set()).update(
            name.partition(":")[0] for name in (captures.inputs(one).kept if captures else ())
        )
    found: list[str] = []
    while len(found) < len(takes):
        left = [name for name in takes if name not in found]
        ready = [name for name in left if not takes[name] & {*left} - {name}]
        found += ready or left[:1]  # of two that take each other's, one is first
    return found


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


def preview(
    ledger: Ledger, collection: Collection, sources: Sequence[Source], part: PhaseSpan, bounds: FetchBounds
) -> Preview:
    """Return what a run of these sources would ask, from whom, and how much."""
    if bounds.again:
        refuse_without_fetching([part])
    if walked(collection):
        return walk(ledger, collection, sources, part, bounds)
    waiting = _waiting(ledger, collection, sources, bounds) if part.fetch else ()
    pace = ledger.attempts.by_source()
    asked = []
    for source in sources if part.fetch else ():
        mine = [one for one in waiting if one.source == source.name]
        size = sum(one.bytes or 0 for one in mine)
        asked.append(
            PlannedSource(
                source.name,
                collection.name,
                source.site.address(),
                collection.listing.folders,
                source.active,
                _why_not(source),
                len(mine),
                size,
                _seconds(source, pace.get(source.name), len(mine), size),
            )
        )
    return Preview(tuple(asked), waiting, _documents(ledger, collection, part))


def taken(files: Sequence[WarcFile]) -> Preview:
    """Return what a run would take in."""
    return Preview(
        (), tuple(Waiting(one.name, one.source, str(one.path), one.path.stat().st_size) for one in files), ()
    )


def _why_not(source: Source) -> str:
    said = "" if source.active else source.options.get("state", "inactive")
    return "its owner is not active" if said == "available" else str(said)


def walk(
    ledger: Ledger, collection: Collection, sources: Sequence[Source], part: PhaseSpan, bounds: FetchBounds
) -> Preview:
    """Return what a crawl of these sources would ask: what is due of what is known, and seeds that are new."""
    crawl = walked(collection)
    if crawl is None or not part.fetch:
        return Preview((), (), _documents(ledger, collection, part))
    waits = due(ledger, collection.name, again=bounds.again)
    pace = ledger.attempts.seconds_by_origin(collection.name)
    room = SHOWN if bounds.limit is None else min(bounds.limit, SHOWN)
    asked, waiting = [], []
    for source in sources:
        mine = dict(waits.get(source.name, {}))
        fresh = [one for one in _first(ledger, collection, crawl, source) if not _is_known(ledger, source, one)]
        for one in fresh:
            mine[one.origin] = mine.get(one.origin, 0) + 1
        bound = min(one for one in (bounds.limit, source.most or None, sum(mine.values())) if one is not None)
        delay = float(source.options.get("delay", 0))
        seconds = max((many * max(delay, pace.get(origin, 0.0)) for origin, many in mine.items()), default=0.0)
        why_not = _why_not(source)
        address = source.site.address()
        listed = ROBOTS if source.site.scheme else ()  # without a scheme it takes captures of others alone
        asked.append(
            PlannedSource(
                source.name, collection.name, address, listed, source.active, why_not, bound, 0, round(seconds, 1)
            )
        )
        if source.active:
            urls = [
                *following(ledger, collection.name, source.name, room, again=bounds.again),
                *(one.url for one in fresh),
            ]
            waiting += [Waiting(url, source.name, url, None) for url in urls[:room]]
    return Preview(tuple(asked), tuple(waiting[:room]), _documents(ledger, collection, part))


def _first(ledger: Ledger, collection: Collection, crawl: Crawl, source: Source) -> Sequence[FoundUrl]:
    """Return what a source begins with: its seeds, or its first requests."""
    if collection.requests is None:
        return crawl.seeds(source, {})
    if not source.site.scheme:  # it takes captures of others alone
        return ()
    return begin(collection.requests, source, ledger.requests.learned(collection.name, source.name))


def _is_known(ledger: Ledger, source: Source, found: FoundUrl) -> bool:
    """Tell whether an address is known: of a crawl to any source, since an origin belongs to one."""
    rows = ledger.addresses.of_sources(source.collection, found.digest)
    return any(found.request is None or one.source == source.name for one in rows)


def _waiting(
    ledger: Ledger, collection: Collection, sources: Sequence[Source], bounds: FetchBounds
) -> tuple[Waiting, ...]:
    """Return what is new, cut or failed for a passing reason, from its best host."""
    active = {source.name: source for source in sources if source.active}
    offers: dict[int, dict[str, WaitingOffer]] = {}
    for one in chain(_due(ledger, collection), _done(ledger, collection, active) if bounds.again else ()):
        if one.source in active and not bounds.leaves_out(one.modified):
            offers.setdefault(one.item, {}).setdefault(one.source, one)
    pace = ledger.attempts.by_source()
    found = []
    for mine in list(offers.values())[: bounds.limit]:
        hosts = [_host(active[source], pace.get(source)) for source in mine]
        owner = next(iter(mine.values())).owner
        best = collection.listing.prefer(owner, hosts)[0].source
        offer = mine[best]
        found.append(Waiting(offer.key, best, active[best].site.address(offer.path), offer.size))
    return tuple(found)


def _due(ledger: Ledger, collection: Collection) -> Iterator[WaitingOffer]:
    """Yield who offers what is new, cut, or failed for a passing reason and does not rest."""
    phase = collection.listing.first[0]
    resting = {one.item for one in rest.resting(ledger, collection, now())}
    states: tuple[State, ...] = (collection.listing.first, (phase, Status.RUNNING), (phase, Status.FAILED))
    for at, status in states:
        for one in ledger.listings.waiting(collection.name, collection.listing.kind, (at, status)):
            if status is not Status.FAILED or (one.reason in AGAIN and one.item not in resting):
                yield one


def _done(ledger: Ledger, collection: Collection, names: Iterable[str]) -> Iterator[WaitingOffer]:
    """Yield what `--again` puts back: all that these sources offer and that is done or failed."""
    untouched = {collection.listing.first, collection.listing.refused}
    for source in names:
        for one in ledger.listings.of_source(source):
            item = ledger.items.get(one.item) if one.present else None
            if item and (item.phase, item.status) not in untouched:
                yield WaitingOffer(one.item, one.key, item.owner, source, one.path, one.size, one.modified, None)


def _host(source: Source, pace: SourceRecord | None) -> OfferingHost:
    if pace is None:
        return OfferingHost(source.name, source.owner)
    return OfferingHost(source.name, source.owner, pace.attempts, pace.failures, pace.received / (pace.seconds or 1))


def _seconds(source: Source, pace: SourceRecord | None, count: int, size: int) -> float | None:
    if not count:
        return 0.0
    if pace is None or not pace.received:
        return None
    return round(max(size * pace.seconds / pace.received, count * source.pace) / max(1, source.connections), 1)


def _documents(ledger: Ledger, collection: Collection, part: PhaseSpan) -> tuple[Reads, ...]:
    counts = {
        (one.kind, one.phase, one.status): one.number
        for one in ledger.items.by_state()
        if one.collection == collection.name
    }
    found = []
    for step in (one for one in collection.steps if isinstance(one, ItemStep)):
        if part.phases is None or step.phase in part.phases:
            due = sum(counts.get((step.kind, collection.phase(name), status), 0) for name, status in step.due)
            if due:
                found.append(Reads(step.phase, due))
    return tuple(found)


def turns(every: float, run: Callable[[], int], tell: Callable[[str], None]) -> Iterator[int]:
    """Run once, or again and again `every` so many seconds from begin to begin; yield each exit code.

    A run that could not begin (a lock, a database that is away) is told, and tried again when the
    next one is due.
    """
    while True:
        began = time.monotonic()
        try:
            code = run()
        except WindrowError as error:
            if not every or error.exit_code in {2, 4}:
                raise
            tell(f"{error}; the next run is due in {every:g} s")
            code = error.exit_code
        yield code
        if not every or code == 130:
            return
        with signals_to(_wake):
            time.sleep(max(0.0, every - (time.monotonic() - began)))


def _wake(_number: int, _frame: object) -> None:
    """End a wait at Ctrl-C and at SIGTERM alike, even where our parent had us ignore Ctrl-C."""
    raise KeyboardInterrupt


def refuse_without_fetching(parts: Iterable[PhaseSpan]) -> None:
    """Raise UsageError where fetching once more is asked of a part of a run that fetches nothing."""
    if not all(part.fetch for part in parts):
        raise UsageError("--again fetches once more, and --from leaves fetching out", hint="windrow replay")


def again(ledger: Ledger, session: int, harvest: Harvest) -> int:
    """Put back what the sources of a harvest offer, done or failed, so that it is fetched once more."""
    if walked(harvest.collection):
        with ledger.writing() as writer:
            names = {source.name for source in harvest.sources}
            hosts = ledger.addresses.hosts(harvest.collection.name)
            return writer.addresses.due_again(host.seq for host in hosts if host.source in names)
    first = harvest.collection.listing.first
    offers = [one for source in harvest.sources for one in ledger.listings.of_source(source.name)]
    count = 0
    with ledger.writing() as writer:
        for item in sorted({one.item for one in offers if one.present}):
            standing = ledger.items.standing(item)
            if standing and standing.state not in {first, harvest.collection.listing.refused}:
                writer.items.move(session, item, first, Reason.RETRIED)
                count += 1
    return count
