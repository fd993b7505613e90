"""HTTP and HTTPS: files, ranges, and folders by their index page or a manifest.

Redirects are not followed, and bodies are kept as they came.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from urllib.parse import quote

from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.fetch.dial import Foreign, network
from windrow.fetch.http_client import (
    BARE,
    field_lines,
    fields_of,
    kept_head,
    public_fields,
    refusal,
    span,
    target_prefix,
    total,
)
from windrow.fetch.http_connection import EnoughRead, HttpConnection, StaleConnection, connect_web
from windrow.fetch.transport import Connection, Sink, TransferEnd, at, behind, shown, wire
from windrow.formats.answer import AnswerHead, AnswerReader
from windrow.formats.http import read_head, same
from windrow.formats.listing import WHOLE, Entries, read_index_page, read_manifest
from windrow.formats.url import normalise, parts
from windrow.model import Site
from windrow.reasons import Reason

Begin = Callable[[AnswerHead, Mapping[str, str]], TransportError | None]
"""Takes a head and its fields; returns why its body is not wanted."""

SHORT = 1 << 16
"""Bytes of a body that is not wanted and is read all the same, so that its connection can be used again."""

_PATH = "/:@!$&'()*+,;=~-._"  # what a path keeps as it is (RFC 3986, section 3.3)


async def connect(site: Site) -> Connection:
    """Return a session; the first request opens a connection."""
    return HttpFiles(site)


class HttpFiles(Connection):
    """A session with one server; several `get` may run at once on it, each over a connection of its own."""

    def __init__(self, site: Site) -> None:
        """Prepare; connections are opened when they are needed, and rest until the next request."""
        self._site = site
        self._dialled = replace(site, host=_ascii(site.host))
        fields = {"Host": self._dialled.origin.partition("://")[2], **fields_of(site)}
        self._fields = field_lines(fields)
        self._public = field_lines(public_fields(fields))
        self._resting: list[HttpConnection] = []
        self._busy: set[HttpConnection] = set()

    def _url(self, path: str) -> str:
        """Return the address of a path; one that is a whole URL of this server is taken as it is."""
        if path.startswith(("http://", "https://")):
            behind(self._site.origin, path)
            return path
        return self._site.origin + quote(wire(self._site, path), safe=_PATH, errors="surrogateescape")

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        """Get one file, going on at `sink.start` where the server can and the file is the same.

        The sink's `validator` makes sure of the latter (If-Range, RFC 9110, section 13.1.5); without
        one all of it is asked for again. Redirects are refused with REDIRECTED.
        """
        where = at(self._site, path) if "://" not in path else shown(path, 1000)
        url = self._url(path)
        if sink.start and not (sink.validator and sink.validator.isprintable()):
            sink.restart()
        try:
            return await self._get(url, where, sink, sink.start)
        except EnoughRead:  # the server cannot go on there: all of it again
            sink.restart()
            return await self._get(url, where, sink, 0)

    async def _get(self, url: str, where: str, sink: Sink, start: int) -> TransferEnd:
        """Make one request; EnoughRead where the part that was asked for does not fit what is held."""
        asked = {"Range": f"bytes={start}-", "If-Range": sink.validator} if start else {}
        kept = f"GET {behind(self._site.origin, url)} HTTP/1.1\r\n{self._public}{field_lines(asked)}\r\n".encode()
        end = TransferEnd()

        def begin(head: AnswerHead, fields: Mapping[str, str]) -> TransportError | None:
            nonlocal end
            size = None if head.status in BARE else head.size
            if head.status == 206 and start:
                fits, size = total(fields.get("content-range", ""), start)
                if not fits or not same(sink.validator, fields):
                    raise EnoughRead
            elif head.status == 416 and start:
                raise EnoughRead
            elif not 200 <= head.status < 300 or head.status == 206:
                return _refusal(head, fields, where)
            elif start:
                sink.restart()
            sink.open(size, kept_head(head), kept)
            end = TransferEnd(head.status, fields.get("etag", ""), fields.get("last-modified", ""))
            return None

        await self._ask(url, asked, where, begin, sink.write)
        return end

    async def _ask(
        self, url: str, asked: Mapping[str, str], where: str, begin: Begin, write: Callable[[memoryview], object]
    ) -> None:
        """Make one request, and raise why its answer is refused."""
        target = f"{target_prefix(self._dialled)}{behind(self._site.origin, url)}"
        request = f"GET {target} HTTP/1.1\r\n{self._fields}{field_lines(asked)}\r\n".encode()
        refused: TransportError | None = None

        def take_head(connection: HttpConnection, head: AnswerHead) -> None:
            nonlocal refused
            refused = begin(head, read_head(head.text).fields)
            if not refused:
                connection.lift_deadline()
            elif head.size is None or head.size > SHORT:
                raise EnoughRead

        def take_block(block: memoryview) -> None:
            if not refused:
                write(block)

        try:
            await self._exchange(request, where, take_head, take_block)
        except (EnoughRead, TransportError):
            if not refused:  # the body of a refusal need not be whole
                raise
        if refused:
            raise refused

    async def _exchange(
        self,
        request: bytes,
        where: str,
        take_head: Callable[[HttpConnection, AnswerHead], None],
        take_block: Callable[[memoryview], None],
    ) -> None:
        """Send a request over a connection that rests, or a new one; that and the answer have twice `timeout`."""
        loop, timeout = asyncio.get_running_loop(), self._site.timeout
        deadline = loop.time() + 2 * timeout
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    connection = self._take_resting() or await connect_web(self._dialled)
                self._busy.add(connection)
                try:
                    reader = AnswerReader(where, partial(take_head, connection), take_block)
                    await connection.ask(request, reader, deadline - loop.time(), timeout)
                finally:
                    self._busy.discard(connection)
            except StaleConnection:
                continue
            except Foreign as error:
                raise network(error, where, open_line=True) from error
            if connection.usable:
                self._resting.append(connection)
            return

    def _take_resting(self) -> HttpConnection | None:
        """Return the connection that rests for the shortest time; None where none does any more."""
        while self._resting:
            connection = self._resting.pop()
            if connection.usable:
                return connection
        return None

    async def part(
        self,
        url: str,
        start: int,
        length: int,
        write: Callable[[memoryview], object],
        headers: Mapping[str, str],
        *,
        short: bool = False,
    ) -> int:
        """Get `length` bytes of a file of this server from `start` on (RFC 9110, section 14); return how many came.

        A server that sends anything else than these bytes is refused: at once where it sends all of the file. The file
        may end before all of them only where `short` is set.
        """
        where, left = shown(url, 1000), 0
        asked = {**headers, "Range": f"bytes={start}-{start + length - 1}"}

        def begin(head: AnswerHead, fields: Mapping[str, str]) -> TransportError | None:
            nonlocal left, length
            if head.status not in {200, 206, 416}:
                return _refusal(head, fields, where)
            left = length = _part_length(head.status, fields, start, length, where, short=short)
            return None

        def take(block: memoryview) -> None:
            nonlocal left
            left -= len(block)
            if left < 0:
                raise TerminalFailure(f"{where}: more bytes than were asked for", Reason.PROTOCOL_ERROR)
            write(block)

        await self._ask(self._url(url), asked, where, begin, take)
        if left:
            raise TransientFailure(f"{where}: {left} of {length} bytes are missing", Reason.INTERRUPTED)
        return length

    async def list(self, folder: str) -> Entries | None:
        """List a folder by its index page, or by the manifest where the site names one."""
        try:
            async with asyncio.timeout(self._site.listing_timeout):
                return await self._list(folder)
        except TimeoutError as error:
            raise network(error, at(self._site, folder), open_line=True) from error

    async def _list(self, folder: str) -> Entries | None:
        page = _Page(at(self._site, folder))
        if self._site.manifest:
            await self.get(self._site.manifest, page)
            text = page.content.decode("utf-8", "surrogateescape")
            return read_manifest(folder, at(self._site, self._site.manifest), text)
        path = f"{folder.rstrip('/')}/" if folder else ""
        try:
            await self.get(path, page)
        except TerminalFailure as error:
            if error.reason in {Reason.NOT_FOUND, Reason.GONE}:
                return None
            raise
        return read_index_page(folder, self._url(path), bytes(page.content))

    async def close(self) -> None:
        """Close the connections, also those in use."""
        for connection in (*self._resting, *self._busy):
            connection.close()
        self._resting.clear()


def _ascii(host: str) -> str:
    """Return a host as requests and certificates spell it: its letters beyond ASCII in punycode."""
    if host.isascii():
        return host
    url = normalise(f"http://{host}/").url
    return parts(url).host if url else host


def _refusal(head: AnswerHead, fields: Mapping[str, str], where: str) -> TransportError:
    """Return the error that a status other than success amounts to."""
    words = head.text.partition(b"\n")[0].decode("latin-1").strip().split(" ", 2)[2:]
    target, after = fields.get("location", ""), fields.get("retry-after", "")
    return refusal(head.status, "".join(words), where, target=target, after=after, now=datetime.now(UTC))


def _part_length(status: int, fields: Mapping[str, str], start: int, length: int, where: str, *, short: bool) -> int:
    """Return how many bytes come; refuse an answer that is not the part that was asked for."""
    if status == 416:
        raise TerminalFailure(f"{where}: the file ends before byte {start}", Reason.TRUNCATED)
    if status == 200:
        raise TerminalFailure(f"{where}: the server sends whole files only", Reason.UNSUPPORTED)
    told, coding = fields.get("content-range", ""), fields.get("content-encoding", "identity")
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
        if read_head(head).fields.get("content-encoding", "").lower() not in {"", "identity"}:
            raise TerminalFailure(f"{self._where}: the listing is compressed", Reason.PROTOCOL_ERROR)

    def restart(self) -> None:
        """Begin again."""
        self.content.clear()

    def write(self, block: bytes | memoryview) -> None:
        """Take a block, up to the bound of all listings."""
        self.content += block
        if len(self.content) > WHOLE:
            raise TerminalFailure(f"{self._where}: a listing of more than {WHOLE:,} bytes", Reason.TOO_LARGE)
