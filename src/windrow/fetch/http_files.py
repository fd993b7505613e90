"""HTTP and HTTPS as a transport: files, ranges of files, and folders listed by an index page or a manifest.

Redirects are not followed. Bodies are written into the sink as sent, but without chunks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from urllib.parse import quote

from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.fetch.dial import NETWORK_ERRORS, map_network_error
from windrow.fetch.http_client import (
    WITHOUT_BODY,
    field_lines,
    kept_head,
    match_range,
    public_fields,
    range_bounds,
    request_fields,
    status_error,
    target_prefix,
)
from windrow.fetch.http_connection import HttpConnection, StaleConnection, StopReading, connect_web
from windrow.fetch.secret import SentSecrets
from windrow.fetch.transfer_rate import RateWindow, TransferRate
from windrow.fetch.transport import (
    Connection,
    Sink,
    TransferEnd,
    printable,
    public_address,
    request_target,
    server_path,
)
from windrow.formats.http import is_same_version, read_head
from windrow.formats.http_response import ResponseHead, ResponseReader
from windrow.formats.listing import Entries, read_index_page, read_manifest, refuse_too_large
from windrow.formats.url import normalise, parts
from windrow.model import Site
from windrow.reasons import Reason

OnHead = Callable[[ResponseHead, Mapping[str, str]], TransportError | None]
"""A function of a response's head and fields. It returns an error if the body must not be used, or None."""

MAX_DISCARDED_SIZE = 1 << 16
"""The maximum number of bytes of an unused body that are read so that its connection can be used again."""

NOT_THE_FILE = frozenset({202, 204, 205})
"""The statuses of successful responses that do not have the file."""

_UNESCAPED = "/:@!$&'()*+,;=~-._"  # characters of a path that are not escaped (RFC 3986, section 3.3)


async def connect(site: Site) -> Connection:
    """Return a session. Its first request opens a connection."""
    return HttpFiles(site)


