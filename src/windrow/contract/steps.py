"""The steps of a collection: pure functions, each kind with just the fields it needs, and what they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple, Protocol

from windrow.contract.answers import Answer, Ask, Observation, Offering, Request, Skip, Waits, WholeListing
from windrow.model import Item, Limits, Reading, Recorded, Resource, Source
from windrow.reasons import Reason


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
    stopped: tuple[Reading, ...] = ()  # why the step was ended each time that it was taken before (`Settle.retakes`)

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
    """What the steps on items have in common: each takes the items of one kind that the step before was taken on.

    `phase` names the step, `version` rises when the same bytes would give another result: the ledger remembers
    by both.
    """

    phase: str
    version: str
    kind: str


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


class Undecided(Protocol):
    """A staged document whose fate depends on what the store knows."""

    @property
    def item(self) -> int:
        """Its number on the ledger."""
        ...

    @property
    def asks(self) -> Mapping[str, AbstractSet[str]]:
        """What is to be looked up: keys, by question, as the look-ups of its reading name them."""
        ...

    def decide(self, known: Mapping[str, AbstractSet[str]]) -> Reason | None:
        """Given the keys that are known of those asked, say why it is withheld; None publishes it."""
        ...


@dataclass(frozen=True, slots=True)
class Summarise(ItemStep):
    """Bring the store's summaries up to date with all that waits for it."""


OK, NOT_MODIFIED = 200, 304


REQUEST, ROBOTS, ASK, CAPTURED = 1, 2, 3, 4
"""What a visit was for, where a collection finds by requests or captures: a request of its discovery, robots.txt, a
step's Ask; or that a capture was taken which somebody else had made."""


class Observed(NamedTuple):
    """What a Settle step made of one visit: observations, skips, and what it still asks for."""

    visit: int
    at: datetime
    url: str
    source: str
    results: tuple[Observation | Skip | Ask | Waits, ...] = ()


def has_document(recorded: Recorded) -> bool:
    """Tell whether a visit brought a document, or that the one known did not change."""
    return recorded.attempt.kind in {REQUEST, CAPTURED} and recorded.attempt.status in {OK, NOT_MODIFIED}


def results_of(result: Any) -> tuple[Observation | Skip | Ask, ...]:
    """Return what a Settle step returned as a tuple: it may be one result, several, or None; a Reading has none."""
    if result is None or isinstance(result, Reading):
        return ()
    return (result,) if isinstance(result, Observation | Skip | Ask) else tuple(result)


def observed(recorded: Recorded, result: Any) -> Observed | None:
    """Join a visit with what its step made of it: one result, or several."""
    if result is None or isinstance(result, Reading):
        return None
    attempt = recorded.attempt
    return Observed(recorded.seq, attempt.started, attempt.url, recorded.source, results_of(result))


@dataclass(frozen=True, slots=True)
class Settle:
    """Make of each visit, in the order of the ledger, what the version store takes.

    `version` rises when the same bytes would give other records. A run reads only what is new, whatever it is; where
    the store was begun by another version the run says so, and `windrow replay` reads all that is kept by this one.
    `run` reads the bytes in the pool, where `wants` says that they are to be read. `tell` joins the visit with what
    came of that (None where its bytes were not read, a Reading where reading failed) to an entry of the version
    store, or None. `refers` says of an answer without bytes of its own whether its fields let those be read again that
    it refers to. `expires` says until when (seconds since 1970) what was read holds: the address is due then; None
    where it holds as long as the bytes. `known_as` names the bytes of an answer together with what its head says of
    them: those that the version store knows by this name are not read again; by itself it is their digest. `missing`
    says what to make of things that a whole listing of their source (`FollowResult.ends_listing`) did not have, such as
    that they are gone; it is a pure function as `run` is. `retakes` is how often a step is taken again on a document
    over which it was ended, by a limit or with its process: `Task.stopped` says so then, and it leaves out what is
    risky.
    Where it is ended each time, the first end counts. What it returns then should hold a Skip with the reason.
    With `takes_answers` a visit is an answer to a request, or a capture of one: `run` is given its body without
    codings, and what it offers and asked (`Task.offers`, `Task.request`), and returns observations, skips and asks.
    Without it `run` is given the bytes as they were kept, and what it returns is for `tell` alone.
    """

    phase: str
    version: str
    run: Callable[[Task], Any]
    wants: Callable[[Recorded], bool] = has_document
    tell: Callable[[Recorded, Any], Any] = observed
    refers: Callable[[Recorded, Mapping[str, str]], bool] | None = None
    expires: Callable[[Any], int | None] | None = None
    known_as: Callable[[Recorded], str] | None = None
    missing: Callable[[WholeListing], Iterable[Observation | Skip]] | None = None
    retakes: int = 0
    takes_answers: bool = True


@dataclass(frozen=True, slots=True)
class Derive:
    """Bring what is made from the store up to date, such as an index; the adapter names what does it."""

    phase: str


Step = Read | Check | Load | Judge | Summarise | Settle | Derive
