"""Tables as SQL text: schema and rows, for the client of another database.

The text is ready for `mariadb DATABASE < FILE`, `psql -f FILE` or `sqlite3 DATABASE < FILE`, from
whichever engine the rows come. It makes tables and fills them; it never drops or empties one, so
loading it twice is refused by the database and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any, NamedTuple, TextIO

import sqlalchemy as sa

from windrow.errors import StoreError, UsageError
from windrow.stores.databases import READ_ONLY, map_errors

DIALECTS = ("mysql", "postgresql", "sqlite")
"""The clients that a dump can be written for."""
BATCH = 100
"""Rows of one INSERT."""
_BEFORE = {
    "mysql": (
        "SET NAMES utf8mb4",
        "SET time_zone = '+00:00'",
        # Backslashes are escapes in what follows, quotes of names are back-ticks, zero is an id.
        "SET sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO'",
        "SET foreign_key_checks = 0",
        "START TRANSACTION",
    ),
    "postgresql": (
        "SET client_min_messages = warning",
        "SET client_encoding = 'UTF8'",
        "SET TIME ZONE 'UTC'",
        "SET standard_conforming_strings = on",
        "BEGIN",
    ),
    "sqlite": ("PRAGMA foreign_keys = OFF", "BEGIN"),
}
_AFTER = {
    "mysql": ("COMMIT", "SET foreign_key_checks = 1"),
    "postgresql": ("COMMIT",),
    "sqlite": ("COMMIT",),
}
_MYSQL_ESCAPES = str.maketrans(
    {"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\r": "\\r", "\x1a": "\\Z", "\b": "\\b", "\t": "\\t"}
)
_POSTGRESQL_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"})


def dump(engine: sa.Engine, metadata: sa.MetaData, dialect: str, output: TextIO) -> int:
    """Write the tables of `metadata` and their rows, as of one moment; return the number of rows.

    `dialect` is one of `DIALECTS`. Rows are streamed, ordered by primary key. Raises `StoreError` for a text with a
    NUL, which no client can load.
    """
    if dialect not in DIALECTS:
        raise UsageError(f"{dialect!r} is not a dialect of the dump: choose one of {', '.join(DIALECTS)}")
    target = sa.make_url(f"{dialect}+pymysql://" if dialect == "mysql" else f"{dialect}://")
    if dialect == "postgresql":
        output.write("\\set ON_ERROR_STOP on\n")
    output.writelines(f"{line};\n" for line in _BEFORE[dialect])
    kind = _schema(metadata, target, output)
    count = 0
    with map_errors(engine), _snapshot(engine) as connection:
        for table in metadata.sorted_tables:
            for part in _rows(connection, table):
                _insert(table, part, kind, output)
                count += len(part)
            if dialect == "postgresql":
                _sequence(table, kind, output)
    output.writelines(f"{line};\n" for line in _AFTER[dialect])
    return count


def _schema(metadata: sa.MetaData, target: sa.URL, output: TextIO) -> sa.Dialect:
    """Write what `create_all` would run on the target; return its dialect."""

    def write(element: Any, *_: Any, **__: Any) -> None:
        output.write(f"{str(element.compile(dialect=engine.dialect)).strip()};\n")

    engine = sa.create_mock_engine(target, write)
    metadata.create_all(engine, checkfirst=False)
    return engine.dialect


def _snapshot(engine: sa.Engine) -> sa.Connection:
    """Open a connection that sees one state of the database and does not block writers."""
    level = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name != "sqlite" else {}
    return engine.connect().execution_options(stream_results=True, **READ_ONLY, **level)


def _rows(connection: sa.Connection, table: sa.Table) -> Iterator[list[Any]]:
    query = sa.select(table).order_by(*table.primary_key.columns)
    with connection.execute(query.execution_options(yield_per=1000)) as rows:
        for part in rows.partitions(BATCH):
            yield list(part)


def _insert(table: sa.Table, rows: list[Any], dialect: sa.Dialect, output: TextIO) -> None:
    quote = dialect.identifier_preparer.quote
    names = ", ".join(quote(column.name) for column in table.columns)
    output.write(f"INSERT INTO {dialect.identifier_preparer.format_table(table)} ({names}) VALUES\n")
    zoned = [bool(getattr(column.type, "timezone", False)) for column in table.columns]
    write = _LITERALS[dialect.name]
    for number, row in enumerate(rows):
        texts = (_literal(value, write, zone) for value, zone in zip(row, zoned, strict=True))
        output.write(f"({', '.join(texts)})" + (",\n" if number + 1 < len(rows) else ";\n"))


def _sequence(table: sa.Table, dialect: sa.Dialect, output: TextIO) -> None:
    """Set PostgreSQL's sequence after the rows loaded."""
    column = table.autoincrement_column
    if column is not None:
        name = dialect.identifier_preparer.format_table(table)
        key = dialect.identifier_preparer.quote(column.name)
        next_id = f"coalesce((SELECT max({key}) FROM {name}), 0) + 1"
        sequence = f"pg_get_serial_sequence({_postgresql(name)}, {_postgresql(column.name)})"
        output.write(f"SELECT setval({sequence}, {next_id}, false);\n")


