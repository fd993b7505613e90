"""The crawler database: the crawl log with requests, files and redirects, projected from the ledger.

The number of an attempt in the ledger is the id of its rows, so the rows do not depend on the batches in which they are
written. Each batch is written with its checkpoint; after a crash, the projection continues from the checkpoint.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from windrow.collections.pages.code import Mime
from windrow.collections.pages.crawl_log import make_later_uuid
from windrow.collections.pages.database.entries import LoggedCrawl
from windrow.collections.pages.database.writer import ADDRESS, ATTEMPT, DESCRIBED, DatabaseWriter
from windrow.stores.sqlite import open_database, store_errors

_INSERT_AGENT = """
INSERT INTO agent (agent_id, time_started_unix_utc, agent_uuid, name, http_user_agent) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (agent_id) DO NOTHING
"""
_INSERT_CRAWL = "INSERT INTO crawl_log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_REQUEST = "INSERT INTO request VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_FILE = "INSERT INTO file VALUES (?, ?, ?, ?, ?, ?, ?, NULL)"
_INSERT_REDIRECT = "INSERT INTO redirect VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?)"
# A crawl does not update a candidate that has a later one; time and exit code (or ETag) are always set together.
_UPSERT_CANDIDATE = """
INSERT INTO crawl_candidate (url_id, last_crawl_time_unix_utc, last_crawl_exit_code) VALUES (?, ?, ?)
ON CONFLICT (url_id) DO UPDATE SET last_crawl_time_unix_utc = excluded.last_crawl_time_unix_utc,
  last_crawl_exit_code = excluded.last_crawl_exit_code
