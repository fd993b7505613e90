"""What a workspace costs that was run hourly for a year: tasks and their ends are found without reading all of them."""

import re
import sqlite3
from contextlib import closing
from itertools import islice, product

import pytest

import windrow
from windrow.app import status
from windrow.app.summary import summarise
from windrow.ledger import Ledger
from windrow.ledger.database import migrations, queries
from windrow.model import Attempt
from windrow.reasons import Reason

READS_ALL_TASKS = {
    "sessions.ends_of_phase",  # only for a store that is new because the old one was lost
    "sessions.leaving_out",  # only for `windrow why` of a name that nothing else knows
    "takedowns.comments_with_examples",  # only for a takedown
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
    match = re.search(rf"\b(\w+) (?:AS )?{alias}\b", sql)
    return match[1] if match else alias


def test_no_query_reads_the_tasks_of_all_sessions():
    reading = {
        name
        for name, sql, steps in list_plans()
        for step in steps
        if (scan := re.match(r"SCAN (\w+)", step)) and find_table(scan[1], sql) in {"task", "task_end", "session_end"}
    }
    assert reading <= READS_ALL_TASKS


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


def count_steps(ledger, query):
    """Return how many hundreds of steps SQLite takes for a query."""
    steps = []
    ledger.database.connection.set_progress_handler(lambda: steps.append(1), 100)
    query()
    ledger.database.connection.set_progress_handler(None, 0)
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
