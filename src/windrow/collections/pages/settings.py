"""What the collection `pages` may be told: [pages], and what its sites say."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from windrow.collections.pages.policy import policy
from windrow.collections.pages.scope import path_pattern, rule, scope
from windrow.errors import ConfigError
from windrow.fetch.politeness.guard import host_pattern, read_allowed
from windrow.formats.url import normalise, parts
from windrow.model import Limits, Site, Source
from windrow.settings.configuration import Configuration, Given, SourceTable, Surroundings, filled
from windrow.settings.kinds import DURATION, MAYBE, PATH, SIZE, SWITCH, TEXT, TEXTS, ValueKind, count
from windrow.settings.setting import Setting, Value


@dataclass(frozen=True, slots=True)
class Pages:
    """What the collection `pages` is told as a whole; what each site may have of its own is in its source.

    `operator`, `contact` and `user_agent` make the name under which it crawls; without them nothing is
    asked. `limits` are those of one page.
    """

    operator: str
    contact: str
    user_agent: str
    private: tuple[str, ...]
    summary: Path
    crawler: Path
    file_text: bool
    index: Path
    limits: Limits


_SCHEME = r"^(?:[a-z][a-z0-9+.-]*:)?//"
_USER = re.compile(rf"(?:{_SCHEME}|^)[^/?#@]*@", re.IGNORECASE)
_PASSWORD = re.compile(
    rf"{_SCHEME}[^/?#@:\[]*:(?![0-9]{{0,5}}(?:[/?#]|$))[^@]*@|[?&;](?:password|passwd|pwd)=", re.IGNORECASE
)
"""A password may hold signs that end a host: what follows a colon and is no port is one, up to an @."""


def refuse_password(text: str) -> None:
    """Raise ConfigError for an address of the web that holds a user or password; it is not repeated.

    >>> refuse_password("https://example.org:8080/@somebody?to=a@b.example")
    >>> refuse_password("https://me:Hun/ter2@example.org/")
    Traceback (most recent call last):
    windrow.errors.ConfigError: an address of the web may not hold a user or password: pages are asked for without
    """
    if _USER.search(text) or _PASSWORD.search(text):
        raise ConfigError("an address of the web may not hold a user or password: pages are asked for without")


def _list(noun: str, check: Callable[[str], object]) -> ValueKind:
    """Return the kind of a list whose every text `check` can read."""

    def read(value: Any, root: Path) -> tuple[str, ...]:
        found: tuple[str, ...] = TEXTS.read(value, root)
        for one in found:
            refuse_password(one)
            try:
                check(one)
            except ConfigError as error:
                # The rules name their own setting first; the loader does that, with the file.
                raise ConfigError(str(error).partition(": ")[2] or str(error)) from None
        return found

    return ValueKind(f"list of {noun}", read, TEXTS.spell, TEXTS.show)


def _address(text: str) -> None:
    if not normalise(text).url:
        raise ConfigError(f"seeds: {text[:200]!r} is not an address of the web")


ADDRESSES = _list("addresses", _address)
HOSTS = _list("hosts", lambda text: host_pattern(text, "hosts"))
PATHS = _list("paths", lambda text: path_pattern(text, "paths"))
DENIED = _list("paths and hosts", lambda text: policy(scope(["http://a.example/"]), do_not_crawl=[text]))
QUERIES = _list("rules for query parameters", rule)
PRIVATE = _list("hosts and networks", lambda text: read_allowed([text]))

LIMITS = Limits(transfer=16 * 2**20, member=64 * 2**20, total=256 * 2**20, seconds=30.0)
"""What one page may take, unless the workspace says otherwise."""

SETTINGS = (
    Setting("pages.operator", TEXT, "", "short name of who crawls; the first word of the user agent, and robots.txt's"),
    Setting("pages.contact", TEXT, "", "web page or mailbox that the user agent names; empty: the workspace's contact"),
    Setting("pages.user_agent", TEXT, "", "the whole user agent, in place of OPERATOR-crawler (for CONTACT)"),
    Setting("pages.delay", DURATION, 1, "least time between two requests to a host that asks for no other"),
    Setting("pages.recrawl_interval", DURATION, "4 weeks", "when a page is looked at again, until it is known better"),
    Setting(
        "pages.max_commands_per_run", count(0, 10**9), 100_000, "most pages of a site that one run asks for; 0: all due"
    ),
    Setting("pages.do_not_crawl", DENIED, [], "paths, or hosts and paths, that are not asked for on any site"),
    Setting("pages.url_query_parameters", QUERIES, [], "query parameters that addresses of all sites may have"),
    Setting("pages.private", PRIVATE, [], "hosts and networks that may be private; no others are talked to"),
    Setting("pages.sitemaps", SWITCH, True, "take the sitemaps that robots.txt names as hints"),
    Setting("pages.feeds", SWITCH, True, "take the feeds that pages name as hints"),
    Setting("pages.summary", PATH, "summary.sqlite", "the Summary Database", written=True),
    Setting("pages.crawler", PATH, "crawler.sqlite", "the books of the crawl", written=True),
    Setting("pages.file_text", SWITCH, False, "keep the source text of pages in these books too; the archive has it"),
    Setting("pages.index", PATH, "index", "the folder of the search index", written=True),
    Setting("pages.limits.transfer", SIZE, LIMITS.transfer, "most bytes of one answer, as it comes"),
    Setting("pages.limits.member", SIZE, LIMITS.member, "most bytes of one answer, inflated"),
    Setting("pages.limits.ratio", count(1, 10**5), LIMITS.ratio, "most bytes that one packed byte may become"),
    Setting("pages.limits.answer", DURATION, LIMITS.answer, "longest time for one whole answer"),
    Setting("pages.limits.seconds", DURATION, LIMITS.seconds, "CPU time to read one page"),
    Setting("pages.limits.memory", SIZE, LIMITS.memory, "most memory to read one page"),
)

SOURCE = (
    Setting("seeds", ADDRESSES, [], "where the crawl of the site begins; with `url` alone, there"),
    Setting("hosts", HOSTS, [], "more hosts of the site; .example.org: it and all below, *: any"),
    Setting("paths", PATHS, [], "only these paths, as robots.txt writes them; empty: all"),
    Setting("sitemaps", ADDRESSES, [], "sitemaps of the site beside those that robots.txt names"),
    Setting("feeds", ADDRESSES, [], "feeds of the site beside those that its pages name"),
    Setting("do_not_crawl", DENIED, [], "beside those of pages.do_not_crawl"),
    Setting("url_query_parameters", QUERIES, [], "beside those of pages.url_query_parameters"),
    Setting("delay", MAYBE, "", "least time between two requests to a host of it; empty: as pages.delay says"),
    Setting("recrawl_interval", MAYBE, "", "when its pages are looked at again; empty: as pages.recrawl_interval says"),
    Setting("every", MAYBE, "", "when its pages are looked at again, whatever is seen of them (7d); empty: adapted"),
    Setting("max_commands_per_run", count(0, 10**9), 0, "most of its pages in one run; 0: as [pages] says"),
    Setting("assets", SWITCH, False, "keep the images, styles, scripts and fonts of its pages too, of any host"),
    Setting("private", PRIVATE, [], "beside those of pages.private"),
)

_BOTH = ("do_not_crawl", "url_query_parameters")
_OWN = ("seeds", "hosts", "paths", "sitemaps", "feeds")
_LIMITS = "pages.limits."
_ON_SITE = ("timeout", "proxy", "family")


def source(one: SourceTable, values: Mapping[str, Value], around: Surroundings) -> Source:
    """Make a site of what was declared; its options hold what is in force for it, the workspace's part included."""

    def of(name: str) -> Any:
        return around.values[f"pages.{name}"].value

    options: dict[str, Any] = {name: values[name].value for name in ("state", *_OWN)}
    options |= {name: tuple(dict.fromkeys((*of(name), *values[name].value))) for name in _BOTH}
    for name in ("delay", "recrawl_interval"):
        options[name] = of(name) if values[name].value is None else values[name].value
    options |= {name: values[name].value for name in ("every", "assets")}
    options |= {"read_sitemaps": of("sitemaps"), "read_feeds": of("feeds"), "seeds": _seeds(one, values, around)}
    try:
        scope(options["seeds"], options["hosts"], options["paths"])
    except ConfigError as error:
        raise ConfigError(f"{one.file}: source.{one.name}.{error}", hint=f"edit {around.root / one.file}") from None
    first = parts(normalise(options["seeds"][0]).url)
    bundle = values["ca_bundle"].value
    site = Site(
        first.scheme,
        first.host.strip("[]"),
        first.port,
        base=first.path,
        **{name: values[name].value for name in _ON_SITE},
        ca_bundle=str(bundle) if bundle else "",
        agent=around.agent,
        allowed=read_allowed(dict.fromkeys((*of("private"), *values["private"].value))),
    )
    active = values["state"].value == "available"
    most = values["max_commands_per_run"].value or of("max_commands_per_run")
    kind = values["collection"].value
    return Source(one.name, kind, site, active=active, connections=1, options=options, most=most)


