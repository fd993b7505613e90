"""The files that steps are given: schemas and lists, read once and known by their digest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from windrow.collections.drops.settings import drops_of
from windrow.config.workspace import Workspace
from windrow.digest import combine, digest
from windrow.errors import ConfigError
from windrow.model import Resource

_IMPORT = re.compile(rb"""schemaLocation\s*=\s*["']([^"'<>]{1,255})["']""")
_LARGEST = 256 * 2**20


def resources(workspace: Workspace) -> Mapping[str, Resource]:
    """Read the schemas and lists of the drops, by name: `specimen`, `experiment`, `projects`, ...

    A schema's siblings are the files in its folder that it imports, and those import, by the name
    in `schemaLocation`; its digest covers them. What cannot be read is a ConfigError.
    """
    drops = drops_of(workspace.sections)
    made = {name: schema(name, path) for name, path in drops.schemas.items()}
    for name, path in drops.lists.items():
        content = _content(path)
        made[name] = Resource(name, path, digest(content), content)
    return made


def schema(name: str, path: Path) -> Resource:
    """Read a schema and the files that it imports."""
    content = _content(path)
    found: dict[str, Resource] = {}
    open_ = [content]
    while open_:
        for place in _IMPORT.findall(open_.pop()):
            sibling = path.parent / place.decode("utf-8", "replace").strip().removeprefix("./")
            if sibling.parent == path.parent and sibling.name not in {path.name, *found} and sibling.is_file():
                inner = _content(sibling)
                found[sibling.name] = Resource(sibling.name, sibling, digest(inner), inner)
                open_.append(inner)
    siblings = tuple(found[each] for each in sorted(found))
    whole = combine([digest(content), *(f"{each.name} {each.digest}" for each in siblings)])
    return Resource(name, path, whole, content, siblings)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", hint="windrow config") from error
    if len(content) > _LARGEST:
        raise ConfigError(f"{path} is larger than 256 MiB", hint="windrow config")
    return content
