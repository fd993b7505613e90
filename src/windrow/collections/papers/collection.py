"""The collection `papers`, as one value."""

from __future__ import annotations

from windrow.collections.papers.settings import CONFIGURATION
from windrow.contract import Captures, Collection, Derive, Settle, later

COLLECTION = Collection(
    name="papers",
    phases=("find", "extract", "match"),
    discovery=Captures(later("windrow.collections.papers.finding:select"), "1", unchanged=False),
    steps=(Settle("extract", "1", later("windrow.collections.papers.extract:extract")), Derive("match", "1")),
    adapter="windrow.collections.papers.adapter:ADAPTER",
    configuration=CONFIGURATION,
)
