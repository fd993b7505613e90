"""A workspace, opened: the same verbs as the command line."""

# ruff: noqa: PLC0415 each verb loads what it needs, so that `windrow --help` and completion are quick
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.errors import ConfigError, Stopped, UsageError
from windrow.registry import adapter, capable, collection, installed, phases
from windrow.registry import names as known_names

if TYPE_CHECKING:
    from windrow.adapter import SearchAnswer, SourceChange
    from windrow.app.schedule import Preview
    from windrow.app.status import Standing
    from windrow.app.story import Found
    from windrow.app.summary import Summary
    from windrow.config import Workspace
    from windrow.engine.burial import Buried
    from windrow.engine.ledger import Ledger
    from windrow.engine.progress import Progress
    from windrow.engine.run import Harvest
    from windrow.engine.session import Session, Setup


class Windrow:
    """A workspace and what can be done with it."""

    def __init__(
        self, start: Path | str = ".", flags: Mapping[str, Any] | None = None, *, named: Path | None = None
    ) -> None:
        """Open the workspace at `start` or above it, or the one `named` on a command line."""
        from windrow.config import find, load

        root = find(Path(start), os.environ, named)
        self.config: Workspace = load(root, flags=flags)

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

    def chosen(self, names: Sequence[str] = ()) -> dict[str, frozenset[str]]:
        """Return the names of the sources chosen, by collection: all, or the collections and sources named."""
        sources = {source.name: source.collection for source in self.config.sources}
        unknown = [name for name in names if name not in sources and name not in known_names()]
        if unknown and Path(unknown[0]).is_dir():
            for one in capable("adopt").values():
                raise UsageError(
                    f"{unknown[0]!r} is a folder and no source; the documents in it can be adopted",
                    hint=f"windrow run --from {one.ADOPTED_AT} {unknown[0]}",
                )
        if unknown:
            known = ", ".join(sorted({*sources, *known_names()})) or "none"
            raise UsageError(
                f"there is no source or collection {unknown[0]!r}; there are: {known}", hint="windrow config"
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
        return {kind: frozenset(found[kind]) for kind in installed() if kind in found}

    def unusable(self, names: Sequence[str] = ()) -> tuple[str, ...]:
        """Say of each source chosen why its collection cannot be used, where it cannot."""
        chosen = (one for one in self.config.sources if not names or one.name in names or one.collection in names)
        return tuple(f"source {one.name}: {one.unusable}" for one in chosen if one.unusable)

    def harvests(self, names: Sequence[str] = ()) -> list[Harvest]:
        """Return what is to be harvested: all, or the collections and sources named."""
        found = []
        for kind, chosen in self.chosen(names).items():
            made = adapter(kind).harvest(self.config)
            found.append(replace(made, sources=tuple(one for one in made.sources if one.name in chosen)))
        return found

    def run(
        self,
        names: Sequence[str] = (),
        *,
        progress: Progress | None = None,
        first: str = "",
        last: str = "",
        limit: int | None = None,
        since: datetime | None = None,
        again: bool = False,
        command: str = "run",
        source: str = "",
    ) -> Summary:
        """Harvest, tell the command of `run.notify`, and return what was done.

        `first` and `last` are phases, `limit` the most items to fetch, `since` leaves out what its
        source dated earlier, `again` does done work of the chosen sources once more. WARC files of other
        makers may be named in place of sources: they are taken in, as `source`, and nobody is asked.
        """
        from windrow.app.schedule import again as put_back
        from windrow.app.schedule import span
        from windrow.engine.release import release
        from windrow.engine.session import Session

        names, first = self._adopt(names, first)
        held = self._held(names, source, wished=bool(again or limit or since))
        chosen = held or self.chosen(names)
        unusable = self.unusable(names)
        if unusable and not chosen:
            raise ConfigError(unusable[0], hint="install the package that has it, or remove the source")
        parts = {kind: span(collection(kind), first, last) for kind in chosen}
        with Session(self.setup, command, progress) as session:
            code = None
            try:
                with session.polite_stop():
                    for one in held.values() if held else self.harvests(names):
                        part = parts[one.collection.name]
                        fetch = part.fetch and not held
                        if again:
                            put_back(session.ledger, session.number, one, part)
                        session.harvest(one, phases=part.phases, limit=limit, fetch=fetch, since=since)
            except (KeyboardInterrupt, Stopped):
                code = 130
            except BaseException as error:
                release([partial(session.close, 1, error), partial(self._tell_of, session, unusable)], error)
                raise
            session.close(code)
            return self._tell_of(session, unusable)

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
        from windrow.app.warc_names import importer, lots

        found = lots(self.config, names, source)
        if not found:
            return {}
        if wished:
            raise UsageError("--again, --limit and --since are for what is fetched; files are taken in whole, and once")
        collection = importer()
        others = tuple(one for one in self.config.sources if one.collection != collection)
        made = adapter(collection).harvest(replace(self.config, sources=others))
        return {collection: replace(made, lots=found)}

    def _tell_of(self, session: Session, unusable: tuple[str, ...]) -> Summary:
        return self._tell(session.ledger, session.number, tuple(session.mended), unusable)

    def _tell(
        self, ledger: Ledger, session: int, mended: tuple[str, ...] = (), unusable: tuple[str, ...] = ()
    ) -> Summary:
        """Return a session's summary, handed to the command of `run.notify` too."""
        from windrow.app.changes import MOST, contents, of_session
        from windrow.app.notice import notify
        from windrow.app.summary import summarise
        from windrow.form import message

        summary = summarise(ledger, session, phases(), mended, contents=contents(self.config, ledger))
        found = of_session(self.config, ledger, session)
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
        names: Sequence[str] = (),
        *,
        first: str = "",
        last: str = "",
        limit: int | None = None,
        since: datetime | None = None,
        again: bool = False,
        source: str = "",
    ) -> list[Preview]:
        """Tell what `run` would ask and from whom; opens no connection and writes nothing."""
        from windrow.app.schedule import Bounds, preview, span, taken
        from windrow.app.warc_names import lots

        names, first = self._adopt(names, first)
        if files := lots(self.config, names, source):
            return [taken(files)]
        ledger = self.ledger()
        try:
            found = []
            for kind, chosen in self.chosen(names).items():
                adapter(kind).ready(self.config)
                sources = [source for source in self.config.sources if source.name in chosen]
                part = span(collection(kind), first, last)
                found.append(preview(ledger, collection(kind), sources, part, Bounds(limit, since, again)))
            return found
        finally:
            ledger.close()

    def status(self) -> Standing:
        """Tell how every source stands, and how many items stand where and why."""
        from windrow.app.status import stand

        ledger = self.ledger()
        try:
            return stand(self.config, ledger, phases())
        finally:
            ledger.close()

    def why(self, what: str | int) -> Found:
        """Tell the whole story of an address, file, record, source, centre or number.

        Where several things are meant, they are listed; what is not known is a WindrowError that
        says what was looked for.
        """
        from windrow.app.story import tell

        ledger = self.ledger()
        try:
            return tell(self.config, ledger, str(what))
        finally:
            ledger.close()

    def changes(self, since: datetime | None = None, *, source: str = "", kind: str = "") -> list[SourceChange]:
        """Tell what came, changed or went at the sources, in the order of time: since a time, or in the last session.

        `kind` is new, changed or gone.
        """
        from windrow.adapter import Window
        from windrow.app.changes import changes

        ledger = self.ledger()
        try:
            last = ledger.sessions.latest()
            row = ledger.sessions.get(last) if last and since is None else None
            window = Window(since, row.span if row else None)
            found = changes(self.config, ledger, window, source=source, kind=kind) if last else ()
            return sorted(found, key=lambda one: (one.at, one.source, one.key))
        finally:
            ledger.close()

    def search(self, text: str, *, offset: int = 0, limit: int = 10) -> SearchAnswer:
        """Search what was harvested; any text is a query, and `as-of:` in it searches them as they were."""
        from windrow.app.search import search

        return search(self.config, text, offset=offset, limit=limit)

    def forget(self, names: Sequence[str], reason: str = "") -> list[Buried]:
        """Take pages, hosts or sites down, and return what was removed; a tombstone with the reason stays."""
        from windrow.app.takedown import take_down

        return take_down(self.config, self.setup, names, reason)
