"""How pages are found: the sites' seeds, the rules of each origin, and when an address is due again.

All of it is what a source's options say, as the configuration has put them together: `seeds`, `hosts`,
`paths`, `do_not_crawl`, `url_query_parameters`, `sitemaps`, `feeds`, `delay` and `recrawl_interval` in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from windrow.collections.pages import redirect, site_rules
from windrow.collections.pages.books import ended, outcome
from windrow.collections.pages.code import ExitCode
from windrow.collections.pages.policy import Policy, policy
from windrow.collections.pages.redirect import move
from windrow.collections.pages.references import References
from windrow.collections.pages.scope import clean, scope
from windrow.collections.pages.site_rules import SITEMAP, CrawlOptions, SiteRules
from windrow.contract import ContentCheck
from windrow.digest import number
from windrow.formats.url import normalise, parts
from windrow.model import Attempt, FoundUrl, Source
from windrow.reasons import Reason

NOT_MODIFIED = 304
_NO_ANSWER = frozenset({
    ExitCode.DID_NOT_UNDERSTAND_ANSWER, ExitCode.CONNECTION_FAILED, ExitCode.REQUEST_TIMEOUT,
    ExitCode.ERROR_READING_RESPONSE, ExitCode.RESPONSE_TOO_LARGE, ExitCode.TLS_ERROR, ExitCode.DNS_ERROR,
})  # fmt: skip
"""What became of a question that was asked, and to which no answer came that can be read."""


def site(source: Source) -> Policy:
    """Return the rules of a source's site."""
    told = source.options
    return policy(
        scope(told["seeds"], told["hosts"], told["paths"]),
        do_not_crawl=told["do_not_crawl"],
        url_query_parameters=told["url_query_parameters"],
    )


def seeds(source: Source, options: Mapping[str, Any]) -> list[FoundUrl]:  # noqa: ARG001 the shape of `Crawl.seeds`
    """Return a site's first addresses: its seeds, and the sitemaps and feeds that it names."""
    told, policies = source.options, site(source)
    urls = dict.fromkeys(clean(url) for url in (*policies.scope.seeds, *_within(policies, told["feeds"])))
    found = [FoundUrl(number(url), parts(url).origin, url, redirect.segments(url)) for url in urls]
    maps = dict.fromkeys(_within(policies, told["sitemaps"]))
    return found + [FoundUrl(number(url), parts(url).origin, url, 0, SITEMAP) for url in maps]


def _within(policies: Policy, told: Iterable[str]) -> list[str]:
    """Return those of some written addresses that lie on the site's hosts."""
    return [url for text in told if (url := normalise(text).url) and policies.scope.owns(parts(url))]


def rules(source: Source, origin: str, options: Mapping[str, Any]) -> SiteRules:  # noqa: ARG001 the shape of `Crawl.rules`
    """Return the rules by which one origin of a site is walked."""
    agent = source.site.agent
    told = source.options
    manner = CrawlOptions(
        site(source), agent, told["delay"], sitemaps=told["read_sitemaps"],
        hints=not told.get("every"), assets=told.get("assets", False),
    )  # fmt: skip
    return SiteRules(manner, origin, References(agent, feeds=source.options["read_feeds"]))


def again(source: Source, attempt: Attempt, interval: int, failures: int) -> tuple[int | None, int]:
    """Return when an address is due again and its next interval, in whole seconds."""
    every = source.options.get("every")
    due, after = site_rules.again(attempt, float(every or interval), failures, source.options["recrawl_interval"])
    if every and attempt.kind != SITEMAP:
        due, after = min(due, attempt.started.timestamp() + every), every
    return int(due), max(1, int(after))


def interval(source: Source, looks: Sequence[ContentCheck]) -> int:
    """Return the interval of an address in whole seconds, from what its visits after the first one found."""
    every, start = source.options.get("every"), source.options["recrawl_interval"]
    return max(1, int(every or redirect.interval(looks, start)))


def why_no_page(source: Source, attempt: Attempt) -> str:
    """Say why a seed gave no page, with the line that mends it; empty where it gave one, or was not asked for."""
    if attempt.status is None and not (attempt.target and outcome(None, attempt.reason) in _NO_ANSWER):
        return ""
    if attempt.status == NOT_MODIFIED or ((attempt.status or 0) < 300 and not attempt.reason):
        return ""
    if attempt.location and attempt.status is not None:
        found = move(attempt.url, attempt.status, attempt.location)
        where = parts(found.url) if found and found.url else None
        if where is None:
            return f"the seed {attempt.url} leads nowhere: {attempt.location[:200]!r}"
        if site(source).scope.owns(where):
            return ""
        told = f"the seed {attempt.url} leads to {where.origin}, which is no host of this source"
        line = f'hosts = ["{where.host}"]' if where.port is None else f'seeds = ["{where.origin}/"]'
        return f"{told}; if it is the same site: {line}"
    why = attempt.message or (attempt.reason.meaning if attempt.reason else f"the server answers {attempt.status}")
    mend = "; if it has moved, mend seeds" if attempt.status is not None else ""
    return f"the seed {attempt.url} gave no page: {why}{mend}"


def word(status: int | None, reason: Reason | None, media: str) -> str:
    """Name the exit code of a request that brought such a file, as the Summary Database has it.

    >>> word(200, None, "text/html"), word(200, None, "image/png"), word(None, Reason.ROBOTS_DENIED, "")
    ('file_ingested', 'file_of_unknown_type', 'robots_denied')
    """
    return ended(status, reason, media).name.lower()


def address(what: str) -> str:
    """Return the normal address that a text names, as the crawl spells it; empty where it names none.

    >>> address("https://Example.org/a?utm_source=x#top"), address("H.2026-01-12.1.impc.zip")
    ('https://example.org/a', '')
    """
    if not what.startswith(("http://", "https://")):
        return ""
    return clean(url) if (url := normalise(what).url) else ""
