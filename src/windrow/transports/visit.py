"""Asking a web server as a crawler does: every answer is an answer, whatever its status."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import aiohttp
from yarl import URL

from windrow.errors import TransientFailure
from windrow.reasons import Reason
from windrow.transports.contract import Sink
from windrow.transports.head import pause, request_head, response_head
from windrow.transports.path import shown
from windrow.transports.request import Alien, WebConnection, failure


class Reply(NamedTuple):
    """A server's answer: `wait` is what its Retry-After asks for, in seconds."""

    status: int
    fields: Mapping[str, str]
    wait: float | None


class Visitor(WebConnection):
    """A session with one origin that takes redirects and errors for what they are."""

    async def visit(self, url: str, asked: Mapping[str, str], sink: Sink, seconds: float) -> Reply:
        """Ask for a URL of this origin and put the answer's body into the sink, within `seconds`."""
        where = shown(url, 1000)
        try:
            async with (
                asyncio.timeout(seconds),
                self._session.get(
                    URL(url, encoded=True), headers=asked, allow_redirects=False, proxy=self._proxy
                ) as response,
            ):
                version = response.version or aiohttp.HttpVersion11
                sink.open(
                    response.content_length,
                    response_head(
                        (version.major, version.minor), response.status, response.reason or "", response.raw_headers
                    ),
                    request_head(response.url.raw_path_qs, response.request_info.headers),
                )
                write = sink.write
                async for block in response.content.iter_any():
                    write(block)
                after = response.headers.get("Retry-After", "")
                return Reply(response.status, response.headers, pause(after, datetime.now(UTC)) if after else None)
        except TimeoutError as error:
            raise TransientFailure(f"{where}: no whole answer in {seconds:g} seconds", Reason.TIMEOUT) from error
        except Alien as error:
            raise failure(error, where) from error
