"""The collection `events`: public calendars and schedules, kept as VotersDaily planned its databases."""

from __future__ import annotations

from windrow.collections.events.settings import CONFIGURATION
from windrow.contract import Captures, Collection, Derive, Requests, Settle, later

_DISCOVER = "windrow.collections.events.discover"
_STEPS = "windrow.collections.events.reading"

COLLECTION = Collection(
    name="events",
    phases=("ask", "read", "document"),
    discovery=(
        Requests(later(f"{_DISCOVER}:begin"), later(f"{_DISCOVER}:follow")),
        Captures(later(f"{_DISCOVER}:select"), "1", later(f"{_DISCOVER}:follow")),
    ),
    steps=(
        Settle("read", "3", later(f"{_STEPS}:read_events"), missing=later(f"{_STEPS}:missing_events")),
        Derive("document"),
    ),
    adapter="windrow.collections.events.adapter:ADAPTER",
    configuration=CONFIGURATION,
)
