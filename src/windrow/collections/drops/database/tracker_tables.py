"""The 17 tables of the tracker that the IMPC Data Coordination Centre published, for MariaDB, PostgreSQL and SQLite.

They have the columns of the database `phenodcc_tracker` in the technical report TR-MRCH-DCC-GY012 (2013). In the
report, `zip_id` refers to a zip_file in zip_action, but to a zip_download in xml_file and zip_log.

The report's tables are for MySQL. For PostgreSQL and SQLite, CHECKs limit numbers and the lengths of texts where the
types do not, triggers refresh time stamps, and a collation compares texts without regard to case.
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

MARIADB_DIALECTS = ("mysql", "mariadb")
COLLATION = "utf8mb4_general_ci"
"""The collation of texts on MariaDB, which ignores case."""

OTHER_DIALECTS = ("postgresql", "sqlite")
NOCASE_COLLATION = "windrow_nocase"
"""The collation for PostgreSQL that ignores case. Before version 18, LIKE on columns with it needs another collation:
`file_name COLLATE "C" LIKE 'H.%'`."""

_SQLITE_SECONDS = sqlite.DATETIME(truncate_microseconds=True)  # type: ignore[no-untyped-call]
_MAX_UNSIGNED = {"tiny": 2**8 - 1, "small": 2**16 - 1, "int": 2**32 - 1, "big": 2**63 - 1}

_REFRESH_FUNCTION = (
    "CREATE OR REPLACE FUNCTION windrow_refresh() RETURNS trigger LANGUAGE plpgsql AS"
    " 'BEGIN NEW.last_update := date_trunc(''second'', CURRENT_TIMESTAMP); RETURN NEW; END'"
)


def only_on(*dialects: str) -> Callable[..., bool]:
    """Return a function for `ddl_if(callable_=...)` that returns True only for these dialects."""

    def is_one(*_: Any, dialect: sa.Dialect, **__: Any) -> bool:
        return dialect.name in dialects

    return is_one


def unsigned_type(size: str) -> tuple[TypeEngine[int], dict[str, Any]]:
    """Return the column type of an unsigned integer, and a dict with its maximum for the column's `info`.

    `size` is `tiny`, `small`, `int` or `big`.
    """
    mysql_type = {"tiny": mysql.TINYINT, "small": mysql.SMALLINT, "int": mysql.INTEGER, "big": mysql.BIGINT}[size]
    postgresql_type = {"tiny": sa.SmallInteger, "small": sa.Integer, "int": sa.BigInteger, "big": sa.BigInteger}[size]
    column_type: TypeEngine[int] = sa.Integer().with_variant(postgresql_type(), "postgresql")
    return column_type.with_variant(mysql_type(unsigned=True), *MARIADB_DIALECTS), {"maximum": _MAX_UNSIGNED[size]}


def nocase_type(length: int) -> sa.String:
    """Return the type of a text of at most `length` characters that is compared without regard to case."""
    string_type = sa.String(length)
    with_collation = string_type.with_variant(sa.String(length, collation=NOCASE_COLLATION), "postgresql")
    return with_collation.with_variant(sa.String(length, collation="NOCASE"), "sqlite")


def time_type() -> TypeEngine[Any]:
    """Return the type of a time in UTC in whole seconds, without a zone."""
    return sa.DateTime().with_variant(_SQLITE_SECONDS, "sqlite")


class Refreshed(FunctionElement[Any]):
    """The default of a time stamp that is set again when its row is updated."""

    inherit_cache = True


@compiles(Refreshed)
def _default(_element: Refreshed, _compiler: Any, **_: Any) -> str:
    return "CURRENT_TIMESTAMP"


@compiles(Refreshed, *MARIADB_DIALECTS)
def _default_mariadb(_element: Refreshed, _compiler: Any, **_: Any) -> str:
    return "CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP"


@compiles(Refreshed, "postgresql")
def _default_postgresql(_element: Refreshed, _compiler: Any, **_: Any) -> str:
    return "date_trunc('second', CURRENT_TIMESTAMP)"


def make_last_update() -> sa.Column[Any]:
    """Return the column `last_update`, which is set to the present time whenever another column of its row changes."""
    column_type = sa.TIMESTAMP(timezone=True).with_variant(_SQLITE_SECONDS, "sqlite")
    return sa.Column("last_update", column_type, nullable=False, server_default=Refreshed())


def add_checks_and_triggers(metadata: sa.MetaData) -> None:
    """Add to the tables of `metadata` the checks, triggers and collation that databases other than MariaDB need."""
    for table in metadata.tables.values():
        for column in list(table.columns):
            _add_checks(table, column)
            if isinstance(column.server_default, sa.DefaultClause) and isinstance(column.server_default.arg, Refreshed):
                _add_refresh_triggers(table, column)
    options = "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    for statement in (f"CREATE COLLATION IF NOT EXISTS {NOCASE_COLLATION} {options}", _REFRESH_FUNCTION):
        _add_statement(metadata, "before_create", statement, "postgresql")


def _add_checks(table: sa.Table, column: sa.Column[Any]) -> None:
    """Add CHECKs for a column's range and length, on databases whose types do not limit them."""
    maximum = column.info.get("maximum")
    if maximum is not None:
        rule = column.between(0, maximum) if maximum < _MAX_UNSIGNED["big"] else column >= 0
        sa.CheckConstraint(rule, name=f"ck_{table.name}_{column.name}").ddl_if(callable_=only_on(*OTHER_DIALECTS))
    length = getattr(column.type, "length", None)
    if isinstance(column.type, sa.String) and length is not None:
        name = f"ck_{table.name}_{column.name}_length"
        sa.CheckConstraint(sa.func.length(column) <= length, name=name).ddl_if(callable_=only_on("sqlite"))


