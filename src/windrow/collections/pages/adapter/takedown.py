"""Take pages and sites down: what of them is where, and the parts that remove it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from windrow.adapter import TakedownEstimate
from windrow.collections.pages.adapter.indexing import follower
from windrow.collections.pages.database.forget import forget as remove
from windrow.collections.pages.database.forget import forget_crawls, scour
from windrow.collections.pages.database.fulltext_table import go_on
from windrow.collections.pages.database.near_duplicates import follow
from windrow.collections.pages.database.store import SummaryStore
from windrow.collections.pages.discover import address
from windrow.collections.pages.settings import pages_of
from windrow.config import Workspace
from windrow.config.place import REPLAY, replay_folder
from windrow.digest import number
from windrow.engine.clock import now
from windrow.engine.ledger import Ledger
from windrow.engine.ledger.takedowns import TargetCount
from windrow.engine.replay import SCRATCH
from windrow.engine.takedown import TakedownTarget, kept_by_reader
from windrow.errors import StoreError, UsageError
from windrow.reasons import Reason
from windrow.stores.index.folder import refuse_strange
from windrow.stores.index.folder import remove as remove_index
from windrow.stores.sqlite_file import remove_scratch

KIND = "pages"


def takedown_targets(workspace: Workspace, ledger: Ledger, names: Sequence[str]) -> list[TakedownTarget]:
    """Return what is meant by addresses, hosts and names of sites; a UsageError names what is not known."""
    refuse_strange(pages_of(workspace.sections).index)
    found: list[TakedownTarget] = []
    for name in names:
        mine = list(_meant(workspace, ledger, name))
        if not mine:
            raise UsageError(f"nothing is known of {name!r} that could be taken down", hint=f"windrow why {name}")
        found += mine
    return list(dict.fromkeys(found))


def _meant(workspace: Workspace, ledger: Ledger, name: str) -> Iterator[TakedownTarget]:
    if (url := address(name)) and ledger.addresses.is_known(KIND, number(url)):
        yield TakedownTarget(url, number(url), 0, KIND)
        return
    source = workspace.source(name)
    ours = source.name if source and source.collection == KIND else ""
    host = "" if ours else name.removeprefix("http://").removeprefix("https://").rstrip("/").lower()
    if ours or (host and "/" not in host):
        for one in ledger.addresses.host_states(ours, host, 0):
            if one.collection == KIND:
                yield TakedownTarget(one.origin, 0, one.seq, KIND)


def estimate(workspace: Workspace, ledger: Ledger, names: Sequence[str]) -> list[TakedownEstimate]:
    """Count what would be taken down."""
    found = takedown_targets(workspace, ledger, names)
    return [_estimate(one, ledger.takedowns.count(one.address, one.host)) for one in found]


def _estimate(one: TakedownTarget, there: TargetCount) -> TakedownEstimate:
    return TakedownEstimate(one.name, there.addresses, there.visits, there.captures, there.bytes)


def remove_taken_down(workspace: Workspace, target: TakedownTarget, visits: Sequence[int]) -> int:
    """Remove pages and their versions: an origin's where it is one of the pages, an address's whoever asked for it."""
    del visits
    if target.host and target.collection != KIND:
        return 0
    which = {"origins": [target.name]} if target.host else {"urls": [target.name]}
    count = 0
    with _opened(pages_of(workspace.sections).summary) as link:
        if link is not None:
            count = remove(link, **which)
    with _opened(pages_of(workspace.sections).crawler) as link:
        if link is not None:
            forget_crawls(link, **which)
    return count


def clean_stores(workspace: Workspace, pulse: Callable[[], None]) -> tuple[str, ...]:
    """Let followers see what is gone, and leave nothing of it in free places of files; tell where something stays.

    The index beside the database is made anew: what is removed from one stays in its files for a while. What a
    killed replay left unfinished goes.
    """
    refuse_strange(pages_of(workspace.sections).index)
    place = pages_of(workspace.sections).summary
    remove_scratch(workspace.root / REPLAY, SCRATCH)
    remove_scratch(replay_folder(place), [place.name])
    if place.is_file():
        with closing(SummaryStore(f"sqlite:///{place}")) as store:
            store.finish(int(now().timestamp()))
        with _opened(place) as link:
            while link is not None and follow(link):
                pulse()
        remove_index(pages_of(workspace.sections).index)

        def goes_on() -> bool:
            pulse()
            return go_on()

        follower(place, pages_of(workspace.sections).index)(goes_on)
    left: tuple[str, ...] = ()
    for path in (place, pages_of(workspace.sections).crawler):
        with _opened(path, writing=False) as link:
            if link is not None and not scour(link, pulse):
                left += (kept_by_reader(path),)
            pulse()
    return left


@contextmanager
def _opened(path: Path, *, writing: bool = True) -> Iterator[sqlite3.Connection | None]:
    """Open a database in one transaction; None where there is none, or it has no tables yet."""
    if not path.is_file():
        yield None
        return
    try:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as link:
            link.execute("PRAGMA secure_delete = ON").fetchall()
            if link.execute("SELECT 1 FROM sqlite_master WHERE name = 'url'").fetchone() is None:
                yield None
            elif writing:
                link.execute("BEGIN IMMEDIATE")
                yield link
                link.execute("COMMIT")
            else:
                yield link
    except sqlite3.Error as error:
        reason = Reason.DISK_FULL if "full" in str(error) else Reason.STORE_FAILED
        raise StoreError(f"{path}: {error}", reason=reason, hint="mend that, then: windrow forget") from error
