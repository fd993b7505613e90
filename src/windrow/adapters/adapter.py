"""The protocols that the adapters of collections implement, and the values that their methods return.

A collection names its adapter as `module:name`. The adapter is a module or an object with the methods of `Adapter`. The
other protocols are optional: a command uses the adapters that have the methods of its protocol (`registry.capable`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TextIO

from windrow.errors import ConfigError, StoreError
from windrow.model import DiffLine, State, Status, TextChange
from windrow.reasons import Reason
from windrow.stores.store_mark import StoreMark

if TYPE_CHECKING:
    from windrow.adapters.search_answer import SearchAnswer
    from windrow.adapters.selection import ExportSelection
    from windrow.adapters.trial import TrialPart
    from windrow.caps import Excess
    from windrow.config import Workspace
    from windrow.engine.check import Fault
    from windrow.engine.progress import Progress
    from windrow.engine.replay import ReplayChange
    from windrow.engine.requests.waiting import ServiceWait
    from windrow.engine.run import Harvest, SessionSettings
    from windrow.engine.takedown import TakedownTarget
    from windrow.ledger import Ledger
    from windrow.ledger.sessions import RuleCount
    from windrow.ledger.typed.items import StepCount
    from windrow.model import Source


def harvested_collections(workspace: Workspace, ledger: Ledger | None = None) -> set[str]:
    """Return the names of the collections that have or had sources in a workspace.

    Commands load only the adapters of these collections. If `ledger` is None, the ledger of the workspace is opened and
    closed, if it exists.
    """
    configured = {source.collection for source in workspace.sources}
    if ledger is not None:
        return configured | ledger.sessions.collections()
    with _open_ledger(workspace) as opened:
        return configured | opened.sessions.collections() if opened else configured


def _open_ledger(workspace: Workspace) -> AbstractContextManager[Ledger | None]:
    from windrow.ledger import Ledger  # noqa: PLC0415 loaded when used

    return closing(Ledger(workspace.ledger)) if workspace.ledger.exists() else nullcontext()


def refuse_without_contact(workspace: Workspace | None, host_name: str) -> None:
    """Raise ConfigError unless a contact is configured in `workspace`, or the host is this machine."""
    from windrow.fetch.politeness.guard import is_loopback  # noqa: PLC0415 loaded when used
    from windrow.fetch.politeness.user_agent import names_contact  # noqa: PLC0415 loaded when used

    if is_loopback(host_name) or (workspace is not None and names_contact(workspace.user_agent)):
        return
    first_step = "" if workspace else "windrow init, then: "
    path = workspace.root / "windrow.toml" if workspace else "windrow.toml"
    raise ConfigError(
        f"requests to {host_name} must name a contact, but none is configured",
        hint=f'{first_step}contact = "https://example.org/our-crawler" at the top of {path}',
    )


def refuse_lost_store(workspace: Workspace, collection: str, path: Path) -> None:
    """Raise StoreError if the ledger has attempts or documents of a collection whose store `path` does not exist.

    A run makes the store before its first attempt, so the store was moved away or deleted.
    """
    with _open_ledger(workspace) as ledger:
        is_lost = ledger is not None and bool(
            ledger.attempts.after(collection, 0, 1) or ledger.items.read_items(collection)
        )
    if is_lost:
        raise StoreError(f"{path} does not exist, and the next run rebuilds it", hint=f"windrow run {collection}")


class LazyAdapter:
    """An adapter whose methods are defined in several modules of a package. A module is imported when it is first used.

    So a search does not import the modules of a harvest. `modules` maps the name of each method to its module below
    `package`. `constants` are attributes that need no import. `capabilities` has the names of both.
    """

    def __init__(self, package: str, modules: Mapping[str, str], **constants: Any) -> None:
        self._package, self._modules = package, modules
        self.capabilities = frozenset({*modules, *constants})
        self.__dict__.update(constants)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._modules:
            raise AttributeError(f"the adapter {self.__dict__.get('_package')!r} has no attribute {name!r}")
        try:
            member = getattr(import_module(f"{self._package}.{self._modules[name]}"), name)
        except ImportError as error:
            raise ConfigError(f"{name!r} of the adapter {self._package!r} cannot be loaded: {error}") from error
        self.__dict__[name] = member  # `__getattr__` is not called for the next access
        return member


class VersionCounts(NamedTuple):
    """The session of a replay, the numbers of versions before and after it, and how many of them differ (`changed`).

    `damaged` is the number of captures that cannot be read, since their bytes in the archive are damaged or missing.
    """

    session: int
    before: int
    after: int
    changed: int
    damaged: int = 0


class ReplayResult(NamedTuple):
    """The result of a replay: the number of its session as shown to people, and either `changes` or `versions`.

    `changes` are the documents with another result. `versions` is None for a collection that does not keep versions.
    """

    session: int
    changes: tuple[ReplayChange, ...] = ()
    versions: VersionCounts | None = None


class TakedownEstimate(NamedTuple):
    """How much a takedown would remove, and from which `sources`.

    `bytes` is the size of the captures in the archive, compressed.
    """

    target: str
    addresses: int
    attempts: int
    captures: int
    bytes: int
    sources: tuple[str, ...] = ()


class Message(NamedTuple):
    """A line of JSON: its type and its value. If `omit_empty` is true, empty fields of the value are left out."""

    type: str
    value: Any
    omit_empty: bool = False


class Explanation(NamedTuple):
    """An explanation by `windrow why`: the object that it explains, messages for `--json`, and lines for people."""

    subject: Any
    messages: tuple[Message, ...]
    lines: tuple[str, ...]


class Export(NamedTuple):
    """One export of `windrow export`: its name, the names of its formats (`forms`), and the function that writes it.

    `write` writes everything in one of the formats, and returns the number of units, such as rows. `write_selected`
    writes a selection of records, or all of them, and returns the numbers of units that are written, that are selected
    but not valid, and that are not selected. It is None if the records have no times by which they could be selected.
    `count_left_out` returns how many records `write` leaves out in a format, because they are not valid or not there;
    it is None if none are. `invalid_help` tells the user what is not valid, or which command names it. `find_excess`
    returns what caps leave out of a format; it is None if no cap does.
    """

    name: str
    forms: tuple[str, ...]
    help: str
    write: Callable[[Workspace, str, TextIO], int]  # to a UTF-8 stream; bytes go to its `buffer`
    unit: str = "rows"
    write_selected: Callable[[Workspace, str, TextIO, ExportSelection], tuple[int, int, int]] | None = None
    count_left_out: Callable[[Workspace, str], int] | None = None
    invalid_help: str = "windrow check names them"
    find_excess: Callable[[Workspace, str], tuple[Excess, ...]] | None = None


class SourceChange(NamedTuple):
    """A page, file or record that appeared, changed or disappeared at a source. `key` is its address or name.

    `at` is when the change was seen, in UTC. `kind` is new, changed or gone. `difference` is one line for people. `url`
    is the record's own address or, if it has none, the address of the document that contains it. It is empty for a file
    that has no web address. `lines` are the changed lines of its long texts, if the window asks for them. `fact` is the
    number on the ledger of what showed the change: an attempt, or an event of a listing.
    """

    at: datetime
    source: str
    collection: str
    kind: str
    key: str
    title: str
    difference: str
    url: str = ""
    lines: tuple[DiffLine, ...] = ()
    fact: int = 0


NEW, CHANGED, GONE = "new", "changed", "gone"
"""The values of `SourceChange.kind`."""

ALL_FACTS = (0, 2**62)
"""A range that has the number of every fact."""


class Window(NamedTuple):
    """Which changes to list: those that the sessions with the numbers `facts` (first, last; None: all) wrote.

    If `since` is given, changes that listings and responses from then on show are listed too. `lines` includes the
    changed lines of texts. Of all these, those with a `fact` in `shown_by` and before `until` are listed; those of
    other sources than `source` may be left out.
    """

    since: datetime | None = None
    facts: tuple[int, int] | None = None
    lines: bool = False
    shown_by: tuple[int, int] = ALL_FACTS
    until: datetime | None = None
    source: str = ""


class Adapter(Protocol):
    """The methods that every adapter must have."""

    def harvest(self, workspace: Workspace) -> Harvest:
        """Return the harvest that the configuration describes, with its databases opened."""

    def require_ready(self, workspace: Workspace) -> None:
        """Raise ConfigError if a run could not begin with this configuration. No database is opened."""

    def check_source(self, workspace: Workspace, source: Source) -> None:
        """Raise UsageError if a run would refuse this new source."""

    def update_projection(self, workspace: Workspace, ledger: Ledger) -> None:
        """Update the collection's projection after an operator's decision, such as `windrow retry`."""

    def marks(self, workspace: Workspace, ledger: Ledger) -> Mapping[str, Callable[[], StoreMark]]:
        """Return a function for each store and projection that reads how far it goes, and of which ledger it is."""

    def check(self, workspace: Workspace, ledger: Ledger) -> Iterable[Fault]:
        """Yield the faults of the collection's stores and projection, such as differences from the ledger."""

    def replay(self, workspace: Workspace, setup: SessionSettings, progress: Progress) -> ReplayResult | None:
        """Read the kept captures again with the current readers. Return None if there is no store to rebuild."""

    def try_address(self, workspace: Workspace | None, address: str) -> Iterator[TrialPart]:
        """Fetch one address or file, read it as the collection does, and yield the results. Nothing is stored."""


