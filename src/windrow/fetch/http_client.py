"""The HTTP client for crawls and `windrow try`, for which a response of any status is a result and not an error.

The module also has functions that make and read the header fields of requests and responses.
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
from windrow.fetch.dial import NETWORK_ERRORS, map_network_error
from windrow.fetch.http_connection import HttpConnection, HttpProxy, StaleConnection, StopReading, connect_web
from windrow.fetch.politeness import pace
from windrow.fetch.politeness.guard import is_loopback
from windrow.fetch.secret import HidingSink, SentSecrets, read_secret
from windrow.fetch.transport import Sink, printable, public_address, request_target
from windrow.formats.http import ACCEPT_ENCODING, read_head
from windrow.formats.http_response import ResponseHead, ResponseReader
from windrow.model import HttpRequest, Site
from windrow.reasons import Reason

_ACCEPT_ENCODING = f"Accept-Encoding: {ACCEPT_ENCODING}\r\n"
_ACCEPT = "Accept: */*\r\n"

WITHOUT_BODY = frozenset({204, 304})
"""Statuses whose responses do not have a body, whatever their Content-Length."""

GET = HttpRequest()
"""A GET without header fields of its own and without a body."""


class ResponseLimits(NamedTuple):
    """The limits on one response: `max_size` bytes of its body as sent, and `seconds` for the whole response.

    If `cuts_body`, a longer body is cut; otherwise it is refused as soon as its size is known. `silence` is the longest
    time without data, in seconds, or 0 for the site's timeout.
    """

    max_size: int
    seconds: float
    cuts_body: bool = False
    silence: float = 0.0


class RequestBody(Protocol):
    """The body of a request, which is read while it is sent. `size` is in bytes."""

    size: int

    def blocks(self) -> Iterator[bytes]:
        """Yield the body from its beginning, block by block."""
        ...


class ClientResponse(NamedTuple):
    """A response without its body. `wait` is its Retry-After in seconds, or None if it is missing or not valid."""

    status: int
    fields: Mapping[str, str]  # in the form of `windrow.formats.http.join_fields`
    wait: float | None
    is_cut: bool = False  # whether the body was cut at the limit
    doubt: str = ""  # why it may not be whole, as in `ResponseReader`


class HttpClient:
    """A client for one origin, with one connection at a time."""

    def __init__(self, site: Site) -> None:
        """Prepare for a site; the first request opens the connection. Raises what `request_fields` raises."""
        self._site = site
        self._origin = site.origin
        self._target_prefix = target_prefix(site)
        fields = {"Host": self._origin.partition("://")[2], **request_fields(site), "Accept-Encoding": ACCEPT_ENCODING}
        self._header_lines = field_lines(fields)
        self._kept_header_lines = field_lines(public_fields(fields))  # as archived: without secrets
        self._connection: HttpConnection | None = None
        self.stale = 0  # how often the last request was repeated because the server had closed the connection

    async def __aenter__(self) -> Self:
        """Return the client."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        if self._connection:
            self._connection.close()

    async def send(
        self, url: str, headers: Mapping[str, str], sink: Sink, limits: ResponseLimits, request: HttpRequest = GET,
        *, body: RequestBody | None = None, secrets: SentSecrets | None = None,
    ) -> ClientResponse:  # fmt: skip
        """Send a request for a URL of this origin, and write the response into `sink` while it arrives.

        A request other than GET is sent over a new connection, so that it is sent only once. A `body` replaces the body
        in `request` and is not written into the sink. The `secrets` are not written either, and are overwritten in the
        response. `headers` are added to the headers for the site. Raises a TransportError or an error of the sink.
        """
        address = printable(url, 1000)
        target, request_lines = request_target(self._origin, url), field_lines(headers) + "\r\n"
        request_line = f"{request.method} {target} HTTP/1.1\r\n"
        header_lines, kept_lines = self._header_lines, self._kept_header_lines
        if any(name.lower() == "accept" for name in headers):  # it replaces the field that all requests have
            header_lines, kept_lines = header_lines.replace(_ACCEPT, ""), kept_lines.replace(_ACCEPT, "")
        if secrets:
            # A compressed response could not be searched for secrets.
            kept_lines = kept_lines.replace(_ACCEPT_ENCODING, "Accept-Encoding: identity\r\n")
            header_lines = header_lines.replace(_ACCEPT_ENCODING, "Accept-Encoding: identity\r\n") + field_lines(
                secrets.headers
            )
            target = request_target(self._origin, secrets.url(url))
        sent_line = f"{request.method} {self._target_prefix}{target} HTTP/1.1\r\n"
        request_body = b"" if body else request.body
        if request.method != "GET":
            request_lines = f"Content-Length: {body.size if body else len(request_body)}\r\n{request_lines}"
            if self._connection:
                self._connection.close()
        kept_bytes = (request_line + kept_lines + request_lines).encode() + request_body
        sent_bytes = (
            kept_bytes
            if kept_lines == header_lines and request_line == sent_line
            else (sent_line + header_lines + request_lines).encode() + request_body
        )
        hiding_sink = HidingSink(sink, secrets) if secrets else None
        bounded_sink = _BoundedSink(hiding_sink or sink, limits, address, kept_bytes)
        try:
            await self._exchange(sent_bytes, bounded_sink, address, limits, body)
            if hiding_sink:
                hiding_sink.end()
        except TimeoutError as error:
            message = str(error) or f"the response was not complete after {limits.seconds:g} seconds"
            raise TransientFailure(f"{address}: {message}", Reason.TIMEOUT) from error
        except NETWORK_ERRORS as error:
            raise map_network_error(error, address, was_open=self._connection is not None) from error
        assert bounded_sink.head is not None
        fields = read_head(secrets.hide(bounded_sink.head.text) if secrets else bounded_sink.head.text).fields
        wait_text = fields.get("retry-after", "")
        wait = pace.retry_after(wait_text, datetime.now(UTC)) if wait_text else None
        return ClientResponse(bounded_sink.head.status, fields, wait, bounded_sink.is_cut, bounded_sink.doubt)

    async def _exchange(
        self, request: bytes, sink: _BoundedSink, address: str, limits: ResponseLimits, body: RequestBody | None
    ) -> None:
        """Send a request over the open connection or, if that is closed, over a new one. Errors name `address`."""
        self.stale = 0
        while True:
            connection = self._connection
            if connection is None or not connection.is_usable:
                self._connection = None
                async with asyncio.timeout(limits.seconds):
                    connection = self._connection = await connect_web(self._site)
            reader, silence = ResponseReader(address, sink.begin, sink.write), limits.silence or self._site.timeout
            try:
                await connection.exchange(request, reader, limits.seconds, silence, body.blocks() if body else ())
            except StaleConnection:
                self.stale += 1
                continue
            except StopReading:
                sink.is_cut = True
            sink.doubt = reader.doubt
            return


