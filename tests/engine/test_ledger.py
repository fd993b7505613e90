import signal
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from tests import programs
from windrow.engine.check import check_steps
from windrow.errors import LedgerError, Locked
from windrow.ledger import Lease, Ledger, database
from windrow.ledger.database import migrations, queries
from windrow.ledger.facts import batches, facts
from windrow.ledger_facts import AttemptClosed, AttemptOpened, FileFound, SessionOpened
from windrow.model import ArchivePlace, Attempt, FoundUrl, KeptResponse, Offer, Reading, Status
from windrow.reasons import Reason


@pytest.fixture
def ledger(tmp_path):
    with closing(Ledger(tmp_path / "ledger.sqlite")) as opened:
        yield opened


def write_attempts(ledger, number=3):
    with ledger.writing() as writer:
        session = writer.sessions.open("me", "run")
        for index in range(number):
            item = writer.listed_files.add(
                session, "drops", "zip", f"add/{index}.zip", step="download", rank=str(index)
            )
            host = writer.addresses.host_of(session, "drops", "h", "ftp://h")
            fetch = writer.attempts.begin(session, host, item, f"ftp://h/{index}.zip", writer.at)
            kept = KeptResponse(f"sha256:{index:064}", 10, ArchivePlace("w.warc", index * 10, 10))
            end = Attempt(item, "", 0, True, writer.at, 0.1, 226, kept, received=10)
            ended = writer.attempts.record_attempt(session, host, end, begun=fetch)
            writer.items.arrive(item, "unzip", fetch, ended)
        writer.sessions.close(session, 0)


def test_facts_come_back_in_one_order(ledger):
    write_attempts(ledger)
    written_facts = list(facts(ledger))
    assert [fact.seq for fact in written_facts] == sorted({fact.seq for fact in written_facts})
    assert isinstance(written_facts[0], SessionOpened)
    assert [fact.key for fact in written_facts if isinstance(fact, FileFound)] == [
        "add/0.zip",
        "add/1.zip",
        "add/2.zip",
    ]
    ended = [fact for fact in written_facts if isinstance(fact, AttemptClosed)]
    assert [fact.subject.key for fact in ended] == ["add/0.zip", "add/1.zip", "add/2.zip"]
    pieces = [fact for part in batches(ledger, 0, max_facts=4) for fact in part]
    assert pieces == written_facts
    assert list(facts(ledger, after=written_facts[5].seq)) == written_facts[6:]


def test_a_transaction_that_fails_leaves_nothing(ledger):
    with pytest.raises(RuntimeError), ledger.writing() as writer:
        writer.sessions.open("me", "run")
        raise RuntimeError
    assert list(facts(ledger)) == []
    assert [*facts(ledger)] == []


def test_the_step_that_an_item_waits_for_follows_from_its_facts(ledger):
    write_attempts(ledger)
    items = [fact.seq for fact in facts(ledger) if isinstance(fact, FileFound)]
    assert ledger.items.by_step() == [("drops", "zip", "unzip", Status.PENDING, 3)]
    assert [entry.item for entry in ledger.items.due("drops", "unzip", Status.PENDING, ("", 0), 9)] == items
    with ledger.writing() as writer:
        writer.items.add_reading(1, items[0], ("unzip", "1"), "", Reading(), then="")
        writer.items.add_reading(1, items[1], ("unzip", "1"), "", Reading(Reason.EMPTY_ARCHIVE), then="")
        writer.items.end(1, items[2], Reason.CANCELLED)
    assert ledger.items.by_step() == [
        ("drops", "zip", None, None, 1), ("drops", "zip", "unzip", Status.CANCELLED, 1),
        ("drops", "zip", "unzip", Status.FAILED, 1),
    ]  # fmt: skip
    assert [*check_steps(ledger)] == []
    with ledger.writing() as writer:
        writer.items.arrive(items[0], "unzip", 1, 1)
    (fault,) = check_steps(ledger)
    assert fault.problem == "is recorded as waiting for unzip; by its facts, it should be done"
    with ledger.writing() as writer:
        writer.items.end(1, items[0], Reason.CANCELLED)
        writer.items.arrive(items[0], "unzip", 1, 1)
    (fault,) = check_steps(ledger)
    assert fault.problem.endswith("by its facts, it should be cancelled when no step was left")


