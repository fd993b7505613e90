"""Project the ledger's attempts and addresses into the crawler database, from the database's checkpoint on."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from windrow.archive.view import open_response
from windrow.caps import PAGE_BYTES
from windrow.collections.pages.crawl_log import is_text, log_attempt
from windrow.collections.pages.database.crawler import CrawlerStore, read_described_files
from windrow.collections.pages.database.writer import ADDRESS, DESCRIBED
from windrow.content.charset import decode
from windrow.engine.check import Fault
from windrow.engine.older_ledger import claim_store
from windrow.errors import WindrowError
from windrow.formats.http import decode_body
from windrow.ledger import Ledger
from windrow.ledger.rows import LoggedAttempt
from windrow.model import ArchivePlace

COLLECTION = "pages"

ROWS_PER_TRANSACTION = 500
"""The maximum number of attempts or addresses that are projected in one transaction."""

TURN_SECONDS = 0.05
"""The time in seconds after which `catch_up` stops while a session runs. It is called at most once a second."""

_HTTP_OK = 200
MAX_TEXT_BYTES = PAGE_BYTES.number
"""The maximum size, in bytes, of a file whose text is stored. A larger page is not read at all."""
MAX_INFLATION = 200
"""The maximum ratio of a file's size after decompression to its size before."""

END_SECONDS = 10.0
"""The maximum time, in seconds, for projecting addresses and the descriptions of files at the end of a session."""

REBUILD_HINT = "remove the crawler database; the next windrow run rebuilds it"


