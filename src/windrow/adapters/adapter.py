"""The interface between a collection and a workspace: its configuration, stores and projection.

A collection names its adapter as `module:name`; the adapter is a module or an object with the methods of `Adapter`. The
other protocols are optional: a command uses the adapters that have the methods of its protocol (`registry.capable`).
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
from windrow.model import DiffLine, State, Status, TextChange
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.adapters.search_answer import SearchAnswer
    from windrow.adapters.selection import ExportSelection
    from windrow.adapters.trial import TrialPart
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
    """Return the names of the collections that have or had sources in a workspace: only their adapters are loaded.

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
    """Raise ConfigError if `host` is another machine and no contact is configured; None stands for no workspace."""
    from windrow.fetch.politeness.guard import is_loopback  # noqa: PLC0415 loaded when used
    from windrow.fetch.politeness.user_agent import names_contact  # noqa: PLC0415 loaded when used

    if is_loopback(host) or (workspace is not None and names_contact(workspace.user_agent)):
        return
    first_step = "" if workspace else "windrow init, then: "
    path = workspace.root / "windrow.toml" if workspace else "windrow.toml"
    raise ConfigError(
        f"windrow.toml: contact is missing, but requests to {host} must name one",
        hint=f'{first_step}contact = "https://example.org/our-crawler" at the top of {path}',
    )


class LazyAdapter:
    """An adapter whose methods are defined in several modules of a package, each imported when it is first used.

    So a search does not import the modules of a harvest. `modules` maps the name of a method to its module below
    `package`; `constants` are attributes that need no import; `capabilities` are the names of both.
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
        self.__dict__[name] = member  # `__getattr__` is not called for the next access
        return member


class VersionCounts(NamedTuple):
    """Numbers of versions before and after a replay; `changed` counts the new versions that did not exist before."""

    session: int
    before: int
    after: int
    changed: int


class ReplayResult(NamedTuple):
    """The result of a replay: the number of its session, and either the changed documents or counts of versions."""

    session: int
    changes: tuple[ReplayChange, ...] = ()
    versions: VersionCounts | None = None


class TakedownEstimate(NamedTuple):
    """How much a takedown would remove; `bytes` is the compressed size of the captures in the archive."""

    target: str
    addresses: int
    attempts: int
    captures: int
    bytes: int


class Message(NamedTuple):
    """A line of JSON: its type, and its value, whose empty fields are left out with `omit_empty`."""

    type: str
    value: Any
    omit_empty: bool = False


class Explanation(NamedTuple):
    """An answer of `windrow why`: the object it is about, its messages for `--json`, and its lines for people."""

    subject: Any
    messages: tuple[Message, ...]
    lines: tuple[str, ...]


class Export(NamedTuple):
    """An export of `windrow export` and its formats; `write` returns the number of units that it wrote.

    `write_selected` does the same for a selection, in an export that has records with times of their own.
    """

    name: str
    forms: tuple[str, ...]
    help: str
    write: Callable[[Workspace, str, TextIO], int]  # to a UTF-8 stream; bytes go to its `buffer`
    unit: str = "rows"
    write_selected: Callable[[Workspace, str, TextIO, ExportSelection], int] | None = None


class SourceChange(NamedTuple):
    """A page, file or record appeared, changed or disappeared at a source; `key` is its address or name.

    `at` is when the change was seen, in UTC; `kind` is new, changed or gone; `difference` is one line for people.
    `url` is the own address of a record, or the address where it was read; empty for what has no web address.
    """

    at: datetime
    source: str
    collection: str
    kind: str
    key: str
    title: str
    difference: str
    url: str = ""


NEW, CHANGED, GONE = "new", "changed", "gone"
"""The values of `SourceChange.kind`."""


class Window(NamedTuple):
    """Which changes to list: those seen since a time, and those written by the sessions of `facts` (first, last).

    A session also writes the answers to requests of earlier sessions that were stopped before they wrote them.
    """

    since: datetime | None = None
    facts: tuple[int, int] | None = None


class Adapter(Protocol):
    """The methods that every adapter must have."""

    def harvest(self, workspace: Workspace) -> Harvest:
        """Return the harvest that the configuration describes, with its databases opened."""
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
        """Yield a fault for each difference between the collection's store or projection and the ledger."""
        ...

    def replay(self, workspace: Workspace, setup: SessionSettings, progress: Progress) -> ReplayResult | None:
        """Read the kept captures again with the current readers; return None if there is nothing to rebuild."""
        ...

    def try_address(self, workspace: Workspace | None, address: str) -> Iterator[TrialPart]:
        """Fetch one address or file, read it as the collection does, and yield the results; nothing is stored."""
        ...


class Explains(Protocol):
    """Can explain names that are not items of the ledger, such as a page or a record."""

    def explain(self, workspace: Workspace, ledger: Ledger, name: str) -> Explanation | None:
        """Explain a key, an address or a title; return None if this collection does not have it."""
        ...


class PredictsOutcome(Protocol):
    """Can predict the outcome for a file or address that is not in the ledger."""

    def predict(self, workspace: Workspace, name: str) -> str:
        """Return a clause on what the rules would do with this name, or an empty text if no rule applies."""
        ...


