"""The tables of the store of JSON records, with a view that derives versions from observations.

The functions find, assign and remove the keys, other names and aliases of records.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from windrow.contract import AttemptObservations, Observation
from windrow.digest import digest
from windrow.formats.sketch import NEAR_DUPLICATE_SIMILARITY, estimate_similarity, make_sketch

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS record (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS value (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, json TEXT NOT NULL, text TEXT NOT NULL,
    aside TEXT NOT NULL DEFAULT ''
);
-- `value` is NULL if the source says that the record is gone.
CREATE TABLE IF NOT EXISTS observation (
    record INTEGER NOT NULL REFERENCES record, at TEXT NOT NULL, attempt INTEGER NOT NULL,
    value INTEGER REFERENCES value, source TEXT NOT NULL, url TEXT NOT NULL, PRIMARY KEY (record, at, attempt)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS observation_by_attempt ON observation (attempt);
CREATE INDEX IF NOT EXISTS observation_by_value ON observation (value);
-- Other names of records, by which a source may state that they are gone.
CREATE TABLE IF NOT EXISTS other_name (name TEXT PRIMARY KEY, record INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS other_name_of ON other_name (record);
-- A normal form shared by all spellings of a record's key.
CREATE TABLE IF NOT EXISTS alias (alias TEXT PRIMARY KEY, record INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS alias_of ON alias (record);
-- SQLite's check of a table without rowid needs the columns of the primary key first.
CREATE TABLE IF NOT EXISTS skipped (
    attempt INTEGER NOT NULL, key TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL, url TEXT NOT NULL,
    source TEXT NOT NULL DEFAULT '', number INTEGER NOT NULL DEFAULT 1,
    replaced INTEGER NOT NULL DEFAULT 0, -- whether its source's address was read later
    PRIMARY KEY (attempt, key, reason, message)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS skipped_by_url ON skipped (url);
-- Attempts whose step waits for answers of services, and the requests to them.
CREATE TABLE IF NOT EXISTS waiting (attempt INTEGER PRIMARY KEY, asks TEXT NOT NULL);
-- The last attempt that each session wrote: changes belong to the session that wrote them.
CREATE TABLE IF NOT EXISTS windrow_settled (session INTEGER PRIMARY KEY, upto INTEGER NOT NULL);
-- Records that a session wrote from attempts which an earlier one had settled incompletely:
-- `before` is the JSON that the attempt observed earlier; empty if gone, NULL if it had observed nothing.
CREATE TABLE IF NOT EXISTS completed (
    attempt INTEGER NOT NULL, record INTEGER NOT NULL, session INTEGER NOT NULL, before TEXT,
    PRIMARY KEY (attempt, record, session)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS completed_by_session ON completed (session);
-- Records changed since they were last indexed, in the order of the changes.
CREATE TABLE IF NOT EXISTS unindexed (number INTEGER PRIMARY KEY, record INTEGER NOT NULL);
-- A hash of each record's entry in the search index.
CREATE TABLE IF NOT EXISTS indexed (record INTEGER PRIMARY KEY, stamp INTEGER NOT NULL);
-- Attempts that were taken down, and hashes of the keys of their records, since a key may show what they were about.
CREATE TABLE IF NOT EXISTS taken_down (
    key INTEGER NOT NULL, attempt INTEGER NOT NULL, PRIMARY KEY (key, attempt)
) WITHOUT ROWID;
CREATE VIEW IF NOT EXISTS history AS
SELECT r.key AS key, o.at AS at, o.attempt AS attempt, o.source AS source, o.url AS url,
    CASE WHEN o.value IS NULL AND o.before IS NULL AND o.number > 1 THEN 'same'
        WHEN o.value IS NULL THEN 'gone' WHEN o.before IS NULL THEN 'new' WHEN o.value = o.before THEN 'same'
        ELSE 'changed' END AS change,
    v.digest AS digest, v.json AS json, o.record AS record, v.aside AS aside
FROM (SELECT *, lag(value) OVER w AS before, row_number() OVER w AS number FROM observation
      WINDOW w AS (PARTITION BY record ORDER BY at, attempt)) o
JOIN record r ON r.id = o.record LEFT JOIN value v ON v.id = o.value;
"""