class Explains(Protocol):
    """Can explain things that are not items of the ledger, such as pages or records, by their names."""

    def explain(self, workspace: Workspace, ledger: Ledger, name: str) -> Explanation | None:
        """Explain the thing with this key, address or title, or return None if this collection does not have it."""


class PredictsOutcome(Protocol):
    """Can predict the outcome for a file or address that is not in the ledger."""

    def predict(self, workspace: Workspace, name: str) -> str:
        """Return the end of a message that says how a run would treat a file or address `name`, or "" if unknown."""


class ListsChanges(Protocol):
    """Can list changes from its own store. For other collections, the changes in sources' listings are shown."""

    def changes(self, workspace: Workspace, ledger: Ledger, window: Window) -> Iterator[SourceChange]:
        """Yield the records or pages of the collection that appeared, changed or disappeared within the window."""

    def first_of_newest(self, workspace: Workspace, window: Window, most: int) -> int:
        """Return the first of the facts that show the newest changes within the window, about `most` of them.

        If there are fewer, or they cannot be told apart from the others, return 0.
        """

    def content(self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int]) -> Mapping[str, Counter[str]]:
        """Count the changes that the sessions with the numbers `facts` (first, last) wrote, by source and kind.

        Kinds are new, changed and gone; a page that now refers to another address also counts as moved.
        """

    def content_of_attempts(
        self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int]
    ) -> Mapping[str, Counter[str]] | None:
        """Count the changes that the attempts with the numbers `facts` (first, last) observed, by source and kind.

        The kinds are those of `content`. Returns None if these changes are not known yet.
        """


