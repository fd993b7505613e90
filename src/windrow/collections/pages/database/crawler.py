"""The crawler database: the crawl log with requests, files and redirects, projected from the ledger.

The number of an attempt in the ledger is the id of its rows, so projecting in pieces gives the same rows as projecting
at once. Each piece is written with its checkpoint; after a crash the projection continues there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from windrow.collections.pages.code import Mime
from windrow.collections.pages.database.entries import LoggedCrawl
from windrow.collections.pages.database.writer import ADDRESS, ATTEMPT, SummaryWriter
from windrow.stores.sqlite import open_database

DESCRIBED = "windrow.described"
"""Key in `unobtanium_database_info`: the last attempt whose file has been described."""

_AGENT = """
INSERT INTO agent (agent_id, time_started_unix_utc, agent_uuid, name, http_user_agent) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (agent_id) DO NOTHING
"""
_CRAWL = "INSERT INTO crawl_log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_REQUEST = "INSERT INTO request VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FILE = "INSERT INTO file VALUES (?, ?, ?, ?, ?, ?, ?, NULL)"
_REDIRECT = "INSERT INTO redirect VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?)"
# Only a later crawl updates a candidate; time and exit code (or ETag) are always set together.
_CANDIDATE = """
INSERT INTO crawl_candidate (url_id, last_crawl_time_unix_utc, last_crawl_exit_code) VALUES (?, ?, ?)
ON CONFLICT (url_id) DO UPDATE SET last_crawl_time_unix_utc = excluded.last_crawl_time_unix_utc,
  last_crawl_exit_code = excluded.last_crawl_exit_code
