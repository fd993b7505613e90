"""The parts of the commands forget, replay, check and export that belong to the collection."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from windrow.adapters.adapter import Export, ReplayResult
from windrow.adapters.replay import VersionFile, replay_versions
from windrow.adapters.takedown import named_origins, sources_at
from windrow.clock import from_unix_time, now
from windrow.collections.pages.adapter.crawler_projection import check_crawler
from windrow.collections.pages.adapter.harvest import harvest
from windrow.collections.pages.adapter.lookup import open_existing_summary, open_summary
from windrow.collections.pages.adapter.search_index import find_index_faults, make_index_phase
from windrow.collections.pages.adapter.spelling import spell_address
from windrow.collections.pages.database.forget import forget_crawls, forget_versions, vacuum
from windrow.collections.pages.database.fulltext_table import never_stop, recount
from windrow.collections.pages.database.integrity import (
    copy_database,
    count_versions,
    find_faults,
    read_all_versions,
    read_checkpoint,
)
from windrow.collections.pages.database.near_duplicates import update_touched
from windrow.collections.pages.database.store import SummaryStore
from windrow.collections.pages.reading import Pile
from windrow.collections.pages.settings import Pages
from windrow.config import Workspace
from windrow.digest import hash64
from windrow.engine.archive_losses import find_losses
from windrow.engine.check import Fault
from windrow.engine.progress import Progress
from windrow.engine.replay import settle_unread
from windrow.engine.run import SessionSettings
from windrow.engine.session import Session
from windrow.engine.takedown import TakedownTarget, kept_by_reader
from windrow.errors import StoreError
from windrow.formats.text import counted, json_text, to_json_value
from windrow.ledger import Ledger
from windrow.query.word import count_words
from windrow.reasons import Reason
from windrow.stores.index.folder import refuse_foreign, remove_index
from windrow.stores.sqlite import SqliteReader, find_wrong_values

KIND = "pages"


def refuse_takedown(workspace: Workspace) -> None:
    """Raise ConfigError if the search index's folder contains other files, which a takedown must not delete."""
    refuse_foreign(workspace.section(Pages).index)


def takedown_targets(workspace: Workspace, ledger: Ledger, name: str) -> Iterator[TakedownTarget]:
    """Yield the takedown targets for `name`: a known address, or the origins of a host name or of a source.

    An origin of a source includes what sources that are no longer declared have of it, since a page has one record.
    """
    if (url := spell_address(workspace, name)) and ledger.addresses.is_known(KIND, hash64(url)):
        yield TakedownTarget(url, hash64(url), 0, KIND)
        return
    host_name = name.lower().removeprefix("http://").removeprefix("https://").rstrip("/")
    for origin, _ in named_origins(workspace, ledger, KIND, name, host_name=host_name):
        yield TakedownTarget(origin.origin, 0, origin.seq, KIND)
        for host in sources_at(ledger, origin.origin):
            if host.collection == KIND and workspace.source(host.source) is None:
                yield TakedownTarget(host.origin, 0, host.seq, KIND)


def remove_taken_down(workspace: Workspace, target: TakedownTarget, attempts: Sequence[int]) -> int:
    """Remove a target's pages from the Summary Database and the crawler database.

    Return the number of removed generations. It is 0 for an origin that was taken down for another collection.
    """
    del attempts  # a parameter of the interface that is not needed here
    if target.host and target.collection != KIND:
        return 0
    selection = {"origins": [target.name]} if target.host else {"urls": [target.name]}
    generation_count = 0
    with _open_if_exists(workspace.section(Pages).summary_database) as connection:
        if connection is not None:
            generation_count = forget_versions(connection, **selection)
    with _open_if_exists(workspace.section(Pages).crawler_database) as connection:
        if connection is not None:
            forget_crawls(connection, **selection)
    return generation_count


def clean_stores(workspace: Workspace, pulse: Callable[[], None]) -> tuple[str, ...]:
    """Remove the remains of deleted pages. Return a message for each database that still has remains.

    Duplicates are updated, and the search index is rebuilt, because removed documents remain in its files for a while.
    Both databases are rewritten; a database that another process is reading keeps remains in its write-ahead log.
    `pulse` is called between parts of the work.
    """
    refuse_foreign(workspace.section(Pages).index)
    summary_path = workspace.section(Pages).summary_database
    if summary_path.is_file():
        with closing(SummaryStore(summary_path)) as store:
            store.finish(int(now().timestamp()))
        with _open_if_exists(summary_path) as connection:
            while connection is not None and update_touched(connection):
                pulse()
        remove_index(workspace.section(Pages).index)

        def pulse_and_continue() -> bool:
            pulse()
            return True

        make_index_phase(summary_path, workspace.section(Pages).index)(pulse_and_continue)
    messages = list[str]()
    for path in (summary_path, workspace.section(Pages).crawler_database):
        with _open_if_exists(path, writing=False) as connection:
            if connection is not None and not vacuum(connection, pulse):
                messages.append(kept_by_reader(path))
            pulse()
    return tuple(messages)


@contextmanager
def _open_if_exists(path: Path, *, writing: bool = True) -> Iterator[sqlite3.Connection | None]:
    """Open a database for a `with` block; yield None if it does not exist or has no tables.

    With `writing`, the block is one transaction. Raises StoreError if the database fails.
    """
    if not path.is_file():
        yield None
        return
    try:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as connection:
            connection.execute("PRAGMA secure_delete = ON").fetchall()
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'url'").fetchone() is None:
                yield None
            elif writing:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            else:
                yield connection
    except sqlite3.Error as error:
        reason = Reason.DISK_FULL if "full" in str(error) else Reason.STORE_FAILED
        raise StoreError(f"{path}: {error}", reason=reason, hint="correct the cause, then: windrow forget") from error


