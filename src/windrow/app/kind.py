"""The collections that can be run, loaded when they are needed: one line each."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from windrow.errors import UsageError

if TYPE_CHECKING:
    from windrow.config import Workspace
    from windrow.engine.run import Harvest
    from windrow.spec import Collection


class Kind(NamedTuple):
    """Where a collection is (`COLLECTION`), and what joins it with a workspace (`harvest`)."""

    collection: str
    join: str


KINDS = {"drops": Kind("windrow.collections.drops.collection", "windrow.app.drops")}


@cache
def collection(name: str) -> Collection:
    """Return a collection by its name."""
    if name not in KINDS:
        raise UsageError(f"there is no collection {name!r}; there is: {', '.join(KINDS)}")
    found: Collection = import_module(KINDS[name].collection).COLLECTION
    return found


def harvest(name: str, workspace: Workspace) -> Harvest:
    """Join a collection with a workspace's configuration and databases, which are opened."""
    collection(name)
    made: Harvest = import_module(KINDS[name].join).harvest(workspace)
    return made


def phases() -> dict[str, tuple[str, ...]]:
    """Return the names of each collection's phases, in order."""
    return {name: collection(name).phases for name in KINDS}
