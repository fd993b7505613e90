"""The entries written for an address, and how its observations are folded into generations.

A generation is one version of the content at an address; it is open until something else is seen there. The fold
always takes all observations of an address, so the result does not depend on the order in which they arrive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b
from typing import NamedTuple

from windrow.collections.pages.code import Mime
from windrow.formats.url import normalise, split_safe


class Sight(Enum):
    """The result of an observation of an address."""

    CONTENT = "content"  # a document, a file or a redirect
    SAME = "same"  # not modified since the server last sent a body
    MISSING = "missing"  # not there, perhaps for a time
    GONE = "gone"  # permanently removed
    UNKNOWN = "unknown"  # no answer, or one that says nothing about the address


class CrawlObservation(NamedTuple):
    """One crawl of an address. `at` is in seconds since 1970; `identity` identifies the content, for CONTENT.

    `crawl` is the UUID of the crawl, which orders two crawls in the same second. `body` is false for content that a
    later SAME cannot refer to, such as a redirect.
    """

    at: int
    crawl: bytes
    sight: Sight
    identity: bytes = b""
    body: bool = True


@dataclass(slots=True)
class Generation:
    """One version: when it was first and last seen, its end if known, and the crawls that saw it.

    `readings` has for each of `crawls` the crawl whose bytes it saw: itself, or the one that a SAME refers to.
    """

    identity: bytes
    first_seen: int
    last_seen: int
    confirmed_end: int | None = None
    crawls: list[bytes] = field(default_factory=list)
    readings: list[bytes] = field(default_factory=list)

    @property
    def describing_crawl(self) -> bytes:
        """Return the crawl whose reading describes the generation: that of its last confirmation."""
        return self.readings[-1]


def fold(observations: Iterable[CrawlObservation]) -> list[Generation]:
    """Return the generations of one address, oldest first (specification, sections 3.3, 3.4 and 10).

    A generation ends when other content is seen, at a GONE, or at the second MISSING in a row. Content after an end
    is a new generation, even the same content, so that it does not count as present in between. SAME means the last
    content with a body, even if something else was seen since, because the server compares with it. UNKNOWN is ignored.

    >>> seen = [CrawlObservation(at, b"", Sight.CONTENT, text) for at, text in ((1, b"A"), (2, b"B"), (3, b"A"))]
    >>> [(version.identity, version.first_seen, version.confirmed_end) for version in fold(seen)]
    [(b'A', 1, 2), (b'B', 2, 3), (b'A', 3, None)]
    """
    generations: list[Generation] = []
    body: tuple[bytes, bytes] | None = None  # its identity, and the crawl that it came with
    missing = 0
    for observation in sorted(observations, key=lambda seen: seen[:2]):
        open_generation = generations[-1] if generations and generations[-1].confirmed_end is None else None
        if observation.sight in {Sight.MISSING, Sight.GONE}:
            missing += 1
            if open_generation is not None and (observation.sight is Sight.GONE or missing > 1):
                open_generation.confirmed_end = observation.at
            continue
        content = (observation.identity, observation.crawl) if observation.sight is Sight.CONTENT else body
        if observation.sight is Sight.UNKNOWN or content is None:
            continue
        if observation.body:
            body = content
        missing = 0
        if open_generation is None or open_generation.identity != content[0]:
            if open_generation is not None:
                open_generation.confirmed_end = observation.at
            generations.append(open_generation := Generation(content[0], observation.at, observation.at))
        open_generation.last_seen = observation.at
        open_generation.crawls.append(observation.crawl)
        open_generation.readings.append(content[1])
    return generations


class FoldedVersion(NamedTuple):
    """A generation with its id in the database; `id` is None if it is new."""

    generation: Generation
    id: int | None


class FoldedVersions(NamedTuple):
    """The versions of an address, oldest first, and the ids of generations that no longer exist."""

    versions: list[FoldedVersion]
    gone: set[int]


def versions(seen: Sequence[tuple[CrawlObservation, int | None]], known: Iterable[int]) -> FoldedVersions:
    """Fold the observations of an address, each with the id of the generation that it belongs to so far.

    A version takes the lowest id of its observations that no older version took, so that ids are stable: of merged
    versions one id remains, and a split version gets a new one for its second part.

    >>> a, b = (CrawlObservation(at, bytes([at]), Sight.CONTENT, b"A") for at in (1, 3))
    >>> between = CrawlObservation(2, bytes([2]), Sight.CONTENT, b"B")
    >>> folded = versions([(a, 7), (between, None), (b, 7)], [7])
    >>> [(version.generation.identity, version.id) for version in folded.versions]
    [(b'A', 7), (b'B', None), (b'A', None)]
    """
    generation_of_crawl = {observation.crawl: generation for observation, generation in seen if generation is not None}
    free = set(known)
    folded: list[FoldedVersion] = []
    for generation in fold(observation for observation, _ in seen):
        ids = {generation_of_crawl[crawl] for crawl in generation.crawls if crawl in generation_of_crawl} & free
        own_id = min(ids) if ids else None
        if own_id is not None:
            free.discard(own_id)
        folded.append(FoldedVersion(generation, own_id))
    return FoldedVersions(folded, free)


_USUAL_PORTS = {"ftp": 21, "ftps": 990, "sftp": 22, "ws": 80, "wss": 443, "gopher": 70, "gemini": 1965}


class OriginEntry(NamedTuple):
    """The columns of `origin`; `port` is None if it is the scheme's usual one."""

    scheme: str
    host: str | None
    port: int | None
    text: str


