"""How a collection finds documents: four kinds of discovery, and their rules and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol
from urllib.parse import urlsplit

from windrow.contract.answers import Answer, FollowResult, Request, Skip
from windrow.errors import ConfigError
from windrow.model import (
    Allowed,
    Attempt,
    CdxLine,
    FetchJob,
    FoundUrl,
    LeftOut,
    Limits,
    ListingEntry,
    Offer,
    OfferingHost,
    Secret,
    Site,
    Source,
)
from windrow.reasons import Reason


class Planner(Protocol):
    """Turn a listing into offers: a pure function."""

    def __call__(self, source: Source, entries: Sequence[ListingEntry], options: Mapping[str, Any]) -> list[Offer]:
        """Return one offer, good or refused, for each entry that is not left out by rule."""
        ...


BEHIND = 1_000
"""The least order number (`FoundUrl.place`) of addresses that are only linked from pages without anything new.

They are requested after the others of their host, and not at all once a run finds the host endless.
"""


class CrawlRules(Protocol):
    """The rules by which one origin is crawled, and what they learned from its answers.

    They do no I/O and read no clock: times are arguments. Field names of answers are lower case.
    """

    def robots(self, at: float) -> str:
        """Return the address of robots.txt if it must be requested first, or "" while the known one is fresh."""

    def take_robots(self, at: float, status: int | None, body: bytes) -> list[FoundUrl]:
        """Take the response for robots.txt, status None if the host did not answer; return the sitemaps it names."""

    def moved(self, status: int, location: str, base: str, hops: int) -> str:
        """Return the address that robots.txt redirects to, or an empty text if the redirect is not followed."""

    def robots_wait(self, at: float) -> float:
        """Return for how many seconds only robots.txt may be requested; 0 if other addresses may be."""

    def refusal(self, url: str, kind: int = 0) -> Reason | None:
        """Return why an address may not be requested now; None if it may."""

    def should_retry(self, reason: Reason | None, tries: int) -> bool:
        """Return whether to retry at once after so many tries."""

    def pause(self, seconds: float, status: int | None, wait: float | None) -> float | None:
        """Return the pause after an answer, in seconds; None to stop requesting from the host in this run.

        `seconds` is how long the answer took, `wait` the pause that the host demanded.
        """

    def is_endless(self, job: FetchJob, body: bytes) -> bool:
        """Take the body of a new address, before its links; return whether the last many bodies had nothing new.

        From then on the run only requests the origin's new addresses below `BEHIND`, and those requested before.
        """

    def links(self, url: str, fields: Mapping[str, str], body: bytes) -> tuple[str, list[str]]:
        """Return the base and the references of a document, as written in it.

        References of earlier documents of the origin may be left out.
        """

    def follow(self, base: str, reference: str, kind: int = 0) -> FoundUrl | None:
        """Resolve a reference of a document, or the target of a redirect; None if a rule leaves it out."""

    def needs(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl]:
        """Return the addresses kept beside a document, such as its images, which are not documents themselves."""

    def left_out(self) -> list[LeftOut]:
        """Return the addresses that rules left out since the last call, without those of other sites."""

    def hints(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl] | None:
        """Return the addresses in a document of hints, such as a sitemap; None if it is not one."""


@dataclass(frozen=True, slots=True)
class Members:
    """Documents within a capture: items of `kind`."""

    kind: str
    open: Callable[[BinaryIO, str, Limits], BinaryIO]  # capture, member's name -> its bytes


@dataclass(frozen=True, slots=True)
class Listing:
    """Find documents by listing the folders of a source.

    A listed file becomes an item of `kind`, which waits for its transfer or is refused for its name. The tasks that
    list are of phase `list_phase`, those that transfer of `fetch_phase`.
    """

    folders: tuple[str, ...]  # below a source's base
    kind: str
    list_phase: str
    fetch_phase: str
    plan: Planner
    prefer: Callable[[str, Sequence[OfferingHost]], list[OfferingHost]]  # owner, hosts -> hosts, best first
    members: Members | None = None


class ContentCheck(NamedTuple):
    """Whether an attempt found an address's content changed; None if unknown.

    `lasted` is for how many seconds the present content has been seen unchanged.
    """

    changed: bool | None
    lasted: int = 0


@dataclass(frozen=True, slots=True)
class Crawl:
    """Find documents by following links from page to page.

    `seeds` gives a source's first addresses, `rules` those of one of its origins, and `next_due`
    the state of an address of a source after an attempt: when it is due (seconds since 1970, None for
    never) and the seconds after which it may have changed, from those it had and the failures in a
    row. `outcome` is the collection's word for the result of a request, by its status, its reason and
    the media type of the kept bytes, which is empty if unknown. A hint that an address changed makes
    it due, `rest` seconds after the last attempt at the earliest. `interval` gives those seconds for an address of a
    source once its content is known: from each `ContentCheck` after the first, oldest first.
    `why_no_page` returns why a seed returned no page, and how to fix that, or an empty text if it returned one or was
    not requested. `large`
    has the largest answer, in bytes, of kinds that may be larger than a page. With `by_request` the addresses are those
    of requests: each source has its own origins, and answers are followed once they are on the ledger.
    """

    seeds: Callable[[Source, Mapping[str, Any]], list[FoundUrl]]
    rules: Callable[[Source, str, Mapping[str, Any]], CrawlRules]
    next_due: Callable[[Source, Attempt, int, int], tuple[int | None, int]]
    outcome: Callable[[int | None, Reason | None, str], str]
    normal: Callable[[str], str]  # an address as it is kept; an empty text if it is not valid
    page: int  # the kind of an attempt at a page
    robots: int  # and of one to the host's robots.txt
    rest: int = 86_400
    large: Mapping[int, int] = field(default_factory=dict)
    beside: int | None = None  # the kind of an attempt to what is kept beside a page; found as a page, it becomes one
    interval: Callable[[Source, Sequence[ContentCheck]], int] | None = None
    why_no_page: Callable[[Source, Attempt], str] | None = None
    by_request: bool = False


def no_origins(source: Source) -> tuple[str, ...]:  # noqa: ARG001 the shape of `Requests.origins`
    """Return no further origins."""
    return ()


@dataclass(frozen=True, slots=True)
class Requests:
    """Find documents by requests: the first ones, and those that each answer leads to.

    Both functions are pure and are given what was learned of the source so far. `begin` is called when a run begins,
    `follow` in the pool for every answer of a source, in the order in which they came. `origins` returns further
    origins that may be requested, such as `https://static.example.org`.
    """

    begin: Callable[[Source, Mapping[str, Any]], tuple[Request, ...]]
    follow: Callable[[Source, Mapping[str, Any], Answer], FollowResult]
    origins: Callable[[Source], tuple[str, ...]] = no_origins


class RemoteFolder(NamedTuple):
    """A remote folder of WARC files, and the place of the secret needed to read it.

    With a `region` it is a bucket of an S3-compatible store, or a prefix in one, and the secret is `KEY:SECRET`;
    otherwise the secret is the value of the header Authorization.
    """

    site: Site
    secret: Secret | None = None
    region: str = ""


class Inputs(NamedTuple):
    """Where a source's captures lie.

    `kept` names collections of this workspace, or sources as `pages:blog`. `cdx` are index files and folders of them,
    `warc` WARC files and folders of them, which the indexes name; without an index all their records are read. Files in
    none of these are read from `remote` folders, one record at a time.
    """

    kept: tuple[str, ...] = ()
    cdx: tuple[Path, ...] = ()
    warc: tuple[Path, ...] = ()
    remote: tuple[RemoteFolder, ...] = ()


def inputs(source: Source) -> Inputs:
    """Return the inputs of a source by its settings `windrow.settings.setting.CAPTURED`.

    Raises ConfigError for an address that is not the address of a folder.
    """
    kept, cdx, warc = (tuple(source.options.get(name, ())) for name in ("from", "cdx", "warc"))
    return Inputs(kept, cdx, warc, tuple(_remote(source, address) for address in source.options.get("warc_urls", ())))


def _remote(source: Source, address: str) -> RemoteFolder:
    options = source.options
    region = str(options.get("s3_region") or "us-east-1") if address.startswith("s3://") else ""
    url = urlsplit(address)
    base = url.path
    if region and not url.netloc:
        raise ConfigError(f"{address!r} does not name a bucket")
    if region:
        base = f"/{url.netloc}{url.path}"
        url = urlsplit(str(options.get("s3_endpoint") or f"https://s3.{region}.amazonaws.com"))
    try:
        port = url.port
    except ValueError:
        port = -1
    if url.scheme not in {"http", "https"} or not url.hostname or url.username or url.query or port == -1:
        raise ConfigError(
            f"{address!r} is not the address of a folder, such as https://HOST/PATH/ or s3://BUCKET/PREFIX/"
        )
    secret = options.get("warc_secret") or None
    if secret and url.scheme == "http" and url.hostname not in {"localhost", "127.0.0.1", "::1"}:
        raise ConfigError(f"{address!r}: a secret may only be sent over https")
    site = Site(
        url.scheme, url.hostname, port, base=f"{base.rstrip('/')}/", timeout=float(options.get("timeout") or 60.0),
        proxy=str(options.get("proxy") or ""), ca_bundle=str(options.get("ca_bundle") or ""),
        address_family=str(options.get("address_family") or "any"), agent=source.site.agent,
        allowed=Allowed(everything=bool(options.get("warc_allow_private"))),
    )  # fmt: skip
    return RemoteFolder(site, secret, region)


@dataclass(frozen=True, slots=True)
class Captures:
    """Find documents among captures of others: those of other collections, or in WARC files of other makers.

    It sends no requests. `select` returns, for a source and the collection's options, a pure function from an index
    line to a Skip (its `message` names the rule), or None if the capture is wanted. Other lines are counted by rule and
    get no row. `version` rises when `select` would choose other lines: all are checked again then, and none is taken
    twice. A wanted capture becomes an attempt of kind CAPTURED, which steps read like the answer to a request. The
    record of another maker is copied into the archive if its digest is that of its index line.

    `follow` is given each capture as an `Answer`, like that of `Requests`; its result has offers, what was learned, and
    requests, if the collection has `Requests` too and the source an address. None: the whole answer is the document.
    With `unchanged`, an answer that repeats known bytes is taken too, since the thing is still there; so are answers
    of other `statuses`, such as 404, since it is gone. The step is not given their bytes.

    `kinds` returns, like `select`, a pure function of media type and status: what `select` returns for every such line,
    or None if that depends on the rest of it. It is called once for many lines, so that unwanted ones cost little.
    """

    select: Callable[[Source, Mapping[str, Any]], Callable[[CdxLine], Skip | None]]
    version: str
    follow: Callable[[Source, Mapping[str, Any], Answer], FollowResult] | None = None
    unchanged: bool = True
    statuses: tuple[int, ...] = ()
    inputs: Callable[[Source], Inputs] = inputs
    kinds: Callable[[Source, Mapping[str, Any]], Callable[[str, int | None], Skip | None]] | None = None


Discovery = Listing | Crawl | Requests | Captures
