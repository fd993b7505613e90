"""Find the numbers in the code that bound something: constants named as a maximum or used to cut, and literal slices and ends."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.house.tree import ROOT, at, parsed, python

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
    """Return the literal numbers that bound something in src, by `folder/module:NAME` or `folder/module:[N]`."""
    bounds: dict[str, float] = {}
    for path in python("src"):
        module = at(path).removeprefix("src/windrow/").removesuffix(".py")
        bounds |= {f"{module}:{name}": number for name, number in find_bounds(parsed(path))}
    for path in sorted((ROOT / "src").rglob("*.sql")):
        module = at(path).removeprefix("src/windrow/")
        numbers = map(int, re.findall(r"\bLIMIT (\d+)", path.read_text()))
        bounds |= {f"{module}:[{number}]": number for number in numbers if number >= MIN_SLICE}
    return bounds


def find_bounds(module: ast.Module) -> Iterator[tuple[str, float]]:
    """Yield the name, or `[N]`, and the number of what bounds something in a module."""
    constants = dict(_find_constants(module))
    bounding_names = {part.id for node in ast.walk(module) for part in _find_names(_find_ends(node))}
    for name, number in constants.items():
        if "max" in name.lower() or name in bounding_names:
            yield name, number
    for node in _without_messages(module):
        for name, number in _find_fields(node):
            yield name, number
        for length in map(_number, _find_ends(node)):
            if isinstance(length, int) and abs(length) >= MIN_SLICE:
                yield f"[{abs(length)}]", abs(length)


def _find_constants(module: ast.Module) -> Iterator[tuple[str, float]]:
    """Yield the name and number of each variable of a module, class or function that is set to a written number."""
    for statement in ast.walk(module):
        pairs: list[tuple[ast.expr, ast.expr | None]] = []
        if isinstance(statement, ast.AnnAssign):
            pairs = [(statement.target, statement.value)]
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
                    pairs += zip(target.elts, statement.value.elts, strict=False)
                else:
                    pairs.append((target, statement.value))
        for target, value in pairs:
            number = _number(value)
            if (
                isinstance(target, ast.Name)
                and number is not None
                and (target.id.isupper() or abs(number) >= MIN_SLICE)
            ):
                yield target.id, number


def _find_fields(node: ast.AST) -> Iterator[tuple[str, float]]:
    """Yield the parameters and fields whose names are those of a maximum, and whose default is a written number."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs = [*zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)]
        pairs += [
            (name, value) for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value
        ]
        for name, value in pairs:
            number = _number(value)
            if number is not None and number >= MIN_SLICE and _MAXIMUM.search(name.arg):
                yield name.arg, number


def _find_ends(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions in a node that end or begin a part: of slices, calls that take a part, and comparisons."""
    if isinstance(node, ast.Slice):
        yield from filter(None, (node.lower, node.upper))
    elif isinstance(node, ast.Call):
        name = _name_of(node.func)
        if name in _TAKES_PART or name.endswith("slice"):
            yield from node.args
        yield from (keyword.value for keyword in node.keywords if keyword.arg in _KEYWORDS)
    elif isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        if any(isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for operator in node.ops):
            counts = [side for side in sides if isinstance(side, ast.Call) and _name_of(side.func) in {"len", "count"}]
            yield from (side for side in sides if isinstance(side, ast.Name) or counts)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        for number in re.findall(r"\bLIMIT (\d+)", node.value):
            yield ast.Constant(int(number))


_TAKES_PART = {"islice", "fetchmany", "most_common", "nlargest", "nsmallest", "shorten"}
_KEYWORDS = {"maxlen", "limit", "most", "maxsplit"}
_MAXIMUM = re.compile(r"max|limit|most|count|number|size|length")


def _find_names(ends: Iterator[ast.expr]) -> Iterator[ast.Name]:
    for end in ends:
        yield from (part for part in ast.walk(end) if isinstance(part, ast.Name))


def _name_of(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _without_messages(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it, except in messages."""
    if isinstance(node, ast.Raise | ast.JoinedStr) or (isinstance(node, ast.Call) and _is_message(node.func)):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _without_messages(child)


def _is_message(function: ast.expr) -> bool:
    name = function.id if isinstance(function, ast.Name) else ""
    return name in _MESSAGES or name.endswith("Error")


def _number(value: ast.expr | None) -> float | None:
    """Return the number that an expression of literals has, or None."""
    if (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id in {"int", "min", "max", "pow"}
    ):
        numbers = [number for number in map(_number, value.args) if number is not None]
        return max(numbers, default=None) if len(numbers) == len(value.args) else None
    if (
        isinstance(value, ast.UnaryOp)
        and isinstance(value.op, ast.USub)
        and (number := _number(value.operand)) is not None
    ):
        return -number
    if isinstance(value, ast.Constant):
        return value.value if isinstance(value.value, int | float) and not isinstance(value.value, bool) else None
    if isinstance(value, ast.BinOp) and _number(value.left) is not None and _number(value.right) is not None:
        number = eval(compile(ast.Expression(value), "", "eval"), {"__builtins__": {}})
        return number if isinstance(number, int | float) else None
    return None
