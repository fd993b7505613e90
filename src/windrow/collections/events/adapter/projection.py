"""Write all documents of both databases, or those that changed since the checkpoint, from the records and the ledger.

They are derived only from stored facts, so that a run after a killed one writes the same documents. `pulse` reports
progress and returns whether to continue.
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
    distinct_id,
    event_document,
    id_of,
)
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.model import Limits, Source
from windrow.stores.late_attempts import LateAttemptStore

PAGE_SIZE = 256

_MAX_DOCUMENTS, _MAX_SIZE = 400, 3_000_000  # documents, and characters of their JSON, in one request to a CouchDB


class EventProjection:
    """Writes the documents of a workspace's events and of the runs of its parsers."""

    def __init__(
        self, records: LateAttemptStore, ledger: Ledger, databases: EventDatabases, sources: Sequence[Source],
        *, archive: Path, limits: Limits,
    ) -> None:  # fmt: skip
        self._records = records
        self._store = databases.store
        self._databases = databases
        sources_by_name = {source.name: source for source in sources}
        self._logs = RunLogs(records, ledger, databases, sources_by_name, archive=archive, limits=limits)
        self._written: Counter[str] = Counter()

    def run(self, pulse: Callable[[], bool]) -> str:
        """Write the documents that changed since the checkpoint, until `pulse` returns False; return a summary.

        From checkpoint 0 all documents are written, and others removed. Documents that change because an earlier
        attempt was read late, or again, are rewritten.
        """
        checkpoint, last_attempt = self._store.checkpoint(), self._records.checkpoint()
        event_ids: set[str] | None = set() if checkpoint == 0 else None
        log_ids: set[str] | None = set() if checkpoint == 0 else None
        for uids in _chunks(self._records.changed_keys((checkpoint + 1, last_attempt)), PAGE_SIZE):
            self._write_events(uids, event_ids)
            if not pulse():
                return self._summarize()
        if not self._logs.write(checkpoint, last_attempt, log_ids, pulse):
            return self._summarize()
        if event_ids is not None and log_ids is not None:
            self._remove_stale(self._databases.events, event_ids, "uid")
            self._remove_stale(self._databases.log, log_ids, "attempt")
        self._store.write(self._databases.log, (), checkpoint=last_attempt)
        self._write_late(last_attempt, pulse)
        return self._summarize()

    def _write_late(self, last_attempt: int, pulse: Callable[[], bool]) -> None:
        """Rewrite the documents that changed because an earlier attempt was read late, or again."""
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
        """Return how many documents were written, and how many events could not be read."""
        events, logs = counted(self._written["new"], "event"), counted(self._logs.written, "log")
        rejected = self._logs.rejected
        unread = f"; {counted(rejected, 'event')} could not be read: see windrow why ADDRESS" if rejected else ""
        return f"{events} new, {self._written['changed']:,} changed, {logs}{unread}"

    def _remove_stale(self, database: str, current_ids: set[str], own_key: str) -> None:
        """Remove all documents with other ids than `current_ids` that have the key `own_key`, which windrow writes."""
        for ids in _chunks([id_ for id_ in self._store.ids(database) if id_ not in current_ids], PAGE_SIZE):
            stale_ids = [id_ for id_, document in self._store.get(database, ids).items() if own_key in document]
            if stale_ids:
                self._store.write(database, (), stale_ids)

    def _write_events(
        self, uids: Sequence[str], current_ids: set[str] | None, removed_ids: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Write the documents of events; an event that has no versions any more loses its document.

        The ids of the documents are added to `current_ids`. `removed_ids` has, by uid, the ids that an event had in
        versions that were removed.
        """
        removed_ids = removed_ids or {}
        event_documents = {uid: self._event_document(uid, removed_ids.get(uid, ())) for uid in uids}
        events = {uid: event for uid, event in event_documents.items() if event is not None}
        self._remove_events({uid: removed_ids[uid] for uid in uids if uid in removed_ids and uid not in events})
        plain_ids = {uid: (event.document["_id"], *event.previous_ids) for uid, event in events.items()}
        possible_ids = [plain_id for own_ids in plain_ids.values() for plain_id in own_ids]
        possible_ids += [distinct_id(plain_id, uid) for uid, own_ids in plain_ids.items() for plain_id in own_ids]
        stored_documents = self._store.get(self._databases.events, list(dict.fromkeys(possible_ids)))
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
            own_ids = [id_ for plain_id in plain_ids[uid] for id_ in (plain_id, distinct_id(plain_id, uid))]
            former_ids = [id_ for id_ in own_ids if id_ != id_now and uid_by_id.get(id_) == uid]
            for id_ in former_ids:
                uid_by_id.pop(id_)
            to_write = [document] if stored is None or _without_revision(stored) != document else []
            if to_write:
                self._written["new" if stored is None and not former_ids else "changed"] += 1
            if former_ids:
                moved.append(DocumentChanges(to_write, former_ids))
            else:
                unmoved += to_write
        for to_write, former_ids in group_changes(moved):
            stale_ids = list(filterfalse(used_ids.__contains__, former_ids))
            self._store.write(self._databases.events, to_write, stale_ids)
        if unmoved:
            self._store.write(self._databases.events, unmoved)

    def _event_document(self, uid: str, removed_ids: Sequence[str]) -> EventDocument | None:
        """Return the document of an event, with `removed_ids` as previous ids, too, or None if it has no versions."""
        versions = [
            EventVersion(version.at, version.source, version.value, json.loads(version.aside) if version.aside else {})
            for version in self._records.history(uid)
        ]
        event = event_document(uid, versions)
        return event._replace(previous_ids=tuple(dict.fromkeys((*event.previous_ids, *removed_ids)))) if event else None

    def _remove_events(self, ids_by_uid: Mapping[str, Sequence[str]]) -> None:
        """Remove the documents of events by their ids, unless these belong to other events now."""
        names = {name for uid, ids in ids_by_uid.items() for id_ in ids for name in (id_, distinct_id(id_, uid))}
        stored = self._store.get(self._databases.events, sorted(names)) if names else {}
        if stale_ids := [id_ for id_, document in stored.items() if document.get("uid") in ids_by_uid]:
            self._store.write(self._databases.events, (), stale_ids)


class DocumentChanges(NamedTuple):
    """The documents to write, and the ids of the documents to remove, in one request."""

    documents: list[dict[str, Any]]
    removed_ids: list[str]


def group_changes(changes: Iterable[DocumentChanges]) -> Iterator[DocumentChanges]:
    """Yield changes joined to groups that fit in one request; the changes of one event stay together."""
    documents: list[dict[str, Any]] = []
    removed_ids: list[str] = []
    size = 0
    for change in changes:
        added_size = sum(len(json.dumps(document)) for document in change.documents)
        count = len(documents) + len(removed_ids) + len(change.documents) + len(change.removed_ids)
        if documents and (count > _MAX_DOCUMENTS or size + added_size > _MAX_SIZE):
            yield DocumentChanges(documents, removed_ids)
            documents, removed_ids, size = [], [], 0
        documents, removed_ids = documents + change.documents, removed_ids + change.removed_ids
        size += added_size
    if documents or removed_ids:
        yield DocumentChanges(documents, removed_ids)


def _without_revision(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without `_rev`, which the store adds."""
    return {name: value for name, value in document.items() if name != "_rev"}


def _chunks(keys: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (keys[start : start + size] for start in range(0, len(keys), size))
