"""A workspace, opened: the same verbs as the command line."""

# ruff: noqa: PLC0415 each verb loads what it needs, so that `windrow --help` and completion are quick
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from windrow.errors import ConfigError, Stopped, UsageError
from windrow.registry import adapter, capable, collection, installed, phases
from windrow.registry import names as known_names

if TYPE_CHECKING:
    from windrow.adapter import Compared, Part, Replayed, SearchAnswer, SourceChange, TakedownEstimate
    from windrow.app.checkup import Checkup
    from windrow.app.new_collection import NewCollection
    from windrow.app.scaffold import Prepared
    from windrow.app.schedule import PhaseSpan, Preview
    from windrow.app.status import WorkspaceState
    from windrow.app.story import StoryAnswer
    from windrow.app.summary import SessionSummary
    from windrow.config import Workspace
    from windrow.engine.ledger import Ledger
    from windrow.engine.operator import Chosen
    from windrow.engine.progress import Progress
    from windrow.engine.run import Harvest
    from windrow.engine.session import Session, Setup
    from windrow.engine.takedown import TakedownResult

Names = str | Path | Sequence[str | Path]
"""One name, or several: of sources and collections, or what else a verb takes."""

Day = date | datetime
"""A moment; without a time zone it is in UTC, and a date is the beginning of that day."""


