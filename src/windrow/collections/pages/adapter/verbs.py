"""The collection's part of taking down, replaying, checking and exporting."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from windrow.adapters.adapter import Export, ReplayResult
from windrow.adapters.replay import VersionFile, replay_versions
from windrow.adapters.takedown import named_origins
from windrow.clock import now
from windrow.collections.pages.adapter.crawler_projection import check_crawler
from windrow.collections.pages.adapter.harvest import harvest
from windrow.collections.pages.adapter.lookup import summaries, summary_if_there, when
from windrow.collections.pages.adapter.search_index import SPELLING, behind, follower
from windrow.collections.pages.database.forget import forget as remove
from windrow.collections.pages.database.forget import forget_crawls, vacuum
from windrow.collections.pages.database.fulltext_table import never_stop, recount
from windrow.collections.pages.database.near_duplicates import update_touched
from windrow.collections.pages.database.sound import (
    copy_database,
    count_versions,
    find_faults,
    read_checkpoint,
    read_versions,
)
from windrow.collections.pages.database.store import SummaryStore
from windrow.collections.pages.discover import address
from windrow.collections.pages.reading import Pile
from windrow.collections.pages.settings import Pages
from windrow.config import Workspace
from windrow.config.workspace import REPLAY, replay_folder
from windrow.digest import number
from windrow.engine.check import Fault
from windrow.engine.progress import Progress
from windrow.engine.replay import SCRATCH, settle_unread
from windrow.engine.session import Session, SessionSettings
from windrow.engine.takedown import TakedownTarget, kept_by_reader
from windrow.errors import StoreError
from windrow.formats.text import json_text, plain
from windrow.ledger import Ledger
from windrow.query.word import counted
from windrow.reasons import Reason
from windrow.stores.index.folder import refuse_foreign, remove_index
from windrow.stores.sqlite import SqliteReader, remove_scratch

KIND = "pages"


def refuse_takedown(workspace: Workspace) -> None:
    """Raise an error if the index's folder has other contents."""
    refuse_foreign(workspace.section(Pages).index)


def takedown_targets(workspace: Workspace, ledger: Ledger, name: str) -> Iterator[TakedownTarget]:
    """Yield the takedown targets of an address, a host, or the name of a site."""
    if (url := address(name)) and ledger.addresses.is_known(KIND, number(url)):
        yield TakedownTarget(url, number(url), 0, KIND)
        return
    host = name.removeprefix("http://").removeprefix("https://").rstrip("/")
    for origin, _ in named_origins(workspace, ledger, KIND, name, host):
        yield TakedownTarget(origin.origin, 0, origin.seq, KIND)


def remove_taken_down(workspace: Workspace, target: TakedownTarget, attempts: Sequence[int]) -> int:
    """Remove pages and their versions: those of an origin only if pages are crawled there, those of any address."""
    del attempts
    if target.host and target.collection != KIND:
        return 0
    selection = {"origins": [target.name]} if target.host else {"urls": [target.name]}
    count = 0
    with _opened(workspace.section(Pages).summary_database) as link:
        if link is not None:
            count = remove(link, **selection)
    with _opened(workspace.section(Pages).crawler_database) as link:
        if link is not None:
            forget_crawls(link, **selection)
    return count


def clean_stores(workspace: Workspace, pulse: Callable[[], None]) -> tuple[str, ...]:
    """Remove deleted pages from followers and from free places of files; return the files where something remains.

    The index is rebuilt, because removed documents stay in its files for a while. Files of a killed replay are removed.
    """
    refuse_foreign(workspace.section(Pages).index)
    place = workspace.section(Pages).summary_database
    remove_scratch(workspace.root / REPLAY, SCRATCH)
    remove_scratch(replay_folder(place), [place.name])
    if place.is_file():
        with closing(SummaryStore(place)) as store:
            store.finish(int(now().timestamp()))
        with _opened(place) as link:
            while link is not None and update_touched(link):
                pulse()
        remove_index(workspace.section(Pages).index)

        def goes_on() -> bool:
            pulse()
            return never_stop()

        follower(place, workspace.section(Pages).index)(goes_on)
    kept_paths: tuple[str, ...] = ()
    for path in (place, workspace.section(Pages).crawler_database):
        with _opened(path, writing=False) as link:
            if link is not None and not vacuum(link, pulse):
                kept_paths += (kept_by_reader(path),)
            pulse()
    return kept_paths