class AddressEntry(NamedTuple):
    """The columns of `url` that are not always empty; `origin` is spelt as `OriginEntry.text`."""

    origin: str
    path: str | None
    query: str | None
    text: str


def split(url: str) -> AddressEntry:
    """Split an absolute address without fragment into its parts; credentials are left out.

    A web address is normalised (`windrow.formats.url`); one that cannot be normalised stays as it is.

    >>> split("HTTP://me:pw@Example.org:80/a?b")
    AddressEntry(origin='http://example.org', path='/a', query='b', text='http://example.org/a?b')
    >>> split("sftp://me:pw@b.example:2222/x").text
    'sftp://b.example:2222/x'
    """
    if address := split_safe(url):
        return AddressEntry(address[0], address[1], address[2][1:] or None, url)
    if url.startswith("http") or url[:4].lower() == "http":
        text = normalise(url).url
        if text:
            end = text.index("/", 8)
            path, mark, query = text[end:].partition("?")
            return AddressEntry(text[:end], path, query if mark else None, text)
    return _split_other_scheme(url)


def _split_other_scheme(url: str) -> AddressEntry:
    scheme, _, rest = url.partition(":")
    scheme = scheme.lower()
    if not rest.startswith("//"):
        path, mark, query = rest.partition("?")
        return AddressEntry(f"{scheme}:", path or None, query if mark else None, f"{scheme}:{rest}")
    end = min((index for index in (rest.find(mark, 2) for mark in "/?\\") if index > 0), default=len(rest))
    host, port = _split_authority(rest[2:end].rpartition("@")[2].lower())
    port_suffix = "" if port is None or port == _USUAL_PORTS.get(scheme) else f":{port}"
    text = f"{scheme}://{host}{port_suffix}"
    path, mark, query = rest[end:].partition("?")
    return AddressEntry(text, path or None, query if mark else None, f"{text}{path}{mark}{query}")


def origin(text: str) -> OriginEntry:
    """Split an origin, spelt as by `split`, into its parts.

    >>> origin("https://example.org:8443"), origin("mailto:").host
    (OriginEntry(scheme='https', host='example.org', port=8443, text='https://example.org:8443'), None)
    """
    scheme, _, rest = text.partition(":")
    if not rest:
        return OriginEntry(scheme, None, None, text)
    host, port = _split_authority(rest[2:])
    return OriginEntry(scheme, host or None, port, text)


