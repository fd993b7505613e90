"""Regular expressions mean the same on every Python that windrow runs on."""

import ast
import re

from tests.house.tree import at, parsed, python

POSSESSIVE_GROUP = re.compile(r"\(\?:.*(?<!\()\)(?:[*+?]|\{[^{}]*\})\+", re.DOTALL)


def test_no_group_is_possessive() -> None:
    """Python before 3.11.5 misreads `(?:a|b)*+` if the group can backtrack; `(?>(?:a|b)*)` is the same, and right."""
    possessive = [
        at(path, node)
        for path in python("src")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str | bytes)
        and POSSESSIVE_GROUP.search(node.value if isinstance(node.value, str) else node.value.decode("latin-1"))
    ]
    assert possessive == []
