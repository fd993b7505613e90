"""Columns that mean the same on MariaDB, PostgreSQL and SQLite.

The standards that windrow speaks were written as MySQL tables. What the other engines lack is made
up for: unsigned ranges and text lengths by CHECKs, a refreshed time stamp by triggers, text that
matches without regard to case by a collation.
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
"""The collation made on PostgreSQL. Before PostgreSQL 18 its columns take part in LIKE only with
another one: `file_name COLLATE "C" LIKE 'H.%'`."""

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
    """Return the type of an unsigned `tiny`, `small`, `int` or `big`, and what `guard` needs of it."""
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
    """The default of a time stamp that follows every update."""

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
    """Return the time stamp column that is set anew whenever another column of its row changes."""
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
    """Check a range or a length; a check made of a column joins that column's table by itself."""
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
    others = (f'"{one.name}"' for one in table.columns if one is not column)
    changed = " OR ".join(f"NEW.{other} IS NOT OLD.{other}" for other in others)
    # The last condition ends the recursion where a connection has switched recursive triggers on.
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
