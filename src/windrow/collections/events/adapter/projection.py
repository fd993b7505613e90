"""Write the documents of both databases from the records and the ledger.

Documents are derived only from stored facts, so that a run after a killed one writes the same documents. A run writes
the documents that changed since the checkpoint, and those that others removed or changed in the databases. `pulse`
reports progress and returns False if the writing must stop.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import filterfalse
from pathlib import Path
from typing import Any, NamedTuple

from windrow.collections.events.adapter.databases import EventDatabases
from windrow.collections.events.adapter.run_logs import RunLogs
from windrow.collections.events.documents import (
    EventDocument,
    EventVersion,
    differing_keys,
    distinct_id,
    event_document,
    id_of,
    is_stored,
)
from windrow.engine.run import Derived
from windrow.errors import StoreError
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.model import Limits, Source
from windrow.stores.documented_records import DocumentedRecords, RefusedDocument
from windrow.stores.documents import DocumentStore
from windrow.stores.time_limit import wait_while

FOREIGN_DOCUMENTS_HINT = (
    "if the databases belong to this workspace: windrow replay events, which writes all documents again and removes"
    " others that windrow wrote; if not, set events.documents to databases of its own"
)
"""What to do if the databases have documents that were made from other records."""
# Keys that only documents of windrow have, together: other programs may use one of them.
_EVENT_KEYS, _LOG_KEYS = frozenset({"uid", "source", "first_seen"}), frozenset({"attempt", "session", "source"})
_DERIVED, _RESTORED = ("new", "changed"), ("missing", "altered")
"""How a written document is counted, if there was none and if there was one.

