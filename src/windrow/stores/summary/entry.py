"""What the Summary Database is told of one crawl of one address: values, made by a collection."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from windrow.stores.summary.generation import Sighted

PILE = 64
"""Bytes of an identity that is the digest of a text pile; any other has fewer."""

HEADED = "headed"
"""Behind the digest of bytes that do not say by themselves what was there: who else brings them must be read."""


class CrawlEntry(NamedTuple):
    """One crawl, in the columns of `crawl_summary` and `http_summary`. Times are UNIX seconds.

    `visit` is its number in the ledger, `payload` the digest of the bytes that came, empty for none.
    """

    visit: int
    url: str
    at: int
    uuid: bytes
    sight: Sighted
    agent: bytes
    kind: int
    allowed: bool
    exit_code: int
    milliseconds: int | None = None
    status: int | None = None
    etag: str | None = None
    payload: str = ""


class MimeEntry(NamedTuple):
    """A media type in the parts of the table `mimetype`, with its parameters."""

    type: str
    subtype: str
    suffix: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()


class RedirectEntry(NamedTuple):
    """Where a redirect leads: an absolute address without fragment, the fragment, and who says so."""

    url: str
    fragment: str | None = None
    source: int = 1


class TextSummary(NamedTuple):
    """What was there. `pile` has the six texts of a document that may be found, `reason` why there are none.

    `identity` tells versions apart; with a pile it is that pile's digest. `described` has the columns of
    `document_description` after the first. Each link is `(url, fragment, nofollow, me, tag, location,
    contains_headline, destination, locality, html_tag, text)`; the bits of `location` are the fifteen
    flags in their order, the first lowest. `headed` is true of what the bytes alone would not say: another
    answer with these bytes may be something else. `until` (UNIX seconds) is when it may not be found any more;
    `linked` is the hash of the links, where the reader made it.
    """

    identity: bytes
    reason: str = ""
    pile: tuple[str, str, str, str, str, str] | None = None
    described: tuple[int | None, int | None, str | None, str | None, str | None, str | None, int] | None = None
    links: tuple[tuple[str, str | None, bool, bool, bool, int, bool, int | None, int, str, str | None], ...] = ()
    file: bool = True
    size: int | None = None
    mime: MimeEntry | None = None
    canonical: str = ""
    move: RedirectEntry | None = None
    headed: bool = False
    until: int | None = None
    linked: bytes = b""


class SummaryEntry(NamedTuple):
    """A crawl and what it saw; None where that is known already or where it saw nothing."""

    crawl: CrawlEntry
    summary: TextSummary | None = None


def hash_of_links(links: Iterable[tuple[str, str]]) -> bytes:
    """Return the hash of a set of links: addresses and texts, in whatever order and however often.

    >>> tea = ("http://a.example/", "tea")
    >>> hash_of_links([tea, tea]) == hash_of_links([tea])
    True
    """
    lines = "\n".join(sorted({f"{url} {text}" for url, text in links}))
    return blake2b(lines.encode("utf-8", "backslashreplace"), digest_size=8).digest()
