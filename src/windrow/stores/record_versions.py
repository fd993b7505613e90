"""Versions of records, derived from their observations in the order of time, and which of them a session wrote."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.reasons import Reason
from windrow.stores.settled import attempts_of_sessions

_TOUCHED_RECORDS = """
WHERE record IN (
    SELECT record FROM observation WHERE attempt BETWEEN ? AND ?
    UNION SELECT record FROM completed WHERE session BETWEEN ? AND ?
) ORDER BY record, at, attempt
"""
_COMPLETED = """
SELECT c.attempt, r.key, c.before FROM completed c JOIN record r ON r.id = c.record
WHERE c.session BETWEEN ? AND ? ORDER BY c.session DESC
"""
# Records that an attempt first had with its answers: the session that settled it without them did not write these.
_FIRST_LATER = """
SELECT c.attempt, r.key FROM completed c JOIN record r ON r.id = c.record
WHERE c.session > ? AND c.before IS NULL AND c.attempt BETWEEN ? AND ?
"""
_OBSERVED = """
SELECT o.record, o.at, o.value, v.json FROM observation o LEFT JOIN value v ON v.id = o.value WHERE o.attempt = ?
"""
# Only of attempts that still observe the record.
_ADOPTED = """
INSERT OR IGNORE INTO completed
SELECT o.attempt, o.record, ?3, ?4 FROM observation o JOIN record r ON r.id = o.record
WHERE o.attempt = ?1 AND r.key = ?2
"""
_LATEST = """
SELECT key, json FROM (
    SELECT r.key, v.json, row_number() OVER (PARTITION BY r.id ORDER BY o.at DESC, o.attempt DESC) AS number
    FROM record r JOIN observation o ON o.record = r.id LEFT JOIN value v ON v.id = o.value
    WHERE r.key IN (SELECT value FROM json_each(?1)) AND (?2 = 0 OR o.attempt < ?2)
) WHERE number = 1
"""


class Skipped(NamedTuple):
    """Why a document (`key` is empty) or an entry in it gave no record."""

    attempt: int
    key: str
    url: str
    reason: Reason
    message: str


class RecordVersion(NamedTuple):
    """A record as a source had it at a time: `change` is new, changed, same or gone; `json` is empty for gone.

    `aside` is what was kept beside the value when it was first seen, as JSON, or an empty text.
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
        """The record; None if it is gone."""
        return json.loads(self.json) if self.json else None


Change = tuple[RecordVersion | None, RecordVersion]
"""The previous version (None for the first one) and the new version."""


def read_versions(connection: sqlite3.Connection, rest: str, *parameters: Any) -> Iterator[RecordVersion]:
    """Yield rows of the view `history`; `rest` is the end of the query, with `parameters`."""
    text = f"""
        SELECT key, at, attempt, source, url, change, coalesce(digest, ''), coalesce(json, ''), coalesce(aside, '')
        FROM history {rest}
    """
    for row in connection.execute(text, parameters):
        yield RecordVersion(row[0], datetime.fromisoformat(row[1]), *row[2:])


def changed_versions(connection: sqlite3.Connection, attempts: tuple[int, int]) -> Iterator[Change]:
    """Yield the changes that a range of attempts observed, each with the version before."""
    first, last = attempts
    previous: RecordVersion | None = None
    for version in read_versions(connection, _TOUCHED_RECORDS, first, last, 1, 0):
        if previous is not None and previous.key != version.key:
            previous = None
        if version.change != "same":
            if first <= version.attempt <= last:
                yield previous, version
            previous = version


def written_versions(connection: sqlite3.Connection, sessions: tuple[int, int]) -> Iterator[Change]:
    """Yield the changes that a range of sessions wrote, each with the version before.

    If an earlier session settled an attempt and one of these completed it with the answers of services, the version
    before is what the earlier session wrote.
    """
    first, last = attempts_of_sessions(connection, sessions)
    completed = {(attempt, key): earlier for attempt, key, earlier in connection.execute(_COMPLETED, sessions)}
    first_observed_later = {
        (attempt, key) for attempt, key in connection.execute(_FIRST_LATER, (sessions[1], first, last))
    }
    previous: RecordVersion | None = None
    for version in read_versions(connection, _TOUCHED_RECORDS, first, last, *sessions):
        if previous is not None and previous.key != version.key:
            previous = None
        version_key = (version.attempt, version.key)
        if first <= version.attempt <= last:
            if version.change != "same" and version_key not in first_observed_later:
                yield previous, version
        elif completed.get(version_key):
            change = "changed" if version.json else "gone"
            yield version._replace(json=completed[version_key]), version._replace(change=change)
        elif version_key in completed and version.change != "same":
            yield previous, version
        previous = version if version.change != "same" else previous


Observed = dict[tuple[int, str], tuple[int | None, str]]
"""The id and JSON of each value that an attempt observed, by record and time; None and empty for a gone record."""


def read_observed(connection: sqlite3.Connection, attempt: int) -> Observed:
    """Return the values that an attempt observed."""
    rows = connection.execute(_OBSERVED, (attempt,)).fetchall()
    return {(record, at): (value, spelled or "") for record, at, value, spelled in rows}


def note_completed(connection: sqlite3.Connection, attempt: int, session: int, before: Observed) -> None:
    """Record the values that a session changed of an attempt which an earlier one settled with the values `before`."""
    connection.executemany(
        "INSERT INTO completed VALUES (?,?,?,?) ON CONFLICT DO NOTHING",
        [
            (attempt, place[0], session, before[place][1] if place in before else None)
            for place, (value, _) in read_observed(connection, attempt).items()
            if place not in before or before[place][0] != value
        ],
    )


def adopt_completed(connection: sqlite3.Connection, old_connection: sqlite3.Connection) -> None:
    """Copy which sessions completed attempts from the store that this one replaces, in the open transaction."""
    rows = old_connection.execute(
        "SELECT c.attempt, r.key, c.session, c.before FROM completed c JOIN record r ON r.id = c.record"
    )
    connection.executemany(_ADOPTED, rows)


def latest_values(
    connection: sqlite3.Connection, keys: Sequence[str], before: int
) -> Mapping[str, Mapping[str, Any] | None]:
    """Return the values of records by key before an attempt, or the current ones for 0; None for a gone record."""
    rows = connection.execute(_LATEST, (json.dumps([*keys]), before)).fetchall()
    return {key: json.loads(spelled) if spelled else None for key, spelled in rows}
