"""The values that several parts of windrow share: immutable classes that need only the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any, NamedTuple

from windrow.caps import PAGE_LINKS, PDF_CHARACTERS, PDF_PAGES
from windrow.host_part import ALL_HOSTS, HostPart
from windrow.reasons import Reason


class Status(IntEnum):
    """How far a phase got. The numbers are as in the tracker's table a_status."""

    PENDING = 1
    RUNNING = 2
    DONE = 3
    CANCELLED = 4
    FAILED = 5


State = tuple[int, Status]
"""The number of a phase in its collection, from 1, and the status that projections show for this phase."""


class Level(StrEnum):
    """The severity of a finding; only `FATAL` prevents a document's rows from becoming current."""

    NOTE = "note"
    WARN = "warn"
    ERROR = "error"
    FATAL = "fatal"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong or notable in a document.

    `kind` is its class, such as `SchemaError`; `message` describes this case; `line` and `column` are from 1, or None.
    """

    kind: str
    message: str
    level: Level = Level.ERROR
    line: int | None = None
    column: int | None = None

    def __reduce__(self) -> tuple[type[Finding], tuple[object, ...]]:
        """Pickle faster than by default: a document may have many findings."""
        return Finding, (self.kind, self.message, self.level, self.line, self.column)


@dataclass(frozen=True, slots=True)
class Secret:
    """The *place* of a secret, `env:NAME` or `file:PATH`; the secret itself is never stored."""

    place: str


class Credential(NamedTuple):
    """A secret of a source, and how it is sent: in the header `header`, after the text `prefix`, or in the address.

    If `header` is empty, the secret is sent as the value of the query parameter `query`.
    """

    secret: Secret
    header: str = ""
    query: str = ""
    prefix: str = ""


class Allowed(NamedTuple):
    """The private hosts and networks that may be requested. If `everything` is true, all of them may be requested.

    In `hosts`, `wiki.example` allows only this host, and `.lan.example` allows lan.example and all hosts below it.
    """

    hosts: tuple[str, ...] = ()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    everything: bool = False


ONLY_PUBLIC = Allowed()
"""Allows no private host or network: only public IP addresses may be requested."""


@dataclass(frozen=True, slots=True)
class Site:
    """The server or folder of a source, and how to connect to it. Times are in seconds; empty texts mean not set."""

    scheme: str
    host: str = ""  # a host name or an IP address
    port: int | None = None  # None: the usual port of the scheme
    username: str = ""
    secret: Secret | None = None
    key: Secret | None = None  # sftp: the private key; `secret` is then its passphrase
    base: str = "/"  # the folder below which all paths of the source are
    timeout: float = 60.0  # maximum wait for a response, and for its next bytes
    listing_timeout: float = 300.0  # for one whole listing
    min_rate: int = 1000  # minimum bytes per second of a transfer, over `timeout` seconds; 0: no minimum
    proxy: str = ""
    ca_bundle: str = ""
    passive: bool = True
    address_family: str = "any"  # any | ipv4 | ipv6
    host_keys: tuple[str, ...] = ()
    manifest: str = ""
    agent: str = "windrow"
    allowed: Allowed = ONLY_PUBLIC  # what `windrow.fetch.politeness.guard` allows besides public IP addresses

    def address(self, path: str = "") -> str:
        """Return the URL of a path below the base, without user or secret, or an empty text if there is no scheme."""
        return self.origin + join_path(self.base, path) if self.scheme else ""

    @property
    def origin(self) -> str:
        """The scheme, host name and, if set, port with which the site's URLs begin, or "" without a scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = f":{self.port}" if self.port else ""
        return f"{self.scheme}://{host}{port}" if self.scheme else ""


def join_path(base: str, path: str) -> str:
    """Join a base folder and a path with exactly one slash between them; if the path is empty, return the base."""
    return f"{base.rstrip('/')}/{path.lstrip('/')}" if path else base


