"""Versions of records, derived from their observations in the order of time, and the sessions that wrote them."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.reasons import Reason
from windrow.stores.settled import ALL_NUMBERS, attempts_of_sessions

_EARLIER = "FROM observation p WHERE p.record = o.record AND (p.at, p.attempt) < (o.at, o.attempt)"
VALUE_BEFORE = f"(SELECT p.value {_EARLIER} ORDER BY p.at DESC, p.attempt DESC LIMIT 1)"
"""An SQL expression: the number of the value of the observation before `o`, NULL if it says gone or if none is before.

A look-up by the primary key for each is much faster than reading the versions of all records, most of which are the
same at each visit.
"""
_IS_CHANGE = f"(o.value IS NOT {VALUE_BEFORE} OR NOT EXISTS (SELECT 1 {_EARLIER}))"
_TOUCHED_RECORDS = f"""
SELECT o.record FROM observation o WHERE o.attempt BETWEEN ?1 AND ?2 AND {_IS_CHANGE}
UNION SELECT record FROM completed WHERE session BETWEEN ?3 AND ?4 AND attempt BETWEEN ?5 AND ?6 ORDER BY 1
"""
_RECORDS_PER_QUERY = 400
_COMPLETED_BY_SESSIONS = """
SELECT c.attempt, r.key, c.before FROM completed c JOIN record r ON r.id = c.record
WHERE c.session BETWEEN ? AND ? AND c.attempt BETWEEN ? AND ? ORDER BY c.session DESC
"""
# Records of attempts that a later session completed: the session that settled these attempts did not write them.
_FIRST_OBSERVED_LATER = """
SELECT c.attempt, r.key FROM completed c JOIN record r ON r.id = c.record
WHERE c.session > ? AND c.before IS NULL AND c.attempt BETWEEN ? AND ?
"""
_FIRST_OF_NEWEST = f"""
SELECT attempt FROM (
    SELECT * FROM (SELECT o.attempt FROM observation o WHERE o.attempt BETWEEN ?1 AND ?2 AND {_IS_CHANGE}
        ORDER BY o.attempt DESC LIMIT ?7)
    UNION ALL SELECT attempt FROM completed WHERE session BETWEEN ?3 AND ?4 AND attempt BETWEEN ?5 AND ?6
) ORDER BY attempt DESC LIMIT 1 OFFSET ?7 - 1
"""
HAS_COMPLETED = """
SELECT 1 FROM completed WHERE session BETWEEN ?1 AND ?2 OR (session > ?2 AND attempt BETWEEN ?3 AND ?4) LIMIT 1
"""
"""The query whether sessions from ?1 to ?2 completed attempts, or a later one their attempts, which are ?3 to ?4."""
# As the view `history` derives changes, but without the values, which are long, and without a window.
_COUNT_CHANGES = f"""
SELECT o.source, CASE WHEN o.value IS NULL OR {{is_removed}} THEN 'gone' WHEN {VALUE_BEFORE} IS NULL THEN 'new'
    ELSE 'changed' END AS kind, count(*)