def test_mirrors_at_sources_that_are_down_take_no_place_of_others(ledger):
    write_attempts(ledger)
    with ledger.writing() as writer:
        session = writer.sessions.open("me", "run")
        for fact in [fact for fact in facts(ledger) if isinstance(fact, FileFound)]:
            for source in ("a", "b", "h"):
                writer.mirrors.add(session, source, fact.seq, Offer(fact.key, fact.key, 10), "listed")
    uncompared = ledger.mirrors.uncompared("drops", ["b", "h"], 2)
    assert [(mirror.source, mirror.held_from) for mirror in uncompared] == [("b", "h")] * 2


MIGRATION = """
CREATE TABLE note (seq BIGINT PRIMARY KEY, text TEXT NOT NULL);
INSERT INTO note SELECT seq, command FROM session;
ALTER TABLE session ADD COLUMN noted INTEGER NOT NULL DEFAULT 0;
"""
KILLED = """
import os, signal, sys
from pathlib import Path
from windrow.ledger import Ledger, database
connect, known = database.sqlite3.connect, database.migrations()
def connect_deadly(*args, **more):
    connection = connect(*args, **more)
    connection.create_function("die", 0, lambda: os.kill(os.getpid(), signal.SIGKILL))
    return connection
database.sqlite3.connect, database.migrations = connect_deadly, lambda: [*known, (known[-1][0] + 1, sys.argv[2])]
Ledger(Path(sys.argv[1]))
"""


@pytest.fixture
def older(tmp_path):
    """Write a ledger of the newest schema, and return its file and its facts."""
    path = tmp_path / "ledger.sqlite"
    with closing(Ledger(path)) as ledger:
        write_attempts(ledger)
        return path, [*facts(ledger)]


@pytest.fixture
def migrated(older, monkeypatch):
    """Add a migration to those that wrote the ledger, and return its number."""
    known = migrations()
    number = known[-1][0] + 1
    monkeypatch.setattr(database, "migrations", lambda: [*known, (number, MIGRATION)])
    return number


def test_an_older_schema_is_upgraded_with_its_rows_and_a_copy_is_kept(tmp_path, older, migrated, closed_at_end):
    path, before = older
    ledger = closed_at_end(Ledger(path))
    assert ledger.database.connection.execute("PRAGMA user_version").fetchone() == (migrated,)
    assert [*facts(ledger)] == before
    sessions = ledger.database.connection.execute("SELECT seq, command FROM session ORDER BY seq").fetchall()
    assert ledger.database.connection.execute("SELECT seq, text FROM note ORDER BY seq").fetchall() == sessions
    with closing(sqlite3.connect(tmp_path / f"ledger.before-{migrated:04}.db")) as copy:
        assert copy.execute("SELECT seq, command FROM session ORDER BY seq").fetchall() == sessions
        assert copy.execute("SELECT count(*) FROM sqlite_master WHERE name = 'note'").fetchone() == (0,)


@pytest.mark.parametrize("statements", range(4))
def test_a_migration_that_is_killed_anywhere_is_made_by_the_next_run(older, migrated, closed_at_end, statements):
    path, before = older
    parts = MIGRATION.split(";\n")
    parts.insert(statements, "SELECT die()")
    assert programs.run("-c", KILLED, path, ";\n".join(parts)).returncode == -signal.SIGKILL
    ledger = closed_at_end(Ledger(path))
    assert ledger.database.connection.execute("PRAGMA user_version").fetchone() == (migrated,)
    assert [*facts(ledger)] == before