WHERE last_crawl_time_unix_utc IS NULL OR excluded.last_crawl_time_unix_utc >= last_crawl_time_unix_utc
"""
_CONTENT = """
UPDATE crawl_candidate SET last_contentful_crawl_time_unix_utc = ?2, last_contentful_http_etag = ?3 WHERE url_id = ?1
AND (last_contentful_crawl_time_unix_utc IS NULL OR last_contentful_crawl_time_unix_utc <= ?2)
"""
_OTHER_CODE = """
SELECT c.url_id, c.time_started_unix_utc, r.http_etag FROM crawl_log c LEFT JOIN request r USING (crawl_log_id)
WHERE c.crawl_log_id = ? AND c.exit_code <> ?
"""
_CHECKPOINT = "SELECT value FROM unobtanium_database_info WHERE key = ?"
_DESCRIBED = """
SELECT o.attempt, o.exit_code, c.str_url, m.mimetype_id, m.mime_type, m.mime_subtype, m.mime_suffix
FROM windrow_observation o
LEFT JOIN windrow_wording w ON w.said = o.said
LEFT JOIN windrow_reading r ON r.entity_generation_id = o.entity_generation_id AND r.attempt = o.attempt
LEFT JOIN file_summary f ON f.entity_generation_id = r.entity_generation_id
LEFT JOIN url c ON c.url_id = coalesce(f.canonical_url_id, w.canonical_url_id)
LEFT JOIN mimetype m ON m.mimetype_id = coalesce(f.mimetype_id, w.mimetype_id)
WHERE o.attempt > ? AND o.attempt <= ? AND o.sight = 'content' ORDER BY o.attempt LIMIT ?
"""
_PARAMETERS = "SELECT name, value FROM mime_parameter WHERE mimetype_id = ? ORDER BY rowid"


class DescribedFile(NamedTuple):
    """The file of an attempt as its reader described it: exit code, media type with parameters, canonical address."""

    attempt: int
    exit_code: int
    mime: Mime | None
    canonical: str


class DescribedFiles(NamedTuple):
    """Files in the order of attempts; the list is complete up to attempt number `upto`."""

    files: list[DescribedFile]
    upto: int


def read_described_files(path: Path, after: int, upto: int, limit: int) -> DescribedFiles:
    """Return at most `limit` files of the attempts after `after` and up to `upto`; `path` is the Summary Database.

    If the database does not exist or lacks our tables, the list is empty.
    """
    if not path.is_file():
        return DescribedFiles([], after)
    with closing(open_database(path, read_only=True)) as connection:
        try:
            checkpoint = connection.execute(_CHECKPOINT, (ATTEMPT,)).fetchone()
            last = min(upto, int(checkpoint[0]) if checkpoint else 0)
            rows = connection.execute(_DESCRIBED, (after, last, limit)).fetchall()
        except sqlite3.OperationalError:
            return DescribedFiles([], after)
        parameters = {
            row[3]: tuple(connection.execute(_PARAMETERS, row[3:4]).fetchall()) for row in rows if row[3] is not None
        }
    files = [
        DescribedFile(
            attempt, code, None if number is None else Mime(kind, subtype, suffix, parameters[number]), url or ""
        )
        for attempt, code, url, number, kind, subtype, suffix in rows
    ]
    return DescribedFiles(files, max(after, files[-1].attempt if len(files) == limit else last))


class CrawlerStore(SummaryWriter):
    """One crawler database in an SQLite file, written by one process at a time."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, ("base", "crawler"), ("foreign_keys = ON",))

    def log(self, crawls: Sequence[LoggedCrawl], user_agent: str, texts: Iterable[tuple[int, str]] = ()) -> None:
        """Write crawls, each once and in the ledger's order, and the checkpoint; `texts` are those of files by id."""
        with self._writing():
            targets = {crawl.redirect.url for crawl in crawls if crawl.redirect}
            urls = self._catalogue.urls({crawl.url for crawl in crawls} | targets)
            agents = {crawl.agent.id: crawl.agent for crawl in crawls}
            self._connection.executemany(_AGENT, [(*agent, user_agent) for agent in agents.values()])
            self._write_crawls(crawls, urls)
            self._write_details(crawls, urls)
            self._connection.executemany("INSERT OR REPLACE INTO file_text VALUES (?, ?)", texts)
            self._update_candidates(crawls, urls)
            self._set_checkpoint(ATTEMPT, crawls[-1].id)

    def _write_crawls(self, crawls: Sequence[LoggedCrawl], urls: Mapping[str, int]) -> None:
        rows = [
            (crawl.id, crawl.agent.id, urls[crawl.url], *crawl[3:9])
            for crawl in crawls
        ]  # fmt: skip
        self._connection.execute("SAVEPOINT crawls")
        try:
            self._connection.executemany(_CRAWL, rows)
        except sqlite3.IntegrityError:
            # Two crawls of one address in the same microsecond: the later one gets another UUID.
            self._connection.execute("ROLLBACK TO crawls")
            for row in rows:
                self._connection.execute(_CRAWL, (*row[:4], self._free_uuid(row[4], row[0]), *row[5:]))
        self._connection.execute("RELEASE crawls")

    def _free_uuid(self, uuid: bytes, number: int) -> bytes:
        present_row = self._connection.execute(
            "SELECT crawl_log_id FROM crawl_log WHERE crawl_uuid = ?", (uuid,)
        ).fetchone()
        return uuid if present_row is None else uuid[:9] + blake2b(b"%d" % number, digest_size=7).digest()

    def _write_details(self, crawls: Sequence[LoggedCrawl], urls: Mapping[str, int]) -> None:
        requests, files, redirects = [], [], []
        for crawl in crawls:
            url, request, file, redirect = urls[crawl.url], crawl.request, crawl.file, crawl.redirect
            asked = crawl.id if request else None
            if request:
                requests.append((
                    crawl.id, crawl.id, url, crawl.at, request.allowed, crawl.milliseconds, crawl.exit_code,
                    request.modified, request.status, request.etag,
                ))  # fmt: skip
            if file:
                mime = self._catalogue.mime(file.mime) if file.mime else None
                files.append((crawl.id, crawl.id, asked, url, file.modified, file.size, mime))
            if redirect:
                redirects.append((
                    crawl.id, crawl.id, asked, url, redirect.modified, urls[redirect.url],
                    redirect.source, redirect.permanent, redirect.fragment,
                ))  # fmt: skip
        self._connection.executemany(_REQUEST, requests)
        self._connection.executemany(_FILE, files)
        self._connection.executemany(_REDIRECT, redirects)

    def _update_candidates(self, crawls: Sequence[LoggedCrawl], urls: Mapping[str, int]) -> None:
        candidates = [crawl for crawl in crawls if crawl.candidate]
        self._connection.executemany(_CANDIDATE, [(urls[crawl.url], crawl.at, crawl.exit_code) for crawl in candidates])
        contentful = [crawl for crawl in candidates if crawl.contentful]
        etags = [crawl.request.etag if crawl.request else None for crawl in contentful]
        rows = [(urls[crawl.url], crawl.at, etag) for crawl, etag in zip(contentful, etags, strict=True)]
        self._connection.executemany(_CONTENT, rows)

    def offer(self, addresses: Sequence[str], checkpoint: int) -> None:
        """Write candidates, which may never have been crawled, and the checkpoint."""
        with self._writing():
            urls = self._catalogue.urls(addresses)
            rows = [(urls[address],) for address in addresses]
            self._connection.executemany("INSERT INTO crawl_candidate (url_id) VALUES (?) ON CONFLICT DO NOTHING", rows)
            self._set_checkpoint(ADDRESS, checkpoint)

    def describe(self, files: Sequence[DescribedFile], checkpoint: int) -> None:
        """Update files after reading: exit codes, parameters of media types, and canonical addresses."""
        with self._writing():
            self._correct(files)
            urls = self._catalogue.urls({file.canonical for file in files if file.canonical})
            canonicals = [(urls[file.canonical], file.attempt) for file in files if file.canonical]
            self._connection.executemany("UPDATE file SET canonical_url_id = ? WHERE file_id = ?", canonicals)
            kinds = [(file.mime, file.attempt) for file in files if file.mime and file.mime.parameters]
            mime = self._catalogue.mime
            rows = [(mime(kind), attempt, mime(kind._replace(parameters=()))) for kind, attempt in kinds]
            # Only rows with the same media type: if the server declared another one, that is kept.
            self._connection.executemany("UPDATE file SET mimetype_id = ? WHERE file_id = ? AND mimetype_id = ?", rows)
            self._set_checkpoint(DESCRIBED, checkpoint)

    def _correct(self, files: Sequence[DescribedFile]) -> None:
        """Update the exit codes of crawls whose files turned out to have another type than declared."""
        rows = [(file.exit_code, file.attempt) for file in files]
        for code, attempt in rows:
            candidate = self._connection.execute(_OTHER_CODE, (attempt, code)).fetchone()
            if candidate is None:
                continue
            self._connection.execute("UPDATE crawl_log SET exit_code = ? WHERE crawl_log_id = ?", (code, attempt))
            self._connection.execute("UPDATE request SET exit_code = ? WHERE crawl_log_id = ?", (code, attempt))
            url_id, at, etag = candidate
            self._connection.execute(_CANDIDATE, (url_id, at, code))
            self._connection.execute(_CONTENT, (url_id, at, etag))

    def running(self) -> list[int]:
        """Return the ids of agents without an end time."""
        return [row[0] for row in self._query("SELECT agent_id FROM agent WHERE time_finished_unix_utc IS NULL")]

    def ended(self, agents: Iterable[tuple[int, int]]) -> None:
        """Write the end times of agents, given as pairs of id and UNIX seconds."""
        with self._writing():
            rows = [(at, agent) for agent, at in agents]
            self._connection.executemany("UPDATE agent SET time_finished_unix_utc = ? WHERE agent_id = ?", rows)

    def counts(self) -> dict[str, int]:
        """Count the rows of each table."""
        tables = ("agent", "crawl_log", "request", "file", "redirect", "crawl_candidate")
        return {name: self._query(f"SELECT count(*) FROM {name}")[0][0] for name in tables}
