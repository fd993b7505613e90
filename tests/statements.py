"""Compiles each SQL statement once in a process, for all databases of one kind.

SQLAlchemy keeps compiled statements for each engine. Each workspace of a test has engines of its own, so a third of the
time of a small harvest of `drops` would be spent on compiling the same statements again.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

_COMPILED: LRUCache[Any, Any] = LRUCache(5_000)


def _is_alike(dialect: DefaultDialect, other: object) -> bool:
    """Return whether two engines compile alike: they have one kind of database, of one version, with the same quotes."""
    return dialect is other or (type(dialect) is type(other) and _describe(dialect) == _describe(other))


def _describe(dialect: Any) -> tuple[object, ...]:
    return dialect.server_version_info, getattr(dialect, "_server_ansiquotes", None), dialect.paramstyle


@cache
def share_compiled_statements() -> None:
    """Let all engines of this process use each other's compiled statements."""
    DefaultDialect.__eq__ = _is_alike  # type: ignore[method-assign, assignment]
    DefaultDialect.__hash__ = lambda dialect: hash(type(dialect))  # type: ignore[method-assign, assignment]

    @sa.event.listens_for(sa.Engine, "engine_connect")
    def share(connection: sa.Connection) -> None:
        connection.engine._compiled_cache = _COMPILED
