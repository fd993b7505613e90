"""What joins the pages with a workspace: its configuration, the Summary Database, the crawl log and the index."""

from windrow.collections.pages.adapter.changes import changes, content
from windrow.collections.pages.adapter.check import check
from windrow.collections.pages.adapter.compare import compare
from windrow.collections.pages.adapter.explain import explain
from windrow.collections.pages.adapter.export import EXPORTS
from windrow.collections.pages.adapter.harvest import clue, harvest, project, ready, vet
from windrow.collections.pages.adapter.lookup import search
from windrow.collections.pages.adapter.replay import replay
from windrow.collections.pages.adapter.takedown import let_again, take_down, weigh
from windrow.collections.pages.adapter.trial import attempt

IMPORTS_WARC = True

__all__ = [
    "EXPORTS",
    "IMPORTS_WARC",
    "attempt",
    "changes",
    "check",
    "clue",
    "compare",
    "content",
    "explain",
    "harvest",
    "let_again",
    "project",
    "ready",
    "replay",
    "search",
    "take_down",
    "vet",
    "weigh",
]
