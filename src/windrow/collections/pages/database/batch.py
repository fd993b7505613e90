"""One transaction's work: what a batch of crawls makes of the generations of their addresses."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from windrow.collections.pages.database.entries import (
    PILE,
    CrawlEntry,
    CrawlObservation,
    Folded,
    FoldedVersion,
    Generation,
    Sighted,
    SummaryEntry,
    TextSummary,
    versions,
)
from windrow.collections.pages.database.page_parts import (
    PastVersion,
    Readings,
    WordingSeen,
    addresses,
    held,
    keep,
    keep_present,
    keep_read,
    known_past,
    linked,
    past,
    prune,
    record,
    said,
)
from windrow.collections.pages.database.writer import Catalogue
from windrow.reasons import OWN_FAULTS

_OBSERVE = f"""
INSERT INTO windrow_observation (url_id, at, crawl_uuid, sight, identity, payload, reason, visit, entity_generation_id,
  agent_uuid, crawl_type, was_robotstxt_approved, exit_code, request_duration_ms, status_code, etag, said, linked)
VALUES ({",".join("?" * 18)})
ON CONFLICT (url_id, at, crawl_uuid) DO UPDATE SET sight = excluded.sight, identity = excluded.identity,
payload = excluded.payload, reason = excluded.reason, exit_code = excluded.exit_code,
visit = excluded.visit, said = excluded.said, linked = excluded.linked
"""
_SEEN = """
SELECT url_id, at, crawl_uuid, sight, identity, entity_generation_id, visit, agent_uuid, crawl_type,
  was_robotstxt_approved, exit_code, request_duration_ms, status_code, etag, said, payload, linked
FROM windrow_observation WHERE url_id IN (SELECT value FROM json_each(?)) ORDER BY url_id, at, crawl_uuid
"""
_KNOWN = """
SELECT url_id, entity_generation_id, first_seen_unix_utc, last_seen_unix_utc, confirmed_end_unix_utc, text_pile_id,
  entity_generation_uuid
