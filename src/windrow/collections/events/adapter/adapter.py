"""The adapter of events: that of JSON records, which also keeps the two databases of documents up to date."""

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
from windrow.collections.events.adapter.databases import open_databases, place_of, remember_parsers, removed_sources
from windrow.collections.events.adapter.projection import EventProjection
from windrow.collections.events.collection import ADDRESS, COLLECTION, ONCE, PARSER
from windrow.collections.events.discover import MOVING, fill_address
from windrow.collections.events.documents import MISSING, distinct_id, id_of
from windrow.collections.events.exports import FORMS
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
from windrow.stores.documents import DocumentStore, SqliteDocuments, StoredDocument, ViewRange
from windrow.stores.late_attempts import LateAttemptStore

_LINE = 300


class EventAdapter(RecordAdapter):
    """Connects the collection `events` with a workspace."""

    def __init__(self, collection: Collection) -> None:
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
        """Write all events, ordered by start, in a format; return how many."""
        if form == "jsonl":
            return self._export(workspace, form, out)
        with open_databases(workspace) as databases:
            out.writelines(FORMS[form].write(_all_documents(databases.store, databases.events)))
            return databases.store.count(databases.events)

    def _export_events(self, workspace: Workspace, form: str, out: TextIO) -> int:
        del form
        with open_databases(workspace) as databases:
            return _write_lines(databases.store, databases.events, out)

    def _export_log(self, workspace: Workspace, form: str, out: TextIO) -> int:
        del form
        with open_databases(workspace) as databases:
            return _write_lines(databases.store, databases.log, out)

    def harvest(self, workspace: Workspace) -> Harvest:
        """Return the harvest of the configuration, with a derivation that updates the documents."""
        base = super().harvest(workspace)
        sources = tuple(map(_with_current_address, base.sources))
        return replace(base, sources=sources, derivations={"document": partial(self._derive, workspace)})

    def _describe_removal(self, record: Any) -> str:
        """Return why an event counts as gone, which is if its source no longer lists it; or an empty text."""
        return "its source no longer lists it" if record["status"] == MISSING else ""

    def _derive(self, workspace: Workspace, pulse: Callable[[], bool]) -> str:
        """Update both databases from the records and the ledger; return a summary."""
        with self._store(workspace) as records, closing(Ledger(workspace.ledger)) as ledger:
            if records is None:
                return "no document has been read yet"
            assert isinstance(records, LateAttemptStore)
            with open_databases(workspace) as databases:
                remember_parsers(ledger, self._collection.name, workspace.of(self._collection.name))
                sources = tuple(map(_with_current_address, self._replayed_sources(workspace, ledger)))
                projection = EventProjection(
                    records, ledger, databases, sources, archive=workspace.archive.folder, limits=workspace.limits
                )
                return projection.run(pulse)

    def _open_store(self, path: Path) -> LateAttemptStore:
        return LateAttemptStore(path)

    def _rewrite_documents(self, workspace: Workspace) -> None:
        """Write all documents again, and remove those without a record."""
        with open_databases(workspace) as databases:
            databases.store.rewind()
        self._derive(workspace, lambda: True)

    def _replayed_sources(self, workspace: Workspace, ledger: Ledger) -> tuple[Source, ...]:
        """Return all sources that are or were configured, as replay keeps the events of removed ones."""
        configured = workspace.of(self._collection.name)
        return configured + removed_sources(ledger, self._collection.name, configured)

    def replay(self, workspace: Workspace, setup: SessionSettings, progress: Progress) -> ReplayResult | None:
        """Rebuild the records from the captures, then the documents from the records."""
        replayed = super().replay(workspace, setup, progress)
        if replayed is not None:
            self._rewrite_documents(workspace)
        return replayed

    def check(self, workspace: Workspace, ledger: Ledger) -> Iterable[Fault]:
        """Check the records and the documents, and that the documents are not ahead of the records."""
        yield from super().check(workspace, ledger)
        with self._store(workspace) as records:
            if records is None:
                return
            with open_databases(workspace) as databases:
                location, remedy = place_of(workspace), "windrow replay rewrites the documents"
                if isinstance(databases.store, SqliteDocuments):
                    for line in databases.store.faults():
                        yield Fault(location, line, remedy)
                reached, last = databases.store.checkpoint(), records.checkpoint()
                if reached > last:
                    yield Fault(
                        location, f"has documents up to attempt {reached}; the records end at attempt {last}", remedy
                    )

    def explain(self, workspace: Workspace, ledger: Ledger, name: str) -> Explanation | None:
        """Explain an event, by its uid or its document's id, or an address, by itself or a log's id."""
        key, document = self._meant_document(workspace, name)
        explanation = super().explain(workspace, ledger, key)
        if explanation is None or document is None:
            return explanation
        lines = [f"{key}: a record of {COLLECTION.name}, {document['status']}", *explanation.lines[1:]]
        lines.append(f"  its document is {document['_id']}")
        for change in document.get("history", ()):
            fields = (f"{name} {old!r} -> {new!r}" for name, (old, new) in change["fields"].items())
            lines.append(f"      {change['at']}  {'; '.join(fields)[:_LINE]}")
        return explanation._replace(lines=tuple(lines))

    def _meant_document(self, workspace: Workspace, name_or_id: str) -> tuple[str, StoredDocument | None]:
        """Return the uid or address that a name or id means, and the event's document or, for anything else, None."""
        with self._store(workspace) as records:
            last = records.history(name_or_id)[-1:] if records is not None and records.has_record(name_or_id) else []
        names = [id_of(version.value) for version in last if version.value]
        ids = [id_ for name in names for id_ in (name, distinct_id(name, name_or_id))]
        if not ids and " - " in name_or_id:
            ids = [name_or_id]
        if not ids:
            return name_or_id, None
        with suppress(StoreError), open_databases(workspace) as databases:  # explain even if the CouchDB is down
            for stored in databases.store.get(databases.events, ids).values():
                if stored.get("uid") == name_or_id or (not last and "uid" in stored):
                    return stored["uid"], stored
            for stored in databases.store.get(databases.log, ids).values():
                return stored["source_url"], None
        return name_or_id, None

    def clean_stores(self, workspace: Workspace, pulse: Callable[[], None]) -> tuple[str, ...]:
        """Erase what was removed from the file of records and from the documents."""
        remaining = super().clean_stores(workspace, pulse)
        self._rewrite_documents(workspace)
        return remaining


def _with_current_address(source: Source) -> Source:
    """Return a source with its address for the current day and hour, in its own zone."""
    address = source.options[ADDRESS]
    zone = zone_of(source.options[PARSER].zone)
    today = fill_address(address, now().astimezone(zone))
    return replace(source, options={**source.options, ADDRESS: today, ONCE: any(field in address for field in MOVING)})


def _write_lines(store: DocumentStore, database: str, out: TextIO) -> int:
    """Write a line of JSON for each document, ordered by time; return how many."""
    count = 0
    for document in _all_documents(store, database):
        out.write(json_text(document) + "\n")
        count += 1
    return count


def _all_documents(store: DocumentStore, database: str) -> Iterator[StoredDocument]:
    """Yield all documents, ordered by time, read in pages of 500."""
    skip = 0
    while page := list(store.view(database, "all", ViewRange(limit=500, skip=skip))):
        yield from page
        skip += len(page)


ADAPTER = EventAdapter(COLLECTION)
"""The adapter that `windrow` loads."""
