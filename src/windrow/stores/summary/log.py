"""What the crawler database is told of one crawl: values, made by a collection. Times are UNIX seconds."""

from __future__ import annotations

from typing import NamedTuple

from windrow.stores.summary.entry import MimeEntry


class Agent(NamedTuple):
    """Who crawled: a session of the ledger."""

    id: int
    started: int
    uuid: bytes
    name: str


class LoggedRequest(NamedTuple):
    """What the server was asked, and what it said."""

    allowed: bool
    status: int | None
    etag: str | None
    modified: int | None


class LoggedFile(NamedTuple):
    """What came; `size` is in bytes as it was sent."""

    size: int
    mime: MimeEntry | None
    modified: int | None


class LoggedRedirect(NamedTuple):
    """Where it led."""

    url: str
    fragment: str | None
    source: int
    permanent: bool
    modified: int | None


class LoggedCrawl(NamedTuple):
    """One crawl of one address. `id` is its number in the ledger, and that of all its rows.

    `candidate` tells whether it says something of its address, `contentful` whether it found something there.
    """

    id: int
    agent: Agent
    url: str
    kind: int
    uuid: bytes
    at: int
    milliseconds: int | None
    exit_code: int
    message: str | None
    request: LoggedRequest | None
    file: LoggedFile | None
    redirect: LoggedRedirect | None
    candidate: bool
    contentful: bool
