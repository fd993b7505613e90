"""The interface between a collection and a workspace: its configuration, stores and projection.

A collection names its adapter as `module:name`; it may be a module or an object. It must have the methods of
`Adapter`. The protocols after it are optional; a command looks for the adapters that have its own (`capable`).
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
    """Return the collections that have or had sources in a workspace: commands load only the adapters of these.

    Without `ledger`, the ledger of the workspace is opened if it exists.
    """
    from windrow.ledger import Ledger  # noqa: PLC0415 loaded when used

    configured = {source.collection for source in workspace.sources}
    if ledger is not None:
        return configured | ledger.sessions.collections()
    if not workspace.ledger.exists():
        return configured
    with closing(Ledger(workspace.ledger)) as opened:
        return configured | opened.sessions.collections()


def refuse_without_contact(workspace: Workspace | None, host: str) -> None:
    """Raise ConfigError if `host` is another machine and no contact is configured; `windrow try` has no workspace."""
    from windrow.fetch.politeness.guard import is_loopback  # noqa: PLC0415 loaded when used
    from windrow.fetch.politeness.user_agent import names_contact  # noqa: PLC0415 loaded when used

    if is_loopback(host) or (workspace is not None and names_contact(workspace.user_agent)):
        return
    first_step = "" if workspace else "windrow init, then: "
    path = workspace.root / "windrow.toml" if workspace else "windrow.toml"
    raise ConfigError(
        f"windrow.toml: contact is missing, and {host} must be told who asks",
        hint=f'{first_step}contact = "https://example.org/our-crawler" at the top of {path}',
    )


class LazyAdapter:
    """An adapter whose members lie in the modules of a package, each imported when it is first used.

    So a search does not import what only a harvest needs, and the other way round. `capabilities` names the members
    without importing anything. `modules` maps a member to its module below `package`; `constants` are members that
    need no import.
    """

    def __init__(self, package: str, modules: Mapping[str, str], **constants: Any) -> None:
        self._package, self._modules = package, modules
        self.capabilities = frozenset({*modules, *constants})
        self.__dict__.update(constants)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._modules:
            raise AttributeError(f"the adapter {self.__dict__.get('_package')!r} has no {name!r}")
        try:
            member = getattr(import_module(f"{self._package}.{self._modules[name]}"), name)
        except ImportError as error:
            raise ConfigError(f"{name!r} of the adapter {self._package!r} cannot be loaded: {error}") from error
        self.__dict__[name] = member  # so the next access does not come here
        return member


class FetchedBytes(NamedTuple):
    """The bytes that `windrow try` read: their address, size, digest, and the reason if their name would be refused."""

    address: str
    key: str
    size: int
    digest: str
    seconds: float
    reason: Reason | None = None


class DocumentReport(NamedTuple):
    """One document of a trial: the last phase it reached, and the reason if it was refused there."""

    name: str
    kind: str
    size: int | None
    digest: str
    phase: str
    reason: Reason | None = None
    records: int = 0


class RecordPreview(NamedTuple):
    """One record as it would be loaded: its first row, the columns by name."""

    document: str
    kind: str
    identifier: str
    table: str
    fields: Mapping[str, Any]


class DocumentFinding(NamedTuple):
    """A finding in a document of a trial."""

    document: str
    phase: str
    level: Level
    kind: str
    message: str
    line: int | None = None
    column: int | None = None


TrialPart = FetchedBytes | DocumentReport | RecordPreview | DocumentFinding
"""The parts that `windrow try` yields."""

TRIAL_TYPES: Mapping[type[TrialPart], str] = {
    FetchedBytes: "fetched",
    DocumentReport: "document",
    RecordPreview: "record",
    DocumentFinding: "finding",
}
"""The `type` of each as a line of JSON."""


class VersionCounts(NamedTuple):
    """Versions of records before and after a replay; `changed` of them differ from every version before."""

    session: int
    before: int
    after: int
    changed: int


class ReplayResult(NamedTuple):
    """What a replay did: the number of its session, and what changed."""

    session: int
    changes: tuple[ReplayChange, ...] = ()
    versions: VersionCounts | None = None


class TakedownEstimate(NamedTuple):
    """How much a takedown would remove; `bytes` is their size in the archive, compressed."""

    target: str
    addresses: int
    attempts: int
    captures: int
    bytes: int


class Message(NamedTuple):
    """A line of JSON: its type and its value; with `omit_empty`, empty fields are left out."""

    type: str
    value: Any
    omit_empty: bool = False


class Explanation(NamedTuple):
    """The answer of `windrow why`: the object itself, its messages for `--json`, and its lines for people."""

    subject: Any
    messages: tuple[Message, ...]
    lines: tuple[str, ...]


class Export(NamedTuple):
    """An export of `windrow export` and its formats; `write` returns the number of units that it wrote."""

    name: str
    forms: tuple[str, ...]
    help: str
    write: Callable[[Workspace, str, TextIO], int]  # to a UTF-8 stream; bytes go to its `buffer`
    unit: str = "rows"


class SourceChange(NamedTuple):
    """Something appeared, changed or disappeared at a source; `key` is its address or name.

    `at` is when that was seen, in UTC; `kind` is new, changed or gone; `difference` is one line for people.
    """

    at: datetime
    source: str
    collection: str
    kind: str
    key: str
    title: str
    difference: str


NEW, CHANGED, GONE = "new", "changed", "gone"
"""The values of `SourceChange.kind`."""


class Window(NamedTuple):
    """Which changes to list: those written by the sessions between two facts of the ledger, or seen since a time.

    A session also writes the answers to requests of earlier sessions that were stopped before they wrote them.
    """

    since: datetime | None = None
    facts: tuple[int, int] | None = None


class Adapter(Protocol):
    """What every collection must implement."""

    def harvest(self, workspace: Workspace) -> Harvest:
        """Return the harvest that the configuration describes, its databases opened."""
        ...

    def require_ready(self, workspace: Workspace) -> None:
        """Raise ConfigError if a run could not begin with this configuration; does not open a database."""
        ...

    def check_source(self, workspace: Workspace, source: Source) -> None:
        """Raise UsageError if a run would refuse this new source."""
        ...

    def update_projection(self, workspace: Workspace, ledger: Ledger) -> None:
        """Update the collection's projection after an operator's decision, such as `windrow retry`."""
        ...

    def check(self, workspace: Workspace, ledger: Ledger) -> Iterable[Fault]:
        """Yield where the collection's own store or projection disagrees with the ledger."""
        ...

    def replay(self, workspace: Workspace, setup: SessionSettings, progress: Progress) -> ReplayResult | None:
        """Read the kept captures again with today's readers; None if there is nothing to rebuild."""
        ...

    def try_address(self, workspace: Workspace | None, address: str) -> Iterator[TrialPart]:
        """Fetch one address or file, read it as the collection does, and keep nothing."""
        ...


