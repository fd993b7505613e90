"""The collection `papers`, as one value."""

from __future__ import annotations

from windrow.collections.papers.settings import CONFIGURATION
from windrow.contract import Captures, Collection, Derive, Settle, later

_FINDING = "windrow.collections.papers.finding"

COLLECTION = Collection(
    name="papers",
    phases=("find", "extract", "match"),
    discovery=Captures(later(f"{_FINDING}:select"), "1", unchanged=False, kinds=later(f"{_FINDING}:kinds")),
    steps=(
        Settle("extract", "1", later("windrow.collections.papers.extract:extract"), retakes=2),
        Derive("match"),
    ),
    adapter="windrow.collections.papers.adapter:ADAPTER",
    configuration=CONFIGURATION,
)