# One look-up by the primary key for each record, however often it was observed; a gone record has no source.
COUNT_BY_SOURCE = """
SELECT source, count(*) FROM (
    SELECT (SELECT CASE WHEN o.value IS NOT NULL THEN o.source END FROM observation o
            WHERE o.record = r.id ORDER BY o.at DESC, o.attempt DESC LIMIT 1) AS source FROM record r
) WHERE source IS NOT NULL GROUP BY source
"""
_FIND_VALUE = "SELECT id, aside FROM value WHERE digest = ?"
# The last observation usually has it: the records are few whose value is also that of another one.
_FIND_VALUE_OF_RECORD = """
SELECT v.id FROM observation o JOIN value v ON v.id = o.value WHERE o.record = ? AND v.json = ? AND v.text = ?
ORDER BY o.at DESC, o.attempt DESC LIMIT 1
"""
_VALUES_OF_RECORD = """
SELECT id, json FROM value WHERE id IN (SELECT value FROM observation WHERE record = ?) AND text = ? ORDER BY id
"""
_INSERT_VALUE = "INSERT INTO value (digest, json, text, aside) VALUES (?,?,?,?)"


def key_of_named(connection: sqlite3.Connection, observation: Observation) -> str:
    """Return the key of the record with an observation's key, or else of the oldest with one of its names, or "".

    If the observation has an address, aliases count, too, and the record's last value must be from there: a thing that
    has moved is not gone when its former address is.
    """
    names, aliases = (",".join("?" * len(texts)) for texts in (observation.names, observation.aliases))
    row = connection.execute(
        f"""SELECT key FROM record r WHERE (key = ?1 OR id IN (SELECT record FROM other_name WHERE name IN ({names}))
        OR id IN (SELECT record FROM alias WHERE alias IN ({aliases}))) AND ? IN ('', (
            SELECT url FROM observation o WHERE o.record = r.id AND o.value IS NOT NULL
            ORDER BY o.at DESC, o.attempt DESC LIMIT 1)) ORDER BY key <> ?1, id LIMIT 1""",
        (observation.key, *observation.names, *observation.aliases, observation.url),
    ).fetchone()
    return str(row[0]) if row else ""


def set_names(
    connection: sqlite3.Connection, names: Sequence[str], record: int, entry: AttemptObservations
) -> set[int]:
    """Assign `names` to a record. Return the ids of the records that lose one of them, which the caller marks as gone.

    If the latest observation of the record is from the source of `entry` and has a value, a name that another record
    has belongs to two things: it remains with the other record, which is not gone, and no id is returned. The same
    holds if a later attempt observed a value of the other record. A record with the key KEY which another source
    observed last loses its name to the record `KEY#NAME`, but is not gone: the source of `entry` listed its address.
    """
    placeholders = ",".join("?" * len(names))
    query = f"SELECT DISTINCT record FROM other_name WHERE name IN ({placeholders}) AND record <> ?"
    earlier_records = {int(other) for (other,) in connection.execute(query, (*names, record))}
    is_shared = False
    if earlier_records:
        query = "SELECT value, source FROM observation WHERE record = ? ORDER BY at DESC, attempt DESC LIMIT 1"
        value, latest_source = connection.execute(query, (record,)).fetchone() or (None, "")
        ids = ",".join(map(str, earlier_records))
        query = f"SELECT 1 FROM observation WHERE record IN ({ids}) AND attempt > ? AND value IS NOT NULL LIMIT 1"
        is_later = connection.execute(query, (entry.attempt,)).fetchone() is not None
        is_shared = is_later or (value is not None and latest_source == entry.source)
    change = "NOTHING" if is_shared else "UPDATE SET record = excluded.record"
    connection.executemany(
        f"INSERT INTO other_name VALUES (?,?) ON CONFLICT DO {change}", [(name, record) for name in names]
    )
    if is_shared or not earlier_records:
        return set()
    query = f"""
        SELECT r.id FROM record r JOIN record own ON own.id = ? WHERE r.id IN ({",".join(map(str, earlier_records))})
        AND substr(own.key, 1, length(r.key) + 1) = r.key || '#' AND ? <> (
            SELECT o.source FROM observation o WHERE o.record = r.id ORDER BY o.at DESC, o.attempt DESC LIMIT 1)
    """
    return earlier_records - {int(other) for (other,) in connection.execute(query, (record, entry.source))}


