"""An open workspace, with the same verbs as the command line."""

# ruff: noqa: PLC0415 each verb loads what it needs, so that `windrow --help` and completion are quick
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from windrow.app.arguments import Day, Names, as_tuple, format_day, utc_time
from windrow.contract.registry import adapter, collection, installed, phases
from windrow.errors import ConfigError, LedgerError, UsageError
from windrow.private_files import published_files

if TYPE_CHECKING:
    from windrow.adapters.adapter import Comparison, RecordList, ReplayResult, SourceChange, TakedownEstimate
    from windrow.adapters.home import Home, HomeView
    from windrow.adapters.search_answer import SearchAnswer
    from windrow.adapters.trial import TrialPart
    from windrow.app.begin import NewCollection, Prepared
    from windrow.app.captures import KeptCapture, SessionEntry
    from windrow.app.check import Checkup
    from windrow.app.session_details import SessionDetails, SourceRun
    from windrow.app.status import WorkspaceState
    from windrow.app.story import StoryAnswer
    from windrow.app.summary import SessionSummary
    from windrow.config import Workspace
    from windrow.content import Extract
    from windrow.engine.frontier import Chosen, Preview
    from windrow.engine.progress import Progress
    from windrow.engine.run import SessionSettings
    from windrow.engine.takedown import TakedownResult
    from windrow.ledger import Ledger


