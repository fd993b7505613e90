"""Fetch one file or address for `windrow try`, into a temporary archive."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple

from windrow.archive import ArchiveWriter, open_response
from windrow.engine.crawl.archiving_client import HOPS, ArchivingClient, CrawlResult, secrets_of, site_at
from windrow.engine.fetchers.message import TransferBatch
from windrow.engine.listed.transfer import fetch
from windrow.errors import TerminalFailure, TransportError
from windrow.fetch.http_client import HttpClient
from windrow.fetch.transports import transport_for
from windrow.formats.url import normalise, parts
from windrow.model import Attempt, FetchJob, KeptResponse, Limits, ListedFile, Site, Source
from windrow.reasons import Reason

ROLLOVER_SIZE = 1 << 40
"""The number of bytes after which a WARC file is closed. It exceeds every capture, so that there is only one file."""

PAGE = 1
"""The kind of the address that is requested. It is not 0, the kind of a robots.txt."""


def sample(folder: Path, site: Site, path: str, name: str, limits: Limits) -> tuple[KeptResponse, float]:
    """Fetch a file into an archive in `folder`. Return its capture and the seconds that the transfer took.

    Raises TransportError if the file was not received. `name` is the file's name in the error of a failed transfer.
    """

    async def transfer(archive: ArchiveWriter) -> Attempt:
        async with await transport_for(site.scheme).connect(site) as connection:
            job = FetchJob(1, site.address(path), file=ListedFile(path, part="try"))
            return await fetch(
                job, TransferBatch(1, site, (job,)), connection, archive, lambda _event: None, may_be_page=True
            )

    with closing(ArchiveWriter(folder, "try", limits, ROLLOVER_SIZE, site.agent)) as archive:
        attempt = asyncio.run(transfer(archive))
    if attempt.kept is None:
        message = attempt.message if attempt.message.startswith(name) else f"{name}: {attempt.message}"
        raise TerminalFailure(message, attempt.reason or Reason.PROTOCOL_ERROR, target=attempt.location)
    return attempt.kept, attempt.seconds


def sample_answer(folder: Path, source: Source, url: str, limits: Limits) -> tuple[KeptResponse, float]:
    """Request an address; send the source's secrets if the address has the source's origin.

    Return the capture of the response, and the seconds that the request took. Raises TerminalFailure if no response was
    kept, or if its status is not from 200 to 299.
    """
    origin = parts(url).origin

    async def transfer(archive: ArchiveWriter) -> CrawlResult:
        secrets = partial(secrets_of, source, origin)
        largest = {PAGE: limits.transfer_size}
        archiver = ArchivingClient(
            archive, robots_kind=0, large=largest, reading=lambda _: nullcontext(), secrets=secrets
        )
        async with HttpClient(site_at(source.site, origin)) as client:
            return await archiver.fetch(client, FetchJob(1, url, kind=PAGE))

    with closing(ArchiveWriter(folder, "try", limits, ROLLOVER_SIZE, source.site.agent)) as archive:
        attempt = asyncio.run(transfer(archive)).attempt
    if attempt.kept is None or not 200 <= (attempt.status or 0) < 300:
        target = attempt.location
        redirect = f", a redirect to {target}" if target else ""
        message = attempt.message or f"{url}: the server answers {attempt.status}{redirect}"
        reason = attempt.reason or (Reason.REDIRECTED if target else Reason.PROTOCOL_ERROR)
        raise TerminalFailure(message, reason, target=target)
    return attempt.kept, attempt.seconds


class SampledAnswer(NamedTuple):
    """The response to one request: its address, the body as it was sent (still encoded), and the seconds it took."""

    url: str
    body: bytes
    status: int
    fields: Mapping[str, str]  # of the header, with names in lower case
    seconds: float


def sample_address(access: Callable[[str], Source], url: str, limits: Limits) -> SampledAnswer:
    """Request an address, follow up to `HOPS` redirects, and return the last response. Nothing is kept.

    `access` returns the source whose connection settings are used for an address. The login and the secrets of a
    source are sent only to its own origin. Raises TransportError if a request fails, or if its response cannot be used.
    The reason of the error is REDIRECTED if the target of a redirect is not a valid address or was requested before, or
    if there were too many redirects.
    """
    requested: set[str] = set()
    while True:
        requested.add(url)
        try:
            return _sample_once(access(url), url, limits)
        except TransportError as error:
            target = normalise(error.target, url).url if error.target else ""
            if error.reason is not Reason.REDIRECTED or not target or target in requested or len(requested) > HOPS:
                raise
            url = target


def _sample_once(source: Source, url: str, limits: Limits) -> SampledAnswer:
    with tempfile.TemporaryDirectory(prefix="windrow-try-") as name:
        folder = Path(name)
        if source.credentials:
            response, seconds = sample_answer(folder, source, url, limits)
        else:
            response, seconds = sample(folder, site_at(source.site, parts(url).origin), url, url, limits)
        answer = open_response(folder, response.place)
        with answer.view as view:
            return SampledAnswer(url, view.read(), answer.status or 0, answer.fields, seconds)