@dataclass(frozen=True, slots=True)
class Source:
    """A server, site or folder to harvest, as declared in TOML."""

    name: str
    collection: str
    site: Site
    owner: str = ""  # drops: the centre's short name
    active: bool = True
    connections: int = 2
    attempts: int = 3
    pace: float = 0.0  # minimum time between two requests to its origin, in seconds
    options: Mapping[str, Any] = field(default_factory=dict)
    most: int = 0  # maximum number of addresses requested in one run; 0: all that are due
    unusable: str = ""  # why the source cannot be used; empty: it can
    credentials: tuple[Credential, ...] = ()  # sent only to the source's own origin, and not archived
    part: HostPart = ALL_HOSTS  # the hosts that this workspace requests
    usual_since: str = ""  # YYYY-MM-DD: the first day whose yields are usual now; empty: all days


MIN_INTEGER, MAX_INTEGER = -(2**63), 2**63 - 1  # between them, every database can store whole numbers


class ListingEntry(NamedTuple):
    """One line of a folder's listing. A field is None if the server does not state it; `modified` is aware and in UTC.

    An entry with a `reason` is about lines that cannot be read: `name` is then the beginning of a line, or a message.
    """

    folder: str
    name: str
    size: int | None = None
    modified: datetime | None = None
    is_file: bool = True
    reason: Reason | None = None


class Offer(NamedTuple):
    """A listed entry as its collection understands it: a file to get, or one that is refused.

    `key` identifies the file across sources (drops: `add/NAME`), `rank` is a text by which files are sorted for
    processing, `owner` is who made the file (drops: the producer). A file with a `reason` is refused: it is recorded,
    but never fetched; `unkeyed` then means that only the refusal is recorded, and not a listed file with this key.
    """

    key: str
    path: str
    size: int | None = None
    modified: datetime | None = None
    rank: str = ""
    owner: str = ""
    reason: Reason | None = None
    unkeyed: bool = False
    sidecar: str = ""  # path of a checksum file beside it, if the listing has one
    sidecar_modified: datetime | None = None


class OfferingSource(NamedTuple):
    """A source that lists a file, with counts of the earlier attempts at all files of the source.

    `owner` is the centre that runs it; `attempts` includes `failures`; `speed` is in bytes per second (None: unknown).
    """

    source: str
    owner: str = ""
    attempts: int = 0
    failures: int = 0
    speed: float | None = None


class KnownCapture(NamedTuple):
    """The last capture of an address or a listed file. All fields are empty if there is none."""

    digest: str = ""
    date: str = ""  # the WARC-Date of the record with the bytes
    address: str = ""  # the address of that record


COMPARED_SIZE = 1 << 16
"""The number of bytes at the end of a file that are compared between two sources; a zip lists its members there."""


class ArchivePlace(NamedTuple):
    """The place of a record in the archive: its WARC file, and its offset and length in that file, in bytes."""

    warc: str
    offset: int
    length: int


class KeptResponse(NamedTuple):
    """A response as archived, with the size of its body in bytes and its WARC-Date `at` (None: unknown)."""

    digest: str  # of the body; of the earlier body if the status is 304
    size: int  # 0 if the status is 304
    place: ArchivePlace
    revisit: bool = False  # whether its record has no body, because an earlier record has the same body
    at: datetime | None = None
    mime: str = ""  # its media type, which may be guessed; empty: unknown


class Attachment(NamedTuple):
    """Archived bytes that are inserted into a request's body, at the offset `at`, while it is sent.

    The bytes come from the decoded body that `attempt` archived: `length` bytes (-1: all) from `offset` on. `place` is
    the place of this body in the archive, or None until it is looked up.
    """

    at: int
    attempt: int
    offset: int = 0
    length: int = -1
    place: ArchivePlace | None = None


class HttpRequest(NamedTuple):
    """A request that is not a plain GET.

    `context` is a text that the discovery gets back with the answer, such as the page number of an API. `seconds` is
    the time limit for the whole response; 0 means the usual limit.
    """

    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    context: str = ""
    attachments: tuple[Attachment, ...] = ()
    seconds: float = 0.0


