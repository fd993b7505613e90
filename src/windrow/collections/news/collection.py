"""The collection `news`, put together."""

from __future__ import annotations

from windrow.collections.news.discover import begin, follow, origins, read
from windrow.collections.news.settings import CONFIGURATION
from windrow.contract import Collection, Derive, Requests, Settle

COLLECTION = Collection(
    name="news",
    phases=("ask", "read", "publish"),
    discovery=Requests(begin, follow, origins),
    steps=(Settle("read", "1", read), Derive("publish", "1")),
    adapter="windrow.collections.news.adapter:ADAPTER",
    configuration=CONFIGURATION,
)
