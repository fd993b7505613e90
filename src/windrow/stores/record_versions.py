"""Versions of records, as the observations of each say in the order of time, and which of them a session wrote."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from windrow.reasons import Reason
from windrow.stores.settled import visits_of_sessions

_TOUCHED = """
WHERE record IN (
    SELECT record FROM observation WHERE visit BETWEEN ? AND ?
    UNION SELECT record FROM completed WHERE session BETWEEN ? AND ?
) ORDER BY record, at, visit
"""
_COMPLETED = """
SELECT c.visit, r.key, c.before FROM completed c JOIN record r ON r.id = c.record
WHERE c.session BETWEEN ? AND ? ORDER BY c.session DESC
"""
# Of what a visit said first with its answers, a session that settled it without them says nothing.
_FIRST_LATER = """
SELECT c.visit, r.key FROM completed c JOIN record r ON r.id = c.record
WHERE c.session > ? AND c.before IS NULL AND c.visit BETWEEN ? AND ?
"""
_OBSERVED = """
SELECT o.record, o.at, o.value, v.json FROM observation o LEFT JOIN value v ON v.id = o.value WHERE o.visit = ?
"""
# Of visits that say nothing of a record any more nothing was completed.
_ADOPTED = """
INSERT OR IGNORE INTO completed
SELECT o.visit, o.record, ?3, ?4 FROM observation o JOIN record r ON r.id = o.record WHERE o.visit = ?1 AND r.key = ?2
"""
_LATEST = """
SELECT key, json FROM (
    SELECT r.key, v.json, row_number() OVER (PARTITION BY r.id ORDER BY o.at DESC, o.visit DESC) AS number
    FROM record r JOIN observation o ON o.record = r.id LEFT JOIN value v ON v.id = o.value
    WHERE r.key IN (SELECT value FROM json_each(?1)) AND (?2 = 0 OR o.visit < ?2)
) WHERE number = 1
"""


class Skipped(NamedTuple):
    """Why nothing was made of a document (`key` empty), or of a thing in it."""

    visit: int
    key: str
    url: str
    reason: Reason
    message: str


class RecordVersion(NamedTuple):
    """What a source said of a record at a time: `change` is new, changed, same or gone; `json` is empty for gone.

    `aside` is what stood beside the value when it was first seen, as JSON; empty where there was nothing.
    """

    key: str
    at: datetime
    visit: int
    source: str
    url: str
    change: str
    digest: str
    json: str
    aside: str = ""

    @property
    def value(self) -> Any:
        """The record, None where it is gone."""
        return json.loads(self.json) if self.json else None


Change = tuple[RecordVersion | None, RecordVersion]
"""What was said before, None for nothing, and what is said."""


def versions(connection: sqlite3.Connection, rest: str, *values: Any) -> Iterator[RecordVersion]:
    """Yield the rows of the view `history` that the end of a query chooses."""
    text = f"""
        SELECT key, at, visit, source, url, change, coalesce(digest, ''), coalesce(json, ''), coalesce(aside, '')
        FROM history {rest}
    """
    for row in connection.execute(text, values):
        yield RecordVersion(row[0], datetime.fromisoformat(row[1]), *row[2:])


def changed_versions(connection: sqlite3.Connection, visits: tuple[int, int]) -> Iterator[Change]:
    """Yield what visits from one number to another said that is other than before, and what was said before it."""
    first, last = visits
    before: RecordVersion | None = None
    for version in versions(connection, _TOUCHED, first, last, 1, 0):
        if before is not None and before.key != version.key:
            before = None
        if version.change != "same":
            if first <= version.visit <= last:
                yield before, version
            before = version


def written_versions(connection: sqlite3.Connection, sessions: tuple[int, int]) -> Iterator[Change]:
    """Yield what sessions from one number to another wrote that is other than before, and what was said before it.

    Where a visit was settled by an earlier session and completed by one of these, with the answers of services, what
    the earlier one wrote of it is what was said before.
    """
    first, last = visits_of_sessions(connection, sessions)
    completed = {(visit, key): earlier for visit, key, earlier in connection.execute(_COMPLETED, sessions)}
    later = {(visit, key) for visit, key in connection.execute(_FIRST_LATER, (sessions[1], first, last))}
    before: RecordVersion | None = None
    for version in versions(connection, _TOUCHED, first, last, *sessions):
        if before is not None and before.key != version.key:
            before = None
        place = (version.visit, version.key)
        if first <= version.visit <= last:
            if version.change != "same" and place not in later:
                yield before, version
        elif completed.get(place):
            change = "changed" if version.json else "gone"
            yield version._replace(json=completed[place]), version._replace(change=change)
        elif place in completed and version.change != "same":
            yield before, version
        before = version if version.change != "same" else before


Observed = dict[tuple[int, str], tuple[int | None, str]]
"""The number and JSON of each value that a visit observed, by record and time; None and empty for what is gone."""


def observed_by(connection: sqlite3.Connection, visit: int) -> Observed:
    """Return the values that a visit observed."""
    rows = connection.execute(_OBSERVED, (visit,)).fetchall()
    return {(record, at): (value, spelled or "") for record, at, value, spelled in rows}


def note_completed(connection: sqlite3.Connection, visit: int, session: int, before: Observed) -> None:
    """Note what a session says of records by a visit that an earlier one settled, where it is other than `before`."""
    connection.executemany(
        "INSERT INTO completed VALUES (?,?,?,?) ON CONFLICT DO NOTHING",
        [
            (visit, place[0], session, before[place][1] if place in before else None)
            for place, (value, _) in observed_by(connection, visit).items()
            if place not in before or before[place][0] != value
        ],
    )


def adopt_completed(connection: sqlite3.Connection, before: sqlite3.Connection) -> None:
    """Let a store that replaces another say by which sessions visits were completed, within an open transaction."""
    rows = before.execute(
        "SELECT c.visit, r.key, c.session, c.before FROM completed c JOIN record r ON r.id = c.record"
    )
    connection.executemany(_ADOPTED, rows)


def latest_values(
    connection: sqlite3.Connection, keys: Sequence[str], before: int
) -> Mapping[str, Mapping[str, Any] | None]:
    """Return the values of records by key as of before a visit, or of now for 0; None for one that is gone."""
    rows = connection.execute(_LATEST, (json.dumps([*keys]), before)).fetchall()
    return {key: json.loads(spelled) if spelled else None for key, spelled in rows}
