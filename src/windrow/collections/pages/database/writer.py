"""The schemas of both databases, the ids of addresses, origins and media types, and the base class of writers."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from windrow.collections.pages.code import Mime
from windrow.collections.pages.database.entries import AddressEntry, TextSummary, split_address, split_origin
from windrow.errors import StoreError
from windrow.stores.sqlite import SqliteReader, SqliteStore, close_on_failure, open_database, open_or_read, store_errors
from windrow.stores.store_mark import StoreMark


def schema(*names: str) -> str:
    """Return the SQL of schemas. `names` are the names of files in the folder `schemas`, without `.sql`.

    >>> "CREATE TABLE origin" in schema("base")
    True
    """
    folder = files(__package__) / "schemas"
    return "\n".join((folder / f"{name}.sql").read_text(encoding="utf-8") for name in names)


def statements(*names: str) -> Iterator[str]:
    """Yield the SQL statements of schemas one by one, because `executescript` would commit the transaction.

    >>> next(statements("near")).split()[-2:]
    ['NULL', ');']
    """
    statement = ""
    for line in schema(*names).splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


_HAS_NAME = "m.mime_type = ?1 AND m.mime_subtype = ?2 AND m.mime_suffix IS ?3"
_SELECT_MIME_WITHOUT_PARAMETERS = f"""
SELECT m.mimetype_id FROM mimetype m WHERE {_HAS_NAME}
AND NOT EXISTS (SELECT 1 FROM mime_parameter p WHERE p.mimetype_id = m.mimetype_id) LIMIT 1
"""
_SELECT_MIME_WITH_PARAMETER = f"""
SELECT m.mimetype_id FROM mime_parameter p CROSS JOIN mimetype m ON m.mimetype_id = p.mimetype_id
WHERE p.name = ?4 AND p.value = ?5 AND {_HAS_NAME} ORDER BY m.mimetype_id
"""

MAX_REMEMBERED_IDS = 100_000
"""The number of ids above which a cache of ids (of addresses, origins or media types) is emptied."""

_SELECT_URL_IDS = "SELECT str_url, url_id FROM json_each(?) CROSS JOIN url ON str_url = value"
_INSERT_WITHOUT_QUERY = "INSERT INTO url (url_id, origin_id, str_url, path) VALUES (?, ?, ?, ?)"
_INSERT_WITH_QUERY = "INSERT INTO url (url_id, origin_id, str_url, path, query) VALUES (?, ?, ?, ?, ?)"


class IdFinder:
    """Finds ids of addresses, origins, media types and text piles; inserts new ones. Ids of piles are not cached."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._urls: dict[str, int] = {}
        self._origins: dict[str, int] = {}
        self._mimes: dict[Mime, int] = {}

    def forget(self) -> None:
        """Clear the cached ids. This is needed after a rollback, because new ids are not in the database then."""
        for ids in (self._urls, self._origins, self._mimes):
            ids.clear()

    def get_url_ids(self, addresses: Iterable[str]) -> Mapping[str, int]:
        """Insert new addresses. Return a dict from address to id, which contains `addresses` and perhaps others."""
        addresses = dict.fromkeys(addresses)
        cached_ids = self._urls
        missing_addresses = {url: split_address(url) for url in addresses if url not in cached_ids}
        if missing_addresses:
            if len(cached_ids) + len(missing_addresses) > MAX_REMEMBERED_IDS:
                cached_ids = self._urls = {}
                missing_addresses = {url: split_address(url) for url in addresses}
            ids = self._get_address_ids({address.text: address for address in missing_addresses.values()})
            for url, address in missing_addresses.items():
                cached_ids[url] = ids[address.text]
        return cached_ids

    def _get_address_ids(self, addresses: Mapping[str, AddressEntry]) -> dict[str, int]:
        sorted_addresses = sorted(addresses)  # in the order of the database index
        ids: dict[str, int] = dict(
            self._connection.execute(_SELECT_URL_IDS, (json.dumps(sorted_addresses),)).fetchall()
        )
        new_addresses = [addresses[text] for text in sorted_addresses if text not in ids]
        if new_addresses:
            origin_ids = self._get_origin_ids(dict.fromkeys(address.origin for address in new_addresses))
            # Most addresses do not have a query. They are inserted without that column: sqlite3 binds None slowly.
            without_query = [address for address in new_addresses if address.query is None and address.path is not None]
            with_query = [address for address in new_addresses if address.query is not None or address.path is None]
            for url_id, address in enumerate((*without_query, *with_query), self._last_id("url_id", "url") + 1):
                ids[address.text] = url_id
            self._connection.executemany(
                _INSERT_WITHOUT_QUERY,
                ((ids[new.text], origin_ids[new.origin], new.text, new.path) for new in without_query),
            )
            self._connection.executemany(
                _INSERT_WITH_QUERY,
                ((ids[new.text], origin_ids[new.origin], new.text, new.path, new.query) for new in with_query),
            )
        return ids

    def _get_origin_ids(self, origins: Iterable[str]) -> Mapping[str, int]:
        cached_ids = self._origins
        missing_origins = [text for text in origins if text not in cached_ids]
        if missing_origins:
            if len(cached_ids) > MAX_REMEMBERED_IDS:
                cached_ids.clear()
                missing_origins = list(origins)
            sql = "SELECT str_origin, origin_id FROM origin WHERE str_origin IN (SELECT value FROM json_each(?))"
            cached_ids.update(self._connection.execute(sql, (json.dumps(missing_origins),)))
            origin_id = self._last_id("origin_id", "origin")
            rows = []
            for text in missing_origins:
                if text not in cached_ids:
                    origin_id += 1
                    cached_ids[text] = origin_id
                    rows.append((origin_id, *split_origin(text)))
            self._connection.executemany("INSERT INTO origin VALUES (?, ?, ?, ?, ?)", rows)
        return cached_ids

    def get_mime_id(self, mime: Mime) -> int:
        """Return the id of a media type with its parameters; insert it if it is new."""
        if mime not in self._mimes:
            if len(self._mimes) >= MAX_REMEMBERED_IDS:
                self._mimes.clear()
            self._mimes[mime] = self._read_mime_id(mime)
        return self._mimes[mime]

    def _read_mime_id(self, mime: Mime) -> int:
        parameters = dict(mime.parameters)
        for mime_id in self._find_mime_ids(mime, parameters):
            sql = "SELECT name, value FROM mime_parameter WHERE mimetype_id = ?"
            if dict(self._connection.execute(sql, (mime_id,))) == parameters:
                return mime_id
        mime_id = self._last_id("mimetype_id", "mimetype") + 1
        self._connection.execute("INSERT INTO mimetype VALUES (?, ?, ?, ?)", (mime_id, *mime[:3]))
        rows = [(mime_id, name, value) for name, value in parameters.items()]
        self._connection.executemany("INSERT INTO mime_parameter VALUES (?, ?, ?)", rows)
        return mime_id

    def _find_mime_ids(self, mime: Mime, parameters: Mapping[str, str]) -> Iterator[int]:
        """Return the ids of the media types that may be equal to `mime`.

        They have the same name. If `mime` has parameters, they have its rarest one; otherwise they have none.
        """
        sql_parameters: tuple[str | None, ...] = mime[:3]
        if parameters:
            count_sql = "SELECT count(*) FROM (SELECT 1 FROM mime_parameter WHERE value = ?2 AND name = ?1 LIMIT 1000)"
            rarest = min(
                parameters.items(), key=lambda parameter: self._connection.execute(count_sql, parameter).fetchone()[0]
            )
            sql, sql_parameters = _SELECT_MIME_WITH_PARAMETER, (*sql_parameters, *rarest)
        else:
            sql = _SELECT_MIME_WITHOUT_PARAMETERS
        return (int(row[0]) for row in self._connection.execute(sql, sql_parameters).fetchall())

    def get_pile_ids(self, summaries: Iterable[TextSummary], other_digests: Iterable[bytes]) -> Mapping[bytes, int]:
        """Insert the new text piles of summaries; return a dict from the digest of each of their piles to its id.

        The dict also contains the existing piles with `other_digests`.
        """
        texts = {summary.identity: summary.pile for summary in summaries if summary.pile is not None}
        digests = [*texts, *other_digests]
        placeholders = ",".join("?" * len(digests))
        sql = f"SELECT blake2b512_digest, text_pile_id FROM text_pile WHERE blake2b512_digest IN ({placeholders})"
        ids: dict[bytes, int] = dict(self._connection.execute(sql, digests)) if digests else {}
        pile_id = self._last_id("text_pile_id", "text_pile")
        rows = []
        for digest, pile in texts.items():
            if digest not in ids:
                pile_id += 1
                ids[digest] = pile_id
                rows.append((pile_id, digest, *pile))
        self._connection.executemany("INSERT INTO text_pile VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        return ids

    def _last_id(self, column: str, table: str) -> int:
        return int(self._connection.execute(f"SELECT coalesce(max({column}), 0) FROM {table}").fetchone()[0])


VERSIONS = {"base": "0.1.0", "summary": "0.0.0", "crawler": "0.0.0"}
"""Versions of the standard's schemas, as written to `unobtanium_database_info`."""

ATTEMPT, ADDRESS, DESCRIBED = "windrow.attempt", "windrow.address", "windrow.described"
"""The keys in `unobtanium_database_info` under which the numbers of the last attempt and address are stored.

DESCRIBED is that of the last attempt in the crawler database that was compared with the Summary Database.
"""
LEDGER = "windrow.ledger"
"""The key under which the identity of the ledger is stored whose attempts a database has."""


def read_mark(path: Path) -> StoreMark:
    """Return of which ledger a database is, and its last attempt; raise StoreError if it cannot be read."""
    keys = (ATTEMPT, DESCRIBED, LEDGER)
    query = "SELECT key, value FROM unobtanium_database_info WHERE key IN (?, ?, ?)"
    with closing(SqliteReader(path)) as reader, reader.reading() as connection:
        info = dict(connection.execute(query, keys).fetchall())
    try:
        owner = int(info.pop(LEDGER, 0))
        return StoreMark(owner, max(map(int, info.values()), default=0))
    except ValueError:
        raise wrong_checkpoint(path) from None


def wrong_checkpoint(path: Path) -> StoreError:
    """Return the error for the database at `path`, whose checkpoint is not a number."""
    return StoreError(f"{path} was not written by windrow alone: its checkpoint is not a number")


_SET_INFO = "INSERT INTO unobtanium_database_info VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_HAS_INFO = "SELECT 1 FROM sqlite_master WHERE name = 'unobtanium_database_info'"


class DatabaseWriter(SqliteStore):
    """The Summary Database or the crawler database in an SQLite file, written by one process at a time."""

    def __init__(self, path: Path, schemas: Sequence[str], pragmas: Sequence[str], *, page_bytes: int = 4096) -> None:
        """Open the database in a file, set the SQLite `pragmas`, and create the tables of `schemas` if the file is new.

        An existing file that cannot be written is opened for reading; `_writing` then raises the error. `page_bytes` is
        the size of an SQLite page in a new file. SQLite does not wait for the disk after every batch: rows that a power
        failure removes are written again.
        """
        self.path, self._refusal = path, None
        with self._guarded():
            self._connection, self._refusal = open_or_read(path, partial(open_database, page_size=page_bytes))
        with close_on_failure(self.close), self._guarded():
            for pragma in ("synchronous = NORMAL", "cache_size = -16384", "temp_store = MEMORY", *pragmas):
                self._connection.execute(f"PRAGMA {pragma}").close()
            self._id_finder = IdFinder(self._connection)
            if self._refusal is None:
                self._prepare_tables(schemas)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            with store_errors(self.path, is_written=self._refusal is None):
                yield
        except OverflowError as error:
            raise StoreError(f"{self.path}: {error}") from error

    def _prepare_tables(self, schemas: Sequence[str]) -> None:
        with self._writing():
            if self._connection.execute(_HAS_INFO).fetchone() is None:
                self._create_tables(schemas)
            for statement in statements("kind"):
                self._connection.execute(statement)

    def _create_tables(self, schemas: Sequence[str]) -> None:
        for statement in statements(*schemas):
            self._connection.execute(statement)
        info = {f"schema.{name}": VERSIONS[name] for name in schemas}
        info |= {"tool": "windrow", "created_unix_utc": str(int(time.time()))}
        self._connection.executemany(_SET_INFO, list(info.items()))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Run the block in one transaction. An exception rolls it back and clears the cached ids."""
        try:
            with super()._writing():
                yield
        except BaseException:
            self._id_finder.forget()
            raise

    def checkpoint(self, key: str = ATTEMPT) -> int:
        """Return the number under `key`, by default that of the last attempt in the tables; 0 if it is not set.

        Raises StoreError if it is not a number.
        """
        rows = self._query("SELECT value FROM unobtanium_database_info WHERE key = ?", key)
        try:
            return int(rows[0][0]) if rows else 0
        except ValueError:
            raise wrong_checkpoint(self.path) from None

    def owner(self) -> int:
        """Return the identity of the ledger whose attempts the database has, or 0 if it is not recorded."""
        return self.checkpoint(LEDGER)

    def set_owner(self, ledger: int) -> None:
        """Record the identity of the ledger whose attempts the database has."""
        with self._writing():
            self._set_checkpoint(LEDGER, ledger)

    def _set_checkpoint(self, key: str, number: int) -> None:
        self._connection.execute(_SET_INFO, (key, str(number)))

    def _query(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with self._guarded():
            return self._connection.execute(sql, parameters).fetchall()
