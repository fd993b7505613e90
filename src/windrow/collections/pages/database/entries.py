"""The entries that are written for an address, and the fold, which computes its generations from its observations.

A generation ends when the content at its address has changed or is gone. The fold always takes all observations of an
address, so the result does not depend on the order in which they arrive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b
from operator import attrgetter
from typing import NamedTuple

from windrow.collections.pages.code import Mime
from windrow.contract import Skip
from windrow.formats.url import normalise, split_safe


class Sight(Enum):
    """What an observation of an address found."""

    CONTENT = "content"  # a document, a file or a redirect
    PART = "part"  # only the beginning of a document, since the answer ended too early
    SAME = "same"  # a 304: not modified since the server last sent a body
    MISSING = "missing"  # a 404: perhaps only temporary
    GONE = "gone"  # a 410: permanently removed
    UNKNOWN = "unknown"  # no answer, or an answer without information about the address


class CrawlObservation(NamedTuple):
    """One crawl of an address. `seen_at` is in UNIX seconds; `identity` identifies the content, or is empty.

    `crawl` is the UUID of the crawl, which orders two crawls in the same second. `has_body` is false for content that a
    later SAME cannot refer to, such as a redirect.
    """

    seen_at: int
    crawl: bytes
    sight: Sight
    identity: bytes = b""
    has_body: bool = True


@dataclass(slots=True)
class Generation:
    """One generation: when it was first and last seen and when it ended (UNIX seconds), and the crawls that saw it.

    `crawls` are UUIDs, oldest first. `content_crawls` are the UUIDs of the crawls that received the content, one for
    each of `crawls`: the same crawl, or an earlier one that a SAME refers to. `is_part` tells whether all of them
    received only a part.
    """

    identity: bytes
    first_seen: int
    last_seen: int
    confirmed_end: int | None = None
    crawls: list[bytes] = field(default_factory=list)
    content_crawls: list[bytes] = field(default_factory=list)
    is_part: bool = False

    @property
    def describing_crawl(self) -> bytes:
        """The UUID of the crawl that received the generation's latest content. Its reading describes the generation."""
        return self.content_crawls[-1]


def fold_observations(observations: Iterable[CrawlObservation]) -> list[Generation]:
    """Return the generations of one address, oldest first (specification, sections 3.3, 3.4 and 10).

    A generation ends when other content is seen, at a GONE, or at the second MISSING in a row. Content that is seen
    after an end is a new generation, even if it is equal to the content before the end. SAME means the last content
    with a body, even if something else was seen after it, because the server compares with that body. UNKNOWN is
    ignored, and so is SAME before any content with a body, or after a PART or an UNKNOWN whose body was read. PART is
    content, but it does not end a generation whose content was received as a whole.

    >>> seen = [CrawlObservation(at, b"", Sight.CONTENT, text) for at, text in ((1, b"A"), (2, b"B"), (3, b"A"))]
    >>> [(version.identity, version.first_seen, version.confirmed_end) for version in fold_observations(seen)]
    [(b'A', 1, 2), (b'B', 2, 3), (b'A', 3, None)]
    """
    generations: list[Generation] = []
    last_body: tuple[bytes, bytes] | None = None  # identity and crawl of the last content with a body
    missing_in_a_row = 0
    for observation in sorted(observations, key=attrgetter("seen_at", "crawl")):
        open_generation = generations[-1] if generations and generations[-1].confirmed_end is None else None
        if observation.sight in {Sight.MISSING, Sight.GONE}:
            missing_in_a_row += 1
            if open_generation is not None and (observation.sight is Sight.GONE or missing_in_a_row > 1):
                open_generation.confirmed_end = observation.seen_at
            continue
        is_part = observation.sight is Sight.PART
        if is_part or (observation.sight is Sight.UNKNOWN and observation.identity and observation.has_body):
            last_body = None
        is_received = is_part or observation.sight is Sight.CONTENT
        content = (observation.identity, observation.crawl) if is_received else last_body
        if observation.sight is Sight.UNKNOWN or content is None:
            continue
        if observation.has_body and not is_part:
            last_body = content
        missing_in_a_row = 0
        identity, content_crawl = content
        is_same = open_generation is not None and open_generation.identity == identity
        if is_part and open_generation is not None and not (open_generation.is_part or is_same):
            continue
        if open_generation is None or not is_same:
            if open_generation is not None:
                open_generation.confirmed_end = observation.seen_at
            open_generation = Generation(identity, observation.seen_at, observation.seen_at, is_part=is_part)
            generations.append(open_generation)
        open_generation.is_part = open_generation.is_part and is_part
        open_generation.last_seen = observation.seen_at
        open_generation.crawls.append(observation.crawl)
        open_generation.content_crawls.append(content_crawl)
    return generations


