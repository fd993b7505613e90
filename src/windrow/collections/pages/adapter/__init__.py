"""What joins the pages with a workspace: its configuration, the Summary Database, the crawl log and the index."""

from windrow.collections.pages.adapter.changes import changes, content
from windrow.collections.pages.adapter.check import check
from windrow.collections.pages.adapter.harvest import harvest, project, ready, vet
from windrow.collections.pages.adapter.replay import replay
from windrow.collections.pages.adapter.trial import attempt

__all__ = ["attempt", "changes", "check", "content", "harvest", "project", "ready", "replay", "vet"]
