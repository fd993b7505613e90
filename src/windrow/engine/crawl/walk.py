"""One origin's walk in a fetcher: ask, keep, read what it links to, wait, and ask the next."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from windrow.clock import now
from windrow.engine.crawl.asking import Asker, CrawlResult
from windrow.engine.fetchers.message import AttemptEnded, BatchBroken, BatchEnded, Event, WalkOrigin
from windrow.engine.listed.connection_pool import LONGEST, HostQueue
from windrow.errors import TransportError, WindrowError
from windrow.fetch.http_client import HttpClient
from windrow.fetch.politeness.pace import SHORTEST
from windrow.formats.url import parts
from windrow.model import Attempt, FetchJob, FoundUrl, Site
from windrow.reasons import Reason

SLOTS = 1 << 20
"""Addresses remembered; one more takes another's place, and is then offered to the ledger once again."""


class RecentUrls:
    """What one fetcher met; forgetting costs time, never an address."""

    def __init__(self) -> None:
        """Begin with nothing met."""
        self._slots = array("q", bytes(8 * SLOTS))

    def fresh(self, digest: int, kind: int = 0) -> bool:
        """Tell whether an address was not met lately as this kind, and remember it."""
        digest ^= kind
        slot = digest & (SLOTS - 1)
        if self._slots[slot] == digest:
            return False
        self._slots[slot] = digest
        return True


OK = 200

PATIENCE = 60.0
"""Seconds that a walk waits for a host that does not tell its rules; one that does not answer is left at once."""

HARMFUL = 5
"""Answers of a host that could not be read within the limits of time and memory, after which it is left for the run."""

REFUSED_BY_RULES = frozenset({Reason.ROBOTS_DENIED, Reason.ROBOTS_UNREACHABLE})


