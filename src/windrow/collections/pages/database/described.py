"""What a Summary Database says of the files of visits, for those who keep the crawl's books."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from windrow.collections.pages.database.entries import MimeEntry
from windrow.collections.pages.database.writer import VISIT

_COME = "SELECT value FROM unobtanium_database_info WHERE key = ?"
_DESCRIBED = """
SELECT o.visit, o.exit_code, c.str_url, m.mimetype_id, m.mime_type, m.mime_subtype, m.mime_suffix
FROM windrow_observation o
LEFT JOIN windrow_wording w ON w.said = o.said
LEFT JOIN windrow_reading r ON r.entity_generation_id = o.entity_generation_id AND r.visit = o.visit
LEFT JOIN file_summary f ON f.entity_generation_id = r.entity_generation_id
LEFT JOIN url c ON c.url_id = coalesce(f.canonical_url_id, w.canonical_url_id)
LEFT JOIN mimetype m ON m.mimetype_id = coalesce(f.mimetype_id, w.mimetype_id)
WHERE o.visit > ? AND o.visit <= ? AND o.sight = 'content' ORDER BY o.visit LIMIT ?
"""
_PARAMETERS = "SELECT name, value FROM mime_parameter WHERE mimetype_id = ? ORDER BY rowid"


class DescribedFile(NamedTuple):
    """The file of a visit: its exit code, its media type with the parameters, and the address of its original."""

    visit: int
    exit_code: int
    mime: MimeEntry | None
    canonical: str


class DescribedFiles(NamedTuple):
    """Some files in the order of their visits, and up to which visit these are all."""

    files: list[DescribedFile]
    upto: int


def described(path: Path, after: int, upto: int, limit: int) -> DescribedFiles:
    """Return what is said of visits after one and up to another, of so many at most.

    Of a database that is not there, or was not brought up to date yet, nothing is known.
    """
    if not path.is_file():
        return DescribedFiles([], after)
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=30)) as link:
        try:
            come = link.execute(_COME, (VISIT,)).fetchone()
            last = min(upto, int(come[0]) if come else 0)
            rows = link.execute(_DESCRIBED, (after, last, limit)).fetchall()
        except sqlite3.OperationalError:
            return DescribedFiles([], after)
        told = {row[3]: tuple(link.execute(_PARAMETERS, row[3:4]).fetchall()) for row in rows if row[3] is not None}
    files = [
        DescribedFile(
            visit, code, None if number is None else MimeEntry(kind, subtype, suffix, told[number]), url or ""
        )
        for visit, code, url, number, kind, subtype, suffix in rows
    ]
    return DescribedFiles(files, max(after, files[-1].visit if len(files) == limit else last))
