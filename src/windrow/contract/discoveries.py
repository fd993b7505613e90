"""How a collection finds documents: four kinds of discovery, with the functions and values that they need."""

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
    OfferingSource,
    Secret,
    Site,
    Source,
)
from windrow.reasons import Reason


class Planner(Protocol):
    """A pure function that turns the entries of a listing into offers."""

    def __call__(self, source: Source, entries: Sequence[ListingEntry], options: Mapping[str, Any]) -> list[Offer]:
        """Return an offer for each entry that no rule leaves out. Offers with a `reason` are refused."""


BEHIND = 1_000
"""The lowest `FoundUrl.order` of addresses that are linked only from pages which repeat texts of earlier pages.

They are requested after the other addresses of their host. Once `CrawlRules.record_body` has returned True, the run
requests only those of them that were requested before.
"""


class CrawlRules(Protocol):
    """The rules by which one origin is crawled, with a state that depends on its answers.

    They do no I/O and read no clock: `at` is the present UNIX time. Field names of answers are in lower case.
    """

    def robots(self, at: float) -> str:
        """Return the address of robots.txt if it must be requested now, or "" while the known one is valid."""

    def take_robots(self, at: float, status: int | None, body: bytes) -> list[FoundUrl]:
        """Apply the response for robots.txt (status None: no response), and return the sitemaps to request."""

    def moved(self, status: int, location: str, base: str, hops: int) -> str:
        """Return the target of a redirect from `base`, an address of robots.txt, or "" if it is not followed.

        `hops` is the number of redirects that were followed before.
        """

    def robots_wait(self, at: float) -> float:
        """Return for how many seconds only robots.txt may be requested, or 0 if any address may be requested."""

    def refusal(self, url: str, kind: int = 0) -> Reason | None:
        """Return why an address of this kind may not be requested now, or None if it may."""

    def should_retry(self, reason: Reason | None, tries: int) -> bool:
        """Return whether to repeat a request at once after `tries` tries. `reason` is why the last one failed."""

    def pause(self, seconds: float, status: int | None, wait: float | None) -> float | None:
        """Return the pause after a response in seconds, or None if the run sends no more requests to the host.

        `seconds` is how long the response took. `wait` is the pause in seconds that the host asked for, or None.
        """

    def record_body(self, job: FetchJob, body: bytes) -> bool:
        """Record the body of a new address, and return whether many bodies in a row repeated texts of earlier ones.

        It is called before `links`. If it returns True, the run requests only those addresses of the origin that were
        requested before, and new ones with a `FoundUrl.order` below `BEHIND`.
        """

    def links(self, url: str, fields: Mapping[str, str], body: bytes) -> tuple[str, list[str]]:
        """Return the base address of a document and its references, perhaps without those of earlier documents."""

    def follow(self, base: str, reference: str, kind: int = 0) -> FoundUrl | None:
        """Return the address of a document's reference or a redirect's target, or None if a rule leaves it out.

        `kind` is the kind of the address that redirects, or 0 for a reference.
        """

    def needs(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl]:
        """Return the addresses of what a document needs to be displayed, such as images; these are fetched with it."""

    def left_out(self) -> list[LeftOut]:
        """Return what rules and caps left out since the last call, except documents of other sites."""

    def hints(self, job: FetchJob, fields: Mapping[str, str], body: bytes) -> list[FoundUrl] | None:
        """Return the allowed addresses in a sitemap, feed or asset, or None if the document is something else."""


@dataclass(frozen=True, slots=True)
class Members:
    """The documents within a capture, which become items of `kind`, and the function that opens such a document."""

    kind: str
    open: Callable[[BinaryIO, str, Limits], BinaryIO]  # capture, member's name, limits -> file over the member's bytes


@dataclass(frozen=True, slots=True)
class Listing:
    """Find documents by listing the folders of a source.

    A listed file becomes an item of `kind`, which waits for its transfer or is refused, as its offer says. Folders are
    listed in tasks of phase `list_phase`, and files are transferred in tasks of phase `fetch_phase`. Entries for which
    `plan` makes no offer are counted as left out.
    """

    folders: tuple[str, ...]  # below a source's base
    kind: str
    list_phase: str
    fetch_phase: str
    plan: Planner
    prefer: Callable[
        [str, Sequence[OfferingSource]], list[OfferingSource]
    ]  # file's owner, sources -> sources, best first
    members: Members | None = None


