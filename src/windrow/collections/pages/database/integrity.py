"""Check that the tables of a Summary Database agree with each other; copy, export and compare databases."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from shutil import copyfileobj
from typing import BinaryIO, NamedTuple

from windrow.collections.pages.database.entries import hash_link_set
from windrow.collections.pages.database.search_view import BESIDE, ORIGINAL, version_relation
from windrow.collections.pages.database.writer import wrong_checkpoint
from windrow.stores.sqlite import SqliteReader, store_error

Digest = Callable[[Sequence[str]], bytes]
"""A function that returns the digest of a text pile from its six fields."""

_MAX_LISTED_ADDRESSES = 5  # in the message for one kind of fault

_WITHOUT_ROW = "NOT EXISTS (SELECT 1 FROM {} n WHERE n.entity_generation_id = g.entity_generation_id)"

# The texts of faults, each with the SQL that selects the addresses with the fault.
_RULES = {
    "have two versions that have not ended": """
        SELECT u.str_url FROM entity_generation g JOIN url u ON u.url_id = g.url_id
        WHERE g.confirmed_end_unix_utc IS NULL GROUP BY g.url_id, g.url_fragment HAVING count(*) > 1""",
    "have versions that overlap in time": """
        SELECT u.str_url FROM (
          SELECT url_id, coalesce(confirmed_end_unix_utc, last_seen_unix_utc) AS ended, lead(first_seen_unix_utc) OVER (
            PARTITION BY url_id, url_fragment ORDER BY first_seen_unix_utc, entity_generation_id) AS following
          FROM entity_generation) g JOIN url u ON u.url_id = g.url_id WHERE following < ended""",
    "have a version that ended before it was last seen": """
        SELECT u.str_url FROM entity_generation g JOIN url u ON u.url_id = g.url_id
        WHERE g.confirmed_end_unix_utc < g.last_seen_unix_utc""",
    "are marked as duplicates without an original, or are duplicates but not marked": """
        SELECT u.str_url FROM entity_generation g JOIN url u ON u.url_id = g.url_id
        WHERE (g.marked_duplicate <> 0) <> EXISTS (SELECT 1 FROM duplicate_summary d
          WHERE d.subject_entity_generation_id = g.entity_generation_id AND d.duplicate_status_end_unix_utc IS NULL)""",
    "are originals of duplicates but are duplicates themselves": """
        SELECT u.str_url FROM duplicate_summary d
        JOIN entity_generation g ON g.entity_generation_id = d.duplicate_of_entity_generation_id
        JOIN url u ON u.url_id = g.url_id WHERE d.duplicate_status_end_unix_utc IS NULL AND g.marked_duplicate""",
    "have the same crawl twice": """
        SELECT u.str_url FROM crawl_summary c
        JOIN entity_generation g ON g.entity_generation_id = c.entity_generation_id JOIN url u ON u.url_id = g.url_id
        GROUP BY c.crawl_uuid, g.url_id, g.url_fragment HAVING count(*) > 1""",
    "have a version without a crawl": """
        SELECT u.str_url FROM entity_generation g JOIN url u ON u.url_id = g.url_id WHERE NOT EXISTS (
          SELECT 1 FROM crawl_summary c WHERE c.entity_generation_id = g.entity_generation_id)""",
    "have a crawl without an answer": """
        SELECT u.str_url FROM crawl_summary c
        JOIN entity_generation g ON g.entity_generation_id = c.entity_generation_id JOIN url u ON u.url_id = g.url_id
        WHERE NOT EXISTS (SELECT 1 FROM http_summary h WHERE h.crawl_summary_id = c.crawl_summary_id)""",
    "have a version without the row of its file or redirect": f"""
        SELECT u.str_url FROM entity_generation g JOIN url u ON u.url_id = g.url_id
        WHERE {_WITHOUT_ROW.format("file_summary")}
          AND (g.text_pile_id IS NOT NULL OR {_WITHOUT_ROW.format("redirect_summary")})""",
    "have a text without a description": f"""
        SELECT u.str_url FROM entity_generation g JOIN url u ON u.url_id = g.url_id
        WHERE g.text_pile_id IS NOT NULL AND {_WITHOUT_ROW.format("document_description")}""",
}

_IS_OPEN = """
EXISTS (SELECT 1 FROM entity_generation o WHERE o.entity_generation_id = {} AND o.confirmed_end_unix_utc IS NULL)
"""
_IS_UP_TO_DATE = (
    "NOT EXISTS (SELECT 1 FROM windrow_touched)"  # otherwise a run was stopped, and the next run continues it
)
_SELECT_URL_OF_ROW = """
SELECT coalesce(u.str_url, 'a removed version') FROM {} n
LEFT JOIN entity_generation g ON g.entity_generation_id = n.generation_id LEFT JOIN url u USING (url_id)"""
_OWN_TABLE_RULES = {
    "windrow_observation": {
        "have a version whose links are missing": f"""
            SELECT u.str_url FROM windrow_observation o JOIN url u ON u.url_id = o.url_id
            JOIN entity_generation g ON g.entity_generation_id = o.entity_generation_id
            WHERE o.linked NOT IN (x'', x'{hash_link_set(()).hex()}') AND {_WITHOUT_ROW.format("link_summary")}
              AND o.at = (SELECT max(p.at) FROM windrow_observation p WHERE p.url_id = o.url_id AND p.linked <> x''
                AND p.entity_generation_id = o.entity_generation_id)"""
    },
    "windrow_near_duplicate": {
        "are near-duplicates of a page that has ended or is a near-duplicate itself": f"""
            {_SELECT_URL_OF_ROW.format("windrow_near_duplicate")} WHERE {_IS_UP_TO_DATE} AND NOT (
              {_IS_OPEN.format("n.generation_id")} AND {_IS_OPEN.format("n.other_id")}
              AND n.other_id NOT IN (SELECT generation_id FROM windrow_near_duplicate))"""
    },
    "windrow_representative": {
        "are represented by a page that has ended or does not represent itself": f"""
            {_SELECT_URL_OF_ROW.format("windrow_representative")} WHERE {_IS_UP_TO_DATE} AND NOT (
              {_IS_OPEN.format("n.generation_id")} AND EXISTS (SELECT 1 FROM windrow_representative r
                WHERE r.generation_id = n.representative_id AND r.representative_id = n.representative_id))"""
    },
}
"""A dict from each of windrow's own tables to its rules, which are only checked if the table exists."""

