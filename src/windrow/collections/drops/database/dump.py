"""Write tables as SQL text (schema and rows), for the client of the same or of another database.

The text can be loaded with `mariadb DATABASE < FILE`, `psql -f FILE` or `sqlite3 DATABASE < FILE`, whatever database
the rows are read from. It creates tables and fills them, and never drops or empties one: if it is loaded a second time,
the database refuses it and nothing changes.
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
"""The databases for whose clients a dump can be written."""
ROWS_PER_INSERT = 100
"""The maximum number of rows in one INSERT."""
_STATEMENTS_BEFORE = {
    "mysql": (
        "SET NAMES utf8mb4",
        "SET time_zone = '+00:00'",
        # In the following statements, backslashes are escapes, names are in back-ticks, and zero is a valid id.
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
_STATEMENTS_AFTER = {
    "mysql": ("COMMIT", "SET foreign_key_checks = 1"),
    "postgresql": ("COMMIT",),
    "sqlite": ("COMMIT",),
}
_MYSQL_ESCAPES = str.maketrans(
    {"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\r": "\\r", "\x1a": "\\Z", "\b": "\\b", "\t": "\\t"}
)
_POSTGRESQL_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"})


def dump(engine: sa.Engine, metadata: sa.MetaData, dialect: str, output: TextIO) -> int:
    """Write the tables of `metadata` and their rows, all as of one moment; return the number of rows.

    Rows are streamed, ordered by primary key. Raises UsageError if `dialect` is not one of `DIALECTS`, and StoreError
    for a value that not every client can load: one of an unknown type, a text with a NUL, infinity or NaN.
    """
    if dialect not in DIALECTS:
        raise UsageError(f"{dialect!r} is not a dialect of the dump: choose one of {', '.join(DIALECTS)}")
    target = sa.make_url(f"{dialect}+pymysql://" if dialect == "mysql" else f"{dialect}://")
    if dialect == "postgresql":
        output.write("\\set ON_ERROR_STOP on\n")
    output.writelines(f"{line};\n" for line in _STATEMENTS_BEFORE[dialect])
    target_dialect = _write_schema(metadata, target, output)
    row_count = 0
    with map_errors(engine), _open_snapshot(engine) as connection:
        for table in metadata.sorted_tables:
            for rows in _read_rows(connection, table):
                _write_insert(table, rows, target_dialect, output)
                row_count += len(rows)
            if dialect == "postgresql":
                _write_sequence(table, target_dialect, output)
    output.writelines(f"{line};\n" for line in _STATEMENTS_AFTER[dialect])
    return row_count


def _write_schema(metadata: sa.MetaData, target: sa.URL, output: TextIO) -> sa.Dialect:
    def write(element: Any, *_: Any, **__: Any) -> None:
        output.write(f"{str(element.compile(dialect=engine.dialect)).strip()};\n")

    engine = sa.create_mock_engine(target, write)
    metadata.create_all(engine, checkfirst=False)
    return engine.dialect


def _open_snapshot(engine: sa.Engine) -> sa.Connection:
    """Open a connection that reads the database as of one moment and does not block writers."""
    level = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name != "sqlite" else {}
    return engine.connect().execution_options(stream_results=True, **READ_ONLY, **level)


def _read_rows(connection: sa.Connection, table: sa.Table) -> Iterator[list[Any]]:
    query = sa.select(table).order_by(*table.primary_key.columns)
    with connection.execute(query.execution_options(yield_per=1000)) as rows:
        for rows_to_insert in rows.partitions(ROWS_PER_INSERT):
            yield list(rows_to_insert)


def _write_insert(table: sa.Table, rows: list[Any], dialect: sa.Dialect, output: TextIO) -> None:
    quote = dialect.identifier_preparer.quote
    names = ", ".join(quote(column.name) for column in table.columns)
    output.write(f"INSERT INTO {dialect.identifier_preparer.format_table(table)} ({names}) VALUES\n")
    zone_flags = [bool(getattr(column.type, "timezone", False)) for column in table.columns]
    style = _LITERAL_STYLES[dialect.name]
    for number, row in enumerate(rows):
        try:
            texts = [_format_literal(value, style, has_zone) for value, has_zone in zip(row, zone_flags, strict=True)]
        except StoreError as error:
            raise StoreError(f"{table.name}, row {row[0]!r}: {error}") from None
        output.write(f"({', '.join(texts)})" + (",\n" if number + 1 < len(rows) else ";\n"))


def _write_sequence(table: sa.Table, dialect: sa.Dialect, output: TextIO) -> None:
    """Write the statement that makes PostgreSQL's sequence continue after the ids that were loaded."""
    column = table.autoincrement_column
    if column is not None:
        name = dialect.identifier_preparer.format_table(table)
        key = dialect.identifier_preparer.quote(column.name)
        next_id = f"coalesce((SELECT max({key}) FROM {name}), 0) + 1"
        sequence = f"pg_get_serial_sequence({_quote_postgresql(name)}, {_quote_postgresql(column.name)})"
        output.write(f"SELECT setval({sequence}, {next_id}, false);\n")