@pytest.mark.parametrize("number", [1, 20, 99])
def test_a_ledger_from_before_the_first_release_is_refused_and_left_alone(tmp_path, number):
    path = tmp_path / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as old, old:
        old.execute(f"PRAGMA user_version = {number}")
    with pytest.raises(LedgerError, match="before the first release") as refused:
        Ledger(path)
    assert "windrow init FOLDER" in refused.value.hint
    assert [copy.name for copy in tmp_path.glob("*.db")] == []
    with closing(sqlite3.connect(path)) as old:
        assert old.execute("PRAGMA user_version").fetchone() == (number,)
        assert old.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


AT = datetime(2026, 1, 1, tzinfo=UTC)


def transferred(kept, received, **more):
    return Attempt(1, "http://h/a.zip", 0, True, AT, 0.1, 226, kept, received=received, **more)


def attempt_both(ledger):
    """Record a listed file and a page of one server, each for its own collection; return item, attempt and host."""
    kept = KeptResponse("sha256:aa", 10, ArchivePlace("w.warc", 0, 10), at=AT, mime="text/html")
    found_url = FoundUrl(7, "http://h", "http://h/page")
    with ledger.writing() as writer:
        session = writer.sessions.open("me", "run")
        item = writer.listed_files.add(session, "drops", "zip", "add/a.zip")
        listed = writer.addresses.host_of(session, "drops", "centre", "http://h")
        attempt = writer.attempts.begin(session, listed, item, "http://h/a.zip", AT)
        crawled = writer.addresses.host_of(session, "pages", "site", "http://h")
        writer.addresses.add(crawled, 0, [found_url])
        page_attempt = Attempt(7, found_url.url, 0, True, AT, 0.5, 200, kept, validators=('"1"', ""))
        writer.attempts.record_attempt(session, crawled, page_attempt, schedule=(99, 60, 0))
    return item, attempt, crawled


def test_attempts_at_listed_items_and_at_addresses_are_rows_of_one_kind(ledger):
    item, attempt, host = attempt_both(ledger)
    kept = KeptResponse("sha256:bb", 12, ArchivePlace("w.warc", 10, 12), at=AT, mime="application/zip")
    with ledger.writing() as writer:
        end = writer.attempts.record_attempt(1, host, transferred(kept, 9, checksum="md5:00"), begun=attempt)
    (fetched,), (visited,) = ledger.attempts.of_file(item), ledger.attempts.of_address(host, 7)
    assert fetched == ledger.attempts.get(attempt)
    assert (fetched.source, fetched.url, fetched.end, fetched.received) == ("centre", "http://h/a.zip", end, 9)
    assert (visited.source, visited.url, visited.end, visited.received) == ("site", "http://h/page", visited.seq, 10)
    assert (fetched.started, visited.started, visited.ended) == (AT, AT, visited.at)
    assert [(recorded.warc, recorded.offset, recorded.length) for recorded in (visited, fetched)] == [
        ("w.warc", 0, 10),
        ("w.warc", 10, 12),
    ]
    counts = {count.collection: count for count in ledger.attempts.ended_between((0, end))}
    assert {(name, count.source, count.listed, count.number, count.received) for name, count in counts.items()} == {
        ("drops", "centre", True, 1, 9), ("pages", "site", False, 1, 10),
    }  # fmt: skip
    assert {capture.address for capture in ledger.captures.of_session(ledger.captures.sessions()[0])} == {
        "http://h/a.zip", "http://h/page",
    }  # fmt: skip
    assert [(capture.key, capture.offset) for capture in ledger.captures.held()] == [
        ("http://h/page", 0),
        ("add/a.zip", 10),
    ]
    assert ledger.captures.promised() == {"w.warc": 22}