def _listed(names: Names) -> tuple[str, ...]:
    """Return names as a list, for one alone too.

    >>> _listed("blog")
    ('blog',)
    """
    return (str(names),) if isinstance(names, str | Path) else tuple(str(one) for one in names)


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
        from windrow.app.scaffold import prepare

        return cls(named=prepare(Path(folder)).folder)

    def prepare(self) -> Prepared:
        """Bring the workspace up to date as `init` does, and return what was done; safe to repeat."""
        from windrow.app.scaffold import prepare

        return prepare(self.config.root)

    def new_source(self, name: str, url: str, *, collection: str, **settings: str) -> Path:
        """Write `sources/NAME.toml`, checked with the rest of the configuration; return its path.

        `settings` are those of the collection's sources, such as `centre="H"`. Nobody is asked.
        """
        from windrow.app.scaffold import NewSource, add_source

        path = add_source(self.config.root, NewSource(name, url, collection, settings))
        self._reload()
        return path

    @staticmethod
    def new_collection(name: str, into: Path | str = ".") -> NewCollection:
        """Write the package of a new collection into a new folder `windrow-NAME`; it runs as it stands."""
        from windrow.app.new_collection import add_collection

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
    def setup(self) -> Setup:
        """How sessions run here."""
        from windrow.engine.session import Setup

        run, cores = self.config.run, os.cpu_count() or 2
        return Setup(
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
        from windrow.engine.ledger import Ledger

        return Ledger(self.config.ledger if self.config.ledger.exists() else Path(":memory:"))

    def _chosen(self, names: Sequence[str] = ()) -> dict[str, frozenset[str]]:
        """Return the names of the sources chosen, by collection: all, or the collections and sources named."""
        from windrow.app.schedule import in_order

        sources = {source.name: source.collection for source in self.config.sources}
        unknown = [name for name in names if name not in sources and name not in known_names()]
        if unknown and Path(unknown[0]).is_dir():
            for one in capable("adopt").values():
                raise UsageError(
                    f"{unknown[0]!r} is a folder and no source; the documents in it can be adopted",
                    hint=f"windrow run --from {one.ADOPTED_AT} {unknown[0]}",
                )
        if unknown:
            known = sorted({*sources, *known_names()})
            near = get_close_matches(unknown[0], known, 1)
            meant = f"did you mean {near[0]}? " if near else ""
            raise UsageError(
                f"there is no source or collection {unknown[0]!r}; {meant}there are: {', '.join(known) or 'none'}",
                hint="windrow config",
            )
        for source in self.config.sources:
            state = source.options.get("state", "available")
            if source.name in names and state in {"maintenance", "removed"}:
                raise UsageError(
                    f"the source {source.name} is not asked: its state is {state}",
                    hint=f"set state in sources/{source.name}.toml to available",
                )
        found: dict[str, set[str]] = {}
        for name, kind in sources.items():
            if not names or name in names or kind in names:
                found.setdefault(kind, set()).add(name)
        order = in_order(installed(), self.config.sources)
        return {kind: frozenset(found[kind]) for kind in order if kind in found}

    def _unusable(self, names: Sequence[str] = ()) -> tuple[str, ...]:
        """Say of each source chosen why its collection cannot be used, where it cannot."""
        chosen = (one for one in self.config.sources if not names or one.name in names or one.collection in names)
        return tuple(f"source {one.name}: {one.unusable}" for one in chosen if one.unusable)

    def _harvests(self, names: Sequence[str], parts: Mapping[str, PhaseSpan]) -> list[Harvest]:
        """Return what is to be harvested: all, or the collections and sources named."""
        found = []
        for kind, chosen in self._chosen(names).items():
            if parts[kind].fetch:  # who only reads what is kept asks nobody
                adapter(kind).ready(self.config)
            made = adapter(kind).harvest(self.config)
            found.append(replace(made, sources=tuple(one for one in made.sources if one.name in chosen)))
        return found

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
        from windrow.app.schedule import again as put_back
        from windrow.app.schedule import span
        from windrow.engine.release import release
        from windrow.engine.session import Session

        names, first = self._adopt(_listed(names), first)
        since = _moment(since)
        held = self._held(names, source, wished=bool(again or limit or since))
        chosen = held or self._chosen(names)
        unusable = self._unusable(names)
        if unusable and not chosen:
            raise ConfigError(unusable[0], hint="install the package that has it, or remove the source")
        parts = {kind: span(collection(kind), first, last) for kind in chosen}
        with Session(self.setup, command, progress) as session:
            code = None
            try:
                with session.polite_stop():
                    for one in held.values() if held else self._harvests(names, parts):
                        part = parts[one.collection.name]
                        fetch = part.fetch and not held
                        if again:
                            put_back(session.ledger, session.number, one, part)
                        session.harvest(one, phases=part.phases, limit=limit, fetch=fetch, since=since)
            except (KeyboardInterrupt, Stopped):
                code = 130
            except BaseException as error:
                release([partial(session.close, 1, error), partial(self._summarise, session, unusable)], error)
                raise
            session.close(code)
            return self._summarise(session, unusable)

    def _adopt(self, names: Sequence[str], first: str) -> tuple[Sequence[str], str]:
        """Make a folder of documents that are held already a source of this run; return what to harvest, from where."""
        known = {*known_names(), *(source.name for source in self.config.sources)}
        folders = [name for name in names if name not in known and Path(name).is_dir()]
        makers = [one for one in capable("adopt").values() if first == one.ADOPTED_AT] if folders and first else []
        if not makers:
            return names, first
        if len(names) > 1:
            raise UsageError("one folder at a time can be adopted", hint=f"windrow run --from {first} {folders[0]}")
        source = makers[0].adopt(self.config, Path(folders[0]))
        self.config = replace(self.config, sources=(*self.config.sources, source))
        return (source.name,), ""

    def _held(self, names: Sequence[str], source: str, *, wished: bool = False) -> dict[str, Harvest]:
        """Return what is to be taken in, where WARC files are named and not sources; `wished` is what does not go."""
        from windrow.app.warc_names import importer, named_warc_files

        found = named_warc_files(self.config, names, source)
        if not found:
            return {}
        if wished:
            raise UsageError("--again, --limit and --since are for what is fetched; files are taken in whole, and once")
        collection = importer()
        others = tuple(one for one in self.config.sources if one.collection != collection)
        made = adapter(collection).harvest(replace(self.config, sources=others))
        return {collection: replace(made, warc_files=found)}

    def _summarise(self, session: Session, unusable: tuple[str, ...]) -> SessionSummary:
        """Return a session's summary, handed to the command of `run.notify` too."""
        from windrow.app.changes import MOST, of_session, was_read
        from windrow.app.notice import notify
        from windrow.app.summary import summarise
        from windrow.json_form import message

        ledger, number = session.ledger, session.number
        read = was_read(self.config, ledger)
        summary = summarise(ledger, number, phases(), tuple(session.mended), was_read=read)
        found = of_session(self.config, ledger, number)
        summary = replace(summary, changes=found[:MOST], changes_left_out=len(found) > MOST)
        if unusable:  # the others were harvested
            code = summary.exit_code or ConfigError.exit_code
            summary = replace(summary, exit_code=code, troubles=(*summary.troubles, *unusable))
        if self.config.run.notify:
            told = message("summary", summary) | {"workspace": self.config.name, "folder": str(self.config.root)}
            if wrong := notify(self.config.run.notify, told, self.config.root):
                summary = replace(summary, troubles=(*summary.troubles, wrong))
        return summary

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
        from windrow.app.schedule import FetchBounds, preview, span, taken
        from windrow.app.warc_names import named_warc_files

        names, first = self._adopt(_listed(names), first)
        if files := named_warc_files(self.config, names, source):
            return [taken(files)]
        ledger = self.ledger()
        try:
            found = []
            for kind, chosen in self._chosen(names).items():
                adapter(kind).ready(self.config)
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

        `kind` is new, changed or gone.
        """
        from windrow.adapter import CHANGED, GONE, NEW, Window
        from windrow.app.changes import changes

        if kind not in {"", NEW, CHANGED, GONE}:
            raise UsageError(f"there is no kind {kind!r} of changes; there are {NEW}, {CHANGED} and {GONE}")
        since = _moment(since)
        ledger = self.ledger()
        try:
            last = ledger.sessions.latest()
            row = ledger.sessions.get(last) if last and since is None else None
            window = Window(since, row.span if row else None)
            found = changes(self.config, ledger, window, source=source, kind=kind) if last else ()
            return sorted(found, key=lambda one: (one.at, one.source, one.key))
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

    def diff(self, name: str, since: Day | str = "", until: Day | str = "", *, context: int = 2) -> Compared:
        """Compare two versions of a page: as it was at the end of `since`, and at the end of `until`.

        Without `until` the latest version is meant, without `since` the one before the other. `context` is how many
        unchanged lines are shown around changed ones.
        """
        from windrow.app.changes import compare

        return compare(self.config, name, _spelled(since), _spelled(until), context=context)

    def try_(self, address: str, collection: str) -> Iterator[Part]:
        """Read one file or address as a collection does, yield what is in it, and keep nothing."""
        return iter(adapter(collection).attempt(self.config, address))

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
        from windrow.app.decision import decide

        ledger = self.ledger()
        try:
            return decide(self.config, ledger, act, _listed(names), **narrowed)
        finally:
            ledger.close()

    def replay(self, progress: Progress | None = None) -> dict[str, Replayed]:
        """Read every kept capture again with today's readers, and return what came out differently, by collection."""
        from windrow.adapter import harvested_collections
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
        from windrow.app.checkup import check

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
        from windrow.app.takedown import estimate

        ledger = self.ledger()
        try:
            return estimate(self.config, ledger, _listed(names))
        finally:
            ledger.close()

    def forget(self, names: Names = (), reason: str = "") -> list[TakedownResult]:
        """Take pages, hosts or sites down, and return what was removed; a tombstone with the reason stays.

        Without names, what an earlier call left undone is finished.
        """
        from windrow.app.takedown import take_down

        return take_down(self.config, self.setup, _listed(names), reason)

    def lift(self, names: Names) -> int:
        """Let what was taken down be asked for again; return how many tombstones were lifted."""
        from windrow.app.takedown import let_again

        return let_again(self.config, self.setup, _listed(names))