class Explains(Protocol):
    """Can explain names that are not items of the ledger, such as a page or a record."""

    def explain(self, workspace: Workspace, ledger: Ledger, name: str) -> Explanation | None:
        """Explain a key, an address or a title; None if this collection does not have it."""
        ...


class PredictsOutcome(Protocol):
    """Can predict what would happen to a file or address that is not in the ledger."""

    def predict(self, workspace: Workspace, name: str) -> str:
        """Apply the rules to a name and return a clause for a message; empty if no rule applies."""
        ...


class ListsChanges(Protocol):
    """Can list from its own store what changed at its sources; for other collections their listings are compared."""

    def changes(self, workspace: Workspace, ledger: Ledger, window: Window) -> Iterator[SourceChange]:
        """Yield what appeared, changed or disappeared at the collection's sources."""
        ...

    def content(self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int]) -> Mapping[str, Counter[str]]:
        """Count what `changes` yields for the sessions between two facts, by source and kind."""
        ...

    def content_of_attempts(
        self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int]
    ) -> Mapping[str, Counter[str]] | None:
        """Count what the attempts between two facts observed, by source and kind; None if that is not known yet."""
        ...


class RestCount(NamedTuple):
    """How many items of a kind stopped in a phase, with a status and reason."""

    collection: str
    kind: str
    phase: str
    status: Status
    reason: Reason | None
    number: int


class DerivesStates(Protocol):
    """Derives the states of items from the ledger as its projection shows them; others show the pending step."""

    def states(self, ledger: Ledger, items: Sequence[int]) -> Mapping[int, State]:
        """Return the states of some of its items."""
        ...

    def count_states(self, ledger: Ledger) -> Mapping[tuple[str, State], int]:
        """Count its items by kind and state; of documents only those of the latest attempt."""
        ...

    def count_rests(self, ledger: Ledger, span: tuple[int, int]) -> list[RestCount]:
        """Count the states in which its items stopped between two facts, each once for each state and reason."""
        ...


class CountsOutcomes(Protocol):
    """Counts the outcomes of its crawl's attempts, which are known once the answers were read."""

    def outcomes(
        self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int], counted: Counter[str]
    ) -> Counter[str]:
        """Count attempts between two facts by `Crawl.outcome`; `counted` is the ledger's count."""
        ...


