"""The tables of the store of JSON records, the view that makes versions of observations, and other names of records."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from windrow.contract import Observation

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS record (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS value (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, json TEXT NOT NULL, text TEXT NOT NULL,
    aside TEXT NOT NULL DEFAULT ''
);
-- `value` is NULL where a source says that the record is gone.
CREATE TABLE IF NOT EXISTS observation (
    record INTEGER NOT NULL REFERENCES record, at TEXT NOT NULL, visit INTEGER NOT NULL, value INTEGER REFERENCES value,
    source TEXT NOT NULL, url TEXT NOT NULL, PRIMARY KEY (record, at, visit)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS observation_by_visit ON observation (visit);
CREATE INDEX IF NOT EXISTS observation_by_value ON observation (value);
-- Other names of records, by which they may be said to be gone.
CREATE TABLE IF NOT EXISTS other_name (name TEXT PRIMARY KEY, record INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS other_name_of ON other_name (record);
-- What the spellings of a record's key have in common.
CREATE TABLE IF NOT EXISTS alias (alias TEXT PRIMARY KEY, record INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS alias_of ON alias (record);
CREATE TABLE IF NOT EXISTS skipped (
    visit INTEGER NOT NULL, key TEXT NOT NULL, url TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL,
    PRIMARY KEY (visit, key)
) WITHOUT ROWID;
-- Visits whose step asked services, and what it waits for.
CREATE TABLE IF NOT EXISTS waiting (visit INTEGER PRIMARY KEY, asks TEXT NOT NULL);
-- Up to which visit each session wrote: what changed belongs to it, whichever session asked.
CREATE TABLE IF NOT EXISTS windrow_settled (session INTEGER PRIMARY KEY, upto INTEGER NOT NULL);
-- What a session wrote of records by visits that an earlier one had settled, since their services had answered:
-- `before` is what the visit had said until then, as JSON; empty for gone, NULL where it had said nothing.
CREATE TABLE IF NOT EXISTS completed (
    visit INTEGER NOT NULL, record INTEGER NOT NULL, session INTEGER NOT NULL, before TEXT,
    PRIMARY KEY (visit, record, session)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS completed_by_session ON completed (session);
-- Records that visits touched since they were put into the search index, in the order of that.
CREATE TABLE IF NOT EXISTS unindexed (number INTEGER PRIMARY KEY, record INTEGER NOT NULL);
-- What the search index has: a number that changes with what it has of a record.
CREATE TABLE IF NOT EXISTS indexed (record INTEGER PRIMARY KEY, stamp INTEGER NOT NULL);
-- Visits that were taken down, and of which records they told: numbers of their keys, which may tell of their content.
CREATE TABLE IF NOT EXISTS taken_down (
    key INTEGER NOT NULL, visit INTEGER NOT NULL, PRIMARY KEY (key, visit)
) WITHOUT ROWID;
CREATE VIEW IF NOT EXISTS history AS
SELECT r.key AS key, o.at AS at, o.visit AS visit, o.source AS source, o.url AS url,
    CASE WHEN o.value IS NULL AND o.before IS NULL AND o.number > 1 THEN 'same'
        WHEN o.value IS NULL THEN 'gone' WHEN o.before IS NULL THEN 'new' WHEN o.value = o.before THEN 'same'
        ELSE 'changed' END AS change,
    v.digest AS digest, v.json AS json, o.record AS record, v.aside AS aside
FROM (SELECT *, lag(value) OVER w AS before, row_number() OVER w AS number FROM observation
      WINDOW w AS (PARTITION BY record ORDER BY at, visit)) o
JOIN record r ON r.id = o.record LEFT JOIN value v ON v.id = o.value;
"""


def key_of(connection: sqlite3.Connection, gone: Observation) -> str:
    """Return the key of the record that goes by a name of what is gone; empty where there is none."""
    marks = ",".join("?" * len(gone.names))
    found = connection.execute(
        f"SELECT key FROM record WHERE key = ? OR id IN (SELECT record FROM other_name WHERE name IN ({marks}))",
        (gone.key, *gone.names),
    ).fetchone()
    return str(found[0]) if found else ""


def rename(connection: sqlite3.Connection, names: Sequence[str], record: int) -> set[int]:
    """Let a record go by these names; return the others that did until now."""
    marks = ",".join("?" * len(names))
    text = f"SELECT DISTINCT record FROM other_name WHERE name IN ({marks}) AND record <> ?"
    others = {int(old) for (old,) in connection.execute(text, (*names, record))}
    connection.executemany(
        "INSERT INTO other_name VALUES (?,?) ON CONFLICT DO UPDATE SET record = excluded.record",
        [(name, record) for name in names],
    )
    return others


def record_of(connection: sqlite3.Connection, one: Observation) -> tuple[int, str]:
    """Return the record that an observation is of, made where there is none, and its key; note its aliases.

    An alias that another record has stays that one's.
    """
    key = one.key
    if connection.execute("SELECT 1 FROM record WHERE key = ?", (key,)).fetchone() is None:
        key = next(filter(None, (key_of_alias(connection, alias) for alias in one.aliases)), key)
        connection.execute("INSERT INTO record (key) VALUES (?) ON CONFLICT DO NOTHING", (key,))
    record = int(connection.execute("SELECT id FROM record WHERE key = ?", (key,)).fetchone()[0])
    rows = [(alias, record) for alias in one.aliases]
    connection.executemany("INSERT INTO alias VALUES (?,?) ON CONFLICT DO NOTHING", rows)
    return record, key


def key_of_alias(connection: sqlite3.Connection, alias: str) -> str:
    """Return the key of the record that has an alias; empty where there is none."""
    text = "SELECT r.key FROM alias a JOIN record r ON r.id = a.record WHERE a.alias = ?"
    found = connection.execute(text, (alias,)).fetchone()
    return str(found[0]) if found else ""


def forget_names(connection: sqlite3.Connection, record: int) -> None:
    """Remove a record and all that it goes by."""
    connection.execute("DELETE FROM record WHERE id = ?", (record,))
    connection.execute("DELETE FROM other_name WHERE record = ?", (record,))
    connection.execute("DELETE FROM alias WHERE record = ?", (record,))
    connection.execute("DELETE FROM completed WHERE record = ?", (record,))


def keyed(value: Mapping[str, Any], own: str, key: str) -> Mapping[str, Any]:
    """Return a value whose fields that repeat its own key hold the record's key instead.

    >>> keyed({"url": "http://a.example/", "n": 1}, "http://a.example/", "https://a.example/")
    {'url': 'https://a.example/', 'n': 1}
    """
    return value if own == key else {name: key if told == own else told for name, told in value.items()}


def spell_time(at: datetime) -> str:
    """Spell a time in UTC, so that texts sort as times do; one without a zone is taken for UTC."""
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="microseconds")


def replace_surrogates(text: str) -> str:
    """Return a text with a question mark for each half of a character (surrogate), which no database takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
