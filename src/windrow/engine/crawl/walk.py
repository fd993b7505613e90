"""The walk of one origin in a fetcher: request an address, archive the response, extract its links, wait, repeat."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable
from contextlib import suppress

from windrow.clock import now
from windrow.contract import NOT_MODIFIED, OK
from windrow.digest import hash64
from windrow.engine.crawl.archiving_client import MULTIPLE_CHOICES, ArchivingClient, CrawlResult, site_at
from windrow.engine.fetchers.message import AttemptEnded, BatchBroken, BatchEnded, CrawlOrigin, Event
from windrow.engine.listed.connection_pool import MAX_WALK_PAUSE, HostQueue
from windrow.errors import WindrowError
from windrow.fetch.http_client import HttpClient
from windrow.fetch.politeness.pace import MIN_RECORDED_PAUSE_SECONDS
from windrow.fetch.politeness.robots_state import WITHOUT_RULES
from windrow.formats.url import parts
from windrow.model import Attempt, FetchJob, FoundUrl, LeftOut
from windrow.reasons import Reason

SLOTS = 1 << 20
"""The maximum number of addresses that are remembered."""


class RecentUrls:
    """The addresses that a fetcher found lately. A forgotten address may be reported again, which does no harm."""

    def __init__(self) -> None:
        self._slots = array("q", bytes(8 * SLOTS))

    def remember(self, digest: int, mark: int = 0) -> bool:
        """Remember an address by its digest. Return True if it was not found lately with this `mark`.

        The mark is made from what else distinguishes addresses, such as the kind and the source.
        """
        digest ^= mark
        slot = digest & (SLOTS - 1)
        if self._slots[slot] == digest:
            return False
        self._slots[slot] = digest
        return True


MAX_ROBOTS_WAIT = 60.0
"""The longest wait for a robots.txt that could not be fetched, in seconds, if the option `patience` is not set."""

MAX_HARMFUL = 5
"""The number of responses exceeding a limit on time or memory after which a walk gives up its host for the run."""

WITHOUT_CONTENT = frozenset({204, 205})
"""The HTTP statuses of successful responses that have no content."""

REFUSED_BY_RULES = frozenset({Reason.ROBOTS_DENIED, Reason.ROBOTS_UNREACHABLE})
"""Reasons for which an attempt is recorded as not allowed by robots.txt."""


class OriginCrawler:
    """Walks an origin. Methods that can end the walk return a BatchBroken with the reason, or None if it goes on."""

    def __init__(
        self, walk: CrawlOrigin, archiver: ArchivingClient, recent: RecentUrls, report: Callable[[Event], None],
        queue: HostQueue, *, parallel: int = 1,
    ) -> None:  # fmt: skip
        """`parallel` is the maximum number of requests at a time.

        All origins of a host share one `queue`; a service has a queue of its own.
        """
        self._walk = walk
        self._parallel = parallel
        self._end: BatchBroken | None = None  # why the walk ends
        self._queue = queue
        self._rules = walk.crawl.rules(walk.source, walk.origin, walk.options)
        self._archiver = archiver
        self._recent = recent
        self._source_mark = hash64(walk.source.name)
        self._report = report
        self._jobs: asyncio.Queue[FetchJob | None] = asyncio.Queue()
        self._halted = asyncio.Event()
        self._held_robots = walk.robots
        self._link_rules = 0  # as in `AttemptEnded`
        self._harmful = 0  # the number of responses that exceeded a limit on time or memory

    def submit(self, jobs: tuple[FetchJob, ...]) -> None:
        """Queue addresses to request."""
        for job in jobs:
            self._jobs.put_nowait(job)

    def halt(self) -> None:
        """Finish the requests that have begun, and report the other jobs as untouched."""
        self._halted.set()
        self._wake()

    def _wake(self) -> None:
        """Wake the loops that wait for a job, so that they check whether the walk has ended."""
        for _ in range(self._parallel):
            self._jobs.put_nowait(None)

    async def run(self) -> None:
        """Request addresses until the walk ends, and report why it ended."""
        unfinished = await asyncio.gather(*(self._work() for _ in range(self._parallel)))
        assert self._end is not None
        self._report_end(self._end, [job for job in unfinished if job])

    async def _work(self) -> FetchJob | None:
        """Make requests over one connection until the walk ends.

        Return the last job that was taken, which may be unfinished, or None if there was none.
        """
        job: FetchJob | None = None
        try:
            async with HttpClient(site_at(self._walk.source.site, self._walk.origin)) as client:
                end = await self._pause(self._walk.wait)
                while not end:
                    job = await self._jobs.get()
                    end = self._stop_reason() if job is None else await self._process(client, job)
        except WindrowError as error:
            end = BatchBroken.of_error(error)
        except Exception as error:  # noqa: BLE001 after a bug in windrow the engine must not wait forever
            end = BatchBroken.of_fault(error)
        self._end = self._end or end
        self._wake()
        return job

    def _report_end(self, end: BatchBroken, last_jobs: list[FetchJob]) -> None:
        untouched = [job.target for job in last_jobs]
        while not self._jobs.empty():
            job = self._jobs.get_nowait()
            untouched += [job.target] if job else []
        self._report(BatchEnded(self._walk.number, tuple(untouched), end))

    def _make_end(self, reason: Reason, problem: str, wait: float | None = None) -> BatchBroken:
        message = f"{self._walk.origin} is not requested again in this run: {problem}"
        return BatchBroken(reason, message, hint="", retry=True, wait=wait)

    def _stop_reason(self) -> BatchBroken | None:
        if self._end is not None:
            return self._end
        return self._make_end(Reason.STOPPED, Reason.STOPPED.meaning) if self._halted.is_set() else None

    async def _process(self, client: HttpClient, job: FetchJob) -> BatchBroken | None:
        """Request one address if the rules allow it; fetch robots.txt first if it is due."""
        current_time = now().timestamp()
        robots_due = self._rules.robots(current_time) or self._rules.robots_wait(current_time)
        if end := self._stop_reason() or (await self._update_robots(client) if robots_due else None):
            return end
        if refusal := self._rules.refusal(job.url, job.kind):
            attempt = job.attempt(now())._replace(allowed=refusal not in REFUSED_BY_RULES, reason=refusal)
            self._report(AttemptEnded(self._walk.number, attempt))
            return None
        return self._stop_reason() if job.held and self._take_held(job) else await self._fetch(client, job)

    def _take_held(self, job: FetchJob) -> bool:
        """Use the response that another collection received in this run. Return False if it cannot be used."""
        held_answer = job.held
        reply = self._archiver.reuse(job, held_answer) if held_answer else None
        if reply is None or held_answer is None:
            return False
        self._report(self._read_links(job, reply)._replace(held=held_answer.seq))
        return True

    async def _fetch(self, client: HttpClient, job: FetchJob) -> BatchBroken | None:
        reply = await self._request_in_turn(client, job)
        if isinstance(reply, BatchBroken):
            return reply
        pause = self._rules.pause(reply.attempt.seconds, reply.status, reply.attempt.wait)
        reply = reply._replace(attempt=_with_wait(reply.attempt, pause))
        if reply.attempt.status in WITHOUT_CONTENT and job.kind == self._walk.crawl.page:
            reply = reply._replace(attempt=self._without_content(reply.attempt))
        is_new = not job.last.digest and reply.attempt.status == OK
        endless = is_new and self._rules.record_body(job, reply.body)
        event = self._read_links(job, reply)
        self._report(event._replace(endless=True) if endless else event)
        if event.attempt.reason and (end := self._count_harmful(event.attempt)):
            return end
        return await self._pause_host(pause) if pause != 0 else self._stop_reason()

    def _without_content(self, attempt: Attempt) -> Attempt:
        """Return an attempt as failed if it should have got a page. Discoveries by requests judge this themselves."""
        if self._walk.crawl.by_request or attempt.reason is not None:
            return attempt
        return attempt._replace(reason=Reason.NO_TEXT, message=f"the server answers {attempt.status} (no content)")

    def _count_harmful(self, attempt: Attempt) -> BatchBroken | None:
        if attempt.reason not in {Reason.TIME_LIMIT, Reason.MEMORY_LIMIT}:
            return None
        self._harmful += 1
        message = f"{self._harmful} responses could not be read within the limits of time and memory"
        return self._make_end(Reason.SITE_GIVEN_UP, message) if self._harmful >= MAX_HARMFUL else None

    async def _request_in_turn(self, client: HttpClient, job: FetchJob) -> CrawlResult | BatchBroken:
        """Make one request after the host's pause, unless the walk ends during the pause."""
        async with self._queue.lock:
            wait = self._queue.remaining()
            if wait and (end := await self._pause(wait)):
                return end
            if self._parallel == 1:
                return await self._request(client, job)
        return await self._request(client, job)

    async def _request(self, client: HttpClient, job: FetchJob) -> CrawlResult:
        """Make one request, and repeat it at once while the rules allow it. All results but the last are reported."""
        tries = 1
        reply = await self._archiver.fetch(client, job)
        for _ in range(client.stale):
            self._report(AttemptEnded(self._walk.number, _stale_attempt(reply.attempt)))
        while self._rules.should_retry(reply.attempt.reason, tries):
            # The target is set to 0, so that this attempt does not count for the address: another follows at once.
            self._report(AttemptEnded(self._walk.number, reply.attempt._replace(target=0, wait=None)))
            tries += 1
            reply = await self._archiver.fetch(client, job)
        return reply

    async def _update_robots(self, client: HttpClient) -> BatchBroken | None:
        """Fetch robots.txt if it is due, and wait while it is not available, up to a limit."""
        rules = self._rules
        while True:
            has_answered = True
            if url := rules.robots(now().timestamp()):
                if self._take_held_robots(url):
                    continue
                reply = await self._fetch_robots(client, url)
                if isinstance(reply, BatchBroken):
                    return reply
                has_answered = reply.status is not None
                attempt, urls = self._apply_robots(reply)
                pause = rules.pause(attempt.seconds, reply.status, attempt.wait)
                attempt = _with_wait(attempt, pause)
                self._report(AttemptEnded(self._walk.number, attempt, urls, link_rules=self._link_rules))
                if reply.attempt.reason is Reason.PRIVATE_ADDRESS:
                    return self._make_end(Reason.PRIVATE_ADDRESS, reply.attempt.message)
                if end := await self._pause_host(pause):
                    return end
            wait = rules.robots_wait(now().timestamp())
            if not wait:
                return None
            if not has_answered or wait > self._walk.options.get("patience", MAX_ROBOTS_WAIT):
                return self._make_end(Reason.ROBOTS_UNREACHABLE, Reason.ROBOTS_UNREACHABLE.meaning, wait)
            if end := await self._pause(wait):
                return end

    def _take_held_robots(self, url: str) -> bool:
        """Use the robots.txt that another collection received in this run. Return False if it cannot be used."""
        held_answer, self._held_robots = self._held_robots, None
        job = FetchJob(0, url, kind=self._walk.crawl.robots)
        reply = self._archiver.reuse(job, held_answer) if held_answer else None
        if reply is None or held_answer is None:
            return False
        attempt, urls = self._apply_robots(reply)
        pause = self._rules.pause(held_answer.attempt.seconds, reply.status, None) or 0.0
        self._queue.pause(max(0.0, self._walk.last_request + pause - now().timestamp()))
        event = AttemptEnded(self._walk.number, attempt, urls, held=held_answer.seq, link_rules=self._link_rules)
        self._report(event)
        return True

    def _apply_robots(self, reply: CrawlResult) -> tuple[Attempt, tuple[FoundUrl, ...]]:
        """Apply a robots.txt. Return its attempt and new sitemaps. If it cannot be read, it counts as unavailable."""
        attempt, rules = reply.attempt, self._rules
        if attempt.reason in {None, Reason.TOO_LARGE}:
            try:
                with self._archiver.reading(0):
                    urls = self._not_recent(rules.take_robots(now().timestamp(), reply.status, reply.body))
                    self._link_rules = self._hash_link_rules(attempt)
                    return attempt, urls
            except Exception as error:  # noqa: BLE001 after a bug in windrow, no requests must be made without rules
                attempt = _with_fault(attempt, error)
        return attempt, self._not_recent(rules.take_robots(now().timestamp(), None, b""))

    def _hash_link_rules(self, robots: Attempt) -> int:
        """Return the hash of the settings and of a robots.txt, or the hash so far if it could not be fetched."""
        status = robots.status
        if self._walk.crawl.by_request or status is None or status in WITHOUT_RULES:
            return self._link_rules
        digest = robots.kept.digest if robots.kept and status < 300 else ""
        return hash64(f"{self._walk.settings} {digest}")

    async def _fetch_robots(self, client: HttpClient, url: str) -> CrawlResult | BatchBroken:
        """Fetch robots.txt and follow its redirects. Return the last result; report the earlier attempts."""
        job = FetchJob(0, url, kind=self._walk.crawl.robots)
        reply = await self._request_in_turn(client, job)
        hops = 0
        while not isinstance(reply, BatchBroken) and (
            target := self._rules.moved(reply.attempt.status or 0, reply.attempt.location, reply.attempt.url, hops)
        ):
            pause = self._rules.pause(reply.attempt.seconds, reply.status, reply.attempt.wait)
            self._report(AttemptEnded(self._walk.number, _with_wait(reply.attempt, pause)))
            if end := await self._pause_host(pause):
                return end
            hops += 1
            origin = parts(target).origin
            if origin == self._walk.origin:
                reply = await self._request_in_turn(client, job._replace(url=target))
                continue
            async with HttpClient(site_at(self._walk.source.site, origin)) as moved_client:
                reply = await self._request_in_turn(moved_client, job._replace(url=target))
        return reply

    async def _pause_host(self, pause: float | None) -> BatchBroken | None:
        if pause is None:
            return self._make_end(Reason.SITE_GIVEN_UP, Reason.SITE_GIVEN_UP.meaning)
        if pause <= MAX_WALK_PAUSE:  # a longer one ends this walk, and not those of other services of the host
            self._queue.pause(pause)
        return await self._pause(pause)

    async def _pause(self, seconds: float) -> BatchBroken | None:
        """Wait for `seconds` or until the walk is halted. A pause longer than MAX_WALK_PAUSE ends the walk at once."""
        if seconds > MAX_WALK_PAUSE:
            return self._make_end(Reason.RATE_LIMITED, f"it asks for a pause of {seconds:.0f} seconds", seconds)
        if seconds:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._halted.wait()
        return self._stop_reason()

    def _read_links(self, job: FetchJob, reply: CrawlResult) -> AttemptEnded:
        """Return the attempt with the links of its page and those left out, or as failed if reading raises an error."""
        try:
            with self._archiver.reading(job.target):
                urls = self._extract_links(job, reply)
                left_out = self._rules.left_out()
                if left_out:
                    recent, mark = self._recent, self._source_mark
                    left_out = [entry for entry in left_out if recent.remember(entry.digest, mark)]
                if reply.doubt:
                    left_out.append(LeftOut(job.target, job.url, Reason.TRUNCATED, reply.doubt))
                return AttemptEnded(self._walk.number, reply.attempt, urls, tuple(left_out))
        except Exception as error:  # noqa: BLE001 a bug in windrow must not end the walk
            return AttemptEnded(self._walk.number, _with_fault(reply.attempt, error))

    def _extract_links(self, job: FetchJob, reply: CrawlResult) -> tuple[FoundUrl, ...]:
        attempt, rules, recent, mark = reply.attempt, self._rules, self._recent, self._source_mark
        if attempt.location:
            url = rules.follow(attempt.url, attempt.location, attempt.kind)
            return self._not_recent([url] if url else [])
        has_new_rules = job.unread_links or self._link_rules != self._walk.link_rules
        if attempt.status == NOT_MODIFIED and has_new_rules and job.body:
            fields, body = self._archiver.read_kept(job.kind, job.body)
            reply = reply._replace(fields=fields, body=body)
        elif attempt.status not in {OK, MULTIPLE_CHOICES}:
            return ()
        if not reply.body:
            return ()
        if (hinted := rules.hints(job, reply.fields, reply.body)) is not None:
            return self._not_recent(hinted)
        base, references = rules.links(attempt.url, reply.fields, reply.body)
        new_urls = []
        for reference in references:
            url = rules.follow(base, reference)
            if url and recent.remember(url.digest, url.kind ^ mark):
                new_urls.append(url)
        if needed := rules.needs(job, reply.fields, reply.body):
            new_urls += self._not_recent(needed)
        return tuple(new_urls)

    def _not_recent(self, urls: list[FoundUrl]) -> tuple[FoundUrl, ...]:
        """Return the `urls` that were not found lately, or for which a sitemap or feed gives the time of a change."""
        recent, mark = self._recent, self._source_mark
        return tuple(url for url in urls if recent.remember(url.digest, url.kind ^ mark) or url.hinted)


def _stale_attempt(attempt: Attempt) -> Attempt:
    """Return the failed attempt that came before `attempt`, over a connection that the server had closed."""
    message = "the connection was closed without a response; the request was repeated over a new one"
    return Attempt(*attempt._replace(target=0, seconds=0.0)[:6], reason=Reason.INTERRUPTED, message=message)


def _with_fault(attempt: Attempt, error: Exception) -> Attempt:
    if isinstance(error, WindrowError):
        return attempt._replace(reason=error.reason or Reason.STEP_FAILED, message=str(error)[:1000])
    if isinstance(error, MemoryError):
        return attempt._replace(reason=Reason.MEMORY_LIMIT, message=Reason.MEMORY_LIMIT.meaning)
    return attempt._replace(reason=Reason.STEP_FAILED, message=f"{type(error).__name__}: {error}"[:1000])


def _with_wait(attempt: Attempt, pause: float | None) -> Attempt:
    wait = attempt.wait if pause is None else pause if pause >= MIN_RECORDED_PAUSE_SECONDS else None
    return attempt if wait == attempt.wait else attempt._replace(wait=wait)
