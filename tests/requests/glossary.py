"""A workspace of the toy collection, run in this process, without its wheel."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from windrow.config import Workspace, load
from windrow.contract import Collection, Observation, Settle, Task
from windrow.engine.session import Session, SessionSettings

sys.path.insert(0, str(Path(__file__).parent.parent / "toy_collection" / "src"))

from windrow_glossary.collection import ADAPTER, COLLECTION

__all__ = ["ADAPTER", "COLLECTION", "NAMING", "again", "configured", "opened", "run", "setup_of"]


def configured(root: Path, server: Any, **source: str) -> Workspace:
    """Write a workspace that asks the toy's servers, and load it."""
    told = {"delay": "0s", "every": "1s"} | source
    lines = "".join(f'{name} = "{value}"\n' for name, value in told.items())
    (root / "windrow.toml").write_text(
        f'[glossary]\ndefiner = "{server.definer}"\nlanguage = "la"\n\n'
        f'[source.words]\ncollection = "glossary"\nurl = "{server.url}"\n{lines}'
    )
    return opened(root)


def opened(root: Path) -> Workspace:
    return load(root, environ={}, collections={"glossary": COLLECTION})


def name_requests(task: Task) -> list[Observation]:
    """Record, for each thing that an answer offers, as what that answer was asked for."""
    assert task.request is not None
    return [Observation(offer.key, {"asked": task.request.name, "url": task.request.url}) for offer in task.offers]


def again(root: Path) -> None:
    """Run a workspace that is configured already."""
    run(opened(root))


def setup_of(workspace: Workspace) -> SessionSettings:
    return SessionSettings(workspace.ledger, workspace.archive.folder, workspace.limits, fetchers=1, workers=1)


def run(
    workspace: Workspace, *, limit: int | None = None, phases: frozenset[str] | None = None,
    collection: Collection = COLLECTION,
) -> Session:  # fmt: skip
    """Run one session; return its exit code."""
    with Session(setup_of(workspace), "run") as session:
        harvest = replace(ADAPTER.harvest(workspace), collection=collection)
        session.harvest(harvest, limit=limit, phases=phases)
    return session


NAMING = replace(COLLECTION, steps=(Settle("define", "1", name_requests),))
"""The same collection with a step that only tells what was asked."""
