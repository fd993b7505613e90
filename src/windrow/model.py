"""The nouns that every part of windrow shares: frozen values, standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any, NamedTuple

from windrow.reasons import Reason


class Status(IntEnum):
    """How far a phase got, in rising order of severity (tracker report, table a_status)."""

    PENDING = 1
    RUNNING = 2
    DONE = 3
    CANCELLED = 4
    FAILED = 5


State = tuple[int, Status]
"""A phase of a collection, by its place from 1, and how far it got, as a projection has it."""


class Level(StrEnum):
    """The severity of a finding; only `FATAL` keeps a document's rows from being current."""

    NOTE = "note"
    WARN = "warn"
    ERROR = "error"
    FATAL = "fatal"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong or notable in a document.

    `kind` is the general class (`SchemaError`, `UnknownStatusCode`), `message` only what is
    particular here. `line` and `column` count from 1; unknown is None, never 0.
    """

    kind: str
    message: str
    level: Level = Level.ERROR
    line: int | None = None
    column: int | None = None

    def __reduce__(self) -> tuple[type[Finding], tuple[object, ...]]:
        """Pickle fast: a document has many."""
        return Finding, (self.kind, self.message, self.level, self.line, self.column)


@dataclass(frozen=True, slots=True)
class Secret:
    """The *place* of a secret: `env:NAME` or `file:PATH`; the secret itself is never stored."""

    place: str


class Credential(NamedTuple):
    """A secret, and where in a request it goes: into a `header`, after a `prefix`, or a parameter of the `query`."""

    secret: Secret
    header: str = ""
    query: str = ""
    prefix: str = ""


class Allowed(NamedTuple):
    """What may be requested without a public IP address: hosts (`wiki.example`, `.lan.example`), networks, or all."""

    hosts: tuple[str, ...] = ()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    everything: bool = False


NOTHING = Allowed()
"""Public IP addresses only."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a source lives and how to talk to it. Times in seconds, empty text means none."""

    scheme: str
    host: str = ""
    port: int | None = None
    username: str = ""
    secret: Secret | None = None
    key: Secret | None = None
    base: str = "/"
    timeout: float = 60.0  # for one reply, and for the next bytes
    listing_timeout: float = 300.0  # for one whole listing
    min_rate: int = 1000  # bytes a second that transfers bring, over `timeout` seconds; 0: any
    proxy: str = ""
    ca_bundle: str = ""
    passive: bool = True
    address_family: str = "any"  # any | ipv4 | ipv6
    host_keys: tuple[str, ...] = ()
    manifest: str = ""
    agent: str = "windrow"
    allowed: Allowed = NOTHING  # what `windrow.fetch.politeness.guard` lets pass beside public IP addresses

    def address(self, path: str = "") -> str:
        """Return the public spelling of a path here: a URL without the user's secret; empty for nowhere."""
        return self.origin + join(self.base, path) if self.scheme else ""

    @property
    def origin(self) -> str:
        """Its scheme, host and port, as a URL begins; empty for nowhere."""
        if not self.scheme:
            return ""
        where = f"[{self.host}]" if ":" in self.host else self.host
        port = f":{self.port}" if self.port else ""
        return f"{self.scheme}://{where}{port}"


def join(base: str, path: str) -> str:
    """Join a base folder and a path with exactly one slash between them."""
    return f"{base.rstrip('/')}/{path.lstrip('/')}" if path else base


@dataclass(frozen=True, slots=True)
class Source:
    """A place to look, as declared in TOML."""

    name: str
    collection: str
    site: Site
    owner: str = ""  # drops: the centre's short name
    active: bool = True
    connections: int = 2
    attempts: int = 3
    pace: float = 0.0  # least seconds between two requests to its host
    options: Mapping[str, Any] = field(default_factory=dict)
    most: int = 0  # most addresses that are asked for in one run; 0: all that are due
    unusable: str = ""  # why its collection cannot be used
    credentials: tuple[Credential, ...] = ()  # sent to its own origin, and kept nowhere


LARGEST = 2**63 - 1
"""The largest whole number that every database holds."""


class ListingEntry(NamedTuple):
    """One line of a listing. `modified` is aware and UTC where the server tells it.

    With a `reason` the line could not be read, or is left out by rule; `name` is then the line itself.
    """

    folder: str
    name: str
    size: int | None = None
    modified: datetime | None = None
    is_file: bool = True
    reason: Reason | None = None


