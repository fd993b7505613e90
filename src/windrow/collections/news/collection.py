"""The collection `news`, put together."""

from __future__ import annotations

from windrow.collections.news.discover import begin, follow, origins, read, select
from windrow.collections.news.settings import CONFIGURATION
from windrow.contract import Captures, Collection, Derive, Requests, Settle

COLLECTION = Collection(
    name="news",
    phases=("ask", "read", "publish"),
    discovery=(Requests(begin, follow, origins), Captures(select, "1")),
    steps=(Settle("read", "1", read), Derive("publish", "1")),
    adapter="windrow.collections.news.adapter:ADAPTER",
    configuration=CONFIGURATION,
)