def _add_refresh_triggers(table: sa.Table, column: sa.Column[Any]) -> None:
    """Add triggers that set a time stamp as MariaDB does: when a row changes, unless the statement sets the stamp."""
    name, stamp = table.name, column.name
    other_names = (f'"{sibling.name}"' for sibling in table.columns if sibling is not column)
    is_changed = " OR ".join(f"NEW.{column_name} IS NOT OLD.{column_name}" for column_name in other_names)
    # The last condition ends the recursion if a connection has recursive triggers.
    create_trigger = (
        f"CREATE TRIGGER refresh_{name} AFTER UPDATE ON {name} FOR EACH ROW"
        f" WHEN NEW.{stamp} IS OLD.{stamp} AND ({is_changed}) AND NEW.{stamp} IS NOT CURRENT_TIMESTAMP"
        f" BEGIN UPDATE {name} SET {stamp} = CURRENT_TIMESTAMP WHERE id = NEW.id; END"
    )
    _add_statement(table, "after_create", create_trigger, "sqlite")
    create_trigger = (
        f"CREATE TRIGGER refresh_{name} BEFORE UPDATE ON {name} FOR EACH ROW"
        f" WHEN (OLD.* IS DISTINCT FROM NEW.* AND OLD.{stamp} = NEW.{stamp})"
        " EXECUTE FUNCTION windrow_refresh()"
    )
    _add_statement(table, "after_create", create_trigger, "postgresql")


def _add_statement(target: sa.MetaData | sa.Table, event: str, text: str, dialect: str) -> None:
    ddl = DDL(text)  # type: ignore[no-untyped-call]
    sa.event.listen(target, event, ddl.execute_if(dialect=dialect))


DATABASE = "phenodcc_tracker"
"""The name of the database on a server if the URL does not contain one."""

PROJECTION = "drops"
"""The name of the tracker's projection, which distinguishes it from others in the same database."""

TRACKER = sa.MetaData()
"""The 17 tables of the tracker."""

NATURAL_KEYS: dict[str, tuple[str, ...]] = {
    "centre": ("short_name",),
    "an_exception": ("short_name",),
    "zip_file": ("file_name",),
    "zip_action": ("zip_id", "todo_id"),
    "file_source_has_zip": ("za_id", "file_source_id"),
}
"""A dict from table to the columns by which another program's row is recognised, to use it instead of a new one."""

_TABLE_OPTIONS: dict[str, Any] = {"sqlite_autoincrement": True}
for _dialect in MARIADB_DIALECTS:
    _TABLE_OPTIONS[f"{_dialect}_engine"] = "InnoDB"
    _TABLE_OPTIONS[f"{_dialect}_charset"] = "utf8mb4"
    _TABLE_OPTIONS[f"{_dialect}_collate"] = COLLATION

