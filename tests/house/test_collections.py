"""No code outside a collection names it."""

from __future__ import annotations

import ast

from tests.house.tree import ROOT, at, nodes, python
from windrow.contract.registry import names

FIELDS = {
    ("src/windrow/caps.py", "events.document_size"),
    ("src/windrow/caps.py", "news.document_size"),
    ("src/windrow/caps.py", "news.feed_articles"),
    ("src/windrow/caps.py", "pages.limits.links"),
    ("src/windrow/caps.py", "papers.looked_up_rows"),
    ("src/windrow/cli/why.py", "events"),
    ("src/windrow/formats/json_page.py", "pages"),
    ("src/windrow/formats/tei.py", "pages"),
}
"""Fields of values, which have the name of a collection by chance, and settings that the table of caps refers to."""

ROOMS = ("app", "cli", "config", "engine", "settings", "stores", "fetch", "formats")


def rooms():
    """Yield the syntax of all rooms that know no collection, each node with its file."""
    for path in python("src"):
        parts = path.relative_to(ROOT / "src" / "windrow").parts
        if len(parts) == 1 or parts[0] in ROOMS:
            yield from ((path, node) for node in nodes(path))


def test_no_other_room_spells_a_collections_name() -> None:
    """Texts for people may give one as an example; a value of the program may not."""
    faults = []
    for path, node in rooms():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if (at(path), node.value) in FIELDS:
                continue
            faults += [at(path, node) for name in names() if node.value == name or node.value.startswith(f"{name}.")]
    assert faults == []


def test_no_other_room_imports_a_collection_not_even_for_its_types() -> None:
    """The layers leave out what is imported for types alone; an annotation binds a verb to one collection as well."""
    faults = []
    for path, node in rooms():
        named = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        named += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        faults += [at(path, node) for module in named if module.startswith("windrow.collections")]
    assert faults == []
