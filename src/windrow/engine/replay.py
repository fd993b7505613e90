"""Replay: read the kept captures again with today's readers, in the order of time, beside what is there.

The steps run on a scratch copy of the ledger and into a store of its own, session after session as
the captures came, with the captures' time as theirs. What came out differently is then put on the
real ledger; the caller lets the new store take the old one's place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from windrow.contract import Judge, Load, Read, Rows, State, Summarise, Undecided
from windrow.engine.ledger import Ledger
from windrow.engine.ledger.attempts import SessionCapture
from windrow.engine.run import HarvestRun, Store
from windrow.engine.steps.loading import load_step
from windrow.engine.steps.stepping import take_step
from windrow.model import Fetched, Finding, Item, Member, Reading, Status
from windrow.reasons import Reason

SCRATCH = ("ledger.sqlite", "store")
"""What is built in the folder in which a replay of items works."""


class ReplayChange(NamedTuple):
    """A document that now ends elsewhere than before."""

    key: str
    before: State | None
    after: State


class _Renumbered(NamedTuple):
    """A document to judge, by its number on the real ledger."""

    item: int
    asks: Mapping[str, AbstractSet[str]]
    decide: Callable[[Mapping[str, AbstractSet[str]]], Reason | None]


class Renamed:
    """A store that knows documents by their numbers on the real ledger, not on the scratch copy."""

    def __init__(self, inner: Store, real: Ledger, scratch: Ledger, session: int) -> None:
        """Pass everything on to `inner`."""
        self._inner = inner
        self._real = real
        self._scratch = scratch
        self._session = session

    def real_id(self, item: int) -> int:
        """Return a document's number on the real ledger, where it is put on record if it is new there."""
        one = self._scratch.items.get(item)
        assert one is not None
        known = self._real.items.of_fetch(one.collection, one.key, one.fetch)
        if known is not None:
            return known
        with self._real.writing() as writer:
            return writer.items.add(
                self._session, one.collection, one.kind, one.key, rank=one.rank, owner=one.owner, parent=one.parent,
                fetch=one.fetch, member=Member(one.member, one.size, one.digest, one.md5), state=(1, Status.PENDING),
            )  # fmt: skip

    def stage(self, documents: Sequence[tuple[Item, Rows]], at: datetime) -> None:
        """Write documents' rows, not current yet."""
        self._inner.stage([(replace(item, id=self.real_id(item.id)), rows) for item, rows in documents], at)

    def judge(self, documents: Sequence[Undecided], at: datetime) -> Sequence[tuple[Finding, ...]]:
        """Make staged documents current or withhold them, in their order."""
        return self._inner.judge([_Renumbered(self.real_id(one.item), one.asks, one.decide) for one in documents], at)

    def summarise(self, at: datetime) -> int:
        """Bring the summaries up to date."""
        return self._inner.summarise(at)

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()


def replay(run: HarvestRun, real: Ledger) -> Iterator[ReplayChange]:
    """Read every capture again and yield what changed; `run.ledger` is the scratch copy.

    A stop ends it before anything is put on the real ledger.
    """
    for at, captures in _sessions(run):
        run.clock = lambda at=at: at  # type: ignore[misc]
        with run.ledger.writing() as writer:
            for one in captures:
                got = Fetched(one.item, at, 0.0, None, 0, None, checksum=one.checksum)
                writer.items.stands_for(one.item, one.fetch)
                writer.items.move(run.session, one.item, run.collection.listing.arrived(got)[-1])
        for step in run.collection.steps:
            if isinstance(step, Read):
                take_step(run, step)
            elif isinstance(step, Load | Judge | Summarise):
                load_step(run, step)
        if run.stopping():
            return
    yield from _differences(run, real)


def _sessions(run: HarvestRun) -> Iterator[tuple[datetime, list[SessionCapture]]]:
    """Yield the good captures of each session, with its time; what an operator cancelled is left out."""
    captures = run.ledger.attempts.captures_by_session(run.collection.name, int(Status.CANCELLED))
    for _, some in groupby(captures, key=attrgetter("session")):
        mine = [*some]
        yield mine[0].opened, mine


def _differences(run: HarvestRun, real: Ledger) -> Iterator[ReplayChange]:
    """Put on the real ledger what a document's new reading says, where it differs from the old."""
    for one in run.ledger.items.fetched(run.collection.name):
        known = real.items.standing_of_fetch(run.collection.name, one.key, one.fetch)
        if known is None or (known.phase, known.status) == (one.phase, one.status):
            continue
        after = (one.phase, one.status)
        findings = run.ledger.items.findings_in_phase(one.item, one.phase)
        with real.writing() as writer:
            writer.items.read(run.session, known.item, ("replay", ""), "", Reading(one.reason))
            writer.items.find(run.session, known.item, one.phase, findings)
            writer.items.move(run.session, known.item, after, one.reason, "read again")
        yield ReplayChange(one.key, (known.phase, known.status), after)
