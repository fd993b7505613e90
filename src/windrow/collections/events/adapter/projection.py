"""Write the documents of both databases from the records and the ledger: all, or the changes since the checkpoint.

All documents are derived from stored facts, so that a run after a killed one writes the same.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import filterfalse
from pathlib import Path
from typing import Any

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

PAGE = 256

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
        """Write the changes since the checkpoint and return a summary; from checkpoint 0 write all and remove the rest.

        Records and logs that change because an earlier attempt was read late, or again, are rewritten.
        """
        after, upto = self._store.checkpoint(), self._records.checkpoint()
        event_ids: set[str] | None = set() if after == 0 else None
        log_ids: set[str] | None = set() if after == 0 else None
        for keys in _chunks(self._records.changed_keys((after + 1, upto)), PAGE):
            self._write_events(keys, event_ids)
            if not pulse():
                return self._summarize()
        if not self._logs.write(after, upto, log_ids, pulse):
            return self._summarize()
        if event_ids is not None and log_ids is not None:
            self._remove_stale(self._databases.events, event_ids, "uid")
            self._remove_stale(self._databases.log, log_ids, "attempt")
        self._store.write(self._databases.log, (), checkpoint=upto)
        self._write_late(upto, pulse)
        return self._summarize()

    def _write_late(self, upto: int, pulse: Callable[[], bool]) -> None:
        """Rewrite what changed because an earlier attempt was read late, or again."""
        while pulse() and (late := self._records.late_attempts(PAGE)):
            late_records = self._records.late_records(late)
            removed = {key: [id_of(event) for event in events] for key, events in late_records.items()}
            for keys in _chunks([*removed], PAGE):
                self._write_events(keys, None, removed)
            if not self._logs.write(upto, upto, None, pulse, self._records.attempts_to_recount(late)):
                return
            self._logs.remove_former()
            self._records.remove_late_attempts(late)

    def _summarize(self) -> str:
        events, logs = counted(self._written["new"], "event"), counted(self._logs.written, "log")
        rejected = self._logs.rejected
        failures = f"; {counted(rejected, 'event')} could not be read: windrow why ADDRESS says why" if rejected else ""
        return f"{events} new, {self._written['changed']:,} changed, {logs}{failures}"

    def _remove_stale(self, database: str, known: set[str], mark: str) -> None:
        """Remove documents that are not in `known`, except those of other programs, which lack the key `mark`."""
        for names in _chunks([id_ for id_ in self._store.ids(database) if id_ not in known], PAGE):
            own_names = [name for name, document in self._store.get(database, names).items() if mark in document]
            if own_names:
                self._store.write(database, (), own_names)

    def _write_events(
        self, keys: Sequence[str], kept: set[str] | None, removed: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Write the documents of events, and remove those of events that have no versions any more.

        `removed` has the ids of an event in versions that were removed, by its uid.
        """
        removed = removed or {}
        events = {key: event for key in keys if (event := self._event(key, removed.get(key, ()))) is not None}
        self._remove_events({key: removed[key] for key in keys if key in removed and key not in events})
        ids = {key: (event.document["_id"], *event.previous_ids) for key, event in events.items()}
        names = [id_now for event_ids in ids.values() for id_now in event_ids]
        names += [distinct_id(id_now, key) for key, event_ids in ids.items() for id_now in event_ids]
        known = self._store.get(self._databases.events, list(dict.fromkeys(names)))
        documents: list[dict[str, Any]] = []
        moved: list[tuple[list[dict[str, Any]], list[str]]] = []
        placed_ids: set[str] = set()
        uid_by_id: dict[str, str] = {id_now: str(stored.get("uid")) for id_now, stored in known.items()}
        for key, event in events.items():
            id_now = str(event.document["_id"])
            if uid_by_id.get(id_now, key) != key:  # another event has this id, as ids need not be unique
                id_now = distinct_id(id_now, key)
            document = {**event.document, "_id": id_now}
            uid_by_id[id_now] = key
            placed_ids.add(id_now)
            if kept is not None:
                kept.add(id_now)
            before = known.get(id_now)
            own_ids = [id_ for plain_id in ids[key] for id_ in (plain_id, distinct_id(plain_id, key))]
            former_ids = [id_ for id_ in own_ids if id_ != id_now and uid_by_id.get(id_) == key]
            for id_ in former_ids:
                uid_by_id.pop(id_)
            written = [document] if before is None or _bare(before) != document else []
            if written:
                self._written["new" if before is None and not former_ids else "changed"] += 1
            if former_ids:
                moved.append((written, former_ids))
            else:
                documents += written
        for written, former_ids in grouped(moved):
            self._store.write(self._databases.events, written, list(filterfalse(placed_ids.__contains__, former_ids)))
        if documents:
            self._store.write(self._databases.events, documents)

    def _event(self, key: str, removed: Sequence[str]) -> EventDocument | None:
        versions = [
            EventVersion(version.at, version.source, version.value, json.loads(version.aside) if version.aside else {})
            for version in self._records.history(key)
        ]
        event = event_document(key, versions)
        return event._replace(previous_ids=tuple(dict.fromkeys((*event.previous_ids, *removed)))) if event else None

    def _remove_events(self, ids: Mapping[str, Sequence[str]]) -> None:
        """Remove the documents with these ids, by uid, unless they belong to other events."""
        names = {name for key, own_ids in ids.items() for id_ in own_ids for name in (id_, distinct_id(id_, key))}
        known = self._store.get(self._databases.events, sorted(names)) if names else {}
        if names_of_events := [name for name, document in known.items() if document.get("uid") in ids]:
            self._store.write(self._databases.events, (), names_of_events)


def grouped(
    moved: Iterable[tuple[list[dict[str, Any]], list[str]]],
) -> Iterator[tuple[list[dict[str, Any]], list[str]]]:
    """Yield moved events in groups that fit in one request; an event's document stays with its former ids."""
    documents: list[dict[str, Any]] = []
    removed: list[str] = []
    size = 0
    for written, former_ids in moved:
        added_size = sum(len(json.dumps(document)) for document in written)
        count = len(documents) + len(removed) + len(written) + len(former_ids)
        if documents and (count > _MAX_DOCUMENTS or size + added_size > _MAX_SIZE):
            yield documents, removed
            documents, removed, size = [], [], 0
        documents, removed, size = documents + written, removed + former_ids, size + added_size
    if documents or removed:
        yield documents, removed


def _bare(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without `_rev`, which the store adds."""
    return {name: value for name, value in document.items() if name != "_rev"}


def _chunks(keys: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (keys[start : start + size] for start in range(0, len(keys), size))
