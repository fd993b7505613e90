"""The settings of the collection `pages`: the table [pages] and the keys of its sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from windrow.caps import ASSETS_OF_ORIGIN, SITEMAPS_OF_ORIGIN
from windrow.collections.pages.policy import make_policy
from windrow.collections.pages.scope import Scope, make_scope, parse_host, parse_parameter_rule
from windrow.errors import ConfigError
from windrow.fetch.politeness.guard import read_allowed
from windrow.formats.robots import parse_path_pattern
from windrow.formats.url import describe_bad_address, normalise, parts
from windrow.model import Limits, Site, Source
from windrow.settings.configuration import Configuration, Given, SourceTable, Surroundings, filled
from windrow.settings.kinds import (
    DURATION,
    OPTIONAL_DURATION,
    PATH,
    SELECTORS,
    SIZE,
    SWITCH,
    TEXT,
    TEXTS,
    ValueKind,
    count,
    refuse_password,
)
from windrow.settings.setting import Setting, Value


@dataclass(frozen=True, slots=True)
class Pages:
    """The settings of the collection as a whole. The settings of a site are in its source.

    The user agent is `user_agent` or, if that is empty, is composed of `operator` and `contact`; without it nothing is
    crawled. If `file_text` is true, the source texts of files are copied into the crawler database. `limits` apply to
    one answer, or to the reading of one document.
    """

    operator: str
    contact: str
    user_agent: str
    private_hosts: tuple[str, ...]
    summary_database: Path
    crawler_database: Path
    file_text: bool
    index: Path
    """The folder of the search index."""
    limits: Limits


def _list_kind(noun: str, check: Callable[[str], object]) -> ValueKind:
    """Return the kind of values that are lists of `noun`. `check` raises ConfigError for a text that is not valid."""

    def read(value: Any, root: Path) -> tuple[str, ...]:
        texts: tuple[str, ...] = TEXTS.read(value, root)
        for text in texts:
            refuse_password(text)
            try:
                check(text)
            except ConfigError as error:
                # The name of the setting is removed from the message, because the loader adds it with the file.
                raise ConfigError(str(error).partition(": ")[2] or str(error)) from None
        return texts

    return ValueKind(f"list of {noun}", read, TEXTS.spell, TEXTS.show)


def _check_address(text: str) -> None:
    if not normalise(text).url:
        raise ConfigError(f"seeds: {describe_bad_address(text)}")


def _read_patterns(value: Any, root: Path) -> tuple[str, ...]:
    patterns: tuple[str, ...] = TEXTS.read(value, root)
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ConfigError(f"{pattern[:200]!r} is not a regular expression: {error}") from None
    return patterns


PATTERNS = ValueKind("list of regular expressions", _read_patterns, TEXTS.spell, TEXTS.show)
ADDRESSES = _list_kind("addresses", _check_address)
HOSTS = _list_kind("hosts", parse_host)
PATHS = _list_kind("paths", lambda text: parse_path_pattern(text, "paths"))
DENY_RULES = _list_kind(
    "paths and hosts", lambda text: make_policy(make_scope(["http://a.example/"]), do_not_crawl=[text])
)
PARAMETER_RULES = _list_kind("rules for query parameters", parse_parameter_rule)
PRIVATE_HOSTS = _list_kind("hosts and networks", lambda text: read_allowed([text]))

LIMITS = Limits(transfer_size=16 * 2**20, member_size=64 * 2**20, total_size=256 * 2**20, cpu_time=30.0)
"""The default of `Pages.limits`."""

SETTINGS = (
    Setting(
        "pages.operator",
        TEXT,
        "",
        "short name of the crawler's operator; the user agent begins with OPERATOR-crawler, which robots.txt may name",
    ),
    Setting("pages.contact", TEXT, "", "web page or mailbox that the user agent names; empty: the workspace's contact"),
    Setting("pages.user_agent", TEXT, "", "the whole user agent; empty: OPERATOR-crawler (for CONTACT)"),
    Setting("pages.delay", DURATION, 1, "minimum time between two requests to a host, unless robots.txt sets another"),
    Setting(
        "pages.recrawl_interval",
        DURATION,
        "4 weeks",
        "time between two requests for a page, until its changes are known",
    ),
    Setting(
        "pages.max_commands_per_run",
        count(0, 10**9),
        100_000,
        "maximum number of pages of a site in one run; 0: all due",
    ),
    Setting("pages.do_not_crawl", DENY_RULES, [], "paths, or hosts and paths, that are not requested on any site"),
    Setting("pages.url_query_parameters", PARAMETER_RULES, [], "query parameters allowed in addresses of all sites"),
    Setting(
        "pages.private_hosts",
        PRIVATE_HOSTS,
        [],
        "private hosts and networks that may be requested; all others are refused",
    ),
    Setting("pages.sitemaps", SWITCH, True, "read the sitemaps that robots.txt names"),
    Setting("pages.feeds", SWITCH, True, "read the feeds that pages name"),
    Setting("pages.summary_database", PATH, "summary.sqlite", "the Summary Database", written=True),
    Setting(
        "pages.crawler_database", PATH, "crawler.sqlite", "the crawler database: log of all requests", written=True
    ),
    Setting("pages.file_text", SWITCH, False, "also copy source texts from the archive into the crawler database"),
    Setting("pages.index", PATH, "index", "the folder of the search index", written=True),
    Setting("pages.limits.transfer_size", SIZE, LIMITS.transfer_size, "maximum size of one answer, as transferred"),
    Setting("pages.limits.member_size", SIZE, LIMITS.member_size, "maximum size of one answer, decompressed"),
    Setting("pages.limits.ratio", count(1, 10**5), LIMITS.ratio, "maximum ratio of decompressed to compressed bytes"),
    Setting("pages.limits.answer_time", DURATION, LIMITS.answer_time, "maximum time for one whole answer"),
    Setting("pages.limits.cpu_time", DURATION, LIMITS.cpu_time, "maximum CPU time for reading one page"),
    Setting("pages.limits.memory", SIZE, LIMITS.memory, "maximum memory for reading one page"),
    Setting("pages.limits.pages", count(1, 10**6), LIMITS.pages, "maximum number of pages of one PDF"),
    Setting(
        "pages.limits.characters", count(1, 10**9), LIMITS.characters, "maximum number of characters of one PDF or text"
    ),
    Setting("pages.limits.links", count(1, 10**7), LIMITS.links, "maximum number of links of one page"),
)

SOURCE_SETTINGS = (
    Setting("seeds", ADDRESSES, [], "addresses where the crawl of the site begins; default: `url`"),
    Setting(
        "hosts", HOSTS, [], "more hosts of the site: HOST or HOST:PORT; .example.org: it and all hosts below it; *: any"
    ),
    Setting("paths", PATHS, [], "the only paths that are requested, written as in robots.txt; empty: all"),
    Setting("sitemaps", ADDRESSES, [], "sitemaps of the site in addition to those that robots.txt names"),
    Setting("feeds", ADDRESSES, [], "feeds of the site in addition to those that its pages name"),
    Setting("do_not_crawl", DENY_RULES, [], "paths or hosts that are not requested, in addition to pages.do_not_crawl"),
    Setting("url_query_parameters", PARAMETER_RULES, [], "parameters allowed besides pages.url_query_parameters"),
    Setting(
        "delay", OPTIONAL_DURATION, "", "minimum time between two requests to one of its hosts; empty: as pages.delay"
    ),
    Setting(
        "recrawl_interval",
        OPTIONAL_DURATION,
        "",
        "time between two requests for a page, until its changes are known; empty: that of pages.recrawl_interval",
    ),
    Setting(
        "every", OPTIONAL_DURATION, "", "fixed time between two requests for a page; empty: adapted to its changes"
    ),
    Setting("max_commands_per_run", count(0, 10**9), 0, "maximum number of its pages in one run; 0: as in [pages]"),
    Setting("assets", SWITCH, False, "also keep the images, styles, scripts and fonts of its pages, from any host"),
    Setting(
        "max_assets_per_run", count(1, 10**9), ASSETS_OF_ORIGIN.number, "maximum number of assets of a host in one run"
    ),
    Setting(
        "max_sitemaps_per_run",
        count(1, 10**9),
        SITEMAPS_OF_ORIGIN.number,
        "maximum number of sitemaps of a host in one run",
    ),
    Setting("ignore", SELECTORS, [], "CSS selectors of elements whose text is ignored; their links are not ignored"),
    Setting("ignore_text", PATTERNS, [], "regular expressions; text that they match within a line is ignored"),
    Setting("private_hosts", PRIVATE_HOSTS, [], "private hosts that may be requested, besides pages.private_hosts"),
)

_MERGED_OPTIONS = ("do_not_crawl", "url_query_parameters")
_COPIED_OPTIONS = ("seeds", "hosts", "paths", "sitemaps", "feeds", "ignore", "ignore_text")
_LIMIT_PREFIX = "pages.limits."
_SITE_OPTIONS = ("timeout", "proxy", "address_family")


def build_source(table: SourceTable, values: Mapping[str, Value], surroundings: Surroundings) -> Source:
    """Make a source from its table in TOML and the settings of [pages]; raise ConfigError if the site is invalid.

    The source gets `do_not_crawl`, `url_query_parameters` and `private_hosts` from both. `delay`, `recrawl_interval`
    and `max_commands_per_run` are those of [pages] if the table does not set them.
    """

    def get_default(name: str) -> Any:
        return surroundings.values[f"pages.{name}"].value

    options: dict[str, Any] = {name: values[name].value for name in ("state", *_COPIED_OPTIONS)}
    options |= {name: tuple(dict.fromkeys((*get_default(name), *values[name].value))) for name in _MERGED_OPTIONS}
    for name in ("delay", "recrawl_interval"):
        options[name] = get_default(name) if values[name].value is None else values[name].value
    options |= {name: values[name].value for name in ("every", "assets", "max_assets_per_run", "max_sitemaps_per_run")}
    options |= {
        "read_sitemaps": get_default("sitemaps"),
        "read_feeds": get_default("feeds"),
        "max_links": get_default("limits.links"),
        "seeds": _read_seeds(table, values, surroundings),
    }
    try:
        scope = make_scope(options["seeds"], options["hosts"], options["paths"])
        for name in ("sitemaps", "feeds"):
            _refuse_foreign(scope, name, options[name])
    except ConfigError as error:
        raise ConfigError(
            f"{table.file}: source.{table.name}.{error}", hint=f"edit {surroundings.root / table.file}"
        ) from None
    first_seed = parts(normalise(options["seeds"][0]).url)
    ca_bundle = values["ca_bundle"].value
    site = Site(
        first_seed.scheme,
        first_seed.host.strip("[]"),
        first_seed.port,
        base=first_seed.path,
        **{name: values[name].value for name in _SITE_OPTIONS},
        ca_bundle=str(ca_bundle) if ca_bundle else "",
        agent=surroundings.agent,
        allowed=read_allowed(dict.fromkeys((*get_default("private_hosts"), *values["private_hosts"].value))),
    )
    is_active, collection = values["state"].value == "available", values["collection"].value
    max_pages = values["max_commands_per_run"].value or get_default("max_commands_per_run")
    return Source(table.name, collection, site, active=is_active, connections=1, options=options, most=max_pages)


def _refuse_foreign(scope: Scope, setting: str, addresses: Iterable[str]) -> None:
    """Raise ConfigError for an address in `setting` that is not on a host of the source: it would not be requested."""
    for address in addresses:
        url = parts(normalise(address).url)
        if not scope.owns(url):
            host = url.host if url.port is None else f"{url.host}:{url.port}"
            raise ConfigError(
                f'{setting}: {address} is not on a host of the source; if it belongs to the site: hosts = ["{host}"]'
            )


def _read_seeds(table: SourceTable, values: Mapping[str, Value], surroundings: Surroundings) -> tuple[str, ...]:
    url_setting = values["url"]
    try:
        refuse_password(url_setting.value)
    except ConfigError as error:
        raise ConfigError(
            f"{url_setting.origin}: {url_setting.name}: {error}", hint=f"edit {surroundings.root / table.file}"
        ) from None
    if url_setting.value and not normalise(url_setting.value).url:
        raise ConfigError(
            f"{url_setting.origin}: {url_setting.name}: {describe_bad_address(url_setting.value)}, such as"
            " https://example.org/",
            hint=f"edit {surroundings.root / table.file}",
        )
    seeds = tuple(dict.fromkeys(([url_setting.value] if url_setting.value else []) + [*values["seeds"].value]))
    if not seeds:
        raise ConfigError(
            f"{table.file}: source.{table.name} has neither seeds nor url",
            hint=f'seeds = ["https://..."] in {table.file}',
        )
    return seeds


def build_pages(section: Given) -> Pages:
    """Make the settings of the collection from [pages], with the workspace's free space and default contact."""
    values = section.values
    configured_limits = {
        name.rpartition(".")[2]: limit.value for name, limit in values.items() if name.startswith(_LIMIT_PREFIX)
    }
    limits = replace(LIMITS, free_space=values["limits.free_space"].value, **configured_limits)
    contact = values["pages.contact"].value or values["contact"].value
    return filled(Pages, values, "pages", contact=contact, limits=limits)


CONFIGURATION = Configuration(
    examples=(
        "windrow new source blog https://blog.example.org/ --collection pages",
        "windrow new collection recipes --from pages",
        "windrow run ./crawl-00001.warc.gz ./more --source elsewhere",
        "windrow try https://example.org/ --collection pages",
        "windrow export summary --as sqlite > summary.sqlite",
        "windrow export pages --as jsonl > pages.jsonl",
    ),
    settings=SETTINGS,
    source=SOURCE_SETTINGS,
    section=build_pages,
    build=build_source,
    template="""\
[pages]
# operator = "example"  # the user agent is example-crawler; nothing is crawled without it and a contact
# contact = "https://example.org/our-crawler"  # a web page or a mailbox

# A source of pages:
# [source.blog]
# collection = "pages"
# seeds = ["https://blog.example.org/"]
""",
)
