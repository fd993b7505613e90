"""The rules of one origin during a crawl: an implementation of `windrow.contract.discoveries.CrawlRules`."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count, islice

from windrow.caps import (
    ASSET_LEVELS,
    ASSETS_OF_ORIGIN,
    REPORTED_ADDRESSES,
    ROBOTS_BYTES,
    ROBOTS_SITEMAPS,
    SITEMAP_ENTRIES,
    SITEMAP_LEVELS,
    SITEMAPS_OF_ORIGIN,
    Cap,
)
from windrow.collections.pages import redirect, scope
from windrow.collections.pages.code import ASSET, DAY, CrawlType, parse_mime
from windrow.collections.pages.policy import NoveltyCount, Policy, PolicyVerdict, describe_verdict, judge_by_robots
from windrow.collections.pages.redirect import resolve_refresh
from windrow.collections.pages.references import LinkMemo, ReadReferences, find_assets
from windrow.contract.discoveries import BEHIND
from windrow.digest import hash64
from windrow.fetch.politeness import pace, robots_state
from windrow.formats.robots import read_header_directives
from windrow.formats.url import Resolver, normalise, parts
from windrow.formats.url_hints import HintKind, UrlHint, UrlHints, read_hints
from windrow.model import Attempt, FetchJob, FoundUrl, LeftOut
from windrow.reasons import TOO_LARGE_REASONS, Reason

SITEMAP = CrawlType.METADATA_CRAWL
"""Crawl type of a sitemap. Its addresses are read, but it is not a document."""

MAX_DEPTH = SITEMAP_LEVELS.number
"""The maximum number of levels of sitemaps: an index, the indexes that it names, and the sitemaps that these name."""

MAX_LEFT_OUT = REPORTED_ADDRESSES.number
"""The maximum number of entries that `SiteRules.left_out` returns one by one. Others are only counted."""

FEEDS = frozenset((
    "application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json", "application/xml",
    "text/xml",
))  # fmt: skip
"""Media types of feeds, and general media types that some servers send with feeds."""

_MAX_REMEMBERED_URLS = 256  # per origin, for verdicts and for resolved links: there may be thousands of origins
_BAD_SITEMAP = "robots.txt names a sitemap without a complete web address"
_FOREIGN_SITEMAP = "a sitemap is on a host that does not belong to this source (its setting hosts)"
_BAD_MOVE = "a sitemap redirects to something that is not a web address"
_WITHHELD = "a page or a link asks not to be followed (nofollow)"
_ONE_OF_MANY = "links on one page that differ only in what looks like a session id: only the first is followed"
_BAD_LINK = "a page links to, or redirects to, something that is not a valid web address"
_HOUR = 3600.0  # seconds
_NO_YEAR = 9998  # the present year until `robots` gets the time: dates do not count as too late then
_ALLOWED_SLOTS = 1 << 17  # number of allowed addresses that all origins of a process remember together
_ALLOWED = array("q", bytes(8 * _ALLOWED_SLOTS))  # hashes of an address and the number of a set of rules
_RULE_SET_NUMBERS = count(1)  # gives a new number to the rules of an origin whenever they change
_BAD_ADDRESSES = frozenset({Reason.BAD_ADDRESS, Reason.ADDRESS_TOO_LONG})
_RETRY_REASONS = pace.UNREACHED | TOO_LARGE_REASONS | {
    Reason.ROBOTS_UNREACHABLE, Reason.SITE_GIVEN_UP, Reason.RATE_LIMITED, Reason.SERVER_ERROR, Reason.CORRUPT,
    Reason.TRUNCATED, Reason.UNSUPPORTED, Reason.TOO_MANY_ELEMENTS,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """How a site is crawled: what is allowed, with which user agent, and how fast.

    `delay` is the minimum time in seconds between two requests if robots.txt does not set one. If `polite` is false,
    slow answers do not increase it. If `sitemaps` is false, the sitemaps that robots.txt names are ignored. If `hints`
    is false, a change date in a sitemap or feed does not make a page due. If `assets` is true, the assets of pages are
    stored too, from any host, if `do_not_crawl` and the host's robots.txt allow it. `max_sitemaps` and `max_assets` are
    the maximum numbers of sitemaps and assets that the rules of one origin return in a run.
    """

    policy: Policy
    agent: str
    delay: float = 1.0
    polite: bool = True
    sitemaps: bool = True
    hints: bool = True
    assets: bool = False
    max_sitemaps: int = SITEMAPS_OF_ORIGIN.number
    max_assets: int = ASSETS_OF_ORIGIN.number


class SiteRules:
    """The state of one origin in one run, and the decisions that follow from it."""

    def __init__(self, options: CrawlOptions, origin: str, read: ReadReferences) -> None:
        """Start with the state of an origin that has not been requested yet: robots.txt is due.

        `origin` is spelt as in `Parts.origin`; `read` returns the references of a page.
        """
        self._options = options
        self._origin = origin
        self._link_memo = LinkMemo(read)
        self._kept_names = options.policy.named_parameters
        self._cleaned: tuple[str, dict[str, list[str]]] = ("", {})  # a page, and the session ids in its links by target
        self._resolver = Resolver(origin, _MAX_REMEMBERED_URLS)
        self._pace = pace.Pace()
        self._robots_state = robots_state.NEW_STATE
        self._year, self._year_start, self._year_end = _NO_YEAR, 0.0, 0.0
        self._rule_set = next(_RULE_SET_NUMBERS)
        self._followed: dict[str, FoundUrl | None] = {}  # results of `follow`, because pages repeat links
        self._novelty = NoveltyCount()
        self._order_offset = 0  # added to the order numbers of found addresses
        self._sitemaps_left = options.max_sitemaps  # how many more may be returned in this run
        self._assets_left = options.max_assets if options.assets else 0  # how many more may be returned in this run
        self._left_out: list[LeftOut] = []

    def robots(self, now: float) -> str:
        """Return the address of robots.txt if it is due at the time `now` (UNIX seconds), otherwise "".

        In a new year, the verdicts so far are forgotten, because verdicts on dates depend on the present year.
        """
        if not self._year_start <= now < self._year_end:
            year = self._year = datetime.fromtimestamp(now, UTC).year
            self._year_start, self._year_end = (
                datetime(start_year, 1, 1, tzinfo=UTC).timestamp() for start_year in (year, year + 1)
            )
            self._forget_verdicts()
        return f"{self._origin}/robots.txt" if now >= self._robots_state.due else ""

    def take_robots(self, answered_at: float, status: int | None, body: bytes) -> list[FoundUrl]:
        """Record the final answer for robots.txt, after redirects; return the sitemaps to request.

        These are the sitemaps of the site that the robots.txt in force names, up to the number left in this run; none
        if `CrawlOptions.sitemaps` is false. `answered_at` is in UNIX seconds; `status` is None if the origin did not
        answer.
        """
        agent = self._options.agent
        url = f"{self._origin}/robots.txt"
        self._note_excess(ROBOTS_BYTES, url, len(body) - ROBOTS_BYTES.number)
        self._forget_verdicts()
        self._robots_state = robots_state.update_state(
            self._robots_state, status=status, content=body, agent=agent, now=answered_at
        )
        robots_rules = self._robots_state.robots
        if robots_rules.asked_delay:
            self._left_out += robots_state.find_long_delay(robots_rules, url)
        if not self._options.sitemaps:
            return []
        self._note_excess(ROBOTS_SITEMAPS, url, robots_rules.sitemaps_left_out)
        if robots_rules.bad_sitemaps:
            self._note_lost(_BAD_SITEMAP, url, Reason.BAD_ADDRESS, url, robots_rules.bad_sitemaps)
        return self._offer_sitemaps(url, 0, map(UrlHint, robots_rules.sitemaps))

    def _forget_verdicts(self) -> None:
        self._rule_set = next(_RULE_SET_NUMBERS)
        self._followed.clear()
        self._link_memo.forget()

    def moved(self, status: int, location: str, base: str, hops: int) -> str:
        """Return the target of a redirect of robots.txt from the address `base`, or "" if it is not followed.

        `hops` is the number of redirects that were followed before.
        """
        return robots_state.redirect_target(status, location, base, hops)

    def robots_wait(self, now: float) -> float:
        """Return the seconds until robots.txt is requested again, if nothing else may be requested; otherwise 0.

        `now` is the present time in UNIX seconds.
        """
        state = self._robots_state
        return max(state.due - now, 0.001) if state.robots.refusal else 0.0

    def verdict(self, url: str, kind: int = CrawlType.FILE_CRAWL) -> PolicyVerdict:
        """Judge an address by the rules for its crawl type and robots.txt; refuse it if the run gave up the origin."""
        if self._pace.given_up:
            return PolicyVerdict(Reason.SITE_GIVEN_UP)
        return self._options.policy.judge(url, self._year, self._robots_state.robots, kind)

    def refusal(self, url: str, kind: int = CrawlType.FILE_CRAWL) -> Reason | None:
        """Return the reason why an address must not be requested now; None if it may be requested.

        The rules may have changed since the address was found.
        """
        if kind == CrawlType.FILE_CRAWL and not self._pace.given_up:
            allowed_key = hash(url) ^ self._rule_set
            if _ALLOWED[allowed_key & (_ALLOWED_SLOTS - 1)] == allowed_key:
                return None
        return self.verdict(url, kind).reason

    def should_retry(self, reason: Reason | None, tries: int) -> bool:
        """Return whether to repeat a request immediately after it failed for `reason`; `tries` counts its attempts."""
        return pace.should_retry_at_once(reason, tries)

    def pause(self, seconds: float, status: int | None, wait: float | None) -> float | None:
        """Update the pace after an answer; return the seconds to wait, or None if the run gives up the origin.

        `seconds` is the duration of the request, `status` is None if there was no answer, and `wait` is the pause in
        seconds that the server asked for, or None.
        """
        delay = pace.minimum_delay(self._robots_state.robots.delay, self._options.delay)
        duration = seconds if self._options.polite else 0.0
        self._pace = self._pace.after_answer(pace.AnswerTiming(status, duration, wait), delay)
        return None if self._pace.given_up else self._pace.wait(delay)

    def record_body(self, job: FetchJob, body: bytes) -> bool:
        """Count the body of a new page; return whether many pages in a row repeated texts of earlier pages.

        For another crawl type, nothing is counted, and the result is False. While pages repeat texts, their links get
        order numbers after those of all other links.
        """
        if job.kind != CrawlType.FILE_CRAWL:
            return False
        repeats_many = self._novelty.add_page(body, job.url)
        order_offset = BEHIND if self._novelty.is_repeating else 0
        if order_offset != self._order_offset:
            self._order_offset = order_offset
            self._followed.clear()
        return repeats_many

    def links(self, url: str, fields: Mapping[str, str], body: bytes) -> tuple[str, list[str]]:
        """Return the base address of a page, and its references that are not known from earlier pages of the origin.

        `fields` are the header fields. The target of the header `Refresh` is added as the last reference, known or not.
        References of the page or of links that ask not to be followed (`nofollow`) are counted as left out.
        """
        base, references, withheld = self._link_memo(url, fields, body)
        for reference in withheld:
            self._note_withheld(base, reference)
        if "refresh" in fields and (refresh := resolve_refresh(fields["refresh"], url)):
            robots_tag = fields.get("x-robots-tag", "")
            if read_header_directives(robots_tag.split("\n"), self._options.agent).nofollow:
                self._note_withheld(base, refresh.url)
            else:
                references = [*references, refresh.url]
        return base, references

    def _note_withheld(self, base: str, reference: str) -> None:
        """Count a reference that asks not to be followed, if the site's rules allow its target."""
        (resolved,) = self._resolver.resolve(base, (reference,))
        url = scope.clean_address(resolved.url, self._kept_names) if resolved.url else ""
        if url and url != base and self._options.policy.judge_parts(parts(url), self._year).allowed:
            self._left_out.append(LeftOut(hash64(f"nofollow {url}"), url, Reason.NOFOLLOW, _WITHHELD))

    def hints(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl] | None:
        """Return the allowed pages, sitemaps or assets that a sitemap, feed or asset names.

        Return None if the document is something else, or a sitemap that was requested as a page. The list is empty for
        an index of sitemaps that was requested as a page.
        """
        if job.kind == ASSET:
            return self._offer_assets(job, fields, body)
        media_type = parse_mime(fields.get("content-type", ""))
        if job.kind != SITEMAP and (media_type is None or media_type.essence not in FEEDS):
            return None
        hint_list = read_hints(body, job.url)
        self._note_unread_hints(job, hint_list)
        if hint_list.kind is HintKind.INDEX:
            return self._offer_indexed(job, hint_list) if job.kind == SITEMAP else []
        if job.kind != SITEMAP and hint_list.kind is not HintKind.FEED:
            return None
        pages = ((entry, self._judge_page(self._clean(job.url, entry.url))) for entry in hint_list.entries)
        use_dates = self._options.hints
        return [page._replace(hinted=entry.modified if use_dates else None) for entry, page in pages if page]

    def _note_unread_hints(self, job: FetchJob, hint_list: UrlHints) -> None:
        """Record how many entries of a sitemap or feed exceed the cap, and why a part cannot be read."""
        self._note_excess(SITEMAP_ENTRIES, job.url, hint_list.left_out)
        if job.kind != SITEMAP and hint_list.kind is not HintKind.FEED:
            return
        if hint_list.reason and not hint_list.left_out:
            name = "feed" if hint_list.kind is HintKind.FEED else "sitemap"
            rule = f"a {name} is read only in part or not at all: {hint_list.reason.meaning}"
            self._left_out.append(LeftOut(job.target, job.url, hint_list.reason, rule))
        if hint_list.refused and job.kind == SITEMAP:  # an entry of a feed need not have an address
            rule = "an entry of a sitemap has no valid web address"
            self._note_lost(rule, job.url, Reason.BAD_ADDRESS, job.url, hint_list.refused)

    def _offer_indexed(self, job: FetchJob, index: UrlHints) -> list[FoundUrl]:
        depth = job.order + 1
        if depth >= MAX_DEPTH:
            self._note_excess(SITEMAP_LEVELS, job.url, len(index.entries))
            return []
        return self._offer_sitemaps(job.url, depth, iter(index.entries))

    def needs(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl]:
        """Return the allowed assets of a document that was requested as a page, up to the caps.

        The list is empty if the document was not requested as a page, or if the assets of the site are not stored.
        """
        is_page = job.kind == CrawlType.FILE_CRAWL
        return self._offer_assets(job, fields, body) if self._options.assets and is_page else []

    def _offer_assets(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl]:
        depth = job.order + 1 if job.kind == ASSET else 0
        assets = find_assets(job.url, fields, body)
        if depth > ASSET_LEVELS.number:
            self._note_excess(ASSET_LEVELS, job.url, len(assets.urls))
            return []
        for excess in assets.left_out:
            self._note_excess(excess.cap, job.url, excess.number)
        allowed_assets = [asset for url in assets.urls if (asset := self._make_asset(url, depth))]
        cap = ASSETS_OF_ORIGIN._replace(number=self._options.max_assets)
        self._note_excess(cap, job.url, len(allowed_assets) - self._assets_left)
        allowed_assets = allowed_assets[: self._assets_left]
        self._assets_left -= len(allowed_assets)
        return allowed_assets

    def _make_asset(self, url: str, depth: int) -> FoundUrl | None:
        """Return an asset; if a rule of this site forbids it, record it as left out and return None.

        For an asset on another origin, only `do_not_crawl` is checked here; the rules of that origin check robots.txt.
        """
        address = parts(url)
        is_own = address.origin == self._origin
        verdict = self.verdict(url, ASSET) if is_own else self._options.policy.judge_by_deny_rules(address)
        if verdict.reason:
            self._note_left_out(url, verdict)
            return None
        return FoundUrl(hash64(url), address.origin, url, depth, ASSET)

    def follow(self, base: str, reference: str, kind: int = CrawlType.FILE_CRAWL) -> FoundUrl | None:
        """Resolve a reference against the address `base`; return its target: a page or, for their kinds, another file.

        Return None if the target is not a web address, if a rule forbids it, or if it is an asset or sitemap and the
        maximum number of these of a run has been reached. For a target on another origin, the rules of that origin
        check robots.txt.
        """
        if kind == SITEMAP:
            return self._follow_sitemap(base, normalise(reference, base).url)
        if kind == ASSET:
            target = normalise(reference, base).url
            if target and not self._assets_left:
                self._note_excess(ASSETS_OF_ORIGIN._replace(number=self._options.max_assets), base, 1)
                return None
            self._assets_left -= bool(target)
            return self._make_asset(target, ASSET_LEVELS.number) if target else None
        (resolved,) = self._resolver.resolve(base, (reference,))
        url = resolved.url
        if resolved.reason in _BAD_ADDRESSES:
            self._left_out.append(LeftOut(hash64(f"{base} {reference}"), base, resolved.reason, _BAD_LINK))
            return None
        if url in self._followed:
            return self._followed[url]
        if len(self._followed) >= _MAX_REMEMBERED_URLS:
            self._followed.clear()
        page = self._followed[url] = self._judge_page(self._clean(base, url)) if url else None
        return page

    def _clean(self, base: str, url: str) -> str:
        """Return an address without session ids and marks of tracking.

        If the document at `base` has the same address with another session id, count the address as left out.
        """
        clean_url = scope.clean_address(url, self._kept_names)
        if clean_url != url and (session_ids := scope.list_session_ids(url)):
            if self._cleaned[0] != base:
                self._cleaned = (base, {})
            if self._cleaned[1].setdefault(clean_url, session_ids) != session_ids:
                self._left_out.append(LeftOut(hash64(f"{base} {url}"), url, Reason.QUERY_DENIED, _ONE_OF_MANY))
        return clean_url

    def _follow_sitemap(self, base: str, target: str) -> FoundUrl | None:
        if not target:
            self._note_lost(_BAD_MOVE, base, Reason.BAD_ADDRESS, base, 1)
            return None
        return next(iter(self._offer_sitemaps(base, 0, iter([UrlHint(target)]))), None)

    def left_out(self) -> list[LeftOut]:
        """Return what was left out since the last call.

        These are: pages on the site's hosts, and assets on any host, that a rule forbids; what exceeds a cap; and
        sitemaps and their entries that cannot be used. At most `MAX_LEFT_OUT` entries are returned one by one; one more
        entry counts the rest.
        """
        left_out_urls, self._left_out = self._left_out, []
        unreported = left_out_urls[MAX_LEFT_OUT:]
        if unreported:
            count = sum(left_out.number for left_out in unreported)
            return [*left_out_urls[:MAX_LEFT_OUT], _make_left_out(REPORTED_ADDRESSES, unreported[0].url, count)]
        return left_out_urls

    def _note_left_out(self, url: str, verdict: PolicyVerdict) -> None:
        if verdict.reason:
            self._left_out.append(LeftOut(hash64(url), url, verdict.reason, describe_verdict(verdict)))

    def _note_excess(self, cap: Cap, url: str, number: int) -> None:
        if number > 0:
            self._left_out.append(_make_left_out(cap, url, number))

    def _note_lost(self, rule: str, page: str, reason: Reason, example: str, number: int) -> None:
        """Record that the document `page` names `number` addresses that cannot be requested, and why.

        `example` is one of them, or `page` itself if the addresses are not valid.
        """
        self._left_out.append(LeftOut(hash64(f"{rule} {page}"), example, reason, rule, number))

    def _make_sitemap(self, url: str, depth: int, modified: datetime | None = None) -> FoundUrl | None:
        address = parts(url)
        if not self._options.policy.scope.owns(address):
            return None
        return FoundUrl(hash64(url), address.origin, url, depth, SITEMAP, modified)

    def _offer_sitemaps(self, url: str, depth: int, entries: Iterator[UrlHint]) -> list[FoundUrl]:
        """Return the sitemaps of the site among `entries`, up to the cap of this run; count the others as left out."""
        foreign_urls: list[str] = []

        def own_sitemaps() -> Iterator[FoundUrl]:
            for entry in entries:
                if sitemap := self._make_sitemap(entry.url, depth, entry.modified):
                    yield sitemap
                else:
                    foreign_urls.append(entry.url)

        # The sitemaps are created one by one: an index may name thousands more than are returned.
        offered_sitemaps = list(islice(own_sitemaps(), self._sitemaps_left))
        self._sitemaps_left -= len(offered_sitemaps)
        if foreign_urls:
            self._note_lost(_FOREIGN_SITEMAP, url, Reason.OUT_OF_SCOPE, foreign_urls[0], len(foreign_urls))
        cap = SITEMAPS_OF_ORIGIN._replace(number=self._options.max_sitemaps)
        self._note_excess(cap, url, sum(1 for _ in entries))
        return offered_sitemaps

    def _judge_page(self, url: str) -> FoundUrl | None:
        """Return the page at an address, or None if a rule forbids it.

        An address that is forbidden is recorded as left out, unless its origin does not belong to the site. robots.txt
        is checked only for pages of this origin.
        """
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
                allowed_key = hash(url) ^ self._rule_set
                _ALLOWED[allowed_key & (_ALLOWED_SLOTS - 1)] = allowed_key
        return FoundUrl(hash64(url), address.origin, url, redirect.count_segments(url) + self._order_offset)


