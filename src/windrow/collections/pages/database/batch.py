"""Write one batch of crawls: their observations, and the changes to their addresses' generations."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from windrow.collections.pages.code import ExitCode
from windrow.collections.pages.crawl_log import make_later_uuid
from windrow.collections.pages.database.entries import (
    PILE_DIGEST_BYTES,
    CrawlEntry,
    CrawlObservation,
    FoldedVersion,
    FoldedVersions,
    Generation,
    Sight,
    SummaryEntry,
    TextSummary,
    fold_versions,
)
from windrow.collections.pages.database.page_parts import (
    PartsWriter,
    PastVersion,
    WordingSeen,
    copy_present_links,
    find_past_versions,
    hash_links,
    hash_wording,
    list_named_urls,
    prune_past_links,
    read_past_link_hashes,
    read_past_versions,
    update_past_versions,
    write_past_links,
    write_wordings,
)
from windrow.collections.pages.database.writer import IdFinder

_UPSERT_OBSERVATION = f"""
INSERT INTO windrow_observation (url_id, at, crawl_uuid, sight, identity, payload, reason, attempt,
  entity_generation_id, agent_uuid, crawl_type, was_robotstxt_approved, exit_code, request_duration_ms,
  status_code, etag, said, linked)
VALUES ({",".join("?" * 18)})
ON CONFLICT (url_id, at, crawl_uuid) DO UPDATE SET sight = excluded.sight, identity = excluded.identity,
payload = excluded.payload, reason = excluded.reason, exit_code = excluded.exit_code,
said = excluded.said, linked = excluded.linked
WHERE attempt = excluded.attempt
"""
_CRAWL_UUID, _ATTEMPT = 2, 7  # positions in its parameters
_SELECT_OBSERVATIONS = """
SELECT url_id, at, crawl_uuid, sight, identity, entity_generation_id, attempt, agent_uuid, crawl_type,
  was_robotstxt_approved, exit_code, request_duration_ms, status_code, etag, said, payload, linked
FROM windrow_observation WHERE url_id IN (SELECT value FROM json_each(?)) ORDER BY url_id, at, crawl_uuid
"""
_SELECT_GENERATIONS = """
SELECT url_id, entity_generation_id, first_seen_unix_utc, last_seen_unix_utc, confirmed_end_unix_utc, text_pile_id,
  entity_generation_uuid