def _seeds(one: SourceTable, values: Mapping[str, Value], around: Surroundings) -> tuple[str, ...]:
    url = values["url"]
    try:
        refuse_password(url.value)
    except ConfigError as error:
        raise ConfigError(f"{url.origin}: {url.name}: {error}", hint=f"edit {around.root / one.file}") from None
    if url.value and not normalise(url.value).url:
        raise ConfigError(
            f"{url.origin}: {url.name}: {url.value[:200]!r} is not an address of the web, such as https://example.org/",
            hint=f"edit {one.file}",
        )
    found = tuple(dict.fromkeys(([url.value] if url.value else []) + [*values["seeds"].value]))
    if not found:
        raise ConfigError(
            f"{one.file}: source.{one.name}: it has no seeds, and no url", hint=f'seeds = ["https://..."] in {one.file}'
        )
    return found


def pages(given: Given) -> Pages:
    """Gather what [pages] says; where it names no contact, the workspace's is taken."""
    values = given.values
    told_limits = {name.rpartition(".")[2]: one.value for name, one in values.items() if name.startswith(_LIMITS)}
    limits = replace(LIMITS, spare=values["limits.spare"].value, **told_limits)
    contact = values["pages.contact"].value or values["contact"].value
    return filled(Pages, values, "pages", contact=contact, limits=limits)


CONFIGURATION = Configuration(
    examples=(
        "windrow new source blog https://blog.example.org/ --collection pages",
        "windrow run ./crawl-00001.warc.gz ./more --as elsewhere",
        "windrow try https://example.org/ --as pages",
        "windrow export summary --as sqlite > summary.sqlite",
        "windrow export pages --as jsonl > pages.jsonl",
    ),
    settings=SETTINGS,
    source=SOURCE,
    section=pages,
    build=source,
    template="""\
[pages]
# operator = "example"  # the first word of the user agent; nothing is crawled without it and a contact
# contact = "https://example.org/our-crawler"  # a web page or a mailbox

# A source of pages:
# [source.blog]
# collection = "pages"
# seeds = ["https://blog.example.org/"]
""",
)