@contextmanager
def _opened(path: Path, *, writing: bool = True) -> Iterator[sqlite3.Connection | None]:
    """Open a database in one transaction; yield None if it does not exist or has no tables yet."""
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
        raise StoreError(f"{path}: {error}", reason=reason, hint="correct that, then: windrow forget") from error


def replay(workspace: Workspace, setup: SessionSettings, progress: Progress) -> ReplayResult | None:
    """Rebuild the Summary Database from the captures, and the index from it; None if it does not exist yet."""
    old, index = workspace.section(Pages).summary_database, workspace.section(Pages).index
    if old.is_file():
        refuse_foreign(index)

    def build(session: Session, new: Path) -> None:
        rebuilt = harvest(workspace.with_section("pages", replace(workspace.section(Pages), summary_database=new)))
        if rebuilt.projection:
            rebuilt.projection.close()
        session.harvest(replace(rebuilt, projection=None, reread=True), phases=frozenset({"summarise"}), fetch=False)
        with closing(SummaryStore(new)) as new_store:
            new_store.adopt_sessions(old)
        if not session.stops:
            phase = rebuilt.collection.phase("summarise")
            unread_attempts = {attempt.number for attempt in session.ledger.unread.attempts("pages", phase)}
            with closing(SqliteReader(old)) as old_reader:
                settled_upto = read_checkpoint(old_reader)
            lost_attempts = [
                attempt for attempt in rebuilt.unread if attempt <= settled_upto and attempt not in unread_attempts
            ]
            settle_unread(session.ledger, rebuilt.collection, rebuilt.unread, lost_attempts, old)

    def finish(_session: Session) -> None:
        remove_index(index)
        follower(old, index)(never_stop)

    return replay_versions(VersionFile("pages", old, build, count_versions, finish), setup, progress)


AGAIN = "remove the Summary Database and its index; then: windrow run --from summarise"
INDEX = "windrow run pages --from index"


def check(workspace: Workspace, ledger: Ledger) -> Iterator[Fault]:
    """Check the Summary Database, count its words again, and compare the crawler database with the ledger."""
    section = workspace.section(Pages)
    with summary_if_there(workspace) as reader:
        if reader is not None:
            last_attempt, last = read_checkpoint(reader), ledger.attempts.last_number()
            if last_attempt > last:
                yield Fault(
                    section.summary_database.name,
                    f"has attempt {last_attempt}; the last attempt in the ledger is {last}",
                    AGAIN,
                )
            for fault in find_faults(reader, _digest):
                yield Fault(section.summary_database.name, fault, AGAIN)
            for line in _summarise_faults(recount(section.summary_database, counted, SPELLING)):
                yield Fault(section.summary_database.name, line, INDEX)
            for line in behind(section.summary_database, section.index):
                yield Fault(str(section.index), line, INDEX)
    yield from check_crawler(section.crawler_database, ledger)


def _digest(fields: Sequence[str]) -> bytes:
    return Pile(*fields).digest()


def _summarise_faults(lines: Iterable[str]) -> Iterator[str]:
    """Summarise the faults of text piles: one line for each kind with its count."""
    kinds: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for line in lines:
        _, _, pile, fault = line.split(" ", 3)
        kinds[fault] += 1
        examples.setdefault(fault, pile)
    for fault, count in kinds.items():
        yield f"text pile {examples[fault]} {fault}" + (f", and {count - 1:,} others" if count > 1 else "")


TIMES = ("first_seen", "last_seen", "ended", "created", "updated")


def summary(workspace: Workspace, form: str, output: TextIO) -> int:
    """Write the present Summary Database as one SQLite file; return its size in bytes."""
    del form
    with summaries(workspace) as reader:
        return copy_database(reader, output.buffer)


def pages(workspace: Workspace, form: str, output: TextIO) -> int:
    """Write a line of JSON for every version of every page, with times in ISO 8601; return the number of lines."""
    del form
    count = 0
    with summaries(workspace) as reader:
        for generation in read_versions(reader):
            record = generation._asdict() | {name: when(getattr(generation, name)) for name in TIMES}
            output.write(json_text(plain(record)) + "\n")
            count += 1
    return count


EXPORTS = (
    Export(
        "summary",
        ("sqlite",),
        "the Summary Database, a whole file as it is at one moment, whoever writes meanwhile",
        summary,
        unit="bytes",
    ),
    Export("pages", ("jsonl",), "a line for each version of each page, its times in ISO 8601", pages),
)