_SELECT_PILES = (
    "SELECT text_pile_id, blake2b512_digest, text, secondary_text, big_headlines, small_headlines, code_text,"
    " quote_text FROM text_pile"
)


def read_checkpoint(reader: SqliteReader) -> int:
    """Return the number of the last attempt in a Summary Database, or 0 if it does not contain attempts.

    Raises StoreError if the database has something else in place of the number.
    """
    sql = "SELECT value FROM unobtanium_database_info WHERE key = 'windrow.attempt'"
    with reader.reading() as connection:
        row = connection.execute(sql).fetchone()
    try:
        return int(row[0]) if row else 0
    except ValueError:
        raise wrong_checkpoint(reader.path) from None


def find_faults(reader: SqliteReader, digest: Digest) -> Iterator[str]:
    """Yield a message for each kind of fault, with some addresses, and for each text that does not match its digest.

    Each of the first `_MAX_LISTED_ADDRESSES` rows that refer to a missing row has a message too. If SQLite finds that
    the file is damaged, only that is yielded.
    """
    with reader.reading() as connection:
        damage = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if damage != "ok":
            yield f"the file is damaged: {damage}"
            return
        for table, _, parent, _ in connection.execute("PRAGMA foreign_key_check").fetchmany(_MAX_LISTED_ADDRESSES):
            yield f"a row of {table} refers to a row of {parent} that does not exist"
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        rules = dict(_RULES)
        for table, rules_of_table in _OWN_TABLE_RULES.items():
            rules |= rules_of_table if table in tables else {}
        for fault, sql in rules.items():
            addresses = [
                str(row[0])
                for row in connection.execute(f"SELECT DISTINCT * FROM ({sql}) LIMIT {_MAX_LISTED_ADDRESSES + 1}")
            ]
            if addresses:
                suffix = " and others" if len(addresses) > _MAX_LISTED_ADDRESSES else ""
                yield f"addresses that {fault}: {', '.join(addresses[:_MAX_LISTED_ADDRESSES])}{suffix}"
        for pile_id, stored_digest, *fields in connection.execute(_SELECT_PILES):
            if digest(fields) != stored_digest:
                yield f"text pile {pile_id} does not match its digest"


_COPY_BLOCK_BYTES = 1 << 20