class _LiteralStyle(NamedTuple):
    """How a client spells literals.

    `bytes_format` has `{}` in place of the hex digits, `booleans` are (false, true), and `utc_suffix` is the end of a
    time with a zone.
    """

    quote_text: Callable[[str], str]
    bytes_format: str
    booleans: tuple[str, str]
    utc_suffix: str


def _format_literal(value: Any, style: _LiteralStyle, has_zone: bool) -> str:
    format_value = _LITERAL_FORMATTERS.get(type(value))
    if format_value is None:
        raise StoreError(f"a value of the type {type(value).__name__} cannot be exported")
    return format_value(value, style, has_zone)


def _format_time(value: datetime, style: _LiteralStyle, has_zone: bool) -> str:
    time_without_zone = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    return f"'{time_without_zone.isoformat(' ')}{style.utc_suffix if has_zone else ''}'"


def _format_number(value: float | Decimal, _style: _LiteralStyle, _has_zone: bool) -> str:
    if not isfinite(value):
        raise StoreError(f"{value} cannot be exported: not every database can store it")
    return str(value) if isinstance(value, Decimal) else repr(value)


def _format_text(value: str, style: _LiteralStyle, _has_zone: bool) -> str:
    if "\0" in value:
        raise StoreError(f"a text with a NUL cannot be exported: {value[:40]!r}")
    return style.quote_text(value)


_LITERAL_FORMATTERS: dict[type, Callable[[Any, _LiteralStyle, bool], str]] = {
    type(None): lambda _value, _style, _has_zone: "NULL",
    bool: lambda value, style, _has_zone: style.booleans[value],
    int: _format_number,
    float: _format_number,
    Decimal: _format_number,
    datetime: _format_time,
    date: lambda value, _style, _has_zone: f"'{value.isoformat()}'",
    bytes: lambda value, style, _has_zone: style.bytes_format.format(value.hex()),
    str: _format_text,
}


def _quote_mysql(value: str) -> str:
    return f"'{value.translate(_MYSQL_ESCAPES)}'"


def _quote_postgresql(value: str) -> str:
    if any(char in value for char in "\\\n\r"):
        return f"E'{value.translate(_POSTGRESQL_ESCAPES)}'"
    return "'" + value.replace("'", "''") + "'"


def _quote_sqlite(value: str) -> str:
    """Quote a text on one line, because SQLite's shell treats some lines as commands."""
    quoted = "'" + value.replace("'", "''") + "'"
    for char, code_point in (("\n", 10), ("\r", 13)):
        if char in value:
            placeholder = _make_unused_placeholder(quoted)
            quoted = f"replace({quoted.replace(char, placeholder)}, '{placeholder}', char({code_point}))"
    return quoted


def _make_unused_placeholder(text: str) -> str:
    number = 0
    while f"{{{number}}}" in text:
        number += 1
    return f"{{{number}}}"


_LITERAL_STYLES = {
    "mysql": _LiteralStyle(_quote_mysql, "X'{}'", ("0", "1"), ""),
    "postgresql": _LiteralStyle(_quote_postgresql, "'\\x{}'", ("false", "true"), "+00"),
    "sqlite": _LiteralStyle(_quote_sqlite, "X'{}'", ("0", "1"), ""),
}