WHERE last_crawl_time_unix_utc IS NULL OR excluded.last_crawl_time_unix_utc >= last_crawl_time_unix_utc
"""
_UPDATE_LAST_CONTENT = """
UPDATE crawl_candidate SET last_contentful_crawl_time_unix_utc = ?2, last_contentful_http_etag = ?3 WHERE url_id = ?1
AND (last_contentful_crawl_time_unix_utc IS NULL OR last_contentful_crawl_time_unix_utc <= ?2)
"""
_SELECT_OTHER_EXIT_CODE = """
SELECT c.url_id, c.time_started_unix_utc, r.http_etag FROM crawl_log c LEFT JOIN request r USING (crawl_log_id)
WHERE c.crawl_log_id = ? AND c.exit_code <> ?
"""
_SELECT_CHECKPOINT = "SELECT value FROM unobtanium_database_info WHERE key = ?"
_SELECT_DESCRIBED_FILES = """
SELECT o.attempt, o.exit_code, c.str_url, m.mimetype_id, m.mime_type, m.mime_subtype, m.mime_suffix
FROM windrow_observation o
LEFT JOIN windrow_wording w ON w.said = o.said
LEFT JOIN windrow_reading r ON r.entity_generation_id = o.entity_generation_id AND r.attempt = o.attempt
LEFT JOIN file_summary f ON f.entity_generation_id = r.entity_generation_id
LEFT JOIN url c ON c.url_id = coalesce(f.canonical_url_id, w.canonical_url_id)
LEFT JOIN mimetype m ON m.mimetype_id = coalesce(f.mimetype_id, w.mimetype_id)
WHERE o.attempt > ? AND o.attempt <= ? AND o.sight IN ('content', 'part') ORDER BY o.attempt LIMIT ?
"""
_SELECT_MIME_PARAMETERS = "SELECT name, value FROM mime_parameter WHERE mimetype_id = ? ORDER BY rowid"


class DescribedFile(NamedTuple):
    """What the Summary Database says about the file or redirect of an attempt; `canonical` may be empty."""

    attempt: int
    exit_code: int
    mime: Mime | None
    canonical: str


class DescribedFiles(NamedTuple):
    """Files in the order of attempts, and the number of the last attempt that was examined (`last_attempt`)."""

    files: list[DescribedFile]
    last_attempt: int


def read_described_files(path: Path, after: int, last_attempt: int, limit: int) -> DescribedFiles:
    """Return at most `limit` files of the attempts numbered above `after` and up to `last_attempt`.

    `path` is the path of the Summary Database. The list is empty if the database does not exist or does not have
    windrow's own tables. Attempts after its checkpoint are left out. Raises StoreError if it cannot be read.
    """
    if not path.is_file():
        return DescribedFiles([], after)
    with store_errors(path), closing(open_database(path, read_only=True)) as connection:
        try:
            checkpoint = connection.execute(_SELECT_CHECKPOINT, (ATTEMPT,)).fetchone()
            last_read = min(last_attempt, int(checkpoint[0]) if checkpoint else 0)
            rows = connection.execute(_SELECT_DESCRIBED_FILES, (after, last_read, limit)).fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_ERROR":  # the name of the error for a missing table
                raise
            return DescribedFiles([], after)
        mime_ids = {mime_id for _, _, _, mime_id, *_ in rows if mime_id is not None}
        parameters = {
            mime_id: tuple(connection.execute(_SELECT_MIME_PARAMETERS, (mime_id,)).fetchall()) for mime_id in mime_ids
        }
    files = [
        DescribedFile(
            attempt, code, None if mime_id is None else Mime(main_type, subtype, suffix, parameters[mime_id]), url or ""
        )
        for attempt, code, url, mime_id, main_type, subtype, suffix in rows
    ]
    return DescribedFiles(files, max(after, files[-1].attempt if len(files) == limit else last_read))


class CrawlerStore(DatabaseWriter):
    """One crawler database in an SQLite file, written by one process at a time."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, ("base", "crawler"), ("foreign_keys = ON",))

    def log(self, crawls: Sequence[LoggedCrawl], user_agent: str, texts: Iterable[tuple[int, str]] = ()) -> None:
        """Write the next crawls, in the order of attempts, and the checkpoint; `texts` are (file id, source text)."""
        with self._writing():
            redirect_targets = {crawl.redirect.url for crawl in crawls if crawl.redirect}
            url_ids = self._id_finder.get_url_ids({crawl.url for crawl in crawls} | redirect_targets)
            agents = {crawl.agent.id: crawl.agent for crawl in crawls}
            self._connection.executemany(_INSERT_AGENT, [(*agent, user_agent) for agent in agents.values()])
            self._write_crawls(crawls, url_ids)
            self._write_details(crawls, url_ids)
            self._connection.executemany("INSERT OR REPLACE INTO file_text VALUES (?, ?)", texts)
            self._update_candidates(crawls, url_ids)
            self._set_checkpoint(ATTEMPT, crawls[-1].id)

    def _write_crawls(self, crawls: Sequence[LoggedCrawl], url_ids: Mapping[str, int]) -> None:
        rows = [
            (
                crawl.id, crawl.agent.id, url_ids[crawl.url], crawl.kind, crawl.uuid, crawl.started_at,
                crawl.milliseconds, crawl.exit_code, crawl.message,
            )
            for crawl in crawls
        ]  # fmt: skip
        self._connection.execute("SAVEPOINT crawls")
        try:
            self._connection.executemany(_INSERT_CRAWL, rows)
        except sqlite3.IntegrityError:
            # Two crawls of one address at the same moment have the same UUID: the later crawl gets another one.
            self._connection.execute("ROLLBACK TO crawls")
            for crawl_id, agent_id, url_id, kind, uuid, *columns in rows:
                unused_uuid = self._find_unused_uuid(uuid, crawl_id)
                self._connection.execute(_INSERT_CRAWL, (crawl_id, agent_id, url_id, kind, unused_uuid, *columns))
        self._connection.execute("RELEASE crawls")

    def _find_unused_uuid(self, uuid: bytes, crawl_id: int) -> bytes:
        """Return `uuid` if it is not used, otherwise one that `crawl_id` makes unique."""
        sql = "SELECT crawl_log_id FROM crawl_log WHERE crawl_uuid = ?"
        is_used = self._connection.execute(sql, (uuid,)).fetchone() is not None
        return make_later_uuid(uuid, crawl_id) if is_used else uuid

    def _write_details(self, crawls: Sequence[LoggedCrawl], url_ids: Mapping[str, int]) -> None:
        """Write the requests, files and redirects of crawls. Each row has the id of its crawl."""
        requests, files, redirects = [], [], []
        for crawl in crawls:
            url_id, request, file, redirect = url_ids[crawl.url], crawl.request, crawl.file, crawl.redirect
            request_id = crawl.id if request else None
            if request:
                requests.append((
                    crawl.id, crawl.id, url_id, crawl.started_at, request.allowed, crawl.milliseconds, crawl.exit_code,
                    request.modified, request.status, request.etag,
                ))  # fmt: skip
            if file:
                mime_id = self._id_finder.get_mime_id(file.mime) if file.mime else None
                files.append((crawl.id, crawl.id, request_id, url_id, file.modified, file.size, mime_id))
            if redirect:
                redirects.append((
                    crawl.id, crawl.id, request_id, url_id, redirect.modified, url_ids[redirect.url],
                    redirect.source, redirect.is_permanent, redirect.fragment,
                ))  # fmt: skip
        self._connection.executemany(_INSERT_REQUEST, requests)
        self._connection.executemany(_INSERT_FILE, files)
        self._connection.executemany(_INSERT_REDIRECT, redirects)

    def _update_candidates(self, crawls: Sequence[LoggedCrawl], url_ids: Mapping[str, int]) -> None:
        candidates = [crawl for crawl in crawls if crawl.is_candidate]
        self._connection.executemany(
            _UPSERT_CANDIDATE, [(url_ids[crawl.url], crawl.started_at, crawl.exit_code) for crawl in candidates]
        )
        content_rows = [
            (url_ids[crawl.url], crawl.started_at, crawl.request.etag if crawl.request else None)
            for crawl in candidates
            if crawl.is_contentful
        ]
        self._connection.executemany(_UPDATE_LAST_CONTENT, content_rows)

    def add_candidates(self, addresses: Sequence[str], checkpoint: int) -> None:
        """Write new addresses as crawl candidates, and the checkpoint: the number of the last address."""
        with self._writing():
            url_ids = self._id_finder.get_url_ids(addresses)
            rows = [(url_ids[address],) for address in addresses]
            self._connection.executemany("INSERT INTO crawl_candidate (url_id) VALUES (?) ON CONFLICT DO NOTHING", rows)
            self._set_checkpoint(ADDRESS, checkpoint)

    def describe(self, files: Sequence[DescribedFile], checkpoint: int) -> None:
        """Update exit codes, media types and canonical addresses of files that were read; write the checkpoint."""
        with self._writing():
            self._correct_exit_codes(files)
            url_ids = self._id_finder.get_url_ids({file.canonical for file in files if file.canonical})
            canonicals = [(url_ids[file.canonical], file.attempt) for file in files if file.canonical]
            self._connection.executemany("UPDATE file SET canonical_url_id = ? WHERE file_id = ?", canonicals)
            mimes = [(file.mime, file.attempt) for file in files if file.mime and file.mime.parameters]
            get_mime_id = self._id_finder.get_mime_id
            rows = [(get_mime_id(mime), attempt, get_mime_id(mime._replace(parameters=()))) for mime, attempt in mimes]
            # Only rows with the same media type are updated: a different type that the server declared is kept.
            self._connection.executemany("UPDATE file SET mimetype_id = ? WHERE file_id = ? AND mimetype_id = ?", rows)
            self._set_checkpoint(DESCRIBED, checkpoint)

    def _correct_exit_codes(self, files: Sequence[DescribedFile]) -> None:
        """Correct exit codes that differ from the Summary Database's. The corrected crawls count as contentful."""
        for attempt, code in ((file.attempt, file.exit_code) for file in files):
            row = self._connection.execute(_SELECT_OTHER_EXIT_CODE, (attempt, code)).fetchone()
            if row is None:
                continue
            self._connection.execute("UPDATE crawl_log SET exit_code = ? WHERE crawl_log_id = ?", (code, attempt))
            self._connection.execute("UPDATE request SET exit_code = ? WHERE crawl_log_id = ?", (code, attempt))
            url_id, at, etag = row
            self._connection.execute(_UPSERT_CANDIDATE, (url_id, at, code))
            self._connection.execute(_UPDATE_LAST_CONTENT, (url_id, at, etag))

    def list_open_agents(self) -> list[int]:
        """Return the ids of agents without an end time: their sessions are running, were killed, or have just ended."""
        return [row[0] for row in self._query("SELECT agent_id FROM agent WHERE time_finished_unix_utc IS NULL")]

    def write_end_times(self, end_times: Iterable[tuple[int, int]]) -> None:
        """Write the end times of agents, given as (agent id, UNIX seconds)."""
        with self._writing():
            rows = [(at, agent_id) for agent_id, at in end_times]
            self._connection.executemany("UPDATE agent SET time_finished_unix_utc = ? WHERE agent_id = ?", rows)

    def counts(self) -> dict[str, int]:
        """Return a dict from the name of each main table to the number of its rows."""
        tables = ("agent", "crawl_log", "request", "file", "redirect", "crawl_candidate")
        return {name: self._query(f"SELECT count(*) FROM {name}")[0][0] for name in tables}
