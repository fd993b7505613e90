"""A workspace with records of several collections, written straight into their stores."""

from __future__ import annotations

from base64 import b64encode
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import windrow
from tests.web.farm import HOSTILE, SITE
from windrow.collections.events.adapter.databases import open_databases
from windrow.collections.papers.adapter.papers import ADAPTER
from windrow.collections.papers.adapter.rows import open_rows
from windrow.collections.papers.columns import Put, encode
from windrow.collections.papers.database.store import PaperStore
from windrow.collections.papers.row_keys import row_key
from windrow.contract import AttemptObservations, Observation
from windrow.stores.documented_records import DocumentedRecords
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


PAPER = "A234567ABCDEFGHIJKLMNOPQRSTUVWXY"
JPEG = b"\xff\xd8\xff\xe0 a picture"


def make_library(folder: Path) -> windrow.Windrow:
    """Make a workspace with a source of papers, and a paper with a picture, a text and a match."""
    library = windrow.init(folder)
    source = '[source.shelf]\ncollection = "papers"\nwarc = ["warcs"]\n'
    (folder / "windrow.toml").write_text((folder / "windrow.toml").read_text() + source)
    library = windrow.open(folder)
    value = {
        "title": "On ferries", "authors": ["Ann Lee"], "year": 2019, "doi": "10.5000/ferry",
        "file": {"size": 9, "mime": "application/pdf"}, "text": {"status": {"status": "success"}},
    }  # fmt: skip
    aside = {"thumbnail": b64encode(JPEG).decode(), "pages": f"We sailed. {HOSTILE}"}
    paper = Observation(f"sha1:{PAPER}", value, "text", aside=aside)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    with closing(PaperStore(folder / "papers.db")) as store:
        store.settle([AttemptObservations(1, at, ADDRESS, "shelf", (paper,))], 1)
    settings = ADAPTER._paper_settings(library.config)
    match = {"match0:mstatus": "matched", "match0:doi": "10.5000/ferry", "match0:minfo": {"by": "title and authors"}}
    with open_rows(settings) as table:
        cells = {name: encode(name, cell) for name, cell in match.items()}
        table.put([Put(row_key(PAPER, settings.key_form), cells)])
    return library


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
    with open_databases(council.config) as databases, closing(DocumentedRecords(folder / "events.db")) as store:
        databases.write(databases.events, events)
        store.settle([observed(1, "council/1", events[0], "council")], 1)
    return council