class FoundUrl(NamedTuple):
    """An address that may be requested. `digest` is a 64-bit hash of the request.

    Addresses with a low `order` are requested first. `kind` is the collection's number for the kind of content.
    `hinted` is the time of the last change given in a sitemap or feed, or None. `request` is None for a plain GET.
    """

    digest: int
    origin: str
    url: str
    order: int = 0
    kind: int = 0
    hinted: datetime | None = None
    request: HttpRequest | None = None


class HeldAnswer(NamedTuple):
    """A response that another collection received. `seq` is the number of `attempt`; `place` is where its bytes are."""

    seq: int
    attempt: Attempt
    place: ArchivePlace


class ListedFile(NamedTuple):
    """A file as its source lists it, and how to transfer it. `size` (in bytes) and `modified` are None if unknown."""

    path: str
    size: int | None = None
    modified: datetime | None = None  # if it changes, a part file of the earlier version is not continued
    sidecar: str = ""  # path of a checksum file beside it
    part: str = ""  # name of the part file
    compared: bool = False  # only a checksum is returned: that of `sidecar` or of the last `COMPARED_SIZE` bytes


class FetchJob(NamedTuple):
    """What a fetcher is to request: an address or, if `file` has a path, the listed file.

    `target` identifies its attempts: for an address a 64-bit hash of its request, for a file the number of its item.
    """

    target: int
    url: str
    kind: int = 0  # the collection's number for the kind of content
    last: KnownCapture = KnownCapture()  # the last capture; the record of an unchanged response refers to it
    validators: tuple[str, str] = ("", "")  # ETag and Last-Modified of the last capture
    order: int = 0  # as in `FoundUrl`
    request: HttpRequest | None = None  # None: a plain GET
    held: HeldAnswer | None = None  # used in place of a request
    file: ListedFile = ListedFile("")
    body: ArchivePlace | None = None  # where the bytes of the last capture of an address are
    unread_links: bool = False  # whether the rules for links may have changed since the links of these bytes were read

    def attempt(self, started: datetime, seconds: float = 0.0) -> Attempt:
        """Return an attempt at this job that has no result yet."""
        return Attempt(self.target, self.url, self.kind, True, started, seconds)


class Attempt(NamedTuple):
    """One try to get an address or a listed file, and its result. Times are in UTC, durations in seconds.

    `target` and `kind` are as in its job; `allowed` says whether the origin's robots.txt allows it. `status` is the
    protocol's number (200, 226), None without a response or for a protocol without numbers. An attempt with a `reason`
    failed: for example, no response came, or it was incomplete or could not be read.
    """

    target: int
    url: str
    kind: int
    allowed: bool
    started: datetime
    seconds: float
    status: int | None = None
    kept: KeptResponse | None = None
    reason: Reason | None = None
    message: str = ""
    validators: tuple[str, str] = ("", "")  # ETag, Last-Modified
    location: str = ""  # the target of a redirect
    received: int | None = None  # bytes transferred, if that is not the size of the archived body
    checksum: str = ""  # from the checksum file, `md5:...` or `sha256:...`, if it was checked
    retry: bool = False  # whether trying again may help, since no complete response came
    wait: float | None = None  # seconds for which the origin asked not to be requested

    @property
    def is_partial(self) -> bool:
        """Whether an attempt at an address kept only a part of the body, as its message explains."""
        return bool(self.message) and self.reason is None and self.kept is not None


class LeftOut(NamedTuple):
    """An address that a rule excludes from a crawl, or at which a cap leaves out `number` things."""

    digest: int
    url: str
    reason: Reason
    rule: str  # a description of the rule or the cap for people
    number: int = 1


