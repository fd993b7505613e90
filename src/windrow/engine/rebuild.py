"""Build a database anew beside the one in use, compare the two, and let the new one take its place."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

from windrow import contract
from windrow.engine.ledger import Ledger
from windrow.engine.release import released
from windrow.engine.session import Session
from windrow.engine.steps.unread import UnreadVisits
from windrow.errors import ReaderFailed, Stopped, StoreError
from windrow.formats.text import counted
from windrow.reasons import Reason
from windrow.stores.sqlite import close_into_file, empty_wal, make_scratch, remove_scratch

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
        reasons = Counter(str(unread[one]) for one in lost)
        told = ", ".join(f"{reason}: {count}" for reason, count in sorted(reasons.items()))
        raise ReaderFailed(
            f"{counted(len(lost), 'document')} could not be read again ({told}), so {old.name} is as it was",
            hint="remove the cause, such as too low a limit or a fault of the step; then: windrow replay",
        )
    for step in collection.steps:
        if isinstance(step, contract.Settle):
            known = UnreadVisits(ledger, collection.name, collection.phase(step.phase), step.version)
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
