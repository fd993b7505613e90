"""What the crawler database is told of one crawl: values, made by a collection. Times are UNIX seconds."""

from __future__ import annotations

from typing import NamedTuple

from windrow.stores.summary.entry import Mime


class Agent(NamedTuple):
    """Who crawled: a session of the ledger."""

    id: int
    started: int
    uuid: bytes
    name: str


class Request(NamedTuple):
    """What the server was asked, and what it said."""

    allowed: bool
    status: int | None
    etag: str | None
    modified: int | None


class File(NamedTuple):
    """What came; `size` is in bytes as it was sent."""

    size: int
    mime: Mime | None
    modified: int | None


class Redirect(NamedTuple):
    """Where it led."""

    url: str
    fragment: str | None
    source: int
    permanent: bool
    modified: int | None


class Log(NamedTuple):
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
    request: Request | None
    file: File | None
    redirect: Redirect | None
    candidate: bool
    contentful: bool
