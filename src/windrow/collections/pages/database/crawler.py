"""The crawler database: the crawl log and what hangs on it, projected from the ledger with a checkpoint beside it.

The number of a visit in the ledger is the number of its rows, so that projecting in pieces makes the same rows
as projecting at once, and a crash between two pieces is healed by going on.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from windrow.collections.pages.database.entries import LoggedCrawl, MimeEntry
from windrow.collections.pages.database.writer import ADDRESS, VISIT, SummaryWriter
from windrow.stores.sqlite import open_database

DESCRIBED = "windrow.described"
"""Key in `unobtanium_database_info`: the last visit whose file has on record what was read of it."""

_AGENT = """
INSERT INTO agent (agent_id, time_started_unix_utc, agent_uuid, name, http_user_agent) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (agent_id) DO NOTHING
"""
_CRAWL = "INSERT INTO crawl_log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_REQUEST = "INSERT INTO request VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_FILE = "INSERT INTO file VALUES (?, ?, ?, ?, ?, ?, ?, NULL)"
_REDIRECT = "INSERT INTO redirect VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?)"
# Only what was asked later than the last time tells more of a candidate; each pair of columns moves together.
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
_OTHERWISE = """
SELECT c.url_id, c.time_started_unix_utc, r.http_etag FROM crawl_log c LEFT JOIN request r USING (crawl_log_id)
WHERE c.crawl_log_id = ? AND c.exit_code <> ?
"""
_COME = "SELECT value FROM unobtanium_database_info WHERE key = ?"
_DESCRIBED = """
SELECT o.visit, o.exit_code, c.str_url, m.mimetype_id, m.mime_type, m.mime_subtype, m.mime_suffix
FROM windrow_observation o
LEFT JOIN windrow_wording w ON w.said = o.said
LEFT JOIN windrow_reading r ON r.entity_generation_id = o.entity_generation_id AND r.visit = o.visit
LEFT JOIN file_summary f ON f.entity_generation_id = r.entity_generation_id
LEFT JOIN url c ON c.url_id = coalesce(f.canonical_url_id, w.canonical_url_id)
LEFT JOIN mimetype m ON m.mimetype_id = coalesce(f.mimetype_id, w.mimetype_id)
WHERE o.visit > ? AND o.visit <= ? AND o.sight = 'content' ORDER BY o.visit LIMIT ?
"""
_PARAMETERS = "SELECT name, value FROM mime_parameter WHERE mimetype_id = ? ORDER BY rowid"


class DescribedFile(NamedTuple):
    """The file of a visit: its exit code, its media type with the parameters, and the address of its original."""

    visit: int
    exit_code: int
    mime: MimeEntry | None
    canonical: str


class DescribedFiles(NamedTuple):
    """Some files in the order of their visits, and up to which visit these are all."""

    files: list[DescribedFile]
    upto: int


def described(path: Path, after: int, upto: int, limit: int) -> DescribedFiles:
    """Return what is said of visits after one and up to another, of so many at most.

    Of a database that is not there, or was not brought up to date yet, nothing is known.
    """
    if not path.is_file():
        return DescribedFiles([], after)
    with closing(open_database(path, read_only=True)) as link:
        try:
            come = link.execute(_COME, (VISIT,)).fetchone()
            last = min(upto, int(come[0]) if come else 0)
            rows = link.execute(_DESCRIBED, (after, last, limit)).fetchall()
        except sqlite3.OperationalError:
            return DescribedFiles([], after)
        told = {row[3]: tuple(link.execute(_PARAMETERS, row[3:4]).fetchall()) for row in rows if row[3] is not None}
    files = [
        DescribedFile(
            visit, code, None if number is None else MimeEntry(kind, subtype, suffix, told[number]), url or ""
        )
        for visit, code, url, number, kind, subtype, suffix in rows
    ]
    return DescribedFiles(files, max(after, files[-1].visit if len(files) == limit else last))


class CrawlerStore(SummaryWriter):
    """One crawler database in an SQLite file, written by one process at a time."""

    def __init__(self, url: str) -> None:
        """Open the database at `url` (`sqlite:///FILE`), making what is missing of it."""
        super().__init__(url, ("base", "crawler"))

    def log(self, crawls: Sequence[LoggedCrawl], user_agent: str, texts: Iterable[tuple[int, str]] = ()) -> None:
        """Write crawls, each once and in the ledger's order, and how far they reach; `texts` are those of files."""
        with self._writing():
            led = {crawl.redirect.url for crawl in crawls if crawl.redirect}
            urls = self._catalogue.urls({crawl.url for crawl in crawls} | led)
            agents = {crawl.agent.id: crawl.agent for crawl in crawls}
            self._link.executemany(_AGENT, [(*agent, user_agent) for agent in agents.values()])
            self._crawls(crawls, urls)
            self._hang(crawls, urls)
            self._link.executemany("INSERT OR REPLACE INTO file_text VALUES (?, ?)", texts)
            self._candidates(crawls, urls)
            self._come(VISIT, crawls[-1].id)

    def _crawls(self, crawls: Sequence[LoggedCrawl], urls: Mapping[str, int]) -> None:
        rows = [
            (crawl.id, crawl.agent.id, urls[crawl.url], *crawl[3:9])
            for crawl in crawls
        ]  # fmt: skip
        self._link.execute("SAVEPOINT crawls")
        try:
            self._link.executemany(_CRAWL, rows)
        except sqlite3.IntegrityError:
            # Two crawls of one address in the same microsecond: the later one gets a name of its own.
            self._link.execute("ROLLBACK TO crawls")
            for row in rows:
                self._link.execute(_CRAWL, (*row[:4], self._free(row[4], row[0]), *row[5:]))
        self._link.execute("RELEASE crawls")

    def _free(self, uuid: bytes, number: int) -> bytes:
        taken = self._link.execute("SELECT crawl_log_id FROM crawl_log WHERE crawl_uuid = ?", (uuid,)).fetchone()
        return uuid if taken is None else uuid[:9] + blake2b(b"%d" % number, digest_size=7).digest()

    def _hang(self, crawls: Sequence[LoggedCrawl], urls: Mapping[str, int]) -> None:
        """Write what hangs on crawls: requests, files and redirects."""
        requests, files, redirects = [], [], []
        for crawl in crawls:
            url, request, file, to = urls[crawl.url], crawl.request, crawl.file, crawl.redirect
            asked = crawl.id if request else None
            if request:
                requests.append((
                    crawl.id, crawl.id, url, crawl.at, request.allowed, crawl.milliseconds, crawl.exit_code,
                    request.modified, request.status, request.etag,
                ))  # fmt: skip
            if file:
                mime = self._catalogue.mime(file.mime) if file.mime else None
                files.append((crawl.id, crawl.id, asked, url, file.modified, file.size, mime))
            if to:
                redirects.append((
                    crawl.id, crawl.id, asked, url, to.modified, urls[to.url], to.source, to.permanent, to.fragment,
                ))  # fmt: skip
        self._link.executemany(_REQUEST, requests)
        self._link.executemany(_FILE, files)
        self._link.executemany(_REDIRECT, redirects)

    def _candidates(self, crawls: Sequence[LoggedCrawl], urls: Mapping[str, int]) -> None:
        told = [crawl for crawl in crawls if crawl.candidate]
        self._link.executemany(_CANDIDATE, [(urls[one.url], one.at, one.exit_code) for one in told])
        found = [one for one in told if one.contentful]
        etags = [one.request.etag if one.request else None for one in found]
        rows = [(urls[one.url], one.at, etag) for one, etag in zip(found, etags, strict=True)]
        self._link.executemany(_CONTENT, rows)

    def offer(self, addresses: Sequence[str], checkpoint: int) -> None:
        """Put candidates on record that may never have been crawled, and how far they reach."""
        with self._writing():
            urls = self._catalogue.urls(addresses)
            rows = [(urls[address],) for address in addresses]
            self._link.executemany("INSERT INTO crawl_candidate (url_id) VALUES (?) ON CONFLICT DO NOTHING", rows)
            self._come(ADDRESS, checkpoint)

    def describe(self, files: Sequence[DescribedFile], checkpoint: int) -> None:
        """Add what was read of files: exit codes, the parameters of their media types, and their originals."""
        with self._writing():
            self._correct(files)
            urls = self._catalogue.urls({file.canonical for file in files if file.canonical})
            canonicals = [(urls[file.canonical], file.visit) for file in files if file.canonical]
            self._link.executemany("UPDATE file SET canonical_url_id = ? WHERE file_id = ?", canonicals)
            kinds = [(file.mime, file.visit) for file in files if file.mime and file.mime.parameters]
            mime = self._catalogue.mime
            rows = [(mime(kind), visit, mime(kind._replace(parameters=()))) for kind, visit in kinds]
            # What the server called something else than it is keeps the server's word.
            self._link.executemany("UPDATE file SET mimetype_id = ? WHERE file_id = ? AND mimetype_id = ?", rows)
            self._come(DESCRIBED, checkpoint)

    def _correct(self, files: Sequence[DescribedFile]) -> None:
        """Take over the exit codes of files that turned out to be something else than their servers say."""
        rows = [(file.exit_code, file.visit) for file in files]
        for code, visit in rows:
            found = self._link.execute(_OTHERWISE, (visit, code)).fetchone()
            if found is None:
                continue
            self._link.execute("UPDATE crawl_log SET exit_code = ? WHERE crawl_log_id = ?", (code, visit))
            self._link.execute("UPDATE request SET exit_code = ? WHERE crawl_log_id = ?", (code, visit))
            url_id, at, etag = found
            self._link.execute(_CANDIDATE, (url_id, at, code))
            self._link.execute(_CONTENT, (url_id, at, etag))

    def running(self) -> list[int]:
        """Return the agents that are not known to have ended."""
        return [row[0] for row in self._ask("SELECT agent_id FROM agent WHERE time_finished_unix_utc IS NULL")]

    def ended(self, agents: Iterable[tuple[int, int]]) -> None:
        """Put on record when agents ended."""
        with self._writing():
            rows = [(at, agent) for agent, at in agents]
            self._link.executemany("UPDATE agent SET time_finished_unix_utc = ? WHERE agent_id = ?", rows)

    def counts(self) -> dict[str, int]:
        """Count the rows of each table."""
        tables = ("agent", "crawl_log", "request", "file", "redirect", "crawl_candidate")
        return {name: self._ask(f"SELECT count(*) FROM {name}")[0][0] for name in tables}
