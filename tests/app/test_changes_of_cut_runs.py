"""Changes seen by killed or stopped runs are reported once: in the list, in summaries, and to `run.notify`."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests import programs
from tests.collections.events.place import Site, calendar, event
from windrow.app import Windrow
from windrow.ledger import Ledger

DAY = ":20990115T150000Z"
NAMES = ("a", "b", "c", "d")
CUTS = (
    ("before", "SIGKILL"), ("amid", "SIGKILL"), ("before", "SIGINT"), ("amid", "SIGINT"), ("amid", "SIGKILL"),
    ("after", "SIGKILL"),
)  # fmt: skip
CONFIGURED = """
name = "both"
[pages]
operator = "tester"
contact = "https://example.org/bot"
private_hosts = ["127.0.0.1"]
delay = "1 ms"
[run]
notify = ["tee", "-a", "told.jsonl"]
[source.web]
collection = "pages"
url = "{url}/"
every = "1s"
"""
COUNCIL = """
[source.{name}]
collection = "events"
reader = "icalendar"
url = "{url}/{name}.ics"
branch = "Legislative"
entity = "Senate"
timezone = "America/New_York"
delay = "0s"
every = "1s"
"""


@pytest.fixture
def site() -> Iterator[Site]:
    cut_site = Site()
    yield cut_site
    cut_site.close()


def write(site: Site, edition: str, names: tuple[str, ...] = NAMES) -> None:
    """Let the site serve an edition of each page and calendar."""
    links = "".join(f'<a href="/{name}.html">{name}</a> ' for name in NAMES)
    site.put("/", f"<html><body><p>The front page. {links}</p></body></html>", "text/html")
    for name in NAMES:
        site.put(f"/{name}.html", f"<html><body><p>Page {name}, the {edition}.</p></body></html>", "text/html")
        site.put(f"/{name}.ics", calendar(event(f"{name}@x", DAY, f"Event {name}, the {edition}")))


def configure(root: Path, site: Site) -> Path:
    text = CONFIGURED.format(url=site.url) + "".join(COUNCIL.format(name=name, url=site.url) for name in NAMES)
    (root / "windrow.toml").write_text(text)
    return root


class ReportedChanges:
    """The changes reported of a workspace's sessions, collected after each of them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.changes: Counter[tuple[str, str]] = Counter()

    def collect(self) -> None:
        self.changes.update((change.kind, change.key) for change in Windrow(self.root).changes())

    def run(self, **arguments: str) -> None:
        Windrow(self.root).run(**arguments)
        self.collect()

    def cut(self, collection: str, point: str, ended: str) -> None:
        process = programs.run("-m", "tests.app.ended_run", self.root, collection, point, ended)
        assert process.returncode == (-9 if ended == "SIGKILL" else 0), process.stderr
        self.collect()

    def notified(self) -> tuple[Counter[tuple[str, str]], Counter[str]]:
        """Return the changes and the counts of changes that `run.notify` got."""
        changes: Counter[tuple[str, str]] = Counter()
        counts: Counter[str] = Counter()
        for line in (self.root / "told.jsonl").read_text().splitlines():
            summary = json.loads(line)
            changes.update((change["kind"], change["key"]) for change in summary["changes"])
            counts.update({kind: sum(count[kind] for count in summary["sources"]) for kind in ("new", "changed")})
        return changes, counts


def expected(site: Site, kind: str) -> dict[tuple[str, str], int]:
    keys = [f"{site.url}/{name}.html" for name in NAMES] + [f"{name}/{name}@x" for name in NAMES]
    return {(kind, key): 1 for key in (*keys, *([f"{site.url}/"] if kind == "new" else []))}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("collection", ["pages", "events"])
def test_each_change_is_told_once_however_often_and_wherever_runs_were_cut(
    tmp_path: Path, site: Site, collection: str
) -> None:
    reported = ReportedChanges(configure(tmp_path, site))
    write(site, "first")
    for point, ended in CUTS:
        reported.cut(collection, point, ended)
    reported.run()
    assert reported.changes == expected(site, "new")
    write(site, "second")
    time.sleep(1.1)  # the addresses are due again
    reported.cut(collection, "before", "SIGINT")
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as ledger:
        sql = "SELECT comment FROM task_end WHERE comment LIKE ? ORDER BY seq DESC LIMIT 1"
        (note,) = ledger.execute(sql, (f"{collection}: % kept and not read yet%",)).fetchone()
    count = {"pages": 5, "events": 4}[collection]
    assert note == f"{collection}: {count} answers kept and not read yet: the next run reads them"
    reported.run(first={"pages": "summarise", "events": "read"}[collection], names=collection)
    reported.run()
    both = expected(site, "new") | expected(site, "changed")
    assert reported.changes == both
    assert reported.notified() == (both, {"new": 9, "changed": 8})


def test_killed_sessions_pass_what_they_wrote_to_the_next_that_works_not_to_a_decision(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    sessions = []
    for has_task, ends in ((True, True), (True, False), (False, True), (True, False), (True, True), (True, False)):
        with ledger.writing() as writer:
            sessions.append(writer.sessions.open("machine:17", "run"))
            if has_task:
                writer.sessions.open_task(sessions[-1], "pages", "web", 1)
            if ends:
                writer.sessions.close(sessions[-1], 0)
    passed_on = [
        [session for session in sessions if first <= session <= last]
        for first, last in map(ledger.sessions.reported_facts, sessions)
    ]
    assert passed_on == [sessions[:1], [], [], [], sessions[1:5], sessions[5:]]
    ledger.close()
