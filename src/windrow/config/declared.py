"""The sources' own tables, before they are read, and what all of them share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from windrow.config.file import Files
from windrow.config.setting import variable
from windrow.config.workspace import Value
from windrow.errors import ConfigError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class Declared(NamedTuple):
    """A source's own table, before it is read."""

    name: str
    file: str
    tree: dict[str, Any]


class Around(NamedTuple):
    """What all sources share.

    `values` are those of the workspace; `keys` are trusted host keys, `closed` the owners that are
    switched off, in lower case.
    """

    root: Path
    environ: Mapping[str, str]
    agent: str
    values: Mapping[str, Value]
    keys: Mapping[str, tuple[str, ...]]
    closed: frozenset[str] = frozenset()


def declared(files: Files) -> list[Declared]:
    """Return the tables of all sources: [source.NAME] in windrow.toml, and sources/NAME.toml."""
    tables = files.main.tree.get("source", {})
    if not isinstance(tables, dict) or not all(isinstance(tree, dict) for tree in tables.values()):
        raise ConfigError(f"{files.main.name}: source: wanted tables [source.NAME]", hint="windrow config")
    found = [Declared(name, files.main.name, tree) for name, tree in tables.items()]
    found += [Declared(Path(file.name).stem, file.name, file.tree) for file in files.sources]
    seen: dict[str, Declared] = {}
    for one in found:
        if not _NAME.fullmatch(one.name):
            raise ConfigError(f"{one.file}: {one.name[:80]!r} is not a name for a source: letters, digits, - and _")
        twin = seen.setdefault(variable(one.name), one)
        if twin is not one:
            raise ConfigError(f"{one.file}: source {one.name} is declared as {twin.name} in {twin.file} too")
    return found
