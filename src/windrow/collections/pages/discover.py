"""How pages are found: the seeds of a site, the rules of each origin, and when an address is due again.

Everything follows from a source's options: `seeds`, `hosts`, `paths`, `do_not_crawl`, `url_query_parameters`,
`sitemaps`, `feeds`, `delay` and `recrawl_interval` in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from windrow.collections.pages import redirect, site_rules
from windrow.collections.pages.code import ExitCode
from windrow.collections.pages.crawl_log import classify_answer, map_outcome
from windrow.collections.pages.policy import Policy, policy
from windrow.collections.pages.redirect import read_redirect
from windrow.collections.pages.references import References
from windrow.collections.pages.scope import clean_address, scope
from windrow.collections.pages.site_rules import SITEMAP, CrawlOptions, SiteRules
from windrow.contract import ContentCheck
from windrow.digest import hash64
from windrow.formats.url import normalise, parts
from windrow.model import Attempt, FoundUrl, Source
from windrow.reasons import Reason

NOT_MODIFIED = 304
_NO_ANSWER = frozenset({
    ExitCode.DID_NOT_UNDERSTAND_ANSWER, ExitCode.CONNECTION_FAILED, ExitCode.REQUEST_TIMEOUT,
    ExitCode.ERROR_READING_RESPONSE, ExitCode.RESPONSE_TOO_LARGE, ExitCode.TLS_ERROR, ExitCode.DNS_ERROR,
})  # fmt: skip
"""Exit codes of requests that were sent and got no readable answer."""


def site(source: Source) -> Policy:
    """Return the rules of a source's site."""
    options = source.options
    return policy(
        scope(options["seeds"], options["hosts"], options["paths"]),
        do_not_crawl=options["do_not_crawl"],
        url_query_parameters=options["url_query_parameters"],
    )


def seeds(source: Source, options: Mapping[str, Any]) -> list[FoundUrl]:  # noqa: ARG001 the shape of `Crawl.seeds`
    """Return the first addresses of a site: its seeds, feeds and sitemaps."""
    declared, rules_of_site = source.options, site(source)
    pages = dict.fromkeys(
        clean_address(url) for url in (*rules_of_site.scope.seeds, *_keep_own_hosts(rules_of_site, declared["feeds"]))
    )
    seeds_found = [FoundUrl(hash64(url), parts(url).origin, url, redirect.count_segments(url)) for url in pages]
    sitemaps = dict.fromkeys(_keep_own_hosts(rules_of_site, declared["sitemaps"]))
    return seeds_found + [FoundUrl(hash64(url), parts(url).origin, url, 0, SITEMAP) for url in sitemaps]


def _keep_own_hosts(rules_of_site: Policy, texts: Iterable[str]) -> list[str]:
    """Normalise the addresses, and return those on the site's hosts."""
    return [url for text in texts if (url := normalise(text).url) and rules_of_site.scope.owns(parts(url))]


def rules(source: Source, origin: str, options: Mapping[str, Any]) -> SiteRules:  # noqa: ARG001 the shape of `Crawl.rules`
    """Return the crawl rules of one origin of a site."""
    agent = source.site.agent
    declared = source.options
    crawl_options = CrawlOptions(
        site(source), agent, declared["delay"], sitemaps=declared["read_sitemaps"],
        hints=not declared.get("every"), assets=declared.get("assets", False),
    )  # fmt: skip
    return SiteRules(crawl_options, origin, References(agent, feeds=source.options["read_feeds"]))


def schedule_attempt(source: Source, attempt: Attempt, interval: int, failures: int) -> tuple[int | None, int]:
    """Return when an address is due again and its next interval, in whole seconds."""
    every = source.options.get("every")
    due, next_interval = site_rules.schedule_attempt(
        attempt, float(every or interval), failures, source.options["recrawl_interval"]
    )
    if every and attempt.kind != SITEMAP:
        due, next_interval = min(due, attempt.started.timestamp() + every), every
    return int(due), max(1, int(next_interval))


def compute_interval(source: Source, checks: Sequence[ContentCheck]) -> int:
    """Return the interval of an address in whole seconds, computed from its attempts after the first."""
    interval, start = source.options.get("every"), source.options["recrawl_interval"]
    return max(1, int(interval or redirect.compute_interval(checks, start)))


def why_no_page(source: Source, attempt: Attempt) -> str:
    """Return why a seed returned no page, with the setting to change; empty if it returned one or was not requested."""
    if attempt.status is None and not (attempt.target and map_outcome(None, attempt.reason) in _NO_ANSWER):
        return ""
    if attempt.status == NOT_MODIFIED or ((attempt.status or 0) < 300 and not attempt.reason):
        return ""
    if attempt.location and attempt.status is not None:
        redirected = read_redirect(attempt.url, attempt.status, attempt.location)
        destination = parts(redirected.url) if redirected and redirected.url else None
        if destination is None:
            return f"the seed {attempt.url} redirects to {attempt.location[:200]!r}, which is not another web address"
        if site(source).scope.owns(destination):
            return ""
        message = f"the seed {attempt.url} redirects to {destination.origin}, which is not a host of this source"
        line = f'hosts = ["{destination.host}"]' if destination.port is None else f'seeds = ["{destination.origin}/"]'
        return f"{message}; if it is the same site: {line}"
    cause = attempt.message or (attempt.reason.meaning if attempt.reason else f"the server answers {attempt.status}")
    remedy = "; if it has moved, change seeds" if attempt.status is not None else ""
    return f"the seed {attempt.url} returned no page: {cause}{remedy}"


def name_exit_code(status: int | None, reason: Reason | None, media: str) -> str:
    """Return the lower-case name of a request's exit code in the Summary Database.

    >>> name_exit_code(200, None, "image/png"), name_exit_code(None, Reason.ROBOTS_DENIED, "")
    ('file_of_unknown_type', 'robots_denied')
    """
    return classify_answer(status, reason, media).name.lower()


def address(text: str) -> str:
    """Return a web address in the crawl's spelling, normalised and cleaned; empty if the text is not a web address.

    >>> address("https://Example.org/a?utm_source=x#top"), address("H.2026-01-12.1.impc.zip")
    ('https://example.org/a', '')
    """
    if not text.startswith(("http://", "https://")):
        return ""
    return clean_address(url) if (url := normalise(text).url) else ""