class Windrow:
    """An open workspace, with a method for each command that works in one."""

    def __init__(
        self,
        start: Path | str | None = None,
        flags: Mapping[str, Any] | None = None,
        *,
        named: Path | None = None,
        needed: Names = (),
    ) -> None:
        """Open the workspace at `start` or above it; without `start`, the workspace that a command would use here.

        `flags` are settings by name, which override all others. `named` is the folder of the option `--workspace`. If
        `needed` names sources and collections, a wrong setting of another source only makes that source unusable.
        """
        from windrow.config import find_workspace, load

        root = find_workspace(Path(start or "."), os.environ if start is None else {}, named)
        self._flags, self._needed = flags, as_tuple(needed)
        self.config: Workspace = load(root, flags=flags, needed=self._needed)

    @classmethod
    def init(cls, folder: Path | str = ".") -> Windrow:
        """Make a workspace in a folder, or upgrade the ledger of an existing one, and open it."""
        from windrow.app.begin import prepare

        return cls(named=prepare(Path(folder)).folder)

    def prepare(self) -> Prepared:
        """Upgrade the workspace's ledger as `init` does, and return what was done, with a line for each action."""
        from windrow.app.begin import prepare

        return prepare(self.config.root)

    def new_source(self, name: str, url: str, *, collection: str = "", preset: str = "", **settings: str) -> Path:
        """Write `sources/NAME.toml`, check it with the whole configuration, and return its path.

        With a `preset`, such as `legistar`, `collection` is not needed. `settings` are further settings of the source,
        such as `centre="H"`. Makes no request.
        """
        from windrow.app.begin import NewSource, add_source

        path = add_source(self.config.root, NewSource(name, url, collection, settings, preset))
        self._reload()
        return path

    @staticmethod
    def new_collection(name: str, into: Path | str = ".", kept: str = "") -> NewCollection:
        """Write the package of a new collection into a new folder `windrow-NAME`; it can be run without changes.

        It harvests an API or, if `kept` names a collection, reads the captures of the collection `kept`.
        """
        from windrow.app.begin import add_collection

        return add_collection(name, Path(into), kept)

    def trust(self, source: str, fingerprint: str) -> bool:
        """Pin the host key that a source's SFTP server shows; return False if it was pinned already.

        `fingerprint` is as ssh prints it (`SHA256:...`), or a public key. Raise UsageError if `fingerprint` is not
        valid or `source` is not declared.
        """
        from windrow.config import trust

        if self.config.source(source) is None:
            names = ", ".join(configured.name for configured in self.config.sources) or "none"
            raise UsageError(f"source {source!r} is not declared; the sources are: {names}", hint="windrow config")
        try:
            is_new = trust(self.config.root, source, fingerprint)
        except ConfigError as error:
            if error.__cause__ is not None:  # an I/O error, not a usage error
                raise
            raise UsageError(str(error), hint="windrow config trust --help") from None
        self._reload()
        return is_new

    def _reload(self) -> None:
        from windrow.config import load

        self.config = load(self.config.root, flags=self._flags, needed=self._needed)

    @property
    def setup(self) -> SessionSettings:
        """The settings of sessions in this workspace."""
        from windrow.app.store_marks import read_marks
        from windrow.config.workspace import left_replays
        from windrow.engine.run import SessionSettings

        run, cores = self.config.run, os.cpu_count() or 2
        return SessionSettings(
            self.config.ledger,
            self.config.archive.folder,
            self.config.limits,
            self.config.archive.rollover_size,
            run.fetchers or min(cores, 4),
            run.readers or cores,
            self.config.user_agent,
            sandbox=run.sandbox, group_reads=run.group_reads, part_folder=self.config.part_folder,
            left_replays=left_replays(self.config), read_marks=partial(read_marks, self.config),
            request_deadline=run.request_deadline, secret_variables=self.config.secret_variables,
        )  # fmt: skip

    def ledger(self) -> Ledger:
        """Open the ledger, or an empty one in memory if the workspace has no ledger yet."""
        from windrow.ledger import Ledger

        return Ledger(self.config.ledger if self.config.ledger.exists() else Path(":memory:"))

    @contextmanager
    def open_ledger(self) -> Iterator[Ledger]:
        """Open the ledger for a block; raise LedgerError if the block fails because a value has the wrong type."""
        with closing(self.ledger()) as ledger:
            try:
                yield ledger
            except (TypeError, ValueError) as error:
                wrong_values = ledger.wrong_values()
                if not wrong_values:
                    raise
                message = f"the ledger {self.config.ledger} was not written by windrow alone: {wrong_values[0]}"
                raise LedgerError(message) from error

    def run(
        self,
        names: Names = (),
        *,
        progress: Progress | None = None,
        first: str = "",
        last: str = "",
        limit: int | None = None,
        since: Day | None = None,
        again: bool = False,
        command: str = "run",
        source: str = "",
    ) -> SessionSummary:
        """Harvest all sources, or the named sources and collections; return the summary.

        `first` and `last` are the first and last phase. `limit` is the most items to fetch for each collection. Items
        that their source dates before `since` are skipped. `again` fetches finished items again. `names` may
        be WARC files in place of sources: they are imported under the source `source`, without any request. They may
        also be addresses of pages: each is requested once, now, and pages that it links to are not requested.
        `progress` shows how far the run is; `command` is the command line that the ledger records. The command of
        `run.notify` is given the summary, too.
        """
        from windrow.app.run import RunArguments, adopt_folder, run

        names, is_once = self._add_addresses(as_tuple(names))
        self.config, names, first = adopt_folder(self.config, names, first)
        arguments = RunArguments(names, first, last, limit, utc_time(since), again or is_once, source)
        return run(self.config, self.setup, arguments, command, progress)

    def _add_addresses(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
        """Add a source for addresses; return its name and True, or `names` and False if none of them is an address."""
        from windrow.app.run import source_of_addresses
        from windrow.config import load
        from windrow.formats.url import has_web_scheme

        addresses = [name for name in names if has_web_scheme(name)]
        if not addresses:
            return names, False
        if len(addresses) < len(names):
            raise UsageError("addresses are requested by themselves: run sources in another command")
        added = source_of_addresses(addresses, self.config.sources)
        self.config = load(self.config.root, flags=self._flags, needed=[*added], added=added)
        return tuple(added), True

    def preview(
        self,
        names: Names = (),
        *,
        first: str = "",
        last: str = "",
        limit: int | None = None,
        since: Day | None = None,
        again: bool = False,
        source: str = "",
    ) -> list[Preview]:
        """Return what `run` would request or import; opens no connection and writes nothing."""
        from windrow.app.run import adopt_folder, choose_sources, phase_span, preview
        from windrow.app.warc_files import named_warc_files, preview_import
        from windrow.engine.frontier import FetchBounds

        names, _ = self._add_addresses(as_tuple(names))
        self.config, names, first = adopt_folder(self.config, names, first)
        if files := named_warc_files(self.config, names, source):
            return [preview_import(files)]
        with self.open_ledger() as ledger:
            previews = []
            for collection_name, source_names in choose_sources(self.config, names).items():
                adapter(collection_name).require_ready(self.config)
                sources = [source for source in self.config.sources if source.name in source_names]
                harvested = collection(collection_name)
                bounds = FetchBounds(limit, utc_time(since), again)
                previews.append(preview(ledger, harvested, sources, phase_span(harvested, first, last), bounds))
            return previews

    def status(self) -> WorkspaceState:
        """Return the state of every source, and the numbers of items by state and by reason."""
        from windrow.app.status import current_state

        with self.open_ledger() as ledger:
            return current_state(self.config, ledger, phases())

    def why(self, name: str | int, *, limit: int | None = None) -> StoryAnswer:
        """Return the history of an address, file, record, source or owner, or of the item or session with this number.

        If several items may be meant, the answer lists them. At most `limit` (None: 50) items, refused entries and
        failed documents are listed, the latest ones. Raise WindrowError for an unknown name.
        """
        from windrow.app.story import answer_why
        from windrow.caps import WHY_ENTRIES

        with self.open_ledger() as ledger:
            return answer_why(self.config, ledger, str(name), limit or WHY_ENTRIES.number)

    def changes(
        self, since: Day | None = None, *, source: str = "", kind: str = "", lines: bool = False,
        unreadable: dict[str, str] | None = None,
    ) -> list[SourceChange]:  # fmt: skip
        """Return the changes at the sources since a time (None: those of the last session), in order of time.

        A session reports what it wrote, whichever session requested the pages; the session after a killed one reports
        the changes of both. `kind` is new, changed or gone, or empty for all. With `lines`, changes have the changed
        lines of their texts. If a store cannot be read, raise StoreError or add why to `unreadable`, by collection.
        """
        from windrow.app.changes import changes_in_order, since_window

        with self.open_ledger() as ledger:
            if (window := since_window(ledger, utc_time(since))) is None:
                return []
            window = window._replace(lines=lines)
            return changes_in_order(self.config, ledger, window, source=source, kind=kind, unreadable=unreadable)

    @contextmanager
    def unseen_changes(
        self, *, source: str = "", kind: str = "", lines: bool = False, unreadable: dict[str, str] | None = None
    ) -> Iterator[list[SourceChange]]:
        """Yield to a `with` block the changes of the sessions that ended since this user's last look, in order of time.

        If the block ends without an error, they count as seen by the user with this `source` and `kind`; see `changes`.
        """
        from windrow.adapters.adapter import Window
        from windrow.app.changes import changes_in_order
        from windrow.app.last_look import look_file, read_look, write_look
        from windrow.app.summary import ABOVE_EVERY_FACT

        with self.open_ledger() as ledger:
            path = look_file(self.config, ledger, source, kind)
            last_fact = ledger.sessions.last_reported_before(ABOVE_EVERY_FACT)
            window = Window(facts=(read_look(path, last_fact) + 1, last_fact), lines=lines)
            yield changes_in_order(self.config, ledger, window, source=source, kind=kind, unreadable=unreadable)
        write_look(path, last_fact)

    def sessions(self, *, before: int | None = None, limit: int = 50) -> list[SessionEntry]:
        """Return the latest sessions, newest first, at most `limit`, with numbers below `before` if it is given."""
        from windrow.app.captures import list_sessions

        with self.open_ledger() as ledger:
            return list_sessions(ledger, before, limit)

    def session(self, number: int) -> SessionDetails:
        """Return the summary of a session, its tasks in order, and an example for each reason for which items failed.

        Raise WindrowError if no session has this number.
        """
        from windrow.app.session_details import describe_session

        with self.open_ledger() as ledger:
            return describe_session(self.config, ledger, number)

    def runs(self, *, limit: int = 30) -> dict[str, tuple[SourceRun, ...]]:
        """Return the last sessions that requested something from each source, at most `limit`, the oldest first."""
        from windrow.app.session_details import list_runs

        with self.open_ledger() as ledger:
            return list_runs(self.config, ledger, limit)

    def capture(self, attempt: int) -> KeptCapture:
        """Return what the archive has of the attempt with this number: its place, its fields and its body as a file.

        Close `body` when it has been read. Raise WindrowError if the attempt is not known or kept nothing, for example
        because it was taken down, and ArchiveError if the archive cannot be read.
        """
        from windrow.app.captures import open_kept_capture

        with self.open_ledger() as ledger:
            return open_kept_capture(self.config, ledger, attempt)

    def killed_session(self) -> int:
        """Return the number of the last session if it was killed, or 0. The next session reports its changes."""
        from windrow.ledger.lease import killed_session

        with self.open_ledger() as ledger:
            return killed_session(ledger)

    def search(
        self, text: str, *, collection: Names = (), offset: int = 0, limit: int = 10, explain: bool = False,
        facets: bool = False,
    ) -> SearchAnswer:  # fmt: skip
        """Search the harvested records. Any text is a query; `as-of:` searches the pages as they were at a time.

        All collections are searched, or those in `collection`, and their results are merged. With `explain`, each
        result has a remark on how its score was computed. With `facets`, all documents found are counted too:
        `search("tea", facets=True).counts.facets["year"]` is `{'2026': 12, '2025': 3}`, for example.
        """
        from windrow.app.search import search

        collections = as_tuple(collection)
        return search(
            self.config, text, offset=offset, limit=limit, explain=explain, facets=facets, collections=collections
        )

    def records(self, collection: str, *, before: int | None = None, limit: int = 50) -> RecordList:
        """Return current records of a collection, the newest first; `before` is `next` of the list that is continued.

        Raise UsageError for a collection that does not list its records.
        """
        from windrow.app.records import list_records

        return list_records(self.config, collection, before or 0, limit)

    def home(self, collection: str, view: HomeView | None = None) -> Home:
        """Return what a collection shows of itself, by default in its first view; `HomeView` chooses another."""
        from windrow.adapters.home import HomeView
        from windrow.app.records import open_home

        with self.open_ledger() as ledger:
            return open_home(self.config, ledger, collection, view or HomeView())

    def diff(self, name: str, old: Day | str = "", new: Day | str = "", *, context: int = 2) -> Comparison:
        """Compare the versions of a page or record that were current at the ends of the days or times `old` and `new`.

        `new` defaults to the latest version, and `old` to the version before the new one. `context` is the number of
        unchanged lines to show around changed ones.
        """
        from windrow.app.changes import compare

        return compare(self.config, name, format_day(old), format_day(new), context=context)

    def try_(self, address: str, collection: str) -> Iterator[TrialPart]:
        """Read one file or address as a collection does, and yield documents, findings and records; stores nothing."""
        return iter(adapter(collection).try_address(self.config, address))

    def extract(self, page: bytes | Path | str, url: str = "") -> Extract:
        """Return the main content of a page, given as bytes, as a file, or as an address that is requested once.

        `url` is the base of relative links in bytes and files. Nothing is stored.
        """
        from windrow.app.extract import extract_page

        return extract_page(self.config, page, url)

    def retry(
        self, names: Names = (), *, source: str = "", reason: str = "", service: str = "", dry_run: bool = False
    ) -> list[Chosen]:
        """Let the next run fetch or read failed or cancelled items again, and return these items.

        Without names, all failed or cancelled items with this source and reason are chosen, except those of sources
        that are not declared any more. With a service, the next run asks it again about the records with these names,
        or about all; a reason selects records by their last answer. With `dry_run`, items or records are returned and
        nothing is changed.
        """
        if service:
            from windrow.app.decisions import ask_again

            with self.open_ledger() as ledger:
                return ask_again(
                    self.config, ledger, service, as_tuple(names), reason=reason, source=source, dry_run=dry_run
                )
        return self._decide("retry", names, source=source, reason=reason, dry_run=dry_run)

    def cancel(self, names: Names = (), *, source: str = "", reason: str = "", dry_run: bool = False) -> list[Chosen]:
        """Cancel items, so that no run fetches or reads them, and return them.

        Without names, all waiting items with this source and reason are cancelled. With `dry_run`, items are returned
        and nothing is changed.
        """
        return self._decide("cancel", names, source=source, reason=reason, dry_run=dry_run)

    def _decide(self, act: str, names: Names, **selection: Any) -> list[Chosen]:
        from windrow.app.decisions import decide

        with self.open_ledger() as ledger:
            return decide(self.config, ledger, act, as_tuple(names), **selection)

    def replay(
        self, names: Names = (), progress: Progress | None = None, *, unreadable: dict[str, str] | None = None
    ) -> dict[str, ReplayResult]:
        """Read the kept captures of all collections, or of those in `names`, again with the current readers.

        Return how results differ from earlier ones, for each collection with a store. Raise UsageError for an unknown
        name. If a store fails, raise StoreError or add why to `unreadable`, by collection.
        """
        from windrow.adapters.adapter import harvested_collections
        from windrow.app.changes import read_each
        from windrow.engine.progress import Progress

        collections = {*as_tuple(names)} or {*installed()}
        for unknown in sorted(collections - {*installed()}):
            raise UsageError(
                f"there is no collection {unknown!r}; the collections are {', '.join(installed())}",
                hint="windrow replay, which reads the captures of all of them",
            )
        collections = collections.intersection(harvested_collections(self.config))
        adapters = {name: adapter(name) for name in installed() if name in collections}
        shown, setup = progress or Progress(quiet=True), self.setup
        results = read_each(adapters, lambda replayer: replayer.replay(self.config, setup, shown), unreadable)
        return {name: replayed for name, replayed in results if replayed is not None}

    def check(self) -> Checkup:
        """Read every capture, compare the ledger with the archive and the stores, and return the faults."""
        from windrow.app.check import check_workspace

        with self.open_ledger() as ledger:
            return check_workspace(self.config, ledger)

    def export(self, name: str, form: str, to: Path | str | TextIO) -> int:
        """Write an export to a file, or to a UTF-8 stream with a `buffer`; return the number of units, such as rows.

        `name` and `form` are the arguments of `windrow export`, such as `pages` and `jsonl`.
        """
        from windrow.app.export import write_export

        if isinstance(to, str | Path):
            with published_files(), Path(to).open("w", encoding="utf-8") as file:
                return write_export(self.config, name, form, file).written
        return write_export(self.config, name, form, to).written

    def would_forget(self, names: Names) -> list[TakedownEstimate]:
        """Count what `forget` would take down; changes nothing."""
        from windrow.app.takedowns import estimate_takedowns

        with self.open_ledger() as ledger:
            return estimate_takedowns(self.config, ledger, as_tuple(names))

    def forget(self, names: Names = (), reason: str = "") -> list[TakedownResult]:
        """Take pages, hosts or sites down, and return what was removed; a tombstone with the reason remains.

        Interrupted takedowns are finished, too; if `names` is empty, nothing else is done.
        """
        from windrow.app.takedowns import take_down

        return take_down(self.config, self.setup, as_tuple(names), reason)

    def lift(self, names: Names) -> int:
        """Allow runs to request again what was taken down; return the number of tombstones that were lifted."""
        from windrow.app.takedowns import lift_takedowns

        return lift_takedowns(self.config, self.setup, as_tuple(names))

    def taken_down(self, names: Names) -> list[str]:
        """Return the addresses and origins of these names that runs do not request, because they are taken down."""
        from windrow.app.takedowns import standing_takedowns

        with self.open_ledger() as ledger:
            return standing_takedowns(self.config, ledger, as_tuple(names))
