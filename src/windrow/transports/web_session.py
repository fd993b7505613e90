"""HTTP and HTTPS over aiohttp: files, ranges, and folders by their index page or a manifest."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import aiohttp
from yarl import URL

from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.formats.http import same
from windrow.formats.listing import WHOLE, Entries, read_index_page, read_manifest
from windrow.model import Site
from windrow.reasons import Reason
from windrow.transports.contract import Connection, Sink, TransferEnd
from windrow.transports.dial import FAMILY, ResolvedAddress, allowed_addresses, context, refuse_behind_proxy
from windrow.transports.head import fields_of, refusal, request_head, response_head, span, total
from windrow.transports.path import at, shown, wire
from windrow.transports.trouble import Foreign, network

Alien = (aiohttp.ClientError, *Foreign)
"""What aiohttp raises: all of these `failure` knows."""

BLOCK = 256 * 2**10
_PATH = "/:@!$&'()*+,;=~-._"  # what a path keeps as it is (RFC 3986, section 3.3)

_REASONS: tuple[tuple[type[BaseException], type[TransportError], Reason], ...] = (
    (aiohttp.ServerFingerprintMismatch, TerminalFailure, Reason.TLS_FAILED),
    (aiohttp.ClientConnectorDNSError, TransientFailure, Reason.DNS_FAILED),
    (aiohttp.ServerTimeoutError, TransientFailure, Reason.TIMEOUT),
    (aiohttp.TooManyRedirects, TerminalFailure, Reason.REDIRECTED),
    (aiohttp.RedirectClientError, TerminalFailure, Reason.REDIRECTED),
    (aiohttp.ClientHttpProxyError, TransientFailure, Reason.CONNECT_FAILED),
    (aiohttp.ClientResponseError, TerminalFailure, Reason.PROTOCOL_ERROR),
    (aiohttp.InvalidURL, TerminalFailure, Reason.UNSAFE_NAME),
    (aiohttp.ClientPayloadError, TransientFailure, Reason.INTERRUPTED),
    (aiohttp.ServerDisconnectedError, TransientFailure, Reason.INTERRUPTED),
    (aiohttp.ClientConnectionResetError, TransientFailure, Reason.INTERRUPTED),
)
_CONNECTING: tuple[tuple[type[BaseException], type[TransportError], Reason], ...] = (
    (aiohttp.ClientConnectorError, TransientFailure, Reason.CONNECT_FAILED),
    (aiohttp.ClientOSError, TransientFailure, Reason.INTERRUPTED),
    (aiohttp.ClientConnectionError, TransientFailure, Reason.CONNECT_FAILED),
    (aiohttp.ClientError, TerminalFailure, Reason.PROTOCOL_ERROR),
)


class RefusedNumber(OSError):
    """A number that the guard refuses, as an error of a kind at which aiohttp tries the next address.

    All have the same text: of several errors aiohttp keeps the first only where all their texts are equal.
    """

    def __init__(self, failure: TransportError) -> None:
        """Take what is raised where no address is left."""
        super().__init__("a number that may not be dialled")
        self.failure = failure


def failure(error: BaseException, where: str) -> TransportError:
    """Map what aiohttp, sockets and TLS raise."""
    if type(error) is aiohttp.ClientConnectorError:
        if isinstance(error.os_error, RefusedNumber):
            return error.os_error.failure
        # Its own words name a TLS setting, for plain connections too; those of the socket say what happened.
        return TransientFailure(f"{where}: {shown(str(error.os_error))}", Reason.CONNECT_FAILED)
    known = _REASONS if isinstance(error, aiohttp.ClientSSLError | TimeoutError) else _REASONS + _CONNECTING
    for alien, kind, reason in known:
        if isinstance(error, alien):
            return kind(f"{where}: {shown(str(error)) or type(error).__name__}", reason)
    return network(error, where, open_line=True)


class WebConnection(Connection):
    """A session to one server; several `get` may run at once on it, each over a line of its own."""

    def __init__(self, site: Site) -> None:
        """Prepare; lines are opened when they are needed, and kept for the next request."""
        self._site = site
        self._origin = replace(site, base="").address()
        self._proxy = site.proxy or None
        self._has_allowed_number = False
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=site.timeout, sock_read=site.timeout)
        connector: dict[str, Any] = {"family": FAMILY[site.family], "limit": 100}
        if site.scheme == "https":
            connector["ssl"] = context(site)
        if not site.proxy:
            connector["socket_factory"] = self._socket
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(**connector),
            headers=fields_of(site),
            timeout=timeout,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=BLOCK,
            trust_env=False,
        )

    def _socket(self, resolved: ResolvedAddress) -> socket.socket:
        try:
            allowed_addresses(self._site, [resolved])
        except TerminalFailure as failure:
            if self._has_allowed_number:  # which did not answer: it may the next time
                raise RefusedNumber(TransientFailure(str(failure), Reason.CONNECT_FAILED)) from failure
            raise RefusedNumber(failure) from failure
        self._has_allowed_number = True
        return socket.socket(*resolved[:3])

    def _url(self, path: str) -> URL:
        """Return the address of a path; one that is a whole URL of this server is taken as it is."""
        if self._proxy:
            refuse_behind_proxy(self._site)
        if path.startswith(("http://", "https://")):
            if not path.startswith(f"{self._origin}/"):
                raise TerminalFailure(f"{shown(path, 1000)} is not at {self._origin}", Reason.POLICY_DENIED)
            return URL(path, encoded=True)
        return URL(self._origin + quote(wire(self._site, path), safe=_PATH, errors="surrogateescape"), encoded=True)

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        """Get one file, going on at `sink.start` where the server can and the file is the same.

        The sink's `validator` makes sure of the latter (If-Range, RFC 9110, section 13.1.5); without
        one all of it is asked for again. Redirects are refused with REDIRECTED.
        """
        self._has_allowed_number = False
        where = at(self._site, path) if "://" not in path else shown(path, 1000)
        url = self._url(path)
        if sink.start and not sink.validator:
            sink.restart()
        try:
            answer = await self._try(url, where, sink, sink.start)
            if answer is None:  # the server cannot go on there: all of it again
                sink.restart()
                answer = await self._try(url, where, sink, 0)
        except Alien as error:
            raise failure(error, where) from error
        assert answer is not None
        return answer

    async def _try(self, url: URL, where: str, sink: Sink, start: int) -> TransferEnd | None:
        """Make one request; None where the part that was asked for does not fit what is held."""
        asked = {"Range": f"bytes={start}-", "If-Range": sink.validator} if start else None
        async with asyncio.timeout(2 * self._site.timeout):  # to connect, and for the whole head
            asking = await self._session.get(url, headers=asked, allow_redirects=False, proxy=self._proxy)
        async with asking as response:
            status, fields = response.status, response.headers
            size: int | None = response.content_length
            if status == 206 and start:
                fits, size = total(fields.get("Content-Range", ""), start)
                if not fits or not same(sink.validator, {name.lower(): value for name, value in fields.items()}):
                    return None
            elif status == 416 and start:
                return None
            elif not 200 <= status < 300 or status == 206:
                target, after = fields.get("Location", ""), fields.get("Retry-After", "")
                told = response.reason or ""
                raise refusal(status, told, where, target=target, after=after, now=datetime.now(UTC))
            elif start:
                sink.restart()
            version = response.version or aiohttp.HttpVersion11
            sink.open(
                size,
                response_head((version.major, version.minor), status, response.reason or "", response.raw_headers),
                request_head(url.raw_path_qs, response.request_info.headers),
            )
            write = sink.write
            async for block in response.content.iter_any():
                write(block)
            return TransferEnd(status, fields.get("ETag", ""), fields.get("Last-Modified", ""))

    async def part(
        self,
        url: str,
        start: int,
        length: int,
        write: Callable[[bytes], object],
        headers: Mapping[str, str],
        *,
        short: bool = False,
    ) -> int:
        """Get `length` bytes of a file of this server from `start` on (RFC 9110, section 14); return how many came.

        A server that sends anything else than these bytes is refused: at once where it sends all of the file. The file
        may end before all of them only where `short` is set.
        """
        self._has_allowed_number = False
        where = shown(url, 1000)
        asked = {**headers, "Range": f"bytes={start}-{start + length - 1}"}
        try:
            async with asyncio.timeout(2 * self._site.timeout):  # to connect, and for the whole head
                asking = await self._session.get(
                    self._url(url), headers=asked, allow_redirects=False, proxy=self._proxy
                )
            async with asking as response:
                left = length = _part_length(response, start, length, where, short=short)
                async for block in response.content.iter_any():
                    left -= len(block)
                    if left < 0:
                        raise TerminalFailure(f"{where}: more bytes than were asked for", Reason.PROTOCOL_ERROR)
                    write(block)
        except Alien as error:
            raise failure(error, where) from error
        if left:
            raise TransientFailure(f"{where}: {left} of {length} bytes are missing", Reason.INTERRUPTED)
        return length

    async def list(self, folder: str) -> Entries | None:
        """List a folder by its index page, or by the manifest where the site names one."""
        try:
            async with asyncio.timeout(self._site.listing_timeout):
                return await self._list(folder)
        except TimeoutError as error:
            raise failure(error, at(self._site, folder)) from error

    async def _list(self, folder: str) -> Entries | None:
        page = _Page(at(self._site, folder))
        if self._site.manifest:
            await self.get(self._site.manifest, page)
            text = page.content.decode("utf-8", "surrogateescape")
            return read_manifest(folder, at(self._site, self._site.manifest), text)
        try:
            await self.get(f"{folder.rstrip('/')}/" if folder else "", page)
        except TerminalFailure as error:
            if error.reason in {Reason.NOT_FOUND, Reason.GONE}:
                return None
            raise
        address = self._url(f"{folder.rstrip('/')}/" if folder else "")
        return read_index_page(folder, str(address), bytes(page.content))

    async def close(self) -> None:
        """Close the lines."""
        await self._session.close()


def _part_length(response: aiohttp.ClientResponse, start: int, length: int, where: str, *, short: bool) -> int:
    """Return how many bytes come; refuse an answer that is not the part that was asked for."""
    status, fields = response.status, response.headers
    if status == 416:
        raise TerminalFailure(f"{where}: the file ends before byte {start}", Reason.TRUNCATED)
    if status == 200:
        raise TerminalFailure(f"{where}: the server sends whole files only", Reason.UNSUPPORTED)
    if status != 206:
        target, after = fields.get("Location", ""), fields.get("Retry-After", "")
        now = datetime.now(UTC)
        raise refusal(status, response.reason or "", where, target=target, after=after, now=now)
    told, coding = fields.get("Content-Range", ""), fields.get("Content-Encoding", "identity")
    if coding.strip().lower() not in {"", "identity"}:
        raise TerminalFailure(f"{where}: the part comes packed as {shown(coding)}", Reason.PROTOCOL_ERROR)
    first, last = span(told)
    if first != start or last is None or last >= start + length:
        raise TerminalFailure(f"{where}: Content-Range is {shown(told) or 'missing'}", Reason.PROTOCOL_ERROR)
    if last < start + length - 1 and not short:
        raise TerminalFailure(f"{where}: the file ends at byte {last}", Reason.TRUNCATED)
    return last - start + 1


class _Page:
    """A sink for a listing: in memory, bounded, and as plain text or not at all."""

    start = 0
    validator = ""
    modified: datetime | None = None
    listed: int | None = None

    def __init__(self, where: str) -> None:
        self._where = where
        self.content = bytearray()

    def open(self, size: int | None, head: bytes = b"", request: bytes = b"") -> None:
        """Refuse what is compressed though nobody asked for it: read as text it would look empty."""
        del size, request
        coding = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-encoding:")]
        if any(line.partition(b":")[2].strip() not in {b"", b"identity"} for line in coding):
            raise TerminalFailure(f"{self._where}: the listing is compressed", Reason.PROTOCOL_ERROR)

    def restart(self) -> None:
        """Begin again."""
        self.content.clear()

    def write(self, block: bytes | memoryview) -> None:
        """Take a block, up to the bound of all listings."""
        self.content += block
        if len(self.content) > WHOLE:
            raise TerminalFailure(f"{self._where}: a listing of more than {WHOLE:,} bytes", Reason.TOO_LARGE)
