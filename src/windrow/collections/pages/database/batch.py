"""Write one batch of crawls: their observations, and the changes of their addresses' generations."""

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
    FoldedVersion,
    FoldedVersions,
    Generation,
    Sight,
    SummaryEntry,
    TextSummary,
    versions,
)
from windrow.collections.pages.database.page_parts import (
    PastVersion,
    ReadingWriter,
    WordingSeen,
    find_past_versions,
    hash_links,
    hash_wording,
    keep_present_links,
    keep_read_links,
    named_addresses,
    prune_past_links,
    read_past_link_hashes,
    read_past_versions,
    update_past_versions,
    write_wordings,
)
from windrow.collections.pages.database.writer import Catalogue
from windrow.reasons import OWN_FAULTS

_OBSERVE = f"""
INSERT INTO windrow_observation (url_id, at, crawl_uuid, sight, identity, payload, reason, attempt,
  entity_generation_id, agent_uuid, crawl_type, was_robotstxt_approved, exit_code, request_duration_ms,
  status_code, etag, said, linked)
VALUES ({",".join("?" * 18)})
ON CONFLICT (url_id, at, crawl_uuid) DO UPDATE SET sight = excluded.sight, identity = excluded.identity,
payload = excluded.payload, reason = excluded.reason, exit_code = excluded.exit_code,
attempt = excluded.attempt, said = excluded.said, linked = excluded.linked
"""
_SEEN = """
SELECT url_id, at, crawl_uuid, sight, identity, entity_generation_id, attempt, agent_uuid, crawl_type,
  was_robotstxt_approved, exit_code, request_duration_ms, status_code, etag, said, payload, linked
FROM windrow_observation WHERE url_id IN (SELECT value FROM json_each(?)) ORDER BY url_id, at, crawl_uuid
"""
_KNOWN = """
SELECT url_id, entity_generation_id, first_seen_unix_utc, last_seen_unix_utc, confirmed_end_unix_utc, text_pile_id,
  entity_generation_uuid
FROM entity_generation WHERE url_id IN (SELECT value FROM json_each(?)) AND url_fragment IS NULL
"""
_SEEN_AT, _SEEN_UUID, _SEEN_SIGHT, _SEEN_IDENTITY, _SEEN_GENERATION, _SEEN_ATTEMPT = range(1, 7)
_SEEN_STATUS, _SEEN_WORDING, _SEEN_PAYLOAD, _SEEN_LINKED = 12, 14, 15, 16
_KNOWN_PILE, _KNOWN_UUID = 3, 4  # after the first two columns
_OWED = """
SELECT entity_generation_id FROM windrow_owed WHERE entity_generation_id IN (SELECT value FROM json_each(?))
"""
_READ = """
SELECT entity_generation_id, attempt FROM windrow_reading WHERE entity_generation_id IN (SELECT value FROM json_each(?))
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
"""Reasons of windrow's own why a body was not read: such bodies do not count as known."""

Row = tuple[Any, ...]

OK = 200


