"""The collections that can be run, loaded when they are needed: one line each."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

from windrow.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from windrow.app.reread import Replayed
    from windrow.app.trial import Part
    from windrow.config import Workspace
    from windrow.contract import Collection
    from windrow.engine.check import Fault
    from windrow.engine.ledger import Ledger
    from windrow.engine.progress import Progress
    from windrow.engine.run import Harvest
    from windrow.engine.session import Setup
    from windrow.model import Source


class Kind(NamedTuple):
    """Where a collection is (`COLLECTION`), and what joins it with a workspace (a `Join`)."""

    collection: str
    join: str


KINDS = {
    "drops": Kind("windrow.collections.drops.collection", "windrow.app.drops"),
    "pages": Kind("windrow.collections.pages.collection", "windrow.app.pages"),
}


class Join(Protocol):
    """What the module that joins a collection with a workspace answers."""

    def harvest(self, workspace: Workspace) -> Harvest:
        """Make the harvest that the configuration describes, its databases opened."""
        ...

    def ready(self, workspace: Workspace) -> None:
        """Raise ConfigError for what a run would refuse to begin without; opens nothing."""
        ...

    def vet(self, workspace: Workspace, source: Source) -> None:
        """Raise UsageError for a new source that a run would stop at."""
        ...

    def follow(self, workspace: Workspace, ledger: Ledger) -> None:
        """Bring the collection's books up to date after an operator decided something: people look there."""
        ...

    def check(self, workspace: Workspace, ledger: Ledger) -> Iterable[Fault]:
        """Compare the collection's own store and books with the ledger."""
        ...

    def replay(self, workspace: Workspace, setup: Setup, progress: Progress) -> Replayed | None:
        """Read what is kept again with today's readers; None where there is nothing to rebuild."""
        ...

    def attempt(self, workspace: Workspace | None, address: str) -> Iterator[Part]:
        """Get one thing, read it as the collection does, and keep nothing."""
        ...


@cache
def collection(name: str) -> Collection:
    """Return a collection by its name."""
    if name not in KINDS:
        raise UsageError(f"there is no collection {name!r}; there is: {', '.join(KINDS)}")
    found: Collection = import_module(KINDS[name].collection).COLLECTION
    return found


def harvest(name: str, workspace: Workspace) -> Harvest:
    """Join a collection with a workspace's configuration and databases, which are opened."""
    return join(name).harvest(workspace)


def join(name: str) -> Join:
    """Return what joins a collection with a workspace."""
    collection(name)
    found: Join = import_module(KINDS[name].join)
    return found


def phases() -> dict[str, tuple[str, ...]]:
    """Return the names of each collection's phases, in order."""
    return {name: collection(name).phases for name in KINDS}