class CountsRecords(Protocol):
    """Makes records from its addresses, some only after a service has answered."""

    def holdings(self, workspace: Workspace) -> Mapping[str, int]:
        """Return the number of current records by source."""
        ...

    def waits(self, workspace: Workspace, ledger: Ledger) -> ServiceWait | None:
        """Return how many records wait for which service, since when and why; None if no record waits."""
        ...


class Adopts(Protocol):
    """Can harvest a folder of documents that were fetched by other means."""

    ADOPTED_AT: str
    """The phase at which adopted documents begin."""
    ADOPTS: str
    """What may be adopted, for the help of `run`: `a folder of ...`."""

    def adopt(self, workspace: Workspace, folder: Path) -> Source:
        """Return a source that lists the documents of a folder."""
        ...


class ImportsWarc(Protocol):
    """Can read WARC files of other tools as if it had fetched what is in them."""

    IMPORTS_WARC: bool


class Exports(Protocol):
    """Can export what it holds in standard formats."""

    EXPORTS: tuple[Export, ...]


class Comparison(NamedTuple):
    """What changed between two versions of a page: each version's name, and when it was first seen.

    `changes` are of short texts (title, description, ...), `lines` of the main text, each with a sign: `+`, `-`,
    a blank for context, or `@` where lines are left out. `added` and `removed` count lines of the main text,
    `elsewhere` changed lines outside of it. If the page was gone at one of the two times, `old_gone` or `new_gone`
    says since when; that side then has no text, and its version is the last before.
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
    """Can show what changed between two versions of a page."""

    def compare(self, workspace: Workspace, name: str, since: str, until: str, *, context: int) -> Comparison:
        """Compare two versions of a page. Raises UsageError if it does not have them."""
        ...


class Searches(Protocol):
    """Can search what it holds."""

    def search(self, workspace: Workspace, text: str, *, offset: int, limit: int, explain: bool) -> SearchAnswer:
        """Return the results from `offset` on, at most `limit`; any text is a valid query."""
        ...


class ChecksTree(Protocol):
    """Can check a folder of files against the standard of its collection."""

    def check_tree(self, folder: Path) -> Iterator[Fault | int]:
        """Yield each fault, and the size of each file in bytes."""
        ...


class Forgets(Protocol):
    """Can remove what it holds of a target; only a tombstone stays."""

    def refuse_takedown(self, workspace: Workspace) -> None:
        """Raise ConfigError if a store is in a place that is not windrow's own: then nothing may be taken down."""
        ...

    def takedown_targets(self, workspace: Workspace, ledger: Ledger, name: str) -> Iterable[TakedownTarget]:
        """Return the targets that a name stands for; empty if the name is not known."""
        ...

    def remove_taken_down(self, workspace: Workspace, target: TakedownTarget, attempts: Sequence[int]) -> int:
        """Remove what these attempts, of any collection, brought of a target from the stores; return the number.

        It is idempotent.
        """
        ...

    def clean_stores(self, workspace: Workspace, pulse: Callable[[], None]) -> tuple[str, ...]:
        """Overwrite removed data in the stores' files; return a sentence for each file in which some remains.

        `pulse` is called often, so the caller can show progress.
        """
        ...


class SnippetMark(NamedTuple):
    """A match in the snippet, as a range of characters; `end` is not part of it."""

    start: int
    end: int


def snippet_marks(pieces: Sequence[tuple[str, bool]]) -> tuple[SnippetMark, ...]:
    """Return the ranges of the matches in a text that is given as pieces of (text, whether it is a match)."""
    marks, start = [], 0
    for text, is_match in pieces:
        if is_match:
            marks.append(SnippetMark(start, start + len(text)))
        start += len(text)
    return tuple(marks)


class SearchResult(NamedTuple):
    """One search result. Title and snippet are pieces of (text, whether it is a match).

    `details` is its collection's own description, such as a `PageHit`, and `type` the type of that as a line of JSON;
    `at` is when it was last changed or published, if known.
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
    """The results of a query from `offset` on, best first; whether there are `further` results, and notes for people.

    `relaxed` is true if nothing has all the words and results with most of them are shown. `frequency` is in how many
    of the `documents` searched each word occurs.
    """

    query: str
    offset: int
    results: tuple[SearchResult, ...]
    notes: tuple[str, ...]
    further: bool
    relaxed: bool
    frequency: Mapping[str, int] = {}
    documents: int = 0
