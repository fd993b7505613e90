"""A workspace, opened: the same verbs as the command line."""

# ruff: noqa: PLC0415 each verb loads what it needs, so that `windrow --help` and completion are quick
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from windrow.contract.registry import adapter, collection, installed, phases
from windrow.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from windrow.adapters.adapter import (
        Comparison,
        ReplayResult,
        SearchAnswer,
        SourceChange,
        TakedownEstimate,
        TrialPart,
    )
    from windrow.app.begin import NewCollection, Prepared
    from windrow.app.check import Checkup
    from windrow.app.status import WorkspaceState
    from windrow.app.story import StoryAnswer
    from windrow.app.summary import SessionSummary
    from windrow.config import Workspace
    from windrow.content import Extract
    from windrow.engine.frontier import Chosen
    from windrow.engine.preview import Preview
    from windrow.engine.progress import Progress
    from windrow.engine.session import SessionSettings
    from windrow.engine.takedown import TakedownResult
    from windrow.ledger import Ledger

Names = str | Path | Sequence[str | Path]
"""One name, or several: of sources and collections, or what else a verb takes."""

Day = date | datetime
"""A moment; without a time zone it is in UTC, and a date is the beginning of that day."""


def _listed(names: Names) -> tuple[str, ...]:
    """Return names as a list, for one alone too.

    >>> _listed("blog")
    ('blog',)
    """
    return (str(names),) if isinstance(names, str | Path) else tuple(str(name) for name in names)


def _moment(day: Day | None) -> datetime | None:
    """Return a moment in UTC.

    >>> _moment(date(2026, 11, 21))
    datetime.datetime(2026, 11, 21, 0, 0, tzinfo=datetime.timezone.utc)
    """
    if day is None:
        return None
    found = day if isinstance(day, datetime) else datetime.combine(day, time())
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _spelled(day: Day | str) -> str:
    """Spell a day as the search language has it: a date, or a time in UTC."""
    if not isinstance(day, datetime):
        return str(day)
    return (day.astimezone(UTC) if day.tzinfo else day).strftime("%Y-%m-%dT%H:%M:%S")


