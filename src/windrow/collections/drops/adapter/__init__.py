"""What joins the drops with a workspace: its configuration, databases, schemas and lists."""

from windrow.collections.drops.adapter.adopt import ADOPTED_AT, adopt
from windrow.collections.drops.adapter.check import check
from windrow.collections.drops.adapter.export import EXPORTS
from windrow.collections.drops.adapter.harvest import harvest, project, ready, vet
from windrow.collections.drops.adapter.options import clue
from windrow.collections.drops.adapter.replay import replay
from windrow.collections.drops.adapter.trial import attempt

__all__ = [
    "ADOPTED_AT",
    "EXPORTS",
    "adopt",
    "attempt",
    "check",
    "clue",
    "harvest",
    "project",
    "ready",
    "replay",
    "vet",
]
