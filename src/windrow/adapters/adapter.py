"""What joins a collection with a workspace: its configuration, stores and books. Loaded when it is used.

A collection names its adapter as `module:name`; a module or an object with these functions will do. What is below
`Adapter` each must have; the capabilities after it are optional, and a verb asks for its own (`capable`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TextIO

from windrow.errors import ConfigError
from windrow.model import DiffLine, Level, State, Status, TextChange
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.config import Workspace
    from windrow.engine.check import Fault
    from windrow.engine.progress import Progress
    from windrow.engine.replay import ReplayChange
    from windrow.engine.requests.waiting import ServiceWait
    from windrow.engine.run import Harvest
    from windrow.engine.session import SessionSettings
    from windrow.engine.takedown import TakedownTarget
    from windrow.ledger import Ledger
    from windrow.model import Source


def harvested_collections(workspace: Workspace, ledger: Ledger | None = None) -> set[str]:
    """Return the collections that have sources in a workspace, or had some: verbs ask the adapters of these alone.

    Without a ledger that of the workspace is opened, where there is one.
    """
    from windrow.ledger import Ledger  # noqa: PLC0415 see above

    found = {source.collection for source in workspace.sources}
    if ledger is not None:
        return found | ledger.sessions.collections()
    if not workspace.ledger.exists():
        return found
    with closing(Ledger(workspace.ledger)) as opened:
        return found | opened.sessions.collections()


def refuse_without_contact(workspace: Workspace | None, host: str) -> None:
    """Raise ConfigError where another machine is to be asked and nothing says by whom; `try` needs no workspace."""
    from windrow.fetch.politeness.guard import loopback  # noqa: PLC0415 see above
    from windrow.fetch.politeness.user_agent import names_contact  # noqa: PLC0415 see above

    if loopback(host) or (workspace is not None and names_contact(workspace.agent)):
        return
    first = "" if workspace else "windrow init, then: "
    place = workspace.root / "windrow.toml" if workspace else "windrow.toml"
    raise ConfigError(
        f"windrow.toml: contact is missing, and {host} is to be told who asks",
        hint=f'{first}contact = "https://example.org/our-crawler" at the top of {place}',
    )


class LazyAdapter:
    """An adapter whose parts lie in the modules of a package: each is loaded when it is used.

    So nobody who searches loads what a harvest needs, nor the other way round. `capabilities` says without loading
    anything which parts there are.
    """

    def __init__(self, package: str, places: Mapping[str, str], **values: Any) -> None:
        """Take the package, the module below it by the name of each part, and parts that are plain values."""
        self._package, self._places = package, places
        self.capabilities = frozenset({*places, *values})
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        """Load a part; it is looked up here only the first time."""
        if name.startswith("_") or name not in self._places:
            raise AttributeError(f"the adapter {self.__dict__.get('_package')!r} has no {name!r}")
        try:
            found = getattr(import_module(f"{self._package}.{self._places[name]}"), name)
        except ImportError as error:
            raise ConfigError(f"{name!r} of the adapter {self._package!r} cannot be loaded: {error}") from error
        self.__dict__[name] = found
        return found


class Got(NamedTuple):
    """The bytes that `windrow try` read: where from, how many, and whether their name is good."""

    address: str
    key: str
    size: int
    digest: str
    seconds: float
    reason: Reason | None = None


class Document(NamedTuple):
    """One document and what became of it: the last step it reached, and why it went no further."""

    name: str
    kind: str
    size: int | None
    digest: str
    phase: str
    reason: Reason | None = None
    records: int = 0


class Record(NamedTuple):
    """One record as it would be loaded: the row that begins it, with its columns by name."""

    document: str
    kind: str
    identifier: str
    table: str
    fields: Mapping[str, Any]


class Note(NamedTuple):
    """A finding in a document."""

    document: str
    phase: str
    level: Level
    kind: str
    message: str
    line: int | None = None
    column: int | None = None


Part = Got | Document | Record | Note
"""One thing that `windrow try` tells."""


class RereadCount(NamedTuple):
    """How many versions of records there were before, are now, and say something else than any did before."""

    session: int
    before: int
    after: int
    changed: int


class Replayed(NamedTuple):
    """What a replay did: the session it is on record as, and what came out differently."""

    session: int
    changes: tuple[ReplayChange, ...] = ()
    versions: RereadCount | None = None


class TakedownEstimate(NamedTuple):
    """What there is of something that would be taken down; `bytes` as they lie in the archive."""

    target: str
    addresses: int
    visits: int
    captures: int
    bytes: int


class Message(NamedTuple):
    """A line of JSON: its type and its value; with `omit_empty`, fields that say nothing are left out."""

    type: str
    value: Any
    omit_empty: bool = False


class Explanation(NamedTuple):
    """What `windrow why` tells of one thing: the value itself, messages for programs, and lines for people."""

    subject: Any
    messages: tuple[Message, ...]
    lines: tuple[str, ...]


class Export(NamedTuple):
    """What a collection can write, and in which forms; `help` says what that is, `unit` what is counted."""

    what: str
    forms: tuple[str, ...]
    help: str
    write: Callable[[Workspace, str, TextIO], int]  # to a UTF-8 stream; bytes go to its `buffer`
    unit: str = "rows"


class SourceChange(NamedTuple):
    """Something came, changed or went at a source. `key` is its address or name; `difference` says in a line what.

    `at` is when that was seen, in UTC; `kind` is new, changed or gone.
    """

    at: datetime
    source: str
    collection: str
    kind: str
    key: str
    title: str
    difference: str


NEW, CHANGED, GONE = "new", "changed", "gone"
"""What `SourceChange.kind` can be."""


class Window(NamedTuple):
    """Which changes are meant: what the sessions between two facts wrote, and with a time what was seen since then.

    A session writes what earlier ones asked for, too, where they were stopped before they wrote it.
    """

    since: datetime | None = None
    facts: tuple[int, int] | None = None


class Adapter(Protocol):
    """What every collection answers."""

    def harvest(self, workspace: Workspace) -> Harvest:
        """Make the harvest that the configuration describes, its databases opened."""
        ...

    def ready(self, workspace: Workspace) -> None:
        """Raise ConfigError for what a run would refuse to begin without; opens nothing."""
        ...

    def vet(self, workspace: Workspace, source: Source) -> None:
        """Raise UsageError for a new source that a run would stop at."""
        ...

    def project(self, workspace: Workspace, ledger: Ledger) -> None:
        """Bring the collection's books up to date after an operator decided something: people look there."""
        ...

    def check(self, workspace: Workspace, ledger: Ledger) -> Iterable[Fault]:
        """Compare the collection's own store and books with the ledger."""
        ...

    def replay(self, workspace: Workspace, setup: SessionSettings, progress: Progress) -> Replayed | None:
        """Read what is kept again with today's readers; None where there is nothing to rebuild."""
        ...

    def attempt(self, workspace: Workspace | None, address: str) -> Iterator[Part]:
        """Get one thing, read it as the collection does, and keep nothing."""
        ...


