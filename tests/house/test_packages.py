"""A package's `__init__` holds names: imports, `__all__`, and at most a table of names."""

from __future__ import annotations

import ast

import pytest

from tests.house.tree import ROOT, at, parsed, python

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
