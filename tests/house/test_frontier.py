"""No code above the engine depends on how a collection finds documents: both frontiers have the same interface."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import ROOT, at, nodes, python
from windrow.engine.frontier import AddressFrontier, FileFrontier

DISCOVERIES = {"Listing", "Crawl", "Requests", "Captures"}
CHOICES = {"FileFrontier", "AddressFrontier", "crawl_of"}
ASKED = {"discovery", "discoveries", "listing", "crawl", "by_request"}
ASKED_OF_COLLECTIONS = {"requests", "captures", "members"}
"""Attributes that other values have too, such as the ledger."""
COLLECTIONS = {"collection", "collections", "_collection", "made", "installed", "COLLECTION"}
ABOVE = ("app", "adapters", "cli", "config")


def questions(path: Path) -> Iterator[str]:
    """Yield each place of a file that asks which discovery a collection has."""
    for node in nodes(path):
        if (isinstance(node, ast.ImportFrom) and (DISCOVERIES | CHOICES) & {alias.name for alias in node.names}) or (
            isinstance(node, ast.Attribute)
            and (node.attr in ASKED or (node.attr in ASKED_OF_COLLECTIONS and named(node.value) in COLLECTIONS))
        ):
            yield at(path, node)


def named(node: ast.expr) -> str:
    """Return the last name of what is read, called or subscripted; empty for none."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def test_nobody_above_the_engine_asks_which_discovery_a_collection_has() -> None:
    folders = [ROOT / "src" / "windrow" / name for name in ABOVE]
    paths = [path for path in python("src") if any(path.is_relative_to(folder) for folder in folders)]
    assert len(paths) > 30
    assert [place for path in paths for place in questions(path)] == []


@pytest.mark.parametrize(
    "text",
    [
        "from windrow.contract import Collection, Listing",
        "from windrow.engine.requests.origin_rules import crawl_of",
        "isinstance(made.discovery, str)",
        "collections[one.collection].captures",
        "collection(name).requests",
        "self._collection.crawl is None",
    ],
)
def test_a_question_is_found(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.house.tree.ROOT", tmp_path)
    path = tmp_path / "question.py"
    path.write_text(text)
    assert [*questions(path)] == ["question.py:1"]


def test_what_only_sounds_like_a_question_is_none(tmp_path: Path) -> None:
    path = tmp_path / "answer.py"
    path.write_text("ledger.captures.promised(), self._ledger.requests.learned(), done.captures, story.members\n")
    assert [*questions(path)] == []


def test_both_frontiers_have_the_same_methods() -> None:
    files, addresses = (
        {name: inspect.signature(function) for name, function in vars(frontier).items() if not name.startswith("_")}
        for frontier in (FileFrontier, AddressFrontier)
    )
    assert files == addresses
    assert len(files) > 8
