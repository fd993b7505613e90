"""Find the numbers in the code that bound something: constants named as a maximum or used to cut, and literal slices and ends."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import at, nodes, parsed, python

MIN_SLICE = 32
"""The least length of a literal slice: shorter ones take parts of a fixed form, such as the year of a date."""

_MESSAGES = {
    "Finding",
    "Message",
    "Skip",
    "SkippedPart",
    "PolicyVerdict",
    "RefusedResponse",
    "_Broken",
    "_BrokenRecord",
}
"""What is called with texts for people, which may be shortened; so may the messages of errors, and formatted texts."""


def numbers_that_bound() -> dict[str, float]:
    """Return the literal numbers that bound something in src, by `folder/module:NAME` or `folder/module:[:N]`."""
    bounds: dict[str, float] = {}
    for path in python("src"):
        module = at(path).removeprefix("src/windrow/").removesuffix(".py")
        cutting_names = set(_find_cutting_names(path))
        for name, number in _find_constants(path):
            if "MAX" in name or name in cutting_names:
                bounds[f"{module}:{name}"] = number
        bounds |= {f"{module}:[:{number}]": number for number in _find_slices(parsed(path))}
    return bounds


def _find_constants(path: Path) -> Iterator[tuple[str, float]]:
    """Yield the name and number of each constant of a module whose value is written as a number."""
    for statement in parsed(path).body:
        pairs: list[tuple[ast.expr, ast.expr | None]] = []
        if isinstance(statement, ast.AnnAssign):
            pairs = [(statement.target, statement.value)]
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
            values = statement.value.elts if isinstance(statement.value, ast.Tuple) else []
            pairs += zip(statement.targets[0].elts, values, strict=False)
        elif isinstance(statement, ast.Assign):
            pairs = [(statement.targets[0], statement.value)]
        for target, value in pairs:
            number = _number(value)
            if isinstance(target, ast.Name) and number is not None:
                yield target.id, number


def _find_cutting_names(path: Path) -> Iterator[str]:
    """Yield the names that end a slice, or are the number in `islice`."""
    for node in nodes(path):
        ends: list[ast.expr | None] = [node.upper] if isinstance(node, ast.Slice) else []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "islice":
            ends += node.args[1:]
        yield from (part.id for end in ends if end for part in ast.walk(end) if isinstance(part, ast.Name))


def _find_slices(node: ast.AST) -> Iterator[int]:
    """Yield the lengths of literal slices, and literal ends of `islice`, in the code below a node, except in messages."""
    if isinstance(node, ast.Raise | ast.JoinedStr) or (isinstance(node, ast.Call) and _is_message(node.func)):
        return
    if isinstance(node, ast.Slice) and node.lower is None and node.step is None:
        number = _number(node.upper)
        if isinstance(number, int) and number >= MIN_SLICE:
            yield number
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "islice":
        ends = [end for end in map(_number, node.args[1:]) if end is not None]
        yield from (int(end) for end in ends if end >= MIN_SLICE)
    for child in ast.iter_child_nodes(node):
        yield from _find_slices(child)


def _is_message(function: ast.expr) -> bool:
    name = function.id if isinstance(function, ast.Name) else ""
    return name in _MESSAGES or name.endswith("Error")


def _number(value: ast.expr | None) -> float | None:
    """Return the number that an expression of literals has, or None."""
    if isinstance(value, ast.Constant):
        return value.value if isinstance(value.value, int | float) and not isinstance(value.value, bool) else None
    if isinstance(value, ast.BinOp) and _number(value.left) is not None and _number(value.right) is not None:
        number = eval(compile(ast.Expression(value), "", "eval"), {"__builtins__": {}})
        return number if isinstance(number, int | float) else None
    return None
