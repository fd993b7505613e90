"""One file or page, fetched to be looked at: into an archive of its own, which goes with its folder."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from windrow.archive import ArchiveWriter, open_response
from windrow.engine.crawl.asking import HOPS, Asker, CrawlResult, secrets_of
from windrow.engine.fetchers.message import TransferBatch
from windrow.engine.listed.transfer import fetch
from windrow.errors import TerminalFailure, TransportError
from windrow.fetch.http_client import HttpClient
from windrow.fetch.transport import Connection, Sink, TransferEnd, transport_for
from windrow.formats.url import normalise, parts
from windrow.model import CrawlRequest, Fetched, FetchRequest, KeptResponse, Limits, ListingEntry, Site, Source
from windrow.reasons import Reason

ROTATE = 1 << 40
"""Bytes after which a WARC file is closed: never, for one capture."""


class _RedirectWatch(Connection):
    """A connection that remembers where the server redirected to: what became of a transfer does not tell."""

    def __init__(self, inner: Connection) -> None:
        self._inner = inner
        self.target = ""

    async def list(self, folder: str) -> list[ListingEntry] | None:
        return await self._inner.list(folder)

    async def close(self) -> None:
        await self._inner.close()

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        try:
            return await self._inner.get(path, sink)
        except TransportError as error:
            self.target = error.target
            raise


def sample(folder: Path, site: Site, path: str, where: str, limits: Limits) -> tuple[KeptResponse, float]:
    """Fetch what lies at a path of a site; return its capture and the seconds that it took.

    What cannot be had is a TerminalFailure with its reason; `where` names it there. A redirect is one too.
    """
    target = ""
    archive = ArchiveWriter(folder, "try", limits, ROTATE, site.agent)

    async def go() -> Fetched:
        nonlocal target
        async with await transport_for(site.scheme).connect(site) as connection:
            order, watch = FetchRequest(1, path, part="try"), _RedirectWatch(connection)
            fetched = await fetch(order, TransferBatch(1, site, (order,)), watch, archive, lambda _event: None)
            target = watch.target
            return fetched

    try:
        got = asyncio.run(go())
    finally:
        archive.close()
    if got.kept is None:
        told = got.message if got.message.startswith(where) else f"{where}: {got.message}"
        raise TerminalFailure(told, got.reason or Reason.PROTOCOL_ERROR, target=target)
    return got.kept, got.seconds


def sample_answer(folder: Path, source: Source, url: str, limits: Limits) -> tuple[KeptResponse, float]:
    """Ask for an address as a run asks it, with the secrets of its source; return what `sample` does."""
    archive = ArchiveWriter(folder, "try", limits, ROTATE, source.site.agent)
    origin = parts(url).origin
    where = parts(f"{origin}/")
    site = replace(source.site, scheme=where.scheme, host=where.host.strip("[]"), port=where.port, base="/")

    async def go() -> CrawlResult:
        secrets = partial(secrets_of, source, origin)
        asker = Asker(archive, 0, {1: limits.transfer}, lambda _: nullcontext(), secrets=secrets)
        async with HttpClient(site) as client:
            return await asker.ask(client, CrawlRequest(1, url, kind=1))

    try:
        came = asyncio.run(go())
    finally:
        archive.close()
    if came.visit.kept is None or not 200 <= (came.visit.status or 0) < 300:
        target = came.visit.location
        told = came.visit.message or f"{url}: status {came.visit.status}" + (f": points to {target}" if target else "")
        reason = came.visit.reason or (Reason.REDIRECTED if target else Reason.PROTOCOL_ERROR)
        raise TerminalFailure(told, reason, target=target)
    return came.visit.kept, came.visit.seconds


class SampledAnswer(NamedTuple):
    """The response to one address: which address that was, its body still in its codings, and the seconds it took."""

    url: str
    body: bytes
    status: int
    fields: Mapping[str, str]
    seconds: float


def sample_address(access: Callable[[str], Source], url: str, limits: Limits) -> SampledAnswer:
    """Request an address and follow its redirects, as browsers do, `HOPS` at most and none of them twice; keep nothing.

    `access` gives for each address the source whose site, guard and secrets it is requested with. A redirect that leads
    nowhere is a TransportError with the reason REDIRECTED.
    """
    asked: set[str] = set()
    while True:
        asked.add(url)
        try:
            return _sample_once(access(url), url, limits)
        except TransportError as error:
            target = normalise(error.target, url).url if error.target else ""
            if error.reason is not Reason.REDIRECTED or not target or target in asked or len(asked) > HOPS:
                raise
            url = target


def _sample_once(source: Source, url: str, limits: Limits) -> SampledAnswer:
    with tempfile.TemporaryDirectory(prefix="windrow-try-") as name:
        folder = Path(name)
        if source.credentials:
            kept, seconds = sample_answer(folder, source, url, limits)
        else:
            kept, seconds = sample(folder, source.site, url, url, limits)
        answer = open_response(folder, kept.place)
        with answer.view as view:
            return SampledAnswer(url, view.read(), answer.status or 0, answer.fields, seconds)