class Offer(NamedTuple):
    """A listed entry as its collection understands it: what to get, or why not.

    `key` is what it is known by across sources (drops: `add/NAME`), `rank` a text whose order is
    the order of work, `owner` who made it (drops: the producer). With a `reason` it is refused:
    kept on record, never fetched; `unkeyed` then means that its name fits no table.
    """

    key: str
    path: str
    size: int | None = None
    modified: datetime | None = None
    rank: str = ""
    owner: str = ""
    reason: Reason | None = None
    unkeyed: bool = False
    sidecar: str = ""  # path of a checksum file beside it, where the listing has one


class OfferingHost(NamedTuple):
    """A source that lists a file, and how it did so far; `speed` in bytes a second, None unknown."""

    source: str
    owner: str = ""
    attempts: int = 0
    failures: int = 0
    speed: float | None = None


class KnownCapture(NamedTuple):
    """The record that holds what an address gave before: digest, WARC date and address of it."""

    digest: str = ""
    date: str = ""
    address: str = ""


TAIL = 1 << 16
"""Bytes at the end of a file by which two hosts of it are compared: a zip has its table of contents there."""


class ArchivePlace(NamedTuple):
    """Where kept bytes lie: the WARC file, and offset and length in it of the whole record."""

    warc: str
    offset: int
    length: int


class KeptResponse(NamedTuple):
    """A response as it was kept: `at` is its record's WARC-Date, `mime` the body's media type."""

    digest: str
    size: int
    place: ArchivePlace
    revisit: bool = False
    at: datetime | None = None
    mime: str = ""


class Attachment(NamedTuple):
    """Kept bytes that a request sends without their being copied: they go into its body at the offset `at`.

    `offset` and `length` are those in the plain body of what an attempt kept, -1: all that follows. `place` says where
    that lies, None as long as nobody has looked.
    """

    at: int
    attempt: int
    offset: int = 0
    length: int = -1
    place: ArchivePlace | None = None


class HttpRequest(NamedTuple):
    """A request that is not a plain GET.

    `context` is a text that the discovery which found the address gave it for itself, such as the page of an API.
    `seconds` is how long the whole answer may take, 0: as long as all answers.
    """

    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    context: str = ""
    attachments: tuple[Attachment, ...] = ()
    seconds: float = 0.0


class FoundUrl(NamedTuple):
    """An address that may be asked: `digest` is 64 bits of the hash of what is asked, a low `place` goes first.

    `kind` is the collection's number for what lies there, `hinted` when it is said to have changed; `request` is None
    for a plain GET.
    """

    digest: int
    origin: str
    url: str
    place: int = 0
    kind: int = 0
    hinted: datetime | None = None
    request: HttpRequest | None = None


class HeldAnswer(NamedTuple):
    """An answer that another collection got before: the number of its attempt, and where its bytes lie."""

    seq: int
    attempt: Attempt
    place: ArchivePlace


class ListedFile(NamedTuple):
    """A file as its source lists it, and how it is transferred: `size` in bytes, None where the listing has none."""

    path: str
    size: int | None = None
    modified: datetime | None = None  # a part of another version is not gone on with
    sidecar: str = ""  # path of a checksum file beside it
    part: str = ""  # name under which a broken transfer is kept and resumed
    compared: bool = False  # nothing is kept: the digest of its last `TAIL` bytes is told as its checksum


class FetchJob(NamedTuple):
    """What a fetcher is to ask for: an address, or a `file` that its source lists, which then has a path.

    `target` is the mark by which its attempts are known again: of an address 64 bits of the hash of what is asked, of a
    file a number that the engine gave it.
    """

    target: int
    url: str
    kind: int = 0  # the collection's number for what lies there
    last: KnownCapture = KnownCapture()  # the last capture: unchanged -> revisit
    validators: tuple[str, str] = ("", "")  # ETag and Last-Modified that it came with
    place: int = 0
    request: HttpRequest | None = None
    held: HeldAnswer | None = None
    file: ListedFile = ListedFile("")

    def attempt(self, started: datetime, seconds: float = 0.0) -> Attempt:
        """Return an attempt at it, without what came of it."""
        return Attempt(self.target, self.url, self.kind, True, started, seconds)