_TablePart = sa.Column[Any] | sa.schema.SchemaItem


def _make_unsigned(name: str, size: str, *, is_nullable: bool = False, **options: Any) -> sa.Column[Any]:
    column_type, info = unsigned_type(size)
    return sa.Column(name, column_type, nullable=is_nullable, info=info, **options)


def _make_text(name: str, length: int = 0, *, is_nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.String(length) if length else sa.Text(), nullable=is_nullable)


def _make_time(name: str, *, is_nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, time_type(), nullable=is_nullable)


def _make_reference(
    name: str, target: str, id_size: str, on_delete: str, *, is_nullable: bool = False
) -> list[_TablePart]:
    """Return a list of one column, which refers to `target`; ON UPDATE is CASCADE, and ON DELETE is `on_delete`."""
    column_type, info = unsigned_type(id_size)
    key = sa.ForeignKey(f"{target}.id", onupdate="CASCADE", ondelete=on_delete)
    return [sa.Column(name, column_type, key, nullable=is_nullable, info=info)]


def _define_table(name: str, id_size: str, *columns_and_keys: _TablePart | list[_TablePart]) -> None:
    """Add a table to `TRACKER`, with these columns and keys, an `id` of a size such as `small`, and `last_update`."""
    all_parts = [element for part in columns_and_keys for element in (part if isinstance(part, list) else [part])]
    columns = [element for element in all_parts if isinstance(element, sa.Column)]
    constraints = [element for element in all_parts if not isinstance(element, sa.Column)]
    key = _make_unsigned("id", id_size, primary_key=True, autoincrement=True)
    table = sa.Table(name, TRACKER, key, *columns, make_last_update(), *constraints, **_TABLE_OPTIONS)
    for column in columns:
        # InnoDB indexes every column with a reference; in other databases, a rule on deletes needs an index.
        has_delete_rule = any(key.ondelete != "RESTRICT" for key in column.foreign_keys)
        if has_delete_rule and not any(column.name in index.columns.keys()[:1] for index in table.indexes):
            index = sa.Index(f"ix_{name}_{column.name}", column)
            index.ddl_if(callable_=only_on(*OTHER_DIALECTS))


def _make_index(name: str, *columns: str) -> list[_TablePart]:
    return [sa.Index(f"ix_{name}_{'_'.join(columns)}", *columns)]


def _make_unique_key(name: str, *columns: str, with_index: bool = False) -> list[_TablePart]:
    """Return a unique key; if `with_index`, also the plain index that the report has, which only MariaDB gets."""
    keys: list[_TablePart] = [sa.UniqueConstraint(*columns, name=f"uq_{name}_{'_'.join(columns)}")]
    if with_index:
        index = sa.Index(f"ix_{name}_{'_'.join(columns)}", *columns)
        keys.append(index.ddl_if(callable_=only_on(*MARIADB_DIALECTS)))
    return keys


def _define_vocabulary(name: str, length: int, *parts: _TablePart, is_unique: bool) -> None:
    key = _make_unique_key(name, "short_name", with_index=True) if is_unique else _make_index(name, "short_name")
    short_name = sa.Column("short_name", sa.String(length), nullable=False)
    _define_table(name, "small", short_name, _make_text("description", is_nullable=True), *parts, key)


def _make_state_columns() -> list[_TablePart]:
    return _make_reference("phase_id", "phase", "small", "RESTRICT") + _make_reference(
        "status_id", "a_status", "small", "RESTRICT"
    )