The first pair is for documents that changed since the last run, the second for those that others removed or changed.
"""
PAGE_SIZE = 256  # records, documents or ids
_MAX_DOCUMENTS, _MAX_SIZE = 400, 3_000_000  # documents, and characters of their JSON, in one request to a CouchDB


class EventProjection:
    """Writes the documents of a workspace's events and of the runs of its parsers."""

    def __init__(
        self, records: DocumentedRecords, ledger: Ledger, databases: EventDatabases, sources: Sequence[Source],
        *, archive: Path, limits: Limits,
    ) -> None:  # fmt: skip
        self._records = records
        self._store = databases.store
        self._databases = databases
        sources_by_name = {source.name: source for source in sources}
        self._logs = RunLogs(records, ledger, databases, sources_by_name, archive=archive, limits=limits)
        self._written: Counter[str] = Counter()  # documents of events: _DERIVED, _RESTORED and shortened

    def run(self, pulse: Callable[[], bool]) -> Derived:
        """Write the documents that changed since the checkpoint; stop if `pulse` returns False. Return a summary.

        From checkpoint 0 all documents are written, and other documents of windrow are removed. Refused documents are
        written again, and so are documents that change because an earlier attempt was read late or again, and documents
        that others removed or changed since the last run, or that a replication left in conflict. Raise StoreError if
        the documents were made from other records.
        """
        with wait_while(pulse):
            self._write_all(pulse)
        return Derived(self._summarize(), self._describe_refused(), self._logs.failed)

    def _write_all(self, pulse: Callable[[], bool]) -> None:
        if foreign := describe_foreign(self._store, self._records):
            raise StoreError(f"the documents were made from other records: {foreign}", hint=FOREIGN_DOCUMENTS_HINT)
        (checkpoint, written_until), last_attempt = self._store.checkpoints(), self._records.checkpoint()
        # None unless all documents are written and others removed
        event_ids: set[str] | None = set() if checkpoint == 0 else None
        log_ids: set[str] | None = set() if checkpoint == 0 else None
        names = (self._databases.events, self._databases.log)
        changed_events, changed_logs = map(self._changed_by_others, names) if checkpoint else (set(), set())
        refused = self._records.refused_documents()
        refused_uids = [document.key for document in refused if document.key]
        # If one of the databases was deleted, documents up to the checkpoint of the other one were written before.
        lost_until = 0 if checkpoint else written_until
        changed_from = max(checkpoint, lost_until) + 1
        changed_uids = dict.fromkeys((*refused_uids, *self._records.changed_keys((changed_from, last_attempt))))
        lost_uids = self._records.changed_keys((1, lost_until))
        uids_by_kinds = {_RESTORED: [uid for uid in lost_uids if uid not in changed_uids], _DERIVED: [*changed_uids]}
        for kinds, uids_of_kinds in uids_by_kinds.items():
            for uids in _chunks(uids_of_kinds, PAGE_SIZE):
                self._write_events(uids, event_ids, kinds=kinds)
                if not pulse():
                    return
        refused_attempts = [document.attempt for document in refused if not document.key]
        if not self._logs.write(checkpoint, last_attempt, log_ids, pulse, refused_attempts, lost_until=lost_until):
            return
        if event_ids is not None and log_ids is not None:
            self._remove_stale(self._databases.events, event_ids, _EVENT_KEYS)
            self._remove_stale(self._databases.log, log_ids, _LOG_KEYS)
        if not self._restore_events(checkpoint, changed_events, pulse):
            return
        if not self._logs.restore(checkpoint, changed_logs, pulse):
            return
        self._store.set_checkpoint(last_attempt, self._records.identity())
        self._write_late(last_attempt, pulse)
        for name in names:
            self._records.set_written_state(name, self._store.state(name))

    def _changed_by_others(self, database: str) -> set[str] | None:
        """Return ids that were written or removed since the last run, and may be windrow's; None if any may have been.

        Documents that windrow itself wrote are among them if the last run was killed.
        """
        changed_ids = self._store.changed_since(database, self._records.written_state(database))
        return None if changed_ids is None else {id_ for id_ in changed_ids if " - " in id_}  # as each id of windrow's

    def _restore_events(self, checkpoint: int, changed_ids: set[str] | None, pulse: Callable[[], bool]) -> bool:
        """Write the documents of records up to `checkpoint` again that are missing or not as windrow wrote them.

        Only `changed_ids` are considered, or all documents if it is None. Return False if `pulse` stopped the writing.
        """
        if changed_ids is not None and not changed_ids:
            return True
        for uids in _chunks(self._records.changed_keys((1, checkpoint)), PAGE_SIZE):
            if changed_ids is not None:
                events = {uid: event for uid in uids if (event := self._event_document(uid, ()))}
                uids = [uid for uid in events if not changed_ids.isdisjoint(_possible_ids(uid, events[uid]))]  # noqa: PLW2901
            self._write_events(uids, None, kinds=_RESTORED)
            if not pulse():
                return False
        return True

    def differences(self) -> Iterator[str]:
        """Yield a message for each document that is missing or wrong, or belongs to no event or run. Write nothing."""
        last_attempt = self._records.checkpoint()
        event_ids, log_ids = set[str](), set[str]()
        for uids in _chunks(self._records.changed_keys((1, last_attempt)), PAGE_SIZE):
            events = {uid: event for uid in uids if (event := self._event_document(uid, ()))}
            for changes in self._plan_events(events, event_ids):
                yield from self._compare(self._databases.events, changes.documents)
        for document in self._logs.documents(last_attempt):
            log_ids.add(document["_id"])
            yield from self._compare(self._databases.log, [document])
        databases = ((self._databases.events, event_ids, _EVENT_KEYS), (self._databases.log, log_ids, _LOG_KEYS))
        for database, current_ids, windrow_keys in databases:
            for stale_ids in self._stale_ids(database, current_ids, windrow_keys):
                yield from (f"{database}: {id_}: belongs to no event or run that was read" for id_ in stale_ids)

    def _compare(self, database: str, documents: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        stored_documents = self._store.get(database, [document["_id"] for document in documents])
        for document in documents:
            stored = stored_documents.get(document["_id"])
            if stored is None:
                yield f"{database}: {document['_id']}: is missing"
            # A log is not faulty because the version of its parser in the configuration was changed later.
            elif names := differing_keys(stored, document) - {"parser_version"}:
                yield f"{database}: {document['_id']}: differs from what was read, in {', '.join(sorted(names))}"

    def _describe_refused(self) -> dict[str, str]:
        refused: dict[str, list[RefusedDocument]] = {}
        for document in self._records.refused_documents():
            refused.setdefault(document.source, []).append(document)
        return {
            source: f"the store refuses {counted(len(documents), 'document')}, such as {documents[0].message}"
            "; each run tries to write them again"
            for source, documents in refused.items()
        }

    def _write_late(self, last_attempt: int, pulse: Callable[[], bool]) -> None:
        while pulse() and (late_attempts := self._records.late_attempts(PAGE_SIZE)):
            late_records = self._records.late_records(late_attempts)
            former_ids = {uid: [id_of(event) for event in events] for uid, events in late_records.items()}
            for uids in _chunks([*former_ids], PAGE_SIZE):
                self._write_events(uids, None, former_ids)
            recounted = self._records.attempts_to_recount(late_attempts)
            if not self._logs.write(last_attempt, last_attempt, None, pulse, recounted):
                return
            self._logs.remove_former()
            self._records.remove_late_attempts(late_attempts)

    def _summarize(self) -> str:
        events, logs = counted(self._written["new"], "event"), counted(self._logs.written, "log")
        rejected = self._logs.rejected
        unread = f"; {counted(rejected, 'event')} could not be read: see windrow why ADDRESS" if rejected else ""
        shortened_count = self._written["shortened"] + self._logs.shortened
        shortened = f"; {counted(shortened_count, 'document')} written without source_text, as the store refused it"
        restored_count = sum(self._written[kind] for kind in _RESTORED) + self._logs.restored
        restored = f"; {counted(restored_count, 'document')} written again that others had removed or changed"
        notes = [restored if restored_count else "", unread, shortened if shortened_count else ""]
        if self._logs.unreadable:
            notes.append(
                f"; {counted(self._logs.unreadable, 'log')} without source_text, as the response cannot be read in the"
                " archive: windrow check"
            )
        return f"{events} new, {self._written['changed']:,} changed, {logs}{''.join(notes)}"

    def _remove_stale(self, database: str, current_ids: set[str], windrow_keys: frozenset[str]) -> None:
        for stale_ids in self._stale_ids(database, current_ids, windrow_keys):
            self._store.write(database, (), stale_ids)

    def _stale_ids(self, database: str, current_ids: set[str], windrow_keys: frozenset[str]) -> Iterator[list[str]]:
        """Yield lists of the ids of windrow's documents (with all `windrow_keys`) that are not in `current_ids`."""
        for ids in _chunks([id_ for id_ in self._store.ids(database) if id_ not in current_ids], PAGE_SIZE):
            if stale_ids := [
                id_ for id_, document in self._store.get(database, ids).items() if windrow_keys <= document.keys()
            ]:
                yield stale_ids

    def _write_events(
        self, uids: Sequence[str], current_ids: set[str] | None,
        removed_ids: Mapping[str, Sequence[str]] | None = None, kinds: tuple[str, str] = _DERIVED,
    ) -> None:  # fmt: skip
        """Write the documents of events that changed, and remember those that the store refuses.

        The ids of the documents are added to `current_ids`, unless it is None. `removed_ids` is a dict from uid to the
        ids that the event had in removed versions. If no version of such an event is left, its documents are removed.
        The documents are counted as one of `kinds`, the first if there was none.
        """
        removed_ids = removed_ids or {}
        event_documents = {uid: self._event_document(uid, removed_ids.get(uid, ())) for uid in uids}
        events = {uid: event for uid, event in event_documents.items() if event is not None}
        self._remove_events({uid: removed_ids[uid] for uid in uids if uid in removed_ids and uid not in events})
        refused: list[RefusedDocument] = []
        for changes in self._plan_events(events, current_ids, kinds):
            refused += self._write(changes)
        self._records.replace_refused(((uid, 0) for uid in uids), refused)

    def _plan_events(
        self, events: Mapping[str, EventDocument], current_ids: set[str] | None, kinds: tuple[str, str] = _DERIVED
    ) -> Iterator[DocumentChanges]:
        """Yield the changes that bring the stored documents of events up to date; `events` is a dict from uid to event.

        The current ids of the documents are added to `current_ids`, unless it is None.
        """
        own_ids = {uid: _possible_ids(uid, event) for uid, event in events.items()}
        possible_ids = dict.fromkeys(id_ for ids in own_ids.values() for id_ in ids)
        stored_documents = self._store.get(self._databases.events, list(possible_ids))
        uid_by_id: dict[str, str] = {id_: str(document.get("uid")) for id_, document in stored_documents.items()}
        unmoved: list[dict[str, Any]] = []
        moved: list[DocumentChanges] = []
        used_ids: set[str] = set()
        for uid, event in events.items():
            id_now = str(event.document["_id"])
            if uid_by_id.get(id_now, uid) != uid:  # another event has this id, as ids need not be unique
                id_now = distinct_id(id_now, uid)
            document = {**event.document, "_id": id_now}
            uid_by_id[id_now] = uid
            used_ids.add(id_now)
            if current_ids is not None:
                current_ids.add(id_now)
            stored = stored_documents.get(id_now)
            former_ids = [id_ for id_ in own_ids[uid] if id_ != id_now and uid_by_id.get(id_) == uid]
            for id_ in former_ids:
                uid_by_id.pop(id_)
            to_write = [] if is_stored(stored, document) else [document]
            if to_write:
                self._written[kinds[0] if stored is None and not former_ids else kinds[1]] += 1
            if former_ids:
                moved.append(DocumentChanges(to_write, former_ids))
            else:
                unmoved += to_write
        for to_write, former_ids in (*group_changes(moved), DocumentChanges(unmoved, [])):
            stale_ids = list(filterfalse(used_ids.__contains__, former_ids))
            if to_write or stale_ids:
                yield DocumentChanges(to_write, stale_ids)

    def _write(self, changes: DocumentChanges) -> list[RefusedDocument]:
        written = self._databases.write(self._databases.events, *changes)
        self._written["shortened"] += written.shortened
        return [
            RefusedDocument(document["uid"], 0, document["source"], f"{document['_id']}: {reason}")
            for document in changes.documents if (reason := written.refused.get(document["_id"]))
        ]  # fmt: skip

    def _event_document(self, uid: str, removed_ids: Sequence[str]) -> EventDocument | None:
        """Return an event's document, with `removed_ids` among its previous ids; None if the event was never listed."""
        versions = [
            EventVersion(version.at, version.source, version.value, json.loads(version.aside) if version.aside else {})
            for version in self._records.history(uid)
        ]
        event = event_document(uid, versions)
        return event._replace(previous_ids=tuple(dict.fromkeys((*event.previous_ids, *removed_ids)))) if event else None

    def _remove_events(self, ids_by_uid: Mapping[str, Sequence[str]]) -> None:
        """Remove the documents of events by their former ids, except ids that other events have now."""
        pairs = [(uid, plain_id) for uid, plain_ids in ids_by_uid.items() for plain_id in plain_ids]
        ids = {id_ for uid, plain_id in pairs for id_ in (plain_id, distinct_id(plain_id, uid))}
        stored = self._store.get(self._databases.events, sorted(ids)) if ids else {}
        if stale_ids := [id_ for id_, document in stored.items() if document.get("uid") in ids_by_uid]:
            self._store.write(self._databases.events, (), stale_ids)


def _possible_ids(uid: str, event: EventDocument) -> list[str]:
    """Return the ids under which an event's document may be stored: its present one and the previous ones."""
    plain_ids = (str(event.document["_id"]), *event.previous_ids)
    return [id_ for plain_id in plain_ids for id_ in (plain_id, distinct_id(plain_id, uid))]


def describe_foreign(store: DocumentStore, records: DocumentedRecords) -> str:
    """Return why documents cannot be made from these records, or "" if they may be.

    A store that has no identity yet, because an earlier windrow wrote it, may be made from any records.
    """
    highest, last_attempt = store.checkpoints()[1], records.checkpoint()
    if highest > last_attempt:
        return f"they go up to attempt {highest}, but the records only up to {last_attempt}"
    if store.identities() - {records.identity()}:
        return "the file of the records is another one, of another workspace or made anew"
    return ""


class DocumentChanges(NamedTuple):
    """Documents to write, and the ids of documents to remove, in one request to the store."""

    documents: list[dict[str, Any]]
    removed_ids: list[str]


def group_changes(changes: Iterable[DocumentChanges]) -> Iterator[DocumentChanges]:
    """Join changes into groups that are small enough for one request; a change is not split, even if it is larger."""
    documents: list[dict[str, Any]] = []
    removed_ids: list[str] = []
    size = 0
    for change in changes:
        added_size = sum(len(json.dumps(document)) for document in change.documents)
        count = len(documents) + len(removed_ids) + len(change.documents) + len(change.removed_ids)
        if (documents or removed_ids) and (count > _MAX_DOCUMENTS or size + added_size > _MAX_SIZE):
            yield DocumentChanges(documents, removed_ids)
            documents, removed_ids, size = [], [], 0
        documents, removed_ids = documents + change.documents, removed_ids + change.removed_ids
        size += added_size
    if documents or removed_ids:
        yield DocumentChanges(documents, removed_ids)


def _chunks(keys: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (keys[start : start + size] for start in range(0, len(keys), size))
