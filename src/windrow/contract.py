"""The words a collection is written in.

A collection is a `Collection` value: its phases, a planner, and an ordered row of steps. Steps are
functions from values to values; the engine does everything that reads, waits or writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple, Protocol

from windrow.model import (
    Call,
    Entry,
    Fetched,
    Finding,
    Found,
    Host,
    Item,
    LeftOut,
    Limits,
    Member,
    Offer,
    Reading,
    Recorded,
    Resource,
    Source,
    Status,
    Visit,
)
from windrow.reasons import Reason
from windrow.settings.configuration import Configuration

State = tuple[int, Status]
"""A (phase id, status) pair; phase ids count from 1 in the order of `Collection.phases`."""


class Request(NamedTuple):
    """What is asked of a source, or of a service.

    `name` and `context` are its discovery's own words for it and come back with the answer. A low `priority` goes
    first. It is due again `every` so many seconds; None: once. One that is `only_if_new` is asked, and asked again,
    where the answer that leads to it offered something that was not known. `service` names one that is declared;
    empty: the source itself. A URL may be relative to that of the answer, or of the source.
    """

    url: str
    name: str = ""
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    priority: int = 0
    context: str = ""
    every: int | None = None
    only_if_new: bool = False
    service: str = ""


class Answer(NamedTuple):
    """What came of a request: `view` is a seekable file over the body without its codings, `fields` are lower case.

    An answer that did not change has the bytes, and the status, of the one that brought them.
    """

    request: Request
    status: int
    fields: Mapping[str, str]
    view: BinaryIO
    at: datetime
    unchanged: bool = False


class Offering(NamedTuple):
    """Something that an answer has: what it is known by, where in the answer it lies, and its own address.

    `part` is (offset, length) in the answer's plain body, empty for the whole.
    """

    key: str
    part: tuple[int, int] | tuple[()] = ()
    url: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """What an answer leads to.

    `learned` is kept for the source, over what was learned before, as JSON. `end` says in words that nothing follows
    and why ("the last page"), `skip` why the answer was of no use.
    """

    requests: tuple[Request, ...] = ()
    offers: tuple[Offering, ...] = ()
    learned: Mapping[str, Any] = field(default_factory=dict)
    end: str = ""
    skip: Reason | None = None
    findings: tuple[Finding, ...] = ()


class Ask(NamedTuple):
    """What a Settle step needs of a service that its collection declares, before it can go on.

    The step is run again when all that it asked for is answered, with the answers by `name` in `Task.answers`; it must
    return the same requests then as before. `path` is joined with the service's address.
    """

    name: str
    service: str
    path: str = ""
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Skip(NamedTuple):
    """Why a step makes nothing of a document, or of the thing in it that is known by a key."""

    reason: Reason
    key: str = ""
    message: str = ""


class Waits(NamedTuple):
    """What a version store is told in place of an Ask: its name, and the ledger's number for what is asked."""

    name: str
    address: int


class Observation(NamedTuple):
    """What a document says of one thing: a JSON value, None where it says that the thing is gone.

    `text` is what is searched for, `at` when its source says it was so; None: when it was fetched.
    """

    key: str
    value: Mapping[str, Any] | None
    text: str = ""
    at: datetime | None = None
    url: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """What a step is given: the item, its bytes and the files and limits of the workspace.

    `view` is a seekable read-only file over exactly the document's bytes. `known` holds what the
    store answered to the step's questions, by name, `fields` those of the HTTP response that was kept,
    by names in lower case; of a list that came in several lines they are joined (`windrow.formats.http`).
    `source` is where a visit belongs to, as it is configured now (None where it is no more), and `visited` its time.
    """

    item: Item
    view: BinaryIO
    limits: Limits
    resources: Mapping[str, Resource]
    options: Mapping[str, str]
    known: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    source: Source | None = None
    visited: datetime | None = None
    offers: tuple[Offering, ...] = ()  # what lies in a document that was found by requests
    answers: Mapping[str, Answer] = field(default_factory=dict)  # of services, to what the step asked
    request: Request | None = None  # what a visit asked, where its collection finds by requests

    def part(self, offer: Offering) -> bytes:
        """Read what is an offer's of the document."""
        offset, length = offer.part or (0, -1)
        self.view.seek(offset)
        return self.view.read(length)


class Entity(NamedTuple):
    """One thing with an identity and a history in a document that is loaded.

    `local` numbers the element within its document, from 0; `identifier` is what it is known by
    across submissions (specs of the collection: specimen = `centre_specimenID`, ...).
    """

    local: int
    kind: str
    identifier: str


@dataclass(frozen=True, slots=True)
class Rows:
    """What a LOAD step makes of a document: its entities, and a row for every element.

    `tables` maps a table's name to tuples `(local, parent local | None, entity local | None,
    ordinal, *columns)` in document order; locals are unique over the whole document.
    """

    entities: list[Entity]
    tables: dict[str, list[tuple[Any, ...]]]
    count: int