class Attempt(NamedTuple):
    """One try to get an address or a listed file, and what came of it. Times are UTC, durations seconds.

    `target` and `kind` are those of its job, `allowed` is what the host's robots.txt says, `status` the protocol's own
    number (200, 226), None where no answer came or the protocol has none. With a `reason` it failed: nothing came, or
    something that could not be taken whole or read.
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
    location: str = ""
    received: int | None = None  # bytes over the line, where that is not the size of what was kept
    checksum: str = ""  # the side-car's word, `md5:...` or `sha256:...`, when it was checked
    retry: bool = False  # its failure may pass: no whole answer came
    wait: float | None = None  # for how long the host is to be left alone after it


class LeftOut(NamedTuple):
    """An address that a rule keeps out of a crawl: `rule` says which, as a person reads it."""

    digest: int
    url: str
    reason: Reason
    rule: str


class CdxLine(NamedTuple):
    """A capture as an index has it: a line of a CDX or CDXJ file, a record of a WARC file, or what a collection kept.

    `timestamp` has 14 digits and is a time of the calendar, in UTC. `digest` is as it is written, mostly base 32 of
    SHA-1. `length` is that of the record in the file, compressed. None and empty text stand for `-` and what is absent;
    bytes that are not UTF-8 are kept as Python keeps them in file names (PEP 383). What a collection kept has an empty
    `key`, and windrow's own digest.
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
    """An attempt on the ledger: its number, its session and when that began, and the source it belongs to."""

    seq: int
    session: int
    opened: datetime
    source: str
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Item:
    """What a step takes: a listed file, a member of one, or an answer that was visited."""

    id: int
    collection: str
    kind: str
    key: str
    rank: str = ""
    attempt: int | None = None  # the one that brought it
    digest: str = ""
    member: str = ""  # its name within the capture, empty for the whole

    def __reduce__(self) -> tuple[type[Item], tuple[object, ...]]:
        """Pickle in a quarter of the time that a dataclass of slots takes: one travels with every document."""
        return Item, (
            self.id, self.collection, self.kind, self.key, self.rank, self.attempt, self.digest, self.member,
        )  # fmt: skip


class StoreLookUp(NamedTuple):
    """A look-up in the store that a reading leaves open.

    Where the store does not know `key` under `question`, `finding` becomes one of the reading's.
    """

    question: str
    key: str
    finding: Finding


class Member(NamedTuple):
    """A document within a capture: addressed there, not kept again."""

    name: str
    size: int | None
    digest: str
    md5: str
    kind: str = ""
    rank: str = ""
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of a step for one document, as the ledger remembers it."""

    reason: Reason | None = None  # None: done
    findings: tuple[Finding, ...] = ()
    members: tuple[Member, ...] = ()
    lookups: tuple[StoreLookUp, ...] = ()
    count: int = 0  # records, rows or elements, whatever the step counts
    md5: str = ""

    def __reduce__(self) -> tuple[type[Reading], tuple[object, ...]]:
        """Pickle fast, as an Item does."""
        return Reading, (self.reason, self.findings, self.members, self.lookups, self.count, self.md5)

    @property
    def done(self) -> bool:
        """Whether the document goes on to the next step."""
        return self.reason is None


class TextChange(NamedTuple):
    """A short text that changed; empty if there was or is none."""

    field: str
    before: str
    after: str


class DiffLine(NamedTuple):
    """A line of a difference: `sign` is `+`, `-`, a blank for one that stays, or `@` where some are left out."""

    sign: str
    text: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What one transfer and one document may take. Sizes in bytes, times in seconds."""

    transfer_size: int = 64 * 2**30
    members: int = 10_000
    member_size: int = 2 * 2**30
    total_size: int = 8 * 2**30
    ratio: int = 200
    elements: int = 5_000_000
    cpu_time: float = 120.0  # of CPU time: a machine that is busy or pauses changes nothing
    memory: int = 2 * 2**30
    free_space: int = 256 * 2**20  # room that must stay free on the disk
    answer_time: float = 120.0  # seconds for the whole answer to one question of a crawl


@dataclass(frozen=True, slots=True)
class Resource:
    """A file the workspace names for the steps: a schema, a list. Known by its digest.

    Steps open no files: who starts them fills `content`, and `siblings` with the files that this
    one names (a schema's imports, by the file name in their paths).
    """

    name: str
    path: Path
    digest: str
    content: bytes = b""
    siblings: tuple[Resource, ...] = ()
