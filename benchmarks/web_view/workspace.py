"""A workspace with many pages, events, articles, papers and zips, written straight into the ledger and the stores."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa

import windrow
from benchmarks.events.documents import documents
from benchmarks.pages.corpus import Vocabulary
from benchmarks.pages.corpus import documents as page_rows
from benchmarks.pages.filler import Filler, PageRow
from windrow.collections.drops.adapter.harvest import update_projection
from windrow.collections.drops.database.tracker_tables import TRACKER
from windrow.collections.drops.phase import PHASES
from windrow.collections.drops.settings import Drops
from windrow.collections.events.adapter import ADAPTER
from windrow.collections.events.adapter.databases import open_databases
from windrow.collections.pages.adapter.search_index import index_pages
from windrow.collections.pages.database.fulltext_table import fill
from windrow.collections.pages.database.store import SummaryStore
from windrow.collections.pages.search.index_query import VERSION
from windrow.collections.pages.settings import Pages
from windrow.collections.papers.database.store import PaperStore
from windrow.contract import AttemptObservations, Observation
from windrow.contract.registry import collection
from windrow.digest import hash64
from windrow.formats.url import parts
from windrow.ledger import Ledger
from windrow.model import FoundUrl
from windrow.stores.databases import connect
from windrow.stores.documented_records import DocumentedRecords
from windrow.stores.late_attempts import LateAttemptStore
from windrow.stores.records import RecordStore

_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_SESSIONS = 30  # the number of the first one is 1, so the records are changes of one of them
_SLICE = 500  # records of an attempt, or documents of a write
_BASE_32 = str.maketrans("0189", "ABCD")  # digits that base 32 does not have
_SOURCES = """
[source.town]
collection = "pages"
url = "https://site0.example/"

[source.gazette]
collection = "news"
url = "https://gazette.example/feed"

[source.shelf]
collection = "papers"
warc = ["warcs"]

[source.council]
collection = "events"
url = "https://council.example/calendar"
reader = "icalendar"
branch = "Legislative"
entity = "Senate"
timezone = "America/New_York"