def _make_left_out(cap: Cap, url: str, number: int) -> LeftOut:
    """Return the entry for what a cap leaves out at an address.

    Its digest is not that of the address, because the address may be that of a page, which has its own entry.
    """
    return LeftOut(hash64(f"{cap.name} {url}"), url, Reason.CAPPED, cap.rule, number)


def schedule_attempt(attempt: Attempt, interval: float, failures: int, start_interval: float) -> tuple[float, float]:
    """Return the time when an address is due again (UNIX seconds), and its next interval in seconds.

    `interval` is its current interval (0 before the first attempt), `failures` is the number of failures in a row
    including this attempt, and `start_interval` is the site's configured interval, with which an address begins. Later,
    the interval is changed by `redirect.compute_interval` when the content has been read. After a 429, a 5xx, a body
    that was cut or a failed connection, or if robots.txt could not be fetched or the origin gets no more requests in
    the run, the address is due in one hour, then two, four and so on, but at the latest after the interval. Otherwise,
    as after a page or another 4xx, it is due after the interval. A sitemap is due after a day, and its interval is a
    day.
    """
    present_interval = interval or start_interval
    if attempt.kind == SITEMAP:
        return attempt.started.timestamp() + DAY, DAY
    started = attempt.started.timestamp()
    may_pass = attempt.reason in _RETRY_REASONS or (failures > 0 and attempt.is_partial)
    if may_pass or (attempt.status or 0) >= 500 or attempt.status == 429:
        return started + min(present_interval, _HOUR * 2 ** min(max(failures - 1, 0), 20)), present_interval
    return started + present_interval, present_interval
