"""What is written of an address, and its observations folded in the order of time into generations.

The outcome depends on the set of observations and not on the order in which they arrive: the fold
always takes all that is known of an address. A generation is one version of what is there; it is
open until something else is seen there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b
from typing import NamedTuple

from windrow.formats.url import apart, normalise


class Sighted(Enum):
    """What an observation tells of an address."""

    CONTENT = "content"  # this is there: a document, a file or a redirect
    SAME = "same"  # the server says that nothing changed since it sent a body last
    MISSING = "missing"  # it is not there, and may return
    GONE = "gone"  # it is not there, for good
    UNKNOWN = "unknown"  # no answer, or one that says nothing of the address


class CrawlObservation(NamedTuple):
    """One crawl of an address. `at` is in seconds since 1970; `identity` says what was there, for CONTENT.

    `crawl` is the UUID of the crawl: two crawls in one second stand in its order. `body` is false of content
    that no later SAME may refer to, such as a redirect.
    """

    at: int
    crawl: bytes
    sight: Sighted
    identity: bytes = b""
    body: bool = True


@dataclass(slots=True)
class Generation:
    """One text: when it was first and last seen, its end where that is known, and the crawls that saw it.

    `readings` has for each of `crawls` the one whose bytes say what was there: itself, or that which a SAME refers to.
    """

    identity: bytes
    first_seen: int
    last_seen: int
    confirmed_end: int | None = None
    crawls: list[bytes] = field(default_factory=list)
    readings: list[bytes] = field(default_factory=list)

    @property
    def reads(self) -> bytes:
        """Return the crawl whose reading describes the generation: that of its last confirmation."""
        return self.readings[-1]


def fold(observations: Iterable[CrawlObservation]) -> list[Generation]:
    """Return the generations of one address, oldest first (specification, sections 3.3, 3.4 and 10).

    Other content ends a generation when it is seen; GONE does so at once, MISSING the second time in a row. What
    comes after an end is a new generation, the same content too, so that nothing is told to have been there in
    between. SAME is the content that had a body last, whatever was seen since: the server compares with that.
    UNKNOWN says nothing.

    >>> seen = [CrawlObservation(at, b"", Sighted.CONTENT, text) for at, text in ((1, b"A"), (2, b"B"), (3, b"A"))]
    >>> [(one.identity, one.first_seen, one.confirmed_end) for one in fold(seen)]
    [(b'A', 1, 2), (b'B', 2, 3), (b'A', 3, None)]
    """
    found: list[Generation] = []
    body: tuple[bytes, bytes] | None = None  # its identity, and the crawl that it came with
    missing = 0
    for observation in sorted(observations, key=lambda one: one[:2]):
        latest = found[-1] if found and found[-1].confirmed_end is None else None
        if observation.sight in {Sighted.MISSING, Sighted.GONE}:
            missing += 1
            if latest is not None and (observation.sight is Sighted.GONE or missing > 1):
                latest.confirmed_end = observation.at
            continue
        there = (observation.identity, observation.crawl) if observation.sight is Sighted.CONTENT else body
        if observation.sight is Sighted.UNKNOWN or there is None:
            continue
        if observation.body:
            body = there
        missing = 0
        if latest is None or latest.identity != there[0]:
            if latest is not None:
                latest.confirmed_end = observation.at
            found.append(latest := Generation(there[0], observation.at, observation.at))
        latest.last_seen = observation.at
        latest.crawls.append(observation.crawl)
        latest.readings.append(there[1])
    return found


class FoldedVersion(NamedTuple):
    """A generation as it must be. `id` is the one it has already, None for one that is new."""

    made: Generation
    id: int | None


class Folded(NamedTuple):
    """The versions of an address, oldest first, and the ids of generations that are none any more."""

    versions: list[FoldedVersion]
    gone: set[int]


def versions(seen: Sequence[tuple[CrawlObservation, int | None]], known: Iterable[int]) -> Folded:
    """Fold an address's observations, each with the id of the generation that it belongs to so far.

    A version takes the least id among its observations that no older version took, so that ids last:
    versions that become one leave the others' ids over, one that becomes two gets a new id.

    >>> a, b = (CrawlObservation(at, bytes([at]), Sighted.CONTENT, b"A") for at in (1, 3))
    >>> between = CrawlObservation(2, bytes([2]), Sighted.CONTENT, b"B")
    >>> [(one.made.identity, one.id) for one in versions([(a, 7), (between, None), (b, 7)], [7]).versions]
    [(b'A', 7), (b'B', None), (b'A', None)]
    """
    belongs = {one.crawl: generation for one, generation in seen if generation is not None}
    free = set(known)
    found: list[FoldedVersion] = []
    for made in fold(one for one, _ in seen):
        ids = {belongs[crawl] for crawl in made.crawls if crawl in belongs} & free
        own = min(ids) if ids else None
        if own is not None:
            free.discard(own)
        found.append(FoldedVersion(made, own))
    return Folded(found, free)


_KNOWN = {"ftp": 21, "ftps": 990, "sftp": 22, "ws": 80, "wss": 443, "gopher": 70, "gemini": 1965}


class OriginEntry(NamedTuple):
    """The columns of `origin`; `port` is None where it is the scheme's own."""

    scheme: str
    host: str | None
    port: int | None
    text: str


