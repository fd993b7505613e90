"""Read again what is kept, into stores beside the old ones, which are put in their place at the end.

The steps run on a scratch copy of the ledger and into a store of its own, session after session as
the captures came, with the captures' time as theirs. What came out differently is then put on the
real ledger; the caller lets the new store take the old one's place.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, TypeVar

from windrow import contract
from windrow.contract import Judge, Load, Read, Rows, Summarise, Undecided
from windrow.engine.run import HarvestRun, Store, released
from windrow.engine.session import Session
from windrow.engine.steps.stepping import take_step
from windrow.engine.steps.unread import UnreadAttempts
from windrow.errors import ReaderFailed, Stopped, StoreError
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.ledger.typed.attempts import SessionCapture
from windrow.model import Finding, Item, Member, Reading, State
from windrow.reasons import Reason
from windrow.stores.sqlite import close_into_file, empty_wal, make_scratch, remove_scratch

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

    def __init__(self, inner: Store, real: Ledger, scratch: Ledger, session: int, step: str) -> None:
        """Pass everything on to `inner`; a document that is not on the real ledger yet waits there for `step`."""
        self._inner = inner
        self._real = real
        self._scratch = scratch
        self._session = session
        self._step = step

    def real_id(self, item: int) -> int:
        """Return a document's number on the real ledger, where it is put on record if it is new there."""
        row = self._scratch.items.get(item)
        assert row is not None
        known = self._real.items.number(row.collection, row.key, row.attempt)
        if known is not None:
            return known
        member = Member(row.name, row.size, row.digest, row.md5, rank=row.rank)
        with self._real.writing() as writer:
            return writer.listed_files.add_member(
                self._session, row.collection, row.kind, row.key, attempt=row.attempt, member=member, step=self._step
            )

    def stage(self, documents: Sequence[tuple[Item, Rows]], at: datetime) -> None:
        """Write documents' rows, not current yet."""
        self._inner.stage([(replace(item, id=self.real_id(item.id)), rows) for item, rows in documents], at)

    def judge(self, documents: Sequence[Undecided], at: datetime) -> Sequence[tuple[Finding, ...]]:
        """Make staged documents current or withhold them, in their order."""
        return self._inner.judge(
            [_Renumbered(self.real_id(document.item), document.asks, document.decide) for document in documents], at
        )

    def summarise(self, at: datetime) -> int:
        """Bring the summaries up to date."""
        return self._inner.summarise(at)

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()


def replay(run: HarvestRun, real: Ledger, states: Callable[[Ledger], Mapping[int, State]]) -> Iterator[ReplayChange]:
    """Read every capture again and yield what changed; `run.ledger` is the scratch copy.

    `states` says where the items of a ledger stand, as the collection's projection has it. A stop ends the replay
    before anything is put on the real ledger.
    """
    first = run.collection.step_after(run.collection.listing.kind)
    for at, captures in _sessions(run):
        run.clock = lambda at=at: at  # type: ignore[misc]
        with run.ledger.writing() as writer:
            for capture in captures:
                writer.items.arrive(capture.file, first, capture.attempt, capture.attempt)
        for step in run.collection.steps:
            if isinstance(step, Read | Load | Judge | Summarise):
                take_step(run, step)
        if run.stopping():
            return
    yield from _differences(run, real, states)


def _sessions(run: HarvestRun) -> Iterator[tuple[datetime, list[SessionCapture]]]:
    """Yield the good captures of each session, with its time; what an operator cancelled is left out."""
    captures = run.ledger.attempts.captures_by_session(run.collection.name)
    for _, group in groupby(captures, key=attrgetter("session")):
        mine = [*group]
        yield mine[0].opened, mine


