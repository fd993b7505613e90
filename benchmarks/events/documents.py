"""Documents of events written to the store in SQLite, and asked for: beside plain SQLite and pouchdb-server.

Ours has five views and a full text, and each write is a transaction of 500 documents on disk. Plain SQLite is one table
of ids and JSON, written in transactions of the same size with the same durability. pouchdb-server (not CouchDB) is
given the same documents a thousand at a time.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.comparison import Comparison, median_of, spread
from benchmarks.daemon import Missing, free_port, place, running, scratch
from windrow.collections.events.adapter.databases import EVENT_VIEWS, NEWEST_KEY, SEARCHED_KEYS
from windrow.stores.couchdb import CouchDocuments
from windrow.stores.documents import DocumentDatabase, ViewRange
from windrow.stores.sqlite_documents import SqliteDocuments

COUNT = 100_000
TURNS, SLICE, BULK = 3, 500, 10_000
ASKED = 1_000
LIMIT = 5.0
"""Milliseconds within which 99 of 100 queries must be answered."""

_BRANCHES = ("Executive", "Legislative", "Judicial", "Other")
_ENTITIES = ("White House", "Senate", "House of Representatives", "Supreme Court")
_WORDS = ("board", "hearing", "budget", "ethics", "water", "nomination", "markup", "review", "committee", "session")


def document(number: int, chance: random.Random) -> dict[str, Any]:
    """Make an event."""
    at = f"20{20 + number % 10}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}T{chance.randint(0, 23):02}:00:00Z"
    title = " ".join(chance.choices(_WORDS, k=6)) + f" {number}"
    return {
        "_id": f"{at} - bench - {number}", "datetime": at, "title": title, "description": title * 3,
        "end_datetime": None, "branch": chance.choice(_BRANCHES), "entity": chance.choice(_ENTITIES),
        "source_url": "https://a.example/", "source_text": f"<li>{title}</li>", "access_datetime": at,
        "parser_name": "bench", "parser_version": "1", "event_url": None, "source_timezone": "UTC",
        "status": "scheduled", "uid": f"bench/{number}", "location": f"Room {number % 500}",
    }  # fmt: skip


def documents(count: int) -> list[dict[str, Any]]:
    """Make events; the same ones each time."""
    chance = random.Random(7)
    return [document(number, chance) for number in range(count)]


def fill_store(path: Path, events: list[dict[str, Any]]) -> tuple[SqliteDocuments, float]:
    """Write events to a new store; return it, and how many it took a second."""
    store = SqliteDocuments(path, [DocumentDatabase("vd_events", EVENT_VIEWS, texts=SEARCHED_KEYS, newest=NEWEST_KEY)])
    began = time.perf_counter()
    for start in range(0, len(events), SLICE):
        store.write("vd_events", events[start : start + SLICE])
    return store, len(events) / (time.perf_counter() - began)


def fill_sqlite(path: Path, events: list[dict[str, Any]]) -> float:
    """Write events to a table of ids and JSON; return how many a second."""
    with closing(sqlite3.connect(path, isolation_level=None)) as link:
        link.execute("PRAGMA journal_mode = WAL").fetchall()
        link.execute("PRAGMA synchronous = FULL")
        link.execute("CREATE TABLE event (id TEXT PRIMARY KEY, body TEXT)")
        began = time.perf_counter()
        for start in range(0, len(events), SLICE):
            link.execute("BEGIN")
            link.executemany(
                "INSERT INTO event VALUES (?, ?)",
                [(event["_id"], json.dumps(event)) for event in events[start : start + SLICE]],
            )
            link.execute("COMMIT")
        return len(events) / (time.perf_counter() - began)


@contextmanager
def pouchdb(folder: Path) -> Iterator[str]:
    """Start pouchdb-server; raise `Missing` if it is not installed."""
    npm = Path(os.environ.get("WINDROW_NPM", Path(__file__).parents[2] / "build" / "npm"))
    program = npm / "node_modules" / ".bin" / "pouchdb-server"
    node = shutil.which("node")
    if node is None or not program.exists():
        raise Missing("pouchdb-server is not here: make pouchdb")
    port = free_port()
    config = {"log": {"level": "none", "file": str(folder / "pouchdb.log")}}  # else it is log.txt of the working folder
    (folder / "config.json").write_text(json.dumps(config))
    command = [node, "--no-deprecation", "--unhandled-rejections=warn", str(program), "--host", "127.0.0.1"]
    command += ["--port", str(port), "--dir", str(folder), "--config", str(folder / "config.json"), "--no-color"]
    with running(command, folder / "log", port, end=signal.SIGKILL):
        yield f"http://127.0.0.1:{port}/"


def written(count: int = COUNT, bulk: int = BULK, turns: int = TURNS) -> Iterator[Comparison]:
    """Documents a second; `bulk` is how many the server is given."""
    events = documents(count)
    ours: list[float] = []
    theirs: list[float] = []
    with scratch() as folder:
        for turn in range(turns):
            store, rate = fill_store(folder / f"ours{turn}.db", events)
            held = store.count("vd_events")
            assert held == count, held
            store.close()
            ours.append(rate)
            theirs.append(fill_sqlite(folder / f"plain{turn}.db", events))
            for path in folder.glob("*.db*"):
                path.unlink()
        note = f"{count} documents, {place(folder)}; {spread(ours, theirs)}"
    yield Comparison(
        "events written", "documents/s", median_of(ours), "plain SQLite", median_of(theirs), None, note=note
    )
    rates: list[float] = []
    with scratch() as folder, pouchdb(folder) as url:
        for turn in range(turns):
            store_ = CouchDocuments(url, [DocumentDatabase(f"bench{turn}")])
            began = time.perf_counter()
            for start in range(0, bulk, 1000):
                store_._request("POST", f"/bench{turn}/_bulk_docs", {"docs": events[start : start + 1000]}, good=(201,))  # noqa: SLF001
            rates.append(bulk / (time.perf_counter() - began))
            store_.close()
    note = f"ours with its views built, theirs without; {spread(ours, rates)}"
    yield Comparison(
        "events written", "documents/s", median_of(ours), "pouchdb-server _bulk_docs", median_of(rates), 1.0, note=note
    )


def queries(count: int = COUNT, questions: int = ASKED) -> Iterator[Comparison]:
    """Milliseconds in which 99 of 100 questions are answered, of 20 events each, beside the limit."""
    chance = random.Random(11)
    with scratch() as folder:
        store, _ = fill_store(folder / "ours.db", documents(count))

        def span(*first: str) -> ViewRange:
            day = f"20{chance.randint(20, 29)}-{chance.randint(1, 12):02}"
            return ViewRange(first, start=day, end=f"{day}-28", limit=20, descending=bool(chance.getrandbits(1)))

        def found(text: str, within: ViewRange = ViewRange(limit=20)) -> list[Any]:  # noqa: B008 an immutable value
            return list(store.search("vd_events", text, "all", within))

        queries_by_name: dict[str, Callable[[], list[Any]]] = {
            "range": lambda: list(store.view("vd_events", "all", span())),
            "branch": lambda: list(store.view("vd_events", "branch", span(chance.choice(_BRANCHES)))),
            "a rare word": lambda: found(f"{chance.choice(_WORDS)} {chance.randint(0, count)}"),
            "a common word": lambda: found(chance.choice(_WORDS)),
            "three words": lambda: found(" ".join(chance.choices(_WORDS, k=3))),
            "words of a month": lambda: found(" ".join(chance.choices(_WORDS, k=2)), span()),
        }
        for name, query in queries_by_name.items():
            took = []
            for _ in range(questions):
                began = time.perf_counter()
                query()
                took.append((time.perf_counter() - began) * 1000)
            note = f"{count} events, median {statistics.median(took):.2f} ms"
            worst = statistics.quantiles(took, n=100)[98]
            yield Comparison(f"events by {name}, p99", "ms", worst, "the limit", LIMIT, 1.0, better="less", note=note)
        store.close()
