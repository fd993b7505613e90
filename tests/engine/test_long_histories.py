"""What a workspace costs that was run hourly for years: tasks and attempts are found without reading all of them."""

import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import islice, product

import pytest

import windrow
from windrow.app import status
from windrow.app.summary import summarise
from windrow.contract import AttemptObservations, Observation
from windrow.ledger import Ledger
from windrow.ledger.database import migrations, queries
from windrow.model import Attempt, FoundUrl
from windrow.reasons import Reason
from windrow.stores.documented_records import DocumentedRecords
from windrow.stores.record_versions import Removal

READS_ALL_TASKS = {
    "sessions.ends_of_phase",  # only for a store that is new because the old one was lost
    "sessions.leaving_out",  # only for `windrow why` of a name that nothing else knows
    "takedowns.comments_with_examples",  # only for a takedown
}

READS_ALL_ATTEMPTS = {
    "attempts.last_number",  # from the last one back, to the first that is not at a listed file
    "captures.held",  # only for `windrow check`
    "takedowns.lent",  # only for a takedown
}


def list_plans():
    """Yield each query of the ledger that reads, with the steps of its plan."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for _, migration in migrations():
            connection.executescript(migration)
        for name, sql in queries().items():
            if sql.lstrip().startswith(("SELECT", "WITH")):
                count = max(map(int, re.findall(r"\?(\d+)", sql)), default=sql.count("?"))
                yield name, sql, [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", [1] * count)]


def find_table(alias, sql):
    """Return the table that has an alias in a query."""
    match = re.search(rf"\b(?:FROM|JOIN) (\w+) (?:AS )?{alias}\b", sql)
    return match[1] if match else alias


def test_no_query_reads_the_tasks_of_all_sessions():
    reading = {
        name
        for name, sql, steps in list_plans()
        for step in steps
        if (scan := re.match(r"SCAN (\w+)", step)) and find_table(scan[1], sql) in {"task", "task_end", "session_end"}
    }
    assert reading <= READS_ALL_TASKS


def test_no_query_reads_the_attempts_of_all_sessions():
    reading = {
        name
        for name, sql, steps in list_plans()
        for step in steps
        if (scan := re.match(r"SCAN (\w+)(?! USING INDEX attempt_by_file)", step))
        and find_table(scan[1], sql) == "attempt"
    }
    assert reading <= READS_ALL_ATTEMPTS


def test_no_query_makes_an_index_of_all_attempts():
    """The comparison of a crawl with those before it did, once for each earlier session."""
    made = {
        (name, find_table(alias[1], sql))
        for name, sql, steps in list_plans()
        for step in steps
        if (alias := re.match(r"SEARCH (\w+) USING AUTOMATIC", step))
    }
    assert not [name for name, table in made if table in {"attempt", "task", "task_end"}]


def test_only_queries_on_a_host_search_by_it():
    """An address, or the facts of a session, find fewer attempts."""
    searching = {name for name, _, steps in list_plans() for step in steps if "attempt_by_host" in step}
    assert searching == {
        "addresses.host_states",
        "attempts.outcomes",
        "attempts.seconds_by_origin",
        "takedowns.attempts",
    }


@pytest.fixture
def ledger(tmp_path):
    with closing(Ledger(tmp_path / "ledger.sqlite")) as opened:
        yield opened


def write_sessions(ledger, number, comment, sources=("press",)):
    """Write sessions with two tasks of each source; the first of the later ones has the comment, with a reason."""
    with ledger.writing() as writer:
        for index in range(number):
            session = writer.sessions.open("me", "run")
            for source, phase in product(sources, (1, 2)):
                task = writer.sessions.open_task(session, "news", source, phase)
                reason = Reason.NOT_WANTED if comment and not index and phase == 1 else None
                writer.sessions.close_task(task, reason, comment if reason else "done", failed=bool(index % 3 == 2))
            writer.sessions.close(session, 0)


def test_what_is_asked_of_a_source_comes_from_its_last_sessions(ledger):
    write_sessions(ledger, 5, "")
    write_sessions(ledger, 40, "3 left out, such as https://a.example/1: article")
    numbers = sorted(ledger.sessions.numbers())
    assert [session.session for session in islice(ledger.sessions.of_source("press"), 3)] == numbers[:-4:-1]
    assert [session.failed for session in islice(ledger.sessions.of_source("press"), 3)] == [0, 2, 0]
    assert [count.addresses for _, count in ledger.sessions.rule_counts("press")] == [3]
    assert [task.phase for task in islice(ledger.sessions.tasks_of_source("press"), 2)] == [2, 1]
    assert [task.phase for task in ledger.sessions.tasks_in_session("press", numbers[7])] == [1, 2]
    assert (ledger.sessions.sources(), ledger.sessions.collections()) == ({"press"}, {"news"})


def test_why_tells_the_last_tasks_of_a_source_and_that_there_are_earlier_ones(tmp_path):
    windrow.init(tmp_path)
    farm = windrow.open(tmp_path)
    with closing(Ledger(farm.config.ledger)) as ledger:
        write_sessions(ledger, 40, "")
    story = farm.why("press", limit=3).story
    assert story is not None
    assert [event.session for event in story.events] == [39, 40, 40]
    assert story.events[0].message.endswith("(and tasks of earlier sessions; see --limit)")


def test_status_sums_a_session_up_once_for_all_its_sources(tmp_path, monkeypatch):
    windrow.init(tmp_path)
    names = [f"press{number}" for number in range(5)]
    for name in names:
        text = f'collection = "news"\nurl = "https://{name}.example/feed"\n'
        (tmp_path / "sources" / f"{name}.toml").write_text(text)
    farm = windrow.open(tmp_path)
    with closing(Ledger(farm.config.ledger)) as ledger:
        write_sessions(ledger, 3, "", names)
    numbers = []
    monkeypatch.setattr(
        status,
        "summarise",
        lambda ledger, number, *a, **k: numbers.append(number) or summarise(ledger, number, *a, **k),
    )
    assert {source.source for source in farm.status().sources} == {*names}
    assert len(numbers) == 2  # the last session's, and once more until now


def count_steps(database, query):
    """Return how many hundreds of steps SQLite takes for a query of a ledger, or on a connection."""
    connection = database.database.connection if isinstance(database, Ledger) else database
    steps = []
    connection.set_progress_handler(lambda: steps.append(1), 100)
    query()
    connection.set_progress_handler(None, 0)
    return len(steps)


def test_the_sessions_with_captures_are_found_in_a_time_that_grows_with_their_number(ledger):
    """Hourly runs of feeds that answer 304 took a minute and a half to end after a year."""
    steps = []
    for _ in range(3):
        with ledger.writing() as writer:
            for _ in range(100 + 200 * bool(steps)):
                session = writer.sessions.open("me", "run")
                host = writer.addresses.host_of(session, "news", "press", "https://a.example")
                for _ in range(3):
                    end = Attempt(1, "", 1, True, writer.at, 0.1, 304, None)
                    writer.attempts.record_attempt(session, host, end)
                writer.sessions.close(session, 0)
        steps.append(count_steps(ledger, ledger.captures.sessions))
    assert steps[0] > 5
    assert steps[2] < 2 * steps[1]  # five thirds of the sessions


def write_attempts(ledger, origin, number, *, seconds=0.1):
    """Write attempts at an address of a host of its own, and return the host."""
    with ledger.writing() as writer:
        session = writer.sessions.open("me", "run")
        host = writer.addresses.host_of(session, "news", "press", origin)
        writer.addresses.add(host, 0, [FoundUrl(host, origin, f"{origin}/")], page=1, beside=2)
        for index in range(number):
            at = writer.at + timedelta(seconds=index)
            end = Attempt(host, "", 1, True, at, seconds, 200, None)
            writer.attempts.record_attempt(session, host, end)
        writer.sessions.close(session, 0)
    return host


def test_what_is_asked_of_a_host_does_not_read_the_attempts_at_others(ledger):
    host = write_attempts(ledger, "https://a.example", 20)

    def ask():
        [state] = ledger.addresses.host_states("", "a.example", 0)
        assert state.asked == max(attempt.started for attempt in ledger.attempts.of_address(host, host))
        [outcome] = ledger.attempts.outcomes(host)
        assert (outcome.status, outcome.number, outcome.latest) == (200, 20, "https://a.example/")
        assert len(ledger.takedowns.attempts(0, host)) == 20

    before = count_steps(ledger, ask)
    write_attempts(ledger, "https://b.example", 3_000)
    assert count_steps(ledger, ask) < 2 * before  # the other host has 150 times as many attempts


def test_the_time_per_request_is_that_of_the_latest_attempts(ledger):
    write_attempts(ledger, "https://a.example", 1_500, seconds=0.1)
    assert ledger.attempts.seconds_by_origin("news") == {"https://a.example": pytest.approx(0.1)}
    before = count_steps(ledger, lambda: ledger.attempts.seconds_by_origin("news"))
    write_attempts(ledger, "https://a.example", 1_500, seconds=0.3)
    assert count_steps(ledger, lambda: ledger.attempts.seconds_by_origin("news")) <= before + 5
    assert ledger.attempts.seconds_by_origin("news") == {"https://a.example": pytest.approx(0.3)}


def test_removed_events_are_found_without_reading_all_versions(tmp_path):
    with closing(DocumentedRecords(tmp_path / "events.db", (), Removal("status", "missing", ""))) as store:
        at = datetime(2026, 11, 1, tzinfo=UTC)

        def settle(attempt, key, status):
            event = {"status": status, "title": f"{key} {attempt}"}
            observations = (Observation(key, event, event["title"]),)
            moment, url = at + timedelta(seconds=attempt), f"https://a.example/{attempt}"
            store.settle([AttemptObservations(attempt, moment, url, "council", observations)], attempt)

        settle(1, "gone", "missing")
        settle(2, "back", "missing")
        settle(3, "back", "confirmed")
        expected = [("council", "gone", {"status": "missing", "title": "gone 1"})]
        assert store.removed_records() == expected
        before = count_steps(store._connection, store.removed_records)
        for attempt in range(4, 400):
            settle(attempt, f"event {attempt % 9}", "confirmed")
        assert store.removed_records() == expected
        assert count_steps(store._connection, store.removed_records) <= before + 1