class HttpFiles(Connection):
    """A session with one server. Simultaneous calls of `get` each have their own connection."""

    def __init__(self, site: Site) -> None:
        """Prepare a session, without a connection. Raises TerminalFailure if a secret of the site cannot be used."""
        self._site = site
        self._ascii_site = replace(site, host=_ascii_host_name(site.host))
        fields = {"Host": self._ascii_site.origin.partition("://")[2], **request_fields(site)}
        self._header_lines = field_lines(fields)
        self._kept_header_lines = field_lines(public_fields(fields))  # as archived: without secrets
        self._secrets = SentSecrets(site) if site.secret else None
        self._idle: list[HttpConnection] = []
        self._busy: set[HttpConnection] = set()

    def _url(self, path: str) -> str:
        if path.startswith(("http://", "https://")):
            request_target(self._site.origin, path)  # raises an error for another server
            return path
        return self._site.origin + quote(server_path(self._site, path), safe=_UNESCAPED, errors="surrogateescape")

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        """Get one file, from `sink.start` on if the server supports that and the file is unchanged.

        The server compares `sink.validator` (If-Range, RFC 9110, section 13.1.5). Without a validator, the whole file
        is requested. A redirect raises TerminalFailure with REDIRECTED.
        """
        address = public_address(self._site, path) if "://" not in path else printable(path, 1000)
        url = self._url(path)
        if sink.start and not (sink.validator and sink.validator.isprintable()):
            sink.restart()
        try:
            return await self._get(url, address, sink, sink.start)
        except StopReading:  # the server did not send the file from `sink.start` on: get the whole file
            sink.restart()
            return await self._get(url, address, sink, 0)

    async def _get(self, url: str, address: str, sink: Sink, start: int) -> TransferEnd:
        """Write a file into the sink, from `start` on or as a whole. Raises StopReading if any other range is sent."""
        headers = {"Range": f"bytes={start}-", "If-Range": sink.validator} if start else {}
        target, kept_lines = request_target(self._site.origin, url), f"{self._kept_header_lines}{field_lines(headers)}"
        kept_request = f"GET {target} HTTP/1.1\r\n{kept_lines}\r\n".encode()
        end = TransferEnd()

        def begin(head: ResponseHead, fields: Mapping[str, str]) -> TransportError | None:
            nonlocal end
            size = None if head.status in WITHOUT_BODY else head.size
            if head.status == 206 and start:
                is_requested_range, size = match_range(fields.get("content-range", ""), start)
                if not is_requested_range or not is_same_version(sink.validator, fields):
                    raise StopReading
            elif head.status == 416 and start:
                raise StopReading
            elif not 200 <= head.status < 300 or head.status == 206:
                return _status_error(head, fields, address)
            elif head.status in NOT_THE_FILE:
                message = f"{address}: the server answers {head.status}, which is not the file"
                return TransientFailure(message, Reason.SOFT_404)
            elif start:
                sink.restart()
            sink.open(size, kept_head(head), kept_request)
            end = TransferEnd(head.status, fields.get("etag", ""), fields.get("last-modified", ""))
            return None

        await self._request(url, headers, address, begin, sink.write)
        return end

    async def _request(
        self, url: str, headers: Mapping[str, str], address: str, begin: OnHead, write: Callable[[memoryview], object]
    ) -> None:
        """Send a request, and call `begin` with the head of the response.

        If `begin` returns an error, that error is raised; otherwise the body is passed to `write` block by block.
        """
        target = f"{target_prefix(self._ascii_site)}{request_target(self._site.origin, url)}"
        request = f"GET {target} HTTP/1.1\r\n{self._header_lines}{field_lines(headers)}\r\n".encode()
        error: TransportError | None = None

        def take_head(connection: HttpConnection, head: ResponseHead) -> None:
            nonlocal error
            if self._secrets:
                head = head._replace(text=self._secrets.hide(head.text))
            error = begin(head, read_head(head.text).fields)
            if not error:
                connection.lift_deadline()
            elif head.size is None or head.size > MAX_DISCARDED_SIZE:
                raise StopReading

        def take_block(block: memoryview) -> None:
            if not error:
                write(block)

        try:
            await self._exchange(request, address, take_head, take_block)
        except (StopReading, TransportError):
            if not error:  # the body of a refused response may be incomplete
                raise
        if error:
            raise error

    async def _exchange(
        self,
        request: bytes,
        address: str,
        take_head: Callable[[HttpConnection, ResponseHead], None],
        take_block: Callable[[memoryview], None],
    ) -> None:
        """Send a request over an idle or a new connection. The head must arrive within twice the site's timeout."""
        loop, timeout = asyncio.get_running_loop(), self._site.timeout
        deadline = loop.time() + 2 * timeout
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    connection = self._take_idle() or await connect_web(self._ascii_site)
                self._busy.add(connection)
                try:
                    reader = ResponseReader(address, partial(take_head, connection), take_block)
                    await connection.exchange(request, reader, deadline - loop.time(), timeout)
                finally:
                    self._busy.discard(connection)
            except StaleConnection:
                continue
            except NETWORK_ERRORS as error:
                raise map_network_error(error, address, was_open=True) from error
            if connection.is_usable:
                self._idle.append(connection)
            return

    def _take_idle(self) -> HttpConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
        return None

    async def get_range(
        self,
        url: str,
        start: int,
        length: int,
        write: Callable[[memoryview], object],
        headers: Mapping[str, str],
        *,
        may_be_short: bool = False,
    ) -> int:
        """Pass `length` bytes of a file on this server, from `start` on, to `write`. Return the number of bytes.

        A response with other bytes raises TerminalFailure before its body is read. If `may_be_short`, the file may end
        before the range does (RFC 9110, section 14). Raises a TransportError, also if the transfer is slower
        than `min_rate` of the site.
        """
        address, missing_bytes = printable(url, 1000), 0
        window = RateWindow(TransferRate(self._site))
        range_headers = {**headers, "Range": f"bytes={start}-{start + length - 1}"}

        def begin(head: ResponseHead, fields: Mapping[str, str]) -> TransportError | None:
            nonlocal missing_bytes, length
            if head.status not in {200, 206, 416}:
                return _status_error(head, fields, address)
            missing_bytes = length = _range_size(head.status, fields, start, length, address, may_be_short=may_be_short)
            return None

        def take(block: memoryview) -> None:
            nonlocal missing_bytes
            missing_bytes -= len(block)
            if missing_bytes < 0:
                raise TerminalFailure(f"{address}: the server sent more bytes than requested", Reason.PROTOCOL_ERROR)
            window.add(len(block))
            write(block)

        await self._request(self._url(url), range_headers, address, begin, take)
        if missing_bytes:
            raise TransientFailure(f"{address}: {missing_bytes} of {length} bytes are missing", Reason.INTERRUPTED)
        return length

    async def list(self, folder: str) -> Entries | None:
        """List a folder from the site's manifest or, if the site has none, from the folder's index page.

        Return None if the index page does not exist. Raises a TransportError.
        """
        try:
            async with asyncio.timeout(self._site.listing_timeout):
                return await self._list(folder)
        except TimeoutError as error:
            raise map_network_error(error, public_address(self._site, folder), was_open=True) from error

    async def _list(self, folder: str) -> Entries | None:
        page = _ListingSink(public_address(self._site, folder))
        if self._site.manifest:
            await self.get(self._site.manifest, page)
            address = public_address(self._site, self._site.manifest)
            return await asyncio.to_thread(read_manifest, folder, address, page.content)
        path = f"{folder.rstrip('/')}/" if folder else ""
        try:
            await self.get(path, page)
        except TerminalFailure as error:
            if error.reason in {Reason.NOT_FOUND, Reason.GONE}:
                return None
            raise
        # In a thread, so that `listing_timeout` and the other connections need not wait for it.
        return await asyncio.to_thread(read_index_page, folder, self._url(path), page.content)

    async def close(self) -> None:
        """Close the connections, including those in use."""
        for connection in (*self._idle, *self._busy):
            connection.close()
        self._idle.clear()


