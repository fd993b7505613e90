"""Ask a web server as a crawler does: every answer is an answer, whatever its status.

Below the client: the heads of requests and responses as they are sent and kept, and what their fields say.
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.fetch.dial import Foreign, network
from windrow.fetch.http_connection import EnoughRead, HttpConnection, HttpProxy, StaleConnection, connect_web
from windrow.fetch.politeness.guard import loopback
from windrow.fetch.secret import HidingSink, SentSecrets, reveal
from windrow.fetch.transport import Sink, at, behind, shown
from windrow.formats.answer import AnswerHead, AnswerReader
from windrow.formats.http import ASKED, read_head
from windrow.formats.moment import moment
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


_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(?:(\d{1,18})|\*)", re.ASCII)
_LONGEST = 86_400.0  # seconds that a server may ask us to stay away
_SECRET = frozenset({"authorization", "proxy-authorization", "cookie"})
_FRAMING = re.compile(rb"\r\n(transfer-encoding|content-length)[ \t]*:", re.IGNORECASE)
_STATUS: dict[int, tuple[type[TransportError], Reason]] = {
    401: (TerminalFailure, Reason.LOGIN_FAILED),
    403: (TerminalFailure, Reason.PERMISSION_DENIED),
    404: (TerminalFailure, Reason.NOT_FOUND),
    407: (TerminalFailure, Reason.LOGIN_FAILED),
    408: (TransientFailure, Reason.TIMEOUT),
    410: (TerminalFailure, Reason.GONE),
    425: (TransientFailure, Reason.SERVER_ERROR),
    429: (TransientFailure, Reason.RATE_LIMITED),
    451: (TerminalFailure, Reason.PERMISSION_DENIED),
}


def field_lines(fields: Mapping[str, str]) -> str:
    r"""Spell fields; a value that would end its line is left out.

    >>> field_lines({"If-None-Match": '"x"', "Cookie": "a\r\nb"})
    'If-None-Match: "x"\r\n'
    """
    return "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value.isprintable())


def public_fields(fields: Mapping[str, str]) -> dict[str, str]:
    """Return fields without those that hold a secret: as they are kept."""
    return {name: value for name, value in fields.items() if name.lower() not in _SECRET}


def kept_head(head: AnswerHead) -> bytes:
    """Return a head as it is kept: as it came, unless the body's framing is gone or its lines end oddly."""
    text = head.text
    if text.count(b"\n") != text.count(b"\r\n"):
        text = text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    if head.chunked:  # Since the chunks are gone, both would lie; a length beside chunks never counted.
        text = _FRAMING.sub(lambda found: b"\r\nx-orig-" + found[1].lower() + b":", text)
    return text


def total(content_range: str, start: int) -> tuple[bool, int | None]:
    """Read Content-Range (RFC 9110, section 14.4): whether it begins at `start`, and the whole size.

    >>> total("bytes 100-199/200", 100), total("bytes 0-199/200", 100), total("", 100)
    ((True, 200), (False, 200), (False, None))
    """
    found = _RANGE.fullmatch(content_range.strip())
    if not found:
        return False, None
    whole = int(found[3]) if found[3] else None
    fits = int(found[1]) == start and (whole is None or int(found[2]) == whole - 1)
    return fits, whole


def span(content_range: str) -> tuple[int, int] | tuple[None, None]:
    """Read the first and the last byte that Content-Range names (RFC 9110, section 14.4).

    >>> span("bytes 100-199/200"), span("bytes */200")
    ((100, 199), (None, None))
    """
    found = _RANGE.fullmatch(content_range.strip())
    return (int(found[1]), int(found[2])) if found else (None, None)


def refusal(status: int, reason: str, where: str, *, target: str, after: str, now: datetime) -> TransportError:
    """Return the error that a status other than success amounts to.

    `target` is its Location and `after` its Retry-After, empty where it has none.
    """
    text = f"{where}: {status} {shown(reason)}".rstrip()
    if 300 <= status < 400 and target:
        return TerminalFailure(f"{text}: points to {shown(target, 1000)}", Reason.REDIRECTED, target=target)
    wait = pause(after, now)
    if known := _STATUS.get(status):
        kind, why = known
        return kind(text, why, wait=wait)
    if status >= 500:
        return TransientFailure(text, Reason.SERVER_ERROR, wait=wait)
    return TerminalFailure(text, Reason.PROTOCOL_ERROR)


def pause(retry_after: str, now: datetime) -> float | None:
    """Read Retry-After (RFC 9110, section 10.2.3) as seconds from now, a day at most.

    >>> from datetime import UTC
    >>> pause("120", datetime.now(UTC)), pause("", datetime.now(UTC))
    (120.0, None)
    >>> pause("Sat, 21 Nov 2026 12:01:00 GMT", datetime(2026, 11, 21, 12, 0, tzinfo=UTC))
    60.0
    """
    text = retry_after.strip()
    if text.isascii() and text.isdecimal():
        return min(float(text[:9]), _LONGEST)
    until = moment(text)
    return min(max((until - now).total_seconds(), 0.0), _LONGEST) if until else None


def target_prefix(site: Site) -> str:
    """Return what a request line has before the path: a proxy is asked for whole addresses (RFC 9112, section 3.2.2).

    >>> target_prefix(Site("http", "a.example", proxy="http://p")), target_prefix(Site("https", "a.example", proxy="http://p"))
    ('http://a.example', '')
    """
    return site.origin if site.proxy and site.scheme == "http" else ""


def fields_of(site: Site) -> dict[str, str]:
    """Return the fields that all requests have; a password goes out encrypted or not at all."""
    fields = {"User-Agent": site.agent, "Accept": "*/*", "Accept-Encoding": "identity"}
    if target_prefix(site) and (authorization := HttpProxy.of(site).authorization):
        fields["Proxy-Authorization"] = authorization
    if not site.username:
        return fields
    if site.scheme != "https" and (site.proxy or not loopback(site.host)):
        raise TerminalFailure(
            f"{at(site)}: a password is sent over https only", Reason.POLICY_DENIED, hint="use scheme https"
        )
    word = f"{site.username}:{reveal(site.secret) if site.secret else ''}"
    return fields | {"Authorization": f"Basic {base64.b64encode(word.encode()).decode()}"}