class ReachedCount(NamedTuple):
    """The number of items of one kind that reached one state: a status in a phase, with a reason if they failed."""

    collection: str
    kind: str
    phase: str
    status: Status
    reason: Reason | None
    number: int


class DerivesStates(Protocol):
    """Can derive the states of its items. For a collection that cannot, the pending steps of its items are shown."""

    def states(self, ledger: Ledger, items: Sequence[int]) -> Mapping[int, State]:
        """Return a dict from the number of each item to its state."""

    def count_states(self, ledger: Ledger) -> Mapping[tuple[str, State], int]:
        """Count the collection's items by kind and state. Documents from earlier attempts at a file do not count."""

    def count_reached(
        self, ledger: Ledger, facts: tuple[int, int], step_counts: Sequence[StepCount]
    ) -> list[ReachedCount]:
        """Count the items that reached each state between two facts (first, last).

        `step_counts` are the numbers of items, of all collections, that steps read between these facts.
        """


class CountsOutcomes(Protocol):
    """Can count the outcomes of its attempts. Some are known only after the fetched documents have been read."""

    def outcomes(
        self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int], counted: Counter[str]
    ) -> Counter[str]:
        """Return the corrected numbers of the attempts in `facts` (first, last) by outcome.

        `counted` are the numbers to correct, which were counted by `Crawl.outcome`.
        """


class CountsRecords(Protocol):
    """Can count its current records, and the documents that wait for services."""

    def holdings(self, workspace: Workspace) -> Mapping[str, int]:
        """Return a dict from source name to the number of current records of this source."""

    def waits(self, workspace: Workspace, ledger: Ledger) -> ServiceWait | None:
        """Return how many documents wait for services, since when and why, or None if no document waits."""


class CountsUnlisted(Protocol):
    """Can count what the lists of its sources do not have now, or have and is not read yet, although nothing failed."""

    def count_unlisted(self, workspace: Workspace, ledger: Ledger) -> Iterable[RuleCount]:
        """Yield for each source and rule how many records are not listed or not read; the rule says what they are."""