_SELECT_VERSIONS = f"""
SELECT lower(hex(g.entity_generation_uuid)) AS uuid, u.str_url AS url, g.url_fragment AS fragment,
  g.first_seen_unix_utc AS first_seen, g.last_seen_unix_utc AS last_seen, g.confirmed_end_unix_utc AS ended,
  {ORIGINAL} AS duplicate_of,
  m.mime_type || '/' || m.mime_subtype || coalesce('+' || m.mime_suffix, '') AS kind, g.file_size AS size,
  c.str_url AS canonical, t.str_url AS redirect, g.title, g.primary_headline AS headline, g.description,
  g.primary_language AS language, g.time_created_unix_utc AS created, g.time_updated_unix_utc AS updated,
  CASE WHEN g.title IS NULL AND g.text_pile_id IS NULL THEN NULL ELSE g.indexiness END AS indexiness,
  p.text, p.secondary_text
FROM {{versions}} g
JOIN url u ON u.url_id = g.url_id
LEFT JOIN text_pile p ON p.text_pile_id = g.text_pile_id
{BESIDE}
ORDER BY g.entity_generation_id, g.first_seen_unix_utc
"""


class GenerationRow(NamedTuple):
    """One version of one address; fields that do not apply are None. Times are UNIX seconds, `size` is in bytes.

    `ended` is None until the version ends. `kind` is its media type, `redirect` is the target of a redirect, and
    `duplicate_of` is the address of the original if the version is marked as a duplicate. Consecutive versions with the
    same text but different descriptions have the same `uuid`.
    """

    uuid: str
    url: str
    fragment: str | None
    first_seen: int
    last_seen: int
    ended: int | None
    duplicate_of: str | None
    kind: str | None
    size: int | None
    canonical: str | None
    redirect: str | None
    title: str | None
    headline: str | None
    description: str | None
    language: str | None
    created: int | None
    updated: int | None
    indexiness: int | None
    text: str | None
    secondary_text: str | None


def read_all_versions(reader: SqliteReader) -> Iterator[GenerationRow]:
    """Yield every version of every address in the order of generations, then of time, within one read transaction."""
    with reader.reading() as connection:
        for row in connection.execute(_SELECT_VERSIONS.format(versions=version_relation(connection))):
            yield GenerationRow(*row)


def copy_database(reader: SqliteReader, output: BinaryIO) -> int:
    """Write a consistent copy of the database to `output`, even while others write; return its size in bytes.

    The copy is first made in the folder for temporary files, which must have enough space for it.
    """
    with tempfile.TemporaryDirectory(prefix="windrow-export-") as folder:
        path = Path(folder) / "summary.sqlite"
        with reader.reading() as connection, closing(sqlite3.connect(path)) as target:
            connection.backup(target, pages=-1)
            target.execute("PRAGMA journal_mode = DELETE").close()
        with path.open("rb") as file:
            copyfileobj(file, output, _COPY_BLOCK_BYTES)
            return file.tell()


_SELECT_IDENTITIES = """
SELECT u.str_url, g.first_seen_unix_utc, p.blake2b512_digest, d.title, d.description, d.primary_language
FROM {base}.entity_generation g JOIN {base}.url u ON u.url_id = g.url_id
LEFT JOIN {base}.text_pile p ON p.text_pile_id = g.text_pile_id
LEFT JOIN {base}.document_description d ON d.entity_generation_id = g.entity_generation_id
"""


def count_versions(old: Path, new: Path) -> tuple[int, int, int]:
    """Return the number of generations in `old`, the number in `new`, and how many generations differ.

    `old` and `new` are paths of databases. A generation differs if the other database has none with the same address,
    beginning, text, title, description and language. These generations are counted in each database, and the higher
    number is returned. Raises StoreError if a database cannot be read.
    """
    try:
        with closing(sqlite3.connect(new)) as connection:
            connection.execute("ATTACH ? AS before", (str(old),))
            old_count, new_count = (
                connection.execute(f"SELECT count(*) FROM {base}.entity_generation").fetchone()[0]
                for base in ("before", "main")
            )
            selects = [_SELECT_IDENTITIES.format(base=base) for base in ("main", "before")]
            added, removed = f"{selects[0]} EXCEPT {selects[1]}", f"{selects[1]} EXCEPT {selects[0]}"
            differing = max(
                connection.execute(f"SELECT count(*) FROM ({sql})").fetchone()[0] for sql in (added, removed)
            )
            return old_count, new_count, differing
    except sqlite3.Error as error:
        raise store_error(error, f"{old} and {new} cannot be compared: {error}") from error
