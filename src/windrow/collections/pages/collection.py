"""The collection `pages`: sites are crawled; what came is summarised and made findable."""

from __future__ import annotations

from windrow.collections.pages.crawl import CRAWL
from windrow.collections.pages.reading import version
from windrow.collections.pages.settings import CONFIGURATION
from windrow.collections.pages.summarise import expires, known_as, refers, summarise, tell, wants
from windrow.contract import Collection, Derive, Settle

COLLECTION = Collection(
    name="pages",
    phases=("crawl", "summarise", "index"),
    discovery=CRAWL,
    steps=(
        Settle("summarise", f"1+{version()}", summarise, wants, tell, refers, expires, known_as),
        Derive("index", "1"),
    ),
    adapter="windrow.collections.pages.adapter",
    configuration=CONFIGURATION,
)
