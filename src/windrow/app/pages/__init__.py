"""The collection `pages` joined with a workspace: what `windrow.app.kind.Join` asks of it."""

from windrow.app.pages.harvest import follow, harvest, ready, vet
from windrow.app.pages.look import check
from windrow.app.pages.replay import replay
from windrow.app.pages.trial import attempt

__all__ = ["attempt", "check", "follow", "harvest", "ready", "replay", "vet"]
