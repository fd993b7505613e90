"""Limits on the size of files and functions, and names that are not allowed."""

from __future__ import annotations

import ast
import re

from tests.house.tree import Function, at, classes, functions, parsed, python

OURS = ("src", "tests", "tools", "benchmarks")
FILE, FUNCTION = 500, 60
"""Alarms, not aims: whether a file holds one thought is for its reader to judge."""

WRITTEN = "src/windrow/ledger/typed/"
"""The output of `make queries`, which is not read or edited: its files may be long."""

VAGUE = {"util", "utils", "helper", "helpers", "common", "manager", "base", "handler", "data", "process"}


def words(name: str) -> set[str]:
    """Split a name in snake_case or CamelCase."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)}


def length(function: Function) -> int:
    """Count a function's own lines: without decorators, docstring and the functions within it."""
    left_out: list[ast.stmt] = [part for part in function.body if isinstance(part, Function)]
    if ast.get_docstring(function) is not None:
        left_out.append(function.body[0])
    return _lines(function) - sum(_lines(part) for part in left_out)


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_files_are_short() -> None:
    lines = {at(path): len(path.read_text().splitlines()) for path in python(*OURS)}
    long = {path: count for path, count in lines.items() if count > FILE and not path.startswith(WRITTEN)}
    assert long == {}


def test_functions_are_short() -> None:
    long = {
        f"{at(path, function)} {function.name}": length(function)
        for path in python(*OURS)
        for function in functions(path)
        if length(function) > FUNCTION
    }
    assert long == {}


def test_packages_hold_only_names() -> None:
    more = []
    for path in python("src"):
        if (
            path.name != "__init__.py" or path.parent.name == "windrow"
        ):  # the topmost loads its names when they are asked for
            continue
        for node in parsed(path).body:
            text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not (text or isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign)):
                more.append(at(path, node))
    assert more == []


def test_modules_say_what_they_are() -> None:
    vague = [at(path) for path in python(*OURS) if words(path.stem) & VAGUE]
    vague += [at(path) for path in python(*OURS) if VAGUE & set(path.parent.parts[-2:])]
    assert vague == []


def test_classes_and_functions_say_what_they_are() -> None:
    vague = []
    for path in python("src"):
        vague += [f"{at(path, node)} {node.name}" for node in classes(path) if words(node.name) & (VAGUE - {"data"})]
        named = (function for function in functions(path) if words(function.name) & (VAGUE - {"data", "process"}))
        vague += [f"{at(path, function)} {function.name}" for function in named]
    assert vague == []