class ContentCheck(NamedTuple):
    """Whether an attempt found that the content of its address had changed; `changed` is None if that is not known."""

    changed: bool | None
    lasted: int = 0  # the seconds during which the present content was seen unchanged


@dataclass(frozen=True, slots=True)
class Crawl:
    """Find documents by following links from page to page.

    `seeds` returns a source's first addresses, and `rules` returns the rules for one of its origins. `next_due(source,
    attempt, interval, failures)` returns when an address is due after an attempt (UNIX time, None: never) and its new
    interval, the seconds after which it may have changed; `failures` is the number of failed attempts in a row.
    `interval` returns an address's interval once its content is known, from the content checks of its attempts, the
    oldest first. An address that changed according to a sitemap or feed is due at once, but not earlier than `rest`
    seconds after its last attempt. `outcome(status, reason, media type)` returns the collection's word for the result
    of a request; the media type is that of the kept bytes, or empty if it is not known. `why_no_page` returns why a
    seed returned no page, and how to correct that, or "" if it returned one or was not requested. `large` has the
    maximum number of bytes of a response for kinds that may be larger than a page. If `by_request`, addresses are
    requests of a discovery, and answers are followed once they are on the ledger.
    """

    seeds: Callable[[Source, Mapping[str, Any]], list[FoundUrl]]
    rules: Callable[[Source, str, Mapping[str, Any]], CrawlRules]
    next_due: Callable[[Source, Attempt, int, int], tuple[int | None, int]]
    outcome: Callable[[int | None, Reason | None, str], str]
    normal: Callable[[str], str]  # address -> its normal form, "" if it is not valid
    page: int  # the kind of an attempt at a page
    robots: int  # the kind of an attempt at a robots.txt
    rest: int = 86_400
    large: Mapping[int, int] = field(default_factory=dict)
    beside: int | None = None  # the kind of an attempt at an image or the like; linked as a page, it becomes one
    interval: Callable[[Source, Sequence[ContentCheck]], int] | None = None
    why_no_page: Callable[[Source, Attempt], str] | None = None
    by_request: bool = False


def no_origins(source: Source) -> tuple[str, ...]:  # noqa: ARG001 the shape of `Requests.origins`
    """Return no further origins: the default of `Requests.origins`."""
    return ()


@dataclass(frozen=True, slots=True)
class Requests:
    """Find documents by requests: the first requests, and the requests that each answer leads to.

    `begin` is called when a run begins. `follow` is called in the pool for the answers of a source, except failed ones
    and redirects that are followed, in the order in which they arrived. Both are pure. Their second argument
    is what was learned about the source (`FollowResult.learned`). `origins` returns further origins that may be
    requested, such as `https://static.example.org`.
    """

    begin: Callable[[Source, Mapping[str, Any]], tuple[Request, ...]]
    follow: Callable[[Source, Mapping[str, Any], Answer], FollowResult]
    origins: Callable[[Source], tuple[str, ...]] = no_origins


class RemoteFolder(NamedTuple):
    """A remote folder of WARC files. `secret` is where its secret is stored, or None if reading needs no secret.

    If it has a `region`, it is a bucket of an S3-compatible store, or a prefix in one, and the secret is `KEY:SECRET`.
    Otherwise the secret is the value of the header Authorization.
    """

    site: Site
    secret: Secret | None = None
    region: str = ""


class Inputs(NamedTuple):
    """The places from which a source takes captures of others.

    `kept` names collections of this workspace, or sources as `pages:blog`. `cdx` has index files and folders of index
    files. `warc` has the WARC files that the indexes name, and folders of WARC files. Without an index, all records of
    these files are read. Records of files that are missing are requested from `remote` folders, by byte range.
    """

    kept: tuple[str, ...] = ()
    cdx: tuple[Path, ...] = ()
    warc: tuple[Path, ...] = ()
    remote: tuple[RemoteFolder, ...] = ()