class CdxLine(NamedTuple):
    """The index entry of a capture: read from a CDX or CDXJ file, or made for a WARC record or a capture on the ledger.

    `timestamp` is a valid UTC time of 14 digits. `digest` is as written in the index, usually SHA-1 in base 32.
    `length` is the size of the record in its file, in bytes. None and empty texts mean `-` and missing fields; bytes
    that are not UTF-8 are represented as in Python's file names (PEP 383). Entries that windrow makes have an empty
    `key`, and those of captures on the ledger have windrow's own digest.
    """

    key: str
    timestamp: str
    url: str
    mime: str
    status: int | None
    digest: str
    length: int | None
    offset: int | None
    warc: str


class RecordedAttempt(NamedTuple):
    """An attempt on the ledger: its number, its session, the time when the session was opened, and its source."""

    seq: int
    session: int
    opened: datetime
    source: str
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Item:
    """What a step processes: a listed file, a member, an imported WARC file, or the response of an attempt."""

    id: int
    collection: str
    kind: str
    key: str
    rank: str = ""
    attempt: int | None = None  # the attempt that fetched the file or member; 0 or None: none
    digest: str = ""
    member: str = ""  # the member's name within the capture; empty: the whole capture

    def __reduce__(self) -> tuple[type[Item], tuple[object, ...]]:
        """Pickle in a quarter of the usual time: an item is sent to a reader with every document."""
        return Item, (
            self.id, self.collection, self.kind, self.key, self.rank, self.attempt, self.digest, self.member,
        )  # fmt: skip


class StoreLookUp(NamedTuple):
    """A look-up that a step leaves to the store, which answers whether it has `key`.

    `question` says among which of its keys the store looks. If it does not have `key`, the reading gets the `finding`.
    """

    question: str
    key: str
    finding: Finding


class Member(NamedTuple):
    """A document within a capture, such as a file in a zip; `size` is in bytes (None: unknown)."""

    name: str
    size: int | None
    digest: str
    md5: str
    kind: str = ""
    rank: str = ""
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of a step for one document."""

    reason: Reason | None = None  # why the document could not be used; None: it was read
    findings: tuple[Finding, ...] = ()
    members: tuple[Member, ...] = ()
    lookups: tuple[StoreLookUp, ...] = ()
    count: int = 0  # how many records, rows or elements the step counted
    md5: str = ""
    left_out: tuple[tuple[Reason, int], ...] = ()  # of the document, such as files in a zip: why, and how many

    @property
    def done(self) -> bool:
        """Whether the document was read, so that its next step may begin."""
        return self.reason is None


class TextChange(NamedTuple):
    """A change in a field with a short text. `before` is empty if the field is new, `after` if it was removed."""

    field: str
    before: str
    after: str


class DiffLine(NamedTuple):
    """A line of a comparison: `sign` is `+`, `-`, a space for an unchanged line, or `@` in place of omitted lines."""

    sign: str
    text: str


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on one transfer or one document; sizes are in bytes, times in seconds."""

    transfer_size: int = 64 * 2**30
    members: int = 10_000  # of one zip
    member_size: int = 2 * 2**30
    total_size: int = 8 * 2**30  # of all members of one zip
    ratio: int = 200  # inflated bytes for each compressed byte
    elements: int = 5_000_000  # of one XML document
    cpu_time: float = 120.0  # CPU time, which does not depend on how busy the machine is
    memory: int = 2 * 2**30
    free_space: int = 256 * 2**20  # must stay free on the disk
    answer_time: float = 120.0  # for the whole response to one request of a crawl
    pages: int = PDF_PAGES.number  # of one PDF
    characters: int = PDF_CHARACTERS.number  # of the text of one PDF or plain text
    links: int = PAGE_LINKS.number  # of one page


@dataclass(frozen=True, slots=True)
class Resource:
    """A file that the workspace names for its steps, such as a schema or a list; its digest identifies its content.

    Steps do not open files, so they get its `content`, and in `siblings` the files that it needs: the schemas in the
    same folder that a schema imports, directly or not. `digest` then identifies all of them together.
    """

    name: str
    path: Path
    digest: str
    content: bytes = b""
    siblings: tuple[Resource, ...] = ()