class FoldedVersion(NamedTuple):
    """A generation with its id in the database; `id` is None if it is not in the database yet."""

    generation: Generation
    id: int | None


class FoldedVersions(NamedTuple):
    """The generations of an address (`versions`), oldest first, and the ids of those that no longer exist."""

    versions: list[FoldedVersion]
    removed_ids: set[int]


def fold_versions(
    observations: Sequence[tuple[CrawlObservation, int | None]], known_ids: Iterable[int]
) -> FoldedVersions:
    """Return the generations of an address, each with the id of the former generation that it continues, or None.

    Each observation is given with the id of its former generation, or None; `known_ids` are the ids of all former
    generations. A generation keeps the lowest id of its observations that no older generation keeps. So one of the ids
    of merged generations is kept, and the second part of a split generation has the id None.

    >>> a, b = (CrawlObservation(at, bytes([at]), Sight.CONTENT, b"A") for at in (1, 3))
    >>> between = CrawlObservation(2, bytes([2]), Sight.CONTENT, b"B")
    >>> folded = fold_versions([(a, 7), (between, None), (b, 7)], [7])
    >>> [(version.generation.identity, version.id) for version in folded.versions]
    [(b'A', 7), (b'B', None), (b'A', None)]
    """
    id_of_crawl = {observation.crawl: id_ for observation, id_ in observations if id_ is not None}
    unused_ids = set(known_ids)
    folded_versions: list[FoldedVersion] = []
    for generation in fold_observations(observation for observation, _ in observations):
        former_ids = {id_of_crawl[crawl] for crawl in generation.crawls if crawl in id_of_crawl} & unused_ids
        kept_id = min(former_ids) if former_ids else None
        if kept_id is not None:
            unused_ids.discard(kept_id)
        folded_versions.append(FoldedVersion(generation, kept_id))
    return FoldedVersions(folded_versions, unused_ids)


_USUAL_PORTS = {"ftp": 21, "ftps": 990, "sftp": 22, "ws": 80, "wss": 443, "gopher": 70, "gemini": 1965}


class OriginEntry(NamedTuple):
    """The columns of the table `origin`.

    `port` is None for the usual port of the scheme. `host` is None if the address has no host, as in `mailto:`.
    """

    scheme: str
    host: str | None
    port: int | None
    text: str


class AddressEntry(NamedTuple):
    """The columns of the table `url` that are not always empty; `origin` is spelt as in `OriginEntry.text`."""

    origin: str
    path: str | None
    query: str | None
    text: str


def split_address(url: str) -> AddressEntry:
    """Split an absolute address without a fragment into its parts; credentials are left out.

    A web address is normalised (`windrow.formats.url`). If that fails, it is split like an address of another scheme.

    >>> split_address("HTTP://me:pw@Example.org:80/a?b")
    AddressEntry(origin='http://example.org', path='/a', query='b', text='http://example.org/a?b')
    >>> split_address("sftp://me:pw@b.example:2222/x").text
    'sftp://b.example:2222/x'
    """
    if address := split_safe(url):
        origin, path, query = address
        return AddressEntry(origin, path, query[1:] or None, url)
    if url.startswith("http") or url[:4].lower() == "http":
        text = normalise(url).url
        if text:
            path_start = text.index("/", 8)
            path, question_mark, query = text[path_start:].partition("?")
            return AddressEntry(text[:path_start], path, query if question_mark else None, text)
    return _split_other_scheme(url)


def _split_other_scheme(url: str) -> AddressEntry:
    scheme, _, after_scheme = url.partition(":")
    scheme = scheme.lower()
    if not after_scheme.startswith("//"):
        path, question_mark, query = after_scheme.partition("?")
        return AddressEntry(f"{scheme}:", path or None, query if question_mark else None, f"{scheme}:{after_scheme}")
    separators = (after_scheme.find(separator, 2) for separator in "/?\\")
    authority_end = min((index for index in separators if index > 0), default=len(after_scheme))
    host_name, port = _split_authority(after_scheme[2:authority_end].rpartition("@")[2].lower())
    port_suffix = "" if port is None or port == _USUAL_PORTS.get(scheme) else f":{port}"
    origin = f"{scheme}://{host_name}{port_suffix}"
    path, question_mark, query = after_scheme[authority_end:].partition("?")
    text = f"{origin}{path}{question_mark}{query}"
    return AddressEntry(origin, path or None, query if question_mark else None, text)


def split_origin(text: str) -> OriginEntry:
    """Split an origin, spelt as in `AddressEntry.origin`, into its parts.

    >>> split_origin("https://example.org:8443"), split_origin("mailto:").host
    (OriginEntry(scheme='https', host='example.org', port=8443, text='https://example.org:8443'), None)
    """
    scheme, _, authority = text.partition(":")
    if not authority:
        return OriginEntry(scheme, None, None, text)
    host_name, port = _split_authority(authority[2:])
    return OriginEntry(scheme, host_name or None, port, text)


