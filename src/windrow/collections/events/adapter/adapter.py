"""The adapter of events: that of JSON records, and beside it the two databases of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from windrow.adapters.adapter import Explanation, Export, ReplayResult
from windrow.adapters.records import RecordAdapter
from windrow.clock import now
from windrow.collections.events.adapter.databases import opened, place_of, remember_parsers, removed_sources
from windrow.collections.events.adapter.projection import EventProjection
from windrow.collections.events.collection import COLLECTION
from windrow.collections.events.discover import MOVING, filled
from windrow.collections.events.documents import MISSING, distinct, id_of
from windrow.collections.events.exports import FORMS
from windrow.collections.events.settings import ADDRESS, ONCE, PARSER
from windrow.collections.events.times import zone_of
from windrow.config import Workspace
from windrow.contract import Collection
from windrow.engine.check import Fault
from windrow.engine.progress import Progress
from windrow.engine.run import Harvest
from windrow.engine.session import SessionSettings
from windrow.errors import StoreError
from windrow.formats.text import json_text
from windrow.ledger import Ledger
from windrow.model import Source
from windrow.stores.documents import DocumentStore, Span, SqliteDocuments, Stored
from windrow.stores.late_visits import LateVisitStore

_LINE = 300


class EventAdapter(RecordAdapter):
    """Joins events with a workspace."""

    def __init__(self, collection: Collection) -> None:
        """Join the collection, which can write both databases out."""
        super().__init__(collection)
        forms = ("jsonl", *FORMS)
        self.EXPORTS = (
            Export(
                "events", forms, "events in order of time; jsonl: every version of each", self._export_form, "events"
            ),
            Export("vd_events", ("jsonl",), "a line for each document of the events", self._export_events, "events"),
            Export("vd_log", ("jsonl",), "a line for each document of the attempts", self._export_log, "attempts"),
        )

    def _export_form(self, workspace: Workspace, form: str, out: TextIO) -> int:
        """Write all events, in the order of time, in one of the forms that other programs read."""
        if form == "jsonl":
            return self._export(workspace, form, out)
        with opened(workspace) as held:
            out.writelines(FORMS[form].write(_all(held.store, held.events)))
            return held.store.count(held.events)

    def _export_events(self, workspace: Workspace, form: str, out: TextIO) -> int:
        del form
        with opened(workspace) as held:
            return _lines(held.store, held.events, out)

    def _export_log(self, workspace: Workspace, form: str, out: TextIO) -> int:
        del form
        with opened(workspace) as held:
            return _lines(held.store, held.log, out)

    def harvest(self, workspace: Workspace) -> Harvest:
        """Make the harvest that the configuration describes; after it the documents are brought up to date."""
        made = super().harvest(workspace)
        sources = tuple(map(_of_today, made.sources))
        return replace(made, sources=sources, derivations={"document": partial(self._derive, workspace)})

    def _away(self, value: Any) -> str:
        """Say of an event that it is missing from its calendar."""
        return "its source does not list it any more" if value["status"] == MISSING else ""

    def _derive(self, workspace: Workspace, pulse: Callable[[], bool]) -> str:
        """Bring both databases up to date with the records and the ledger."""
        with self._store(workspace) as records, closing(Ledger(workspace.ledger)) as ledger:
            if records is None:
                return "nothing is read yet"
            assert isinstance(records, LateVisitStore)
            with opened(workspace) as databases:
                remember_parsers(ledger, self._collection.name, workspace.of(self._collection.name))
                sources = tuple(map(_of_today, self._sources_read_again(workspace, ledger)))
                made = EventProjection(
                    records, ledger, databases, sources, archive=workspace.archive.folder, limits=workspace.limits
                )
                return made.run(pulse)

    def _open_store(self, path: Path) -> LateVisitStore:
        return LateVisitStore(path)

    def _anew(self, workspace: Workspace) -> None:
        """Write all documents again, and remove those of no record."""
        with opened(workspace) as databases:
            databases.store.rewind()
        self._derive(workspace, lambda: True)

    def _sources_read_again(self, workspace: Workspace, ledger: Ledger) -> tuple[Source, ...]:
        """Return all sources that were ever configured: replay keeps the events of those that are not any more."""
        configured = workspace.of(self._collection.name)
        return configured + removed_sources(ledger, self._collection.name, configured)

    def replay(self, workspace: Workspace, setup: SessionSettings, progress: Progress) -> ReplayResult | None:
        """Rebuild the records from the captures, then the documents from the records."""
        done = super().replay(workspace, setup, progress)
        if done is not None:
            self._anew(workspace)
        return done

    def check(self, workspace: Workspace, ledger: Ledger) -> Iterable[Fault]:
        """Look through the records, and compare the documents with them."""
        yield from super().check(workspace, ledger)
        with self._store(workspace) as records:
            if records is None:
                return
            with opened(workspace) as databases:
                name, again = place_of(workspace), "windrow replay writes the documents anew"
                if isinstance(databases.store, SqliteDocuments):
                    for line in databases.store.faults():
                        yield Fault(name, line, again)
                reached, last = databases.store.checkpoint(), records.checkpoint()
                if reached > last:
                    yield Fault(name, f"tells of visit {reached}; the records end with visit {last}", again)

    def explain(self, workspace: Workspace, ledger: Ledger, what: str) -> Explanation | None:
        """Tell the story of an event by its uid or its document's id, of a log by its id, of an address by itself."""
        meant, document = self._meant_document(workspace, what)
        told = super().explain(workspace, ledger, meant)
        if told is None or document is None:
            return told
        lines = [f"{meant}: a record of {COLLECTION.name}, {document['status']}", *told.lines[1:]]
        lines.append(f"  stands as {document['_id']}")
        for one in document.get("history", ()):
            fields = (f"{name} {old!r} -> {new!r}" for name, (old, new) in one["fields"].items())
            lines.append(f"      {one['at']}  {'; '.join(fields)[:_LINE]}")
        return told._replace(lines=tuple(lines))

    def _meant_document(self, workspace: Workspace, what: str) -> tuple[str, Stored | None]:
        """Return the uid or address that is meant, and the document of that event, None for what is no event."""
        with self._store(workspace) as records:
            last = records.history(what)[-1:] if records is not None and records.known(what) else []
        names = [id_of(one.value) for one in last if one.value]
        ids = [each for name in names for each in (name, distinct(name, what))]
        if not ids and " - " in what:
            ids = [what]
        if not ids:
            return what, None
        with suppress(StoreError), opened(workspace) as held:  # a CouchDB that is away keeps no story back
            for one in held.store.get(held.events, ids).values():
                if one.get("uid") == what or (not last and "uid" in one):
                    return one["uid"], one
            for one in held.store.get(held.log, ids).values():
                return one["source_url"], None
        return what, None

    def clean_stores(self, workspace: Workspace, pulse: Callable[[], None]) -> tuple[str, ...]:
        """Leave nothing of what was removed in the records' file, nor in the documents."""
        left = super().clean_stores(workspace, pulse)
        self._anew(workspace)
        return left


def _of_today(source: Source) -> Source:
    """Return a source with the address that it has today."""
    address = source.options[ADDRESS]
    zone = zone_of(source.options[PARSER].zone)
    today = filled(address, now().astimezone(zone))
    return replace(source, options={**source.options, ADDRESS: today, ONCE: any(one in address for one in MOVING)})


def _lines(store: DocumentStore, database: str, out: TextIO) -> int:
    """Write a line of JSON for each document, in the order of time."""
    count = 0
    for one in _all(store, database):
        out.write(json_text(one) + "\n")
        count += 1
    return count


def _all(store: DocumentStore, database: str) -> Iterator[Stored]:
    """Yield all documents in the order of time, some hundreds at once."""
    skip = 0
    while page := list(store.view(database, "all", Span(limit=500, skip=skip))):
        yield from page
        skip += len(page)


ADAPTER = EventAdapter(COLLECTION)
"""What `windrow` uses."""

__all__ = ["ADAPTER", "EventAdapter"]
