"""Read the kept captures again, into new stores, which replace the old stores at the end.

In a replay of items, the steps run on a scratch copy of the ledger and write to a new store, session after session, as
if it were the time of the session. `rebuild` replaces the old store with the new one, and then `write_differences`
writes the readings of items that now end in another state to the real ledger.
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
from windrow.engine.run import HarvestRun, Store, closing_all
from windrow.engine.session import Session
from windrow.engine.steps.stepping import take_step
from windrow.engine.steps.unread import UnreadAttempts
from windrow.errors import ReaderFailed, Stopped, StoreError
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.ledger.ledger import LedgerWriter
from windrow.ledger.typed.attempts import SessionCapture
from windrow.model import Finding, Item, Member, Reading, State, Status
from windrow.reasons import OWN_FAULTS, Reason
from windrow.stores.sqlite import close_into_file, empty_wal, make_scratch, remove_scratch, store_errors


class ReplayChange(NamedTuple):
    """A document whose state at the end of the replay differs from the state before."""

    key: str
    before: State | None
    after: State


class _RenumberedDocument(NamedTuple):
    """A document to judge, with the fields of `windrow.contract.Undecided`. `item` is its number on the real ledger."""

    item: int
    asks: Mapping[str, AbstractSet[str]]
    decide: Callable[[Mapping[str, AbstractSet[str]]], Reason | None]


class RenumberingStore:
    """A store that replaces the numbers of documents on the scratch ledger with their numbers on the real ledger."""

    def __init__(self, inner: Store, real: Ledger, scratch: Ledger, session: int, step: str) -> None:
        """`session` is recorded for documents that are added to `real`, and `step` is the step that they wait for."""
        self._inner = inner
        self._real = real
        self._scratch = scratch
        self._session = session
        self._step = step

    def real_id(self, item: int) -> int:
        """Return the number on the real ledger of a document on the scratch ledger. A new document is added."""
        document = self._scratch.items.get(item)
        assert document is not None
        number = self._real.items.number(document.collection, document.key, document.attempt)
        if number is not None:
            return number
        member = Member(document.name, document.size, document.digest, document.md5, rank=document.rank)
        with self._real.writing() as writer:
            return writer.listed_files.add_member(
                self._session, document.collection, document.kind, document.key, attempt=document.attempt,
                member=member, step=self._step,
            )  # fmt: skip

    def stage(self, documents: Sequence[tuple[Item, Rows]], at: datetime) -> None:
        """Write the rows of documents. `judge` decides later whether they become current."""
        self._inner.stage([(replace(item, id=self.real_id(item.id)), rows) for item, rows in documents], at)

    def judge(self, documents: Sequence[Undecided], at: datetime) -> Sequence[tuple[Finding, ...]]:
        """Make staged documents current or withhold them, in the given order. Return the findings of each document."""
        return self._inner.judge(
            [
                _RenumberedDocument(self.real_id(document.item), document.asks, document.decide)
                for document in documents
            ],
            at,
        )

    def summarise(self, at: datetime) -> int:
        """Update the summaries, and return the number of rows that changed."""
        return self._inner.summarise(at)

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()


def replay(run: HarvestRun) -> None:
    """Read the complete captures of listed files again, except cancelled files. `run.ledger` is the scratch copy."""
    first_step = run.collection.step_after(run.collection.listing.kind)
    for captured_at, captures in _captures_by_session(run):
        run.clock = lambda at=captured_at: at  # type: ignore[misc]
        with run.ledger.writing() as writer:
            for capture in captures:
                writer.items.arrive(capture.file, first_step, capture.attempt, capture.attempt)
        for step in run.collection.steps:
            if isinstance(step, Read | Load | Judge | Summarise):
                take_step(run, step)
        if run.stopping():
            return


def _captures_by_session(run: HarvestRun) -> Iterator[tuple[datetime, list[SessionCapture]]]:
    captures = run.ledger.attempts.captures_by_session(run.collection.name)
    for _, group in groupby(captures, key=attrgetter("session")):
        session_captures = [*group]
        yield session_captures[0].opened, session_captures


class Replayed(NamedTuple):
    """What a replay of items ends with: the session, the collection, and the scratch and the real ledger.

    `states` takes a ledger, and returns a dict from item to the state that the collection's projection shows.
    """

    session: int
    collection: contract.Collection
    scratch: Ledger
    real: Ledger
    states: Callable[[Ledger], Mapping[int, State]]


class _Difference(NamedTuple):
    number: int  # on the real ledger
    scratch_number: int
    change: ReplayChange


def _find_differences(replayed: Replayed) -> Iterator[_Difference]:
    real, collection = replayed.real, replayed.collection
    old_states, new_states = replayed.states(real), replayed.states(replayed.scratch)
    for read_item in replayed.scratch.items.read_items(collection.name):
        number = real.items.number(collection.name, read_item.key, read_item.attempt)
        if number is None or old_states[number] == new_states[read_item.item]:
            continue
        pending = real.items.pending(number)
        if pending is None or pending.step != collection.listing.fetch_phase:
            change = ReplayChange(read_item.key, old_states[number], new_states[read_item.item])
            yield _Difference(number, read_item.item, change)


def refuse_lost(replayed: Replayed, old: Path) -> None:
    """Raise ReaderFailed if documents that were done could not be read, through no fault of their bytes.

    Their records are in the store `old` but not in the new one, for example since a file of the archive is missing.
    They are open on the ledger from then on: the next runs read them again, and `retry` has their bytes fetched anew.
    """
    reasons, lost = Counter[str](), list[_Difference]()
    for difference in _find_differences(replayed):
        pending = replayed.scratch.items.pending(difference.scratch_number)
        was_done = difference.change.before is not None and difference.change.before[1] is Status.DONE
        if was_done and pending is not None and pending.reason in OWN_FAULTS:
            reasons[str(pending.reason)] += 1
            lost.append(difference)
    if lost:
        with replayed.real.writing() as writer:
            for difference in lost:
                _copy_reading(replayed, writer, difference)
        raise _make_refusal(reasons, old)


def write_differences(replayed: Replayed) -> list[ReplayChange]:
    """Write the new readings of the documents whose states changed to the real ledger, all or none; return them."""
    with replayed.real.writing() as writer:
        differences = [*_find_differences(replayed)]
        for difference in differences:
            _copy_reading(replayed, writer, difference)
    return [difference.change for difference in differences]


def _copy_reading(replayed: Replayed, writer: LedgerWriter, difference: _Difference) -> None:
    """Write the result of the last step of a document on the scratch ledger, and its findings, to the real ledger."""
    item, scratch_items = difference.number, replayed.scratch.items
    new_pending, old_pending = scratch_items.pending(difference.scratch_number), replayed.real.items.pending(item)
    if new_pending is None and old_pending is None:
        return
    readings = scratch_items.readings(difference.scratch_number)
    step, version = (readings[-1].step, readings[-1].version) if readings else ("", "")
    reason = new_pending.reason if new_pending else None
    # The empty digest keeps the reading from being used for equal bytes: its findings are mixed with earlier ones.
    writer.items.add_reading(replayed.session, item, (step, version), "", Reading(reason), then="")
    if step:
        phase = replayed.collection.phase(step)
        findings = scratch_items.findings_in_phase(difference.scratch_number, phase)
        writer.items.add_findings(replayed.session, item, phase, findings)


Built = TypeVar("Built")
Compared = TypeVar("Compared")


def rebuild(
    session: Session, old: Path, new: Path, build: Callable[[], Built], compare: Callable[[Built], Compared],
    *, scratch: Sequence[str] = (), record: Callable[[Built], object] = lambda _: None,
) -> Compared:  # fmt: skip
    """Call `build`, which makes the database file `new`; then call `compare`, and replace `old` with `new`.

    Call `record` after that, and return the result of `compare`. Both are given the result of `build`. The folder of
    `new` is made for this and removed at the end. `scratch` names other files that `build` makes in it. `old` remains
    unchanged until it is replaced, even after an error or a kill. Raises Stopped if the run is stopped, and StoreError
    if another process keeps reading `old`. If `build` does not make the file `new`, because the database is on a
    server, nothing is replaced.
    """
    names = [*scratch, new.name]

    def remove_scratch_files() -> None:
        with suppress(StoreError, OSError):  # the next replay reports files that cannot be removed
            remove_scratch(new.parent, names)

    with closing_all(remove_scratch_files):
        make_scratch(new.parent, names)
        with session.polite_stop():
            built = build()
        if session.stops:
            raise Stopped(f"stopped before everything was read; {old.name} was left unchanged", hint="windrow replay")
        compared = compare(built)
        if new.is_file():
            close_into_file(new)
            _remove_log(old)
            new.replace(old)
        record(built)
    return compared


def settle_unread(
    ledger: Ledger, collection: contract.Collection, unread: Mapping[int, Reason], lost: Collection[int], old: Path
) -> None:
    """Record on the ledger the attempts that a replay could not read (`unread`), so that later runs read them again.

    Attempts that are already recorded there remain as they are. `lost` has the attempts whose records are in the store
    `old` but not in the new one. If there are any, ReaderFailed is raised, `old` is not replaced, and nothing is
    recorded.
    """
    if lost:
        raise _make_refusal(Counter(str(unread[number]) for number in lost), old)
    for step in collection.steps:
        if isinstance(step, contract.Settle):
            unread_attempts = UnreadAttempts(ledger, collection.name, collection.phase(step.phase), step.version)
            with ledger.writing() as writer:
                unread_attempts.record_unread(
                    writer, {attempt: reason for attempt, reason in unread.items() if attempt not in unread_attempts}
                )


def _make_refusal(reasons: Counter[str], old: Path) -> ReaderFailed:
    counts = ", ".join(f"{reason}: {count}" for reason, count in sorted(reasons.items()))
    return ReaderFailed(
        f"{counted(reasons.total(), 'document')} could not be read again ({counts}), so {old.name} was left unchanged",
        hint="correct the cause: a low limit, a service without address, lost files or a bug; then: windrow replay",
    )


def _remove_log(old: Path) -> None:
    """Remove the log of a database that will be replaced. Raises StoreError if another process keeps reading `old`."""
    if old.is_file():
        with store_errors(old), closing(sqlite3.connect(old)) as database:
            if not empty_wal(database):
                raise StoreError(
                    f"another process kept reading {old}, so it was not replaced",
                    hint="end that process, then: windrow replay",
                )
    for suffix in ("-wal", "-shm"):
        Path(f"{old}{suffix}").unlink(missing_ok=True)
