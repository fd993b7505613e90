"""How a collection finds what there is: four discoveries, and the rules and values that they are made of."""

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
"""The least order number (`FoundUrl.place`) of addresses that only pages without anything new lead to.

They are asked after the others of their host, and not at all any more once a run finds the host endless.
"""


class CrawlRules(Protocol):
    """The rules by which one origin is crawled, and what they learned from its answers.

    Made in the process that asks; it opens nothing and asks no clock: times are given to it. The
    fields of answers are by name in lower case.
    """

    def robots(self, at: float) -> str:
        """Return the address of robots.txt where it is to be asked first; empty while the known one is young enough."""

    def take_robots(self, at: float, status: int | None, body: bytes) -> list[FoundUrl]:
        """Take the robots.txt that the host gave, or that it gave none; return what it names, such as sitemaps."""

    def moved(self, status: int, location: str, base: str, hops: int) -> str:
        """Return where robots.txt has moved to; empty where such a redirect is not followed."""

    def robots_wait(self, at: float) -> float:
        """Return for how many seconds nothing may be asked but robots.txt once more; 0 where something may."""

    def refusal(self, url: str, kind: int = 0) -> Reason | None:
        """Tell why an address may not be asked now."""

    def again(self, reason: Reason | None, tries: int) -> bool:
        """Tell whether to ask once more at once after so many tries."""

    def pause(self, seconds: float, status: int | None, wait: float | None) -> float | None:
        """Return how long to leave the host alone after an answer; None to leave it for this run.

        `seconds` is how long the answer took, `wait` what the host asked for.
        """

    def endless(self, job: FetchJob, body: bytes) -> bool:
        """Take what a new address brought, before its links; tell whether, for long, none brought anything new.

        From then on the run asks the origin's new addresses below `BEHIND` alone, and those that were asked before.
        """

    def links(self, url: str, fields: Mapping[str, str], body: bytes) -> tuple[str, list[str]]:
        """Return the base and the references of a document, as they are written in it.

        Those that an earlier document of the origin had may be left out.
        """

    def follow(self, base: str, reference: str, kind: int = 0) -> FoundUrl | None:
        """Resolve a reference of a document, or where an answer of a kind redirects to; None where it is left out."""

    def needs(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl]:
        """Return what is to be kept beside a document, such as its images; they are no documents themselves."""

    def left_out(self) -> list[LeftOut]:
        """Return the addresses that rules kept out since this was asked last; those of other sites are none."""

    def hints(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl] | None:
        """Return what a document of hints names, such as a sitemap; None where it is a document to be read."""


@dataclass(frozen=True, slots=True)
class Members:
    """Documents within a capture: items of `kind`."""

    kind: str
    open: Callable[[BinaryIO, str, Limits], BinaryIO]  # capture, member's name -> its bytes


@dataclass(frozen=True, slots=True)
class Listing:
    """Find what there is in the folders of a source.

    What is listed becomes an item of `kind`, and waits for its transfer or, when its name is no good, is refused. The
    tasks that list and those that transfer are of the phases `list_phase` and `fetch_phase`.
    """

    folders: tuple[str, ...]  # below a source's base
    kind: str
    list_phase: str
    fetch_phase: str
    plan: Planner
    prefer: Callable[[str, Sequence[OfferingHost]], list[OfferingHost]]  # owner, hosts -> hosts, best first
    members: Members | None = None


class Look(NamedTuple):
    """What one visit told of an address's content: whether it is another one, None where nothing is known of that.

    `lasted` is the seconds for which the content of now has been seen without a change.
    """

    changed: bool | None
    lasted: int = 0


@dataclass(frozen=True, slots=True)
class Crawl:
    """Find what there is by following links from page to page.

    `seeds` gives a source's first addresses, `rules` those of one of its origins, and `again`
    the state of an address of a source after a visit: when it is due (seconds since 1970, None for
    never) and the seconds after which it may have changed, from those it had and the failures in a
    row. `outcome` is the collection's word for what came of a request, by its status, its reason and
    the media type of what was kept, empty where none is known. A hint that an address changed makes
    it due, `rest` seconds after the last visit at the earliest. `interval` gives those seconds for an address of a
    source once its content is known: from what each `Look` after the first one found, oldest first. `why_no_page` says
    why a seed gave nothing, and what mends that; empty where it gave something, or nobody was asked. `large` has the
    bytes of an answer of those kinds that may be larger than a page. With `by_request` what is asked are requests: each
    source has origins of its own, and its answers are followed once they are on the ledger.
    """

    seeds: Callable[[Source, Mapping[str, Any]], list[FoundUrl]]
    rules: Callable[[Source, str, Mapping[str, Any]], CrawlRules]
    again: Callable[[Source, Attempt, int, int], tuple[int | None, int]]
    outcome: Callable[[int | None, Reason | None, str], str]
    normal: Callable[[str], str]  # an address as it is kept; empty for what is none
    page: int  # the kind of a visit to a page
    robots: int  # and of one to the host's robots.txt
    rest: int = 86_400
    large: Mapping[int, int] = field(default_factory=dict)
    beside: int | None = None  # the kind of a visit to what is kept beside a page; found as a page, it becomes one
    interval: Callable[[Source, Sequence[Look]], int] | None = None
    why_no_page: Callable[[Source, Attempt], str] | None = None
    by_request: bool = False