@dataclass(frozen=True, slots=True)
class ItemStep:
    """What the steps on items have in common: each takes items of one kind that stand at one of some states.

    `phase` names the step, `version` rises when the same bytes would give another result: the ledger remembers
    by both. `due` has the states, by phase name, that make an item due.
    """

    phase: str
    version: str
    kind: str
    due: tuple[tuple[str, Status], ...]


@dataclass(frozen=True, slots=True)
class Read(ItemStep):
    """Take a capture apart: its members, or a reason. Runs in the pool."""

    run: Callable[[Task], Reading]
    resources: tuple[str, ...] = ()
    by: Callable[[Item], str] | None = None  # what the result depends on beside the bytes


@dataclass(frozen=True, slots=True)
class Check(Read):
    """Find out whether a document is right: findings with line and column. Runs in the pool."""


@dataclass(frozen=True, slots=True)
class Load(ItemStep):
    """Make a document's rows. Runs in the pool; the rows are written to the store in order, not current yet."""

    run: Callable[[Task], Rows | Reading]
    resources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judge(ItemStep):
    """Decide in order whether a document's rows become current, by itself and by what the store knows."""

    run: Callable[[Task], Reading]
    resources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Summarise(ItemStep):
    """Bring the store's summaries up to date with all that waits for it."""


OK, NOT_MODIFIED = 200, 304
REQUEST, ROBOTS, ASK = 1, 2, 3
"""What a visit was for, where a collection finds by requests: a request of its discovery, robots.txt, a step's Ask."""


class Observed(NamedTuple):
    """What a Settle step made of one visit: observations, skips, and what it still asks for."""

    visit: int
    at: datetime
    url: str
    source: str
    results: tuple[Observation | Skip | Ask | Waits, ...] = ()


def has_document(recorded: Recorded) -> bool:
    """Tell whether a visit brought a document, or that the one known did not change."""
    return recorded.visit.kind == REQUEST and recorded.visit.status in {OK, NOT_MODIFIED}


def observed(recorded: Recorded, result: Any) -> Observed | None:
    """Join a visit with what its step made of it: one result, or several."""
    if result is None or isinstance(result, Reading):
        return None
    several = (result,) if isinstance(result, Observation | Skip | Ask) else tuple(result)
    visit = recorded.visit
    return Observed(recorded.seq, visit.started, visit.url, recorded.source, several)


@dataclass(frozen=True, slots=True)
class Settle:
    """Make of each visit, in the order of the ledger, what the version store takes.

    `run` reads the bytes in the pool, where `wants` says that they are to be read. `tell` joins the visit with what
    came of that (None where its bytes were not read, a Reading where reading failed) to an entry of the version
    store, or None. `refers` says of an answer without bytes of its own whether its fields let those be read again that
    it refers to. `expires` says until when (seconds since 1970) what was read holds: the address is due then; None
    where it holds as long as the bytes. `known_as` names the bytes of an answer together with what its head says of
    them: those that the version store knows by this name are not read again; by itself it is their digest.
    """

    phase: str
    version: str
    run: Callable[[Task], Any]
    wants: Callable[[Recorded], bool] = has_document
    tell: Callable[[Recorded, Any], Any] = observed
    refers: Callable[[Recorded, Mapping[str, str]], bool] | None = None
    expires: Callable[[Any], int | None] | None = None
    known_as: Callable[[Recorded], str] | None = None


@dataclass(frozen=True, slots=True)
class Derive:
    """Bring what is made from the store up to date, such as an index; the adapter names what does it."""

    phase: str
    version: str


Step = Read | Check | Load | Judge | Summarise | Settle | Derive


class Planner(Protocol):
    """Turn a listing into offers: a pure function."""

    def __call__(self, source: Source, entries: Sequence[Entry], options: Mapping[str, Any]) -> list[Offer]:
        """Return one offer, good or refused, for each entry that is not left out by rule."""
        ...


class CrawlRules(Protocol):
    """The rules by which one origin is crawled, and what they learned from its answers.

    Made in the process that asks; it opens nothing and asks no clock: times are given to it. The
    fields of answers are by name in lower case.
    """

    def robots(self, at: float) -> str:
        """Return the address of the rules to ask first; empty while those that are known are young enough."""

    def ruled(self, at: float, status: int | None, body: bytes) -> list[Found]:
        """Take the rules that the host gave, or its failure to give any; return what they say to ask."""

    def moved(self, status: int, location: str, base: str, hops: int) -> str:
        """Return where the rules have moved to; empty where such a redirect is not followed."""

    def shut(self, at: float) -> float:
        """Return for how many seconds nothing may be asked but the rules once more; 0 where something may."""

    def private(self, host: str, number: str) -> Reason | None:
        """Tell why a host may not be talked to at the number that its name resolved to."""

    def refusal(self, url: str, kind: int = 0) -> Reason | None:
        """Tell why an address may not be asked now."""

    def again(self, reason: Reason | None, tries: int) -> bool:
        """Tell whether to ask once more at once after so many tries."""

    def pause(self, seconds: float, status: int | None, wait: float | None) -> float | None:
        """Return how long to leave the host alone after an answer; None to leave it for this run.

        `seconds` is how long the answer took, `wait` what the host asked for.
        """

    def endless(self, call: Call, body: bytes) -> bool:
        """Take what a new address brought; tell whether the origin has nothing but endless rows of known content."""

    def links(self, url: str, fields: Mapping[str, str], body: bytes) -> tuple[str, list[str]]:
        """Return the base and the references of a document, as they are written in it.

        Those that an earlier document of the origin had may be left out.
        """

    def follow(self, base: str, reference: str) -> Found | None:
        """Resolve a reference; None where no rule lets the crawl go there."""

    def left_out(self) -> list[LeftOut]:
        """Return the addresses that rules kept out since this was asked last; those of other sites are none."""

    def hints(self, call: Call, fields: Mapping[str, str], body: bytes) -> list[Found] | None:
        """Return what a document of hints names, such as a sitemap; None where it is a document to be read."""


