"""The collection `events`: public calendars and schedules, kept as VotersDaily planned its databases."""

from __future__ import annotations

from windrow.collections.events.discover import begin, follow, select
from windrow.collections.events.settings import CONFIGURATION
from windrow.collections.events.steps import read_events
from windrow.contract import Captures, Collection, Derive, Requests, Settle

COLLECTION = Collection(
    name="events",
    phases=("ask", "read", "document"),
    discovery=(Requests(begin, follow), Captures(select, "1", follow)),
    steps=(Settle("read", "1", read_events), Derive("document", "1")),
    adapter="windrow.collections.events.adapter:ADAPTER",
    configuration=CONFIGURATION,
)