def ensure_record(connection: sqlite3.Connection, observation: Observation) -> tuple[int, str]:
    """Return the id and key of an observation's record; create it if it is missing, and store the aliases.

    `_choose_key` decides which record it is. An alias stays with the record that had it first.
    """
    key = _choose_key(connection, observation)
    connection.execute("INSERT INTO record (key) VALUES (?) ON CONFLICT DO NOTHING", (key,))
    record = int(connection.execute("SELECT id FROM record WHERE key = ?", (key,)).fetchone()[0])
    rows = [(alias, record) for alias in observation.aliases]
    connection.executemany("INSERT INTO alias VALUES (?,?) ON CONFLICT DO NOTHING", rows)
    return record, key


def _choose_key(connection: sqlite3.Connection, observation: Observation) -> str:
    """Return the key of an observation's record, which may not exist yet.

    It is the record with the observation's key or, if there is none, with one of its aliases (see
    `Observation.shared_aliases`), or else one from which it moved (see `Observation.moved_from`). If that record is
    about a different thing, the observation gets a new record. The key of the new record is the observation's key or,
    if the existing record has this key, `KEY#NAME` with the observation's first name. If `KEY#NAME` exists, it is
    always used.
    """
    key, names = observation.key, observation.names
    is_known = _has_key(connection, key)
    own_key = f"{key}#{names[0]}" if names and is_known else ""
    if own_key and _has_key(connection, own_key):
        return own_key
    if not is_known:
        known_keys = (_find_alias(connection, alias, observation) for alias in observation.aliases)
        key = next(filter(None, known_keys), "") or _find_moved(connection, observation) or key
    return (own_key or observation.key) if _is_other_thing(connection, key, observation) else key


def _find_alias(connection: sqlite3.Connection, alias: str, observation: Observation) -> str:
    """Return the key of the record that has an alias of an observation and is the observed thing, or ""."""
    key = key_of_alias(connection, alias)
    is_sure = alias not in observation.shared_aliases
    return key if key and (is_sure or _is_like(_latest_text(connection, key), observation.text)) else ""


def _has_key(connection: sqlite3.Connection, key: str) -> bool:
    return connection.execute("SELECT 1 FROM record WHERE key = ?", (key,)).fetchone() is not None


def _is_other_thing(connection: sqlite3.Connection, key: str, observation: Observation) -> bool:
    """Return whether the record `key` is about a different thing from the one observed.

    That is so if the record is not gone, has another text, and has names from the same system as the observation's
    names, but none of these names. The system of a name is the part before its last `/`. Another system may have
    another name for the same thing.
    """
    systems = {name.rpartition("/")[0] for name in observation.names}
    names_query = "SELECT n.name FROM other_name n JOIN record r ON r.id = n.record WHERE r.key = ?"
    names = connection.execute(names_query, (key,)).fetchall() if systems else ()
    names_of_system = {name for (name,) in names if name.rpartition("/")[0] in systems}
    if not names_of_system or not names_of_system.isdisjoint(observation.names):
        return False
    return _latest_text(connection, key) not in {None, observation.text}


def _find_moved(connection: sqlite3.Connection, observation: Observation) -> str:
    """Return the key of the record that is the observed thing at its former key, or "" if not exactly one can be it."""
    keys = {key for alias in observation.moved_from if (key := key_of_alias(connection, alias))}
    moved_keys = [key for key in keys if _is_like(_latest_text(connection, key), observation.text)]
    return moved_keys[0] if len(moved_keys) == 1 else ""


