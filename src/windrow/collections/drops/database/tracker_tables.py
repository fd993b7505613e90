"""The tracker: 17 tables, as the IMPC Data Coordination Centre published them, alike on three engines.

Source: technical report TR-MRCH-DCC-GY012 (2013), database `phenodcc_tracker`. Column for column
they are the report's tables; what PostgreSQL and SQLite lack is made up
for below. Note the report's naming: `zip_id` is a zip_file in zip_action, but a
zip_download in xml_file and zip_log.

The report's tables are for MySQL. On the other engines CHECKs replace unsigned ranges and text lengths,
triggers a refreshed time stamp, and a collation text that matches without regard to case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import DDL
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

MARIADB = ("mysql", "mariadb")
OTHERS = ("postgresql", "sqlite")
NOCASE = "windrow_nocase"
"""The collation on PostgreSQL. Before PostgreSQL 18, LIKE needs another one for its columns:
`file_name COLLATE "C" LIKE 'H.%'`."""

_SECONDS = sqlite.DATETIME(truncate_microseconds=True)  # type: ignore[no-untyped-call]
_RANGES = {"tiny": 2**8 - 1, "small": 2**16 - 1, "int": 2**32 - 1, "big": 2**63 - 1}

_REFRESH = (
    "CREATE OR REPLACE FUNCTION windrow_refresh() RETURNS trigger LANGUAGE plpgsql AS"
    " 'BEGIN NEW.last_update := date_trunc(''second'', CURRENT_TIMESTAMP); RETURN NEW; END'"
)


def on(*dialects: str) -> Callable[..., bool]:
    """Return the condition `callable_` of `ddl_if`: only on these engines."""

    def is_one(*_: Any, dialect: sa.Dialect, **__: Any) -> bool:
        return dialect.name in dialects

    return is_one


def unsigned(size: str) -> tuple[TypeEngine[int], dict[str, Any]]:
    """Return the type of an unsigned `tiny`, `small`, `int` or `big`, and the column info that `guard` needs."""
    exact = {"tiny": mysql.TINYINT, "small": mysql.SMALLINT, "int": mysql.INTEGER, "big": mysql.BIGINT}[size]
    wider = {"tiny": sa.SmallInteger, "small": sa.Integer, "int": sa.BigInteger, "big": sa.BigInteger}[size]
    kind: TypeEngine[int] = sa.Integer().with_variant(wider(), "postgresql")
    return kind.with_variant(exact(unsigned=True), *MARIADB), {"top": _RANGES[size]}


def nocase(length: int) -> sa.String:
    """Return the type of a text that matches without regard to case."""
    plain = sa.String(length)
    named = plain.with_variant(sa.String(length, collation=NOCASE), "postgresql")
    return named.with_variant(sa.String(length, collation="NOCASE"), "sqlite")


def moment() -> TypeEngine[Any]:
    """Return the type of a time in UTC, whole seconds, without a zone."""
    return sa.DateTime().with_variant(_SECONDS, "sqlite")


class Refreshed(FunctionElement[Any]):
    """The default of a time stamp that every update refreshes."""

    inherit_cache = True


@compiles(Refreshed)
def _default(_element: Refreshed, _compiler: Any, **_: Any) -> str:
    return "CURRENT_TIMESTAMP"


@compiles(Refreshed, *MARIADB)
def _default_mariadb(_element: Refreshed, _compiler: Any, **_: Any) -> str:
    return "CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP"


@compiles(Refreshed, "postgresql")
def _default_postgresql(_element: Refreshed, _compiler: Any, **_: Any) -> str:
    return "date_trunc('second', CURRENT_TIMESTAMP)"


def last_update() -> sa.Column[Any]:
    """Return the time stamp column that is refreshed whenever another column of its row changes."""
    kind = sa.TIMESTAMP(timezone=True).with_variant(_SECONDS, "sqlite")
    return sa.Column("last_update", kind, nullable=False, server_default=Refreshed())


def guard(metadata: sa.MetaData) -> None:
    """Give every table of `metadata` the checks, collation and triggers that its engine needs."""
    for table in metadata.tables.values():
        for column in list(table.columns):
            _check(table, column)
            if isinstance(column.server_default, sa.DefaultClause) and isinstance(column.server_default.arg, Refreshed):
                _refresh(table, column)
    for text in (
        f"CREATE COLLATION IF NOT EXISTS {NOCASE} (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        _REFRESH,
    ):
        _add(metadata, "before_create", text, "postgresql")


def _check(table: sa.Table, column: sa.Column[Any]) -> None:
    """Check a range or a length; SQLAlchemy adds a constraint on a column to its table."""
    top = column.info.get("top")
    if top is not None:
        rule = column.between(0, top) if top < _RANGES["big"] else column >= 0
        sa.CheckConstraint(rule, name=f"ck_{table.name}_{column.name}").ddl_if(callable_=on(*OTHERS))
    length = getattr(column.type, "length", None)
    if isinstance(column.type, sa.String) and length is not None:
        name = f"ck_{table.name}_{column.name}_length"
        sa.CheckConstraint(sa.func.length(column) <= length, name=name).ddl_if(callable_=on("sqlite"))


def _refresh(table: sa.Table, column: sa.Column[Any]) -> None:
    """Refresh like MariaDB: when a value changes and the statement did not set the stamp itself."""
    name, stamp = table.name, column.name
    other_names = (f'"{sibling.name}"' for sibling in table.columns if sibling is not column)
    changed = " OR ".join(f"NEW.{column_name} IS NOT OLD.{column_name}" for column_name in other_names)
    # The last condition ends the recursion if a connection has recursive triggers.
    text = (
        f"CREATE TRIGGER refresh_{name} AFTER UPDATE ON {name} FOR EACH ROW"
        f" WHEN NEW.{stamp} IS OLD.{stamp} AND ({changed}) AND NEW.{stamp} IS NOT CURRENT_TIMESTAMP"
        f" BEGIN UPDATE {name} SET {stamp} = CURRENT_TIMESTAMP WHERE id = NEW.id; END"
    )
    _add(table, "after_create", text, "sqlite")
    text = (
        f"CREATE TRIGGER refresh_{name} BEFORE UPDATE ON {name} FOR EACH ROW"
        f" WHEN (OLD.* IS DISTINCT FROM NEW.* AND OLD.{stamp} = NEW.{stamp})"
        " EXECUTE FUNCTION windrow_refresh()"
    )
    _add(table, "after_create", text, "postgresql")


def _add(target: sa.MetaData | sa.Table, event: str, text: str, dialect: str) -> None:
    ddl = DDL(text)  # type: ignore[no-untyped-call]
    sa.event.listen(target, event, ddl.execute_if(dialect=dialect))


DATABASE = "phenodcc_tracker"
"""The database's name on a server unless the URL has one."""

