"""The phases of a run, the order of its collections, its preview, and its repetition on a schedule."""

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
    """The part of a run between two phases: whether it fetches, and the phases of its steps; None: of all."""

    fetch: bool
    phases: frozenset[str] | None


def span(collection: Collection, first: str = "", last: str = "") -> PhaseSpan:
    """Return the part of a run from phase `first` to phase `last`, both included; empty means no bound.

    All phases before the collection's first step are fetching; without steps, the first phase is. Raises UsageError for
    an unknown phase, and if `first` comes after `last`.

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
    """Return collection names in the order of a run: each after those whose captures its sources read."""
    takes: dict[str, set[str]] = {name: set() for name in collections}
    for source in sources:
        if source.collection in collections:
            takes[source.collection].update(
                name.partition(":")[0] for name in collections[source.collection].inputs(source).kept
            )
    order: list[str] = []
    while len(order) < len(takes):
        left = [name for name in takes if name not in order]
        ready = [name for name in left if not takes[name] & {*left} - {name}]
        order += ready or left[:1]  # of a circle, any one goes first
    return order


def preview(
    ledger: Ledger, collection: Collection, sources: Sequence[Source], part: PhaseSpan, bounds: FetchBounds
) -> Preview:
    """Return what a run would request of these sources, and how much."""
    if bounds.again:
        refuse_without_fetching([part])
    return frontier_of(ledger, collection).preview(sources if part.fetch else (), bounds, part.phases)


def preview_import(files: Sequence[WarcFile]) -> Preview:
    """Return what an import of these files would read."""
    return Preview(
        (), tuple(Waiting(file.name, file.source, str(file.path), file.path.stat().st_size) for file in files), ()
    )


def repeat(every: float, run: Callable[[], int], tell: Callable[[str], None]) -> Iterator[int]:
    """Run once, or repeatedly with `every` seconds from start to start; yield each exit code.

    If a run cannot start (a lock, a database that is down), `tell` is given the error, and the next run is started when
    it is due; a usage or configuration error is raised.
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
    """End the wait at SIGINT and SIGTERM, also if our parent had SIGINT ignored."""
    raise KeyboardInterrupt


def refuse_without_fetching(parts: Iterable[PhaseSpan]) -> None:
    """Raise UsageError for `--again` if a part of the run fetches nothing."""
    if not all(part.fetch for part in parts):
        raise UsageError("--again fetches once more, and --from leaves fetching out", hint="windrow replay")
