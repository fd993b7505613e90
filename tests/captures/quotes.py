"""A workspace of pages and of the toy that takes what pages kept, run in this process, without its wheel."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from windrow.collections.pages.adapter.harvest import harvest as harvest_pages
from windrow.collections.pages.collection import COLLECTION as PAGES
from windrow.config import Workspace, load
from windrow.engine.session import Session, SessionSettings

sys.path.insert(0, str(Path(__file__).parent.parent / "toy_quotes" / "src"))

from windrow_quotes.collection import ADAPTER, COLLECTION

__all__ = ["ADAPTER", "COLLECTION", "again", "configured", "harvest_pages", "opened", "run", "run_pages", "run_quotes"]

CRAWLED = (
    '[pages]\noperator = "tester"\ncontact = "https://example.org/bot"\nprivate_hosts = ["127.0.0.1"]\ndelay = "1 ms"\n'
)


def configured(root: Path, site: Any, *, pages: str = "article", origin: str = "pages", **more: Any) -> Workspace:
    """Write a workspace that crawls the site and looks for quotations in what was kept, and load it."""
    told = {"from": [origin], "pages": pages} | more
    lines = "".join(f"{name} = {value!r}\n" for name, value in told.items())
    (root / "windrow.toml").write_text(
        f'{CRAWLED}\n[source.web]\ncollection = "pages"\nurl = "{site.url}"\n\n'
        f'[source.said]\ncollection = "quotes"\n{lines}'
    )
    return opened(root)


def opened(root: Path) -> Workspace:
    return load(root, environ={}, collections={"pages": PAGES, "quotes": COLLECTION})


def again(root: Path) -> None:
    """Look for quotations in a workspace that is configured already."""
    run_quotes(opened(root))


def setup_of(workspace: Workspace) -> SessionSettings:
    return SessionSettings(workspace.ledger, workspace.archive.folder, workspace.limits, fetchers=1, workers=1)


def run(
    workspace: Workspace, *, pages: bool = True, quotes: bool = True, limit: int | None = None, discovery: Any = None
) -> Session:
    """Run one session of both collections, or of one; return it."""
    with Session(setup_of(workspace), "run") as session:
        if pages:
            session.harvest(harvest_pages(workspace))
        if quotes:
            harvest = ADAPTER.harvest(workspace)
            if discovery:
                harvest.collection = replace(harvest.collection, discovery=discovery)
            session.harvest(harvest, limit=limit)
    return session


def run_pages(workspace: Workspace) -> Session:
    return run(workspace, quotes=False)


def run_quotes(workspace: Workspace, **more: Any) -> Session:
    return run(workspace, pages=False, **more)