_define_table(
    *("centre", "small", sa.Column("short_name", nocase_type(32), nullable=False)),
    *(_make_text("imits_name", 32, is_nullable=True), _make_text("full_name", 128), _make_text("email", 128)),
    *(_make_text("phone", 14, is_nullable=True), _make_text("address", 256, is_nullable=True)),
    sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
    *(_make_time("created"), _make_unique_key("centre", "short_name", with_index=True)),
)
_define_vocabulary("source_protocol", 8, is_unique=False)
_define_vocabulary("resource_state", 32, is_unique=False)
_define_table(
    *("file_source", "small", _make_reference("centre_id", "centre", "small", "CASCADE")),
    *(_make_reference("protocol_id", "source_protocol", "small", "CASCADE"), _make_text("hostname", 512)),
    *(_make_text("username", 128), _make_text("accesskey", 256), _make_text("base_path", 256, is_nullable=True)),
    *(_make_reference("state_id", "resource_state", "small", "CASCADE"), _make_time("created")),
    _make_index("file_source", "hostname"),
)
_define_vocabulary("phase", 64, is_unique=True)
_define_vocabulary("a_status", 64, sa.Column("rgba", sa.CHAR(8), nullable=False), is_unique=True)


def _make_file_columns() -> list[_TablePart]:
    return [
        *_make_reference("centre_id", "centre", "small", "SET NULL", is_nullable=True),
        sa.Column("created", sa.Date()),
        _make_unsigned("inc", "big", is_nullable=True),
        _make_unsigned("size_bytes", "big", is_nullable=True),
        sa.Column("content_md5", sa.CHAR(32)),
    ]


_define_table(
    *("zip_file", "big", sa.Column("file_name", nocase_type(128), nullable=False), _make_file_columns()),
    _make_unique_key("zip_file", "file_name", with_index=True),
)
_define_vocabulary("processing_type", 32, is_unique=False)
_define_table(
    *("zip_action", "big", _make_reference("zip_id", "zip_file", "big", "CASCADE")),
    *(_make_reference("todo_id", "processing_type", "small", "RESTRICT"), _make_state_columns()),
    _make_unique_key("zip_action", "zip_id", "todo_id"),
)
_define_table(
    *("file_source_has_zip", "big", _make_reference("za_id", "zip_action", "big", "CASCADE")),
    *(_make_reference("file_source_id", "file_source", "small", "CASCADE"), _make_unsigned("num_retries", "tiny")),
    _make_unique_key("file_source_has_zip", "za_id", "file_source_id"),
)
_define_table(
    *("zip_download", "big", _make_reference("zf_id", "file_source_has_zip", "big", "CASCADE")),
    *(_make_time("request"), _make_time("received")),
    *(_make_unsigned("downloaded_size_bytes", "big", server_default=sa.text("0")), _make_state_columns()),
)
_define_table(
    *("xml_file", "big", _make_reference("zip_id", "zip_download", "big", "CASCADE")),
    *(sa.Column("fname", nocase_type(128), nullable=False), _make_file_columns(), _make_state_columns()),
    *(_make_index("xml_file", "fname"), _make_index("xml_file", "created")),
)
_define_vocabulary("an_exception", 64, is_unique=True)
_define_table(
    *("zip_log", "big", _make_reference("zip_id", "zip_download", "big", "CASCADE")),
    *(_make_reference("exception_id", "an_exception", "small", "RESTRICT"), _make_text("message", is_nullable=True)),
    _make_index("zip_log", "exception_id"),
)
_define_table(
    *("xml_log", "big", _make_reference("xml_id", "xml_file", "big", "CASCADE")),
    *(_make_reference("exception_id", "an_exception", "small", "RESTRICT"), _make_text("message", is_nullable=True)),
    *(_make_unsigned("line", "int", is_nullable=True), _make_unsigned("col", "int", is_nullable=True)),
    _make_index("xml_log", "exception_id"),
)
_SIGNED_TYPE = sa.SmallInteger
_define_table(
    *("crawling_session", "big", _make_time("start_time"), _make_time("finish_time", is_nullable=True)),
    *(sa.Column("status", _SIGNED_TYPE(), nullable=False), _make_time("created")),
)
_define_table(
    *("session_task", "big", _make_reference("session_id", "crawling_session", "big", "CASCADE")),
    *(_make_reference("phase_id", "phase", "small", "RESTRICT"), _make_text("comment", 256, is_nullable=True)),
    *(_make_time("start_time"), _make_time("finish_time", is_nullable=True)),
    *(sa.Column("status", _SIGNED_TYPE(), nullable=False), _make_time("created")),
    *(_make_index("session_task", "session_id"), _make_index("session_task", "phase_id")),
)
add_checks_and_triggers(TRACKER)
