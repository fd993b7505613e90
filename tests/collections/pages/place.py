"""A Summary Database in memory, filled by plain SQL."""

from __future__ import annotations

import sqlite3
import uuid
from dataclasses import dataclass, field
from hashlib import blake2b
from urllib.parse import urlsplit

from windrow.collections.pages.database.writer import schema as made


def schema() -> str:
    """Return the DDL of the Summary Database."""
    return made("base", "summary")


@dataclass(frozen=True)
class Page:
    """An invented generation of a page; `links` are (URL, text)."""

    url: str
    text: str = ""
    title: str | None = None
    headline: str | None = None
    description: str | None = None
    secondary: str = ""
    big: str = ""
    small: str = ""
    code: str = ""
    quote: str = ""
    language: str | None = None
    created: int | None = None
    updated: int | None = None
    first: int = 1_000
    last: int = 2_000
    end: int | None = None
    duplicate: bool = False
    indexiness: int = -1
    kind: tuple[str, str, str | None] = ("text", "html", None)
    canonical: str | None = None
    links: tuple[tuple[str, str | None], ...] = field(default=())


def fill(connection: sqlite3.Connection, pages: list[Page]) -> list[int]:
    """Add generations and return their ids."""
    return [_add(connection, page) for page in pages]


def url_id(connection: sqlite3.Connection, url: str) -> int:
    """Return the id of a URL; add it if it is new."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    origin = f"{parts.scheme}://{parts.hostname}:{port}"
    connection.execute(
        "INSERT OR IGNORE INTO origin (scheme, host, port, str_origin) VALUES (?, ?, ?, ?)",
        (parts.scheme, parts.hostname, port, origin),
    )
    connection.execute(
        "INSERT OR IGNORE INTO url (origin_id, path, query, str_url)"
        " SELECT origin_id, ?, ?, ? FROM origin WHERE str_origin = ?",
        (parts.path, parts.query or None, url, origin),
    )
    return _one(connection, "SELECT url_id FROM url WHERE str_url = ?", url)


def _one(connection: sqlite3.Connection, sql: str, *values: object) -> int:
    return int(connection.execute(sql, values).fetchone()[0])


def _pile(connection: sqlite3.Connection, page: Page) -> int | None:
    fields = (page.text, page.secondary, page.big, page.small, page.code, page.quote)
    if not any(fields):
        return None
    digest = blake2b("\n\n\n".join(fields).encode()).digest()
    connection.execute("INSERT OR IGNORE INTO text_pile VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", (digest, *fields))
    return _one(connection, "SELECT text_pile_id FROM text_pile WHERE blake2b512_digest = ?", digest)


def _add(connection: sqlite3.Connection, page: Page) -> int:
    values = (url_id(connection, page.url), page.first, page.last, page.end, page.duplicate, _pile(connection, page))
    added = connection.execute(
        "INSERT INTO entity_generation (entity_generation_uuid, url_id, first_seen_unix_utc, last_seen_unix_utc,"
        " confirmed_end_unix_utc, marked_duplicate, text_pile_id) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (uuid.uuid4().bytes, *values),
    ).lastrowid
    assert added is not None
    description = (
        page.created,
        page.updated,
        page.language,
        page.title,
        page.headline,
        page.description,
        page.indexiness,
    )
    connection.execute("INSERT INTO document_description VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (added, *description))
    connection.execute(
        "INSERT INTO mimetype (mime_type, mime_subtype, mime_suffix) SELECT ?1, ?2, ?3 WHERE NOT EXISTS"
        " (SELECT 1 FROM mimetype WHERE mime_type = ?1 AND mime_subtype = ?2 AND mime_suffix IS ?3)",
        page.kind,
    )
    sql = "SELECT mimetype_id FROM mimetype WHERE mime_type = ? AND mime_subtype = ? AND mime_suffix IS ?"
    canonical = url_id(connection, page.canonical) if page.canonical else None
    connection.execute(
        "INSERT INTO file_summary VALUES (?, 1, ?, ?)", (added, _one(connection, sql, *page.kind), canonical)
    )
    for url, text in page.links:
        flags = ", ".join("0" * 19)
        connection.execute(
            "INSERT INTO link_summary VALUES ((SELECT coalesce(max(link_summary_id), 0) + 1 FROM link_summary), ?, ?,"
            f" NULL, {flags}, 0, 1, 'a', ?)",
            (added, url_id(connection, url), text),
        )
    return added