def _split_authority(text: str) -> tuple[str, int | None]:
    name, colon, digits = text.rpartition(":")
    if not colon or not (digits.isascii() and digits.isdecimal()) or len(digits) > 5:
        return text.removesuffix(":"), None
    return name, int(digits)


PILE = 64
"""Bytes of an identity that is the digest of a text pile; other identities are shorter."""

BY_HEADER = "headed"
"""Follows a digest if the summary depends on the header too: the same bytes in another answer must be read again."""


class CrawlEntry(NamedTuple):
    """One crawl, in the columns of `crawl_summary` and `http_summary`. Times are UNIX seconds.

    `attempt` is its number in the ledger, `payload` the digest of the bytes that came, empty for none.
    """

    attempt: int
    url: str
    at: int
    uuid: bytes
    sight: Sight
    agent: bytes
    kind: int
    allowed: bool
    exit_code: int
    milliseconds: int | None = None
    status: int | None = None
    etag: str | None = None
    payload: str = ""


class RedirectEntry(NamedTuple):
    """The target of a redirect: an absolute address without fragment, the fragment, and an `InformationSource`."""

    url: str
    fragment: str | None = None
    source: int = 1


class TextSummary(NamedTuple):
    """The content at an address.

    `pile` has the six texts of a document that may be found; if it is None, `reason` tells why.
    `identity` tells versions apart; with a pile it is the pile's digest. `described` has the columns of
    `document_description` after the first. Each link is `(url, fragment, nofollow, me, tag, location,
    contains_headline, destination, locality, html_tag, text)`; the bits of `location` are the fifteen
    flags in their order, beginning with the lowest bit. `headed` is true if the summary depends on the header: another
    answer with the same bytes may give another summary. From `until` (UNIX seconds) on the page must not be found;
    `linked` is the hash of the links, if the reader computed it.
    """

    identity: bytes
    reason: str = ""
    pile: tuple[str, str, str, str, str, str] | None = None
    described: tuple[int | None, int | None, str | None, str | None, str | None, str | None, int] | None = None
    links: tuple[tuple[str, str | None, bool, bool, bool, int, bool, int | None, int, str, str | None], ...] = ()
    file: bool = True
    size: int | None = None
    mime: Mime | None = None
    canonical: str = ""
    move: RedirectEntry | None = None
    headed: bool = False
    until: int | None = None
    linked: bytes = b""


class SummaryEntry(NamedTuple):
    """A crawl and the summary of its content; None if the content is known already or missing."""

    crawl: CrawlEntry
    summary: TextSummary | None = None


def hash_of_links(links: Iterable[tuple[str, str]]) -> bytes:
    """Return the hash of a set of links (address and text); their order and repetitions do not matter.

    >>> tea = ("http://a.example/", "tea")
    >>> hash_of_links([tea, tea]) == hash_of_links([tea])
    True
    """
    lines = "\n".join(sorted({f"{url} {text}" for url, text in links}))
    return blake2b(lines.encode("utf-8", "backslashreplace"), digest_size=8).digest()


class Agent(NamedTuple):
    """The agent of a crawl: a session of the ledger."""

    id: int
    started: int
    uuid: bytes
    name: str


class LoggedRequest(NamedTuple):
    """A request and its answer; `modified` is the Last-Modified time in UNIX seconds."""

    allowed: bool
    status: int | None
    etag: str | None
    modified: int | None


class LoggedFile(NamedTuple):
    """A file that came; `size` is in bytes as transferred."""

    size: int
    mime: Mime | None
    modified: int | None


class LoggedRedirect(NamedTuple):
    """A redirect that came, with its target."""

    url: str
    fragment: str | None
    source: int
    permanent: bool
    modified: int | None


class LoggedCrawl(NamedTuple):
    """One crawl of one address. `id` is its number in the ledger and the id of all its rows.

    `candidate` tells whether its address is a crawl candidate, `contentful` whether it found content.
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
