"""A collection that crawls as `pages` does, without any delay, and does nothing after the crawl."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from windrow.collections.pages.code import DAY
from windrow.collections.pages.collection import CRAWL
from windrow.collections.pages.discover import make_site_policy
from windrow.collections.pages.references import References
from windrow.collections.pages.site_rules import CrawlOptions, SiteRules
from windrow.contract import Collection
from windrow.formats.url import parts
from windrow.model import Allowed, Site, Source

AGENT = "windrow-benchmark (+https://bench.example/)"
OPTIONS = {
    "hosts": (), "paths": (), "do_not_crawl": (), "url_query_parameters": (), "sitemaps": (), "feeds": (),
    "read_sitemaps": True, "read_feeds": True, "delay": 0.0, "recrawl_interval": 28 * DAY,
}  # fmt: skip


def source(seed: str) -> Source:
    """Return the source of a seed's site."""
    where = parts(seed)
    options: Any = OPTIONS | {"seeds": (seed,)}
    return Source(
        where.host,
        "walked",
        Site(where.scheme, where.host, where.port, agent=AGENT, allowed=Allowed(everything=True)),
        options=options,
    )


def rules(source: Source, origin: str, options: Mapping[str, Any]) -> SiteRules:
    """Crawl by the collection's own rules, but without delay."""
    declared: Any = source.options
    manner = CrawlOptions(make_site_policy(source), AGENT, declared["delay"], polite=False)
    return SiteRules(manner, origin, References(AGENT))


WALKED = Collection(name="walked", phases=("crawl",), discovery=replace(CRAWL, rules=rules), steps=())
