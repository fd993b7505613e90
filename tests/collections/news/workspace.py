"""A workspace of news sites, run in this process."""

import json
import sys

from windrow.collections.news.adapter import ADAPTER
from windrow.collections.news.collection import COLLECTION
from windrow.config import load
from windrow.engine.session import Session, SessionSettings


def configured(root, sites, news="", transfer=0):
    """Write a workspace whose sources are `sites`, name -> settings, and load it; `transfer`: most bytes of an answer."""
    lines = [f"[limits]\ntransfer = {transfer}" if transfer else "", "[news]", news]
    for name, told in sites.items():
        lines.append(f'[source.{name}]\ncollection = "news"')
        lines += [f"{key} = {json.dumps(value)}" for key, value in ({"delay": "0s"} | told).items()]
    root.mkdir(exist_ok=True, parents=True)
    (root / "windrow.toml").write_text("\n".join(lines) + "\n")
    return load(root, environ={}, collections={"news": COLLECTION})


def setup_of(workspace):
    return SessionSettings(workspace.ledger, workspace.archive.folder, workspace.limits, fetchers=1, workers=1)


def run(workspace, limit=None):
    """Run one session, and return it."""
    with Session(setup_of(workspace), "run news") as session:
        session.harvest(ADAPTER.harvest(workspace), limit=limit)
    return session


def articles(root):
    """Return the articles of the tree by their URL."""
    found = [json.loads(path.read_text()) for path in sorted((root / "normalized_news").glob("*/*.json"))]
    return {one["url"]: one for one in found}


def summaries(root, name="_normalization_summary.json"):
    """Return the summaries of all runs, the oldest first."""
    paths = sorted((root / "raw_news_data").glob(f"*/*/{name}"), key=lambda path: int(path.parent.name))
    return [json.loads(path.read_text()) for path in paths]


if __name__ == "__main__":
    from pathlib import Path

    run(load(Path(sys.argv[1]), environ={}, collections={"news": COLLECTION}))
