"""The schema of the Summary Database, its catalogue of numbers, and one writer's hold of it."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, cast

import sqlalchemy as sa

from windrow.collections.pages.database.entries import AddressEntry, MimeEntry, TextSummary, origin, split
from windrow.stores.databases import PAGE, guarded, reach
from windrow.stores.sqlite import close_on_failure


def schema(*names: str) -> str:
    """Return the statements that make these tables: `base`, `summary`, `crawler`, `beside` (our own).

    >>> "CREATE TABLE origin" in schema("base")
    True
    """
    folder = files(__package__) / "schemas"
    return "\n".join((folder / f"{name}.sql").read_text(encoding="utf-8") for name in names)


def statements(*names: str) -> Iterator[str]:
    """Yield the statements one by one: `executescript` would commit each of them.

    >>> next(statements("near")).split()[-2:]
    ['NULL', ');']
    """
    statement = ""
    for line in schema(*names).splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


_NAME = "m.mime_type = ?1 AND m.mime_subtype = ?2 AND m.mime_suffix IS ?3"
_PLAIN = f"""
SELECT m.mimetype_id FROM mimetype m WHERE {_NAME}
AND NOT EXISTS (SELECT 1 FROM mime_parameter p WHERE p.mimetype_id = m.mimetype_id) LIMIT 1
"""
_WITH = f"""
SELECT m.mimetype_id FROM mime_parameter p CROSS JOIN mimetype m ON m.mimetype_id = p.mimetype_id
WHERE p.name = ?4 AND p.value = ?5 AND {_NAME} ORDER BY m.mimetype_id
"""

ROOM = 100_000
"""Addresses whose numbers are remembered; the pages of a site link to the same few again and again."""

_URLS = "SELECT str_url, url_id FROM json_each(?) CROSS JOIN url ON str_url = value"
_BARE = "INSERT INTO url (url_id, origin_id, str_url, path) VALUES (?, ?, ?, ?)"
_WHOLE = "INSERT INTO url (url_id, origin_id, str_url, path, query) VALUES (?, ?, ?, ?, ?)"


class Catalogue:
    """What one writer knows of the numbers; all of it is in the database too."""

    def __init__(self, link: sqlite3.Connection) -> None:
        """Work within the transactions of this connection."""
        self._link = link
        self._urls: dict[str, int] = {}
        self._origins: dict[str, int] = {}
        self._mimes: dict[MimeEntry, int] = {}

    def forget(self) -> None:
        """Forget everything: a transaction was taken back."""
        for known in (self._urls, self._origins, self._mimes):
            known.clear()

    def urls(self, wanted: Iterable[str]) -> Mapping[str, int]:
        """Return the number of every address, as it was written."""
        wanted = dict.fromkeys(wanted)
        known = self._urls
        missing = {url: split(url) for url in wanted if url not in known}
        if missing:
            if len(known) + len(missing) > ROOM:
                known = self._urls = {}
                missing = {url: split(url) for url in wanted}
            ids = self._numbered({address.text: address for address in missing.values()})
            for url, address in missing.items():
                known[url] = ids[address.text]
        return known

    def _numbered(self, addresses: Mapping[str, AddressEntry]) -> dict[str, int]:
        wanted = sorted(addresses)  # in the order of their index
        ids: dict[str, int] = dict(self._link.execute(_URLS, (json.dumps(wanted),)).fetchall())
        fresh = [addresses[text] for text in wanted if text not in ids]
        if fresh:
            origins = self._origin_ids(dict.fromkeys(address.origin for address in fresh))
            # Most have no query; they are written without naming it: sqlite3 takes its time over a None.
            bare = [one for one in fresh if one.query is None and one.path is not None]
            whole = [one for one in fresh if one.query is not None or one.path is None]
            for number, one in enumerate((*bare, *whole), self._last("url_id", "url") + 1):
                ids[one.text] = number
            self._link.executemany(_BARE, ((ids[one.text], origins[one.origin], one.text, one.path) for one in bare))
            self._link.executemany(
                _WHOLE, ((ids[one.text], origins[one.origin], one.text, one.path, one.query) for one in whole)
            )
        return ids

    def _origin_ids(self, wanted: Iterable[str]) -> Mapping[str, int]:
        known = self._origins
        missing = [text for text in wanted if text not in known]
        if missing:
            if len(known) > ROOM:
                known.clear()
                missing = list(wanted)
            sql = "SELECT str_origin, origin_id FROM origin WHERE str_origin IN"
            known.update(self._link.execute(f"{sql} (SELECT value FROM json_each(?))", (json.dumps(missing),)))
            number = self._last("origin_id", "origin")
            rows = []
            for text in missing:
                if text not in known:
                    number += 1
                    known[text] = number
                    rows.append((number, *origin(text)))
            self._link.executemany("INSERT INTO origin VALUES (?, ?, ?, ?, ?)", rows)
        return known

    def mime(self, mime: MimeEntry) -> int:
        """Return the number of a media type with its parameters."""
        if mime not in self._mimes:
            if len(self._mimes) >= ROOM:
                self._mimes.clear()
            self._mimes[mime] = self._mime(mime)
        return self._mimes[mime]

    def _mime(self, mime: MimeEntry) -> int:
        told = dict(mime.parameters)
        for number in self._alike(mime, told):
            sql = "SELECT name, value FROM mime_parameter WHERE mimetype_id = ?"
            if dict(self._link.execute(sql, (number,))) == told:
                return number
        number = self._last("mimetype_id", "mimetype") + 1
        self._link.execute("INSERT INTO mimetype VALUES (?, ?, ?, ?)", (number, *mime[:3]))
        rows = [(number, name, value) for name, value in told.items()]
        self._link.executemany("INSERT INTO mime_parameter VALUES (?, ?, ?)", rows)
        return number

    def _alike(self, mime: MimeEntry, told: Mapping[str, str]) -> Iterator[int]:
        """Yield media types of this name that have the rarest of its parameters, or none where it has none."""
        values: tuple[str | None, ...] = mime[:3]
        if told:
            count = "SELECT count(*) FROM (SELECT 1 FROM mime_parameter WHERE value = ?2 AND name = ?1 LIMIT 1000)"
            rarest = min(told.items(), key=lambda one: self._link.execute(count, one).fetchone()[0])
            sql, values = _WITH, (*values, *rarest)
        else:
            sql = _PLAIN
        return (int(row[0]) for row in self._link.execute(sql, values).fetchall())

    def piles(self, summaries: Iterable[TextSummary], others: Iterable[bytes] = ()) -> Mapping[bytes, int]:
        """Return the numbers of text piles by digest: those of summaries, made where they are new, and others."""
        texts = {summary.identity: summary.pile for summary in summaries if summary.pile is not None}
        wanted = [*texts, *others]
        marks = ",".join("?" * len(wanted))
        sql = f"SELECT blake2b512_digest, text_pile_id FROM text_pile WHERE blake2b512_digest IN ({marks})"
        ids: dict[bytes, int] = dict(self._link.execute(sql, wanted)) if wanted else {}
        number = self._last("text_pile_id", "text_pile")
        rows = []
        for digest, pile in texts.items():
            if digest not in ids:
                number += 1
                ids[digest] = number
                rows.append((number, digest, *pile))
        self._link.executemany("INSERT INTO text_pile VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        return ids

    def _last(self, column: str, table: str) -> int:
        return int(self._link.execute(f"SELECT coalesce(max({column}), 0) FROM {table}").fetchone()[0])


VERSIONS = {"base": "0.1.0", "summary": "0.0.0", "crawler": "0.0.0"}
"""Of the seed's schemas, as `unobtanium_database_info` tells them."""