class Windrow:
    """A workspace and what can be done with it."""

    def __init__(
        self, start: Path | str | None = None, flags: Mapping[str, Any] | None = None, *, named: Path | None = None
    ) -> None:
        """Open the workspace at `start` or above it; without `start`, the one that a command would use here.

        `flags` are settings that win over all others, by name; `named` is the workspace of a command line.
        """
        from windrow.config import find, load

        root = find(Path(start or "."), os.environ if start is None else {}, named)
        self._flags = flags
        self.config: Workspace = load(root, flags=flags)

    @classmethod
    def init(cls, folder: Path | str = ".") -> Windrow:
        """Make a workspace in a folder, or upgrade the one that is there, and open it; nothing is overwritten."""
        from windrow.app.begin import prepare

        return cls(named=prepare(Path(folder)).folder)

    def prepare(self) -> Prepared:
        """Bring the workspace up to date as `init` does, and return what was done; safe to repeat."""
        from windrow.app.begin import prepare

        return prepare(self.config.root)

    def new_source(self, name: str, url: str, *, collection: str, **settings: str) -> Path:
        """Write `sources/NAME.toml`, checked with the rest of the configuration; return its path.

        `settings` are those of the collection's sources, such as `centre="H"`. Nobody is asked.
        """
        from windrow.app.begin import NewSource, add_source

        path = add_source(self.config.root, NewSource(name, url, collection, settings))
        self._reload()
        return path

    @staticmethod
    def new_collection(name: str, into: Path | str = ".") -> NewCollection:
        """Write the package of a new collection into a new folder `windrow-NAME`; it runs as it stands."""
        from windrow.app.begin import add_collection

        return add_collection(name, Path(into))

    def trust(self, source: str, fingerprint: str) -> bool:
        """Pin the host key that a source's SFTP server shows; return False where it was pinned already.

        `fingerprint` is as ssh prints it (`SHA256:...`), or a public key.
        """
        from windrow.config import trust

        if self.config.source(source) is None:
            known = ", ".join(one.name for one in self.config.sources) or "none"
            raise UsageError(f"there is no source {source!r}; there are: {known}", hint="windrow config")
        try:
            new = trust(self.config.root, source, fingerprint)
        except ConfigError as error:
            if error.__cause__ is not None:  # the disk's fault, not that of what was typed
                raise
            raise UsageError(str(error), hint="windrow config trust --help") from None
        self._reload()
        return new

    def _reload(self) -> None:
        """Read the configuration again, after one of its files was written."""
        from windrow.config import load

        self.config = load(self.config.root, flags=self._flags)

    @property
    def setup(self) -> SessionSettings:
        """How sessions run here."""
        from windrow.engine.session import SessionSettings

        run, cores = self.config.run, os.cpu_count() or 2
        return SessionSettings(
            self.config.ledger,
            self.config.archive.folder,
            self.config.limits,
            self.config.archive.rotation,
            run.fetchers or min(cores, 4),
            run.readers or cores,
            self.config.agent,
        )

    def ledger(self) -> Ledger:
        """Open the ledger; where there is none yet, an empty one in memory."""
        from windrow.ledger import Ledger

        return Ledger(self.config.ledger if self.config.ledger.exists() else Path(":memory:"))

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
        """Harvest all sources, or the sources and collections named; hand the summary to `run.notify`, and return it.

        `first` and `last` are phases, `limit` the most items to fetch, `since` leaves out what its
        source dated earlier, `again` does done work of the chosen sources once more. WARC files of other
        makers may be named in place of sources: they are taken in, as `source`, and nobody is asked.
        """
        from windrow.app.run import RunArguments, adopted, run

        self.config, names, first = adopted(self.config, _listed(names), first)
        arguments = RunArguments(names, first, last, limit, _moment(since), again, source)
        return run(self.config, self.setup, arguments, command, progress)

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
        """Return what `run` would ask and from whom; opens no connection and writes nothing."""
        from windrow.app.run import adopted, chosen_sources, named_warc_files
        from windrow.app.schedule import preview, span, taken
        from windrow.engine.preview import FetchBounds

        self.config, names, first = adopted(self.config, _listed(names), first)
        if files := named_warc_files(self.config, names, source):
            return [taken(files)]
        ledger = self.ledger()
        try:
            found = []
            for kind, chosen in chosen_sources(self.config, names).items():
                adapter(kind).require_ready(self.config)
                sources = [source for source in self.config.sources if source.name in chosen]
                part = span(collection(kind), first, last)
                found.append(
                    preview(ledger, collection(kind), sources, part, FetchBounds(limit, _moment(since), again))
                )
            return found
        finally:
            ledger.close()

    def status(self) -> WorkspaceState:
        """Return how every source stands, and how many items stand where and why."""
        from windrow.app.status import current_state

        ledger = self.ledger()
        try:
            return current_state(self.config, ledger, phases())
        finally:
            ledger.close()

    def why(self, what: str | int) -> StoryAnswer:
        """Return the whole story of an address, file, record, source, owner or number.

        Where several things are meant, they are listed; what is not known is a WindrowError that
        says what was looked for.
        """
        from windrow.app.story import tell

        ledger = self.ledger()
        try:
            return tell(self.config, ledger, str(what))
        finally:
            ledger.close()

    def changes(self, since: Day | None = None, *, source: str = "", kind: str = "") -> list[SourceChange]:
        """Return what came, changed or went at the sources, in the order of time: since a time, or in the last session.

        A session tells what it wrote, whichever session asked for it. One that was killed tells nothing once it does
        not run any more: the next one tells what both wrote.
        `kind` is new, changed or gone.
        """
        from windrow.adapters.adapter import CHANGED, GONE, NEW, Window
        from windrow.app.changes import changes, since_window
        from windrow.app.status import cut_off

        if kind not in {"", NEW, CHANGED, GONE}:
            raise UsageError(f"there is no kind {kind!r} of changes; there are {NEW}, {CHANGED} and {GONE}")
        since = _moment(since)
        ledger = self.ledger()
        try:
            last = ledger.sessions.latest()
            if last is None or (since is None and cut_off(ledger)):
                return []
            window = since_window(ledger, since) if since else Window(facts=ledger.sessions.telling(last))
            found = changes(self.config, ledger, window, source=source, kind=kind)
            return sorted(found, key=lambda one: (one.at, one.source, one.key))
        finally:
            ledger.close()

    def cut_off(self) -> int:
        """Return the number of the last session if it was killed: the next one tells what it saw; else 0."""
        from windrow.app.status import cut_off

        ledger = self.ledger()
        try:
            return cut_off(ledger)
        finally:
            ledger.close()

    def search(
        self, text: str, *, collection: Names = (), offset: int = 0, limit: int = 10, explain: bool = False
    ) -> SearchAnswer:
        """Search what was harvested; any text is a query, and `as-of:` in it searches the pages as they were.

        All collections are searched, or those named, and their results put into one order. With `explain`, each
        result says what its score is made of.
        """
        from windrow.app.search import search

        among = _listed(collection)
        return search(self.config, text, offset=offset, limit=limit, explain=explain, among=among)

    def diff(self, name: str, since: Day | str = "", until: Day | str = "", *, context: int = 2) -> Comparison:
        """Compare two versions of a page: as it was at the end of `since`, and at the end of `until`.

        Without `until` the latest version is meant, without `since` the one before the other. `context` is how many
        unchanged lines are shown around changed ones.
        """
        from windrow.app.changes import compare

        return compare(self.config, name, _spelled(since), _spelled(until), context=context)

    def try_(self, address: str, collection: str) -> Iterator[TrialPart]:
        """Read one file or address as a collection does, yield what is in it, and keep nothing."""
        return iter(adapter(collection).try_address(self.config, address))

    def extract(self, what: bytes | Path | str, url: str = "") -> Extract:
        """Return the main content of a page, given as bytes, as a file, or as an address that is asked for once.

        `url` is what the relative links of bytes and of a file start from. Nothing is kept.
        """
        from windrow.app.extract import extract_page

        return extract_page(self.config, what, url)

    def retry(self, names: Names = (), *, source: str = "", reason: str = "", dry_run: bool = False) -> list[Chosen]:
        """Put failed or cancelled items back to be fetched by the next run, and return them.

        Without names, all that failed of a source or for a reason. With `dry_run` they are only returned.
        """
        return self._decide("retry", names, source=source, reason=reason, dry=dry_run)

    def cancel(self, names: Names = (), *, source: str = "", reason: str = "", dry_run: bool = False) -> list[Chosen]:
        """End items, so that no run fetches or reads them, and return them.

        Without names, all that waits of a source or for a reason. With `dry_run` they are only returned.
        """
        return self._decide("cancel", names, source=source, reason=reason, dry=dry_run)

    def _decide(self, act: str, names: Names, **narrowed: Any) -> list[Chosen]:
        from windrow.app.question import decide

        ledger = self.ledger()
        try:
            return decide(self.config, ledger, act, _listed(names), **narrowed)
        finally:
            ledger.close()

    def replay(self, progress: Progress | None = None) -> dict[str, ReplayResult]:
        """Read every kept capture again with today's readers, and return what came out differently, by collection."""
        from windrow.adapters.adapter import harvested_collections
        from windrow.engine.progress import Progress

        used = harvested_collections(self.config)
        done = {
            name: adapter(name).replay(self.config, self.setup, progress or Progress(quiet=True))
            for name in installed()
            if name in used
        }
        return {name: one for name, one in done.items() if one is not None}

    def check(self) -> Checkup:
        """Read every capture back, compare ledger, archive and stores, and return what does not agree."""
        from windrow.app.check import check

        ledger = self.ledger()
        try:
            return check(self.config, ledger)
        finally:
            ledger.close()

    def export(self, what: str, form: str, to: Path | str | TextIO) -> int:
        """Write what the workspace holds to a file or stream (UTF-8, with a `buffer`); return the number of rows.

        `what` and `form` are those of `windrow export`, such as `pages` as `jsonl`.
        """
        from windrow.app.export import export

        if isinstance(to, str | Path):
            with Path(to).open("w", encoding="utf-8") as file:
                return export(self.config, what, form, file)[0]
        return export(self.config, what, form, to)[0]

    def would_forget(self, names: Names) -> list[TakedownEstimate]:
        """Count what `forget` would take down; nothing is changed."""
        from windrow.app.check import estimate

        ledger = self.ledger()
        try:
            return estimate(self.config, ledger, _listed(names))
        finally:
            ledger.close()

    def forget(self, names: Names = (), reason: str = "") -> list[TakedownResult]:
        """Take pages, hosts or sites down, and return what was removed; a tombstone with the reason stays.

        Without names, what an earlier call left undone is finished.
        """
        from windrow.app.check import take_down

        return take_down(self.config, self.setup, _listed(names), reason)

    def lift(self, names: Names) -> int:
        """Let what was taken down be asked for again; return how many tombstones were lifted."""
        from windrow.app.check import let_again

        return let_again(self.config, self.setup, _listed(names))