def _is_like(text: str | None, moved_text: str) -> bool:
    """Return whether a thing with `moved_text` can be the one with `text`, which is None if that is gone.

    Only the title may be the same, as at an address that now leads to the report of each day.
    """
    if text is None or text == moved_text:
        return True
    sketches = make_sketch(text), make_sketch(moved_text)
    return all(sketches) and estimate_similarity(*sketches) >= NEAR_DUPLICATE_SIMILARITY


def _latest_text(connection: sqlite3.Connection, key: str) -> str | None:
    """Return the text of the latest value of the record `key`; None if the record is gone or has no observation."""
    query = """
        SELECT v.text FROM observation o JOIN record r ON r.id = o.record LEFT JOIN value v ON v.id = o.value
        WHERE r.key = ? ORDER BY o.at DESC, o.attempt DESC LIMIT 1
    """
    latest = connection.execute(query, (key,)).fetchone()
    return latest[0] if latest else None


def key_of_alias(connection: sqlite3.Connection, alias: str) -> str:
    """Return the key of the record with an alias, or an empty text if none has it."""
    query = "SELECT r.key FROM alias a JOIN record r ON r.id = a.record WHERE a.alias = ?"
    row = connection.execute(query, (alias,)).fetchone()
    return str(row[0]) if row else ""


def remove_record(connection: sqlite3.Connection, record: int) -> None:
    """Remove the record with this id, its names and aliases, and its rows in the table `completed`."""
    connection.execute("DELETE FROM record WHERE id = ?", (record,))
    connection.execute("DELETE FROM other_name WHERE record = ?", (record,))
    connection.execute("DELETE FROM alias WHERE record = ?", (record,))
    connection.execute("DELETE FROM completed WHERE record = ?", (record,))


def replace_own_key(record: Mapping[str, Any], own_key: str, key: str) -> Mapping[str, Any]:
    """Return `record` with `key` in every field whose value is `own_key`.

    >>> replace_own_key({"url": "http://a.example/", "n": 1}, "http://a.example/", "https://a.example/")
    {'url': 'https://a.example/', 'n': 1}
    """
    return record if own_key == key else {name: key if value == own_key else value for name, value in record.items()}


def format_time(time: datetime) -> str:
    """Return a time as a text in UTC; such texts sort by time. A time without a zone is taken to be in UTC."""
    aware_time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return aware_time.astimezone(UTC).isoformat(timespec="microseconds")


def find_same_value(
    connection: sqlite3.Connection, record: int, json_text: str, text: str, own_lists: Mapping[str, Sequence[str]]
) -> int | None:
    """Return the id of the record's first value that is the same for `Observation.own_lists`, or None."""
    if not own_lists:
        return None
    value, blank = json.loads(json_text), dict.fromkeys(own_lists)
    for value_id, stored_text in connection.execute(_VALUES_OF_RECORD, (record, text)):
        stored = json.loads(stored_text)
        if {**stored, **blank} == {**value, **blank} and all(
            set(own).issubset(stored.get(name) or ()) for name, own in own_lists.items()
        ):
            return int(value_id)
    return None


def ensure_value(connection: sqlite3.Connection, record: int, value: tuple[str, str, str, str]) -> int:
    """Return the id of a value (digest, json, text, aside), and write it if it is not there.

    A record keeps the `aside` that was first read with a value. It never gets that of another record, which may be
    from another source and be taken down with it; then the digest covers the `aside` too.
    """
    run, (value_digest, json_text, text, aside) = connection.execute, value
    row = run(_FIND_VALUE, (value_digest,)).fetchone()
    if row and row[1] != aside:
        if own_row := run(_FIND_VALUE_OF_RECORD, (record, json_text, text)).fetchone():
            return int(own_row[0])
        value_digest = digest(f"{json_text}\n{text}\n{aside}".encode())
        row = run(_FIND_VALUE, (value_digest,)).fetchone()
    if row:
        return int(row[0])
    return int(run(_INSERT_VALUE, (value_digest, json_text, text, aside)).lastrowid or 0)