PROJECTION = "drops"
"""The projection's name beside others in one place."""

TRACKER = sa.MetaData()
"""The 17 tables."""

NATURAL_KEYS: dict[str, tuple[str, ...]] = {
    "centre": ("short_name",),
    "an_exception": ("short_name",),
    "zip_file": ("file_name",),
    "zip_action": ("zip_id", "todo_id"),
    "file_source_has_zip": ("za_id", "file_source_id"),
}
"""The columns by which an existing row is recognised and adopted."""

_OPTIONS: dict[str, Any] = {"sqlite_autoincrement": True}
for _dialect in MARIADB:
    _OPTIONS[f"{_dialect}_engine"] = "InnoDB"
    _OPTIONS[f"{_dialect}_charset"] = "utf8mb4"
    _OPTIONS[f"{_dialect}_collate"] = "utf8mb4_general_ci"

_TablePart = sa.Column[Any] | sa.schema.SchemaItem


def _whole(name: str, size: str, *, null: bool = False, **more: Any) -> sa.Column[Any]:
    kind, info = unsigned(size)
    return sa.Column(name, kind, nullable=null, info=info, **more)


def _text(name: str, length: int = 0, *, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.String(length) if length else sa.Text(), nullable=null)


def _time(name: str, *, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, moment(), nullable=null)