class _BoundedSink:
    """Writes a response into a sink, and limits the size of its body. `head` is None until the head has arrived."""

    __slots__ = ("_address", "_kept_request", "_limits", "_sink", "_size", "doubt", "head", "is_cut")

    def __init__(self, sink: Sink, limits: ResponseLimits, address: str, kept_request: bytes) -> None:
        self._sink, self._limits, self._address, self._kept_request = sink, limits, address, kept_request
        self._size = 0  # bytes of the body so far
        self.head: ResponseHead | None = None
        self.is_cut, self.doubt = False, ""

    def begin(self, head: ResponseHead) -> None:
        """Open the sink. Raises TerminalFailure if the body must not be cut and its announced size is too large."""
        self.head = head
        limits, size = self._limits, None if head.status in WITHOUT_BODY else head.size
        self._sink.open(None if limits.cuts_body else size, kept_head(head), self._kept_request)
        if size is not None and size > limits.max_size and not limits.cuts_body:
            self._fail_too_large(size)

    def write(self, block: memoryview) -> None:
        """Write a block of the body. Beyond the limit, raise StopReading if `cuts_body`, or else TerminalFailure."""
        self._size += len(block)
        excess = self._size - self._limits.max_size
        if excess <= 0:
            self._sink.write(block)
            return
        if not self._limits.cuts_body:
            self._fail_too_large(self._size)
        self._sink.write(block[: len(block) - excess])
        raise StopReading

    def _fail_too_large(self, size: int) -> None:
        message = f"{self._address}: the body has at least {size} bytes; the limit is {self._limits.max_size}"
        raise TerminalFailure(message, Reason.TOO_LARGE)


