"""The pages about the data flow and the architecture name existing files, functions and constants."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tools import flow_trace

from tests.house.tree import ROOT, Function, parsed

PAGE = (ROOT / "docs" / "explanation" / "data-flow.md").read_text()
WAYS = {"page": "## From an address to a search result", "zip": "## From a zip to a row of the tracker"}
STEP = re.compile(r"^\| (\d+) \| .+ \| `([\w/]+\.py)` \| `([\w.]+)` \|$", re.MULTILINE)


def steps(way: str) -> list[tuple[str, str]]:
    """Return the files and functions of a way; its steps are numbered without a gap."""
    rows = STEP.findall(PAGE.partition(WAYS[way])[2].partition("\n## ")[0])
    assert [int(number) for number, _, _ in rows] == list(range(1, len(rows) + 1))
    return [(file, function) for _, file, function in rows]


def qualified_names(path: Path) -> set[str]:
    """Return the functions of a file, and the methods of its classes as `Class.method`."""
    names = set()
    for node in parsed(path).body:
        if isinstance(node, Function):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{method.name}" for method in node.body if isinstance(method, Function)}
    return names


@pytest.mark.parametrize("way", WAYS)
def test_each_step_is_a_function_that_is_there(way: str) -> None:
    named = steps(way)
    assert len(named) > 20
    source = ROOT / "src" / "windrow"
    lost = [(file, name) for file, name in named if name not in qualified_names(source / file)]
    assert lost == []


@pytest.mark.parametrize("way", WAYS)
def test_each_step_is_entered_and_no_more_modules_run_than_the_page_says(way: str, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "more").mkdir()
    calls = flow_trace.FLOWS[way](tmp_path / "one")
    for_each = flow_trace.on_the_way(calls, flow_trace.FLOWS[way](tmp_path / "more", 1 + flow_trace.MORE))
    entered: dict[str, set[str]] = {}
    for modules in calls.values():
        for module, functions in modules.items():
            entered.setdefault(module, set()).update(functions)
    assert [(file, name) for file, name in steps(way) if name not in entered.get(file.removesuffix(".py"), ())] == []
    files = re.search(r"The first path leads through (\d+) files, the second through (\d+)\.", PAGE)
    modules = re.search(r"(\d+) modules run for a page, (\d+) for a zip", PAGE)
    ways = re.search(r"(\d+) of them run for each page, (\d+) for each zip", PAGE)
    assert files
    assert modules
    assert ways
    number = list(WAYS).index(way) + 1
    assert len({file for file, _ in steps(way)}) == int(files[number])
    assert len(entered) <= int(modules[number]), sorted(entered)
    assert len(for_each) <= int(ways[number]), sorted(for_each)


def test_each_name_in_where_to_begin_is_in_a_file_of_its_row() -> None:
    architecture = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    rows = architecture.partition("## Where to begin")[2].partition("\n## ")[0].splitlines()
    checked, lost = 0, []
    for row in rows:
        quoted = re.findall(r"`([^`]+)`", row)
        paths = [ROOT / "src" / "windrow" / word for word in quoted if "/" in word]
        lost += [str(path) for path in paths if not path.exists()]
        files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))]
        text = "\n".join(file.read_text() for file in files if file.exists())
        names = [word for word in quoted if re.fullmatch(r"_?[A-Z][A-Z_]+|_?[a-z]+_[a-z_]+", word)]
        lost += [name for name in names if not re.search(rf"\b{name}\b", text)]
        checked += len(names)
    assert checked > 15
    assert lost == []
