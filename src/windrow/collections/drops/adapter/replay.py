"""Replay a workspace: its captures read again, a new store built beside the old one, then swapped in."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from windrow.adapter import Replayed
from windrow.collections.drops.adapter.harvest import DropsStore, harvest
from windrow.collections.drops.collection import COLLECTION
from windrow.collections.drops.element import TABLES
from windrow.collections.drops.settings import drops_of
from windrow.collections.drops.summary import SUMMARY
from windrow.config import Workspace
from windrow.config.password import password
from windrow.config.place import REPLAY
from windrow.engine.crew import Crew
from windrow.engine.message import Keep
from windrow.engine.pool import Pool
from windrow.engine.progress import Progress
from windrow.engine.release import released
from windrow.engine.replay import SCRATCH, Renamed
from windrow.engine.replay import replay as read_again
from windrow.engine.run import Run
from windrow.engine.session import Session, Setup
from windrow.engine.worker import Desk
from windrow.errors import StoreError, UsageError
from windrow.settings.configuration import Database
from windrow.stores.scratch import make_scratch, remove_scratch
from windrow.stores.tables import TableStore
from windrow.stores.wal import empty_wal


def replay(workspace: Workspace, setup: Setup, progress: Progress) -> Replayed | None:
    """Rebuild the store of the drops from the captures; the old one is replaced when all is read.

    A store on a server is built in an empty database that the configuration names. None where no source is of drops
    and there is no store.
    """
    file = drops_of(workspace.sections).store.url.removeprefix("sqlite:///")
    if not workspace.of(COLLECTION.name) and not Path(file).is_file():
        return None
    store = _file(workspace)
    folder = workspace.root / REPLAY
    with Session(setup, "replay", progress) as session:
        make_scratch(folder, SCRATCH)
        scratch = session.ledger.copy_unread(folder / SCRATCH[0])
        beside, aside = workspace, folder / SCRATCH[1]
        if store:
            beside = workspace.told(
                "drops", replace(drops_of(workspace.sections), store=Database(f"sqlite:///{aside}"))
            )
        made = harvest(beside)
        assert isinstance(made.store, DropsStore)
        assert made.books is not None
        session.follow(made.books)
        keep = Keep(setup.archive, session.number, setup.limits, setup.rotate, setup.agent)
        pool = Pool(Desk(made.collection, setup.archive, setup.limits, made.resources), setup.workers)
        renamed = Renamed(made.store, session.ledger, scratch, session.number)
        run = Run(
            replace(made, store=renamed, books=None), scratch, session.lease, Crew(keep, 0), pool, session.number,
            setup.archive, setup.limits, progress, lambda: session.stops,
        )  # fmt: skip
        with released(pool.close, scratch.close, made.store.tables.close):
            changes = tuple(read_again(run, session.ledger))
        if store:
            _swap(aside, store)
        remove_scratch(folder, SCRATCH)
    return Replayed(session.ordinal, changes)


def _file(workspace: Workspace) -> Path | None:
    """Return the file of the store that is to be replaced; None for a store on a server, which must be empty."""
    place = drops_of(workspace.sections).store
    if place.url.startswith("sqlite:///"):
        return Path(place.url.removeprefix("sqlite:///"))
    store = TableStore(place.url, TABLES, SUMMARY, password=password(place))
    try:
        if store.census():
            raise UsageError(
                "a store on a server is not replaced in its place: it holds records",
                hint="make an empty database, name it in drops.store, then: windrow replay",
            )
    finally:
        store.close()
    return None


def _swap(new: Path, old: Path) -> None:
    """Let the new store take the old one's place; both are closed."""
    for path in (new, old):
        if path.exists():
            with closing(sqlite3.connect(path)) as link:
                if not empty_wal(link):
                    raise StoreError(
                        f"another process has been reading {path} all the while, so it was not replaced",
                        hint="end it, then: windrow replay",
                    )
    for suffix in ("-wal", "-shm"):
        Path(f"{old}{suffix}").unlink(missing_ok=True)
    new.replace(old)