class Explains(Protocol):
    """Can tell the story of what is no item of the ledger, such as a page or a record."""

    def explain(self, workspace: Workspace, ledger: Ledger, what: str) -> Explanation | None:
        """Tell the story of what a person names; None where it is nothing of this collection's."""
        ...


class Foresees(Protocol):
    """Can say what would become of a name that is not on the ledger."""

    def clue(self, workspace: Workspace, what: str) -> str:
        """Run the rules on a name; empty where they say nothing of it."""
        ...


class TellsChanges(Protocol):
    """Knows from its own store what changed at its sources; of others, what their listings say is told."""

    def changes(self, workspace: Workspace, ledger: Ledger, window: Window) -> Iterator[SourceChange]:
        """Yield what came, changed or went at the collection's sources."""
        ...

    def content(self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int]) -> Mapping[str, Counter[str]]:
        """Count what `changes` yields of the sessions between two facts, by source and kind."""
        ...

    def content_of_visits(
        self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int]
    ) -> Mapping[str, Counter[str]] | None:
        """Count what visits between two facts found, by source and kind; None where that is not known yet."""
        ...


class RestCount(NamedTuple):
    """How many items of a kind came to rest in a phase, with a status, and for what reason."""

    collection: str
    kind: str
    phase: str
    status: Status
    reason: Reason | None
    number: int


class TellsStates(Protocol):
    """Derives from the ledger where items stand, as its projection shows it; others tell the pending step."""

    def states(self, ledger: Ledger, items: Sequence[int]) -> Mapping[int, State]:
        """Return where some of its items stand."""
        ...

    def count_states(self, ledger: Ledger) -> Mapping[tuple[str, State], int]:
        """Count its items by kind and by where they stand; of documents those that the latest attempt brought."""
        ...

    def count_rests(self, ledger: Ledger, span: tuple[int, int]) -> list[RestCount]:
        """Count where its items came to rest between two facts, each once for each state and reason."""
        ...


class TellsOutcomes(Protocol):
    """Knows how the questions of its crawl ended once what they brought was read."""

    def outcomes(
        self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int], counted: Counter[str]
    ) -> Counter[str]:
        """Count them between two facts, in the words of its `Crawl.outcome`; `counted` is what the ledger says."""
        ...