def _differences(
    run: HarvestRun, real: Ledger, states: Callable[[Ledger], Mapping[int, State]]
) -> Iterator[ReplayChange]:
    """Put on the real ledger what a document's new reading says, where it differs from the old."""
    before, after = states(real), states(run.ledger)
    for row in run.ledger.items.read_items(run.collection.name):
        known = real.items.number(run.collection.name, row.key, row.attempt)
        if known is None or before[known] == after[row.item] or _waits_for_transfer(run, real, known):
            continue
        _put(run, real, known, row.item)
        yield ReplayChange(row.key, before[known], after[row.item])


def _waits_for_transfer(run: HarvestRun, real: Ledger, item: int) -> bool:
    step = real.items.pending(item)
    return step is not None and step.step == run.collection.listing.fetch_phase


def _put(run: HarvestRun, real: Ledger, item: int, scratch: int) -> None:
    """Put the last reading of an item on the real ledger, with what it found; an archive also follows its documents."""
    now, before = run.ledger.items.pending(scratch), real.items.pending(item)
    if now is None and before is None:
        return
    readings = run.ledger.items.readings(scratch)
    step, version = (readings[-1].step, readings[-1].version) if readings else ("", "")
    reason = now.reason if now else None
    with real.writing() as writer:
        # Without a digest it is not remembered: its findings stand among those of the earlier reading.
        writer.items.read(run.session, item, (step, version), "", Reading(reason), then="")
        if step:
            phase = run.collection.phase(step)
            writer.items.find(run.session, item, phase, run.ledger.items.findings_in_phase(scratch, phase))


Compared = TypeVar("Compared")


def rebuild(
    session: Session, old: Path, new: Path, build: Callable[[], object], compare: Callable[[], Compared],
    *, scratch: Sequence[str] = (),
) -> Compared:  # fmt: skip
    """Have `build` make the database `new`, and put it in the place of `old`; return what `compare` says of the two.

    The folder of `new` is made for this and removed at the end; `scratch` are other files that `build` makes in it.
    Until the swap `old` is as it was: a stop (then Stopped is raised), an error and a kill leave it alone. Where there
    is no file `new` after all, because its database is on a server, nothing is swapped.
    """
    names = [*scratch, new.name]

    def remove() -> None:
        with suppress(StoreError, OSError):  # what cannot be removed now is told by the next replay
            remove_scratch(new.parent, names)

    with released(remove):
        make_scratch(new.parent, names)
        with session.polite_stop():
            build()
        if session.stops:
            raise Stopped(f"stopped before all was read; {old.name} is as it was", hint="windrow replay")
        compared = compare()
        if new.is_file():
            close_into_file(new)
            _empty(old)
            new.replace(old)
    return compared


def settle_unread(
    ledger: Ledger, collection: contract.Collection, unread: Mapping[int, Reason], lost: Collection[int], old: Path
) -> None:
    """Have later runs read the visits again that a replay could not read, and not by the fault of their documents.

    `lost` are those of them of which `old` says more: ReaderFailed is raised for any, so that it stays in place.
    """
    if lost:
        reasons = Counter(str(unread[number]) for number in lost)
        counts = ", ".join(f"{reason}: {count}" for reason, count in sorted(reasons.items()))
        raise ReaderFailed(
            f"{counted(len(lost), 'document')} could not be read again ({counts}), so {old.name} is as it was",
            hint="remove the cause, such as too low a limit or a fault of the step; then: windrow replay",
        )
    for step in collection.steps:
        if isinstance(step, contract.Settle):
            known = UnreadAttempts(ledger, collection.name, collection.phase(step.phase), step.version)
            with ledger.writing() as writer:
                known.note(writer, {visit: reason for visit, reason in unread.items() if visit not in known})


def _empty(old: Path) -> None:
    """Leave nothing beside the database that goes, which would be taken for a part of the new one.

    Who has it open meanwhile keeps reading the old one.
    """
    if old.is_file():
        with closing(sqlite3.connect(old)) as link:
            if not empty_wal(link):
                raise StoreError(
                    f"another process has been reading {old} all the while, so it was not replaced",
                    hint="end it, then: windrow replay",
                )
    for suffix in ("-wal", "-shm"):
        Path(f"{old}{suffix}").unlink(missing_ok=True)