class _Words(NamedTuple):
    """How a client spells texts, bytes, booleans and times with a zone."""

    text: Callable[[str], str]
    octets: str
    truth: tuple[str, str]
    zone: str


def _literal(value: Any, words: _Words, zoned: bool) -> str:
    spell_value = _SPELL.get(type(value))
    if spell_value is None:
        raise StoreError(f"a {type(value).__name__} cannot be exported")
    return spell_value(value, words, zoned)


def _time(value: datetime, words: _Words, zoned: bool) -> str:
    plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    return f"'{plain.isoformat(' ')}{words.zone if zoned else ''}'"


def _number(value: float | Decimal, _words: _Words, _zoned: bool) -> str:
    if not isfinite(value):
        raise StoreError(f"{value} cannot be exported: not every database has it")
    return str(value) if isinstance(value, Decimal) else repr(value)


def _text(value: str, words: _Words, _zoned: bool) -> str:
    if "\0" in value:
        raise StoreError(f"a text with a NUL cannot be exported: {value[:40]!r}")
    return words.text(value)


_SPELL: dict[type, Callable[[Any, _Words, bool], str]] = {
    type(None): lambda _value, _words, _zoned: "NULL",
    bool: lambda value, words, _zoned: words.truth[value],
    int: _number,
    float: _number,
    Decimal: _number,
    datetime: _time,
    date: lambda value, _words, _zoned: f"'{value.isoformat()}'",
    bytes: lambda value, words, _zoned: words.octets.format(value.hex()),
    str: _text,
}


def _mysql(value: str) -> str:
    return f"'{value.translate(_MYSQL_ESCAPES)}'"


def _postgresql(value: str) -> str:
    if any(char in value for char in "\\\n\r"):
        return f"E'{value.translate(_POSTGRESQL_ESCAPES)}'"
    return "'" + value.replace("'", "''") + "'"


def _quote_sqlite(value: str) -> str:
    """Quote a text on one line: the shell reads by lines, and treats some as commands."""
    quoted = "'" + value.replace("'", "''") + "'"
    for char, number in (("\n", 10), ("\r", 13)):
        if char in value:
            mark = _make_unused_mark(quoted)
            quoted = f"replace({quoted.replace(char, mark)}, '{mark}', char({number}))"
    return quoted


def _make_unused_mark(text: str) -> str:
    """Return a mark that does not occur in the text."""
    number = 0
    while f"{{{number}}}" in text:
        number += 1
    return f"{{{number}}}"


_LITERALS = {
    "mysql": _Words(_mysql, "X'{}'", ("0", "1"), ""),
    "postgresql": _Words(_postgresql, "'\\x{}'", ("false", "true"), "+00"),
    "sqlite": _Words(_quote_sqlite, "X'{}'", ("0", "1"), ""),
}
