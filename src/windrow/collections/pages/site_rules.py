"""The rules of one origin during a crawl: an implementation of `windrow.contract.Guide`."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count, islice

from windrow.collections.pages import redirect, scope
from windrow.collections.pages.code import ASSET, DAY, CrawlType, mime
from windrow.collections.pages.policy import NoveltyCount, Policy, PolicyVerdict, describe_verdict, judge_by_robots
from windrow.collections.pages.redirect import resolve_refresh
from windrow.collections.pages.references import LinkMemo, ReadReferences, assets
from windrow.contract.discoveries import BEHIND
from windrow.digest import hash64
from windrow.fetch.politeness import pace, robots_state
from windrow.formats.robots import read_header_directives
from windrow.formats.url import Resolver, normalise, parts
from windrow.formats.url_hints import HintKind, read_hints
from windrow.model import Attempt, FetchJob, FoundUrl, LeftOut
from windrow.reasons import Reason

SITEMAP = CrawlType.METADATA_CRAWL
"""Crawl type of a sitemap: read for its addresses, not a document."""

MAX_ASSETS = 50_000
"""Most assets of one origin in one run."""

MAX_DEPTH = 3
"""Most levels of sitemaps: an index, an index in it, and the sitemaps in that one."""

MAX_SITEMAPS = 10_000
"""Most sitemaps of one origin in one run."""

MAX_LEFT_OUT = 10_000
"""Most addresses of one answer that are reported as left out."""

FEEDS = frozenset((
    "application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json", "application/xml",
    "text/xml",
))  # fmt: skip
"""Media types of feeds, and others under which feeds are served."""

_MAX_REMEMBERED = 256  # verdicts and resolved links of each origin: there may be thousands of origins
_HOUR = 3600.0
_NO_YEAR = 9998  # until the time is known, no date counts as too late
_SLOTS = 1 << 17  # allowed addresses remembered by all origins of a process together
_ALLOWED = array("q", bytes(8 * _SLOTS))  # hash of an address and of the rules that were in force
_RULES = count(1)  # a number for each set of rules that was in force
_RETRY_REASONS = pace.UNREACHED | {
    Reason.ROBOTS_UNREACHABLE,
    Reason.SITE_GIVEN_UP,
    Reason.RATE_LIMITED,
    Reason.SERVER_ERROR,
}


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """How a site is crawled: what is allowed, with which user agent, and how fast.

    `delay` is the minimum delay in seconds if robots.txt does not set one; without `polite`, slow answers do not
    increase it. Without `sitemaps` those that robots.txt names are ignored; without `hints` a change date in a sitemap
    or feed does not make a page due. With `assets` the assets of pages are kept, from any host whose robots.txt allows
    it.
    """

    policy: Policy
    agent: str
    delay: float = 1.0
    polite: bool = True
    sitemaps: bool = True
    hints: bool = True
    assets: bool = False


class SiteRules:
    """The state of one origin in one run, and the decisions that follow from it."""

    def __init__(self, options: CrawlOptions, origin: str, read: ReadReferences) -> None:
        """Start without any answers: robots.txt must be read first. `origin` is spelt as in `Parts.origin`."""
        self._options = options
        self._origin = origin
        self._link_memo = LinkMemo(read)
        self._resolver = Resolver(origin, _MAX_REMEMBERED)
        self._pace = pace.Pace()
        self._robots_state = robots_state.NEW_STATE
        self._year, self._year_start, self._year_end = _NO_YEAR, 0.0, 0.0
        self._rules = next(_RULES)
        self._followed: dict[str, FoundUrl | None] = {}  # results of `follow`: pages repeat their links
        self._novelty = NoveltyCount()
        self._order_offset = 0  # added to the order numbers of found addresses
        self._sitemaps_left = MAX_SITEMAPS  # how many more may be offered
        self._assets_left = MAX_ASSETS if options.assets else 0  # how many more may be offered
        self._left_out: list[LeftOut] = []

    def robots(self, at: float) -> str:
        """Return the address of robots.txt if it is due at `at` (seconds since 1970), otherwise an empty text."""
        if not self._year_start <= at < self._year_end:
            year = self._year = datetime.fromtimestamp(at, UTC).year
            self._year_start, self._year_end = (
                datetime(first_of_year, 1, 1, tzinfo=UTC).timestamp() for first_of_year in (year, year + 1)
            )
            self._forget_verdicts()
        return f"{self._origin}/robots.txt" if at >= self._robots_state.due else ""

    def take_robots(self, at: float, status: int | None, body: bytes) -> list[FoundUrl]:
        """Record the final answer for robots.txt, after redirects; return the sitemaps that it names."""
        agent = self._options.agent
        self._forget_verdicts()
        self._robots_state = robots_state.update_state(
            self._robots_state, status=status, content=body, agent=agent, now=at
        )
        urls = self._robots_state.robots.sitemaps if self._options.sitemaps else ()
        return self._offer_sitemaps(self._make_sitemap(url, 0) for url in urls)

    def _forget_verdicts(self) -> None:
        self._rules = next(_RULES)
        self._followed.clear()
        self._link_memo.forget()

    def moved(self, status: int, location: str, base: str, hops: int) -> str:
        """Return the target of a redirect of robots.txt; empty if the redirect must not be followed."""
        return robots_state.redirect_target(status, location, base, hops)

    def robots_wait(self, at: float) -> float:
        """Return the seconds until robots.txt is requested again if it could not be read; 0 if it could."""
        state = self._robots_state
        return max(state.due - at, 0.001) if state.robots.refusal else 0.0

    def verdict(self, url: str, kind: int = CrawlType.FILE_CRAWL) -> PolicyVerdict:
        """Judge an address by all rules, and return the deciding one.

        A sitemap is judged only by the site's hosts and robots.txt, an asset by `do_not_crawl` and robots.txt.
        """
        if self._pace.given_up:
            return PolicyVerdict(Reason.SITE_GIVEN_UP)
        if kind == ASSET:
            denied = self._options.policy.denies(parts(url))
            return denied if denied.reason else judge_by_robots(url, self._robots_state.robots)
        if kind == SITEMAP:
            is_own = self._options.policy.scope.owns(parts(url))
            return judge_by_robots(url, self._robots_state.robots) if is_own else PolicyVerdict(Reason.OUT_OF_SCOPE)
        return self._options.policy.judge(url, self._year, self._robots_state.robots)

    def refusal(self, url: str, kind: int = CrawlType.FILE_CRAWL) -> Reason | None:
        """Return why an address must not be requested now, or None; the rules may have changed since it was found."""
        if kind == CrawlType.FILE_CRAWL and not self._pace.given_up:
            key = hash(url) ^ self._rules
            if _ALLOWED[key & (_SLOTS - 1)] == key:
                return None
        return self.verdict(url, kind).reason

    def should_retry(self, reason: Reason | None, tries: int) -> bool:
        """Tell whether to repeat a request at once: most failed connections succeed at the second try."""
        return pace.should_retry_at_once(reason, tries)

    def pause(self, seconds: float, status: int | None, wait: float | None) -> float | None:
        """Return the seconds to wait after an answer; None if the site must not be requested again in this run."""
        delay = pace.minimum_delay(self._robots_state.robots.delay, self._options.delay)
        duration = seconds if self._options.polite else 0.0
        self._pace = self._pace.after_answer(pace.AnswerTiming(status, duration, wait), delay)
        return None if self._pace.given_up else self._pace.wait(delay)

    def is_endless(self, job: FetchJob, body: bytes) -> bool:
        """Count the body of a new address; tell whether the origin keeps returning texts that are known already.

        The links of a page that repeated a known text are taken after those of all other pages.
        """
        if job.kind != CrawlType.FILE_CRAWL:
            return False
        endless = self._novelty.is_endless(body)
        delay = BEHIND if self._novelty.is_repeating else 0
        if delay != self._order_offset:
            self._order_offset = delay
            self._followed.clear()
        return endless

    def links(self, url: str, fields: Mapping[str, str], body: bytes) -> tuple[str, list[str]]:
        """Return the base of a page and its new references, including its `Refresh` target.

        No references are returned if the header has the directive `nofollow`.
        """
        robots_tag = fields.get("x-robots-tag", "")
        if robots_tag and read_header_directives(robots_tag.split("\n"), self._options.agent).nofollow:
            return url, []
        base, references = self._link_memo(url, fields, body)
        refresh = resolve_refresh(fields.get("refresh", ""), url)
        return base, [*references, refresh.url] if refresh is not None else references

    def hints(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl] | None:
        """Return the addresses in a sitemap or feed; None if the answer is another kind of document."""
        if job.kind == ASSET:
            return self._offer_assets(job, fields, body)
        kind = mime(fields.get("content-type", ""))
        if job.kind != SITEMAP and (kind is None or kind.essence not in FEEDS):
            return None
        hint = read_hints(body, job.url)
        if hint.kind is HintKind.INDEX:
            depth = job.place + 1
            sitemaps = (
                self._make_sitemap(entry.url, depth, entry.modified) for entry in hint.entries if depth < MAX_DEPTH
            )
            return self._offer_sitemaps(sitemaps) if job.kind == SITEMAP else []
        if job.kind != SITEMAP and hint.kind is not HintKind.FEED:
            return None
        pages = ((entry, self._judge_page(scope.clean_address(entry.url))) for entry in hint.entries)
        use_dates = self._options.hints
        return [page._replace(hinted=entry.modified if use_dates else None) for entry, page in pages if page]

    def needs(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl]:
        """Return the assets of a page; empty if the site's assets are not kept."""
        return self._offer_assets(job, fields, body) if self._assets_left and job.kind == CrawlType.FILE_CRAWL else []

    def _offer_assets(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl]:
        """Return the assets that a page or a style sheet names; style sheets name others, up to `MAX_DEPTH` levels."""
        depth = job.place + 1 if job.kind == ASSET else 0
        if depth > MAX_DEPTH:
            return []
        candidates = (self._make_asset(url, depth) for url in assets(job.url, fields, body))
        allowed = [asset for asset in candidates if asset][: self._assets_left]
        self._assets_left -= len(allowed)
        return allowed

    def _make_asset(self, url: str, depth: int) -> FoundUrl | None:
        """Return an asset; None if a rule of this site forbids it. Another origin's robots.txt is checked there."""
        address = parts(url)
        if (
            self.verdict(url, ASSET).reason
            if address.origin == self._origin
            else self._options.policy.denies(address).reason
        ):
            return None
        return FoundUrl(hash64(url), address.origin, url, depth, ASSET)

    def follow(self, base: str, reference: str, kind: int = CrawlType.FILE_CRAWL) -> FoundUrl | None:
        """Resolve a reference against a normal address; None if a rule forbids the target.

        Only this origin's robots.txt is considered; another origin checks its own.
        """
        if kind == ASSET:
            target = normalise(reference, base).url if self._assets_left else ""
            self._assets_left -= bool(target)
            return self._make_asset(target, MAX_DEPTH) if target else None
        (resolved,) = self._resolver.resolve(base, (reference,))
        url = resolved.url
        if url in self._followed:
            return self._followed[url]
        if len(self._followed) >= _MAX_REMEMBERED:
            self._followed.clear()
        page = self._followed[url] = self._judge_page(scope.clean_address(url)) if url else None
        return page

    def left_out(self) -> list[LeftOut]:
        """Return the addresses of the site's own hosts that rules forbade since the last job."""
        left_out_urls, self._left_out = self._left_out, []
        return left_out_urls

    def _note_left_out(self, url: str, verdict: PolicyVerdict) -> None:
        if verdict.reason and len(self._left_out) < MAX_LEFT_OUT:
            self._left_out.append(LeftOut(hash64(url), url, verdict.reason, describe_verdict(verdict)))

    def _make_sitemap(self, url: str, depth: int, modified: datetime | None = None) -> FoundUrl | None:
        """Return a sitemap if it is on one of the site's hosts, otherwise None."""
        address = parts(url)
        if not self._options.policy.scope.owns(address):
            return None
        return FoundUrl(hash64(url), address.origin, url, depth, SITEMAP, modified)

    def _offer_sitemaps(self, sitemaps: Iterable[FoundUrl | None]) -> list[FoundUrl]:
        """Return the sitemaps that are not None, as many as may still be offered in this run."""
        offered = list(
            islice((sitemap for sitemap in sitemaps if sitemap), self._sitemaps_left)
        )  # an index may name thousands beyond that
        self._sitemaps_left -= len(offered)
        return offered

    def _judge_page(self, url: str) -> FoundUrl | None:
        """Return the page at a clean address; if a rule forbids it, record the address as left out and return None."""
        address = parts(url)
        verdict = self._options.policy.judge_parts(address, self._year)
        if verdict.reason:
            if verdict.reason is not Reason.OUT_OF_SCOPE:
                self._note_left_out(url, verdict)
            elif self._options.policy.scope.owns(address):
                self._note_left_out(url, PolicyVerdict(Reason.OUT_OF_SCOPE, "paths"))
            return None
        if url.startswith(f"{self._origin}/"):
            verdict = judge_by_robots(url, self._robots_state.robots)
            if verdict.reason is Reason.ROBOTS_DENIED:
                self._note_left_out(url, verdict)
                return None
            if not verdict.reason:
                key = hash(url) ^ self._rules
                _ALLOWED[key & (_SLOTS - 1)] = key
        return FoundUrl(hash64(url), address.origin, url, redirect.count_segments(url) + self._order_offset)


def schedule_attempt(attempt: Attempt, interval: float, failures: int, start: float) -> tuple[float, float]:
    """Return the time when an address is due again (seconds since 1970), and its next interval in seconds.

    `interval` is its current interval (0 before the first attempt), `failures` the number of failures in a row, with
    this one, and `start` the site's configured interval. The interval stays until the content has been read, which sets
    it by `redirect.compute_interval`. After a failure of the server the address is due in one hour, two, four and so
    on, but not later than after the interval; a 4xx counts like any page. A sitemap is due every day.
    """
    known_interval = interval or start
    if attempt.kind == SITEMAP:
        return attempt.started.timestamp() + DAY, DAY
    started = attempt.started.timestamp()
    if attempt.reason in _RETRY_REASONS or (attempt.status or 0) >= 500 or attempt.status == 429:
        return started + min(known_interval, _HOUR * 2 ** min(max(failures - 1, 0), 20)), known_interval
    return started + known_interval, known_interval
