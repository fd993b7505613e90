"""Replay: read the kept captures again with today's readers, in the order of time, beside what is there.

The steps run on a scratch copy of the ledger and into a store of its own, session after session as
the captures came, with the captures' time as theirs. What came out differently is then put on the
real ledger; the caller lets the new store take the old one's place.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from windrow.contract import Judge, Load, Read, Rows, State, Summarise
from windrow.engine.ledger import Ledger
from windrow.engine.ledger.moment import parse
from windrow.engine.loading import load_step
from windrow.engine.run import Run, Store
from windrow.engine.stepping import take_step
from windrow.model import Fetched, Finding, Item, Level, Member, Reading, Status
from windrow.reasons import Reason


class Change(NamedTuple):
    """A document that now ends elsewhere than before."""

    key: str
    before: State | None
    after: State


def scratch_ledger(ledger: Ledger, path: Path) -> Ledger:
    """Copy the ledger as it was before anything was read, and return the copy."""
    path.unlink(missing_ok=True)
    into = sqlite3.connect(path)
    ledger.connection.backup(into)
    into.execute("DELETE FROM reading")
    into.execute("DELETE FROM standing WHERE item IN (SELECT seq FROM item WHERE fetch <> 0)")
    into.execute("DELETE FROM item WHERE fetch <> 0")
    into.commit()
    into.close()
    return Ledger(path)


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
        line = self._scratch.ask("item", item)[0]
        collection, kind, key, parent, owner, fetch, digest, member, size, md5, rank = line
        rows = self._real.ask("item_of_fetch", collection, key, fetch)
        if rows:
            return int(rows[0][0])
        with self._real.writing() as pen:
            return pen.item_made(
                self._session, collection, kind, key, rank=rank, owner=owner, parent=parent, fetch=fetch,
                member=Member(member, size, digest, md5), state=(1, Status.PENDING),
            )  # fmt: skip

    def stage(self, item: Item, rows: Rows, at: datetime) -> None:
        """Write a document's rows, not current yet."""
        real = Item(self.real_id(item.id), item.collection, item.kind, item.key, item.parent, item.rank,
                    item.phase, item.status, item.fetch, item.digest, item.member)  # fmt: skip
        self._inner.stage(real, rows, at)

    def known(self, question: str, keys: set[str]) -> set[str]:
        """Return those of the keys that the store knows."""
        return self._inner.known(question, keys)

    def publish(self, item: int, at: datetime) -> tuple[Finding, ...]:
        """Make a staged document's rows current."""
        return self._inner.publish(self.real_id(item), at)

    def withhold(self, item: int, at: datetime, reason: Reason) -> None:
        """Keep a staged document's rows from being current."""
        self._inner.withhold(self.real_id(item), at, reason)

    def summarise(self, at: datetime) -> int:
        """Bring the summaries up to date."""
        return self._inner.summarise(at)

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()


def replay(run: Run, real: Ledger) -> Iterator[Change]:
    """Read every capture again and yield what changed; `run.ledger` is the scratch copy."""
    for at, captures in _sessions(run):
        run.clock = lambda at=at: at  # type: ignore[misc]
        with run.ledger.writing() as pen:
            for item, fetch, checksum in captures:
                got = Fetched(item, at, 0.0, None, 0, None, checksum=checksum)
                pen.flush()
                run.ledger.connection.execute("UPDATE standing SET fetch = ? WHERE item = ?", (fetch, item))
                pen.moved(run.session, item, run.collection.listing.arrived(got)[-1])
        for step in run.collection.steps:
            if isinstance(step, Read):
                take_step(run, step)
            elif isinstance(step, Load | Judge | Summarise):
                load_step(run, step)
    yield from _differences(run, real)


def _sessions(run: Run) -> Iterator[tuple[datetime, list[tuple[int, int, str]]]]:
    """Yield the good captures of each session, with its time; what an operator cancelled is left out."""
    rows = run.ledger.ask("captures_by_session", run.collection.name, int(Status.CANCELLED))
    for session in sorted({row[0] for row in rows}):
        mine = [row for row in rows if row[0] == session]
        yield parse(mine[0][1]), [(item, fetch, checksum) for _, _, item, fetch, checksum in mine]


def _differences(run: Run, real: Ledger) -> Iterator[Change]:
    """Put on the real ledger what a document's new reading says, where it differs from the old."""
    for item, key, fetch, phase, status, reason in run.ledger.ask("standings", run.collection.name):
        rows = real.ask("standing_of_fetch", run.collection.name, key, fetch)
        after = (phase, Status(status))
        before = (rows[0][1], Status(rows[0][2])) if rows else None
        if before == after or not rows:
            continue
        told = run.ledger.ask("findings_of", item, phase)
        findings = [Finding(kind, text, Level(level), line, col) for kind, level, text, line, col in told]
        with real.writing() as pen:
            pen.read(run.session, rows[0][0], ("replay", ""), "", Reading(Reason(reason) if reason else None))
            pen.found(run.session, rows[0][0], phase, findings)
            pen.moved(run.session, rows[0][0], after, Reason(reason) if reason else None, "read again")
        yield Change(key, before, after)
