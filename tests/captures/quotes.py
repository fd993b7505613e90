"""A workspace of pages and of the toy collection that reads pages' captures, run in this process, without its wheel."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.sessions import session_settings
from windrow.collections.pages.adapter.harvest import harvest as harvest_pages
from windrow.collections.pages.collection import COLLECTION as PAGES
from windrow.config import Workspace, load
from windrow.engine.session import Session

sys.path.insert(0, str(Path(__file__).parent.parent / "toy_quotes" / "src"))

from windrow_quotes.collection import ADAPTER, COLLECTION

__all__ = [
    "ADAPTER",
    "COLLECTION",
    "configure",
    "harvest_pages",
    "load_workspace",
    "run",
    "run_again",
    "run_pages",
    "run_quotes",
]

CRAWLED = (
    '[pages]\noperator = "tester"\ncontact = "https://example.org/bot"\nprivate_hosts = ["127.0.0.1"]\ndelay = "1 ms"\n'
)


def configure(root: Path, site: Any, *, pages: str = "article", origin: str = "pages", **more: Any) -> Workspace:
    """Write and load a workspace that crawls the site and looks for quotations in its captures."""
    settings = {"from": [origin], "pages": pages} | more
    lines = "".join(f"{name} = {setting!r}\n" for name, setting in settings.items())
    (root / "windrow.toml").write_text(
        f'{CRAWLED}\n[source.web]\ncollection = "pages"\nurl = "{site.url}"\n\n'
        f'[source.said]\ncollection = "quotes"\n{lines}'
    )
    return load_workspace(root)


def load_workspace(root: Path) -> Workspace:
    return load(root, environ={}, collections={"pages": PAGES, "quotes": COLLECTION})


def run_again(root: Path) -> None:
    """Look for quotations in a workspace that is already configured."""
    run_quotes(load_workspace(root))


def run(
    workspace: Workspace, *, pages: bool = True, quotes: bool = True, limit: int | None = None, discovery: Any = None
) -> Session:
    """Run and return a session of both collections, or of one of them."""
    with Session(session_settings(workspace), "run") as session:
        if pages:
            session.run_harvest(harvest_pages(workspace))
        if quotes:
            harvest = ADAPTER.harvest(workspace)
            if discovery:
                harvest.collection = replace(harvest.collection, discovery=discovery)
            session.run_harvest(harvest, limit=limit)
    return session


def run_pages(workspace: Workspace) -> Session:
    return run(workspace, quotes=False)


def run_quotes(workspace: Workspace, **more: Any) -> Session:
    return run(workspace, pages=False, **more)
