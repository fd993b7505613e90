"""The rules of one origin while it is walked: `windrow.contract.Guide` on top of the pure rules beside it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count, islice

from windrow.collections.pages import redirect, scope
from windrow.collections.pages.code import ASSET, DAY, CrawlType, mime
from windrow.collections.pages.policy import NoveltyCount, Policy, PolicyVerdict, by_robots, told
from windrow.collections.pages.redirect import sent_on
from windrow.collections.pages.references import LinkMemo, Read, assets
from windrow.contract.discoveries import BEHIND
from windrow.digest import number
from windrow.fetch.politeness import pace, robots_standing
from windrow.formats.robots import header
from windrow.formats.url import Resolver, normalise, parts
from windrow.formats.url_hints import HintKind, read
from windrow.model import Attempt, FetchJob, FoundUrl, LeftOut
from windrow.reasons import Reason

SITEMAP = CrawlType.METADATA_CRAWL
"""What a sitemap is asked as: it is looked at for its addresses, and no document."""

ASSETS = 50_000
"""Assets that one walk offers."""

DEEP = 3
"""Sitemaps that may lie within each other: an index, one of its indexes, and that one's sitemaps."""

SITEMAPS = 10_000
"""Sitemaps that one walk offers."""

LEFT = 10_000
"""Addresses of one answer that are told as left out."""

FEEDS = frozenset((
    "application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json", "application/xml",
    "text/xml",
))  # fmt: skip
"""Media types of feeds, and those under which they come too."""

_ROOM = 256  # judgements remembered, and links resolved: there may be thousands of origins
_HOUR = 3600.0
_NO_YEAR = 9998  # before any time is told no date is too late
_SLOTS = 1 << 17  # addresses of all origins of a process that are remembered as allowed
_ALLOWED = array("q", bytes(8 * _SLOTS))  # hash of an address and of the rules that were in force
_RULES = count(1)  # a number for each set of rules that was in force
_LATER = pace.UNREACHED | {Reason.ROBOTS_UNREACHABLE, Reason.SITE_GIVEN_UP, Reason.RATE_LIMITED, Reason.SERVER_ERROR}


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """How a site is walked: what is allowed, as whom, and how fast.

    `delay` is the least delay in seconds where robots.txt names none; without `polite` the duration of
    requests does not count for it. Without `sitemaps` those that robots.txt names are passed over; without `hints`
    nobody's word that a page changed makes it due. With `assets` what pages need to be shown is kept, from any host
    whose robots.txt allows it.
    """

    policy: Policy
    agent: str
    delay: float = 1.0
    polite: bool = True
    sitemaps: bool = True
    hints: bool = True
    assets: bool = False