class AddressEntry(NamedTuple):
    """The columns of `url` that are not empty always; `origin` is spelt as `OriginEntry.text`."""

    origin: str
    path: str | None
    query: str | None
    text: str


def split(url: str) -> AddressEntry:
    """Take an absolute address without fragment apart; credentials are left out.

    One of the web gets its one spelling (`windrow.formats.url`); what has none there stays as it is.

    >>> split("HTTP://me:pw@Example.org:80/a?b")
    AddressEntry(origin='http://example.org', path='/a', query='b', text='http://example.org/a?b')
    >>> split("sftp://me:pw@b.example:2222/x").text
    'sftp://b.example:2222/x'
    """
    if plain := apart(url):
        return AddressEntry(plain[0], plain[1], plain[2][1:] or None, url)
    if url.startswith("http") or url[:4].lower() == "http":
        text = normalise(url).url
        if text:
            end = text.index("/", 8)
            path, mark, query = text[end:].partition("?")
            return AddressEntry(text[:end], path, query if mark else None, text)
    return _other(url)


def _other(url: str) -> AddressEntry:
    scheme, _, rest = url.partition(":")
    scheme = scheme.lower()
    if not rest.startswith("//"):
        path, mark, query = rest.partition("?")
        return AddressEntry(f"{scheme}:", path or None, query if mark else None, f"{scheme}:{rest}")
    end = min((at for at in (rest.find(mark, 2) for mark in "/?\\") if at > 0), default=len(rest))
    host, port = _authority(rest[2:end].rpartition("@")[2].lower())
    shown = "" if port is None or port == _KNOWN.get(scheme) else f":{port}"
    text = f"{scheme}://{host}{shown}"
    path, mark, query = rest[end:].partition("?")
    return AddressEntry(text, path or None, query if mark else None, f"{text}{path}{mark}{query}")


def origin(text: str) -> OriginEntry:
    """Take an origin apart as `split` spells it.

    >>> origin("https://example.org:8443"), origin("mailto:").host
    (OriginEntry(scheme='https', host='example.org', port=8443, text='https://example.org:8443'), None)
    """
    scheme, _, rest = text.partition(":")
    if not rest:
        return OriginEntry(scheme, None, None, text)
    host, port = _authority(rest[2:])
    return OriginEntry(scheme, host or None, port, text)


def _authority(text: str) -> tuple[str, int | None]:
    name, colon, digits = text.rpartition(":")
    if not colon or not (digits.isascii() and digits.isdecimal()) or len(digits) > 5:
        return text.removesuffix(":"), None
    return name, int(digits)


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
