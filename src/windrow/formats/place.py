"""Where the elements of a document stand: line and column of a start tag, by the element's path.

The tree that lxml builds knows no columns, and no lines beyond 65,535 for sure. A second pass with
expat knows both exactly; it is made only for the few elements that a finding is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

SLICE = 1 << 16
STEP = re.compile(r"/([^/\[@]+)(?:\[(\d+)\])?")


@dataclass(slots=True)
class _Branch:
    """One step of the paths looked for, and what lies below it."""

    path: str = ""
    below: dict[tuple[str, int], _Branch] = field(default_factory=dict)


@dataclass(slots=True)
class _Level:
    """An open element on the way to one that is looked for: how many children of which name it had."""

    branch: _Branch
    children: int = 0
    named: dict[str, int] = field(default_factory=dict)


def places(content: bytes, paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    r"""Return line and column, counted from 1, of the `<` of each element's start tag.

    `paths` are as libxml2 spells them: `/*/*[2]` for elements of a default namespace, `/p:a/p:b[3]`
    for prefixed ones, `/a/b` for those in no namespace. `content` is UTF-8. Columns count
    characters. A path to an attribute is its element's; one that leads nowhere is left out.

    >>> places(b"<a>\n <b/><b/></a>", ["/a", "/a/b[2]"])
    {'/a': (1, 1), '/a/b[2]': (2, 6)}
    """
    search = _Search(paths)
    for start in range(0, len(content), SLICE):
        try:
            search.reader.Parse(content[start : start + SLICE], start + SLICE >= len(content))
        except expat.ExpatError:
            break
        if len(search.found) == search.wanted:
            break
    return search.found


class _Search:
    """One pass over a document."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Plant the paths as a tree of steps."""
        root = _Branch()
        names = set(paths)
        for path in names:
            branch = root
            for name, number in STEP.findall(path):
                branch = branch.below.setdefault((name, int(number or 1)), _Branch())
            branch.path = path
        self.wanted = len(names)
        self.found: dict[str, tuple[int, int]] = {}
        self._open = [_Level(root)]
        self._aside = 0  # how deep the pass is within an element that leads to none
        self.reader = expat.ParserCreate("utf-8", "\1")
        self.reader.namespace_prefixes = True
        self.reader.StartElementHandler = self._start
        self.reader.EndElementHandler = self._end

    def _start(self, name: str, _attributes: Any) -> None:
        """Count the element among its siblings; note its place if it is looked for."""
        if self._aside:
            self._aside += 1
            return
        level = self._open[-1]
        level.children += 1
        parts = name.split("\1")
        if len(parts) == 2:
            key, number = "*", level.children
        else:
            key = f"{parts[2]}:{parts[1]}" if len(parts) == 3 else name
            number = level.named[key] = level.named.get(key, 0) + 1
        branch = level.branch.below.get((key, number))
        if branch is None:
            self._aside = 1
            return
        if branch.path:
            self.found[branch.path] = (self.reader.CurrentLineNumber, self.reader.CurrentColumnNumber + 1)
        self._open.append(_Level(branch))

    def _end(self, _name: str) -> None:
        """Leave the element."""
        if self._aside:
            self._aside -= 1
        else:
            self._open.pop()