VISIT, ADDRESS = "windrow.visit", "windrow.address"
"""Keys in `unobtanium_database_info`: the last visit of the ledger, and the last address, that are in the tables."""

_INFO = "INSERT INTO unobtanium_database_info VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_MADE = "SELECT 1 FROM sqlite_master WHERE name = 'unobtanium_database_info'"


class SummaryWriter:
    """A database in an SQLite file, written by one process at a time."""

    def __init__(self, url: str, schemas: Sequence[str], pragmas: Sequence[str] = (), *, page: int = PAGE) -> None:
        """Open the database at `url` (`sqlite:///FILE`), making the tables of `schemas` where it has none.

        `page` is the size of the pages of a file that is made.
        """
        self.engine: sa.Engine = reach(url, page=page)
        with guarded(self.engine):
            self._held = self.engine.raw_connection()
        with close_on_failure(self.close), guarded(self.engine):
            self._link = cast(sqlite3.Connection, self._held.driver_connection)
            for pragma in pragmas:
                self._link.execute(f"PRAGMA {pragma}").close()
            self._catalogue = Catalogue(self._link)
            with self._writing():
                if self._link.execute(_MADE).fetchone() is None:
                    self._make(schemas)
                for statement in statements("kind"):
                    self._link.execute(statement)

    def _make(self, schemas: Sequence[str]) -> None:
        for statement in statements(*schemas):
            self._link.execute(statement)
        told = {f"schema.{name}": VERSIONS[name] for name in schemas}
        told |= {"tool": "windrow", "created_unix_utc": str(int(time.time()))}
        self._link.executemany(_INFO, list(told.items()))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Open one transaction; all of it is written or nothing."""
        with guarded(self.engine):
            self._link.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._link.execute("COMMIT")
            except BaseException:
                self._catalogue.forget()
                self._link.rollback()
                raise

    def checkpoint(self, key: str = VISIT) -> int:
        """Return how far the ledger's visits (or with `ADDRESS`, its addresses) are in the tables, 0 at first."""
        rows = self._ask("SELECT value FROM unobtanium_database_info WHERE key = ?", key)
        return int(rows[0][0]) if rows else 0

    def _come(self, key: str, number: int) -> None:
        """Note within the transaction how far the tables have come."""
        self._link.execute(_INFO, (key, str(number)))

    def _ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with guarded(self.engine):
            return self._link.execute(sql, values).fetchall()

    def close(self) -> None:
        """Close the connection."""
        self._held.close()
        self.engine.dispose()