class HoldsRecords(Protocol):
    """Makes records of what is at its addresses, some only when services answered."""

    def holdings(self, workspace: Workspace) -> Mapping[str, int]:
        """Count the records of each source that are there now."""
        ...

    def waits(self, workspace: Workspace, ledger: Ledger) -> ServiceWait | None:
        """Return how many wait for which service, since when and why; None where none does."""
        ...


class Adopts(Protocol):
    """Can take documents that are held already."""

    ADOPTED_AT: str
    """The phase from which adopted documents go on."""
    ADOPTS: str
    """What may be adopted, as the help of `run` says it: `a folder of ...`."""

    def adopt(self, workspace: Workspace, folder: Path) -> Source:
        """Return a source over a folder of documents that are held already."""
        ...


class ImportsWarc(Protocol):
    """Can read WARC files of other makers as if it had asked for what is in them."""

    IMPORTS_WARC: bool


class Exports(Protocol):
    """Can write what it holds in the forms of its standard."""

    EXPORTS: tuple[Export, ...]


class Compared(NamedTuple):
    """What changed between two versions of one thing, each by its name and the time when it was first seen.

    `changes` are of short texts (title, description, ...), `lines` of the main text: each with a sign, `+`,
    `-`, a blank for one that stays, or `@` where some are left out. `added` and `removed` count its lines,
    `elsewhere` those that changed outside of it. `old_gone` and `new_gone` are since when it was gone at that
    time: that side then says nothing, and the version is the one that ended.
    """

    url: str
    old: str
    old_seen: datetime
    new: str
    new_seen: datetime
    summary: str
    changes: tuple[TextChange, ...]
    added: int
    removed: int
    elsewhere: int
    lines: tuple[DiffLine, ...]
    old_gone: datetime | None = None
    new_gone: datetime | None = None


class Compares(Protocol):
    """Can show what changed between two versions of one thing."""

    def compare(self, workspace: Workspace, name: str, since: str, until: str, *, context: int) -> Compared:
        """Compare two versions; UsageError where there are none."""
        ...


class Searches(Protocol):
    """Can search what it holds."""

    def search(self, workspace: Workspace, text: str, *, offset: int, limit: int, explain: bool) -> SearchAnswer:
        """Search; any text is a query."""
        ...


class ChecksTree(Protocol):
    """Can judge a folder of files by the standard of its collection."""

    def check_tree(self, folder: Path) -> Iterator[Fault | int]:
        """Yield faults, and the bytes of each file."""
        ...


class Forgets(Protocol):
    """Can take down what it holds, so that nothing stays but a tombstone."""

    def refuse_takedown(self, workspace: Workspace) -> None:
        """Raise ConfigError where a store lies in a place that is not windrow's: nothing is taken down then."""
        ...

    def takedown_targets(self, workspace: Workspace, ledger: Ledger, name: str) -> Iterable[TakedownTarget]:
        """Return what a name means; nothing where it is not known."""
        ...

    def remove_taken_down(self, workspace: Workspace, target: TakedownTarget, visits: Sequence[int]) -> int:
        """Remove from the stores what visits told of a target, whichever collection it is of; return how much.

        It may be asked again for what is gone.
        """
        ...

    def clean_stores(self, workspace: Workspace, pulse: Callable[[], None]) -> tuple[str, ...]:
        """Leave nothing of what was removed in the stores' files; return, in a sentence each, where something stays.

        `pulse` is called often.
        """
        ...


class SnippetMark(NamedTuple):
    """A stretch of the snippet that was searched for: its first character, and the one behind its last."""

    start: int
    end: int


def snippet_marks(pieces: Sequence[tuple[str, bool]]) -> tuple[SnippetMark, ...]:
    """Return where in a text, put together of its pieces, stands what was searched for."""
    found, at = [], 0
    for text, hit in pieces:
        if hit:
            found.append(SnippetMark(at, at + len(text)))
        at += len(text)
    return tuple(found)


class SearchResult(NamedTuple):
    """One thing found. Title and snippet are pieces of text, each with whether it is what was searched for.

    `details` is all that its collection tells of it, such as a `PageHit`, and `type` what a message of that is called;
    `at` is when it was changed or published last, as far as is known.
    """

    title: Sequence[tuple[str, bool]]
    url: str
    about: str
    snippet: Sequence[tuple[str, bool]]
    remarks: tuple[str, ...]
    type: str
    details: Any
    at: datetime | None = None


class SearchAnswer(NamedTuple):
    """Some results of a query, the first after `offset` better ones; whether there is more, and notes on all of it.

    `relaxed` is true where nothing has all the words, and what has most of them is shown. `frequency` says in how many
    of the `documents` that were searched each word stands.
    """

    query: str
    offset: int
    results: tuple[SearchResult, ...]
    notes: tuple[str, ...]
    further: bool
    relaxed: bool
    frequency: Mapping[str, int] = {}
    documents: int = 0
