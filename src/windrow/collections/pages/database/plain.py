"""Plain forms of a Summary Database: a copy of the whole file, and a line for each version."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copyfileobj
from typing import BinaryIO, NamedTuple, cast

import sqlalchemy as sa

from windrow.collections.pages.database.join import BESIDE, ORIGINAL, versions
from windrow.stores.connect import READS, guarded
from windrow.stores.sqlite_file import store_error

BLOCK = 1 << 20

_VERSIONS = f"""
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
    """One version of one address; what does not apply is None. Times are UNIX seconds, `size` bytes.

    `ended` is None while it stands; `kind` is its media type, `redirect` where it led to. Versions that have the same
    text and other descriptions, one after the other, have the same `uuid`.
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


def generations(engine: sa.Engine) -> Iterator[GenerationRow]:
    """Yield every version, from one state of the database, in the order in which the texts were first seen."""
    with guarded(engine), engine.connect().execution_options(**READS, stream_results=True) as link, link.begin():
        for row in link.exec_driver_sql(_VERSIONS.format(versions=versions(link))):
            yield GenerationRow(*row)


def copy(engine: sa.Engine, out: BinaryIO) -> int:
    """Write the database as one file, as it is at one moment, whoever writes meanwhile; return its bytes.

    It is put together beside first, in the folder for temporary files, which must have room for it.
    """
    with tempfile.TemporaryDirectory(prefix="windrow-export-") as folder:
        path = Path(folder) / "summary.sqlite"
        with guarded(engine), closing(engine.raw_connection()) as held, closing(sqlite3.connect(path)) as target:
            cast(sqlite3.Connection, held.driver_connection).backup(target, pages=-1)
            target.execute("PRAGMA journal_mode = DELETE").close()
        with path.open("rb") as file:
            copyfileobj(file, out, BLOCK)
            return file.tell()


_IDENTITIES = """
SELECT u.str_url, g.first_seen_unix_utc, p.blake2b512_digest, d.title, d.description, d.primary_language
FROM {base}.entity_generation g JOIN {base}.url u ON u.url_id = g.url_id
LEFT JOIN {base}.text_pile p ON p.text_pile_id = g.text_pile_id
LEFT JOIN {base}.document_description d ON d.entity_generation_id = g.entity_generation_id
"""


def compare(old: Path, new: Path) -> tuple[int, int, int]:
    """Count the versions in two databases, and those of the second that are not in the first with the same text."""
    try:
        with closing(sqlite3.connect(new)) as link:
            link.execute("ATTACH ? AS before", (str(old),))
            counts = [
                link.execute(f"SELECT count(*) FROM {base}.entity_generation").fetchone()[0]
                for base in ("before", "main")
            ]
            apart = f"{_IDENTITIES.format(base='main')} EXCEPT {_IDENTITIES.format(base='before')}"
            return counts[0], counts[1], link.execute(f"SELECT count(*) FROM ({apart})").fetchone()[0]
    except sqlite3.Error as error:
        raise store_error(error, f"{old} and {new} cannot be compared: {error}") from error
