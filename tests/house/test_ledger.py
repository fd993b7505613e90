"""The ledger's tables are known to its own package alone: others ask by its methods, and get typed rows."""

from __future__ import annotations

import ast
import re
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from windrow.ledger.database import migrations, queries

from .tree import ROOT, at, nodes, python

INSIDE = {"windrow.ledger.database", "windrow.ledger.batch"}
"""Modules that only the ledger's own import; `schema` and `newest_schema` tell others the number of the last migration."""

STATEMENT = re.compile(r"\b(SELECT|INSERT INTO|DELETE FROM|UPDATE)\b[^a-z]+\w")
PACKAGE = ROOT / "src" / "windrow" / "ledger"

OWN_DATABASE = {"check.py"}
"""Modules of the engine that sort in a database of their own, which lives as long as the call."""


def outside() -> list[Path]:
    """Return the modules of windrow that are not the ledger's."""
    return [path for path in python("src") if PACKAGE not in path.parents]


def reached(path: Path) -> Iterator[ast.AST]:
    """Yield where a module reaches into the ledger."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module in INSIDE:
            if {one.name for one in node.names} - {"schema", "newest_schema"}:
                yield node
        elif isinstance(node, ast.Attribute) and node.attr == "database":
            owner = node.value
            if (isinstance(owner, ast.Name) and owner.id == "ledger") or (
                isinstance(owner, ast.Attribute) and owner.attr in {"ledger", "_ledger"}
            ):
                yield node


def test_nobody_outside_reaches_into_the_ledger() -> None:
    found = [at(path, node) for path in outside() for node in reached(path)]
    assert found == [], "ask by a method of the ledger; where none fits, add one to the module of its subject"


def test_the_engine_has_no_sql_outside_the_ledger() -> None:
    found = [
        at(path, node)
        for path in outside()
        if path.relative_to(ROOT / "src" / "windrow").parts[0] == "engine" and path.name not in OWN_DATABASE
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and STATEMENT.search(node.value)
    ]
    assert found == [], "SQL stands in the .sql files of the ledger"


@cache
def package_text() -> str:
    """Return the source of the ledger's package."""
    return "".join(path.read_text() for path in sorted(PACKAGE.glob("*.py")))


@pytest.mark.parametrize("name", sorted(queries()))
def test_every_query_is_run_somewhere(name: str) -> None:
    assert f'"{name}"' in package_text(), "delete it, or ask it"


DECLARED = re.compile(
    r"BIGINT|INTEGER|DOUBLE PRECISION|BLOB|TEXT|VARCHAR\(\d+\)|TIME_TEXT|REASON_TEXT|LEVEL_TEXT|STATUS_INT|FLAG_INT"
)


def test_every_column_is_declared_with_a_known_type() -> None:
    database = sqlite3.connect(":memory:")
    for _, script in migrations():
        database.executescript(script)
    columns = database.execute(
        "SELECT t.name || '.' || c.name, c.type FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'"
    ).fetchall()
    database.close()
    assert len(columns) > 200
    assert [column for column, declared in columns if not DECLARED.fullmatch(declared)] == []