_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(?:(\d{1,18})|\*)", re.ASCII)
_SECRET_FIELDS = frozenset({"authorization", "proxy-authorization", "cookie"})
_FRAMING_FIELDS = re.compile(rb"\r\n(transfer-encoding|content-length)[ \t]*:", re.IGNORECASE)
_ERRORS_BY_STATUS: dict[int, tuple[type[TransportError], Reason]] = {
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
    r"""Return fields as header lines, without fields whose values have unprintable characters, such as a line break.

    >>> field_lines({"If-None-Match": '"x"', "Cookie": "a\r\nb"})
    'If-None-Match: "x"\r\n'
    """
    return "".join(f"{name}: {text}\r\n" for name, text in fields.items() if text.isprintable())


def public_fields(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the header fields that may be archived: all except Authorization, Proxy-Authorization and Cookie."""
    return {name: text for name, text in fields.items() if name.lower() not in _SECRET_FIELDS}


def kept_head(head: ResponseHead) -> bytes:
    """Return the head of a response as it is archived, with lines that end with CRLF.

    If the response is chunked, its Transfer-Encoding and Content-Length are renamed to `x-orig-...`.
    """
    head_bytes = head.text
    if head_bytes.count(b"\n") != head_bytes.count(b"\r\n"):
        head_bytes = head_bytes.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    if head.chunked:  # the kept body is not chunked, and a Content-Length beside chunks is not valid
        head_bytes = _FRAMING_FIELDS.sub(lambda match: b"\r\nx-orig-" + match[1].lower() + b":", head_bytes)
    return head_bytes


def match_range(content_range: str, start: int) -> tuple[bool, int | None]:
    """Return whether a Content-Range covers a file from `start` to its end, and the size of the file.

    The size is None if it is not stated; the end is then not checked. Source: RFC 9110, section 14.4.

    >>> match_range("bytes 100-199/200", 100), match_range("bytes 0-199/200", 100), match_range("", 100)
    ((True, 200), (False, 200), (False, None))
    """
    match = _CONTENT_RANGE.fullmatch(content_range.strip())
    if not match:
        return False, None
    total = int(match[3]) if match[3] else None
    is_requested_range = int(match[1]) == start and (total is None or int(match[2]) == total - 1)
    return is_requested_range, total


def range_bounds(content_range: str) -> tuple[int, int] | tuple[None, None]:
    """Return the offsets of the first and the last byte of a Content-Range, or (None, None) if it does not state them.

    >>> range_bounds("bytes 100-199/200"), range_bounds("bytes */200")
    ((100, 199), (None, None))
    """
    match = _CONTENT_RANGE.fullmatch(content_range.strip())
    return (int(match[1]), int(match[2])) if match else (None, None)


def status_error(
    status: int, reason: str, address: str, *, target: str, retry_after: str, now: datetime
) -> TransportError:
    """Return the error for a response from `address` with a status that is not a success.

    `reason` is the text after the status. `target` is the response's Location; `retry_after` is its Retry-After, which
    counts from `now` on. Both are "" if they are missing.
    """
    message = f"{address}: {status} {printable(reason)}".rstrip()
    if 300 <= status < 400 and target:
        return TerminalFailure(f"{message}: redirects to {printable(target, 1000)}", Reason.REDIRECTED, target=target)
    wait = pace.retry_after(retry_after, now)
    if known_error := _ERRORS_BY_STATUS.get(status):
        error_type, error_reason = known_error
        return error_type(message, error_reason, wait=wait)
    if status >= 500:
        return TransientFailure(message, Reason.SERVER_ERROR, wait=wait)
    return TerminalFailure(message, Reason.PROTOCOL_ERROR)


def target_prefix(site: Site) -> str:
    """Return what precedes the path in a request line: the origin for http through a proxy, otherwise "".

    Source: RFC 9112, section 3.2.2.

    >>> target_prefix(Site("http", "a.example", proxy="http://p")), target_prefix(Site("https", "a.example", proxy="http://p"))
    ('http://a.example', '')
    """
    return site.origin if site.proxy and site.scheme == "http" else ""


def request_fields(site: Site) -> dict[str, str]:
    """Return the header fields that all requests to a site have in common.

    Raises TerminalFailure if the site's password cannot be read, or would be sent unencrypted to another machine or
    through a proxy. For an http site with a proxy, it also raises what `HttpProxy.of` raises.
    """
    fields = {"User-Agent": site.agent, "Accept": "*/*", "Accept-Encoding": "identity"}
    if target_prefix(site) and (authorization := HttpProxy.of(site).authorization):
        fields["Proxy-Authorization"] = authorization
    if not site.username:
        return fields
    if site.scheme != "https" and (site.proxy or not is_loopback(site.host)):
        raise TerminalFailure(
            f"{public_address(site)}: a password may only be sent over https",
            Reason.POLICY_DENIED,
            hint="use scheme https",
        )
    user_and_password = f"{site.username}:{read_secret(site.secret) if site.secret else ''}"
    return fields | {"Authorization": f"Basic {base64.b64encode(user_and_password.encode()).decode()}"}