def inputs(source: Source) -> Inputs:
    """Return the inputs that the settings of a source name. Raises ConfigError if a remote folder cannot be used."""
    kept, cdx, warc = (tuple(source.options.get(name, ())) for name in ("from", "cdx", "warc"))
    remote = tuple(_remote_folder(source, address) for address in source.options.get("warc_urls", ()))
    return Inputs(kept, cdx, warc, remote)


def _remote_folder(source: Source, address: str) -> RemoteFolder:
    """Return the remote folder at an address of `warc_urls`. Raises ConfigError if a setting for it is not valid."""
    options = source.options
    setting = f"source.{source.name}.warc_urls"
    region = str(options.get("s3_region") or "us-east-1") if address.lower().startswith("s3://") else ""
    url = urlsplit(address)
    folder_path = url.path
    if region and not url.netloc:
        raise ConfigError(f"{setting}: {address!r} does not name a bucket, as s3://BUCKET/ does")
    if region:
        folder_path = f"/{url.netloc}{url.path}"
        url = urlsplit(str(options.get("s3_endpoint") or f"https://s3.{region}.amazonaws.com"))
    try:
        port = url.port
    except ValueError:
        port = -1
    if url.scheme not in {"http", "https"} or not url.hostname or url.username or url.query or port == -1:
        if region:
            raise ConfigError(
                f"source.{source.name}.s3_endpoint is not the address of an S3 server, such as https://HOST"
            )
        raise ConfigError(
            f"{setting}: {address!r} is not the address of a folder, such as https://HOST/PATH/ or s3://BUCKET/PREFIX/"
        )
    secret = options.get("warc_secret") or None
    is_own_machine = url.hostname in {"localhost", "127.0.0.1", "::1"} and not options.get("proxy")
    if secret and url.scheme == "http" and not is_own_machine:
        raise ConfigError(f"{setting}: the secret for {address!r} may only be sent over https")
    site = Site(
        url.scheme, url.hostname, port, base=f"{folder_path.rstrip('/')}/", proxy=str(options.get("proxy") or ""),
        timeout=float(options.get("timeout") or 60.0), ca_bundle=str(options.get("ca_bundle") or ""),
        address_family=str(options.get("address_family") or "any"), agent=source.site.agent,
        allowed=Allowed(everything=bool(options.get("warc_allow_private"))),
    )  # fmt: skip
    return RemoteFolder(site, secret, region)


@dataclass(frozen=True, slots=True)
class Captures:
    """Find documents among captures of others: those of other collections, and those in WARC files of other programs.

    Reading them sends no requests, except to the `remote` folders of `Inputs`. `select` takes a source and the
    collection's options, and returns a pure function. That function returns None for the index line of a wanted
    capture, and a Skip for any other line. The `message` of the Skip names the rule, and the lines are only counted by
    rule. Raise `version` when `select` would choose other lines: all lines are then checked again, and no capture is
    read twice. A wanted capture becomes an attempt of kind CAPTURED, which steps read like the answer to a request.
    Another program's record is not copied into the archive if its digest differs from that in its index line.

    `follow` gets each capture as an `Answer`, like `Requests.follow`. Its result may contain requests if the collection
    has `Requests` too and the source has an address. Without `follow`, the whole answer is the document. If
    `unchanged`, answers that repeat known bytes are wanted too, since the thing still exists; otherwise only if no
    capture with these bytes was taken. Answers with one of the other `statuses`, such as 404, are wanted too, since the
    thing is gone. The step does not get their bytes.

    `kinds` returns, like `select`, a pure function. It takes a media type and a status, and returns the Skip that
    `select` returns for every line with these two, or None if that depends on the rest of the line. It is called once
    for many lines, so unwanted lines cost little.
    """

    select: Callable[[Source, Mapping[str, Any]], Callable[[CdxLine], Skip | None]]
    version: str
    follow: Callable[[Source, Mapping[str, Any], Answer], FollowResult] | None = None
    unchanged: bool = True
    statuses: tuple[int, ...] = ()
    inputs: Callable[[Source], Inputs] = inputs
    kinds: Callable[[Source, Mapping[str, Any]], Callable[[str, int | None], Skip | None]] | None = None


Discovery = Listing | Crawl | Requests | Captures
