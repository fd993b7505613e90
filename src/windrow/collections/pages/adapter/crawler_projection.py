"""Project the ledger's attempts into the crawler database of a workspace, from its checkpoint on."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from windrow.archive.view import open_response
from windrow.collections.pages.crawl_log import is_text, log_attempt
from windrow.collections.pages.database.crawler import DESCRIBED, CrawlerStore, read_described_files
from windrow.collections.pages.database.writer import ADDRESS
from windrow.content.charset import decode
from windrow.engine.check import Fault
from windrow.errors import WindrowError
from windrow.formats.http import decode_body
from windrow.ledger import Ledger
from windrow.ledger.rows import LoggedAttempt
from windrow.model import ArchivePlace

COLLECTION = "pages"

PIECE = 500
"""Most attempts, or addresses, projected in one transaction."""

TURN = 0.05
"""Most seconds of one call during a session, which calls about once a second."""

OK = 200
MOST = 16 << 20
"""Most bytes of a file whose text is kept."""
RATIO = 200
"""Most bytes per compressed byte."""

REST = 10.0
"""Most seconds for addresses at the end of a session."""

AGAIN = "remove the crawler database; the next windrow run makes it anew"


class CrawlerProjection:
    """The crawler database, kept up to date with the ledger."""

    def __init__(
        self, path: Path, user_agent: str = "", *, archive: Path | None = None, summary: Path | None = None,
        piece: int = PIECE, turn: float = TURN, rest: float = REST,
    ) -> None:  # fmt: skip
        """Open the database in a file, creating missing tables; `user_agent` is that of all crawls from now on.

        With the folder of the archive, the source texts of files that come from now on are kept too; from the Summary
        Database come the parameters of media types, and which address a file names as its original.
        """
        self.store = CrawlerStore(path)
        self._user_agent = user_agent
        self._archive = archive
        self._summary = summary
        self._piece = piece
        self._turn, self._rest = turn, rest

    def catch_up(self, ledger: Ledger) -> None:
        """Project facts after the checkpoint: all attempts, or while a session runs, as many as fit in `turn` seconds.

        There may be millions of addresses that were never requested: the next session projects those that are left.
        """
        running = ledger.sessions.running()
        deadline = time.monotonic() + self._turn
        while self._crawls(ledger):
            if running and time.monotonic() > deadline:
                return
        if not running:
            self._agents(ledger)
            deadline = time.monotonic() + self._rest
            while self._describe() and time.monotonic() <= deadline:
                pass
        while self._offers(ledger) and time.monotonic() <= deadline:
            pass

    def _crawls(self, ledger: Ledger) -> bool:
        """Project some attempts, and tell whether there may be more."""
        attempts = ledger.attempts.logged_after(COLLECTION, self.store.checkpoint(), self._piece)
        if attempts:
            texts = self._texts(ledger, attempts) if self._archive is not None else ()
            self.store.log([log_attempt(*attempt) for attempt in attempts], self._user_agent, texts)
        return len(attempts) == self._piece

    def _texts(self, ledger: Ledger, attempts: Iterable[LoggedAttempt]) -> Iterator[tuple[int, str]]:
        """Yield the source texts of files, one at a time; files that are not text or cannot be read are left out."""
        for recorded, _ in attempts:
            attempt = recorded.attempt
            response = attempt.kept
            if response is None or attempt.status != OK or response.size > MOST or not is_text(response.mime):
                continue
            original = ledger.captures.original(attempt.target, response.digest) if response.revisit else None
            try:
                body, fields = self._body(original or response.place)
            except WindrowError:
                continue
            text = decode(body, fields.get("content-type", "")).text
            yield recorded.seq, text.encode("utf-8", "replace").decode()

    def _body(self, place: ArchivePlace) -> tuple[bytes, Mapping[str, str]]:
        assert self._archive is not None
        capture = open_response(self._archive, place)
        with capture.view as view:
            return decode_body(view.read(MOST), capture.fields, most=MOST, ratio=RATIO), capture.fields

    def _offers(self, ledger: Ledger) -> bool:
        """Project some addresses, and tell whether there may be more."""
        last_address = self.store.checkpoint(ADDRESS)
        if last_address > ledger.addresses.last_place():
            last_address = 0  # the table was written anew: what is known already stays as it is
        addresses = ledger.addresses.found_after(COLLECTION, last_address, self._piece)
        if addresses:
            self.store.offer([address.url for address in addresses], addresses[-1].place)
        return len(addresses) == self._piece

    def _describe(self) -> bool:
        """Project the descriptions of some files, and tell whether there may be more."""
        if self._summary is None:
            return False
        last_attempt = self.store.checkpoint(DESCRIBED)
        files, upto = read_described_files(self._summary, last_attempt, self.store.checkpoint(), self._piece)
        if upto > last_attempt:
            self.store.describe(files, upto)
        return len(files) == self._piece

    def _agents(self, ledger: Ledger) -> None:
        """Write the end times of sessions; a killed session does not have one."""
        running = self.store.running()
        ended = [(recorded.session, int(recorded.at.timestamp())) for recorded in ledger.sessions.ended(running)]
        if ended:
            self.store.ended(ended)

    def grow(self, sizes: Mapping[int, int]) -> None:
        """Do nothing: the standard has no table for crawls in progress."""

    def close(self) -> None:
        """Close the connection."""
        self.store.close()


def check_crawler(path: Path, ledger: Ledger) -> Iterator[Fault]:
    """Compare the numbers of crawls and candidates in the crawler database with those in the ledger."""
    visited = ledger.attempts.logged_after(COLLECTION, 0, 1)
    if not path.exists():
        if visited and not ledger.sessions.running():
            yield Fault("crawler database", f"{path} does not exist", "windrow run")
        return
    with closing(CrawlerStore(path)) as store:
        row_counts, last_attempt, last_address = store.counts(), store.checkpoint(), store.checkpoint(ADDRESS)
    attempts = ledger.attempts.count_upto(COLLECTION, last_attempt)
    if row_counts["crawl_log"] != attempts:
        yield Fault("crawler database", f"has {row_counts['crawl_log']} crawls; the ledger has {attempts}", AGAIN)
    addresses = ledger.addresses.count_upto(COLLECTION, last_address)
    if row_counts["crawl_candidate"] < addresses:
        yield Fault(
            "crawler database", f"has {row_counts['crawl_candidate']} candidates; the ledger has {addresses}", AGAIN
        )
    later_attempts = ledger.attempts.logged_after(COLLECTION, last_attempt, 1)
    if later_attempts and not ledger.sessions.running():
        yield Fault("crawler database", "does not have the latest attempts", "windrow run")