class SiteRules:
    """What is known of one origin in one run."""

    def __init__(self, manner: CrawlOptions, origin: str, read: Read) -> None:
        """Begin with nothing known: robots.txt comes first. `origin` is spelt as `Parts.origin` spells it."""
        self._manner = manner
        self._origin = origin
        self._met = LinkMemo(read)
        self._resolver = Resolver(origin, _ROOM)
        self._pace = pace.Pace()
        self._standing = robots_standing.NEW
        self._year, self._year_begins, self._year_ends = _NO_YEAR, 0.0, 0.0
        self._rules = next(_RULES)
        self._judged: dict[str, FoundUrl | None] = {}  # what `follow` said: pages repeat their links
        self._novelty = NoveltyCount()
        self._behind = 0  # what the order numbers of found addresses are raised by
        self._sitemaps = SITEMAPS  # how many may still be offered
        self._assets = ASSETS if manner.assets else 0  # the same of these
        self._left: list[LeftOut] = []

    def robots(self, at: float) -> str:
        """Return the address of robots.txt when it is due at a time (seconds since 1970), else an empty text."""
        if not self._year_begins <= at < self._year_ends:
            year = self._year = datetime.fromtimestamp(at, UTC).year
            self._year_begins, self._year_ends = (
                datetime(one, 1, 1, tzinfo=UTC).timestamp() for one in (year, year + 1)
            )
            self._forget()
        return f"{self._origin}/robots.txt" if at >= self._standing.due else ""

    def take_robots(self, at: float, status: int | None, body: bytes) -> list[FoundUrl]:
        """Take the last answer to the request for robots.txt, redirects followed; return the sitemaps it names."""
        agent = self._manner.agent
        self._forget()
        self._standing = robots_standing.updated(self._standing, status=status, content=body, agent=agent, now=at)
        named = self._standing.robots.sitemaps if self._manner.sitemaps else ()
        return self._some(self._sitemap(url, 0) for url in named)

    def _forget(self) -> None:
        """Judge all addresses anew: the rules are others now."""
        self._rules = next(_RULES)
        self._judged.clear()
        self._met.forget()

    def moved(self, status: int, location: str, base: str, hops: int) -> str:
        """Return where robots.txt has moved to; empty where such a redirect is not followed."""
        return robots_standing.follow(status, location, base, hops)

    def robots_wait(self, at: float) -> float:
        """Return the seconds until robots.txt is tried again while it cannot be had; 0 where one is in force."""
        standing = self._standing
        return max(standing.due - at, 0.001) if standing.robots.refusal else 0.0

    def verdict(self, url: str, kind: int = CrawlType.FILE_CRAWL) -> PolicyVerdict:
        """Judge an address by all rules, and tell the one that decided.

        A sitemap need not look like a page; the site's scope and robots.txt hold for it too.
        """
        if self._pace.given_up:
            return PolicyVerdict(Reason.SITE_GIVEN_UP)
        if kind == ASSET:
            denied = self._manner.policy.denies(parts(url))
            return denied if denied.reason else by_robots(url, self._standing.robots)
        if kind == SITEMAP:
            within = self._manner.policy.scope.owns(parts(url))
            return by_robots(url, self._standing.robots) if within else PolicyVerdict(Reason.OUT_OF_SCOPE)
        return self._manner.policy.judge(url, self._year, self._standing.robots)

    def refusal(self, url: str, kind: int = CrawlType.FILE_CRAWL) -> Reason | None:
        """Tell why an address may not be asked for now; most were judged when they were found, by the same rules."""
        if kind == CrawlType.FILE_CRAWL and not self._pace.given_up:
            key = hash(url) ^ self._rules
            if _ALLOWED[key & (_SLOTS - 1)] == key:
                return None
        return self.verdict(url, kind).reason

    def again(self, reason: Reason | None, tries: int) -> bool:
        """Tell whether to ask once more at once: most failed connections are over at the second try."""
        return pace.is_transient(reason, tries)

    def pause(self, seconds: float, status: int | None, wait: float | None) -> float | None:
        """Return the seconds to wait after an answer, or None where the site is given up for the run."""
        delay = pace.least(self._standing.robots.delay, self._manner.delay)
        took = seconds if self._manner.polite else 0.0
        self._pace = self._pace.step(pace.AnswerTiming(status, took, wait), delay)
        return None if self._pace.given_up else self._pace.wait(delay)

    def endless(self, job: FetchJob, body: bytes) -> bool:
        """Take what a new address brought; tell whether the origin gives nothing but what is known already.

        What a page links to that brought nothing new stands behind all that other pages link to.
        """
        if job.kind != CrawlType.FILE_CRAWL:
            return False
        endless = self._novelty.endless(body)
        behind = BEHIND if self._novelty.known else 0
        if behind != self._behind:
            self._behind = behind
            self._judged.clear()
        return endless

    def links(self, url: str, fields: Mapping[str, str], body: bytes) -> tuple[str, list[str]]:
        """Return the base of a page and those of its references that no page before it had; where it sends readers on.

        There are none where its header asks not to follow them.
        """
        asked = fields.get("x-robots-tag", "")
        if asked and header(asked.split("\n"), self._manner.agent).nofollow:
            return url, []
        base, references = self._met(url, fields, body)
        onward = sent_on(fields.get("refresh", ""), url)
        return base, [*references, onward.url] if onward is not None else references

    def hints(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl] | None:
        """Return what a sitemap or a feed names; None where the answer is a page, or only looks like a hint."""
        if job.kind == ASSET:
            return self._named(job, fields, body)
        kind = mime(fields.get("content-type", ""))
        if job.kind != SITEMAP and (kind is None or kind.essence not in FEEDS):
            return None
        found = read(body, job.url)
        if found.kind is HintKind.INDEX:
            deeper = job.place + 1
            maps = (self._sitemap(one.url, deeper, one.modified) for one in found.entries if deeper < DEEP)
            return self._some(maps) if job.kind == SITEMAP else []
        if job.kind != SITEMAP and found.kind is not HintKind.FEED:
            return None
        pages = ((entry, self._judge(scope.clean(entry.url))) for entry in found.entries)
        hints = self._manner.hints
        return [page._replace(hinted=one.modified if hints else None) for one, page in pages if page]

    def needs(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl]:
        """Return the images, styles, scripts and fonts of a page, where they are to be kept."""
        return self._named(job, fields, body) if self._assets and job.kind == CrawlType.FILE_CRAWL else []

    def _named(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl]:
        """Return the assets that a page or a style sheet names; styles may name others, not without end."""
        deeper = job.place + 1 if job.kind == ASSET else 0
        if deeper > DEEP:
            return []
        named = (self._asset(url, deeper) for url in assets(job.url, fields, body))
        found = [one for one in named if one][: self._assets]
        self._assets -= len(found)
        return found

    def _asset(self, url: str, depth: int) -> FoundUrl | None:
        """Return an asset that may be asked for, now or by its own origin's leave."""
        where = parts(url)
        if (
            self.verdict(url, ASSET).reason
            if where.origin == self._origin
            else self._manner.policy.denies(where).reason
        ):
            return None
        return FoundUrl(number(url), where.origin, url, depth, ASSET)

    def follow(self, base: str, reference: str, kind: int = CrawlType.FILE_CRAWL) -> FoundUrl | None:
        """Resolve a reference against a normal address; None where no rule lets the crawl go there.

        What robots.txt forbids is left out where it is this origin's; another origin judges for itself.
        """
        if kind == ASSET:
            target = normalise(reference, base).url if self._assets else ""
            self._assets -= bool(target)
            return self._asset(target, DEEP) if target else None
        (resolved,) = self._resolver.resolve(base, (reference,))
        url = resolved.url
        if url in self._judged:
            return self._judged[url]
        if len(self._judged) >= _ROOM:
            self._judged.clear()
        found = self._judged[url] = self._judge(scope.clean(url)) if url else None
        return found

    def left_out(self) -> list[LeftOut]:
        """Return the addresses of the site's own hosts that rules kept out since this was asked last."""
        left, self._left = self._left, []
        return left

    def _leave(self, url: str, verdict: PolicyVerdict) -> None:
        """Note that a rule keeps an address out."""
        if verdict.reason and len(self._left) < LEFT:
            self._left.append(LeftOut(number(url), url, verdict.reason, told(verdict)))

    def _sitemap(self, url: str, depth: int, modified: datetime | None = None) -> FoundUrl | None:
        """Return a sitemap that may be asked for, now or by its own origin's leave."""
        where = parts(url)
        if not self._manner.policy.scope.owns(where):
            return None
        return FoundUrl(number(url), where.origin, url, depth, SITEMAP, modified)

    def _some(self, found: Iterable[FoundUrl | None]) -> list[FoundUrl]:
        """Return those that there are, as many as one walk may still offer."""
        some = list(islice((one for one in found if one), self._sitemaps))  # an index may name thousands beyond that
        self._sitemaps -= len(some)
        return some

    def _judge(self, url: str) -> FoundUrl | None:
        """Return what may be asked for at a clean address, now or by its own origin's leave."""
        address = parts(url)
        verdict = self._manner.policy.estimate(address, self._year)
        if verdict.reason:
            if verdict.reason is not Reason.OUT_OF_SCOPE:
                self._leave(url, verdict)
            elif self._manner.policy.scope.owns(address):
                self._leave(url, PolicyVerdict(Reason.OUT_OF_SCOPE, "paths"))
            return None
        if url.startswith(f"{self._origin}/"):
            verdict = by_robots(url, self._standing.robots)
            if verdict.reason is Reason.ROBOTS_DENIED:
                self._leave(url, verdict)
                return None
            if not verdict.reason:
                key = hash(url) ^ self._rules
                _ALLOWED[key & (_SLOTS - 1)] = key
        return FoundUrl(number(url), address.origin, url, redirect.segments(url) + self._behind)


def again(attempt: Attempt, interval: float, failures: int, start: float) -> tuple[float, float]:
    """Return when an address is due again (seconds since 1970), and its next interval in seconds.

    `interval` is the one it had (0: none yet), `failures` counts those in a row, this one included, and
    `start` is the site's own interval. Whether the content changed is known once it has been read: `recrawl.interval`
    says then what the interval is, and until then it is as it was. A server's failure is looked at again after an
    hour, two, four and so on, but not later than the interval says; a 4xx like any page. A sitemap is looked at
    every day.
    """
    before = interval or start
    if attempt.kind == SITEMAP:
        return attempt.started.timestamp() + DAY, DAY
    at = attempt.started.timestamp()
    if attempt.reason in _LATER or (attempt.status or 0) >= 500 or attempt.status == 429:
        return at + min(before, _HOUR * 2 ** min(max(failures - 1, 0), 20)), before
    return at + before, before
