"""A store of JSON records with their history, for collections whose standard has no tables of its own.

Every observation of a record is stored: key, attempt, value, and the time that the source states, or else that of the
fetch. Versions are derived from the observations of a key in the order of time, so observations may be written in any
order, and more than once.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.contract import AttemptObservations, Observation, PendingAsk, Skip, TypedColumn
from windrow.digest import digest, hash64
from windrow.formats.text import dump_json, replace_lone_surrogates
from windrow.query.parse import Query
from windrow.reasons import OWN_FAULTS, Reason
from windrow.stores.change_counts import DELETE_UNUSED_VALUES, REMOVE_COUNTS, ChangeCounts
from windrow.stores.record_entries import Entry, FoundEntries, list_entries
from windrow.stores.record_tables import (
    COUNT_BY_SOURCE,
    SCHEMA,
    ensure_record,
    ensure_value,
    find_same_value,
    format_time,
    key_of_alias,
    key_of_named,
    remove_record,
    replace_own_key,
    set_names,
)
from windrow.stores.record_versions import (
    VALUE_BEFORE,
    AttemptStatement,
    RecordVersion,
    VersionChange,
    changed_versions,
    copy_completed,
    first_of_newest,
    latest_values,
    note_completed,
    read_observed,
    read_statements,
    read_versions,
    written_versions,
)
from windrow.stores.settled import ALL_NUMBERS, copy_sessions, note_earlier_sessions, note_sessions
from windrow.stores.skipped_counts import INSERT_SKIPPED, MARK_REPLACED
from windrow.stores.sqlite import close_on_failure

if TYPE_CHECKING:
    from windrow.stores.record_index import RecordIndex

CHUNK_SIZE = 400  # attempts that are settled at a time
_LATEST_VALUE = """
SELECT o.value FROM observation o WHERE o.record = ? ORDER BY o.at DESC, o.attempt DESC LIMIT 1
"""
_OLD_ROWS = "SELECT record, at, url, value, key FROM observation JOIN record ON id = record WHERE attempt = ?"
_REPEATED = "another entry of the document is the same record, with other content"


class RecordStore(ChangeCounts):
    """`windrow.engine.run.VersionStore` of JSON records in an SQLite file."""

    def __init__(
        self, path: Path, columns: Sequence[TypedColumn] = (), *, schema: str = "", read_only: bool = False
    ) -> None:
        """Open the file, and create missing tables if it may be written; searches filter records by `columns`.

        `schema` creates the further tables of a subclass.
        """
        super().__init__(path, f"{SCHEMA}{schema}", read_only=read_only)
        self._columns = columns
        self._writing_session, self._last_earlier_attempt = 0, 0  # the writing session, and the last attempt before it
        if not self._read_only:
            with close_on_failure(self.close), self._guarded():
                self._add_columns()
                if not self._meta("identity"):
                    row = ("identity", secrets.randbits(62) + 1)
                    self._connection.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", row)

    def _meta(self, name: str) -> int:
        with self._guarded():
            row = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return int(row[0]) if row else 0

    def identity(self) -> int:
        """Return the number of this file: another file has another one, also if it replaces this one."""
        return self._meta("identity")

    def owner(self) -> int:
        """Return the identity of the ledger whose attempts the store has, or 0 if it is not recorded."""
        return self._meta("ledger")

    def set_owner(self, ledger: int) -> None:
        """Record the identity of the ledger whose attempts the store has."""
        with self._writing():
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('ledger', ?)", (ledger,))

    # The methods for the engine.

    def reader_version(self) -> str:
        """Return the version of the step that read the first records, or an empty text if it is not recorded."""
        with self._guarded():
            row = self._connection.execute("SELECT value FROM meta WHERE name = 'read_by'").fetchone()
        return str(row[0]).removeprefix("v") if row else ""

    def set_reader_version(self, version: str) -> None:
        """Record the version of the step that reads the first records; it is called before any record is written."""
        with self._writing():
            # The column has numeric affinity: without the "v", SQLite would store "2.10" as a number.
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('read_by', ?)", (f"v{version}",))

    def checkpoint(self) -> int:
        """Return the number of the last settled attempt, or 0 if none has been settled yet."""
        return self._meta("checkpoint")

    def note_earlier_sessions(self, read_last_attempts: Callable[[], Mapping[int, int]]) -> None:
        """If no session is recorded yet, record those that `read_last_attempts` returns, each with its last attempt."""
        with self._writing():
            note_earlier_sessions(self._connection, read_last_attempts)

    def settle(self, entries: Sequence[Any], checkpoint: int, session: int = 0) -> list[tuple[int, Skip]]:
        """Write what attempts observed, skipped and wait for, and the checkpoint if it is higher, in one transaction.

        `entries` are `AttemptObservations`; they replace the earlier observations of their attempts, unless an attempt
        could not be read now or waits for services. The changes belong to `session` (0: the next session that writes).
        If two observations of an attempt are of one record at one time, only the first is written; if the other one has
        another value, it is skipped, and returned with its attempt.
        """
        repeated: list[tuple[int, Skip]] = []
        with self._writing():
            touched_records: set[int] = set()
            if session != self._writing_session:
                self._writing_session, self._last_earlier_attempt = session, self.checkpoint() if session else 0
                self._new_attempts, self._are_kept = None, False
            for entry in entries:
                is_earlier = entry.attempt <= self._last_earlier_attempt
                earlier_values = read_observed(self._connection, entry.attempt) if is_earlier else {}
                touched_records |= self._settle_entry(entry, repeated)
                if is_earlier and note_completed(self._connection, entry.attempt, session, earlier_values):
                    self._connection.execute(REMOVE_COUNTS)
            new_attempts = [entry.attempt for entry in entries if entry.attempt > self._last_earlier_attempt]
            if new_attempts and self._are_kept:  # the counts of this session, which goes on
                self._connection.execute(REMOVE_COUNTS)
                self._are_kept = False
            if known := (*new_attempts, *(self._new_attempts or ())):
                self._new_attempts = min(known), max(known)
            note_sessions(self._connection, {session: checkpoint})
            self._mark_unindexed(touched_records)
            query = (
                "INSERT INTO meta VALUES ('checkpoint', ?) ON CONFLICT DO UPDATE SET value = max(value, excluded.value)"
            )
            self._connection.execute(query, (checkpoint,))
        return repeated

    def _settle_entry(self, entry: AttemptObservations, repeated: list[tuple[int, Skip]]) -> set[int]:
        """Write the results of an attempt; return the ids of the records whose observations may have changed.

        Observations that repeat another one with another value are added to `repeated`.
        """
        run = self._connection.execute
        written: dict[tuple[int, str], str] = {}  # the digest of the value by record and time; "" for any value
        pending_asks = [tuple(ask) for ask in entry.results if isinstance(ask, PendingAsk)]
        if pending_asks:
            run("DELETE FROM waiting WHERE attempt = ?", (entry.attempt,))
            run("INSERT INTO waiting VALUES (?, ?)", (entry.attempt, json.dumps(pending_asks)))
            if run("SELECT 1 FROM observation WHERE attempt = ?", (entry.attempt,)).fetchone():
                return set()  # they remain valid until the services have answered
            observations = [
                observation._replace(key=replace_lone_surrogates(observation.key))
                for observation in entry.results
                if isinstance(observation, Observation) and observation.value is not None
            ]
            return set[int]().union(
                *(self._write_observation(entry, observation, written) for observation in observations)
            )
        old_rows = run(_OLD_ROWS, (entry.attempt,)).fetchall()
        touched = {row[0] for row in old_rows}
        skips = [result for result in entry.results if isinstance(result, Skip)]
        unread_keys = {skip.key for skip in skips if skip.reason in OWN_FAULTS}
        for table in ("skipped", "waiting") if unread_keys else ("observation", "skipped", "waiting"):
            run(f"DELETE FROM {table} WHERE attempt = ?", (entry.attempt,))
        url = replace_lone_surrogates(entry.url)
        if not unread_keys:
            run(MARK_REPLACED, (url, entry.source, entry.attempt))
        # What was read of such a record before may be more than what a stopped reading gives.
        kept_rows = [row for row in old_rows if not unread_keys.isdisjoint(("", row[4]))]
        written |= dict.fromkeys([(row[0], row[1]) for row in kept_rows], "")
        results = list(entry.results)
        for result in results:
            if isinstance(result, Observation):
                key = key_of_named(self._connection, result) if result.value is None and result.names else result.key
                if key:
                    observation = result._replace(key=replace_lone_surrogates(key))
                    records = self._write_observation(entry, observation, written, old_rows)
                    touched |= records
                    if not records:
                        skip = Skip(Reason.LISTED_TWICE, observation.key, _REPEATED)
                        repeated.append((entry.attempt, skip))
                        results.append(skip)
            elif isinstance(result, Skip):
                reason, message = str(result.reason), replace_lone_surrogates(result.full_message[:2000])
                key = replace_lone_surrogates(result.key)
                run(INSERT_SKIPPED, (entry.attempt, key, reason, message, url, entry.source, result.number, 0))
        return touched

    def _write_observation(
        self, entry: AttemptObservations, observation: Observation, written: dict[tuple[int, str], str],
        old_rows: Iterable[tuple[Any, ...]] = (),
    ) -> set[int]:  # fmt: skip
        """Write an observation, and mark other records with its names as gone; return the ids of all these records.

        If `written` has another value of the record at this time, nothing is written, and the result is empty.
        """
        run = self._connection.execute
        record, key = ensure_record(self._connection, observation)
        value_id = None
        # A source's time in the future would hide each later observation until then.
        time_text = min(format_time(observation.at or entry.at), format_time(entry.at))
        url = replace_lone_surrogates(observation.url or entry.url)
        if observation.value is not None:
            value = replace_own_key(observation.value, observation.key, key)
            json_text = replace_lone_surrogates(dump_json(value, sort_keys=True, separators=(",", ":")))
            text = replace_lone_surrogates(observation.text)
            value_digest = digest(f"{json_text}\n{text}".encode())
            if (earlier := written.setdefault((record, time_text), value_digest)) != value_digest:
                return set() if earlier else {record}
            aside = replace_lone_surrogates(dump_json(observation.aside, sort_keys=True)) if observation.aside else ""
            value_id = find_same_value(
                self._connection, record, json_text, text, observation.own_lists
            ) or ensure_value(self._connection, record, (value_digest, json_text, text, aside))
        gives_names = value_id is not None and observation.names
        gone_records = set_names(self._connection, observation.names, record, entry) if gives_names else set()
        if gives_names:  # records that were gone before the attempt was settled again
            gone_records |= {row[0] for row in old_rows if row[1:4] == (time_text, url, None)} - {record}
        rows = [(gone_record, time_text, entry.attempt, entry.source, url) for gone_record in gone_records]
        self._connection.executemany("INSERT INTO observation VALUES (?,?,?,NULL,?,?) ON CONFLICT DO NOTHING", rows)
        row = (record, time_text, entry.attempt, value_id, entry.source, url)
        run("INSERT INTO observation VALUES (?,?,?,?,?,?) ON CONFLICT DO UPDATE SET value = excluded.value", row)
        return {record} | gone_records

    def _mark_unindexed(self, records: Iterable[int]) -> None:
        """Mark records as unindexed, and remove those that have no observations any more."""
        for record in records:
            if self._connection.execute(_LATEST_VALUE, (record,)).fetchone() is None:
                remove_record(self._connection, record)
            self._connection.execute("INSERT INTO unindexed (record) VALUES (?)", (record,))

    def waiting(self, after: int) -> Mapping[int, Sequence[PendingAsk]]:
        """Return the first 256 attempts after the attempt `after` that wait for services, each with its asks."""
        return self._read_asks("attempt > ? ORDER BY attempt LIMIT 256", [after])

    def count_waiting(self) -> tuple[int, int]:
        """Return how many attempts wait for services, and the first of these attempts, or 0 if none waits."""
        with self._guarded():
            count, first = self._connection.execute(
                "SELECT count(*), coalesce(min(attempt), 0) FROM waiting"
            ).fetchone()
        return int(count), int(first)

    def pending_asks(self, attempts: Sequence[int]) -> dict[int, list[PendingAsk]]:
        """Return the asks of `attempts` (at most a few hundred), by attempt; attempts that do not wait are left out."""
        return self._read_asks(f"attempt IN ({','.join('?' * len(attempts))}) ORDER BY attempt", attempts)

    def _read_asks(self, condition: str, attempts: Sequence[int]) -> dict[int, list[PendingAsk]]:
        with self._guarded():
            rows = self._connection.execute(f"SELECT attempt, asks FROM waiting WHERE {condition}", attempts).fetchall()
        return {attempt: [PendingAsk(*ask) for ask in json.loads(asks)] for attempt, asks in rows}

    def update_index(self, pulse: Callable[[], bool]) -> None:
        """Update the search index, as `RecordIndex.update` does; the next search continues an update that stopped."""
        with self._guarded():
            self._index().update(pulse)

    def rebuild_index(self, pulse: Callable[[], object]) -> None:
        """Remove the search index and build it again, so that no removed record remains in its files."""
        with self._guarded():
            self._index().rebuild(pulse)

    def _index(self) -> RecordIndex:
        from windrow.stores.record_index import RecordIndex  # noqa: PLC0415 imports Tantivy, which most commands do not need

        return RecordIndex(self.path, self._connection, self._columns, read_only=self._read_only)

    # The methods for commands.

    def count(self) -> tuple[int, int]:
        """Return the number of current records and the number of versions."""
        with self._guarded():
            record_count = sum(self.count_by_source().values())
            versions = self._connection.execute("SELECT count(*) FROM history WHERE change <> 'same'").fetchone()[0]
        return int(record_count), int(versions)

    def history(self, key: str) -> list[RecordVersion]:
        """Return the observations of a record, oldest first."""
        # The id is looked up first: with a subquery SQLite would process the observations of all records.
        with self._guarded():
            row = self._connection.execute("SELECT id FROM record WHERE key = ?", (key,)).fetchone()
        return list(self._versions("WHERE record = ? ORDER BY at, attempt", row[0])) if row else []

    def versions(self) -> Iterator[RecordVersion]:
        """Yield every version of every record, sorted by key and time; observations without a change are left out."""
        return self._versions("WHERE change <> 'same' ORDER BY key, at, attempt")

    def _versions(self, clauses: str, *parameters: Any) -> Iterator[RecordVersion]:
        with self._guarded():
            yield from read_versions(self._connection, clauses, *parameters)

    def changed_versions(self, attempts: tuple[int, int]) -> Iterator[VersionChange]:
        """Yield the changes that a range of attempts (first, last) observed, each with the previous version."""
        with self._guarded():
            yield from changed_versions(self._connection, attempts)

    def written_versions(
        self, sessions: tuple[int, int], shown_by: tuple[int, int] = ALL_NUMBERS
    ) -> Iterator[VersionChange]:
        """Yield the changes that sessions wrote and the attempts `shown_by` observed, each with the previous version.

        Both are ranges of numbers (first, last).
        """
        with self._guarded():
            yield from written_versions(self._connection, sessions, shown_by)

    def first_of_newest(self, sessions: tuple[int, int], shown_by: tuple[int, int], most: int) -> int:
        """Return the first of the attempts with the last `most` changes of `written_versions`, or 0 with fewer."""
        with self._guarded():
            return first_of_newest(self._connection, sessions, shown_by, most)

    def count_by_source(self) -> dict[str, int]:
        """Count the current records by source; a record belongs to the source that observed it last."""
        with self._guarded():
            return dict(self._connection.execute(COUNT_BY_SOURCE).fetchall())

    def statements(self, attempts: Sequence[int]) -> list[AttemptStatement]:
        """Return the statements of a few hundred attempts, in the order of attempts; each attempt's skips are last."""
        with self._guarded():
            return read_statements(self._connection, attempts)

    def carry_over(self, old_store: RecordStore, sources: Collection[str], damaged: Sequence[int] = ()) -> None:
        """Copy from `old_store` the sessions, the takedowns, and the observations that were not read again.

        Those are of all sources except `sources`, and of the attempts `damaged`, whose bytes cannot be read.
        """
        with self._writing():
            copy_sessions(self._connection, old_store._connection)
            taken_down = old_store._connection.execute("SELECT key, attempt FROM taken_down")
            self._connection.executemany("INSERT OR IGNORE INTO taken_down VALUES (?, ?)", taken_down)
        entries = old_store.entries_not_reread(sources, damaged)
        while page := [*islice(entries, CHUNK_SIZE)]:
            self.settle(page, 0)
        with self._writing():
            copy_completed(self._connection, old_store._connection)
            self._connection.execute(REMOVE_COUNTS)
        self.finish(0, lambda: True)

    def latest(self, keys: Sequence[str], before: int = 0) -> Mapping[str, Mapping[str, Any] | None]:
        """Return the latest values of records by key, None for a gone record. Keys not observed are left out.

        If `before` is not 0, only attempts before it are considered.
        """
        with self._guarded():
            return latest_values(self._connection, keys, before)

    def entries_not_reread(self, sources: Collection[str], damaged: Sequence[int]) -> Iterator[AttemptObservations]:
        """Yield the observations of all sources except `sources`, and of `damaged`, in the order of attempts."""
        query = """
            SELECT o.attempt, r.key, o.at, o.source, o.url, v.json, coalesce(v.text, ''), coalesce(v.aside, ''),
                CASE WHEN v.json IS NULL THEN '[]' ELSE
                    (SELECT json_group_array(n.name) FROM other_name n WHERE n.record = o.record) END,
                (SELECT json_group_array(a.alias) FROM alias a WHERE a.record = o.record)
            FROM observation o JOIN record r ON r.id = o.record LEFT JOIN value v ON v.id = o.value
            WHERE o.source NOT IN (SELECT value FROM json_each(?))
                OR o.attempt IN (SELECT value FROM json_each(?)) ORDER BY o.attempt
        """
        with self._guarded():
            rows = self._connection.execute(query, (json.dumps([*sources]), json.dumps([*damaged])))
            for attempt, attempt_rows in groupby(rows, key=itemgetter(0)):
                group = [*attempt_rows]
                source, url, last_time = group[0][3], group[0][4], max(row[2] for row in group)
                observations = [
                    Observation(
                        key, json.loads(json_text) if json_text else None, text, datetime.fromisoformat(time), item_url,
                        json.loads(aside) if aside else {}, tuple(json.loads(names)), tuple(json.loads(aliases)),
                    )
                    for _, key, time, _, item_url, json_text, text, aside, names, aliases in group
                ]  # fmt: skip
                yield AttemptObservations(attempt, datetime.fromisoformat(last_time), url, source, tuple(observations))

    def search(self, query: Query, kind: str, *, offset: int, limit: int, facets: bool = False) -> FoundEntries:
        """Return what `RecordIndex.find` returns: at most `limit` matches after the first `offset`."""
        with self._guarded():
            return self._index().find(query, kind, offset=offset, limit=limit, facets=facets)

    def entries(self, before: int, limit: int) -> list[tuple[int, Entry]]:
        """Return at most `limit` current records with ids below `before` (0: all), the newest first, with their ids."""
        with self._guarded():
            return list_entries(self._connection, before, limit)

    def has_record(self, key: str) -> bool:
        """Return whether the store has a record with this key, current or gone."""
        with self._guarded():
            return self._connection.execute("SELECT 1 FROM record WHERE key = ?", (key,)).fetchone() is not None

    def key_of_alias(self, alias: str) -> str:
        """Return the key of the record with an alias, or an empty text if none has it."""
        with self._guarded():
            return key_of_alias(self._connection, alias)

    def written_keys(self, after: int) -> tuple[list[str], int]:
        """Return the keys of the records that sessions after `after` changed, and the last session's number, or 0."""
        with self._guarded():
            (last,) = self._connection.execute("SELECT coalesce(max(session), 0) FROM windrow_settled").fetchone()
        return sorted({version.key for _, version in self.written_versions((after + 1, last))}), last

    def changed_keys(self, attempts: tuple[int, int]) -> list[str]:
        """Return the keys of records that a range of attempts (first, last) changed, whichever session wrote them."""
        query = f"""
            SELECT key FROM record WHERE id IN (
                SELECT o.record FROM observation o WHERE o.attempt BETWEEN ? AND ? AND o.value IS NOT {VALUE_BEFORE}
            ) ORDER BY key
        """
        with self._guarded():
            return [key for (key,) in self._connection.execute(query, attempts)]

    def count_records(self, attempts: Sequence[int], without: tuple[str, str] = ("", "")) -> dict[int, tuple[int, int]]:
        """Return, for each attempt with observations, how many records it observed, and how many of these were new.

        `without` is a field and a value: a record whose field has this value is not counted.
        """
        field, excluded = without
        query = """
            SELECT o.attempt, count(*), sum(NOT EXISTS (
                SELECT 1 FROM observation p WHERE p.record = o.record AND (p.at, p.attempt) < (o.at, o.attempt)))
            FROM observation o LEFT JOIN value v ON v.id = o.value
            WHERE o.attempt IN (SELECT value FROM json_each(?)) AND (? = '' OR json_extract(v.json, ?) IS NOT ?)
            GROUP BY o.attempt
        """
        rows = self._rows_of_attempts(query, attempts, field, f"$.{field}", excluded)
        return {attempt: (observed_count, first_count) for attempt, observed_count, first_count in rows}

    def attempts_of(self, key: str) -> list[int]:
        """Return the attempts that observed a record."""
        query = "SELECT attempt FROM observation WHERE record = (SELECT id FROM record WHERE key = ?) ORDER BY attempt"
        with self._guarded():
            return [attempt for (attempt,) in self._connection.execute(query, (key,))]

    def keys_of(self, attempt: int, limit: int) -> list[str]:
        """Return the first `limit` keys, sorted, of the records that an attempt observed."""
        query = """
            SELECT DISTINCT r.key FROM observation o JOIN record r ON r.id = o.record
            WHERE o.attempt = ? ORDER BY r.key LIMIT ?
        """
        with self._guarded():
            return [key for (key,) in self._connection.execute(query, (attempt, limit))]

    def faults(self) -> Iterator[str]:
        """Yield a message for each fault that SQLite finds in the file, and for each value with a wrong digest."""
        with self._guarded():
            yield from self._integrity_faults()
            for value_digest, *texts in self._connection.execute("SELECT digest, json, text, aside FROM value"):
                contents = ("\n".join(part).encode("utf-8", "replace") for part in (texts[:2], texts))
                if value_digest not in map(digest, contents):
                    yield f"a value does not match its digest {value_digest[:19]}"

    def index_faults(self) -> Iterator[str]:
        """Yield a message if the search index cannot be read, or differs from the records that were indexed."""
        with self._guarded():
            yield from self._index().faults()

    def forget(self, attempts: Iterable[int]) -> int:
        """Erase what was read from attempts, and record their takedown; return the number of removed observations."""
        with self._guarded():
            self._connection.execute("PRAGMA secure_delete = ON").fetchall()
        numbers, of_attempts = (json.dumps([*attempts]),), "WHERE attempt IN (SELECT value FROM json_each(?))"
        with self._writing():
            observed_rows = self._connection.execute(
                f"SELECT r.id, r.key, attempt FROM observation JOIN record r ON r.id = record {of_attempts}", numbers
            ).fetchall()
            taken_down = ((hash64(key), attempt) for _, key, attempt in observed_rows)
            self._connection.executemany("INSERT OR IGNORE INTO taken_down VALUES (?, ?)", taken_down)
            for table in ("observation", "skipped", "waiting", "completed"):
                self._connection.execute(f"DELETE FROM {table} {of_attempts}", numbers)
            self._mark_unindexed({record for record, _, _ in observed_rows})
            self._connection.execute(DELETE_UNUSED_VALUES)
            self._connection.execute(REMOVE_COUNTS)
        return len(observed_rows)

    def taken_down(self, key: str) -> list[int]:
        """Return the attempts that observed the record `key` and were taken down."""
        query, number = "SELECT attempt FROM taken_down WHERE key = ? ORDER BY attempt", (hash64(key),)
        with self._guarded():
            return [attempt for (attempt,) in self._connection.execute(query, number)]
