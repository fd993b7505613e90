"""What a run would ask, which phases it takes, and when the next one begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from windrow.contract import Collection
from windrow.engine.frontier import frontier_of
from windrow.engine.preview import FetchBounds, Preview, Waiting
from windrow.engine.run import WarcFile
from windrow.engine.runtime import signals_to
from windrow.errors import UsageError, WindrowError
from windrow.ledger import Ledger
from windrow.model import Source


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
    for source in sources:
        if source.collection in collections:
            takes[source.collection].update(
                name.partition(":")[0] for name in collections[source.collection].inputs(source).kept
            )
    found: list[str] = []
    while len(found) < len(takes):
        left = [name for name in takes if name not in found]
        ready = [name for name in left if not takes[name] & {*left} - {name}]
        found += ready or left[:1]  # of two that take each other's, one is first
    return found


def preview(
    ledger: Ledger, collection: Collection, sources: Sequence[Source], part: PhaseSpan, bounds: FetchBounds
) -> Preview:
    """Return what a run of these sources would ask, from whom, and how much."""
    if bounds.again:
        refuse_without_fetching([part])
    return frontier_of(ledger, collection).preview(sources if part.fetch else (), bounds, part.phases)


def taken(files: Sequence[WarcFile]) -> Preview:
    """Return what a run would take in."""
    return Preview(
        (), tuple(Waiting(file.name, file.source, str(file.path), file.path.stat().st_size) for file in files), ()
    )


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
