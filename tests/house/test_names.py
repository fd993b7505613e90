"""Every public class has a unique name, so that a name means the same in all files."""

import ast
from collections import defaultdict
from pathlib import Path

import windrow

SOURCES = sorted(Path(windrow.__file__).parent.rglob("*.py"))


def test_a_public_class_name_is_used_once_in_the_package() -> None:
    places = defaultdict(list)
    for path in SOURCES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.name)
    assert len(places) > 400
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