def test_an_attempt_that_was_cut_is_seen_until_it_ends_in_a_later_session(ledger):
    item, attempt, host = attempt_both(ledger)
    assert ledger.attempts.open() == [(attempt, item, "centre")]
    (row,) = ledger.attempts.of_file(item)
    assert (row.end, row.ended, row.reason, row.warc, row.digest) == (None, None, None, "", "")
    assert ledger.attempts.latest_captures([item]) == {}
    assert ledger.attempts.by_source() == {}
    kept = KeptResponse("sha256:bb", 12, ArchivePlace("v.warc", 0, 12), at=AT)
    with ledger.writing() as writer:
        later = writer.sessions.open("me", "run")
        end = writer.attempts.record_attempt(later, host, transferred(kept, 12), begun=attempt)
    assert ledger.attempts.open() == []
    assert ledger.sessions.get(1).last == later - 1, "a session that has no end ends before the next one"
    assert ledger.sessions.get(later).last == end
    assert [capture.warc for capture in ledger.captures.of_session(later)] == ["v.warc"], "its session made the record"
    attempt_facts = [fact for fact in facts(ledger) if isinstance(fact, AttemptOpened | AttemptClosed)]
    assert [(fact.seq, fact.source) for fact in attempt_facts] == [(attempt, "centre"), (end, "centre")]
    assert [*facts(ledger, end - 1)] == attempt_facts[1:]


