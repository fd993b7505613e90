"""The tracker: 17 tables, as the IMPC Data Coordination Centre published them.

Source: technical report TR-MRCH-DCC-GY012 (2013), database `phenodcc_tracker`. Column for column
they are the report's tables; on PostgreSQL and SQLite, `windrow.stores.column` makes up for what
those engines lack. Mind the report's naming trap: `zip_id` is a zip_file in zip_action, but a
zip_download in xml_file and zip_log.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from windrow.stores.column import MARIADB, OTHERS, guard, last_update, moment, nocase, on, unsigned

DATABASE = "phenodcc_tracker"
"""What the database is called on a server unless configured otherwise."""

BOOKS = "drops"
"""What its books are called beside others in one place."""

TRACKER = sa.MetaData()
"""The 17 tables."""

NATURAL: dict[str, tuple[str, ...]] = {
    "centre": ("short_name",),
    "an_exception": ("short_name",),
    "zip_file": ("file_name",),
    "zip_action": ("zip_id", "todo_id"),
    "file_source_has_zip": ("za_id", "file_source_id"),
}
"""By which columns a row that is already there is recognised and taken over."""

_OPTIONS: dict[str, Any] = {"sqlite_autoincrement": True}
for _dialect in MARIADB:
    _OPTIONS[f"{_dialect}_engine"] = "InnoDB"
    _OPTIONS[f"{_dialect}_charset"] = "utf8mb4"
    _OPTIONS[f"{_dialect}_collate"] = "utf8mb4_general_ci"

_Made = sa.Column[Any] | sa.schema.SchemaItem


def _whole(name: str, size: str, *, null: bool = False, **more: Any) -> sa.Column[Any]:
    kind, info = unsigned(size)
    return sa.Column(name, kind, nullable=null, info=info, **more)


def _text(name: str, length: int = 0, *, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.String(length) if length else sa.Text(), nullable=null)


def _time(name: str, *, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, moment(), nullable=null)


def _ref(name: str, target: str, size: str, rule: str, *, null: bool = False) -> list[_Made]:
    """Refer to another table; renumbering it is followed, deleting is as the rule says."""
    kind, info = unsigned(size)
    key = sa.ForeignKey(f"{target}.id", onupdate="CASCADE", ondelete=rule)
    return [sa.Column(name, kind, key, nullable=null, info=info)]


def _table(name: str, size: str, *parts: _Made | list[_Made]) -> None:
    flat = [one for part in parts for one in (part if isinstance(part, list) else [part])]
    columns = [one for one in flat if isinstance(one, sa.Column)]
    others = [one for one in flat if not isinstance(one, sa.Column)]
    key = _whole("id", size, primary_key=True, autoincrement=True)
    table = sa.Table(name, TRACKER, key, *columns, last_update(), *others, **_OPTIONS)
    for column in columns:
        # InnoDB indexes every referring column by itself; elsewhere those that deletes follow need it.
        followed = any(key.ondelete != "RESTRICT" for key in column.foreign_keys)
        if followed and not any(column.name in index.columns.keys()[:1] for index in table.indexes):
            index = sa.Index(f"ix_{name}_{column.name}", column)
            index.ddl_if(callable_=on(*OTHERS))


def _index(name: str, *columns: str) -> list[_Made]:
    return [sa.Index(f"ix_{name}_{'_'.join(columns)}", *columns)]


def _unique(name: str, *columns: str, also: bool = False) -> list[_Made]:
    """Make a unique key; with `also` the standard has a plain index on the same column besides.

    That second index is of no use to anybody, so it is made only where likeness is asked for.
    """
    made: list[_Made] = [sa.UniqueConstraint(*columns, name=f"uq_{name}_{'_'.join(columns)}")]
    if also:
        index = sa.Index(f"ix_{name}_{'_'.join(columns)}", *columns)
        made.append(index.ddl_if(callable_=on(*MARIADB)))
    return made


def _named(name: str, length: int, *more: _Made, unique: bool) -> None:
    """Make a list of words: `short_name` and `description`."""
    key = _unique(name, "short_name", also=True) if unique else _index(name, "short_name")
    short = sa.Column("short_name", sa.String(length), nullable=False)
    _table(name, "small", short, _text("description", null=True), *more, key)


def _state() -> list[_Made]:
    return _ref("phase_id", "phase", "small", "RESTRICT") + _ref("status_id", "a_status", "small", "RESTRICT")


_table(
    *("centre", "small", sa.Column("short_name", nocase(32), nullable=False)),
    *(_text("imits_name", 32, null=True), _text("full_name", 128), _text("email", 128)),
    *(_text("phone", 14, null=True), _text("address", 256, null=True)),
    sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
    *(_time("created"), _unique("centre", "short_name", also=True)),
)
_named("source_protocol", 8, unique=False)
_named("resource_state", 32, unique=False)
_table(
    *("file_source", "small", _ref("centre_id", "centre", "small", "CASCADE")),
    *(_ref("protocol_id", "source_protocol", "small", "CASCADE"), _text("hostname", 512)),
    *(_text("username", 128), _text("accesskey", 256), _text("base_path", 256, null=True)),
    *(_ref("state_id", "resource_state", "small", "CASCADE"), _time("created")),
    _index("file_source", "hostname"),
)
_named("phase", 64, unique=True)
_named("a_status", 64, sa.Column("rgba", sa.CHAR(8), nullable=False), unique=True)


def _document() -> list[_Made]:
    """Say what a file's name tells, its size and its checksum."""
    return [
        *_ref("centre_id", "centre", "small", "SET NULL", null=True),
        sa.Column("created", sa.Date()),
        _whole("inc", "big", null=True),
        _whole("size_bytes", "big", null=True),
        sa.Column("content_md5", sa.CHAR(32)),
    ]