class CrawlerProjection:
    """The crawler database, kept up to date with the ledger."""

    def __init__(
        self, path: Path, user_agent: str = "", *, archive: Path | None = None, summary: Path | None = None,
        batch_size: int = ROWS_PER_TRANSACTION, turn_seconds: float = TURN_SECONDS, end_seconds: float = END_SECONDS,
    ) -> None:  # fmt: skip
        """Open the database in the file `path`, and create its tables if the file is new.

        `user_agent` is written for all sessions that are projected from now on. If the archive's folder `archive` is
        given, the source texts of files are written too. If the path `summary` of the Summary Database is given, exit
        codes, parameters of media types and canonical addresses are copied from it. A transaction has at most
        `batch_size` attempts or addresses. `catch_up` explains `turn_seconds` and `end_seconds`.
        """
        self.store = CrawlerStore(path)
        self._user_agent = user_agent
        self._archive = archive
        self._summary = summary
        self._batch_size = batch_size
        self._turn_seconds, self._end_seconds = turn_seconds, end_seconds

    def catch_up(self, ledger: Ledger) -> None:
        """Project the facts after the checkpoint; while a session runs, stop after `turn_seconds`.

        At the end of a session, all attempts are projected, but descriptions and addresses only for `end_seconds`,
        because there may be millions of addresses that were never requested. The next session projects the rest.
        """
        claim_store(self.store, ledger)
        is_running = ledger.sessions.running()
        deadline = time.monotonic() + self._turn_seconds
        while self._project_attempts(ledger):
            if is_running and time.monotonic() > deadline:
                return
        if not is_running:
            self._project_session_ends(ledger)
            deadline = time.monotonic() + self._end_seconds
            while self._project_descriptions() and time.monotonic() <= deadline:
                pass
        while self._project_addresses(ledger) and time.monotonic() <= deadline:
            pass

    def _project_attempts(self, ledger: Ledger) -> bool:
        attempts = ledger.attempts.logged_after(COLLECTION, self.store.checkpoint(), self._batch_size)
        if attempts:
            texts = self._read_texts(ledger, attempts) if self._archive is not None else ()
            self.store.log([log_attempt(*attempt) for attempt in attempts], self._user_agent, texts)
        return len(attempts) == self._batch_size

    def _read_texts(self, ledger: Ledger, attempts: Iterable[LoggedAttempt]) -> Iterator[tuple[int, str]]:
        """Yield (attempt's number, source text) for each answer 200 with a readable text file that is not too large."""
        for recorded, _ in attempts:
            attempt = recorded.attempt
            kept = attempt.kept
            if kept is None or attempt.status != _HTTP_OK or kept.size > MAX_TEXT_BYTES or not is_text(kept.mime):
                continue
            original_place = ledger.captures.original(attempt.target, kept.digest) if kept.revisit else None
            try:
                body, fields = self._read_body(original_place or kept.place)
            except WindrowError:
                continue
            text = decode(body, fields.get("content-type", "")).text
            yield recorded.seq, text.encode("utf-8", "replace").decode()

    def _read_body(self, place: ArchivePlace) -> tuple[bytes, Mapping[str, str]]:
        """Return the decompressed body of a capture and its header fields; raise WindrowError if it cannot be read."""
        assert self._archive is not None
        capture = open_response(self._archive, place)
        with capture.view as view:
            body, _ = decode_body(view.read(MAX_TEXT_BYTES), capture.fields, most=MAX_TEXT_BYTES, ratio=MAX_INFLATION)
        return body, capture.fields

    def _project_addresses(self, ledger: Ledger) -> bool:
        last_address = self.store.checkpoint(ADDRESS)
        if last_address > ledger.addresses.last_position():
            last_address = 0  # the ledger numbered its addresses again; existing candidates are not changed
        addresses = ledger.addresses.found_after(COLLECTION, last_address, self._batch_size)
        if addresses:
            self.store.add_candidates([address.url for address in addresses], addresses[-1].position)
        return len(addresses) == self._batch_size

    def _project_descriptions(self) -> bool:
        """Update the next batch of files from the Summary Database; return whether there may be more."""
        if self._summary is None:
            return False
        last_attempt = self.store.checkpoint(DESCRIBED)
        files, last_described = read_described_files(
            self._summary, last_attempt, self.store.checkpoint(), self._batch_size
        )
        if last_described > last_attempt:
            self.store.describe(files, last_described)
        return len(files) == self._batch_size

    def _project_session_ends(self, ledger: Ledger) -> None:
        """Write the end times of ended sessions. A killed session does not get an end time."""
        open_sessions = self.store.list_open_agents()
        end_times = [(end.session, int(end.at.timestamp())) for end in ledger.sessions.ended(open_sessions)]
        if end_times:
            self.store.write_end_times(end_times)

    def grow(self, sizes: Mapping[int, int]) -> None:
        """Do nothing: the standard does not have a table for transfers in progress."""

    def close(self) -> None:
        """Close the connection."""
        self.store.close()


def check_crawler(path: Path, ledger: Ledger) -> Iterator[Fault]:
    """Yield the faults of the crawler database: it is missing or out of date, or does not match the ledger."""
    has_attempts = bool(ledger.attempts.logged_after(COLLECTION, 0, 1))
    if not path.exists():
        if has_attempts and not ledger.sessions.running():
            yield Fault("crawler database", f"{path} does not exist", "windrow run")
        return
    with closing(CrawlerStore(path)) as store:
        row_counts, last_attempt, last_address = store.counts(), store.checkpoint(), store.checkpoint(ADDRESS)
    attempt_count = ledger.attempts.count_upto(COLLECTION, last_attempt)
    if row_counts["crawl_log"] != attempt_count:
        problem = f"its crawl log has {row_counts['crawl_log']} attempts, but the ledger has {attempt_count}"
        yield Fault("crawler database", problem, REBUILD_HINT)
    address_count = ledger.addresses.count_upto(COLLECTION, last_address)
    if row_counts["crawl_candidate"] < address_count:
        problem = (
            f"it has {row_counts['crawl_candidate']} crawl candidates, but the ledger has {address_count} addresses"
        )
        yield Fault("crawler database", problem, REBUILD_HINT)
    later_attempts = ledger.attempts.logged_after(COLLECTION, last_attempt, 1)
    if later_attempts and not ledger.sessions.running():
        yield Fault("crawler database", "it lacks the latest attempts in the ledger", "windrow run")
