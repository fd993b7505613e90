"""A workspace, opened: the same verbs as the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from windrow.app import drops
from windrow.config import Workspace, find, load
from windrow.engine.ledger import Ledger
from windrow.engine.progress import Progress
from windrow.engine.run import Harvest
from windrow.engine.session import Session, Setup
from windrow.errors import UsageError

HARVESTS = {"drops": drops.harvest}
"""The collections that can be run, and what joins each."""


class Windrow:
    """A workspace and what can be done with it."""

    def __init__(self, start: Path | str = ".", flags: Mapping[str, Any] | None = None) -> None:
        """Open the workspace at `start` or above it."""
        root = find(Path(start), os.environ)
        self.config: Workspace = load(root, flags=flags)

    @property
    def setup(self) -> Setup:
        """How sessions run here."""
        run, cores = self.config.run, os.cpu_count() or 2
        return Setup(
            self.config.ledger,
            self.config.archive.folder,
            self.config.limits,
            self.config.archive.rotation,
            run.fetchers or min(cores, 4),
            run.readers or cores,
            self.config.agent,
        )

    def ledger(self) -> Ledger:
        """Open the ledger."""
        return Ledger(self.config.ledger)

    def harvests(self, names: Sequence[str] = ()) -> list[Harvest]:
        """Return what is to be harvested: all, or the collections and sources named."""
        sources = {source.name: source.collection for source in self.config.sources}
        unknown = [name for name in names if name not in sources and name not in HARVESTS]
        if unknown:
            known = ", ".join(sorted({*sources, *HARVESTS})) or "none"
            raise UsageError(
                f"there is no source or collection {unknown[0]!r}; there are: {known}", hint="windrow config"
            )
        found = []
        for collection, make in HARVESTS.items():
            mine = {name for name in names if sources.get(name) == collection}
            if names and collection not in names and not mine:
                continue
            if collection not in sources.values():
                continue
            made = make(self.config)
            chosen = tuple(source for source in made.sources if not mine or source.name in mine)
            found.append(replace(made, sources=chosen))
        return found

    def run(
        self,
        names: Sequence[str] = (),
        *,
        progress: Progress | None = None,
        phases: frozenset[str] | None = None,
        limit: int | None = None,
        command: str = "run",
    ) -> tuple[int, int]:
        """Harvest, and return the session's number and exit code."""
        harvests = self.harvests(names)
        session = Session(self.setup, command, progress)
        code: int | None = 1
        try:
            with session.polite_stop():
                for one in harvests:
                    session.harvest(one, phases=phases, limit=limit)
            code = None
        except KeyboardInterrupt:
            code = 130
        finally:
            code = session.close(code)
            session.ledger.close()
        return session.number, code
