"""A workspace with records of several collections, written straight into their stores."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import windrow
from tests.web.farm import HOSTILE, SITE
from windrow.collections.events.adapter.databases import open_databases
from windrow.contract import AttemptObservations, Observation
from windrow.stores.late_attempts import LateAttemptStore

ADDRESS = "https://town.example/feed"


def observed(attempt: int, key: str, value: dict[str, Any] | None, source: str = "gazette") -> AttemptObservations:
    at = datetime(2026, 1, 1, attempt % 24, attempt // 24, tzinfo=UTC)
    return AttemptObservations(attempt, at, ADDRESS, source, (Observation(key, value, "text"),))


def make_gazette(folder: Path) -> windrow.Windrow:
    """Make a workspace with a source of news and 31 articles, of which one is gone and one changed."""
    gazette = windrow.init(folder)
    gazette.new_source("gazette", ADDRESS, collection="news")
    articles = [
        observed(number, f"article {number}", {"headline": f"{number} ferries", "tags": ["harbour"]})
        for number in range(1, 31)
    ]
    ferry = {"url": f"{SITE}/ferry", "title": "The ferry", "article_text": f"The ferry sails.\n\nAgain. {HOSTILE}"}
    last = {"headline": f"The last {HOSTILE}", "text": "x" * 900, "author": None}
    with closing(LateAttemptStore(gazette.config.root / "news.db")) as store:
        store.settle([observed(34, "https://town.example/ferry", ferry)], 34)
        store.settle([*articles, observed(31, "article 31", last), observed(32, "article 30", None)], 32)
        store.settle([observed(33, "article 2", {"headline": "Two ferries"})], 33)
    return windrow.open(folder)


def event(number: int, time: str, title: str, **fields: Any) -> dict[str, Any]:
    """Return the document of an event in the form of the standard, with windrow's keys."""
    document = {
        "datetime": time, "title": title, "description": "Agenda: the ferry.\n\nAll may come.", "end_datetime": None,
        "branch": "Legislative", "entity": "Senate", "source_url": ADDRESS, "source_text": "",
        "access_datetime": "2026-01-01T00:00:00Z", "parser_name": "council", "parser_version": "1", "event_url": None,
        "source_timezone": "America/New_York", "unique_key": str(number), "uid": f"council/{number}", "all_day": False,
        "status": "scheduled", "location": "Town hall", "source": "council", "revision": 0,
        "first_seen": "2026-01-01T00:00:00Z", "changed": "2026-01-01T00:00:00Z",
    } | fields  # fmt: skip
    return {"_id": f"{document['datetime']} - council - {number}", **document}


def make_council(folder: Path) -> windrow.Windrow:
    """Make a workspace with a source of events, and seven events of November 2026."""
    council = windrow.init(folder)
    council.new_source(
        "council", ADDRESS, collection="events", reader="icalendar", branch="Legislative", entity="Senate",
        timezone="America/New_York",
    )  # fmt: skip
    council = windrow.open(folder)
    history = [{"at": "2026-01-02T00:00:00Z", "fields": {"location": ["Old town hall", "Town hall"]}}]
    night = {"local_datetime": "2026-11-03T21:30:00", "history": history, "revision": 1}
    events = [
        event(1, "2026-11-04T02:30:00Z", f"Night session {HOSTILE}", **night),
        event(2, "2026-11-05T00:00:00Z", "Open day", all_day=True, branch="Executive", entity="White House"),
        *(
            event(3 + hour, f"2026-11-06T{15 + hour}:00:00Z", f"Hearing {hour}", status="cancelled")
            for hour in range(5)
        ),
    ]
    with open_databases(council.config) as databases, closing(LateAttemptStore(folder / "events.db")) as store:
        databases.write(databases.events, events)
        store.settle([observed(1, "council/1", events[0], "council")], 1)
    return council
