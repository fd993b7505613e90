"""The collection `pages`: crawls web sites, summarises the documents that it fetches, and indexes them for search."""

from __future__ import annotations

from windrow.collections.pages.code import ASSET, DAY, CrawlType
from windrow.collections.pages.settings import CONFIGURATION
from windrow.contract import Collection, ColumnType, Crawl, Derive, Settle, TypedColumn, later
from windrow.formats import pdf as pdf_format
from windrow.formats import sniff

_READERS_VERSION = "7"


def version() -> str:
    """Return the version of the document readers, followed by the names of the installed extras that they use."""
    extras = (("pdf", pdf_format.is_installed()), ("language", sniff.is_detector_installed()))
    return "+".join([_READERS_VERSION, *(name for name, is_installed in extras if is_installed)])


_CRAWL = "windrow.collections.pages.discover"
_STEP = "windrow.collections.pages.steps"

CRAWL = Crawl(
    later(f"{_CRAWL}:seeds"),
    later(f"{_CRAWL}:rules"),
    later(f"{_CRAWL}:schedule_attempt"),
    later(f"{_CRAWL}:name_exit_code"),
    later(f"{_CRAWL}:normalise_web_address"),
    interval=later(f"{_CRAWL}:compute_interval"),
    why_no_page=later(f"{_CRAWL}:why_no_page"),
    page=int(CrawlType.FILE_CRAWL),
    robots=int(CrawlType.ROBOTSTXT_FETCH),
    beside=ASSET,
    rest=int(DAY),
    large={int(CrawlType.METADATA_CRAWL): 50 << 20},  # the limit for a sitemap in Sitemaps protocol 0.9
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
            needs_body=later(f"{_STEP}:needs_body"),
            make_entry=later(f"{_STEP}:make_entry"),
            rereads_original=later(f"{_STEP}:is_hidden_by_header"),
            expires=later(f"{_STEP}:find_expiry"),
            name_payload=later(f"{_STEP}:name_payload"),
            takes_answers=False,
        ),
        Derive("index"),
    ),
    adapter="windrow.collections.pages.adapter:ADAPTER",
    configuration=CONFIGURATION,
    columns=(TypedColumn("year", ColumnType.DATE, "published"),),  # `search/index_query.py` makes its clause
)
