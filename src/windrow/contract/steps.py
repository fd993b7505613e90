"""The kinds of steps of a collection, and the values that their functions, which are pure, take and return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple, Protocol

from windrow.contract.answers import Answer, Ask, Observation, Offering, PendingAsk, Request, Skip, WholeListing
from windrow.model import Finding, Item, Limits, Reading, RecordedAttempt, Resource, Source
from windrow.reasons import Reason


@dataclass(frozen=True, slots=True)
class Task:
    """The input of a step: the item, its bytes, and the files and limits of the workspace.

    `view` is a seekable read-only file over exactly the document's bytes. `fields` has the header fields of the HTTP
    response, by name in lower case; repeated fields are joined (`windrow.formats.http`). `source` is the attempt's
    source as it is configured now, or None if it is not configured any more. `visited` is when the attempt was made.
    Both are None if the item is not an attempt. `sent` is a file over the bytes before a coding was removed from them,
    or None if they are not coded.
    """

    item: Item
    view: BinaryIO
    limits: Limits
    resources: Mapping[str, Resource]
    options: Mapping[str, str]
    fields: Mapping[str, str] = field(default_factory=dict)
    source: Source | None = None
    visited: datetime | None = None
    offers: tuple[Offering, ...] = ()  # what the discovery found in the document
    answers: Mapping[str, Answer] = field(default_factory=dict)  # answers of services, by the name of the Ask
    request: Request | None = None  # the attempt's request, if its collection finds documents by requests
    stopped: tuple[Reading, ...] = ()  # readings of earlier runs of the step that a limit ended (`Settle.retakes`)
    sent: BinaryIO | None = None

    def part(self, offer: Offering) -> bytes:
        """Read the bytes of an offer's part of the document."""
        offset, length = offer.part or (0, -1)
        self.view.seek(offset)
        return self.view.read(length)


class Entity(NamedTuple):
    """A thing in a loaded document that other documents may describe too, such as a specimen.

    `local` is the number of its element in the document, from 0. `identifier` is the same in all documents; for a
    specimen it is the `centre_specimenID`.
    """

    local: int
    kind: str
    identifier: str


@dataclass(frozen=True, slots=True)
class Rows:
    """The result of a Load step: a document's entities, and a row for every element.

    `tables` maps a table's name to tuples `(local, parent local | None, entity local | None, ordinal, *columns)` in
    document order. A `local` is the number of an element, unique in the document. `count` is the number of elements,
    and `repeated` the number of entities that a later one in the document replaces; `findings` name them.
    """

    entities: list[Entity]
    tables: dict[str, list[tuple[Any, ...]]]
    count: int
    findings: tuple[Finding, ...] = ()
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class ItemStep:
    """A step on the items of one kind. Steps run in the order of `Collection.steps`.

    `phase` names the step. Raise `version` when the same bytes would give another result. The ledger stores results
    under both.
    """

    phase: str
    version: str
    kind: str


@dataclass(frozen=True, slots=True)
class Read(ItemStep):
    """Read the members of a capture in the pool, or return the reason why they cannot be read."""

    run: Callable[[Task], Reading]
    resources: tuple[str, ...] = ()
    by: Callable[[Item], str] | None = None  # returns a text with everything else that the result depends on


@dataclass(frozen=True, slots=True)
class Check(Read):
    """Validate a document in the pool. The findings have a line and a column."""


@dataclass(frozen=True, slots=True)
class Load(ItemStep):
    """Make a document's rows in the pool.

    The rows are written to the store in order. `Judge` decides whether they become current.
    """

    run: Callable[[Task], Rows | Reading]
    resources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judge(ItemStep):
    """Decide for each document, in order, whether its rows become current.

    `run` returns findings and look-ups in the pool. If the store does not have a key that is looked up, the finding of
    the look-up is added. The rows become current unless the reading has a reason, or a finding of level FATAL.
    """

    run: Callable[[Task], Reading]
    resources: tuple[str, ...] = ()


class Undecided(Protocol):
    """A loaded document. Whether its rows become current (are published) depends on the keys that the store has."""

    @property
    def item(self) -> int:
        """The number of the document on the ledger."""

    @property
    def asks(self) -> Mapping[str, AbstractSet[str]]:
        """A dict from question (`StoreLookUp.question`) to the keys to look up."""

    def decide(self, known: Mapping[str, AbstractSet[str]]) -> Reason | None:
        """Return why the document is not published, or None to publish it. `known` has the stored keys, by question."""


