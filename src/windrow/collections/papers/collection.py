"""The collection `papers`, as one value."""

from __future__ import annotations

from windrow.collections.papers.extract import SETTLE
from windrow.collections.papers.finding import select
from windrow.collections.papers.settings import CONFIGURATION
from windrow.contract import Captures, Collection, Derive

COLLECTION = Collection(
    name="papers",
    phases=("find", "extract", "match"),
    discovery=Captures(select, "1", unchanged=False),
    steps=(SETTLE, Derive("match", "1")),
    adapter="windrow.collections.papers.adapter:ADAPTER",
    configuration=CONFIGURATION,
)
