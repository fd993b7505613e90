"""One origin's walk in a fetcher: ask, keep, read what it links to, wait, and ask the next."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from windrow.engine.ledger.moment import now
from windrow.engine.message import Broken, Event, Visited, Walk, WalkEnded
from windrow.engine.sighting import Sightings
from windrow.errors import TransportError, WindrowError
from windrow.formats.url import parts
from windrow.model import Call, Found, Order, Site, Visit
from windrow.reasons import Reason
from windrow.stores.archive import Deposit, Keeper
from windrow.transports.visit import Reply, Visitor

READ = 16 << 20
"""Bytes of a page that are read for its links."""

MODIFIED = 304
OK = 200

FLUKES = frozenset({Reason.CONNECT_FAILED, Reason.INTERRUPTED})
"""Most failures of these kinds are over at the second try."""


class _Came(NamedTuple):
    visit: Visit
    fields: Mapping[str, str]
    body: bytes
    wait: float | None


class Walker:
    """Walks one origin with one connection; addresses are given to it as it needs them."""

    def __init__(self, walk: Walk, keeper: Keeper, sightings: Sightings, report: Callable[[Event], None]) -> None:
        """Walk by the rules of the collection's guide."""
        self._walk = walk
        self._guide = walk.crawl.guide(walk.source, walk.origin, walk.options)
        self._keeper = keeper
        self._sightings = sightings
        self._report = report
        self._waiting: asyncio.Queue[Call | None] = asyncio.Queue()
        self._left: list[int] = []

    def feed(self, known: tuple[Call, ...]) -> None:
        """Take addresses to ask."""
        for one in known:
            self._waiting.put_nowait(one)

    async def run(self) -> None:
        """Ask one address after the other until there are no more, or the host wants to be left alone."""
        known: Call | None = None
        try:
            async with Visitor(_site(self._walk)) as visitor:
                while (known := await self._waiting.get()) is not None:
                    if not await self._turn(visitor, known):
                        why = Broken(Reason.RATE_LIMITED, f"{self._walk.origin} is left alone", "", True, None)
                        self._end(why)
                        return
        except WindrowError as error:
            wait = error.wait if isinstance(error, TransportError) else None
            self._end(Broken(error.reason or Reason.PROTOCOL_ERROR, str(error), error.hint, error.retry, wait), known)
        except Exception as error:  # noqa: BLE001 a fault of ours must not leave the engine waiting for ever
            fault = f"{type(error).__name__}: {error}"[:1000]
            self._end(Broken(Reason.STEP_FAILED, fault, "", retry=False, wait=None), known)

    def _end(self, why: Broken, known: Call | None = None) -> None:
        """Give back what was not asked."""
        left = [known.digest] if known else []
        while not self._waiting.empty():
            one = self._waiting.get_nowait()
            left += [one.digest] if one else []
        self._report(WalkEnded(self._walk.host, tuple(left), why))

    async def _turn(self, visitor: Visitor, known: Call) -> bool:
        """Ask one address, if that is allowed; tell whether the host may be asked again."""
        host, guide, crawl = self._walk.host, self._guide, self._walk.crawl
        if rules := guide.robots(time.time()):
            came = await self._ask(visitor, Call(0, rules), crawl.robots)
            guide.ruled(time.time(), came.visit.status, came.body)
            self._report(Visited(host, came.visit))
            if not await self._rest(came):
                return False
        if why := guide.refusal(known.url):
            allowed = why is not Reason.ROBOTS_DENIED
            self._report(Visited(host, Visit(known.digest, known.url, crawl.page, allowed, now(), 0.0, reason=why)))
            return True
        came = await self._ask(visitor, known, crawl.page)
        if came.visit.reason in FLUKES:
            # Without its digest it says nothing of the address: another visit follows at once.
            self._report(Visited(host, came.visit._replace(digest=0)))
            came = await self._ask(visitor, known, crawl.page)
        self._report(Visited(host, came.visit, self._found(came)))
        return await self._rest(came)

    async def _rest(self, came: _Came) -> bool:
        pause = self._guide.pause(came.visit.seconds, came.visit.status, came.wait)
        if pause:
            await asyncio.sleep(pause)
        return pause is not None

    async def _ask(self, visitor: Visitor, known: Call, kind: int) -> _Came:
        """Make one request, and keep whatever comes."""
        started, clock = now(), time.monotonic()
        asked = {"If-None-Match": known.etag} if known.etag else {}
        if known.modified:
            asked["If-Modified-Since"] = known.modified
        deposit = Deposit(self._keeper, Order(0, known.url, last=known.last), known.url, started)
        reply: Reply | None = None
        try:
            reply = await visitor.visit(known.url, asked, deposit, self._walk.source.site.timeout)
            seconds = time.monotonic() - clock
            body = deposit.content(READ)
            if reply.status == MODIFIED:
                deposit.drop()
                kept = None
            else:
                kept = deposit.finish()
            fields = reply.fields
            visit = Visit(
                known.digest, known.url, kind, True, started, seconds, reply.status, kept,
                validators=(fields.get("ETag", "")[:256], fields.get("Last-Modified", "")[:64]),
                location=fields.get("Location", "")[:2048],
            )  # fmt: skip
            return _Came(visit, fields, body, reply.wait)
        except WindrowError as error:
            deposit.leave()
            seconds = time.monotonic() - clock
            why = error.reason or Reason.PROTOCOL_ERROR
            status = reply.status if reply else None
            visit = Visit(known.digest, known.url, kind, True, started, seconds, status, None, why, str(error)[:1000])
            return _Came(visit, {}, b"", error.wait if isinstance(error, TransportError) else None)

    def _found(self, came: _Came) -> tuple[Found, ...]:
        """Return the addresses that a page offers and that were not offered lately."""
        visit, guide, sightings = came.visit, self._guide, self._sightings
        if visit.location:
            found = guide.follow(visit.url, visit.location)
            return (found,) if found else ()
        if visit.status != OK or not came.body:
            return ()
        base, references = guide.links(visit.url, came.fields, came.body)
        fresh = []
        for reference in sightings.unread(self._walk.origin, base, references):
            found = guide.follow(base, reference)
            if found and sightings.fresh(found.digest):
                fresh.append(found)
        return tuple(fresh)


def _site(walk: Walk) -> Site:
    """Return the origin as a site, with the source's own way of talking to servers."""
    where = parts(f"{walk.origin}/")
    return replace(walk.source.site, scheme=where.scheme, host=where.host.strip("[]"), port=where.port, base="/")
