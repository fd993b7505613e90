"""A package's `__init__` holds names: imports, `__all__`, and at most a table of names."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.house.tree import ROOT, at, nodes, parsed, python

LOADS_LATE = ROOT / "src" / "windrow" / "__init__.py"
"""Loads a name when it is asked for, so that who imports one room loads no other."""

PACKAGES = [path for path in python("src") if path.name == "__init__.py" and path != LOADS_LATE]


@pytest.mark.parametrize("path", PACKAGES, ids=at)
def test_a_package_holds_only_names(path) -> None:
    code = (
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.If,
        ast.For,
        ast.While,
        ast.Try,
        ast.With,
        ast.Lambda,
    )
    assert [at(path, node) for node in ast.walk(parsed(path)) if isinstance(node, code)] == []


def module_name(path: Path) -> str:
    """Return the dotted name of a module of windrow; that of a package for its `__init__`."""
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> set[str]:
    """Return the names of all modules and names that a module imports, wherever it does."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_no_modules_import_each_other_not_even_late_or_for_types() -> None:
    modules = {module_name(path): path for path in python("src") if path.name != "__init__.py"}
    graph = {name: imported(path) & modules.keys() for name, path in modules.items()}
    assert sum(map(len, graph.values())) > 2_000
    assert len([*TopologicalSorter(graph).static_order()]) == len(modules)  # raises CycleError for a circle
