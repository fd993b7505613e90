"""Asking a web server as a crawler does: every answer is an answer, whatever its status."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import UTC, datetime

import aiohttp
from yarl import URL

from windrow.errors import TerminalFailure, TransientFailure
from windrow.formats.http import ASKED, joined
from windrow.model import HttpRequest
from windrow.reasons import Reason
from windrow.transports.contract import Sink
from windrow.transports.dial import refuse_behind_proxy
from windrow.transports.head import pause, request_head, response_head
from windrow.transports.path import behind, shown
from windrow.transports.reply import BARE, GET, Reply, ReplyLimits, RequestBody
from windrow.transports.secret_sending import HidingSink, SentSecrets
from windrow.transports.web_session import Alien, WebConnection, failure


class ProxyClient(WebConnection):
    """A session with one origin that takes redirects and errors for what they are."""

    stale = 0  # its library asks once

    async def visit(
        self, url: str, asked: Mapping[str, str], sink: Sink, bounds: ReplyLimits, request: HttpRequest = GET,
        *, body: RequestBody | None = None, secrets: SentSecrets | None = None,
    ) -> Reply:  # fmt: skip
        """Ask for a URL of this origin and put the answer's body into the sink, as it comes."""
        where = shown(url, 1000)
        behind(self._origin, url)
        refuse_behind_proxy(self._site)
        headers = {"Accept-Encoding": ASKED, **asked}
        if body:
            headers["Content-Length"] = str(body.size)
        hiding = HidingSink(sink, secrets) if secrets else None
        if secrets:
            headers |= {"Accept-Encoding": "identity", **secrets.headers}
        try:
            async with (
                asyncio.timeout(bounds.seconds),
                self._session.request(
                    request.method,
                    URL(secrets.url(url) if secrets else url, encoded=True),
                    headers=headers,
                    data=_sent(body) if body else request.body or None,
                    allow_redirects=False,
                    proxy=self._proxy,
                ) as response,
            ):
                version = response.version or aiohttp.HttpVersion11
                length = None if response.status in BARE else response.content_length
                into = hiding or sink
                into.open(
                    None if bounds.part else length,
                    response_head(
                        (version.major, version.minor), response.status, response.reason or "", response.raw_headers
                    ),
                    request_head(
                        behind(self._origin, url), _kept(response.request_info.headers, secrets), request.method
                    )
                    + (b"" if body else request.body),
                )
                cut = await _take(response, length or 0, into, bounds, where)
                if hiding:
                    hiding.end()
                after = response.headers.get("Retry-After", "")
                wait = pause(after, datetime.now(UTC)) if after else None
                return Reply(response.status, joined(_pairs(response.raw_headers, secrets)), wait, cut)
        except TimeoutError as error:
            raise TransientFailure(f"{where}: no whole answer in {bounds.seconds:g} seconds", Reason.TIMEOUT) from error
        except Alien as error:
            found = failure(error, where)
            raise type(found)(secrets.hidden_text(str(found)), found.reason) if secrets else found from error


def _kept(fields: Mapping[str, str], secrets: SentSecrets | None) -> dict[str, str]:
    """Return the fields of a request without those that hold secrets."""
    secret = {name.lower() for name in secrets.headers} if secrets else set()
    return {name: value for name, value in fields.items() if name.lower() not in secret}


async def _sent(body: RequestBody) -> AsyncIterator[bytes]:
    for block in body.blocks():
        yield block


async def _take(response: aiohttp.ClientResponse, told: int, sink: Sink, bounds: ReplyLimits, where: str) -> bool:
    """Put the body into the sink; tell whether it was cut at the bound, where that is wanted."""
    most, size, write = bounds.most, 0, sink.write
    block = b""
    if told <= most or bounds.part:
        async for block in response.content.iter_any():
            size += len(block)
            if size > most:
                break
            write(block)
        else:
            return False
    response.close()  # what is left of it is not read
    if bounds.part:
        write(block[: len(block) - (size - most)])
        return True
    raise TerminalFailure(f"{where}: {max(size, told)} bytes at least, {most} are allowed", Reason.TOO_LARGE)


def _pairs(raw: Iterable[tuple[bytes, bytes]], secrets: SentSecrets | None) -> Iterable[tuple[str, str]]:
    """Return fields as text."""
    for name, value in raw:
        yield name.decode("latin-1"), (secrets.hidden(value) if secrets else value).decode("latin-1")