class ListsChanges(Protocol):
    """Can list changes from its own store; for other collections, the changes in listings are listed."""

    def changes(self, workspace: Workspace, ledger: Ledger, window: Window) -> Iterator[SourceChange]:
        """Yield the records or pages of the collection that appeared, changed or disappeared within the window."""
        ...

    def content(self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int]) -> Mapping[str, Counter[str]]:
        """Count the changes that the sessions of `facts` (first, last) wrote, by source and kind."""
        ...

    def content_of_attempts(
        self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int]
    ) -> Mapping[str, Counter[str]] | None:
        """Count the changes that the attempts of `facts` (first, last) observed, by source and kind.

        Returns None if these are not known yet.
        """
        ...


class RestCount(NamedTuple):
    """The number of items of a kind that stopped in a phase, with a status and reason."""

    collection: str
    kind: str
    phase: str
    status: Status
    reason: Reason | None
    number: int


class DerivesStates(Protocol):
    """Derives the states of items as its projection has them; for other collections, the pending step is shown."""

    def states(self, ledger: Ledger, items: Sequence[int]) -> Mapping[int, State]:
        """Return the states of items, by their numbers."""
        ...

    def count_states(self, ledger: Ledger) -> Mapping[tuple[str, State], int]:
        """Count its items by kind and state; only documents of a file's latest attempt count."""
        ...

    def count_rests(self, ledger: Ledger, span: tuple[int, int]) -> list[RestCount]:
        """Count the states in which its items stopped between the facts `span` (first, last), by state and reason."""
        ...


class CountsOutcomes(Protocol):
    """Counts the outcomes of its crawl's attempts, which are only known once the answers were read."""

    def outcomes(
        self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int], counted: Counter[str]
    ) -> Counter[str]:
        """Count the attempts of `facts` (first, last) by `Crawl.outcome`; `counted` are the ledger's counts."""
        ...


class CountsRecords(Protocol):
    """Makes records from its addresses, some of them only after a service has answered."""

    def holdings(self, workspace: Workspace) -> Mapping[str, int]:
        """Return the number of current records by source."""
        ...

    def waits(self, workspace: Workspace, ledger: Ledger) -> ServiceWait | None:
        """Return how many records wait for services, since when and why, or None if no record waits."""
        ...


class Adopts(Protocol):
    """Can harvest a folder of documents that were fetched by other means."""

    ADOPTED_AT: str
    """The phase in which adopted documents begin."""
    ADOPTS: str
    """A description of such a folder for the help of `run`, such as `a folder of zips`."""

    def adopt(self, workspace: Workspace, folder: Path) -> Source:
        """Return a source that lists the documents of a folder."""
        ...


class ImportsWarc(Protocol):
    """Can import WARC files of other tools as if it had fetched their records."""

    IMPORTS_WARC: bool


class Exports(Protocol):
    """Can export its records in standard formats."""

    EXPORTS: tuple[Export, ...]


class Comparison(NamedTuple):
    """The difference between two versions of a page: `old` and `new` are their names, with when each was first seen.

    `changes` are those of short texts (title, description, ...); `lines` are those of the main text, each with a sign:
    `+`, `-`, a blank for context, or `@` if lines are left out. `added` and `removed` count lines of the main text,
    `elsewhere` changed lines outside of it. If the page was gone at one of the two times, `old_gone` or `new_gone` is
    the time since which it was gone; that side has no text, and names the last version before.
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
    """Can compare two versions of a page or record."""

    def compare(self, workspace: Workspace, name: str, since: str, until: str, *, context: int) -> Comparison | None:
        """Compare the versions at the ends of two periods; return None if this collection does not have the page."""
        ...


class Searches(Protocol):
    """Can search its records."""

    def search(self, workspace: Workspace, text: str, *, offset: int, limit: int, explain: bool) -> SearchAnswer:
        """Return the results from `offset` on, at most `limit`; any text is a valid query."""
        ...


class ChecksTree(Protocol):
    """Can check a folder of files against the standard of its collection."""

    def check_tree(self, folder: Path) -> Iterator[Fault | int]:
        """Yield each fault found, and for each file its size in bytes."""
        ...


class Forgets(Protocol):
    """Can remove all data of a target from its stores."""

    def refuse_takedown(self, workspace: Workspace) -> None:
        """Raise ConfigError if a store is in a folder that is not windrow's own: then nothing can be taken down."""
        ...

    def takedown_targets(self, workspace: Workspace, ledger: Ledger, name: str) -> Iterable[TakedownTarget]:
        """Return the targets with this name; none if the name is unknown."""
        ...

    def remove_taken_down(self, workspace: Workspace, target: TakedownTarget, attempts: Sequence[int]) -> int:
        """Remove the data of a target that these attempts of any collection obtained; return the number of records.

        It may be repeated.
        """
        ...

    def clean_stores(self, workspace: Workspace, pulse: Callable[[], None]) -> tuple[str, ...]:
        """Overwrite removed data in the stores' files; return a message for each file in which some data remains.

        `pulse` is called often, so that the caller can show progress.
        """
        ...