[source.harwell]
collection = "drops"
url = "https://harwell.example/"
centre = "H"
"""


def make_workspace(folder: Path, count: int) -> windrow.Windrow:
    """Make a workspace with `count` pages, events and articles, and a tenth as many papers and zips."""
    windrow.init(folder)
    settings = folder / "windrow.toml"
    settings.write_text(settings.read_text() + _SOURCES)
    farm = windrow.open(folder)
    pages = [*page_rows(count)]
    _write_ledger(farm, pages)
    _write_pages(farm, pages)
    vocabulary = Vocabulary(3)
    with closing(LateAttemptStore(folder / "news.db", collection("news").columns)) as store:
        _write_records(store, "gazette", _articles(vocabulary, count))
    with closing(PaperStore(folder / "papers.db", collection("papers").columns)) as store:
        _write_records(store, "shelf", _papers(vocabulary, count // 10))
    _write_events(farm, count)
    _write_tracker(farm, count // 10)
    return windrow.open(folder)


def _write_ledger(farm: windrow.Windrow, pages: list[PageRow]) -> None:
    """Write sessions with a task for each source, and the addresses of all pages."""
    with closing(Ledger(farm.config.ledger)) as ledger, ledger.writing() as writer:
        for number in range(_SESSIONS):
            session = writer.sessions.open("a benchmark", "run")
            for source in farm.config.sources:
                task = writer.sessions.open_task(session, source.collection, source.name, 1)
                writer.sessions.close_task(task, None, "", failed=False)
            if not number:
                hosts: dict[str, int] = {}
                for page in pages:
                    origin = parts(page.url).origin
                    if origin not in hosts:
                        hosts[origin] = writer.addresses.add_host(session, "pages", "town", origin)
                    writer.addresses.add(hosts[origin], 0, [FoundUrl(hash64(page.url), origin, page.url)])
            writer.sessions.close(session, 0)


def _write_pages(farm: windrow.Windrow, pages: list[PageRow]) -> None:
    section = farm.config.section(Pages)
    with closing(Filler(section.summary_database)) as filler:
        filler.add(pages)
    SummaryStore(section.summary_database).close()  # a run adds windrow's own tables and indexes, too
    fill(section.summary_database, lambda *_: {}, version=VERSION)  # words are not counted, as for searches
    index_pages(section.summary_database, section.index)


def _write_records(store: RecordStore, source: str, records: Iterator[Observation]) -> None:
    number = 0
    while batch := tuple(islice(records, _SLICE)):
        number += 1
        at = _BEGAN + timedelta(hours=number)
        entry = AttemptObservations(number, at, f"https://{source}.example/list?page={number}", source, batch)
        store.settle([entry], number, _SESSIONS)
    store.finish(0, lambda: True)
    store.update_index(lambda: True)


def _articles(vocabulary: Vocabulary, count: int) -> Iterator[Observation]:
    for number in range(count):
        url, text = f"https://gazette.example/{number}", vocabulary.text(300)
        value = {
            "url": url, "title": vocabulary.text(6), "article_text": text, "source_domain": "gazette.example",
            "publication_date": f"{date(2026, 1, 1) + timedelta(days=number % 300)}", "author": "Ann Lee",
            "keywords": vocabulary.draw(4), "excerpt": text[:200], "word_count": 300, "metadata": {},
        }  # fmt: skip
        yield Observation(url, value, text)


def _papers(vocabulary: Vocabulary, count: int) -> Iterator[Observation]:
    for number in range(count):
        key, text = f"sha1:{f'{number:032}'.translate(_BASE_32)}", vocabulary.text(400)
        value = {
            "title": vocabulary.text(8), "authors": ["Ann Lee", "Bo Berg"], "year": 1990 + number % 30,
            "doi": f"10.5000/{number}", "file": {"size": 100_000, "mime": "application/pdf"},
            "text": {"status": {"status": "success"}},
        }  # fmt: skip
        yield Observation(key, value, text, aside={"pages": vocabulary.text(4_000)})


def _write_events(farm: windrow.Windrow, count: int) -> None:
    added = {"all_day": False, "revision": 0, "source": "council"}
    events: list[dict[str, Any]] = [
        {
            **event,
            **added,
            "unique_key": event["uid"].rpartition("/")[2],
            "first_seen": event["access_datetime"],
            "changed": event["access_datetime"],
        }
        for event in documents(count)
    ]
    with open_databases(farm.config) as databases:
        for start in range(0, count, _SLICE):
            databases.write(databases.events, events[start : start + _SLICE])
    path, removal = farm.config.root / "events.db", ADAPTER._removal  # noqa: SLF001 as the adapter opens it in a run
    with closing(DocumentedRecords(path, collection("events").columns, removal)) as store:
        _write_records(store, "council", (Observation(event["uid"], event, event["title"]) for event in events))


def _write_tracker(farm: windrow.Windrow, zips: int) -> None:
    """Write zips of three centres, each with two XML files and a finding, by plain SQL beside the seed rows."""
    with closing(Ledger(farm.config.ledger)) as ledger:
        update_projection(farm.config, ledger)
    chance, now = random.Random(7), datetime(2026, 1, 1)  # noqa: DTZ001 the tracker has times without a zone
    tables: dict[str, list[dict[str, Any]]] = {}

    def add(table: str, **values: Any) -> int:
        rows = tables.setdefault(table, [])
        rows.append({"id": len(rows) + 1, **values})
        return len(rows)

    exception = add("an_exception", short_name="SchemaError")
    for number in range(zips):
        centre = number % 3 + 1
        file = {"centre_id": centre, "created": now.date(), "inc": number, "size_bytes": 9, "content_md5": "0" * 32}
        state = {"phase_id": chance.randint(1, len(PHASES)), "status_id": chance.choice((3, 3, 3, 5))}
        zip_ = add("zip_file", file_name=f"H.2026-01-01.{number}.impc.zip", **file)
        action = add("zip_action", zip_id=zip_, todo_id=1, **state)
        source = add("file_source_has_zip", za_id=action, file_source_id=1, num_retries=0)
        times = {"request": now, "received": now, "downloaded_size_bytes": 9}
        transfer = add("zip_download", zf_id=source, **times, **state)
        for kind in ("specimen", "experiment"):
            xml = add("xml_file", zip_id=transfer, fname=f"H.2026-01-01.{number}.{kind}.impc.xml", **file, **state)
            add("xml_log", xml_id=xml, exception_id=exception, message="not valid", line=3, col=4)
    engine = connect(farm.config.section(Drops).tracker.url)
    with engine.begin() as connection:
        for name, rows in tables.items():
            connection.execute(sa.insert(TRACKER.tables[name]), rows)
    engine.dispose()


def sizes(folder: Path) -> str:
    """Return the sizes of the stores as JSON, in MB, for a note."""
    return json.dumps({path.name: round(path.stat().st_size / 1e6) for path in sorted(folder.glob("*.*db*"))})