_table(
    *("zip_file", "big", sa.Column("file_name", nocase(128), nullable=False), _document()),
    _unique("zip_file", "file_name", also=True),
)
_named("processing_type", 32, unique=False)
_table(
    *("zip_action", "big", _ref("zip_id", "zip_file", "big", "CASCADE")),
    *(_ref("todo_id", "processing_type", "small", "RESTRICT"), _state()),
    _unique("zip_action", "zip_id", "todo_id"),
)
_table(
    *("file_source_has_zip", "big", _ref("za_id", "zip_action", "big", "CASCADE")),
    *(_ref("file_source_id", "file_source", "small", "CASCADE"), _whole("num_retries", "tiny")),
    _unique("file_source_has_zip", "za_id", "file_source_id"),
)
_table(
    *("zip_download", "big", _ref("zf_id", "file_source_has_zip", "big", "CASCADE")),
    *(_time("request"), _time("received")),
    *(_whole("downloaded_size_bytes", "big", server_default=sa.text("0")), _state()),
)
_table(
    *("xml_file", "big", _ref("zip_id", "zip_download", "big", "CASCADE")),
    *(sa.Column("fname", nocase(128), nullable=False), _document(), _state()),
    *(_index("xml_file", "fname"), _index("xml_file", "created")),
)
_named("an_exception", 64, unique=True)
_table(
    *("zip_log", "big", _ref("zip_id", "zip_download", "big", "CASCADE")),
    *(_ref("exception_id", "an_exception", "small", "RESTRICT"), _text("message", null=True)),
    _index("zip_log", "exception_id"),
)
_table(
    *("xml_log", "big", _ref("xml_id", "xml_file", "big", "CASCADE")),
    *(_ref("exception_id", "an_exception", "small", "RESTRICT"), _text("message", null=True)),
    *(_whole("line", "int", null=True), _whole("col", "int", null=True)),
    _index("xml_log", "exception_id"),
)
_signed = sa.SmallInteger
_table(
    *("crawling_session", "big", _time("start_time"), _time("finish_time", null=True)),
    *(sa.Column("status", _signed(), nullable=False), _time("created")),
)
_table(
    *("session_task", "big", _ref("session_id", "crawling_session", "big", "CASCADE")),
    *(_ref("phase_id", "phase", "small", "RESTRICT"), _text("comment", 256, null=True)),
    *(_time("start_time"), _time("finish_time", null=True)),
    *(sa.Column("status", _signed(), nullable=False), _time("created")),
    *(_index("session_task", "session_id"), _index("session_task", "phase_id")),
)
guard(TRACKER)
