"""The adapter of events: an adapter for JSON records that also updates the databases of events and of the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from windrow.adapters.adapter import Explanation, Export, ReplayResult
from windrow.adapters.records import RecordAdapter
from windrow.adapters.selection import EVERYTHING, ExportSelection
from windrow.adapters.trial import DocumentFinding, FetchedBytes, TrialPart
from windrow.clock import now
from windrow.collections.events.adapter.databases import (
    EventDatabases,
    find_former_uids,
    location_of,
    open_databases,
    remember_parsers,
    removed_sources,
)
from windrow.collections.events.adapter.projection import FOREIGN_DOCUMENTS_HINT, EventProjection, describe_foreign
from windrow.collections.events.collection import ADDRESS, COLLECTION, ONCE, PARSER
from windrow.collections.events.discover import (
    CHANGING_FIELDS,
    CUT_SERIES,
    EMPTIED,
    UNCOMPARED,
    UNLISTED,
    UNPAGED,
    fill_address,
)
from windrow.collections.events.documents import MISSING, complete_document, distinct_id, end_of_event, id_of
from windrow.collections.events.exports import FORMS, FeedAddresses
from windrow.collections.events.parser import EventParser
from windrow.collections.events.reading import LISTED_TWICE, parser_of
from windrow.collections.events.times import zone_of
from windrow.config import Workspace
from windrow.contract import Collection
from windrow.engine.check import Fault
from windrow.engine.progress import Progress
from windrow.engine.run import Derived, Harvest, SessionSettings
from windrow.errors import StoreError, UsageError
from windrow.formats.text import json_text
from windrow.ledger import Ledger
from windrow.ledger.sessions import RuleCount
from windrow.model import Level, Source
from windrow.reasons import Reason
from windrow.stores.documented_records import DocumentedRecords
from windrow.stores.documents import ALL_DOCUMENTS, DocumentStore, StoredDocument, ViewRange
from windrow.stores.record_versions import Removal
from windrow.stores.records import RecordStore
from windrow.stores.sqlite_documents import SqliteDocuments
from windrow.stores.store_mark import StoreMark

if TYPE_CHECKING:
    from windrow.adapters.home import Home, HomeView, RequestAnswer

_MAX_LINE_CHARACTERS = 300  # of a change that `why` reports
_EMPTIED_RULE = "events of a list that has none now; if that is right, set `may_be_empty`"
_UNLISTED_RULE = "lists that have had no event so far; if that is right, set `may_be_empty`"
_UNCOMPARED_RULE = "parts of a list without an id that can be read: until they can, no removed event is noticed"
_CUT_RULE = "recurring events with repetitions after the time of the setting `recurrence_ahead`"
_UNPAGED_RULE = (
    'events of a list in which `next_page` never selected anything; if it has only one page, set `next_page = ""`'
)
_FORMER_UIDS_RULE = (
    "events that may be twice, as the settings of their ids changed; to read them again: windrow replay events"
)
_MISSING_RULE = "events to come that the source does not list any more (status `missing`)"
_SELECTED_KEYS = ("branch", "entity", "source", "status", "parser_name")


class EventAdapter(RecordAdapter):
    """Connects the collection `events` with a workspace."""

    # A run reads only the sources that are still declared, and does not write the documents of another file of records.
    _after_rebuild = ", then windrow replay events, for the documents and the sources that are no longer declared"
    _removal = Removal("status", MISSING, "its source no longer lists it")

    def __init__(self, collection: Collection) -> None:
        super().__init__(collection)
        forms, help_text = ("jsonl", *FORMS), "events, the earliest first; jsonl: all versions of each"
        self.EXPORTS = (
            Export(
                "events",
                forms,
                help_text,
                self._export_form,
                "events",
                self._export_selected,
                invalid_help="their datetime is missing or not as the standard of VotersDaily defines it",
            ),
            Export("vd_events", ("jsonl",), "a line for each document of an event", self._export_events, unit="events"),
            Export("vd_log", ("jsonl",), "a line for each document of the log", self._export_log, unit="attempts"),
        )

    def _export_form(self, workspace: Workspace, form: str, out: TextIO) -> int:
        """Write all events or, in jsonl, all versions of all events; return how many were written."""
        return self._export_selected(workspace, form, out, EVERYTHING)[0]

    def _export_selected(
        self, workspace: Workspace, form: str, out: TextIO, selection: ExportSelection
    ) -> tuple[int, int, int]:
        """Write the selected events; return how many are written, not valid, and not selected.

        Raise UsageError for a selection in jsonl.
        """
        if form == "jsonl" and selection == EVERYTHING:
            return self._export(workspace, form, out), 0, 0
        if form == "jsonl":
            raise UsageError("jsonl has every version of every event; choose another format to select events")
        unknown_names = [name for name, _ in selection.fields if name not in _SELECTED_KEYS]
        if unknown_names:
            raise UsageError(
                f"events cannot be selected by {unknown_names[0]!r}; choose one of {', '.join(_SELECTED_KEYS)}"
            )
        with open_databases(workspace) as databases:
            selected = _CountingIterable(
                document for document in _all_documents(databases.store, databases.events, selection)
                if all(document.get(name) == value for name, value in selection.fields)
            )  # fmt: skip
            written = _CountingIterable(FORMS[form].complete(selected))
            out.writelines(FORMS[form].write_complete(written, FeedAddresses(workspace.name)))
            unselected = databases.store.count(databases.events) - selected.count
            if selection == EVERYTHING:  # the view does not have documents without a datetime
                return written.count, selected.count - written.count + unselected, 0
            return written.count, selected.count - written.count, unselected

    def _export_events(self, workspace: Workspace, form: str, out: TextIO) -> int:
        del form
        with open_databases(workspace) as databases:
            return _write_lines(databases.store, databases.events, out)

    def _export_log(self, workspace: Workspace, form: str, out: TextIO) -> int:
        del form
        with open_databases(workspace) as databases:
            return _write_lines(databases.store, databases.log, out)

    def harvest(self, workspace: Workspace) -> Harvest:
        """Return the configured harvest with its sources' current addresses and the function that derives documents."""
        base = super().harvest(workspace)
        sources = (source if source.unusable else _with_current_address(source) for source in base.sources)
        return replace(
            base,
            sources=tuple(sources),
            derivations={"document": partial(self._derive, workspace)},
            limits=_limit_documents(workspace).limits,
        )

    def _derive(self, workspace: Workspace, pulse: Callable[[], bool]) -> Derived:
        """Write the parsers to the ledger, and update both databases until `pulse` returns False; return a summary."""
        with self._store(workspace) as records, closing(Ledger(workspace.ledger)) as ledger:
            if records is None:
                return Derived("no documents have been read yet")
            with open_databases(workspace) as databases:
                sources, counts = _usable_sources(workspace), records.count_by_source()
                # Nothing has been read with the settings of a source that has no events, and they may still be changed.
                remember_parsers(
                    ledger, self._collection.name, [source for source in sources if counts.get(source.name)]
                )
                return self._projection(workspace, records, ledger, databases).run(pulse)

    def _projection(
        self, workspace: Workspace, records: RecordStore, ledger: Ledger, databases: EventDatabases
    ) -> EventProjection:
        assert isinstance(records, DocumentedRecords)
        sources = tuple(map(_with_current_address, self._replayed_sources(workspace, ledger)))
        return EventProjection(
            records, ledger, databases, sources, archive=workspace.archive.folder, limits=workspace.limits
        )

    def _open_store(self, path: Path) -> DocumentedRecords:
        return DocumentedRecords(path, self._collection.columns, self._removal)

    def _rewrite_documents(self, workspace: Workspace) -> None:
        """Write the documents for all records and runs again, and remove all other documents that windrow wrote."""
        with self._store(workspace) as records:
            if records is None:
                return
            with open_databases(workspace) as databases:
                databases.store.rewind(records.identity())
        self._derive(workspace, lambda: True)

    def _replayed_sources(self, workspace: Workspace, ledger: Ledger) -> tuple[Source, ...]:
        """Return the configured sources, and those with stored parsers that were removed or whose settings are wrong.

        A replay keeps the events of the latter.
        """
        configured = _usable_sources(workspace)
        return configured + removed_sources(ledger, self._collection.name, configured)

    def replay(self, workspace: Workspace, setup: SessionSettings, progress: Progress) -> ReplayResult | None:
        """Rebuild the records from captures and the documents from records; return None if there are no records."""
        replayed = super().replay(workspace, setup, progress)
        if replayed is not None:
            self._rewrite_documents(workspace)
            with closing(Ledger(workspace.ledger)) as ledger:
                remember_parsers(ledger, COLLECTION.name, _usable_sources(workspace), has_reread=True)
        return replayed

    def marks(self, workspace: Workspace, ledger: Ledger) -> Mapping[str, Callable[[], StoreMark]]:
        """Return how to read the marks of the records and of the documents."""
        read_documents = partial(self._read_mark_of_documents, workspace)
        return {**super().marks(workspace, ledger), location_of(workspace): read_documents}

    def _read_mark_of_documents(self, workspace: Workspace) -> StoreMark:
        """Return how far the documents go. They belong to their records: with other records, they are not compared."""
        with self._store(workspace) as records:
            if records is None or not self._has_documents(workspace):
                return StoreMark()
            with open_databases(workspace) as databases:
                is_foreign = databases.store.identities() - {records.identity()}
                return StoreMark() if is_foreign else StoreMark(0, databases.store.checkpoints()[1])

    def _has_documents(self, workspace: Workspace) -> bool:
        location = location_of(workspace)
        return "://" in location or (workspace.root / location).exists()

    def check(self, workspace: Workspace, ledger: Ledger) -> Iterable[Fault]:
        """Yield the faults of the records, and those of the documents.

        The documents are compared with the records and the ledger, unless some are still to be written, or were made
        from other records.
        """
        yield from super().check(workspace, ledger)
        if not self._path(workspace).is_file():
            return
        with self._store(workspace) as records:
            if records is None:
                return
            assert isinstance(records, DocumentedRecords)
            location, remedy = location_of(workspace), "windrow replay rewrites the documents"
            if not self._has_documents(workspace):  # to open it would create it
                if records.checkpoint():
                    yield Fault(location, "does not exist", "windrow run events")
                return
            with open_databases(workspace) as databases:
                if isinstance(databases.store, SqliteDocuments):
                    for message in databases.store.faults():
                        yield Fault(location, message, remedy)
                (documents_end, _), records_end = databases.store.checkpoints(), records.checkpoint()
                if foreign := describe_foreign(databases.store, records):
                    yield Fault(location, f"has documents of other records: {foreign}", FOREIGN_DOCUMENTS_HINT)
                elif documents_end < records_end or records.late_attempts(1):
                    yield Fault(location, "some documents are not written yet", "windrow run events")
                else:
                    refused = {document.message for document in records.refused_documents()}
                    yield from (Fault(location, f"refuses {message}", "windrow run events") for message in refused)
                    for message in self._projection(workspace, records, ledger, databases).differences():
                        yield Fault(location, message, remedy)

    def _source_at(self, workspace: Workspace | None, url: str, first_url: str) -> Source:
        sources = map(_with_current_address, _usable_sources(workspace)) if workspace else ()
        source_at_address = next((source for source in sources if source.options[ADDRESS] in {url, first_url}), None)
        return source_at_address or super()._source_at(workspace, url, first_url)

    def try_address(self, workspace: Workspace | None, address: str) -> Iterator[TrialPart]:
        """Read an address as a run does; after each fetched document, yield a note that names its source and reader."""
        for part in super().try_address(workspace and _limit_documents(workspace), address):
            yield part
            if isinstance(part, FetchedBytes):
                source = self._source_at(workspace, part.address, address)
                phase = self._collection.phases[0]
                yield DocumentFinding(part.address, phase, Level.NOTE, "Source", self._describe_source(source))

    def _describe_source(self, source: Source) -> str:
        parser = parser_of(source)
        reader = parser.rules_at(now()).reader
        if PARSER not in source.options:
            return f"no source has this address, so it is read with the reader {reader}"
        return f"read as a document of source {source.name}, with its parser {parser.name} and the reader {reader}"

    def count_skipped(self, workspace: Workspace, facts: tuple[int, int] | None) -> Mapping[str, int]:
        """Count the events that could not be read, by reason.

        `facts` is the range (first, last) of the attempts that are counted. If it is None, the last attempt at each
        address with such events is counted, unless a later attempt at the address read an event.
        """
        # A placeholder is not an event, and an event that is listed twice is not lost.
        ignored: dict[str, str] = {Reason.PLACEHOLDER: "", Reason.DUPLICATE_RECORD: LISTED_TWICE}
        with self._store(workspace) as records:
            if not isinstance(records, DocumentedRecords):
                return {}
            return records.count_skipped(facts, ignored) if facts else records.count_unrepaired(ignored)

    def count_unlisted(self, workspace: Workspace, ledger: Ledger) -> Iterator[RuleCount]:
        """Yield for each active source how many events to come are missing, and how many a list had that is empty.

        Also yield how many recurring events are cut at `recurrence_ahead`, how many events are in lists in which the
        setting `next_page` never selected anything, which lists never had an event or have parts of unknown events and,
        if the settings of a source changed so that events get other uids, how many events it has.
        """
        sources = {source.name: source for source in workspace.of(COLLECTION.name) if source.active}
        for key, reason, rule in (
            (EMPTIED, Reason.NO_LONGER_LISTED, _EMPTIED_RULE),
            (UNLISTED, Reason.NOT_WANTED, _UNLISTED_RULE),
            (UNCOMPARED, Reason.INCOMPLETE_RECORD, _UNCOMPARED_RULE),
            (CUT_SERIES, Reason.NOT_WANTED, _CUT_RULE),
            (UNPAGED, Reason.NOT_WANTED, _UNPAGED_RULE),
        ):
            for name, count in ledger.requests.learned_as(COLLECTION.name, key).items():
                if count and count["events"] and name in sources and _may_be_counted(key, parser_of(sources[name])):
                    yield RuleCount(name, reason, rule, count["events"], count["url"])
        missing_keys: dict[str, list[str]] = {}
        with self._store(workspace) as records:
            if not isinstance(records, DocumentedRecords):
                return
            for name, key, event in records.removed_records():
                if name in sources and end_of_event(event) > now():
                    missing_keys.setdefault(name, []).append(key)
            for name in find_former_uids(ledger, COLLECTION.name, sources.values()):
                address = str(sources[name].options[ADDRESS])
                if number := records.count_by_source().get(name):
                    yield RuleCount(name, Reason.SUPERSEDED, _FORMER_UIDS_RULE, number, address)
        for name, keys in missing_keys.items():
            yield RuleCount(name, Reason.NO_LONGER_LISTED, _MISSING_RULE, len(keys), keys[0])

    def explain(self, workspace: Workspace, ledger: Ledger, name: str) -> Explanation | None:
        """Explain the event or address that a name or a document's id refers to; return None if there is none."""
        key, document = self._find_named(workspace, name)
        explanation = super().explain(workspace, ledger, key)
        if explanation is None or document is None:
            return explanation
        lines = [f"{key}: a record of {COLLECTION.name}, {document['status']}", *explanation.lines[1:]]
        lines.append(f"  its document is {document['_id']}")
        for change in document.get("history", ()):
            fields = (f"{field} {old!r} -> {new!r}" for field, (old, new) in change["fields"].items())
            lines.append(f"      {change['at']}  {'; '.join(fields)[:_MAX_LINE_CHARACTERS]}")
        return explanation._replace(lines=tuple(lines))

    def home(self, workspace: Workspace, ledger: Ledger, view: HomeView) -> Home:
        """Return the agenda, a month, or the event `view.name`; an event without a document is shown as its record."""
        from windrow.collections.events.adapter.home import show_event, show_home  # noqa: PLC0415 loaded when used

        if view.name:
            from windrow.adapters.home import refuse_unread  # noqa: PLC0415 loaded when used

            refuse_unread(view, "name")
            _, document = self._find_named(workspace, view.name)
            event = complete_document(document) if document else None
            return show_event(event) if event else super().home(workspace, ledger, view)
        try:
            with open_databases(workspace) as databases:
                return show_home(databases, workspace.of(COLLECTION.name), view)
        except StoreError as error:
            if error.reason != Reason.NOT_FOUND:
                raise
            return super().home(workspace, ledger, view)  # before the first documents are written

    def knows(self, workspace: Workspace, ledger: Ledger, name: str) -> bool:
        """Return whether there is an event with this name or document's id."""
        _, document = self._find_named(workspace, name)
        return bool(document and complete_document(document)) or super().knows(workspace, ledger, name)

    REQUESTS_AT = "/api/events"

    def answer_request(self, workspace: Workspace, path: str, query: bytes, base: str) -> RequestAnswer:
        """Return the answer of VotersDaily's API; `base` is what stands before the path in addresses."""
        from windrow.adapters.home import RequestAnswer  # noqa: PLC0415 loaded when used
        from windrow.collections.events.adapter.api import EventApi  # noqa: PLC0415 loaded when used

        with closing(EventApi(workspace)) as api:
            return RequestAnswer(*api.respond("GET", path, query, base))

    def _find_named(self, workspace: Workspace, name_or_id: str) -> tuple[str, StoredDocument | None]:
        """Return the key and the document that a name or a document's id refers to.

        The key is the uid of an event, the address of a log's first request, or `name_or_id` itself. The document is
        None unless an event's document was found.
        """
        with self._store(workspace) as records:
            is_uid = records is not None and records.has_record(name_or_id)
            last_versions = records.history(name_or_id)[-1:] if records is not None and is_uid else []
        plain_ids = [id_of(version.value) for version in last_versions if version.value]
        ids = [id_ for plain_id in plain_ids for id_ in (plain_id, distinct_id(plain_id, name_or_id))]
        if not ids and " - " in name_or_id:
            ids = [name_or_id]
        if not ids:
            return name_or_id, None
        with suppress(StoreError), open_databases(workspace) as databases:  # the CouchDB may not answer
            for document in databases.store.get(databases.events, ids).values():
                if document.get("uid") == name_or_id or (not last_versions and "uid" in document):
                    return document["uid"], document
            for document in databases.store.get(databases.log, ids).values():
                return document["source_url"], None
        return name_or_id, None

    def clean_stores(self, workspace: Workspace, pulse: Callable[[], None]) -> tuple[str, ...]:
        """Erase records and documents that were taken down; return a message for each place that may still have some.

        Documents that were made from other records are not changed.
        """
        remaining = super().clean_stores(workspace, pulse)
        with self._store(workspace) as records:
            if isinstance(records, DocumentedRecords):
                with open_databases(workspace) as databases:
                    foreign = describe_foreign(databases.store, records)
                if foreign:
                    message = f"{location_of(workspace)}: the documents were made from other records: {foreign}"
                    return (*remaining, message)
        self._rewrite_documents(workspace)
        return remaining


