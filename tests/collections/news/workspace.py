"""A workspace of news sites, run in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.sessions import session_settings
from windrow.collections.news.adapter import ADAPTER
from windrow.collections.news.collection import COLLECTION
from windrow.config import Workspace, load
from windrow.engine.session import Session


def configured(root: Path, sites: Mapping[str, dict[str, Any]], news: str = "") -> Workspace:
    """Write a workspace whose sources are `sites`, name -> settings, and load it."""
    lines = ["[news]", news]
    for name, settings in sites.items():
        lines.append(f'[source.{name}]\ncollection = "news"')
        lines += [f"{key} = {json.dumps(value)}" for key, value in ({"delay": "0s"} | settings).items()]
    root.mkdir(exist_ok=True, parents=True)
    (root / "windrow.toml").write_text("\n".join(lines) + "\n")
    return load(root, environ={}, collections={"news": COLLECTION})


def run(workspace: Workspace, limit: int | None = None) -> Session:
    """Run one session, and return it."""
    with Session(session_settings(workspace), "run news") as session:
        session.run_harvest(ADAPTER.harvest(workspace), limit=limit)
    return session


def articles(root: Path) -> dict[str, Any]:
    """Return the articles of the tree by their URL."""
    written = [json.loads(path.read_text()) for path in sorted((root / "normalized_news").glob("*/*.json"))]
    return {article["url"]: article for article in written}


def summaries(root: Path, name: str = "_normalization_summary.json") -> list[Any]:
    """Return the summaries of all runs, the oldest first."""
    paths = sorted((root / "raw_news_data").glob(f"*/*/{name}"), key=lambda path: int(path.parent.name))
    return [json.loads(path.read_text()) for path in paths]


if __name__ == "__main__":
    run(load(Path(sys.argv[1]), environ={}, collections={"news": COLLECTION}))
