"""What a crawler asks of a web server and what it is told, whichever way the question goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from windrow.model import HttpRequest
from windrow.transports.contract import Sink
from windrow.transports.secret_sending import SentSecrets

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


class CrawlClient(Protocol):
    """A session with one origin."""

    stale: int
    """How often the last visit was asked over a line that was closed without an answer, and then over a new one."""

    async def __aenter__(self) -> Self:
        """Return the session."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        ...

    async def visit(
        self, url: str, asked: Mapping[str, str], sink: Sink, bounds: ReplyLimits, request: HttpRequest = GET,
        *, body: RequestBody | None = None, secrets: SentSecrets | None = None,
    ) -> Reply:  # fmt: skip
        """Ask for a URL of this origin and put the answer's body into the sink, as it comes.

        A `body` is sent in place of the request's own, and is not told to the sink. Nor are `secrets`, which are
        overwritten in what is answered.
        """
        ...