class Walker:
    """Walks one origin with one connection, or a service with several; addresses are given to it as it needs them."""

    def __init__(
        self, walk: WalkOrigin, asker: Asker, sightings: RecentUrls, report: Callable[[Event], None], turn: HostQueue,
        *, abreast: int = 1,
    ) -> None:  # fmt: skip
        """Walk by the rules of the collection's guide; `turn` is what all origins of the host have in common.

        A service that steps ask may be asked `abreast`, so many requests at a time.
        """
        self._walk = walk
        self._abreast = abreast
        self._over: BatchBroken | None = None  # why the walk ends
        self._line = turn
        self._guide = walk.crawl.rules(walk.source, walk.origin, walk.options)
        self._asker = asker
        self._sightings = sightings
        self._report = report
        self._waiting: asyncio.Queue[FetchJob | None] = asyncio.Queue()
        self._halted = asyncio.Event()
        self._held_rules = walk.rules
        self._harmful = 0  # answers that could not be read within the limits

    def submit(self, jobs: tuple[FetchJob, ...]) -> None:
        """Take addresses to ask."""
        for job in jobs:
            self._waiting.put_nowait(job)

    def halt(self) -> None:
        """Finish what is in hand, and give the rest back."""
        self._halted.set()
        self._wake()

    def _wake(self) -> None:
        for _ in range(self._abreast):
            self._waiting.put_nowait(None)

    async def run(self) -> None:
        """Ask one address after the other until the walk is halted, or the host wants to be left alone."""
        left = await asyncio.gather(*(self._work() for _ in range(self._abreast)))
        assert self._over is not None
        self._end(self._over, [one for one in left if one])

    async def _work(self) -> FetchJob | None:
        """Ask over one connection until the walk is over; return the address that was asked last."""
        job: FetchJob | None = None
        try:
            async with HttpClient(origin_site(self._walk, self._walk.origin)) as client:
                why = await self._pause(self._walk.wait)
                while not why:
                    job = await self._waiting.get()
                    why = self._stopped() if job is None else await self._turn(client, job)
        except WindrowError as error:
            wait = error.wait if isinstance(error, TransportError) else None
            why = BatchBroken(error.reason or Reason.PROTOCOL_ERROR, str(error), error.hint, error.retry, wait)
        except Exception as error:  # noqa: BLE001 a fault of ours must not leave the engine waiting for ever
            fault = f"{type(error).__name__}: {error}"[:1000]
            why = BatchBroken(Reason.STEP_FAILED, fault, "", retry=False, wait=None)
        self._over = self._over or why
        self._wake()
        return job

    def _end(self, why: BatchBroken, asked: list[FetchJob]) -> None:
        """Give back what was not asked; what was is known to have been."""
        left = [job.target for job in asked]
        while not self._waiting.empty():
            job = self._waiting.get_nowait()
            left += [job.target] if job else []
        self._report(BatchEnded(self._walk.number, tuple(left), why))

    def _left(self, reason: Reason, why: str, wait: float | None = None) -> BatchBroken:
        return BatchBroken(reason, f"{self._walk.origin} is left alone: {why}", "", retry=True, wait=wait)

    def _stopped(self) -> BatchBroken | None:
        if self._over is not None:
            return self._over
        return self._left(Reason.STOPPED, Reason.STOPPED.meaning) if self._halted.is_set() else None

    async def _turn(self, client: HttpClient, job: FetchJob) -> BatchBroken | None:
        """Ask one address, if that is allowed; tell why the host may not be asked again."""
        at = now().timestamp()
        due = self._guide.robots(at) or self._guide.robots_wait(at)
        if why := self._stopped() or (await self._rules(client) if due else None):
            return why
        if refused := self._guide.refusal(job.url, job.kind):
            attempt = job.attempt(now())._replace(allowed=refused not in REFUSED_BY_RULES, reason=refused)
            self._report(AttemptEnded(self._walk.number, attempt))
            return None
        return self._stopped() if job.held and self._take(job) else await self._get(client, job)

    def _take(self, job: FetchJob) -> bool:
        """Take the answer that another collection got in this run; tell whether that went."""
        held = job.held
        came = self._asker.held(job, held) if held else None
        if came is None or held is None:
            return False
        self._report(self._read(job, came)._replace(held=held.seq))
        return True

    async def _get(self, client: HttpClient, job: FetchJob) -> BatchBroken | None:
        """Ask one address; tell why the host may not be asked again."""
        came = await self._ask(client, job)
        if isinstance(came, BatchBroken):
            return came
        pause = self._guide.pause(came.attempt.seconds, came.status, came.attempt.wait)
        came = came._replace(attempt=_with_wait(came.attempt, pause))
        new = not job.last.digest and came.attempt.status == OK
        endless = new and self._guide.endless(job, came.body)
        ended = self._read(job, came)
        self._report(ended._replace(endless=True) if endless else ended)
        if ended.attempt.reason and (why := self._harmed(ended.attempt)):
            return why
        return await self._rest(pause) if pause != 0 else self._stopped()

    def _harmed(self, attempt: Attempt) -> BatchBroken | None:
        """Count answers that only do harm; tell when there were enough of them."""
        if attempt.reason not in {Reason.TIME_LIMIT, Reason.MEMORY_LIMIT}:
            return None
        self._harmful += 1
        told = f"{self._harmful} answers could not be read within the limits of time and memory"
        return self._left(Reason.SITE_GIVEN_UP, told) if self._harmful >= HARMFUL else None

    async def _ask(self, client: HttpClient, job: FetchJob) -> CrawlResult | BatchBroken:
        """Make one request when it is the origin's turn, and once more where its failure may pass."""
        async with self._line.lock:
            left = self._line.left()
            if left and (why := await self._pause(left)):
                return why
            if self._abreast == 1:
                return await self._request(client, job)
        return await self._request(client, job)

    async def _request(self, client: HttpClient, job: FetchJob) -> CrawlResult:
        tries = 1
        came = await self._asker.ask(client, job)
        for _ in range(client.stale):
            self._report(AttemptEnded(self._walk.number, _unanswered(came.attempt)))
        while self._guide.again(came.attempt.reason, tries):
            # Without its target it says nothing of the address: another attempt follows at once.
            self._report(AttemptEnded(self._walk.number, came.attempt._replace(target=0, wait=None)))
            tries += 1
            came = await self._asker.ask(client, job)
        return came

    async def _rules(self, client: HttpClient) -> BatchBroken | None:
        """Ask for the host's rules where they are due, and wait while they let nothing be asked."""
        guide = self._guide
        while True:
            answered = True
            if rules := guide.robots(now().timestamp()):
                if self._take_rules(rules):
                    continue
                came = await self._moved(client, rules)
                if isinstance(came, BatchBroken):
                    return came
                answered = came.status is not None
                attempt, named = self._taken_rules(came)
                pause = guide.pause(attempt.seconds, came.status, attempt.wait)
                self._report(AttemptEnded(self._walk.number, _with_wait(attempt, pause), named))
                if came.attempt.reason is Reason.PRIVATE_ADDRESS:
                    return self._left(Reason.PRIVATE_ADDRESS, came.attempt.message)
                if why := await self._rest(pause):
                    return why
            wait = guide.robots_wait(now().timestamp())
            if not wait:
                return None
            if not answered or wait > self._walk.options.get("patience", PATIENCE):
                return self._left(Reason.ROBOTS_UNREACHABLE, Reason.ROBOTS_UNREACHABLE.meaning, wait)
            if why := await self._pause(wait):
                return why

    def _take_rules(self, rules: str) -> bool:
        """Take the host's rules as another collection got them; tell whether that went."""
        held, self._held_rules = self._held_rules, None
        job = FetchJob(0, rules, kind=self._walk.crawl.robots)
        came = self._asker.held(job, held) if held else None
        if came is None or held is None:
            return False
        attempt, named = self._taken_rules(came)
        pause = self._guide.pause(held.attempt.seconds, came.status, None) or 0.0
        self._line.rest(max(0.0, self._walk.last + pause - now().timestamp()))
        self._report(AttemptEnded(self._walk.number, attempt, named, held=held.seq))
        return True

    def _taken_rules(self, came: CrawlResult) -> tuple[Attempt, tuple[FoundUrl, ...]]:
        """Take the rules; those that cannot be read within limits count as not had."""
        attempt, guide = came.attempt, self._guide
        if attempt.reason in {None, Reason.TOO_LARGE}:
            try:
                with self._asker.reading(0):
                    return attempt, self._fresh(guide.take_robots(now().timestamp(), came.status, came.body))
            except Exception as error:  # noqa: BLE001 a fault of ours must not let the host be asked without rules
                attempt = _unread(attempt, error)
        return attempt, self._fresh(guide.take_robots(now().timestamp(), None, b""))

    async def _moved(self, client: HttpClient, rules: str) -> CrawlResult | BatchBroken:
        """Ask for the host's rules, wherever they have moved to; each question is an attempt of its own."""
        job = FetchJob(0, rules, kind=self._walk.crawl.robots)
        came = await self._ask(client, job)
        hops = 0
        while not isinstance(came, BatchBroken) and (
            target := self._guide.moved(came.attempt.status or 0, came.attempt.location, came.attempt.url, hops)
        ):
            pause = self._guide.pause(came.attempt.seconds, came.status, came.attempt.wait)
            self._report(AttemptEnded(self._walk.number, _with_wait(came.attempt, pause)))
            if why := await self._rest(pause):
                return why
            hops += 1
            origin = parts(target).origin
            if origin == self._walk.origin:
                came = await self._ask(client, job._replace(url=target))
                continue
            async with HttpClient(origin_site(self._walk, origin)) as other:
                came = await self._ask(other, job._replace(url=target))
        return came

    async def _rest(self, pause: float | None) -> BatchBroken | None:
        """Leave the host alone for as long as an answer made the guide want."""
        if pause is None:
            return self._left(Reason.SITE_GIVEN_UP, Reason.SITE_GIVEN_UP.meaning)
        self._line.rest(pause)
        return await self._pause(pause)

    async def _pause(self, seconds: float) -> BatchBroken | None:
        """Wait; a halt ends it."""
        if seconds > LONGEST:
            return self._left(Reason.RATE_LIMITED, f"it asks for {seconds:.0f} seconds", seconds)
        if seconds:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._halted.wait()
        return self._stopped()

    def _read(self, job: FetchJob, came: CrawlResult) -> AttemptEnded:
        """Return the attempt with what it offers; a page at which its reader fails must not end the walk each time."""
        try:
            with self._asker.reading(job.target):
                found = self._found(job, came)
                left = self._guide.left_out()
                fresh = tuple(one for one in left if self._sightings.fresh(one.digest)) if left else ()
                return AttemptEnded(self._walk.number, came.attempt, found, fresh)
        except Exception as error:  # noqa: BLE001 as above: a fault of ours
            return AttemptEnded(self._walk.number, _unread(came.attempt, error))

    def _found(self, job: FetchJob, came: CrawlResult) -> tuple[FoundUrl, ...]:
        """Return the addresses that an answer offers and that were not offered lately."""
        attempt, guide, sightings = came.attempt, self._guide, self._sightings
        if attempt.location:
            found = guide.follow(attempt.url, attempt.location, attempt.kind)
            return self._fresh([found] if found else [])
        if attempt.status != OK or not came.body:
            return ()
        if (hinted := guide.hints(job, came.fields, came.body)) is not None:
            return self._fresh(hinted)
        base, references = guide.links(attempt.url, came.fields, came.body)
        fresh = []
        for reference in references:
            found = guide.follow(base, reference)
            if found and sightings.fresh(found.digest, found.kind):
                fresh.append(found)
        if beside := guide.needs(job, came.fields, came.body):
            fresh += self._fresh(beside)
        return tuple(fresh)

    def _fresh(self, found: list[FoundUrl]) -> tuple[FoundUrl, ...]:
        """Leave out what was offered lately, unless it is said to have changed."""
        return tuple(one for one in found if self._sightings.fresh(one.digest, one.kind) or one.hinted)