class AsksAgain(Protocol):
    """Can ask a service again about documents for which it has given an answer before."""

    def ask_again(
        self, workspace: Workspace, service: str, names: Sequence[str], reason: str, *, dry_run: bool
    ) -> list[str]:
        """Let the next run ask a service again about these records, or about all records if `names` is empty.

        If `reason` is not empty, only records whose last answer had this reason, in the service's words, are chosen.
        Returns the keys of the chosen records. If `dry_run` is true, nothing else is done.
        """


class Adopts(Protocol):
    """Can harvest a folder of documents that were fetched by other means."""

    ADOPTED_AT: str
    """The phase with which a run on adopted documents begins."""
    ADOPTS: str
    """A description of the folders that can be adopted, such as `a folder of zips`, for the help of `run`."""

    def adopt(self, workspace: Workspace, folder: Path) -> Source:
        """Return a source that lists the documents of a folder."""


class ImportsWarc(Protocol):
    """Can import WARC files from other programs, as if it had fetched the responses in them itself."""

    IMPORTS_WARC: bool


class Exports(Protocol):
    """Can export its records."""

    EXPORTS: tuple[Export, ...]


class Comparison(NamedTuple):
    """The difference between two versions of a page or record: their names, and when each was first seen.

    `changes` has the changes of short texts (title, description, ...). `lines` has the changed lines of the long texts,
    each with a sign: `+`, `-`, a blank for context, or `@` if lines are left out. `added` and `removed` are the numbers
    of lines with `+` and `-`. `elsewhere` is the number of changed lines outside a page's main text. If the page or
    record was gone at one of the two times, `old_gone` or `new_gone` is the time since which it was gone. That version
    has no text and, if it is of a page, has the name of the version before it.
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
        """Compare the versions of `name` at the ends of two periods, or return None if it is not known.

        If `until` is empty, the latest version is compared. If `since` is empty, the version before it is compared.
        `context` is the number of unchanged lines shown around a change. Raises WindrowError if there are not two
        versions to compare.
        """


class Searches(Protocol):
    """Can search its records."""

    def search(
        self, workspace: Workspace, text: str, *, offset: int, limit: int, explain: bool, facets: bool = False
    ) -> SearchAnswer:
        """Return at most `limit` results from `offset` on, with remarks if `explain` is true. Any text is valid.

        With `facets`, the answer also counts the documents that the query finds, in total and for each facet's value.
        """


class ListedRecord(NamedTuple):
    """A current record: when it was first seen, and since when it has been as it is (`changed`)."""

    key: str
    title: str
    url: str
    source: str
    first_seen: datetime
    changed: datetime
    value: Any


class RecordList(NamedTuple):
    """Some current records of a collection, the newest first. `next` is where the list goes on, or None at its end."""

    records: tuple[ListedRecord, ...] = ()
    next: int | None = None


class ListsRecords(Protocol):
    """Can list its records."""

    def list_records(self, workspace: Workspace, *, before: int, limit: int) -> RecordList:
        """Return at most `limit` current records, from the newest on or from where `before` (`next`) says (0: all)."""


class ChecksTree(Protocol):
    """Can check whether the files in a folder follow the standard of its collection.

    `TREE` is the pattern of their paths below the folder, as for `Path.glob`.
    """

    TREE: str

    def check_tree(self, folder: Path) -> Iterator[Fault | int]:
        """Yield each fault, and the size in bytes of each file that was read."""


class Forgets(Protocol):
    """Can remove all data of a taken-down target from its stores."""

    def refuse_takedown(self, workspace: Workspace) -> None:
        """Raise ConfigError if a search index is in a folder with other files, so that nothing can be taken down."""

    def takedown_targets(self, workspace: Workspace, ledger: Ledger, name: str) -> Iterable[TakedownTarget]:
        """Return the targets with this name. The result is empty if the name is not known."""

    def remove_taken_down(self, workspace: Workspace, target: TakedownTarget, attempts: Sequence[int]) -> int:
        """Remove from the stores what these attempts at a target fetched. Return the number of records removed.

        The attempts may be those of any collection. A repeated call does no harm.
        """

    def clean_stores(self, workspace: Workspace, pulse: Callable[[], None]) -> tuple[str, ...]:
        """Overwrite removed data in the files of the stores. Return a message for each file in which some data remains.

        `pulse` is called often, so that the caller can renew the lease.
        """
