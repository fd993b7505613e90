"""The collection `pages`: sites are crawled; what came is summarised and made findable."""

from __future__ import annotations

from windrow.collections.pages.code import ASSET, DAY, CrawlType
from windrow.collections.pages.settings import CONFIGURATION
from windrow.contract import Collection, Crawl, Derive, Settle, later
from windrow.formats import pdf as portable
from windrow.formats import sniff

_VERSION = "4"


def version() -> str:
    """Return the version of these readers on this machine: an extra that is or is not there makes another one."""
    extras = (("pdf", portable.known()), ("language", sniff.known()))
    return "+".join([_VERSION, *(name for name, there in extras if there)])


_CRAWL = "windrow.collections.pages.discover"
_STEP = "windrow.collections.pages.steps"

CRAWL = Crawl(
    later(f"{_CRAWL}:seeds"),
    later(f"{_CRAWL}:rules"),
    later(f"{_CRAWL}:again"),
    later(f"{_CRAWL}:word"),
    later(f"{_CRAWL}:address"),
    interval=later(f"{_CRAWL}:interval"),
    why_no_page=later(f"{_CRAWL}:why_no_page"),
    page=int(CrawlType.FILE_CRAWL),
    robots=int(CrawlType.ROBOTSTXT_FETCH),
    beside=ASSET,
    rest=int(DAY),
    large={int(CrawlType.METADATA_CRAWL): 50 << 20},  # a sitemap, as Sitemaps protocol 0.9 bounds it
)

COLLECTION = Collection(
    name="pages",
    phases=("crawl", "summarise", "index"),
    discovery=CRAWL,
    steps=(
        Settle(
            "summarise",
            f"1+{version()}",
            later(f"{_STEP}:summarise"),
            wants=later(f"{_STEP}:wants"),
            tell=later(f"{_STEP}:tell"),
            refers=later(f"{_STEP}:refers"),
            expires=later(f"{_STEP}:expires"),
            known_as=later(f"{_STEP}:known_as"),
            takes_answers=False,
        ),
        Derive("index"),
    ),
    adapter="windrow.collections.pages.adapter:ADAPTER",
    configuration=CONFIGURATION,
)
