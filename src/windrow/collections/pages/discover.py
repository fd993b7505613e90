"""How pages are found: the seeds of a site, the rules of each origin, and when an address is due again.

These depend on a source's options, such as `seeds`, `hosts`, `paths`, `do_not_crawl`, `sitemaps`, `feeds`, `delay` and
`recrawl_interval` (both in seconds).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from windrow.caps import ASSETS_OF_ORIGIN, PAGE_LINKS, SITEMAPS_OF_ORIGIN
from windrow.collections.pages import redirect, site_rules
from windrow.collections.pages.code import ExitCode
from windrow.collections.pages.crawl_log import classify_answer, map_outcome
from windrow.collections.pages.policy import Policy, make_policy
from windrow.collections.pages.redirect import read_redirect
from windrow.collections.pages.references import References
from windrow.collections.pages.scope import clean_address, make_scope
from windrow.collections.pages.site_rules import SITEMAP, CrawlOptions, SiteRules
from windrow.contract import ContentCheck
from windrow.digest import digest, hash64
from windrow.formats.url import normalise, normalise_typed, parts
from windrow.model import Attempt, FoundUrl, Source
from windrow.reasons import Reason

NOT_MODIFIED = 304
ACCEPTED = 202
EMPTY_DIGEST = digest(b"")
_NO_ANSWER = frozenset({
    ExitCode.DID_NOT_UNDERSTAND_ANSWER, ExitCode.CONNECTION_FAILED, ExitCode.REQUEST_TIMEOUT,
    ExitCode.ERROR_READING_RESPONSE, ExitCode.RESPONSE_TOO_LARGE, ExitCode.TLS_ERROR, ExitCode.DNS_ERROR,
})  # fmt: skip
"""Exit codes of requests that were sent and did not get a readable answer."""


def make_site_policy(source: Source) -> Policy:
    """Make the rules of a source's site, except robots.txt."""
    options = source.options
    return make_policy(
        make_scope(options["seeds"], options["hosts"], options["paths"]),
        do_not_crawl=options["do_not_crawl"],
        url_query_parameters=options["url_query_parameters"],
    )


def seeds(source: Source, options: Mapping[str, Any]) -> list[FoundUrl]:  # noqa: ARG001 the shape of `Crawl.seeds`
    """Return the first addresses of a site: its configured seeds, feeds and sitemaps, which `build_source` checked."""
    policy, feeds, sitemaps = make_site_policy(source), source.options["feeds"], source.options["sitemaps"]
    urls = (*policy.scope.seeds, *(normalise(feed).url for feed in feeds))
    pages = dict.fromkeys(clean_address(url, policy.named_parameters) for url in urls)
    found_pages = [FoundUrl(hash64(url), parts(url).origin, url, redirect.count_segments(url)) for url in pages]
    sitemap_urls = dict.fromkeys(normalise(sitemap).url for sitemap in sitemaps)
    return found_pages + [FoundUrl(hash64(url), parts(url).origin, url, 0, SITEMAP) for url in sitemap_urls]


def rules(source: Source, origin: str, options: Mapping[str, Any]) -> SiteRules:  # noqa: ARG001 the shape of `Crawl.rules`
    """Make the crawl rules for one origin of a site."""
    agent = source.site.agent
    source_options = source.options
    crawl_options = CrawlOptions(
        make_site_policy(source), agent, source_options["delay"], sitemaps=source_options["read_sitemaps"],
        hints=source_options.get("every") is None, assets=source_options.get("assets", False),
        max_sitemaps=source_options.get("max_sitemaps_per_run", SITEMAPS_OF_ORIGIN.number),
        max_assets=source_options.get("max_assets_per_run", ASSETS_OF_ORIGIN.number),
    )  # fmt: skip
    max_links = source_options.get("max_links", PAGE_LINKS.number)
    return SiteRules(crawl_options, origin, References(agent, feeds=source_options["read_feeds"], max_links=max_links))


def schedule_attempt(source: Source, attempt: Attempt, interval: int, failures: int) -> tuple[int | None, int]:
    """Return the time when an address is due again (UNIX seconds) and its next interval, both in whole seconds.

    `interval` is its present interval; `failures` is the number of failures in a row, including this attempt. If the
    setting `every` is set, it is the next interval, and the address is due after it, or earlier after a failure. If it
    is 0, the address is due in the next run. Sitemaps are due every day in any case.
    """
    every = source.options.get("every")
    due, next_interval = site_rules.schedule_attempt(
        attempt, interval if every is None else every, failures, source.options["recrawl_interval"]
    )
    if every is not None and attempt.kind != SITEMAP:
        next_interval = max(every, 1)
        due = min(due, attempt.started.timestamp() + next_interval)
    return int(due), int(next_interval)


def compute_interval(source: Source, checks: Sequence[ContentCheck]) -> int:
    """Return an address's interval in whole seconds: `every`, or else the result of `redirect.compute_interval`."""
    every, start_interval = source.options.get("every"), source.options["recrawl_interval"]
    return max(1, int(redirect.compute_interval(checks, start_interval) if every is None else every))


def why_no_page(source: Source, attempt: Attempt) -> str:
    """Explain why a seed did not return a page, and name the setting that may have to be changed, if there is one.

    The result is "" if the answer is a 2xx (except 202) or 304 with a body and without a failure, or a redirect to a
    host of the site, or if the seed was not requested.
    """
    if attempt.status is None and not (attempt.target and map_outcome(None, attempt.reason) in _NO_ANSWER):
        return ""
    is_success = attempt.status == NOT_MODIFIED or (attempt.status or 0) < 300
    if is_success and not attempt.reason and attempt.status != ACCEPTED:
        is_empty = attempt.kept is not None and attempt.kept.digest == EMPTY_DIGEST
        return f"the seed {attempt.url} returned no page: the response is empty" if is_empty else ""
    if attempt.location and attempt.status is not None:
        target = read_redirect(attempt.url, attempt.status, attempt.location)
        destination = parts(target.url) if target and target.url else None
        if destination is None:
            answer = f"the seed {attempt.url} answers {attempt.status} with the location {attempt.location[:200]!r}"
            return f"{answer}, which is not a redirect to another web address; change the setting seeds"
        if make_site_policy(source).scope.owns(destination):
            return ""
        message = f"the seed {attempt.url} redirects to {destination.origin}, which is not a host of this source"
        port = "" if destination.port is None else f":{destination.port}"
        setting = f'hosts = ["{destination.host}{port}"]'
        return f"{message}; if it belongs to the same site, add to the source: {setting}"
    cause = attempt.message or (attempt.reason.meaning if attempt.reason else f"the server answers {attempt.status}")
    remedy = "; if the page has moved, change the setting seeds" if attempt.status is not None else ""
    return f"the seed {attempt.url} returned no page: {cause}{remedy}"


def name_exit_code(status: int | None, reason: Reason | None, media_type: str) -> str:
    """Return the lower-case name of a request's exit code in the Summary Database.

    >>> name_exit_code(200, None, "image/png"), name_exit_code(None, Reason.ROBOTS_DENIED, "")
    ('file_of_unknown_type', 'robots_denied')
    """
    return classify_answer(status, reason, media_type).name.lower()


def normalise_web_address(text: str) -> str:
    """Return a web address as a crawl spells it, normalised and cleaned, or "" if it is not a valid web address.

    >>> [normalise_web_address(text) for text in ("HTTPS://Example.org/a?utm_source=x#top", "H.2026-01-12.1.impc.zip")]
    ['https://example.org/a', '']
    """
    return clean_address(url) if (url := normalise_typed(text)) else ""
