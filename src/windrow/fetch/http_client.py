"""Ask a web server as a crawler does: every answer is an answer, whatever its status."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from windrow.errors import TerminalFailure, TransientFailure
from windrow.fetch.dial import connect_web
from windrow.fetch.http_connection import EnoughRead, HttpConnection, StaleConnection
from windrow.fetch.http_head import field_lines, fields_of, kept_head, pause, public_fields, target_prefix
from windrow.fetch.path import behind, shown
from windrow.fetch.secret_sending import HidingSink, SentSecrets
from windrow.fetch.transport import Sink
from windrow.fetch.trouble import Foreign, network
from windrow.formats.answer import AnswerHead, AnswerReader
from windrow.formats.http import ASKED, read_head
from windrow.model import HttpRequest, Site
from windrow.reasons import Reason

_ASKED = f"Accept-Encoding: {ASKED}\r\n"

BARE = frozenset({204, 304})
"""Statuses without a body, whatever length they tell."""

GET = HttpRequest()
"""A plain GET."""


class ReplyLimits(NamedTuple):
    """What one answer may take: bytes of its body as it comes, and seconds for all of it.

    With `part` a longer body is read up to there; without it, it is refused as soon as it is known to be longer.
    `silence` is for how many seconds nothing may come, 0: as many as the site says.
    """

    most: int
    seconds: float
    part: bool = False
    silence: float = 0.0


class RequestBody(Protocol):
    """A body that is read as it is sent; `size` in bytes."""

    size: int

    def blocks(self) -> Iterator[bytes]:
        """Yield it from its beginning, some bytes at a time."""
        ...


class Reply(NamedTuple):
    """A server's answer: `wait` is what its Retry-After asks for, in seconds."""

    status: int
    fields: Mapping[str, str]  # as `windrow.formats.http.joined` spells them
    wait: float | None
    cut: bool = False  # the body goes on beyond the bound


class HttpClient:
    """A session with one origin over one connection at a time."""

    def __init__(self, site: Site) -> None:
        """Prepare; the connection is opened when it is needed."""
        self._site = site
        self._origin = site.origin
        self._prefix = target_prefix(site)
        fields = {"Host": self._origin.partition("://")[2], **fields_of(site), "Accept-Encoding": ASKED}
        self._fields = field_lines(fields)
        self._public = field_lines(public_fields(fields))
        self._line: HttpConnection | None = None
        self.stale = 0  # how often the last visit met a connection that was closed, and was asked again over another

    async def __aenter__(self) -> Self:
        """Return the session."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the line."""
        if self._line:
            self._line.close()

    async def visit(
        self, url: str, asked: Mapping[str, str], sink: Sink, bounds: ReplyLimits, request: HttpRequest = GET,
        *, body: RequestBody | None = None, secrets: SentSecrets | None = None,
    ) -> Reply:  # fmt: skip
        """Ask for a URL of this origin and put the answer's body into the sink, as it comes.

        What may change something there is sent once only: over a line that is new, so that none can have gone stale.
        A `body` is sent in place of the request's own, and is not told to the sink. Nor are `secrets`, which are
        overwritten in what is answered.
        """
        where = shown(url, 1000)
        target, last = behind(self._origin, url), field_lines(asked) + "\r\n"
        first = f"{request.method} {target} HTTP/1.1\r\n"
        fields, public = self._fields, self._public
        if secrets:
            # What comes compressed could not be looked through on its way.
            public = public.replace(_ASKED, "Accept-Encoding: identity\r\n")
            fields = fields.replace(_ASKED, "Accept-Encoding: identity\r\n") + field_lines(secrets.headers)
            target = behind(self._origin, secrets.url(url))
        sent = f"{request.method} {self._prefix}{target} HTTP/1.1\r\n"
        own = b"" if body else request.body
        if request.method != "GET":
            last = f"Content-Length: {body.size if body else len(own)}\r\n{last}"
            if self._line:
                self._line.close()
        kept = (first + public + last).encode() + own
        told = kept if public == fields and first == sent else (sent + fields + last).encode() + own
        hiding = HidingSink(sink, secrets) if secrets else None
        taken = _Taken(hiding or sink, bounds, where, kept)
        try:
            await self._ask(told, taken, where, bounds, body)
            if hiding:
                hiding.end()
        except TimeoutError as error:
            late = str(error) or f"no whole answer in {bounds.seconds:g} seconds"
            raise TransientFailure(f"{where}: {late}", Reason.TIMEOUT) from error
        except Foreign as error:
            raise network(error, where, open_line=self._line is not None) from error
        assert taken.head is not None
        came = read_head(secrets.hidden(taken.head.text) if secrets else taken.head.text).fields
        after = came.get("retry-after", "")
        return Reply(taken.head.status, came, pause(after, datetime.now(UTC)) if after else None, taken.cut)

    async def _ask(self, told: bytes, taken: _Taken, where: str, bounds: ReplyLimits, body: RequestBody | None) -> None:
        """Send a request over the line that is open, or over a new one where it has gone stale."""
        self.stale = 0
        while True:
            line = self._line
            if line is None or not line.usable:
                self._line = None
                async with asyncio.timeout(bounds.seconds):
                    line = self._line = await connect_web(self._site)
            reader, silence = AnswerReader(where, taken.begin, taken.write), bounds.silence or self._site.timeout
            try:
                await line.ask(told, reader, bounds.seconds, silence, body.blocks() if body else ())
            except StaleConnection:
                self.stale += 1
                continue
            except EnoughRead:
                taken.cut = True
            return


class _Taken:
    """Puts an answer into its sink, up to its bound."""

    __slots__ = ("_bounds", "_kept", "_sink", "_size", "_where", "cut", "head")

    def __init__(self, sink: Sink, bounds: ReplyLimits, where: str, kept: bytes) -> None:
        self._sink, self._bounds, self._where, self._kept = sink, bounds, where, kept
        self._size = 0
        self.head: AnswerHead | None = None
        self.cut = False

    def begin(self, head: AnswerHead) -> None:
        self.head = head
        bounds, size = self._bounds, None if head.status in BARE else head.size
        self._sink.open(None if bounds.part else size, kept_head(head), self._kept)
        if size is not None and size > bounds.most and not bounds.part:
            self._refuse(size)

    def write(self, block: memoryview) -> None:
        self._size += len(block)
        over = self._size - self._bounds.most
        if over <= 0:
            self._sink.write(block)
            return
        if not self._bounds.part:
            self._refuse(self._size)
        self._sink.write(block[: len(block) - over])
        raise EnoughRead

    def _refuse(self, size: int) -> None:
        told = f"{self._where}: {size} bytes at least, {self._bounds.most} are allowed"
        raise TerminalFailure(told, Reason.TOO_LARGE)