FROM entity_generation WHERE url_id IN (SELECT value FROM json_each(?)) AND url_fragment IS NULL
"""
_OWING = """
SELECT entity_generation_id FROM windrow_owed WHERE entity_generation_id IN (SELECT value FROM json_each(?))
"""
_READ = """
SELECT entity_generation_id, visit FROM windrow_reading WHERE entity_generation_id IN (SELECT value FROM json_each(?))
"""
_PAYLOAD = """
SELECT identity, reason, said, linked FROM windrow_observation
WHERE url_id = ?1 AND payload = ?2 AND sight = 'content' AND identity <> x''
ORDER BY reason IN (SELECT value FROM json_each(?3)), at, crawl_uuid LIMIT 1
"""
_CRAWL = """
INSERT INTO crawl_summary (crawl_summary_id, entity_generation_id, was_robotstxt_approved, crawl_type, crawl_uuid,
  agent_uuid, time_started_unix_utc, exit_code, request_duration_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_UNANSWERED = """
DELETE FROM http_summary WHERE crawl_summary_id IN
  (SELECT crawl_summary_id FROM crawl_summary WHERE crawl_uuid = ? AND entity_generation_id = ?)
"""

NOT_READ = json.dumps(sorted(OWN_FAULTS))
"""Why bytes were not read though nothing is wrong with them: they are not known by that."""

Row = tuple[Any, ...]

OK = 200


class SummaryBatch:
    """Gathers what must change, and writes it table by table."""

    def __init__(self, link: sqlite3.Connection, catalogue: Catalogue, readings: Readings) -> None:
        """Work within the transaction that is open."""
        self._link = link
        self._catalogue = catalogue
        self._readings = readings
        self._told: dict[bytes, TextSummary] = {}
        self._pile_ids: Mapping[bytes, int] = {}
        self._owing: set[int] = set()
        self._stands: dict[int, TextSummary] = {}
        self._owed: list[Row] = []
        self._made: list[Row] = []
        self._kept: list[Row] = []
        self._renamed: list[Row] = []
        self._crawled: list[Row] = []
        self._answered: list[Row] = []
        self._joined: list[Row] = []
        self._read: list[Row] = []
        self._past: set[PastVersion] = set()
        self._past_links: dict[int, set[bytes]] = {}
        self._reads: Mapping[int, int] = {}
        self._left: list[Row] = []
        self._apart: list[Row] = []
        self._touched: set[int] = set()
        self._regroup: set[int] = set()
        self._last = self._number_of("entity_generation")
        self._crawls = self._number_of("crawl_summary")

    def _number_of(self, table: str) -> int:
        return int(self._link.execute(f"SELECT coalesce(max({table}_id), 0) FROM {table}").fetchone()[0])

    def settle(self, entries: Sequence[SummaryEntry]) -> None:
        """Put crawls on record, and make the generations of their addresses what follows."""
        summaries = [entry.summary for entry in entries if entry.summary is not None]
        self._told = {entry.crawl.uuid: entry.summary for entry in entries if entry.summary is not None}
        urls = self._catalogue.urls(chain((entry.crawl.url for entry in entries), addresses(summaries)))
        self._observe(entries, urls)
        self._settle({urls[entry.crawl.url]: entry.crawl.url for entry in entries}, summaries)
        self._readings.write(self._stands, urls)
        self._keep_links(entries, urls)
        keep(self._link, summaries, urls, self._catalogue)

    def _keep_links(self, entries: Sequence[SummaryEntry], urls: Mapping[str, int]) -> None:
        """Keep the links of readings that do not describe their generation, and of no others."""
        told = ((urls[crawl.url], one) for crawl, one in entries if one is not None)
        keep_read(self._link, ((url_id, one) for url_id, one in told if url_id in self._past_links), urls)
        prune(self._link, self._past_links)

    def _keep_past_links(
        self, url_id: int, folded: Folded, by_crawl: Mapping[bytes, Row], described_by: Mapping[int, Row | None]
    ) -> None:
        """Keep the present links of an address's generations that one of them had, and will not have any more."""
        sets = [{by_crawl[read][16] for read in version.made.readings} for version in folded.versions]
        needed = set().union(*(some for some in sets if len(some) > 1))
        missing = needed - self._past_links.get(url_id, set())
        if missing:
            rows = described_by.items()
            keep_present(self._link, [number for number, row in rows if row is not None and row[16] in missing])
            self._past_links.setdefault(url_id, set())

    def _settle(self, ids: Mapping[int, str], summaries: Sequence[TextSummary]) -> None:
        asked = json.dumps(list(ids))
        seen = {key: list(rows) for key, rows in groupby(self._link.execute(_SEEN, (asked,)), itemgetter(0))}
        known: dict[int, dict[int, Row]] = {}
        for row in self._link.execute(_KNOWN, (asked,)):
            known.setdefault(row[0], {})[row[1]] = row[2:]
        self._pile_ids = self._piles(summaries, seen)
        generations = json.dumps([one for some in known.values() for one in some])
        self._owing = self._owing_now(generations)
        self._reads = dict(self._link.execute(_READ, (generations,)))
        before = known_past(self._link, (one for some in known.values() for one in some))
        self._past_links = held(self._link, ids)
        gone: set[int] = set()
        for url_id, rows in seen.items():
            gone |= self._fold(url_id, ids[url_id], rows, known.get(url_id, {}))
        self._write(gone)
        record(self._link, before, self._past)

    def _observe(self, entries: Sequence[SummaryEntry], urls: Mapping[str, int]) -> None:
        rows: list[Row] = []
        for crawl, summary in entries:
            identity, reason = (summary.identity, summary.reason) if summary else (b"", "")
            words, links = said(summary), linked(summary)
            url_id = urls[crawl.url]
            sight = crawl.sight
            if sight is Sighted.CONTENT and summary is None:
                # The rows before it must be there: what it repeats may be in this very batch.
                self._link.executemany(_OBSERVE, rows)
                rows.clear()
                found = self._link.execute(_PAYLOAD, (url_id, crawl.payload, NOT_READ)).fetchone()
                identity, reason, words, links = found or (b"", "", b"", b"")
                sight = Sighted.CONTENT if found else Sighted.UNKNOWN
            rows.append((*_row(url_id, crawl, sight, identity, reason), words, links))
        self._link.executemany(_OBSERVE, rows)

    def _piles(self, summaries: Sequence[TextSummary], seen: Mapping[int, list[Row]]) -> Mapping[bytes, int]:
        """Return the numbers of all text piles that these addresses ever had."""
        others = {row[4] for rows in seen.values() for row in rows if len(row[4]) == PILE}
        return self._catalogue.piles(summaries, others - {summary.identity for summary in summaries})

    def _owing_now(self, asked: str) -> set[int]:
        if self._link.execute("SELECT 1 FROM windrow_owed LIMIT 1").fetchone() is None:
            return set()
        return {row[0] for row in self._link.execute(_OWING, (asked,))}

    def _fold(self, url_id: int, url: str, rows: list[Row], known: Mapping[int, Row]) -> set[int]:
        """Compare the generations of one address with what they must be; return those that are none any more."""
        seen = [(_observation(row), row[5]) for row in rows]
        by_crawl = {row[2]: row for row in rows}
        by_visit = {row[6]: row for row in rows}
        left = dict(by_crawl)
        folded = versions(seen, known)
        self._keep_past_links(
            url_id, folded, by_crawl, {number: by_visit.get(self._reads.get(number, 0)) for number in known}
        )
        for version in folded.versions:
            made = version.made
            pile = self._pile_ids[made.identity] if len(made.identity) == PILE else None
            span = (made.first_seen, made.last_seen, made.confirmed_end, pile, _uuid(url, made))
            number = self._number(version, url_id, span, known)
            same_text = version.id is not None and known[version.id][3] == pile
            described_by = by_visit.get(self._reads.get(number, 0)) if same_text else None
            self._describe(number, by_crawl[made.reads], described_by, again=version.id is not None)
            self._past.update(past(number, [
                WordingSeen(by_crawl[crawl][6], by_crawl[crawl][1], by_crawl[read][14])
                for crawl, read in zip(made.crawls, made.readings, strict=True)
            ]))  # fmt: skip
            for crawl in made.crawls:
                row = left.pop(crawl)
                if row[5] != number:
                    self._join(row, number)
        for row in left.values():
            if row[5] is not None:
                self._apart.append(row[:3])
                self._left.append((row[2], row[5]))
        for number in folded.gone:
            self._touch(number, known[number][3])
        return folded.gone

    def _number(self, one: FoldedVersion, url_id: int, span: Row, known: Mapping[int, Row]) -> int:
        """Return the id of a version, and note the row that it needs."""
        pile, uuid = span[3:]
        if one.id is None:
            self._last += 1
            self._made.append((self._last, uuid, url_id, None, *span[:3], 0, pile))
            self._touch(self._last, pile)
            return self._last
        before = known[one.id]
        if before != span:
            self._kept.append((*span, one.id))
            if before[4] != uuid:
                self._renamed.append((one.id,))
            if before[2:4] != span[2:4]:
                self._touch(one.id, pile, before[3])
        return one.id

    def _touch(self, number: int, *piles: int | None) -> None:
        self._touched.add(number)
        self._regroup.update(pile for pile in piles if pile is not None)

    def _describe(self, number: int, row: Row, before: Row | None, *, again: bool) -> None:
        """Let the reading of the observed crawl `row` describe a generation, now or when it has been read.

        `before` is the crawl that describes it so far: the same bytes at the same address say the same.
        """
        owing = number in self._owing
        if before is not None and before[4] == row[4] and before[15] == row[15] and not owing:
            return
        summary = self._told.get(row[2])
        if summary is None:
            self._owed.append((number, row[6]))
            return
        if again:
            self._readings.clear([number])
            self._touched.add(number)
        if owing:
            self._link.execute("DELETE FROM windrow_owed WHERE entity_generation_id = ?", (number,))
        self._read.append((number, row[6]))
        self._stands[number] = summary

    def _join(self, row: Row, number: int) -> None:
        """Attach a crawl to a generation."""
        url_id, at, crawl, _, _, before, _, agent, kind, allowed, code, took, status, etag, *_ = row
        self._joined.append((number, url_id, at, crawl))
        if before is not None:
            self._left.append((crawl, before))
        self._crawls += 1
        self._crawled.append((self._crawls, number, allowed, kind, crawl, agent, at, code, took))
        if status is not None:
            self._answered.append((self._crawls, status, etag))

    def _write(self, gone: set[int]) -> None:
        many = self._link.executemany
        many(_UNANSWERED, self._left)
        many("DELETE FROM crawl_summary WHERE crawl_uuid = ? AND entity_generation_id = ?", self._left)
        many(
            "UPDATE windrow_observation SET entity_generation_id = NULL WHERE url_id = ? AND at = ? AND crawl_uuid = ?",
            self._apart,
        )
        # A name may pass from one generation to another: first those that change theirs give it up.
        self._renamed += [(one,) for one in gone]
        many(
            "UPDATE entity_generation SET entity_generation_uuid = randomblob(16) WHERE entity_generation_id = ?",
            self._renamed,
        )
        many(
            "UPDATE entity_generation SET first_seen_unix_utc = ?, last_seen_unix_utc = ?, confirmed_end_unix_utc = ?,"
            " text_pile_id = ?, entity_generation_uuid = ? WHERE entity_generation_id = ?",
            self._kept,
        )
        many("INSERT INTO entity_generation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self._made)
        many(
            "UPDATE windrow_observation SET entity_generation_id = ? WHERE url_id = ? AND at = ? AND crawl_uuid = ?",
            self._joined,
        )
        many("INSERT OR REPLACE INTO windrow_reading VALUES (?, ?)", self._read)
        many(_CRAWL, self._crawled)
        many("INSERT INTO http_summary VALUES (?, ?, ?)", self._answered)
        self._remove(gone)
        many("INSERT OR REPLACE INTO windrow_owed VALUES (?, ?)", self._owed)
        many("INSERT OR IGNORE INTO windrow_touched VALUES (?)", [(one,) for one in sorted(self._touched)])
        many("INSERT OR IGNORE INTO windrow_regroup VALUES (?)", [(one,) for one in sorted(self._regroup)])

    def _remove(self, gone: set[int]) -> None:
        """Remove generations that became part of another one; all their crawls have left them."""
        if not gone:
            return
        self._readings.clear(gone)
        rows = [(one,) for one in gone]
        many = self._link.executemany
        many("DELETE FROM windrow_owed WHERE entity_generation_id = ?", rows)
        many("DELETE FROM windrow_reading WHERE entity_generation_id = ?", rows)
        many(
            "UPDATE entity_generation SET marked_duplicate = 0 WHERE entity_generation_id IN ("
            "SELECT subject_entity_generation_id FROM duplicate_summary"
            " WHERE duplicate_of_entity_generation_id = ? AND duplicate_status_end_unix_utc IS NULL)",
            rows,
        )
        many(
            "DELETE FROM duplicate_summary"
            " WHERE ? IN (subject_entity_generation_id, duplicate_of_entity_generation_id)",
            rows,
        )
        many("DELETE FROM entity_generation WHERE entity_generation_id = ?", rows)


def _row(url_id: int, crawl: CrawlEntry, sight: Sighted, identity: bytes, reason: str) -> Row:
    return (
        url_id, crawl.at, crawl.uuid, sight.value, identity, crawl.payload, reason, crawl.visit, None, crawl.agent,
        crawl.kind, crawl.allowed, crawl.exit_code, crawl.milliseconds, crawl.status, crawl.etag,
    )  # fmt: skip


def _observation(row: Row) -> CrawlObservation:
    """Read a row of `_SEEN`; a later SAME refers to what came with 200 and a body, as the crawl's questions do."""
    return CrawlObservation(row[1], row[2], Sighted(row[3]), row[4], body=row[12] == OK and bool(row[15]))


def _uuid(url: str, made: Generation) -> bytes:
    """Name a generation by its address, its identity and its first crawl, whose time it begins with."""
    crawl = made.crawls[0]
    rest = blake2b(b"\0".join((url.encode(), crawl, made.identity)), digest_size=8).digest()
    return crawl[:8] + bytes([rest[0] & 0x3F | 0x80]) + rest[1:]
