"""Write the documents of both databases from the records and the ledger: what is new since the checkpoint, or all.

Everything is made from what is kept, so that a projection that was killed is made again with the same result.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from windrow.collections.events.adapter.databases import EventDatabases
from windrow.collections.events.adapter.run_logs import RunLogs
from windrow.collections.events.documents import (
    EventDocument,
    Said,
    distinct,
    event_document,
    id_of,
)
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.model import Limits, Source
from windrow.stores.late_visits import LateVisitStore

PAGE = 256

_TOGETHER, _LARGEST = 400, 3_000_000  # documents, and letters of them, that a CouchDB is sent at once


class EventProjection:
    """One projection of a workspace's events."""

    def __init__(
        self, records: LateVisitStore, ledger: Ledger, databases: EventDatabases, sources: Sequence[Source],
        *, archive: Path, limits: Limits,
    ) -> None:  # fmt: skip
        """Project these records, which the visits of this ledger told of."""
        self._records = records
        self._store = databases.store
        self._databases = databases
        named = {source.name: source for source in sources}
        self._logs = RunLogs(records, ledger, databases, named, archive=archive, limits=limits)
        self._written: Counter[str] = Counter()

    def run(self, pulse: Callable[[], bool]) -> str:
        """Write what is new; from checkpoint 0, all, and remove what is of no record any more. Say it in a line.

        Where earlier visits were read late, or again, the records and the logs that they change are written once more.
        """
        after, upto = self._store.checkpoint(), self._records.checkpoint()
        kept: set[str] | None = set() if after == 0 else None
        logs: set[str] | None = set() if after == 0 else None
        for keys in _chunks(self._records.changed_keys((after + 1, upto)), PAGE):
            self._write_events(keys, kept)
            if not pulse():
                return self._said()
        if not self._logs.write(after, upto, logs, pulse):
            return self._said()
        if kept is not None and logs is not None:
            self._remove_stale(self._databases.events, kept, "uid")
            self._remove_stale(self._databases.log, logs, "visit")
        self._store.write(self._databases.log, (), checkpoint=upto)
        self._write_late(upto, pulse)
        return self._said()

    def _write_late(self, upto: int, pulse: Callable[[], bool]) -> None:
        """Write what earlier visits that were read late, or again, changed."""
        while pulse() and (late := self._records.late_visits(PAGE)):
            removed = {key: [id_of(one) for one in values] for key, values in self._records.late_records(late).items()}
            for keys in _chunks([*removed], PAGE):
                self._write_events(keys, None, removed)
            if not self._logs.write(upto, upto, None, pulse, self._records.recounted_visits(late)):
                return
            self._logs.remove_former()
            self._records.remove_late_visits(late)

    def _said(self) -> str:
        events, logs = counted(self._written["new"], "event"), counted(self._logs.written, "log")
        unread = self._logs.rejected
        told = f"; {counted(unread, 'event')} could not be read: windrow why ADDRESS says why" if unread else ""
        return f"{events} new, {self._written['changed']:,} changed, {logs}{told}"

    def _remove_stale(self, database: str, known: set[str], mark: str) -> None:
        """Remove what windrow wrote and would not write now; what has no `mark` is somebody else's, and stays."""
        for names in _chunks([id_ for id_ in self._store.ids(database) if id_ not in known], PAGE):
            ours = [name for name, one in self._store.get(database, names).items() if mark in one]
            if ours:
                self._store.write(database, (), ours)

    # Events.

    def _write_events(
        self, keys: Sequence[str], kept: set[str] | None, removed: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Write the documents of events, and remove those of which nothing is known any more.

        `removed` has, by event, the ids that it had by statements which were taken back.
        """
        removed = removed or {}
        made = {key: one for key in keys if (one := self._event(key, removed.get(key, ()))) is not None}
        self._remove_events({key: removed[key] for key in keys if key in removed and key not in made})
        names = [name for one in made.values() for name in (one.document["_id"], *one.former)]
        names += [distinct(name, key) for key, one in made.items() for name in (one.document["_id"], *one.former)]
        known = self._store.get(self._databases.events, list(dict.fromkeys(names)))
        documents: list[dict[str, Any]] = []
        moved: list[tuple[list[dict[str, Any]], list[str]]] = []
        placed: set[str] = set()
        taken: dict[str, str] = {name: str(one.get("uid")) for name, one in known.items()}
        for key, one in made.items():
            name = plain = str(one.document["_id"])
            if taken.get(name, key) != key:  # another event has this id: ids need not tell events apart
                name = distinct(plain, key)
            document = {**one.document, "_id": name}
            taken[name] = key
            placed.add(name)
            if kept is not None:
                kept.add(name)
            before = known.get(name)
            mine = [each for former in (plain, *one.former) for each in (former, distinct(former, key))]
            gone = [each for each in mine if each != name and taken.get(each) == key]
            for each in gone:
                taken.pop(each)
            written = [document] if before is None or _bare(before) != document else []
            if written:
                self._written["new" if before is None and not gone else "changed"] += 1
            if gone:
                moved.append((written, gone))
            else:
                documents += written
        for some, gone in grouped(moved):
            self._store.write(self._databases.events, some, [one for one in gone if one not in placed])
        if documents:
            self._store.write(self._databases.events, documents)

    def _event(self, key: str, removed: Sequence[str]) -> EventDocument | None:
        said = [
            Said(one.at, one.source, one.value, json.loads(one.aside) if one.aside else {})
            for one in self._records.history(key)
        ]
        event = event_document(key, said)
        return event._replace(former=tuple(dict.fromkeys((*event.former, *removed)))) if event else None

    def _remove_events(self, ids: Mapping[str, Sequence[str]]) -> None:
        """Remove the documents of events under these ids, where they are theirs."""
        names = {each for key, some in ids.items() for one in some for each in (one, distinct(one, key))}
        known = self._store.get(self._databases.events, sorted(names)) if names else {}
        if gone := [name for name, one in known.items() if one.get("uid") in ids]:
            self._store.write(self._databases.events, (), gone)


def grouped(
    moved: Iterable[tuple[list[dict[str, Any]], list[str]]],
) -> Iterator[tuple[list[dict[str, Any]], list[str]]]:
    """Put moved events together, as many as one request takes: what each is stays beside the ids that it had."""
    documents: list[dict[str, Any]] = []
    removed: list[str] = []
    size = 0
    for some, gone in moved:
        more = sum(len(json.dumps(one)) for one in some)
        if documents and (len(documents) + len(removed) + len(some) + len(gone) > _TOGETHER or size + more > _LARGEST):
            yield documents, removed
            documents, removed, size = [], [], 0
        documents, removed, size = documents + some, removed + gone, size + more
    if documents or removed:
        yield documents, removed


def _bare(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without what its store adds."""
    return {name: value for name, value in document.items() if name != "_rev"}


def _chunks(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (values[start : start + size] for start in range(0, len(values), size))