def _ref(name: str, target: str, size: str, rule: str, *, null: bool = False) -> list[_TablePart]:
    """Return a reference to another table: updates of its id cascade; `rule` is that for deletes."""
    kind, info = unsigned(size)
    key = sa.ForeignKey(f"{target}.id", onupdate="CASCADE", ondelete=rule)
    return [sa.Column(name, kind, key, nullable=null, info=info)]


def _table(name: str, size: str, *parts: _TablePart | list[_TablePart]) -> None:
    flat = [element for part in parts for element in (part if isinstance(part, list) else [part])]
    columns = [element for element in flat if isinstance(element, sa.Column)]
    constraints = [element for element in flat if not isinstance(element, sa.Column)]
    key = _whole("id", size, primary_key=True, autoincrement=True)
    table = sa.Table(name, TRACKER, key, *columns, last_update(), *constraints, **_OPTIONS)
    for column in columns:
        # InnoDB indexes every referring column by itself; elsewhere those with a rule for deletes need one.
        followed = any(key.ondelete != "RESTRICT" for key in column.foreign_keys)
        if followed and not any(column.name in index.columns.keys()[:1] for index in table.indexes):
            index = sa.Index(f"ix_{name}_{column.name}", column)
            index.ddl_if(callable_=on(*OTHERS))


def _index(name: str, *columns: str) -> list[_TablePart]:
    return [sa.Index(f"ix_{name}_{'_'.join(columns)}", *columns)]


def _unique(name: str, *columns: str, also: bool = False) -> list[_TablePart]:
    """Return a unique key; with `also` the standard has a plain index on the same column besides.

    That second index is useless, so it is made only on MariaDB, where the tables equal the report's.
    """
    keys: list[_TablePart] = [sa.UniqueConstraint(*columns, name=f"uq_{name}_{'_'.join(columns)}")]
    if also:
        index = sa.Index(f"ix_{name}_{'_'.join(columns)}", *columns)
        keys.append(index.ddl_if(callable_=on(*MARIADB)))
    return keys


def _vocabulary(name: str, length: int, *parts: _TablePart, unique: bool) -> None:
    """Define a vocabulary: `short_name` and `description`."""
    key = _unique(name, "short_name", also=True) if unique else _index(name, "short_name")
    short = sa.Column("short_name", sa.String(length), nullable=False)
    _table(name, "small", short, _text("description", null=True), *parts, key)


def _state() -> list[_TablePart]:
    return _ref("phase_id", "phase", "small", "RESTRICT") + _ref("status_id", "a_status", "small", "RESTRICT")


_table(
    *("centre", "small", sa.Column("short_name", nocase(32), nullable=False)),
    *(_text("imits_name", 32, null=True), _text("full_name", 128), _text("email", 128)),
    *(_text("phone", 14, null=True), _text("address", 256, null=True)),
    sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
    *(_time("created"), _unique("centre", "short_name", also=True)),
)
_vocabulary("source_protocol", 8, unique=False)
_vocabulary("resource_state", 32, unique=False)
_table(
    *("file_source", "small", _ref("centre_id", "centre", "small", "CASCADE")),
    *(_ref("protocol_id", "source_protocol", "small", "CASCADE"), _text("hostname", 512)),
    *(_text("username", 128), _text("accesskey", 256), _text("base_path", 256, null=True)),
    *(_ref("state_id", "resource_state", "small", "CASCADE"), _time("created")),
    _index("file_source", "hostname"),
)
_vocabulary("phase", 64, unique=True)
_vocabulary("a_status", 64, sa.Column("rgba", sa.CHAR(8), nullable=False), unique=True)


def _document() -> list[_TablePart]:
    """Return the columns of a file: the parts of its name, its size and its checksum."""
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
_vocabulary("processing_type", 32, unique=False)
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
_vocabulary("an_exception", 64, unique=True)
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