FROM entity_generation WHERE url_id IN (SELECT value FROM json_each(?)) AND url_fragment IS NULL
"""
# Positions in a row of `_SELECT_OBSERVATIONS`.
_SEEN_AT, _SEEN_UUID, _SEEN_SIGHT, _SEEN_IDENTITY, _SEEN_GENERATION, _SEEN_ATTEMPT = range(1, 7)
_SEEN_STATUS, _SEEN_WORDING, _SEEN_PAYLOAD, _SEEN_LINKED = 12, 14, 15, 16
# positions in a generation's row after its first two columns
_KNOWN_FIRST_SEEN, _KNOWN_END, _KNOWN_PILE, _KNOWN_UUID = 0, 2, 3, 4
_SELECT_UNREAD = """
SELECT entity_generation_id FROM windrow_owed WHERE entity_generation_id IN (SELECT value FROM json_each(?))
"""
_SELECT_DESCRIBING_ATTEMPTS = """
SELECT entity_generation_id, attempt FROM windrow_reading WHERE entity_generation_id IN (SELECT value FROM json_each(?))
"""
_SELECT_FIRST_READING = """
SELECT identity, reason, said, linked FROM windrow_observation
WHERE url_id = ?1 AND payload = ?2 AND sight = 'content' AND identity <> x''
ORDER BY at, crawl_uuid LIMIT 1
"""
_INSERT_CRAWL = """
INSERT INTO crawl_summary (crawl_summary_id, entity_generation_id, was_robotstxt_approved, crawl_type, crawl_uuid,
  agent_uuid, time_started_unix_utc, exit_code, request_duration_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_DELETE_HTTP = """
DELETE FROM http_summary WHERE crawl_summary_id IN
  (SELECT crawl_summary_id FROM crawl_summary WHERE crawl_uuid = ? AND entity_generation_id = ?)
"""

Row = tuple[Any, ...]
"""A row of a query, or the parameters of a statement."""

_HTTP_OK = 200


class SummaryBatch:
    """Collects the changes of one batch of crawls, and writes them one table after another."""

    def __init__(self, connection: sqlite3.Connection, id_finder: IdFinder, parts_writer: PartsWriter) -> None:
        """Start without changes; `settle` writes within the open transaction of `connection`."""
        self._connection = connection
        self._id_finder = id_finder
        self._parts_writer = parts_writer
        self._summary_of_attempt: dict[int, TextSummary] = {}
        self._pile_ids: Mapping[bytes, int] = {}
        self._unread: set[int] = set()  # ids of generations whose describing attempt must be read
        self._summary_of_generation: dict[int, TextSummary] = {}
        self._unread_rows: list[Row] = []
        self._new_rows: list[Row] = []
        self._changed_rows: list[Row] = []
        self._changed_uuids: list[Row] = []
        self._crawl_rows: list[Row] = []
        self._http_rows: list[Row] = []
        self._attached: list[Row] = []  # observations that belong to another generation than before
        self._reading_rows: list[Row] = []
        self._past_versions: set[PastVersion] = set()
        self._past_link_hashes: dict[int, set[bytes]] = {}
        self._describing_attempts: Mapping[int, int] = {}
        self._outdated_crawls: list[Row] = []
        self._detached: list[Row] = []  # observations that no longer belong to a generation
        self._touched: set[int] = set()
        self._touched_piles: set[int] = set()
        self._last_generation_id = self._read_last_id("entity_generation")
        self._last_crawl_id = self._read_last_id("crawl_summary")

    def _read_last_id(self, table: str) -> int:
        return int(self._connection.execute(f"SELECT coalesce(max({table}_id), 0) FROM {table}").fetchone()[0])

    def settle(self, entries: Sequence[SummaryEntry]) -> None:
        """Write the observations and wordings of crawls, and update the generations of the crawled addresses."""
        summaries = [entry.summary for entry in entries if entry.summary is not None]
        self._summary_of_attempt = {crawl.attempt: summary for crawl, summary in entries if summary is not None}
        url_ids = self._id_finder.get_url_ids(chain((entry.crawl.url for entry in entries), list_named_urls(summaries)))
        self._write_observations(entries, url_ids)
        self._fold_addresses({url_ids[entry.crawl.url]: entry.crawl.url for entry in entries}, summaries)
        self._parts_writer.write(self._summary_of_generation, url_ids)
        self._write_past_links(entries, url_ids)
        write_wordings(self._connection, summaries, url_ids, self._id_finder)

    def _write_past_links(self, entries: Sequence[SummaryEntry], url_ids: Mapping[str, int]) -> None:
        """Add the links of new summaries for addresses that have past links, and delete past links no longer needed."""
        summaries = ((url_ids[crawl.url], summary) for crawl, summary in entries if summary is not None)
        write_past_links(
            self._connection,
            ((url_id, summary) for url_id, summary in summaries if url_id in self._past_link_hashes),
            url_ids,
        )
        prune_past_links(self._connection, self._past_link_hashes)

    def _copy_replaceable_links(
        self, url_id: int, folded: FoldedVersions, row_of_crawl: Mapping[bytes, Row], old_rows: Mapping[int, Row | None]
    ) -> None:
        """Copy the present links of an address's generations to the past links if another reading may replace them."""
        hashes_of_versions = [
            {row_of_crawl[crawl][_SEEN_LINKED] for crawl in version.generation.content_crawls}
            for version in folded.versions
        ]
        replaceable_hashes = set().union(*(hashes for hashes in hashes_of_versions if len(hashes) > 1))
        missing_hashes = replaceable_hashes - self._past_link_hashes.get(url_id, set())
        if missing_hashes:
            rows = old_rows.items()
            copy_present_links(
                self._connection, [id_ for id_, row in rows if row is not None and row[_SEEN_LINKED] in missing_hashes]
            )
            self._past_link_hashes.setdefault(url_id, set())

    def _fold_addresses(self, urls: Mapping[int, str], summaries: Sequence[TextSummary]) -> None:
        """Compute the generations of the addresses `urls`, given by id, from their observations; write the changes."""
        url_ids = json.dumps(list(urls))
        observations = self._connection.execute(_SELECT_OBSERVATIONS, (url_ids,))
        observed_rows = {url_id: list(rows) for url_id, rows in groupby(observations, itemgetter(0))}
        known_rows: dict[int, dict[int, Row]] = {}
        for url_id, generation_id, *columns in self._connection.execute(_SELECT_GENERATIONS, (url_ids,)):
            known_rows.setdefault(url_id, {})[generation_id] = tuple(columns)
        self._pile_ids = self._read_pile_ids(summaries, observed_rows)
        generation_ids = [generation_id for rows_of_url in known_rows.values() for generation_id in rows_of_url]
        self._unread = self._find_unread(json.dumps(generation_ids))
        self._describing_attempts = dict(
            self._connection.execute(_SELECT_DESCRIBING_ATTEMPTS, (json.dumps(generation_ids),))
        )
        old_past_versions = read_past_versions(self._connection, generation_ids)
        self._past_link_hashes = read_past_link_hashes(self._connection, urls)
        removed_ids: set[int] = set()
        for url_id, rows in observed_rows.items():
            removed_ids |= self._fold_address(url_id, urls[url_id], rows, known_rows.get(url_id, {}))
        self._write_rows(removed_ids)
        update_past_versions(self._connection, old_past_versions, self._past_versions)

    def _write_observations(self, entries: Sequence[SummaryEntry], url_ids: Mapping[str, int]) -> None:
        """Insert or update a row for each crawl.

        A crawl that found content without a summary gets the identity, reason and hashes of the first reading of the
        same bytes at its address. Without a reading, the crawl is recorded as UNKNOWN.
        """
        rows: list[Row] = []
        for crawl, summary in entries:
            identity, reason = (summary.identity, summary.reason) if summary else (b"", "")
            wording_hash, links_hash = hash_wording(summary), hash_links(summary)
            url_id = url_ids[crawl.url]
            sight = crawl.sight
            if sight is Sight.CONTENT and summary is None:
                # First write the rows so far: they may contain the reading whose content this crawl repeats.
                self._upsert_observations(rows)
                rows.clear()
                first_reading = self._connection.execute(_SELECT_FIRST_READING, (url_id, crawl.payload)).fetchone()
                identity, reason, wording_hash, links_hash = first_reading or (b"", "", b"", b"")
                sight = Sight.CONTENT if first_reading else Sight.UNKNOWN
                if crawl.exit_code == ExitCode.FILE_OF_UNKNOWN_TYPE and len(identity) == PILE_DIGEST_BYTES:
                    crawl = crawl._replace(exit_code=int(ExitCode.FILE_INGESTED))  # noqa: PLW2901 a text was read
            rows.append((*_make_observation_row(url_id, crawl, sight, identity, reason), wording_hash, links_hash))
        self._upsert_observations(rows)

    def _upsert_observations(self, rows: list[Row]) -> None:
        """Insert or update observations. One whose UUID another attempt has gets another one."""
        execute = self._connection.execute
        if self._connection.executemany(_UPSERT_OBSERVATION, rows).rowcount >= len(rows):
            return
        for row in rows:
            if not execute(_UPSERT_OBSERVATION, row).rowcount:
                values = [*row]
                values[_CRAWL_UUID] = make_later_uuid(row[_CRAWL_UUID], row[_ATTEMPT])
                execute(_UPSERT_OBSERVATION, values)

    def _read_pile_ids(
        self, summaries: Sequence[TextSummary], observed_rows: Mapping[int, list[Row]]
    ) -> Mapping[bytes, int]:
        """Insert new piles; return a dict from the digest of each pile in summaries and observations to its id."""
        identities = {row[_SEEN_IDENTITY] for rows in observed_rows.values() for row in rows}
        known_digests = {identity for identity in identities if len(identity) == PILE_DIGEST_BYTES}
        return self._id_finder.get_pile_ids(summaries, known_digests - {summary.identity for summary in summaries})

    def _find_unread(self, generation_ids: str) -> set[int]:
        if self._connection.execute("SELECT 1 FROM windrow_owed LIMIT 1").fetchone() is None:
            return set()
        return {row[0] for row in self._connection.execute(_SELECT_UNREAD, (generation_ids,))}

    def _fold_address(self, url_id: int, url: str, rows: list[Row], known_rows: Mapping[int, Row]) -> set[int]:
        """Compute the generations of one address from its observations `rows`, and collect the changes.

        `known_rows` is a dict from the id of each present generation to its row. Return the ids of removed generations.
        """
        observations = [(_parse_observation(row), row[_SEEN_GENERATION]) for row in rows]
        row_of_crawl = {row[_SEEN_UUID]: row for row in rows}
        row_of_attempt = {row[_SEEN_ATTEMPT]: row for row in rows}
        describing_rows = {
            generation_id: row_of_attempt.get(self._describing_attempts.get(generation_id, 0))
            for generation_id in known_rows
        }
        folded = fold_versions(observations, known_rows)
        self._copy_replaceable_links(url_id, folded, row_of_crawl, describing_rows)
        unassigned_rows = dict(row_of_crawl)
        for version in folded.versions:
            generation = version.generation
            pile_id = self._pile_ids[generation.identity] if len(generation.identity) == PILE_DIGEST_BYTES else None
            uuid = _make_generation_uuid(url, generation)
            columns = (generation.first_seen, generation.last_seen, generation.confirmed_end, pile_id, uuid)
            generation_id = self._assign_id(version, url_id, columns, known_rows)
            has_same_text = version.id is not None and known_rows[version.id][_KNOWN_PILE] == pile_id
            self._describe(
                generation_id,
                row_of_crawl[generation.describing_crawl],
                describing_rows[generation_id] if has_same_text else None,
                is_new=version.id is None,
            )
            rows_of_crawls = map(row_of_crawl.__getitem__, generation.crawls)
            wordings_seen = [
                WordingSeen(row[_SEEN_ATTEMPT], row[_SEEN_AT], row_of_crawl[content_crawl][_SEEN_WORDING])
                for row, content_crawl in zip(rows_of_crawls, generation.content_crawls, strict=True)
            ]
            self._past_versions.update(find_past_versions(generation_id, wordings_seen))
            for crawl in generation.crawls:
                row = unassigned_rows.pop(crawl)
                if row[_SEEN_GENERATION] != generation_id:
                    self._attach_crawl(row, generation_id)
        for row in unassigned_rows.values():
            if row[_SEEN_GENERATION] is not None:
                self._detached.append(row[:_SEEN_SIGHT])
                self._outdated_crawls.append((row[_SEEN_UUID], row[_SEEN_GENERATION]))
        for generation_id in folded.removed_ids:
            self._mark_touched(generation_id, known_rows[generation_id][_KNOWN_PILE])
        return folded.removed_ids

    def _assign_id(self, version: FoldedVersion, url_id: int, columns: Row, known_rows: Mapping[int, Row]) -> int:
        """Return the id of a generation, and collect its row if it is new or changed.

        `columns` and the values of `known_rows` are the columns of `_SELECT_GENERATIONS` after the two ids.
        """
        first_seen, last_seen, end, pile_id, uuid = columns
        if version.id is None:
            self._last_generation_id += 1
            self._new_rows.append(
                (self._last_generation_id, uuid, url_id, None, first_seen, last_seen, end, 0, pile_id)
            )
            self._mark_touched(self._last_generation_id, pile_id)
            return self._last_generation_id
        known_row = known_rows[version.id]
        if known_row != columns:
            self._changed_rows.append((*columns, version.id))
            if known_row[_KNOWN_UUID] != uuid:
                self._changed_uuids.append((version.id,))
            if (known_row[_KNOWN_END], known_row[_KNOWN_PILE]) != (end, pile_id):
                self._mark_touched(version.id, pile_id, known_row[_KNOWN_PILE])
            elif known_row[_KNOWN_FIRST_SEEN] != first_seen:  # it decides who represents a group
                self._touched.add(version.id)
        return version.id

    def _mark_touched(self, generation_id: int, *pile_ids: int | None) -> None:
        self._touched.add(generation_id)
        self._touched_piles.update(pile_id for pile_id in pile_ids if pile_id is not None)

    def _describe(self, generation_id: int, row: Row, former_row: Row | None, *, is_new: bool) -> None:
        """Collect the reading of the observation `row`, which describes a generation from now on.

        If the observation has no reading in this batch, it is recorded that the bytes of its attempt must be read.
        `former_row` is the observation that has described the generation so far, or None if there is none or the
        generation has another text now. Nothing is done if both observations have the same bytes and the same identity,
        unless the bytes were read again (for example with a higher limit) or must still be read.
        """
        is_unread = generation_id in self._unread
        is_read_again = (
            former_row is not None
            and row[_SEEN_ATTEMPT] in self._summary_of_attempt
            and (former_row[_SEEN_UUID] == row[_SEEN_UUID] or former_row[_SEEN_LINKED] != row[_SEEN_LINKED])
        )
        if (
            former_row is not None
            and former_row[_SEEN_IDENTITY] == row[_SEEN_IDENTITY]
            and former_row[_SEEN_PAYLOAD] == row[_SEEN_PAYLOAD]
            and not (is_unread or is_read_again)
        ):
            return
        summary = self._summary_of_attempt.get(row[_SEEN_ATTEMPT])
        if summary is None:
            self._unread_rows.append((generation_id, row[_SEEN_ATTEMPT]))
            return
        if not is_new:
            self._parts_writer.clear([generation_id])
            self._touched.add(generation_id)
        if is_unread:
            self._connection.execute("DELETE FROM windrow_owed WHERE entity_generation_id = ?", (generation_id,))
        self._reading_rows.append((generation_id, row[_SEEN_ATTEMPT]))
        self._summary_of_generation[generation_id] = summary

    def _attach_crawl(self, row: Row, generation_id: int) -> None:
        url_id, seen_at, crawl, _, _, former_id, _, agent, kind, allowed, code, milliseconds, status, etag, *_ = row
        self._attached.append((generation_id, url_id, seen_at, crawl))
        if former_id is not None:
            self._outdated_crawls.append((crawl, former_id))
        self._last_crawl_id += 1
        self._crawl_rows.append(
            (self._last_crawl_id, generation_id, allowed, kind, crawl, agent, seen_at, code, milliseconds)
        )
        if status is not None:
            self._http_rows.append((self._last_crawl_id, status, etag))

    def _write_rows(self, removed_ids: set[int]) -> None:
        execute_many = self._connection.executemany
        execute_many(_DELETE_HTTP, self._outdated_crawls)
        execute_many(
            "DELETE FROM crawl_summary WHERE crawl_uuid = ? AND entity_generation_id = ?", self._outdated_crawls
        )
        execute_many(
            "UPDATE windrow_observation SET entity_generation_id = NULL WHERE url_id = ? AND at = ? AND crawl_uuid = ?",
            self._detached,
        )
        # A UUID may move from one generation to another, so first all changed UUIDs are replaced by random UUIDs.
        self._changed_uuids += [(generation_id,) for generation_id in removed_ids]
        execute_many(
            "UPDATE entity_generation SET entity_generation_uuid = randomblob(16) WHERE entity_generation_id = ?",
            self._changed_uuids,
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
        execute_many(_INSERT_CRAWL, self._crawl_rows)
        execute_many("INSERT INTO http_summary VALUES (?, ?, ?)", self._http_rows)
        self._remove_generations(removed_ids)
        execute_many("INSERT OR REPLACE INTO windrow_owed VALUES (?, ?)", self._unread_rows)
        execute_many(
            "INSERT OR IGNORE INTO windrow_touched VALUES (?)",
            [(generation_id,) for generation_id in sorted(self._touched)],
        )
        execute_many(
            "INSERT OR IGNORE INTO windrow_regroup VALUES (?)", [(pile_id,) for pile_id in sorted(self._touched_piles)]
        )

    def _remove_generations(self, removed_ids: set[int]) -> None:
        """Delete generations that no longer exist, and their parts; the rows of their crawls are already deleted."""
        if not removed_ids:
            return
        self._parts_writer.clear(removed_ids)
        rows = [(generation_id,) for generation_id in removed_ids]
        execute_many = self._connection.executemany
        execute_many("DELETE FROM windrow_owed WHERE entity_generation_id = ?", rows)
        execute_many("DELETE FROM windrow_reading WHERE entity_generation_id = ?", rows)
        execute_many("DELETE FROM windrow_soft_404 WHERE generation_id = ?", rows)
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


def _make_observation_row(url_id: int, crawl: CrawlEntry, sight: Sight, identity: bytes, reason: str) -> Row:
    return (
        url_id, crawl.started_at, crawl.uuid, sight.value, identity, crawl.payload, reason, crawl.attempt, None,
        crawl.agent, crawl.kind, crawl.allowed, crawl.exit_code, crawl.milliseconds, crawl.status, crawl.etag,
    )  # fmt: skip


def _parse_observation(row: Row) -> CrawlObservation:
    """Convert a row of `_SELECT_OBSERVATIONS`. `has_body` is true for a 200 with a body, to which a 304 can refer."""
    return CrawlObservation(
        row[_SEEN_AT],
        row[_SEEN_UUID],
        Sight(row[_SEEN_SIGHT]),
        row[_SEEN_IDENTITY],
        has_body=row[_SEEN_STATUS] == _HTTP_OK and bool(row[_SEEN_PAYLOAD]),
    )


def _make_generation_uuid(url: str, generation: Generation) -> bytes:
    """Return the UUID of a generation: the time of its first crawl, and a hash of address, crawl and identity."""
    first_crawl = generation.crawls[0]
    hash_bytes = blake2b(b"\0".join((url.encode(), first_crawl, generation.identity)), digest_size=8).digest()
    return first_crawl[:8] + bytes([hash_bytes[0] & 0x3F | 0x80]) + hash_bytes[1:]
