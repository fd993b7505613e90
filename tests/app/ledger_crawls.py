"""Ledgers of invented crawls, and a process that projects one and may be killed."""

from __future__ import annotations

import random
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from windrow.collections.pages.adapter.crawler_projection import CrawlerProjection
from windrow.digest import hash64
from windrow.formats.url import parts
from windrow.ledger import Ledger
from windrow.model import ArchivePlace, Attempt, FoundUrl, KeptResponse
from windrow.reasons import Reason

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
OUTCOMES = [
    (200, "", None, ""),
    (200, "", None, ""),
    (301, "/moved#there", None, ""),
    (302, "https://other.example/b?x=1", None, ""),
    (302, "mailto:a@b.example", None, ""),
    (304, "", None, ""),
    (404, "", Reason.NOT_FOUND, "not there"),
    (503, "", Reason.SERVER_ERROR, ""),
    (None, "", Reason.TIMEOUT, "no complete answer in 10 seconds"),
    (None, "", Reason.DNS_FAILED, "nobody knows that name"),
    (None, "", Reason.ROBOTS_DENIED, ""),
    (None, "", Reason.UNSUPPORTED, ""),
]


class InventedCrawl:
    """A ledger to which attempts are added, some at a time."""

    def __init__(self, path: Path, seed: int) -> None:
        self.ledger = Ledger(path)
        self._random = random.Random(seed)
        self._at = BEGIN
        self._hosts: dict[str, int] = {}
        self.session = 0
        self.begin()

    def begin(self) -> None:
        """Open a session; an open one stays open, as after a kill."""
        with self.ledger.writing() as writer:
            self.session = writer.sessions.open("machine:17", "run")

    def end(self) -> None:
        with self.ledger.writing() as writer:
            writer.sessions.close(self.session, 0)

    def close(self) -> None:
        self.ledger.close()

    def add_attempts(self, count: int, *, pages: int = 50) -> None:
        """Add some addresses and some attempts."""
        with self.ledger.writing() as writer:
            for origin in ("https://a.example", "http://b.example:8080"):
                if origin not in self._hosts:
                    self._hosts[origin] = writer.addresses.add_host(self.session, "pages", "site", origin)
            for _ in range(count):
                origin = self._random.choice(sorted(self._hosts))
                url = f"{origin}/p/{self._random.randrange(pages)}"
                writer.addresses.add(self._hosts[origin], 0, [FoundUrl(hash64(url), parts(url).origin, url)])
                if self._random.random() < 0.8:
                    writer.attempts.record_attempt(self.session, self._hosts[origin], self._attempt(origin, url))

    def _attempt(self, origin: str, url: str) -> Attempt:
        self._at += timedelta(milliseconds=self._random.choice([0, 0, 7, 900]))
        if self._random.random() < 0.1:
            kept = KeptResponse("sha256:r", 20, ArchivePlace("w.warc.gz", 1, 2), mime="text/plain")
            return Attempt(0, f"{origin}/robots.txt", 1, True, self._at, 0.02, 200, kept)
        status, location, reason, message = self._random.choice(OUTCOMES)
        page: KeptResponse | None = None
        if status == 200:
            kind = self._random.choice(["text/html", "text/html;charset=utf-8", "application/atom+xml", "nonsense"])
            page = KeptResponse("sha256:x", self._random.randrange(9_000), ArchivePlace("w.warc.gz", 5, 6), mime=kind)
        seconds = 0.0 if reason in {Reason.ROBOTS_DENIED, Reason.UNSUPPORTED} else 0.125
        validators = ('"e1"', "Sun, 06 Nov 1994 08:49:37 GMT") if status == 200 else ("", "")
        allowed = reason is not Reason.ROBOTS_DENIED
        return Attempt(
            hash64(url), url, 0, allowed, self._at, seconds, status, page, reason, message, validators, location
        )  # fmt: skip


class ReportingProjection(CrawlerProjection):
    """A projection that writes a line to stdout after each piece."""

    def _project_attempts(self, ledger: Ledger) -> bool:
        return self._report(super()._project_attempts(ledger))

    def _project_descriptions(self) -> bool:
        return self._report(super()._project_descriptions())

    def _project_addresses(self, ledger: Ledger) -> bool:
        return self._report(super()._project_addresses(ledger))

    @staticmethod
    def _report(more: bool) -> bool:
        sys.stdout.write("a piece is done\n")
        sys.stdout.flush()
        return more


def main(ledger: str, database: str) -> None:
    """Project a whole ledger in small pieces."""
    projection = ReportingProjection(Path(database), "test-crawler", batch_size=20)
    with closing(Ledger(Path(ledger))) as opened:
        projection.catch_up(opened)
    projection.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