def _split_authority(text: str) -> tuple[str, int | None]:
    host_name, colon, digits = text.rpartition(":")
    if not colon or not (digits.isascii() and digits.isdecimal()) or len(digits) > 5:
        return text.removesuffix(":"), None
    return host_name, int(digits)


PILE_DIGEST_BYTES = 64
"""The number of bytes in an identity that is the digest of a text pile. Other identities are shorter."""

DEPENDS_ON_HEADER = "headed"
"""The suffix of a stored digest if the summary also depends on header fields, so equal bytes must be read again."""


class CrawlEntry(NamedTuple):
    """One crawl, in the columns of `crawl_summary` and `http_summary`. `started_at` is in UNIX seconds.

    `attempt` is the number of the attempt in the ledger. `uuid` is the UUID of the crawl, `agent` is the UUID of its
    crawl agent, and `kind` is a `CrawlType`. `allowed` tells whether robots.txt allowed the crawl. `payload` is the
    digest of the received bytes, perhaps with a suffix (see `steps.name_payload` and `DEPENDS_ON_HEADER`); it is empty
    without a body.
    """

    attempt: int
    url: str
    started_at: int
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
    """The target of a redirect: an absolute address without its fragment, the fragment, and an `InformationSource`."""

    url: str
    fragment: str | None = None
    source: int = 1


class TextSummary(NamedTuple):
    """The content at an address.

    `pile` contains the six texts of a document that searches may find. If it is None, `reason` tells why (empty for a
    redirect, or for a page that only leads to another). With a pile, `reason` tells why the document
    was read only in part or is not the one that was requested, such as a soft 404; otherwise it is empty. `identity`
    differs between versions; with a pile, it is the pile's digest. `described` contains the columns of
    `document_description` after the first.

    Each link is `(url, fragment, nofollow, me, tag, location, contains_headline, destination, locality, html_tag,
    text)`; the bits of `location` are the fifteen flags of `link_summary` in their order, beginning with the lowest
    bit. `linked` is the hash of the links, or empty if it is not computed yet.

    `file` is false if the content is only a redirect. `move` is the target of a redirect, or None. `canonical` is the
    canonical address, or empty. `depends_on_header` is true if another answer with the same bytes may have another
    summary. From the time `until` (UNIX seconds) on, searches must not find the page; if there is no page, it is
    requested again then. `left_out` is what caps leave out
    of the content, and what beside the text cannot be read.
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
    depends_on_header: bool = False
    until: int | None = None
    linked: bytes = b""
    left_out: tuple[Skip, ...] = ()


class SummaryEntry(NamedTuple):
    """A crawl and its content; `summary` is None if the content was summarised before, or if there is none."""

    crawl: CrawlEntry
    summary: TextSummary | None = None


def hash_link_set(links: Iterable[tuple[str, str]]) -> bytes:
    """Return the hash of a set of links, given as (address, text); their order and repetitions do not matter.

    >>> tea = ("http://a.example/", "tea")
    >>> hash_link_set([tea, tea]) == hash_link_set([tea])
    True
    """
    link_lines = "\n".join(sorted({f"{url} {text}" for url, text in links}))
    return blake2b(link_lines.encode("utf-8", "backslashreplace"), digest_size=8).digest()


class Agent(NamedTuple):
    """The agent of a crawl: a session of the ledger, with its number and start (UNIX seconds)."""

    id: int
    started: int
    uuid: bytes
    name: str


class LoggedRequest(NamedTuple):
    """A request and its answer.

    `allowed` tells whether robots.txt allowed the request. `modified` is the header Last-Modified in UNIX seconds.
    """

    allowed: bool
    status: int | None
    etag: str | None
    modified: int | None


class LoggedFile(NamedTuple):
    """A received file: its size in bytes as archived, its media type, and its Last-Modified in UNIX seconds."""

    size: int
    mime: Mime | None
    modified: int | None


class LoggedRedirect(NamedTuple):
    """A received redirect. `source` is an `InformationSource`, `modified` is Last-Modified in UNIX seconds."""

    url: str
    fragment: str | None
    source: int
    is_permanent: bool
    modified: int | None


class LoggedCrawl(NamedTuple):
    """One crawl of one address. `id` is the number of its attempt in the ledger and the id of all its rows.

    `kind` is a `CrawlType`, `started_at` is in UNIX seconds. `is_candidate` tells whether its address is in the table
    `crawl_candidate`; `is_contentful` tells whether it found content.
    """

    id: int
    agent: Agent
    url: str
    kind: int
    uuid: bytes
    started_at: int
    milliseconds: int | None
    exit_code: int
    message: str | None
    request: LoggedRequest | None
    file: LoggedFile | None
    redirect: LoggedRedirect | None
    is_candidate: bool
    is_contentful: bool