def _limit_documents(workspace: Workspace) -> Workspace:
    """Return a workspace in which no document is larger than the setting `events.document_size`."""
    largest = next(setting.value for setting in workspace.values if setting.name == "events.document_size")
    limits = workspace.limits
    transfer_size, member_size = (min(size, largest) for size in (limits.transfer_size, limits.member_size))
    return replace(workspace, limits=replace(limits, transfer_size=transfer_size, member_size=member_size))


def _usable_sources(workspace: Workspace) -> tuple[Source, ...]:
    """Return the configured sources without those whose settings are wrong."""
    return tuple(source for source in workspace.of(COLLECTION.name) if not source.unusable)


def _with_current_address(source: Source) -> Source:
    """Return a source with its current address; its option ONCE is true if the address changes each day or hour."""
    address = source.options[ADDRESS]
    zone = zone_of(source.options[PARSER].zone)
    current = fill_address(address, now().astimezone(zone))
    is_requested_once = any(field in address for field in CHANGING_FIELDS)
    return replace(source, options={**source.options, ADDRESS: current, ONCE: is_requested_once})


def _may_be_counted(key: str, parser: EventParser) -> bool:
    """Return whether what was learned under a key such as EMPTIED matters with the settings in force now."""
    if key == UNPAGED:
        return bool(parser.rules_at(now()).next_page)
    return key not in {EMPTIED, UNLISTED} or not parser.may_be_empty


def _write_lines(store: DocumentStore, database: str, out: TextIO) -> int:
    count = 0
    for document in _all_documents(store, database):
        out.write(json_text(document) + "\n")
        count += 1
    return count


class _CountingIterable:
    def __init__(self, documents: Iterable[Mapping[str, Any]]) -> None:
        self._documents = documents
        self.count = 0

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for document in self._documents:
            self.count += 1
            yield document


def _all_documents(
    store: DocumentStore, database: str, selection: ExportSelection = EVERYTHING
) -> Iterator[StoredDocument]:
    """Yield the documents of a database, ordered by time, from the start to the end of the selection.

    They are read at once: between two readings, a run may move documents to another place.
    """
    return store.view(database, "all", ViewRange(start=selection.start, end=selection.end, limit=ALL_DOCUMENTS))


ADAPTER = EventAdapter(COLLECTION)
"""The adapter that `windrow` loads."""
