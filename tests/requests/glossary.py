"""A workspace of the toy collection, run in this process without its wheel."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.sessions import session_settings
from windrow.config import Workspace, load
from windrow.contract import Collection, Observation, Settle, Task
from windrow.engine.session import Session

sys.path.insert(0, str(Path(__file__).parent.parent / "toy_collection" / "src"))

from windrow_glossary.collection import ADAPTER, COLLECTION

__all__ = ["ADAPTER", "COLLECTION", "NAMING", "configure", "load_workspace", "run", "run_again"]


def configure(root: Path, server: Any, **source: str) -> Workspace:
    """Write and load a workspace that harvests the toy's servers."""
    settings = {"delay": "0s", "every": "1s"} | source
    lines = "".join(f'{name} = "{setting}"\n' for name, setting in settings.items())
    (root / "windrow.toml").write_text(
        f'[glossary]\ndefiner = "{server.definer}"\nlanguage = "la"\n\n'
        f'[source.words]\ncollection = "glossary"\nurl = "{server.url}"\n{lines}'
    )
    return load_workspace(root)


def load_workspace(root: Path) -> Workspace:
    return load(root, environ={}, collections={"glossary": COLLECTION})


def name_requests(task: Task) -> list[Observation]:
    """Record for each offer the name and URL of the request that was answered."""
    assert task.request is not None
    return [Observation(offer.key, {"asked": task.request.name, "url": task.request.url}) for offer in task.offers]


def run_again(root: Path) -> None:
    """Run a workspace that is already configured."""
    run(load_workspace(root))


def run(
    workspace: Workspace, *, limit: int | None = None, phases: frozenset[str] | None = None,
    collection: Collection = COLLECTION,
) -> Session:  # fmt: skip
    """Run and return one session."""
    with Session(session_settings(workspace), "run") as session:
        harvest = replace(ADAPTER.harvest(workspace), collection=collection)
        session.run_harvest(harvest, limit=limit, phases=phases)
    return session


NAMING = replace(COLLECTION, steps=(Settle("define", "1", name_requests),))
"""The same collection with a step that only records the requests."""