def _ascii_host_name(host_name: str) -> str:
    if host_name.isascii():
        return host_name
    url = normalise(f"http://{host_name}/").url
    return parts(url).host if url else host_name


def _status_error(head: ResponseHead, fields: Mapping[str, str], address: str) -> TransportError:
    status_words = head.text.partition(b"\n")[0].decode("latin-1").strip().split(" ", 2)[2:]
    target, retry_after = fields.get("location", ""), fields.get("retry-after", "")
    return status_error(
        head.status, "".join(status_words), address, target=target, retry_after=retry_after, now=datetime.now(UTC)
    )


def _range_size(
    status: int, fields: Mapping[str, str], start: int, length: int, address: str, *, may_be_short: bool
) -> int:
    """Return the number of bytes in the response to a request for a range, according to its status and fields.

    Raises TerminalFailure unless these are the `length` bytes from `start` on, or fewer if `may_be_short`. Errors
    name `address`.
    """
    if status == 416:
        raise TerminalFailure(f"{address}: the file ends before byte {start}", Reason.TRUNCATED)
    if status == 200:
        raise TerminalFailure(f"{address}: the server cannot send a part of a file", Reason.UNSUPPORTED)
    content_range, coding = fields.get("content-range", ""), fields.get("content-encoding", "identity")
    if coding.strip().lower() not in {"", "identity"}:
        raise TerminalFailure(f"{address}: the requested part is encoded as {printable(coding)}", Reason.PROTOCOL_ERROR)
    first, last = range_bounds(content_range)
    if first != start or last is None or last >= start + length:
        message = f"{address}: bytes {start}-{start + length - 1} were requested, but the response's Content-Range is"
        raise TerminalFailure(f"{message} {printable(content_range) or 'not stated'}", Reason.PROTOCOL_ERROR)
    if last < start + length - 1 and not may_be_short:
        raise TerminalFailure(f"{address}: the file ends at byte {last}, within the requested part", Reason.TRUNCATED)
    return last - start + 1


class _ListingSink:
    """A sink that keeps a listing in memory, up to a limit. A compressed listing is refused."""

    start = 0
    validator = ""
    modified: datetime | None = None
    listed_size: int | None = None

    def __init__(self, address: str) -> None:
        self._address = address
        self.content = bytearray()

    def open(self, size: int | None, head: bytes = b"", request: bytes = b"") -> None:
        """Raise TerminalFailure for a compressed body, which was not requested and would be read as an empty one."""
        del size, request
        if read_head(head).fields.get("content-encoding", "").lower() not in {"", "identity"}:
            raise TerminalFailure(f"{self._address}: the listing is compressed", Reason.PROTOCOL_ERROR)

    def restart(self) -> None:
        self.content.clear()

    def write(self, block: bytes | memoryview) -> None:
        self.content += block
        refuse_too_large(len(self.content), self._address)
