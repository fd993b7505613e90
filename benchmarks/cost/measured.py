"""The cost of a page read, a document or index line checked, an address fetched and stored, and a version recorded.

`python -m benchmarks.cost.measured NAME` prints those of one room as JSON. Each room is measured in a process of its
own, since the caches that one of them fills would make the next cheaper.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from zlib import crc32

from benchmarks.cost.counting import Calls, Figures, bytes_written, statements
from benchmarks.cost.local_session import local_sessions
from benchmarks.pages.generated import pages
from benchmarks.pages.summarised import keep
from benchmarks.pages.walked import WALKED, source
from benchmarks.papers.finding import lines as index_lines
from windrow.collections.drops.adapter.harvest import read_schema
from windrow.collections.drops.rows import read_rows
from windrow.collections.drops.settings import SHIPPED_SCHEMAS
from windrow.collections.drops.steps import check_xsd
from windrow.collections.pages.collection import COLLECTION
from windrow.collections.pages.database.fulltext_table import fill
from windrow.collections.pages.database.store import SummaryStore
from windrow.collections.pages.search.index_query import VERSION
from windrow.collections.pages.steps import summarise
from windrow.collections.papers.collection import COLLECTION as PAPERS
from windrow.content.forest import load_forests
from windrow.contract import Task
from windrow.demo.partner import experiments, specimens
from windrow.digest import digest
from windrow.engine.captures.foreign_records import BlockJob
from windrow.engine.run import Harvest, SessionSettings
from windrow.engine.session import Session
from windrow.model import Item, Limits, Site, Source
from windrow.query.word import count_words

PAGES, WARM = 24, 6
"""Pages that are counted, after some others, so that one-time loading and compiling is not counted."""
DOCUMENTS = 10
ATTEMPTS = 200
INDEX_LINES = 5_000


def reading() -> Figures:
    """Read pages as a reader process does: text, description and links."""
    calls = Calls()
    for number, page in enumerate(pages(WARM + PAGES)):
        document = Item(number, "pages", "page", page.url, digest=digest(page.raw))
        task = Task(document, io.BytesIO(page.raw), Limits(), {}, {}, fields={"content-type": "text/html"})
        if number < WARM:
            summarise(task)
            continue
        with calls:
            summary = summarise(task)
        assert summary.pile is not None, page.kind
        assert len(summary.links) > 9, page.kind
    return {"calls per page read": calls.count / PAGES}


def checking() -> Figures:
    """Check documents of both kinds by their schema and turn them into rows; check lines of an index."""
    schemas = {name: read_schema(name, path) for name, path in SHIPPED_SCHEMAS.items()}
    checks, loads = Calls(), Calls()
    for number in range(1 + DOCUMENTS):
        for kind, make in (("specimen", specimens), ("experiment", experiments)):
            name = f"H.2026-01-12.{number}.{kind}.impc.xml"
            document = Item(number, "drops", "xml", f"add/H.2026-01-12.1.impc.zip/{name}", member=name)
            task = Task(
                document, io.BytesIO(make("H", number)), Limits(), schemas, {"centres": "H", "today": "2026-01-12"}
            )
            if not number:
                check_xsd(task)
                read_rows(task)
                continue
            with checks:
                verdict = check_xsd(task)
            assert verdict.done, verdict
            with loads:
                loaded = read_rows(task)
            assert loaded, name
    return {
        "calls per document checked": checks.count / (2 * DOCUMENTS),
        "calls per document loaded": loads.count / (2 * DOCUMENTS),
        **_selecting(),
    }


def _selecting() -> Figures:
    """Parse lines of an index and select PDFs, a third of them, by the rules of papers."""
    captures = PAPERS.captures
    assert captures is not None
    library = Source("library", "papers", Site("", ""), options={})
    lines = index_lines(2 * INDEX_LINES)
    calls = Calls()
    for start in range(0, len(lines), INDEX_LINES):
        job = BlockJob(captures, library, {}, b"\n".join(lines[start : start + INDEX_LINES]), None)
        if not start:
            job.run(Limits())
            continue
        with calls:
            chosen = job.run(Limits())
        assert INDEX_LINES / 4 < len(chosen.wanted) < INDEX_LINES / 2, chosen.left_out
    return {"calls per index line": calls.count / INDEX_LINES}


def fetching() -> Figures:
    """Crawl and store a site of which every address is a page."""
    bodies = [page.raw for page in pages(PAGES)]

    def serve(path: str) -> bytes:
        rules = path == "/robots.txt"
        body = b"User-agent: *\nDisallow: /private/\n" if rules else bodies[crc32(path.encode()) % PAGES]
        head = (
            f"HTTP/1.1 200 OK\r\nContent-Type: text/{'plain' if rules else 'html'}\r\nContent-Length: {len(body)}\r\n"
        )
        return f'{head}ETag: "{crc32(body):08x}"\r\n\r\n'.encode() + body

    sources = (source("http://quay.example/"),)
    with tempfile.TemporaryDirectory() as name, local_sessions(serve), statements() as statement_counts:
        root = Path(name)
        session = Session(SessionSettings(root / "ledger.sqlite", root / "archive", Limits()), "benchmark")
        session.run_harvest(Harvest(WALKED, sources), limit=1)
        before, statements_before = bytes_written(), statement_counts["ledger.sqlite"]
        calls = Calls()
        with calls:
            session.run_harvest(Harvest(WALKED, sources), limit=ATTEMPTS)
        written, run = bytes_written() - before, statement_counts["ledger.sqlite"] - statements_before
        code = session.close()
        kept = session.ledger.database.connection.execute(
            "SELECT count(*) FROM attempt WHERE status = 200 AND warc <> '' AND kind = 0"
        ).fetchone()
        session.ledger.close()
    assert (code, *kept) == (0, 1 + ATTEMPTS), (code, kept)
    return {
        "calls per attempt": calls.count / ATTEMPTS,
        "SQL statements per attempt": run / ATTEMPTS,
        "bytes written per attempt": written / ATTEMPTS,
    }


def summarising() -> Figures:
    """Write captured pages to a Summary Database as versions, with their full text."""
    with tempfile.TemporaryDirectory() as name, local_sessions(), statements() as statement_counts:
        root = Path(name)
        path = root / "summary.sqlite"
        count = keep(root, pages(4 * PAGES))
        session = Session(SessionSettings(root / "ledger.sqlite", root / "archive", Limits()), "benchmark")
        store = SummaryStore(path)
        before, statements_before = bytes_written(), statement_counts["summary.sqlite"]
        calls = Calls()
        load_forests()  # read once a process
        with calls:
            phases = frozenset({"summarise"})
            session.run_harvest(Harvest(COLLECTION, (), version_store=store), fetch=False, phases=phases)
            filled = fill(path, count_words, version=VERSION)
        written, run = bytes_written() - before, statement_counts["summary.sqlite"] - statements_before
        code = session.close()
        session.ledger.close()
    assert (code, filled.added) == (0, count), (code, filled, count)
    return {
        "calls per generation": calls.count / count,
        "SQL statements per generation": run / count,
        "bytes written per generation": written / count,
    }


ROOMS: Mapping[str, Callable[[], Figures]] = {
    "reading": reading, "checking": checking, "fetching": fetching, "summarising": summarising,
}  # fmt: skip

if __name__ == "__main__":
    print(json.dumps(ROOMS[sys.argv[1]]()))