def no_origins(source: Source) -> tuple[str, ...]:  # noqa: ARG001 the shape of `Requests.origins`
    """Return no origins beside the source's own."""
    return ()


@dataclass(frozen=True, slots=True)
class Requests:
    """Find what there is by asking for it: some first requests, and what each answer leads to.

    Both are pure. `begin` is called when a run begins, `follow` for every answer of a source in the order in which
    they came, in the pool; both are given what was learned of the source so far. `origins` are those beside the
    source's own that may be asked, such as `https://static.example.org`.
    """

    begin: Callable[[Source, Mapping[str, Any]], tuple[Request, ...]]
    follow: Callable[[Source, Mapping[str, Any], Answer], FollowResult]
    origins: Callable[[Source], tuple[str, ...]] = no_origins


class RemoteFolder(NamedTuple):
    """A folder of a server below whose base WARC files lie, and the place of what proves that they may be read.

    With a `region` it is a bucket of an S3-compatible store, or a prefix within one, and the secret `KEY:SECRET`;
    otherwise the secret is the value of the header Authorization.
    """

    site: Site
    secret: Secret | None = None
    region: str = ""


class Inputs(NamedTuple):
    """Where a source's captures are.

    `kept` names collections of this workspace, or sources as `pages:blog`. `cdx` are index files and folders of them,
    `warc` WARC files and folders of them: where the files lie that the indexes name, or without any index all is read.
    What lies in none of them is fetched from `remote` folders, one record at a time.
    """

    kept: tuple[str, ...] = ()
    cdx: tuple[Path, ...] = ()
    warc: tuple[Path, ...] = ()
    remote: tuple[RemoteFolder, ...] = ()


def inputs(source: Source) -> Inputs:
    """Return what a source says in the settings of `windrow.settings.setting.CAPTURED`."""
    kept, cdx, warc = (tuple(source.options.get(name, ())) for name in ("from", "cdx", "warc"))
    return Inputs(kept, cdx, warc, tuple(_remote(source, one) for one in source.options.get("warc_at", ())))


def _remote(source: Source, address: str) -> RemoteFolder:
    """Return the folder that an address of `warc_at` names."""
    told = source.options
    region = str(told.get("s3_region") or "us-east-1") if address.startswith("s3://") else ""
    url = urlsplit(address)
    base = url.path
    if region and not url.netloc:
        raise ConfigError(f"{address!r} names no bucket")
    if region:
        base = f"/{url.netloc}{url.path}"
        url = urlsplit(str(told.get("s3_endpoint") or f"https://s3.{region}.amazonaws.com"))
    try:
        port = url.port
    except ValueError:
        port = -1
    if url.scheme not in {"http", "https"} or not url.hostname or url.username or url.query or port == -1:
        raise ConfigError(f"{address!r} is no address of a folder, such as https://HOST/PATH/ or s3://BUCKET/PREFIX/")
    secret = told.get("warc_secret") or None
    if secret and url.scheme == "http" and url.hostname not in {"localhost", "127.0.0.1", "::1"}:
        raise ConfigError(f"{address!r}: a secret is sent over https only")
    site = Site(
        url.scheme, url.hostname, port, base=f"{base.rstrip('/')}/", timeout=float(told.get("timeout") or 60.0),
        proxy=str(told.get("proxy") or ""), ca_bundle=str(told.get("ca_bundle") or ""),
        family=str(told.get("family") or "any"), agent=source.site.agent,
        allowed=Allowed(everything=bool(told.get("warc_private"))),
    )  # fmt: skip
    return RemoteFolder(site, secret, region)


@dataclass(frozen=True, slots=True)
class Captures:
    """Find what there is among captures that others made: other collections keep them, or WARC files of other makers.

    Nobody is asked for anything. `select` makes, for a source and the collection's options, a pure function that says
    of each index line why its capture is not wanted (a Skip whose `message` names the rule), or None where it is. Lines
    that are not wanted are counted by rule and get no row; `version` rises when other lines would be wanted: all of
    them are looked at again then, and what is taken already is not taken twice. A capture that is wanted becomes a
    visit of kind CAPTURED, which the steps take as they take the answer to a request. A record of another maker is
    copied into the archive, once its digest is found to be that of its index line.

    `follow` is given each of these as an `Answer`, like that of `Requests`; its result offers parts, says what was
    learned, and may have requests where the collection has `Requests` too and the source an address. None: the whole
    answer is the document. With `unchanged`, an answer that repeats known bytes is taken too: its thing is still there.
    So are answers of other `statuses`, such as 404: its thing is not there any more. The step is not given their bytes.

    `kinds` makes, as `select` does, a pure function of media type and status: what `select` says of every line that has
    them, or None where that depends on the rest of the line. It is asked once for many lines that are alike, so that
    those which are not wanted cost little.
    """

    select: Callable[[Source, Mapping[str, Any]], Callable[[CdxLine], Skip | None]]
    version: str
    follow: Callable[[Source, Mapping[str, Any], Answer], FollowResult] | None = None
    unchanged: bool = True
    statuses: tuple[int, ...] = ()
    inputs: Callable[[Source], Inputs] = inputs
    kinds: Callable[[Source, Mapping[str, Any]], Callable[[str, int | None], Skip | None]] | None = None


Discovery = Listing | Crawl | Requests | Captures