def _unanswered(attempt: Attempt) -> Attempt:
    """Return the attempt before another one, over a connection that was closed at the other end meanwhile."""
    message = "the line was closed without an answer, and the question asked again over a new one"
    return Attempt(*attempt._replace(target=0, seconds=0.0)[:6], reason=Reason.INTERRUPTED, message=message)


def _unread(attempt: Attempt, error: Exception) -> Attempt:
    """Return an attempt whose answer could not be read, with the reason."""
    if isinstance(error, WindrowError):
        return attempt._replace(reason=error.reason or Reason.STEP_FAILED, message=str(error)[:1000])
    if isinstance(error, MemoryError):
        return attempt._replace(reason=Reason.MEMORY_LIMIT, message=Reason.MEMORY_LIMIT.meaning)
    return attempt._replace(reason=Reason.STEP_FAILED, message=f"{type(error).__name__}: {error}"[:1000])


def _with_wait(attempt: Attempt, pause: float | None) -> Attempt:
    """Return an attempt whose `wait` is put on record: a pause in which another run may begin."""
    wait = attempt.wait if pause is None else pause if pause >= SHORTEST else None
    return attempt if wait == attempt.wait else attempt._replace(wait=wait)


def origin_site(walk: WalkOrigin, origin: str) -> Site:
    """Return an origin as a site, with the source's own way of talking to servers; its login goes to its own alone."""
    where, own = parts(f"{origin}/"), walk.source.site
    site = replace(own, scheme=where.scheme, host=where.host.strip("[]"), port=where.port, base="/")
    return site if parts(own.address("/")).origin == origin else replace(site, username="", secret=None)
