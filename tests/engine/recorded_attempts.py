"""Attempts as a crawl records them, made without a server: answers in the archive, rows on the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from tests.engine.summary_crawl import PAGES
from windrow.archive import ArchiveWriter, CaptureSink
from windrow.collections.pages.database.store import SummaryStore
from windrow.contract import Collection
from windrow.digest import digest, hash64
from windrow.engine.run import Harvest, SessionSettings
from windrow.engine.session import Session
from windrow.formats.url import parts
from windrow.ledger import LedgerWriter
from windrow.model import Attempt, FetchJob, FoundUrl, KeptResponse, KnownCapture, Limits
from windrow.reasons import Reason

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
HTML = {"Content-Type": "text/html; charset=utf-8"}


class Attempts:
    """A session that records answers; times are seconds after `BEGAN`."""

    def __init__(self, root: Path) -> None:
        """Open a session in a workspace."""
        self._root = root
        self._session = Session(SessionSettings(root / "ledger.sqlite", root / "archive", Limits()), "test")
        self._archive = ArchiveWriter(
            root / "archive", f"windrow-{self._session.number:06}-1", Limits(), 1 << 30, "test"
        )
        rows = self._session.ledger.addresses.hosts("pages")
        self._hosts = {row.origin: row.seq for row in rows}
        self._rows: list[Attempt] = []
        self._last: dict[str, KnownCapture] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Write the rows, and end the session."""
        with self._session.ledger.writing() as writer:
            for attempt in self._rows:
                self._record(writer, attempt)
        self._archive.close()
        self._session.close()
        self._session.ledger.close()

    def _record(self, writer: LedgerWriter, attempt: Attempt) -> None:
        origin = parts(attempt.url).origin
        if origin not in self._hosts:
            self._hosts[origin] = writer.addresses.add_host(self._session.number, "pages", "site", origin)
        writer.addresses.add(self._hosts[origin], 0, [FoundUrl(attempt.target, origin, attempt.url)])
        writer.attempts.record_attempt(self._session.number, self._hosts[origin], attempt)

    def answer(
        self, url: str, body: bytes = b"", *, at: int, status: int = 200, fields: Mapping[str, str] = HTML,
        place: str = "", etag: str = "",
    ) -> None:  # fmt: skip
        """Record an answer; if its bytes are those of the address' last answer, as a revisit."""
        started = BEGAN + timedelta(seconds=at)
        kept: KeptResponse | None = None
        if status != 304:
            sink = CaptureSink(self._archive, FetchJob(0, url, last=self._last.get(url, KnownCapture())), started)
            lines = "".join(f"{name}: {text}\r\n" for name, text in fields.items())
            sink.open(len(body), f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode("latin-1"), b"GET / HTTP/1.1\r\n\r\n")
            sink.write(body)
            kept = sink.finish()
        if status == 200:
            self._last[url] = KnownCapture(digest(body), "2026-01-01T00:00:00Z", url)
        self._rows.append(Attempt(
            hash64(url), url, 0, True, started, 0.25, status, kept, validators=(etag, ""), location=place,
        ))  # fmt: skip

    def failure(self, url: str, reason: Reason, *, at: int, status: int | None = None) -> None:
        """Record an attempt without an answer."""
        started = BEGAN + timedelta(seconds=at)
        self._rows.append(Attempt(hash64(url), url, 0, True, started, 0.25, status, None, reason))


def summarise(
    root: Path,
    store: type[SummaryStore] = SummaryStore,
    limits: Limits | None = None,
    collection: Collection = PAGES,
) -> int:
    """Summarise the recorded attempts, and return the exit code."""
    session = Session(SessionSettings(root / "ledger.sqlite", root / "archive", limits or Limits()), "test")
    try:
        version_store = store(root / "summary.sqlite")
        session.run_harvest(Harvest(collection, (), version_store=version_store), fetch=False)
        return session.close()
    finally:
        session.ledger.close()
