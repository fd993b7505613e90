"""One file or page, fetched to be looked at: into an archive of its own, which goes with its folder."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from windrow.archive import ArchiveWriter
from windrow.engine.crawl.asking import Asker, CrawlResult, secrets_of
from windrow.engine.fetchers.message import TransferBatch
from windrow.engine.listed.transfer import fetch
from windrow.errors import TerminalFailure
from windrow.fetch.http_client import HttpClient
from windrow.fetch.registry import transport_for
from windrow.formats.url import parts
from windrow.model import Attempt, FetchJob, KeptResponse, Limits, ListedFile, Site, Source
from windrow.reasons import Reason

ROTATE = 1 << 40
"""Bytes after which a WARC file is closed: never, for one capture."""


def sample(folder: Path, site: Site, path: str, where: str, limits: Limits) -> tuple[KeptResponse, float]:
    """Fetch what lies at a path of a site; return its capture and the seconds that it took.

    What cannot be had is a TerminalFailure with its reason; `where` names it there.
    """
    archive = ArchiveWriter(folder, "try", limits, ROTATE, site.agent)

    async def go() -> Attempt:
        async with await transport_for(site.scheme).connect(site) as connection:
            job = FetchJob(1, site.address(path), file=ListedFile(path, part="try"))
            return await fetch(job, TransferBatch(1, site, (job,)), connection, archive, lambda _event: None)

    try:
        attempt = asyncio.run(go())
    finally:
        archive.close()
    if attempt.kept is None:
        told = attempt.message if attempt.message.startswith(where) else f"{where}: {attempt.message}"
        raise TerminalFailure(told, attempt.reason or Reason.PROTOCOL_ERROR)
    return attempt.kept, attempt.seconds


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
            return await asker.ask(client, FetchJob(1, url, kind=1))

    try:
        came = asyncio.run(go())
    finally:
        archive.close()
    if came.attempt.kept is None or not 200 <= (came.attempt.status or 0) < 300:
        told = came.attempt.message or f"{url}: status {came.attempt.status}"
        raise TerminalFailure(told, came.attempt.reason or Reason.PROTOCOL_ERROR)
    return came.attempt.kept, came.attempt.seconds
