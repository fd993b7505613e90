"""The adapter of news: that of records, and a tree of files which is written after each run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from windrow.collections.news.adapter.publish import NewsFolders, Publisher
from windrow.config import Workspace
from windrow.engine.run import Harvest
from windrow.record_adapter import RecordAdapter


class NewsAdapter(RecordAdapter):
    """Joins the collection with a workspace."""

    def harvest(self, workspace: Workspace) -> Harvest:
        """Make the harvest that the configuration describes, and what writes the tree after it."""
        made = super().harvest(workspace)
        publisher = Publisher(workspace.ledger, self._path(workspace), self.trees(workspace))
        return replace(made, derivations={"publish": publisher})

    def trees(self, workspace: Workspace) -> NewsFolders:
        """Return where the tree and the raw replies lie."""
        values = self._values(workspace)
        return NewsFolders(
            Path(values["news.tree"]), Path(values["news.raw"]), workspace.archive.folder, workspace.limits,
            update=bool(values["news.update"]),
        )  # fmt: skip