class SummaryBatch:
    """Collects the changes of one batch, and writes them table by table."""

    def __init__(self, connection: sqlite3.Connection, catalogue: Catalogue, readings: ReadingWriter) -> None:
        """Write within the open transaction of `connection`."""
        self._connection = connection
        self._catalogue = catalogue
        self._readings = readings
        self._summaries: dict[bytes, TextSummary] = {}
        self._pile_ids: Mapping[bytes, int] = {}
        self._unread: set[int] = set()
        self._describing: dict[int, TextSummary] = {}
        self._new_unread: list[Row] = []
        self._new_rows: list[Row] = []
        self._changed_rows: list[Row] = []
        self._renamed: list[Row] = []
        self._crawl_rows: list[Row] = []
        self._http_rows: list[Row] = []
        self._attached: list[Row] = []
        self._reading_rows: list[Row] = []
        self._past: set[PastVersion] = set()
        self._past_links: dict[int, set[bytes]] = {}
        self._described_by: Mapping[int, int] = {}
        self._departed: list[Row] = []
        self._detached: list[Row] = []
        self._touched: set[int] = set()
        self._regroup: set[int] = set()
        self._last = self._number_of("entity_generation")
        self._crawls = self._number_of("crawl_summary")

    def _number_of(self, table: str) -> int:
        return int(self._connection.execute(f"SELECT coalesce(max({table}_id), 0) FROM {table}").fetchone()[0])

    def settle(self, entries: Sequence[SummaryEntry]) -> None:
        """Write the observations of crawls, and update the generations of their addresses."""
        summaries = [entry.summary for entry in entries if entry.summary is not None]
        self._summaries = {entry.crawl.uuid: entry.summary for entry in entries if entry.summary is not None}
        urls = self._catalogue.urls(chain((entry.crawl.url for entry in entries), named_addresses(summaries)))
        self._write_observations(entries, urls)
        self._settle_addresses({urls[entry.crawl.url]: entry.crawl.url for entry in entries}, summaries)
        self._readings.write(self._describing, urls)
        self._keep_links(entries, urls)
        write_wordings(self._connection, summaries, urls, self._catalogue)

    def _keep_links(self, entries: Sequence[SummaryEntry], urls: Mapping[str, int]) -> None:
        """Write links of readings that do not describe their generation as past links; remove unused past links."""
        read_summaries = ((urls[crawl.url], summary) for crawl, summary in entries if summary is not None)
        keep_read_links(
            self._connection,
            ((url_id, summary) for url_id, summary in read_summaries if url_id in self._past_links),
            urls,
        )
        prune_past_links(self._connection, self._past_links)

    def _keep_past_links(
        self, url_id: int, folded: FoldedVersions, by_crawl: Mapping[bytes, Row], described_by: Mapping[int, Row | None]
    ) -> None:
        """Copy the present links of an address's generations to the past links if they may be replaced."""
        sets = [{by_crawl[read][_SEEN_LINKED] for read in version.generation.readings} for version in folded.versions]
        shared_hashes = set().union(*(hashes for hashes in sets if len(hashes) > 1))
        missing = shared_hashes - self._past_links.get(url_id, set())
        if missing:
            rows = described_by.items()
            keep_present_links(
                self._connection, [number for number, row in rows if row is not None and row[_SEEN_LINKED] in missing]
            )
            self._past_links.setdefault(url_id, set())

    def _settle_addresses(self, ids: Mapping[int, str], summaries: Sequence[TextSummary]) -> None:
        url_ids = json.dumps(list(ids))
        observed_rows = {
            key: list(rows) for key, rows in groupby(self._connection.execute(_SEEN, (url_ids,)), itemgetter(0))
        }
        known_rows: dict[int, dict[int, Row]] = {}
        for row in self._connection.execute(_KNOWN, (url_ids,)):
            known_rows.setdefault(row[0], {})[row[1]] = row[2:]
        self._pile_ids = self._number_piles(summaries, observed_rows)
        generation_ids = json.dumps(
            [generation for generations_of_url in known_rows.values() for generation in generations_of_url]
        )
        self._unread = self._find_unread(generation_ids)
        self._described_by = dict(self._connection.execute(_READ, (generation_ids,)))
        old_past_versions = read_past_versions(
            self._connection,
            (generation for generations_of_url in known_rows.values() for generation in generations_of_url),
        )
        self._past_links = read_past_link_hashes(self._connection, ids)
        removed_ids: set[int] = set()
        for url_id, rows in observed_rows.items():
            removed_ids |= self._fold_address(url_id, ids[url_id], rows, known_rows.get(url_id, {}))
        self._write_rows(removed_ids)
        update_past_versions(self._connection, old_past_versions, self._past)

    def _write_observations(self, entries: Sequence[SummaryEntry], urls: Mapping[str, int]) -> None:
        rows: list[Row] = []
        for crawl, summary in entries:
            identity, reason = (summary.identity, summary.reason) if summary else (b"", "")
            words, links = hash_wording(summary), hash_links(summary)
            url_id = urls[crawl.url]
            sight = crawl.sight
            if sight is Sight.CONTENT and summary is None:
                # Write the rows before it first: the reading that it repeats may be in this batch.
                self._connection.executemany(_OBSERVE, rows)
                rows.clear()
                first_reading = self._connection.execute(_PAYLOAD, (url_id, crawl.payload, NOT_READ)).fetchone()
                identity, reason, words, links = first_reading or (b"", "", b"", b"")
                sight = Sight.CONTENT if first_reading else Sight.UNKNOWN
            rows.append((*_observation_row(url_id, crawl, sight, identity, reason), words, links))
        self._connection.executemany(_OBSERVE, rows)

    def _number_piles(
        self, summaries: Sequence[TextSummary], observed_rows: Mapping[int, list[Row]]
    ) -> Mapping[bytes, int]:
        known_digests = {
            row[_SEEN_IDENTITY] for rows in observed_rows.values() for row in rows if len(row[_SEEN_IDENTITY]) == PILE
        }
        return self._catalogue.piles(summaries, known_digests - {summary.identity for summary in summaries})

    def _find_unread(self, generation_ids: str) -> set[int]:
        if self._connection.execute("SELECT 1 FROM windrow_owed LIMIT 1").fetchone() is None:
            return set()
        return {row[0] for row in self._connection.execute(_OWED, (generation_ids,))}

    def _fold_address(self, url_id: int, url: str, rows: list[Row], known_rows: Mapping[int, Row]) -> set[int]:
        """Fold one address again and collect the changes of its generations; return the ids of removed ones."""
        observations = [(_observation(row), row[_SEEN_GENERATION]) for row in rows]
        by_crawl = {row[_SEEN_UUID]: row for row in rows}
        by_attempt = {row[_SEEN_ATTEMPT]: row for row in rows}
        unassigned = dict(by_crawl)
        folded = versions(observations, known_rows)
        self._keep_past_links(
            url_id,
            folded,
            by_crawl,
            {number: by_attempt.get(self._described_by.get(number, 0)) for number in known_rows},
        )
        for version in folded.versions:
            generation = version.generation
            pile = self._pile_ids[generation.identity] if len(generation.identity) == PILE else None
            span = (
                generation.first_seen,
                generation.last_seen,
                generation.confirmed_end,
                pile,
                _generation_uuid(url, generation),
            )
            number = self._assign_id(version, url_id, span, known_rows)
            same_text = version.id is not None and known_rows[version.id][_KNOWN_PILE] == pile
            described_by = by_attempt.get(self._described_by.get(number, 0)) if same_text else None
            self._describe(number, by_crawl[generation.describing_crawl], described_by, again=version.id is not None)
            self._past.update(find_past_versions(number, [
                WordingSeen(by_crawl[crawl][_SEEN_ATTEMPT], by_crawl[crawl][_SEEN_AT], by_crawl[read][_SEEN_WORDING])
                for crawl, read in zip(generation.crawls, generation.readings, strict=True)
            ]))  # fmt: skip
            for crawl in generation.crawls:
                row = unassigned.pop(crawl)
                if row[_SEEN_GENERATION] != number:
                    self._attach_crawl(row, number)
        for row in unassigned.values():
            if row[_SEEN_GENERATION] is not None:
                self._detached.append(row[:3])
                self._departed.append((row[_SEEN_UUID], row[_SEEN_GENERATION]))
        for number in folded.gone:
            self._mark_touched(number, known_rows[number][_KNOWN_PILE])
        return folded.gone

    def _assign_id(self, version: FoldedVersion, url_id: int, span: Row, known_rows: Mapping[int, Row]) -> int:
        """Return the id of a version, and collect its new or changed row."""
        pile, uuid = span[3:]
        if version.id is None:
            self._last += 1
            self._new_rows.append((self._last, uuid, url_id, None, *span[:3], 0, pile))
            self._mark_touched(self._last, pile)
            return self._last
        known_row = known_rows[version.id]
        if known_row != span:
            self._changed_rows.append((*span, version.id))
            if known_row[_KNOWN_UUID] != uuid:
                self._renamed.append((version.id,))
            if known_row[2:4] != span[2:4]:
                self._mark_touched(version.id, pile, known_row[_KNOWN_PILE])
        return version.id

    def _mark_touched(self, number: int, *piles: int | None) -> None:
        self._touched.add(number)
        self._regroup.update(pile for pile in piles if pile is not None)

    def _describe(self, number: int, row: Row, described_by: Row | None, *, again: bool) -> None:
        """Describe a generation by the reading of the observed crawl `row`, now or when it has been read.

        `described_by` is the crawl that describes it so far: the same bytes at the same address need no new reading.
        """
        is_unread = number in self._unread
        if (
            described_by is not None
            and described_by[_SEEN_IDENTITY] == row[_SEEN_IDENTITY]
            and described_by[_SEEN_PAYLOAD] == row[_SEEN_PAYLOAD]
            and not is_unread
        ):
            return
        summary = self._summaries.get(row[_SEEN_UUID])
        if summary is None:
            self._new_unread.append((number, row[_SEEN_ATTEMPT]))
            return
        if again:
            self._readings.clear([number])
            self._touched.add(number)
        if is_unread:
            self._connection.execute("DELETE FROM windrow_owed WHERE entity_generation_id = ?", (number,))
        self._reading_rows.append((number, row[_SEEN_ATTEMPT]))
        self._describing[number] = summary

    def _attach_crawl(self, row: Row, number: int) -> None:
        url_id, at, crawl, _, _, former, _, agent, kind, allowed, code, duration, status, etag, *_ = row
        self._attached.append((number, url_id, at, crawl))
        if former is not None:
            self._departed.append((crawl, former))
        self._crawls += 1
        self._crawl_rows.append((self._crawls, number, allowed, kind, crawl, agent, at, code, duration))
        if status is not None:
            self._http_rows.append((self._crawls, status, etag))

    def _write_rows(self, removed_ids: set[int]) -> None:
        execute_many = self._connection.executemany
        execute_many(_UNANSWERED, self._departed)
        execute_many("DELETE FROM crawl_summary WHERE crawl_uuid = ? AND entity_generation_id = ?", self._departed)
        execute_many(
            "UPDATE windrow_observation SET entity_generation_id = NULL WHERE url_id = ? AND at = ? AND crawl_uuid = ?",
            self._detached,
        )
        # A UUID may pass from one generation to another: first all changed ones get random UUIDs.
        self._renamed += [(generation,) for generation in removed_ids]
        execute_many(
            "UPDATE entity_generation SET entity_generation_uuid = randomblob(16) WHERE entity_generation_id = ?",
            self._renamed,
        )
        execute_many(
            "UPDATE entity_generation SET first_seen_unix_utc = ?, last_seen_unix_utc = ?, confirmed_end_unix_utc = ?,"
            " text_pile_id = ?, entity_generation_uuid = ? WHERE entity_generation_id = ?",
            self._changed_rows,
        )
        execute_many("INSERT INTO entity_generation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self._new_rows)
        execute_many(
            "UPDATE windrow_observation SET entity_generation_id = ? WHERE url_id = ? AND at = ? AND crawl_uuid = ?",
            self._attached,
        )
        execute_many("INSERT OR REPLACE INTO windrow_reading VALUES (?, ?)", self._reading_rows)
        execute_many(_CRAWL, self._crawl_rows)
        execute_many("INSERT INTO http_summary VALUES (?, ?, ?)", self._http_rows)
        self._remove_generations(removed_ids)
        execute_many("INSERT OR REPLACE INTO windrow_owed VALUES (?, ?)", self._new_unread)
        execute_many(
            "INSERT OR IGNORE INTO windrow_touched VALUES (?)", [(generation,) for generation in sorted(self._touched)]
        )
        execute_many("INSERT OR IGNORE INTO windrow_regroup VALUES (?)", [(pile,) for pile in sorted(self._regroup)])

    def _remove_generations(self, removed_ids: set[int]) -> None:
        """Remove generations that became part of another one, to which their crawls are already attached."""
        if not removed_ids:
            return
        self._readings.clear(removed_ids)
        rows = [(generation,) for generation in removed_ids]
        execute_many = self._connection.executemany
        execute_many("DELETE FROM windrow_owed WHERE entity_generation_id = ?", rows)
        execute_many("DELETE FROM windrow_reading WHERE entity_generation_id = ?", rows)
        execute_many(
            "UPDATE entity_generation SET marked_duplicate = 0 WHERE entity_generation_id IN ("
            "SELECT subject_entity_generation_id FROM duplicate_summary"
            " WHERE duplicate_of_entity_generation_id = ? AND duplicate_status_end_unix_utc IS NULL)",
            rows,
        )
        execute_many(
            "DELETE FROM duplicate_summary"
            " WHERE ? IN (subject_entity_generation_id, duplicate_of_entity_generation_id)",
            rows,
        )
        execute_many("DELETE FROM entity_generation WHERE entity_generation_id = ?", rows)


def _observation_row(url_id: int, crawl: CrawlEntry, sight: Sight, identity: bytes, reason: str) -> Row:
    return (
        url_id, crawl.at, crawl.uuid, sight.value, identity, crawl.payload, reason, crawl.attempt, None, crawl.agent,
        crawl.kind, crawl.allowed, crawl.exit_code, crawl.milliseconds, crawl.status, crawl.etag,
    )  # fmt: skip


def _observation(row: Row) -> CrawlObservation:
    """Convert a row of `_SEEN`; a later SAME refers to an answer 200 with a body, as conditional requests do."""
    return CrawlObservation(
        row[_SEEN_AT],
        row[_SEEN_UUID],
        Sight(row[_SEEN_SIGHT]),
        row[_SEEN_IDENTITY],
        body=row[_SEEN_STATUS] == OK and bool(row[_SEEN_PAYLOAD]),
    )


def _generation_uuid(url: str, generation: Generation) -> bytes:
    """Return the UUID of a generation: the time of its first crawl, and a hash of its address, identity and crawl."""
    crawl = generation.crawls[0]
    rest = blake2b(b"\0".join((url.encode(), crawl, generation.identity)), digest_size=8).digest()
    return crawl[:8] + bytes([rest[0] & 0x3F | 0x80]) + rest[1:]