FROM observation o WHERE o.attempt BETWEEN ?1 AND ?2 AND {_IS_CHANGE} GROUP BY 1, 2
"""
_IS_REMOVED = "coalesce((SELECT json_extract(v.json, ?3) = ?4 FROM value v WHERE v.id = o.value), 0)"
_OBSERVED_BY_ATTEMPT = """
SELECT o.record, o.at, o.value, v.json FROM observation o LEFT JOIN value v ON v.id = o.value WHERE o.attempt = ?
"""
# Copies rows of `completed` for attempts that still observe the record.
_COPY_COMPLETED = """
INSERT OR IGNORE INTO completed
SELECT o.attempt, o.record, ?3, ?4 FROM observation o JOIN record r ON r.id = o.record
WHERE o.attempt = ?1 AND r.key = ?2
"""
_LATEST_VALUES = """
SELECT key, json FROM (
    SELECT r.key, v.json, row_number() OVER (PARTITION BY r.id ORDER BY o.at DESC, o.attempt DESC) AS number
    FROM record r JOIN observation o ON o.record = r.id LEFT JOIN value v ON v.id = o.value
    WHERE r.key IN (SELECT value FROM json_each(?1)) AND (?2 = 0 OR o.attempt < ?2)
) WHERE number = 1
"""


class Removal(NamedTuple):
    """The value of a field by which a record states that its subject is gone, and a short text that says so."""

    field: str
    value: str
    text: str

    def states(self, record: Any) -> bool:
        """Return whether a record states that its subject is gone."""
        return isinstance(record, Mapping) and record.get(self.field) == self.value


class Skipped(NamedTuple):
    """A document, or an entry in one, that a step skipped. If the reason is CAPPED, only a part of it was left out.

    `key` is empty for a whole document.
    """

    attempt: int
    key: str
    url: str
    reason: Reason
    message: str


class RecordVersion(NamedTuple):
    """An observation of a record. `change` is new, changed, same or gone; `json` is the value, or empty if gone.

    `digest` is that of the value with its search text, not of bytes, or empty if the record is gone. `aside` is JSON
    that was stored beside this value when it was first observed, or empty.
    """

    key: str
    at: datetime
    attempt: int
    source: str
    url: str
    change: str
    digest: str
    json: str
    aside: str = ""

    @property
    def value(self) -> Any:
        """The record, or None if it is gone."""
        return json.loads(self.json) if self.json else None


VersionChange = tuple[RecordVersion | None, RecordVersion]
"""The previous version (None for a record's first version), and the new version."""


def read_versions(connection: sqlite3.Connection, clauses: str, *parameters: Any) -> Iterator[RecordVersion]:
    """Yield rows of the view `history`; `clauses` follow its name in the query, `parameters` are for placeholders."""
    query = f"""
        SELECT key, at, attempt, source, url, change, coalesce(digest, ''), coalesce(json, ''), coalesce(aside, '')
        FROM history {clauses}
    """
    for key, at, *others in connection.execute(query, parameters):
        yield RecordVersion(key, datetime.fromisoformat(at), *others)


def _touched_versions(
    connection: sqlite3.Connection, attempts: tuple[int, int], completed: tuple[int, int, int, int] = (1, 0, 1, 0)
) -> Iterator[RecordVersion]:
    """Yield all versions of the records that a range of attempts changed, or that were completed.

    `completed` are the first and last session that completed attempts, and the first and last of these attempts.
    """
    records = [record for (record,) in connection.execute(_TOUCHED_RECORDS, (*attempts, *completed))]
    for start in range(0, len(records), _RECORDS_PER_QUERY):
        # With a subquery or parameters in place of the numbers, SQLite would compute the versions of all records.
        numbers = ",".join(str(int(record)) for record in records[start : start + _RECORDS_PER_QUERY])
        yield from read_versions(connection, f"WHERE record IN ({numbers}) ORDER BY record, at, attempt")


def changed_versions(connection: sqlite3.Connection, attempts: tuple[int, int]) -> Iterator[VersionChange]:
    """Yield the changes that a range of attempts (first, last) observed, each with the previous version."""
    first, last = attempts
    previous: RecordVersion | None = None
    for version in _touched_versions(connection, attempts):
        if previous is not None and previous.key != version.key:
            previous = None
        if version.change != "same":
            if first <= version.attempt <= last:
                yield previous, version
            previous = version


def written_versions(
    connection: sqlite3.Connection, sessions: tuple[int, int], shown_by: tuple[int, int]
) -> Iterator[VersionChange]:
    """Yield the changes that sessions (first, last) wrote and attempts (first, last) observed, with previous versions.

    If one of these sessions completed an attempt that an earlier session had settled incompletely, the
    previous version is the one that the earlier session wrote.
    """
    first, last = attempts_of_sessions(connection, sessions)
    shown = max(first, shown_by[0]), min(last, shown_by[1])
    completed_rows = connection.execute(_COMPLETED_BY_SESSIONS, (*sessions, *shown_by))
    earlier_json = {(attempt, key): json_text for attempt, key, json_text in completed_rows}
    later_rows = connection.execute(_FIRST_OBSERVED_LATER, (sessions[1], *shown))
    first_observed_later = {(attempt, key) for attempt, key in later_rows}
    previous: RecordVersion | None = None
    for version in _touched_versions(connection, shown, (*sessions, *shown_by)):
        if previous is not None and previous.key != version.key:
            previous = None
        version_key = (version.attempt, version.key)
        if first <= version.attempt <= last:
            is_shown = shown[0] <= version.attempt <= shown[1]
            if is_shown and version.change != "same" and version_key not in first_observed_later:
                yield previous, version
        elif earlier_json.get(version_key):
            change = "changed" if version.json else "gone"
            yield version._replace(json=earlier_json[version_key]), version._replace(change=change)
        elif version_key in earlier_json and version.change != "same":
            yield previous, version
        previous = version if version.change != "same" else previous


def first_of_newest(
    connection: sqlite3.Connection, sessions: tuple[int, int], shown_by: tuple[int, int], most: int
) -> int:
    """Return the first of the attempts with the last `most` changes of `written_versions`, or 0 if there are fewer."""
    first, last = attempts_of_sessions(connection, sessions)
    shown = max(first, shown_by[0]), min(last, shown_by[1])
    row = connection.execute(_FIRST_OF_NEWEST, (*shown, *sessions, *shown_by, most)).fetchone()
    return int(row[0]) if row else 0


def count_changed(
    connection: sqlite3.Connection, attempts: tuple[int, int], removal: Removal | None
) -> dict[str, Counter[str]]:
    """Count by source and kind the changes of `changed_versions`; those that state a `removal` count as gone."""
    query = _COUNT_CHANGES.format(is_removed=_IS_REMOVED if removal else "0")
    removed = (f'$."{removal.field}"', removal.value) if removal else ()
    counts: dict[str, Counter[str]] = {}
    for source, kind, number in connection.execute(query, (*attempts, *removed)):
        counts.setdefault(source, Counter())[kind] = number
    return counts


def count_written(
    connection: sqlite3.Connection, sessions: tuple[int, int], removal: Removal | None
) -> dict[str, Counter[str]]:
    """Count by source and kind the changes of `written_versions`; those that state a `removal` count as gone."""
    counts: dict[str, Counter[str]] = {}
    for _, version in written_versions(connection, sessions, ALL_NUMBERS):
        is_removed = removal is not None and removal.states(version.value)
        counts.setdefault(version.source, Counter())["gone" if is_removed else version.change] += 1
    return counts


ObservedValues = dict[tuple[int, str], tuple[int | None, str]]
"""What an attempt observed: (record id, time) -> (value id, JSON), which is (None, "") if the record was gone."""


def read_observed(connection: sqlite3.Connection, attempt: int) -> ObservedValues:
    """Return the values that an attempt observed."""
    rows = connection.execute(_OBSERVED_BY_ATTEMPT, (attempt,)).fetchall()
    return {(record, at): (value_id, json_text or "") for record, at, value_id, json_text in rows}


def note_completed(connection: sqlite3.Connection, attempt: int, session: int, before: ObservedValues) -> bool:
    """Add to the table `completed` each record with another value than in `before`, and its value in `before`.

    Return whether the attempt observes anything else now than in `before`.
    """
    rows, now_observed = [], read_observed(connection, attempt)
    for (record, at), (value_id, _) in now_observed.items():
        earlier_id, earlier_json = before.get((record, at), (None, None))
        if (record, at) not in before or earlier_id != value_id:
            rows.append((attempt, record, session, earlier_json))
    connection.executemany("INSERT INTO completed VALUES (?,?,?,?) ON CONFLICT DO NOTHING", rows)
    return now_observed != before


def copy_completed(connection: sqlite3.Connection, old_connection: sqlite3.Connection) -> None:
    """Copy from the replaced store the rows of `completed` whose observations were copied; do not commit."""
    rows = old_connection.execute(
        "SELECT c.attempt, r.key, c.session, c.before FROM completed c JOIN record r ON r.id = c.record"
    )
    connection.executemany(_COPY_COMPLETED, rows)


def latest_values(
    connection: sqlite3.Connection, keys: Sequence[str], before: int
) -> Mapping[str, Mapping[str, Any] | None]:
    """Return the latest values of records by key, None for a gone record. Keys not observed are left out.

    If `before` is not 0, only attempts before it are considered.
    """
    rows = connection.execute(_LATEST_VALUES, (json.dumps([*keys]), before)).fetchall()
    return {key: json.loads(json_text) if json_text else None for key, json_text in rows}


class AttemptStatement(NamedTuple):
    """What an attempt recorded about a key. `json` is the record, or empty if the record is gone or was skipped.

    `reason` is why it was skipped, or None; `source` is empty then. `aside` is JSON beside the record, or empty.
    """

    attempt: int
    key: str
    url: str
    source: str
    json: str
    reason: Reason | None = None
    message: str = ""
    aside: str = ""


def read_statements(connection: sqlite3.Connection, attempts: Sequence[int]) -> list[AttemptStatement]:
    """Return the statements of attempts, in the order of attempts; each attempt's skips are last."""
    numbers = (json.dumps([*attempts]),)
    observed_query = """
        SELECT o.attempt, r.key, o.url, o.source, coalesce(v.json, ''), NULL, '', coalesce(v.aside, '')
        FROM observation o
        JOIN record r ON r.id = o.record LEFT JOIN value v ON v.id = o.value
        WHERE o.attempt IN (SELECT value FROM json_each(?)) ORDER BY o.attempt, r.id
    """
    skipped_query = """
        SELECT attempt, key, url, reason, message FROM skipped
        WHERE attempt IN (SELECT value FROM json_each(?)) ORDER BY attempt, key
    """
    statements = [AttemptStatement(*row) for row in connection.execute(observed_query, numbers)]
    for attempt, key, url, reason, message in connection.execute(skipped_query, numbers):
        statements.append(AttemptStatement(attempt, key, url, "", "", Reason(reason), message))
    return sorted(statements, key=lambda statement: statement.attempt)