@dataclass(frozen=True, slots=True)
class Members:
    """Documents within a capture: items of `kind`, whose states make their parent's."""

    kind: str
    state: Callable[[Member], State]  # where a document begins
    parent: Callable[[Mapping[State, int]], State]  # children counted by state -> parent's state
    open: Callable[[BinaryIO, str, Limits], BinaryIO]  # capture, member's name -> its bytes


@dataclass(frozen=True, slots=True)
class Listing:
    """Find what there is in the folders of a source.

    What is listed becomes an item of `kind`, at `first` or, when its name is no good, at `refused`;
    a good transfer takes it through the states of `arrived`, a bad one to that of `failed`.
    """

    folders: tuple[str, ...]  # below a source's base
    kind: str
    first: State
    refused: State
    plan: Planner
    prefer: Callable[[str, Sequence[Host]], list[Host]]  # owner, hosts -> hosts, best first
    arrived: Callable[[Fetched], tuple[State, ...]]
    failed: Callable[[Reason], State]
    members: Members | None = None


@dataclass(frozen=True, slots=True)
class Crawl:
    """Find what there is by following links from page to page.

    `seeds` gives a source's first addresses, `rules` those of one of its origins, and `again`
    the state of an address of a source after a visit: when it is due (seconds since 1970, None for
    never) and the seconds after which it may have changed, from those it had and the failures in a
    row. `outcome` is the collection's word for what came of a request, by its status, its reason and
    the media type of what was kept, empty where none is known. A hint that an address changed makes
    it due, `rest` seconds after the last visit at the earliest. `interval` gives those seconds for an address of a
    source once its content is known: from whether each visit after the first one found another content, oldest first,
    None where it told nothing of that. `barren` says why a seed gave nothing, and what mends that; empty where it gave
    something, or nobody was asked. `large` has the bytes of an answer of
    those kinds that may be larger than a page.
    """

    seeds: Callable[[Source, Mapping[str, Any]], list[Found]]
    rules: Callable[[Source, str, Mapping[str, Any]], CrawlRules]
    again: Callable[[Source, Visit, int, int], tuple[int | None, int]]
    outcome: Callable[[int | None, Reason | None, str], str]
    normal: Callable[[str], str]  # an address as it is kept; empty for what is none
    page: int  # the kind of a visit to a page
    robots: int  # and of one to the host's robots.txt
    rest: int = 86_400
    large: Mapping[int, int] = field(default_factory=dict)
    interval: Callable[[Source, Sequence[bool | None]], int] | None = None
    barren: Callable[[Source, Visit], str] | None = None


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
    follow: Callable[[Source, Mapping[str, Any], Answer], Turn]
    origins: Callable[[Source], tuple[str, ...]] = no_origins


Discovery = Listing | Crawl | Requests


@dataclass(frozen=True, slots=True)
class Collection:
    """A kind of harvest, as one value: found through its entry point in `windrow.collections`.

    Finding and fetching is the first of its `phases`, or all that come before the first of its `steps`. `adapter`
    names what joins it with a workspace's configuration and stores, as `module:name`; it is loaded when it is used.
    """

    name: str
    phases: tuple[str, ...]
    discovery: Discovery
    steps: tuple[Step, ...]
    adapter: str = ""
    configuration: Configuration = Configuration()  # noqa: RUF009 frozen: it may be shared

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to other processes without the configuration, whose functions are made where they are declared."""
        return Collection, (self.name, self.phases, self.discovery, self.steps, self.adapter)

    def phase(self, name: str) -> int:
        """Return the id of a phase."""
        return self.phases.index(name) + 1

    @property
    def listing(self) -> Listing:
        """Return how its sources are listed; only what works on listings asks."""
        assert isinstance(self.discovery, Listing)
        return self.discovery

    @property
    def members(self) -> Members:
        """Return what lies in its captures; only what works on members asks."""
        assert self.listing.members is not None
        return self.listing.members

    @property
    def crawl(self) -> Crawl | None:
        """Return how its sites are crawled; None where they are listed, or asked by requests."""
        return self.discovery if isinstance(self.discovery, Crawl) else None

    @property
    def requests(self) -> Requests | None:
        """Return how its sources are asked; None where they are listed or crawled."""
        return self.discovery if isinstance(self.discovery, Requests) else None