def test_a_ledger_of_a_newer_windrow_is_left_alone(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with closing(Ledger(path)) as ledger:
        ledger.database.connection.execute("PRAGMA user_version = 999")
    with pytest.raises(LedgerError, match="newer windrow"):
        Ledger(path)


def test_every_query_is_sound(ledger):
    for name, text in queries().items():
        try:
            ledger.database.connection.execute(
                f"EXPLAIN {text.replace('{marks}', '?')}", [None] * text.count("?") or ()
            )
        except sqlite3.ProgrammingError as error:
            assert "binding" in str(error).lower(), name  # a second mark in {marks}; the SQL itself is valid


# name -> (due, interval, capture) before a takedown, and (due, interval) after it was lifted
TAKEN_DOWN_ROWS = {
    "due later": ((4_000_000_000, 86_400, 7), (0, 86_400)),
    "never requested": ((0, 0, 0), (0, 0)),
    "captured and requested next": ((1, -1, 0), (0, 0)),
    "requested once": ((None, 0, 7), (0, 0)),
    "cancelled": ((None, 86_400, 7), (None, 86_400)),
    "cancelled before the first request": ((None, 0, 0), (None, 0)),
    "known only from captures of others": ((None, -1, 0), (None, -1)),
}


@pytest.mark.parametrize("is_host", [False, True])
def test_a_lifted_takedown_makes_due_only_what_it_made_never_due(ledger, is_host):
    digests = range(1, 1 + len(TAKEN_DOWN_ROWS)) if is_host else [5] * len(TAKEN_DOWN_ROWS)
    hosts = [5] * len(TAKEN_DOWN_ROWS) if is_host else range(1, 1 + len(TAKEN_DOWN_ROWS))
    columns = [before for before, _ in TAKEN_DOWN_ROWS.values()]
    add_addresses(ledger, [*zip(digests, hosts, columns, strict=True)])
    target = ("a", 0, 5) if is_host else ("a", 5, 0)
    with ledger.writing() as writer:
        writer.takedowns.begin(1, "pages", target, "me", "")
        tombstone = writer.takedowns.begin(1, "pages", target, "me", "a second time")
    assert {due for due, _ in read_schedules(ledger)} == {None}
    with ledger.writing() as writer:
        writer.takedowns.lift(1, tombstone - 1)
        writer.takedowns.make_due_again(*target[1:])
    assert {due for due, _ in read_schedules(ledger)} == {None}, "the other tombstone is not lifted"
    with ledger.writing() as writer:
        writer.takedowns.lift(1, tombstone)
        writer.takedowns.make_due_again(*target[1:])
    assert dict(zip(TAKEN_DOWN_ROWS, read_schedules(ledger), strict=True)) == {
        name: after for name, (_, after) in TAKEN_DOWN_ROWS.items()
    }


@pytest.mark.parametrize("targets", [[(5, 0), (0, 7)], [(0, 7), (5, 0)]])
def test_an_address_is_due_when_its_takedown_and_that_of_its_host_are_lifted(ledger, targets):
    add_addresses(ledger, [(5, 7, (4_000_000_000, 86_400, 7)), (5, 8, (1, 60, 7))])
    with ledger.writing() as writer:
        tombstones = [writer.takedowns.begin(1, "pages", ("a", *target), "me", "") for target in targets]
    due_times = []
    for tombstone, target in zip(tombstones, targets, strict=True):
        with ledger.writing() as writer:
            writer.takedowns.lift(1, tombstone)
            writer.takedowns.make_due_again(*target)
        due_times.append(dict(zip((7, 8), read_schedules(ledger), strict=True)))
    assert due_times[0][7][0] is None
    assert due_times[1] == {7: (0, 86_400), 8: (0, 60)}


def add_addresses(ledger, rows):
    """Add addresses given as (digest, host, (due, interval, capture))."""
    sql = "INSERT INTO address VALUES (?, ?, 'http://a.example/', 0, 0, ?, ?, ?, 0, 0)"
    with ledger.database.connection as connection:
        connection.executemany(sql, [(digest, host, *columns) for digest, host, columns in rows])


def read_schedules(ledger):
    """Return (due, interval) of each address."""
    return ledger.database.connection.execute("SELECT due, interval FROM address ORDER BY digest, host").fetchall()


class TestLease:
    @pytest.fixture
    def second_ledger(self, ledger, closed_at_end):
        return closed_at_end(Ledger(ledger.path))

    def test_the_second_is_told_who_and_since_when(self, ledger, second_ledger):
        Lease(ledger)
        with pytest.raises(Locked, match=r"in use by .* pid \d+ .* since 20") as error:
            Lease(second_ledger)
        assert error.value.exit_code == 5

    def test_a_lease_that_is_not_renewed_expires(self, ledger, second_ledger):
        start = datetime(2026, 1, 1, tzinfo=UTC)
        Lease(ledger, clock=lambda: start)
        with pytest.raises(Locked):
            Lease(second_ledger, clock=lambda: start + timedelta(seconds=50))
        Lease(second_ledger, clock=lambda: start + timedelta(seconds=61))

    def test_who_lost_the_lease_may_not_go_on(self, ledger, second_ledger):
        at = [datetime(2026, 1, 1, tzinfo=UTC)]
        first = Lease(ledger, clock=lambda: at[0])
        at[0] += timedelta(seconds=61)
        Lease(second_ledger, clock=lambda: at[0])
        with pytest.raises(Locked, match="has taken over the lease of this workspace"):
            first.beat()

    def test_a_dead_holder_on_this_machine_does_not_lock(self, ledger):
        Lease(ledger)
        gone = ledger.sessions.lease().holder.rpartition(" pid ")[0] + " pid 999999 1"
        ledger.database.connection.execute("UPDATE lease SET holder = ?", (gone,))
        Lease(ledger)

    def test_a_lease_from_a_clock_that_went_back_does_not_lock_for_ever(self, ledger, second_ledger):
        start = datetime(2026, 1, 2, tzinfo=UTC)
        Lease(ledger, clock=lambda: start)
        Lease(second_ledger, clock=lambda: start - timedelta(days=1))

    def test_released_is_free(self, ledger):
        Lease(ledger).release()
        Lease(ledger)


def test_the_identity_of_a_ledger_is_that_of_its_first_session(tmp_path):
    identities = set()
    for name in ("one", "two"):
        with closing(Ledger(tmp_path / name)) as ledger:
            assert ledger.sessions.identity() == 0
            for command in ("run", "replay"):
                with ledger.writing() as writer:
                    writer.sessions.open(f"machine {name}", command)
                identities.add(ledger.sessions.identity())
    assert len(identities) == 2
    assert 0 not in identities