def replay(workspace: Workspace, setup: SessionSettings, progress: Progress) -> ReplayResult | None:
    """Rebuild the Summary Database from the captures, then the index; return None if there was no Summary Database."""
    old_path, index = workspace.section(Pages).summary_database, workspace.section(Pages).index
    if old_path.is_file():
        refuse_foreign(index)

    def build(session: Session, new_path: Path) -> None:
        rebuilt = harvest(workspace.with_section("pages", replace(workspace.section(Pages), summary_database=new_path)))
        if rebuilt.projection:
            rebuilt.projection.close()
        session.run_harvest(
            replace(rebuilt, projection=None, reread=True), phases=frozenset({"summarise"}), fetch=False
        )
        with closing(SummaryStore(new_path)) as new_store:
            new_store.adopt_sessions(old_path)
        if not session.stops:
            phase = rebuilt.collection.phase("summarise")
            unread_attempts = {attempt.number for attempt in session.ledger.unread.attempts("pages", phase)}
            with closing(SqliteReader(old_path)) as old_reader:
                last_attempt = read_checkpoint(old_reader)
            # A damaged record costs only itself; if a file is missing, the archive may just not be there.
            damage = set() if find_losses(setup.archive, session.ledger.captures.promised) else {Reason.DISK_FAILED}
            lost_attempts = [
                attempt
                for attempt, reason in rebuilt.unread.items()
                if attempt <= last_attempt and attempt not in unread_attempts and reason not in damage
            ]
            settle_unread(session.ledger, rebuilt.collection, rebuilt.unread, lost_attempts, old_path)

    def finish(_session: Session) -> None:
        remove_index(index)
        make_index_phase(old_path, index)(never_stop)

    return replay_versions(VersionFile("pages", old_path, build, count_versions, finish), setup, progress)


_REBUILD_HINT = "remove the Summary Database and its index; then: windrow run --from summarise"
_INDEX_HINT = "windrow run pages --from index"


def check(workspace: Workspace, ledger: Ledger) -> Iterator[Fault]:
    """Yield the faults of the Summary Database, its full-text table, the search index and the crawler database."""
    section = workspace.section(Pages)
    with open_existing_summary(workspace) if section.summary_database.is_file() else nullcontext() as reader:
        if reader is not None:
            yield from _check_summary(section, ledger, reader)
        elif ledger.attempts.after(KIND, 0, 1):
            yield Fault(section.summary_database.name, "does not exist or has no tables", "windrow run rebuilds it")
    yield from check_crawler(section.crawler_database, ledger)


def _check_summary(section: Pages, ledger: Ledger, reader: SqliteReader) -> Iterator[Fault]:
    """Yield the faults of the Summary Database, and of the search index, which is made from it.

    If the Summary Database contains values of wrong types, nothing else in it is checked, and a fault says so.
    """
    name = section.summary_database.name
    with reader.reading() as connection:
        wrong_values = [*find_wrong_values(connection)]
    yield from (Fault(name, problem, _REBUILD_HINT) for problem in wrong_values)
    if wrong_values:  # the other checks would fail on these values
        yield Fault(name, "the rest of the database and its index were not checked", _REBUILD_HINT)
        return
    last_attempt, last_in_ledger = read_checkpoint(reader), ledger.attempts.last_number()
    if last_attempt > last_in_ledger:
        problem = f"it has attempt {last_attempt}, but the last attempt in the ledger is {last_in_ledger}"
        yield Fault(name, problem, _REBUILD_HINT)
    for problem in find_faults(reader, lambda fields: Pile(*fields).digest()):
        yield Fault(name, problem, _REBUILD_HINT)
    for problem in _summarise_faults(recount(section.summary_database, count_words)):
        yield Fault(name, problem, _INDEX_HINT)
    for problem in find_index_faults(section.summary_database, section.index):
        yield Fault(str(section.index), problem, _INDEX_HINT)


def _summarise_faults(lines: Iterable[str]) -> Iterator[str]:
    """Yield one message for each different PROBLEM. Each of `lines` has the form `text pile ID PROBLEM`."""
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for line in lines:
        _, _, pile_id, problem = line.split(" ", 3)
        counts[problem] += 1
        examples.setdefault(problem, pile_id)
    for problem, count in counts.items():
        others = f"; the same is true of {counted(count - 1, 'other text pile')}" if count > 1 else ""
        yield f"text pile {examples[problem]} {problem}{others}"


_TIME_FIELDS = ("first_seen", "last_seen", "ended", "created", "updated")


def export_summary(workspace: Workspace, form: str, output: TextIO) -> int:
    """Write a copy of the Summary Database as one SQLite file; return its size in bytes."""
    del form  # this export has only one format
    with open_summary(workspace) as reader:
        return copy_database(reader, output.buffer)


def export_pages(workspace: Workspace, form: str, output: TextIO) -> int:
    """Write a line of JSON for every version of every page, with times in ISO 8601; return the number of lines."""
    del form  # this export has only one format
    count = 0
    with open_summary(workspace) as reader:
        for generation in read_all_versions(reader):
            record = generation._asdict() | {name: from_unix_time(getattr(generation, name)) for name in _TIME_FIELDS}
            output.write(json_text(to_json_value(record)) + "\n")
            count += 1
    return count


EXPORTS = (
    Export(
        "summary",
        ("sqlite",),
        "the Summary Database, as one consistent file, even while a run writes to it",
        export_summary,
        unit="bytes",
    ),
    Export("pages", ("jsonl",), "a line for each version of each page, with times in ISO 8601", export_pages),
)
