"""The collection `news` and its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from windrow.caps import FEED_ARTICLES, NEWS_DOCUMENT_BYTES, SECTION_LINKS
from windrow.contract import Captures, Collection, ColumnType, Derive, Requests, Settle, TypedColumn, later
from windrow.errors import ConfigError
from windrow.formats.url import describe_bad_address, normalise
from windrow.model import Source
from windrow.settings.configuration import Configuration, SourceTable, Surroundings, source_at_url
from windrow.settings.kinds import (
    DAY,
    DURATION,
    PATH,
    SELECTORS,
    SIZE,
    SWITCH,
    TEXTS,
    ValueKind,
    choice,
    count,
    refuse_password,
)
from windrow.settings.setting import ASKED, CAPTURED, Setting, Value, store_of

KINDS = ("wordpress", "townnews", "feed", "page")
"""The kinds of sites, the most reliable first."""


def _read_zone(setting: Any, _root: Path) -> str:
    if setting == "":
        return ""
    try:
        return ZoneInfo(str(setting)).key
    except (ValueError, OSError, KeyError):
        raise ConfigError("expected a time zone, such as America/Chicago") from None


def _read_addresses(setting: Any, root: Path) -> tuple[str, ...]:
    addresses: tuple[str, ...] = TEXTS.read(setting, root)
    for address in addresses:
        refuse_password(address)
        if not normalise(address).url:
            raise ConfigError(f"{describe_bad_address(address)}, such as https://news.example.org")
    return addresses


def _read_seeds(setting: Any, root: Path) -> tuple[str, ...]:
    """Read addresses, and paths relative to the source's own address."""
    seeds: tuple[str, ...] = TEXTS.read(setting, root)
    for seed in seeds:
        address = seed if "://" in seed else f"http://a.example/{seed.lstrip('/')}"
        refuse_password(address)
        if not normalise(address).url:
            raise ConfigError(describe_bad_address(seed))
    return seeds


def _read_path_patterns(setting: Any, root: Path) -> tuple[str, ...]:
    patterns: tuple[str, ...] = TEXTS.read(setting, root)
    for pattern in patterns:
        if not pattern.startswith(("/", "*")):
            raise ConfigError(f"{pattern[:200]!r} is not a path: a path begins with / or *")
    return patterns


PATH_PATTERNS = ValueKind("list of paths", _read_path_patterns, TEXTS.spell, TEXTS.show)
ADDRESSES = ValueKind("list of addresses", _read_addresses, TEXTS.spell, TEXTS.show)
SEEDS = ValueKind("list of addresses", _read_seeds, TEXTS.spell, TEXTS.show)
ZONE = ValueKind("time zone", _read_zone)

SOURCE = (
    *ASKED,
    *CAPTURED,
    Setting("kind", choice("auto", *KINDS), "auto", "kind of the site; auto: detected from the page at `url`"),
    Setting("every", DURATION, 0, "shortest time between requests for new articles; 0: in each run"),
    Setting(
        "again", DURATION, "6h", "pause before an article's page is requested again; further pauses double; 0: never"
    ),
    Setting("overlap", DURATION, "48h", "how far requests for new posts reach back before the last run"),
    Setting(
        "full_listing_every", DURATION, "1d", "WordPress, BLOX: time between listings of all posts; 0: in each run"
    ),
    Setting("since", DAY, "", "first day of the articles that are wanted; empty: from the first article"),
    Setting("until", DAY, "", "last day of the articles that are wanted; newer ones are not requested"),
    Setting("timezone", ZONE, "", "time zone of dates without one"),
    Setting(
        "seeds", SEEDS, [], "feeds, sitemaps or section pages to request, relative to `url`; default: `url` itself"
    ),
    Setting("origins", ADDRESSES, [], "other origins with articles of the site, such as https://news.example.org"),
    Setting(
        "max_links", count(1, 10**5), SECTION_LINKS.number, "most articles that are requested from one page of links"
    ),
    Setting("article", PATH_PATTERNS, [], "the only paths of articles, written as in robots.txt; empty: detected"),
    Setting("not_article", PATH_PATTERNS, [], "paths that are not those of articles, such as /*/video/"),
    Setting("title_selectors", SELECTORS, [], "CSS selectors of an article's title; the first that selects something"),
    Setting("author_selectors", SELECTORS, [], "CSS selectors of an article's authors"),
    Setting("date_selectors", SELECTORS, [], "CSS selectors of an article's date of publication"),
    Setting("text_selectors", SELECTORS, [], "CSS selectors of an article's text"),
    Setting("exclude_selectors", SELECTORS, [], "CSS selectors of elements that are not part of an article"),
)


def build(table: SourceTable, values: Mapping[str, Value], surroundings: Surroundings) -> Source:
    """Build a source from its table in the configuration.

    Raise ConfigError if `url` is not http(s), if `until` is before `since`, or for `seeds` that `kind` does not use.
    """
    source = source_at_url(table, values, surroundings)
    if source.site.scheme and not normalise(values["url"].value).url:
        raise ConfigError(f"{values['url'].origin}: `url` is not an http or https address", hint=f"edit {table.file}")
    since, until = values["since"].value, values["until"].value
    if since and until and since > until:
        raise ConfigError(f"{values['until'].origin}: `until` is before `since`", hint=f"edit {table.file}")
    kind = values["kind"].value
    if values["seeds"].value and kind in {"wordpress", "townnews"}:
        problem = f'`seeds` are not requested from a site of the kind {kind}: remove them, or set kind = "feed"'
        raise ConfigError(f"{values['seeds'].origin}: {problem}", hint=f"edit {table.file}")
    return replace(source, pace=float(values["delay"].value))


CONFIGURATION = Configuration(
    settings=(
        store_of("news"),
        Setting("news.article_folder", PATH, "normalized_news", "folder of the files of articles", written=True),
        Setting("news.raw_folder", PATH, "raw_news_data", "folder of the raw responses of each run", written=True),
        Setting(
            "news.rewrite_changed",
            SWITCH,
            default=False,
            help="rewrite the file of a changed article and list its revisions in it",
        ),
        Setting(
            "news.document_size",
            SIZE,
            NEWS_DOCUMENT_BYTES.number,
            "maximum size of a list, page or answer of an API, as transferred or decompressed",
        ),
        Setting(
            "news.feed_articles",
            count(1, 10**6),
            FEED_ARTICLES.number,
            "maximum number of articles in an exported feed, the newest ones",
        ),
    ),
    source=SOURCE,
    build=build,
    template="""\
# A source of news:
# [source.gazette]
# collection = "news"
# url = "https://gazette.example.org/"
""",
)


_DISCOVER = "windrow.collections.news.discover"

COLLECTION = Collection(
    name="news",
    phases=("ask", "read", "publish"),
    discovery=(
        Requests(later(f"{_DISCOVER}:begin"), later(f"{_DISCOVER}:follow"), later(f"{_DISCOVER}:origins")),
        Captures(later(f"{_DISCOVER}:select"), "3", statuses=(404, 410)),
    ),
    steps=(
        Settle("read", "3", later(f"{_DISCOVER}:read"), make_entry=later(f"{_DISCOVER}:article_entry")),
        Derive("publish"),
    ),
    adapter="windrow.collections.news.adapter:ADAPTER",
    configuration=CONFIGURATION,
    columns=(
        TypedColumn("author", ColumnType.TEXT),
        TypedColumn("date", ColumnType.DATE, "publication_timestamp_gmt"),
        TypedColumn("year", ColumnType.DATE, "publication_timestamp_gmt"),
    ),
)