@dataclass(frozen=True, slots=True)
class Summarise(ItemStep):
    """Update the store's summaries with all items that wait for this step."""


OK, NOT_MODIFIED = 200, 304
"""The HTTP statuses of an answer with a document, and of an answer which says that the document has not changed."""

REQUEST, ROBOTS, ASK, CAPTURED = 1, 2, 3, 4
"""Kinds of attempts: a discovery's request, a request for robots.txt, a step's Ask, a capture taken from others."""


class AttemptObservations(NamedTuple):
    """The results of a Settle step for one attempt, whose number, start, address and source are repeated here."""

    attempt: int
    at: datetime
    url: str
    source: str
    results: tuple[Observation | Skip | Ask | PendingAsk, ...] = ()


def has_document(recorded: RecordedAttempt) -> bool:
    """Return whether an attempt was made at a document, and got it (200) or the answer "not modified" (304)."""
    return recorded.attempt.kind in {REQUEST, CAPTURED} and recorded.attempt.status in {OK, NOT_MODIFIED}


def results_of(result: Any) -> tuple[Observation | Skip | Ask, ...]:
    """Return the results of a Settle step as a tuple. It is empty for None or a Reading."""
    if result is None or isinstance(result, Reading):
        return ()
    return (result,) if isinstance(result, Observation | Skip | Ask) else tuple(result)


def observed(recorded: RecordedAttempt, result: Any) -> AttemptObservations | None:
    """Return the result of a Settle step for an attempt as an entry of the store; None for None or a Reading."""
    if result is None or isinstance(result, Reading):
        return None
    attempt = recorded.attempt
    return AttemptObservations(recorded.seq, attempt.started, attempt.url, recorded.source, results_of(result))


@dataclass(frozen=True, slots=True)
class Settle:
    """Turn each attempt, in the order of the ledger, into an entry of the version store.

    Raise `version` when the same bytes would give other records. A run reads only new attempts. If another version
    began the store, the run reports that, and `windrow replay` reads all kept attempts with this version.

    `run` reads the bytes in the pool if `needs_body` returns True. `make_entry` makes an entry of the version store, or
    None, from the attempt and the result of `run` (None if the bytes were not read, a Reading if reading failed).
    `rereads_original` returns whether the fields of an answer without a body (304) require the bytes to which it refers
    to be read again. `expires` returns the UNIX time at which the result expires and the address is due, or None
    if the result is valid as long as the bytes. `name_payload` returns a name for the bytes and the header fields that
    matter, by default their digest. If the version store keeps contents, repeated bytes with a name that it knows are
    not read again. `missing`, a pure function, returns observations of things missing from a complete listing
    (`FollowResult.ends_listing`), such as that they are gone, and skips.

    `retakes` is how often a step runs again on a document after a limit or the death of its process ended it.
    `Task.stopped` then has the failed readings, and the step should leave out risky parts and return a Skip with the
    reason. If all runs are ended, the document has the first reason. If `takes_answers`, the attempts are requests and
    captures taken from others. Then `run` gets the decoded body with its offers and request (`Task.offers`,
    `Task.request`), and returns observations, skips and asks. Otherwise `run` gets the bytes as they were kept, and
    only `make_entry` gets its result.
    """

    phase: str
    version: str
    run: Callable[[Task], Any]
    needs_body: Callable[[RecordedAttempt], bool] = has_document
    make_entry: Callable[[RecordedAttempt, Any], Any] = observed
    rereads_original: Callable[[RecordedAttempt, Mapping[str, str]], bool] | None = None
    expires: Callable[[Any], int | None] | None = None
    name_payload: Callable[[RecordedAttempt], str] | None = None
    missing: Callable[[WholeListing], Iterable[Observation | Skip]] | None = None
    retakes: int = 0
    takes_answers: bool = True


@dataclass(frozen=True, slots=True)
class Derive:
    """Update data that a function of the adapter derives from the store, such as an index."""

    phase: str


Step = Read | Check | Load | Judge | Summarise | Settle | Derive
