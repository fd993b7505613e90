"""The ledger's tables are known to its own package alone: others ask by its methods, and get typed rows."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from windrow.ledger.database import queries
from windrow.ledger.sql_file import SqlBlock

from .tree import ROOT, at, nodes, python

INSIDE = {"windrow.ledger.database", "windrow.ledger.batch"}
"""Modules that only the ledger's own import; `schema` and `newest_schema` tell others the number of the last migration."""

STATEMENT = re.compile(r"\b(SELECT|INSERT INTO|DELETE FROM|UPDATE)\b[^a-z]+\w")
PACKAGE = ROOT / "src" / "windrow" / "ledger"
TOOL = ROOT / "tools" / "typed_queries.py"

OWN_DATABASE = {"check.py"}
"""Modules of the engine that sort in a database of their own, which lives as long as the call."""


def outside() -> list[Path]:
    """Return the modules of windrow that are not the ledger's."""
    return [path for path in python("src") if PACKAGE not in path.parents]


def reached(path: Path) -> Iterator[ast.AST]:
    """Yield where a module reaches into the ledger."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module in INSIDE:
            if {alias.name for alias in node.names} - {"schema", "newest_schema"}:
                yield node
        elif isinstance(node, ast.Attribute) and node.attr == "database":
            owner = node.value
            if (isinstance(owner, ast.Name) and owner.id == "ledger") or (
                isinstance(owner, ast.Attribute) and owner.attr in {"ledger", "_ledger"}
            ):
                yield node


def test_nobody_outside_reaches_into_the_ledger() -> None:
    faults = [at(path, node) for path in outside() for node in reached(path)]
    assert faults == [], "ask by a method of the ledger; where none fits, add one to the module of its subject"


def test_the_engine_has_no_sql_outside_the_ledger() -> None:
    faults = [
        at(path, node)
        for path in outside()
        if path.relative_to(ROOT / "src" / "windrow").parts[0] == "engine" and path.name not in OWN_DATABASE
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and STATEMENT.search(node.value)
    ]
    assert faults == [], "SQL stands in the .sql files of the ledger"


@cache
def source_text() -> str:
    """Return the source of windrow and of its tests, without what is written from the .sql files."""
    return "".join(path.read_text() for path in python("src", "tests") if path.parent != PACKAGE / "typed")


@pytest.mark.parametrize("name", sorted(queries()))
def test_every_statement_is_run_somewhere(name: str) -> None:
    subject, _, method = name.rpartition(".")
    used = rf"\.{method}\b" if subject else f'"{name}"'
    assert re.search(used, source_text()), "delete it, or ask it"


def test_typed_modules_are_what_the_sql_files_say() -> None:
    subprocess.run([sys.executable, TOOL, "--check"], check=True)


def types(query: str) -> dict[str, str]:
    """Return the types that the tool finds for the columns of a query."""
    tool = runpy.run_path(str(TOOL))
    block = SqlBlock("items", "def", "items.tried", "def tried() -> list[Tried]", [], query, [])
    return tool["column_types"](tool["typed_schema"](), block)


def test_a_column_has_the_type_that_the_schema_declares() -> None:
    columns = "f.seq, f.file_key AS key, f.at, f.size, s.status, s.reason, o.present"
    tables = "listed_file f JOIN pending_step s ON s.item = f.seq JOIN mirror o ON o.listed_file = f.seq"
    assert types(f"SELECT {columns} FROM {tables}") == {
        "seq": "int", "key": "str", "at": "datetime", "size": "int | None", "status": "Status", "reason": "Reason | None",
        "present": "bool",
    }  # fmt: skip


def test_what_is_joined_from_the_left_or_selected_alone_may_be_none() -> None:
    query = "SELECT s.item, e.at, (SELECT f.file_key FROM listed_file f WHERE f.seq = ?1) AS key FROM pending_step s"
    assert types(f"{query} LEFT JOIN session_end e ON e.seq = s.item") == {
        "item": "int", "at": "datetime | None", "key": "str | None",
    }  # fmt: skip


def test_an_expression_says_its_own_type() -> None:
    assert types('SELECT count(*) AS "number: int" FROM listed_file') == {"number": "int"}
    with pytest.raises(SystemExit, match=r"items\.tried: say name and type of the column number"):
        types("SELECT count(*) AS number FROM listed_file")


def test_a_row_has_the_same_fields_in_each_of_its_queries() -> None:
    tool = runpy.run_path(str(TOOL))
    queries = {"first": "SELECT seq, owner FROM listed_file", "last": "SELECT seq, size FROM listed_file"}
    blocks = [
        SqlBlock("items", "def", f"items.{name}", f"def {name}() -> list[Tried]", ["Return it."], text, [])
        for name, text in queries.items()
    ]
    with pytest.raises(
        SystemExit, match=r"items\.last: Tried has .*'owner': 'str'.*, but the columns are .*'size': 'int \| None'"
    ):
        tool["ModuleWriter"](blocks, tool["HandWritten"](), tool["typed_schema"]())
