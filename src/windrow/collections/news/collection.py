"""The collection `news`, put together."""

from __future__ import annotations

from windrow.collections.news.settings import CONFIGURATION
from windrow.contract import Captures, Collection, Derive, Requests, Settle, later

_DISCOVER = "windrow.collections.news.discover"

COLLECTION = Collection(
    name="news",
    phases=("ask", "read", "publish"),
    discovery=(
        Requests(later(f"{_DISCOVER}:begin"), later(f"{_DISCOVER}:follow"), later(f"{_DISCOVER}:origins")),
        Captures(later(f"{_DISCOVER}:select"), "2", statuses=(404, 410)),
    ),
    steps=(
        Settle("read", "1", later(f"{_DISCOVER}:read"), tell=later(f"{_DISCOVER}:tell")),
        Derive("publish"),
    ),
    adapter="windrow.collections.news.adapter:ADAPTER",
    configuration=CONFIGURATION,
)
