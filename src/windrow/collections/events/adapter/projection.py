"""Write the documents of both databases from the records and the ledger: what is new since the checkpoint, or all.

Everything is made from what is kept, so that a projection that was killed is made again with the same result.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from windrow.collections.events.adapter.databases import EventDatabases
from windrow.collections.events.adapter.sources import SourceRuns, good_runs
from windrow.collections.events.discover import DRIFT, parser_of
from windrow.collections.events.documents import (
    MISSING,
    Completeness,
    EventDocument,
    ReadAttempt,
    Said,
    distinct,
    event_document,
    log_document,
)
from windrow.collections.events.readers.decoded import text_of
from windrow.collections.events.settings import ADDRESS
from windrow.contract import CAPTURED, REQUEST, ROBOTS
from windrow.display import counted
from windrow.engine.ledger import Ledger
from windrow.engine.requests.answers import body_of
from windrow.errors import ArchiveError, StepError
from windrow.formats.url import parts
from windrow.model import KeptResponse, Limits, Recorded, Source, Visit
from windrow.reasons import Reason
from windrow.stores.archive import open_response
from windrow.stores.documents.contract import Span
from windrow.stores.records import RecordStore, Skipped

PAGE = 256
COLLECTION = "events"

_ALL = 10**9
_TOGETHER, _LARGEST = 400, 3_000_000  # documents, and letters of them, that a CouchDB is sent at once
_DOCUMENTS = frozenset({REQUEST, CAPTURED})
_READ = 2  # the phase of that name
_GOOD = frozenset({200, 304})
_REFUSALS = {
    401: Reason.PERMISSION_DENIED, 403: Reason.PERMISSION_DENIED, 404: Reason.NOT_FOUND, 410: Reason.GONE,
    429: Reason.RATE_LIMITED,
}  # fmt: skip


class EventProjection:
    """One projection of a workspace's events."""

    def __init__(
        self, records: RecordStore, ledger: Ledger, databases: EventDatabases, sources: Sequence[Source],
        *, archive: Path, limits: Limits,
    ) -> None:  # fmt: skip
        """Project these records, which the visits of this ledger told of."""
        self._records = records
        self._ledger = ledger
        self._store = databases.store
        self._databases = databases
        self._sources = {one.name: one for one in sources}
        self._archive = archive
        self._limits = limits
        self._runs: dict[str, SourceRuns] = {}
        self._written: Counter[str] = Counter()

    def run(self, pulse: Callable[[], bool]) -> str:
        """Write what is new; from checkpoint 0, all, and remove what is of no record any more. Say it in a line."""
        after, upto = self._store.checkpoint(), self._records.checkpoint()
        kept: set[str] | None = set() if after == 0 else None
        logs: set[str] | None = set() if after == 0 else None
        for keys in _chunks(self._records.changed(after, upto), PAGE):
            self._write_events(keys, kept)
            if not pulse():
                return self._said()
        if after:
            self._mark_missing(after, upto, pulse)
        for visits in self._sessions(after, upto):
            self._write_logs(visits, logs)
            if not pulse():
                return self._said()
        if kept is not None and logs is not None:
            self._remove_stale(self._databases.events, kept, "uid")
            self._remove_stale(self._databases.log, logs, "visit")
        self._store.write(self._databases.log, (), checkpoint=upto)
        return self._said()

    def _said(self) -> str:
        events, logs = counted(self._written["new"], "event"), counted(self._written["logs"], "log")
        return f"{events} new, {self._written['changed']:,} changed, {logs}"

    def _remove_stale(self, database: str, known: set[str], mark: str) -> None:
        """Remove what windrow wrote and would not write now; what has no `mark` is somebody else's, and stays."""
        for names in _chunks([one for one in self._store.ids(database) if one not in known], PAGE):
            ours = [name for name, one in self._store.get(database, names).items() if mark in one]
            if ours:
                self._store.write(database, (), ours)

    # Events.

    def _write_events(self, keys: Sequence[str], kept: set[str] | None) -> None:
        made = {key: one for key in keys if (one := self._event(key)) is not None}
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
        for some, removed in grouped(moved):
            self._store.write(self._databases.events, some, [one for one in removed if one not in placed])
        if documents:
            self._store.write(self._databases.events, documents)

    def _event(self, key: str) -> EventDocument | None:
        said = [
            Said(one.at, one.visit, one.source, one.value, json.loads(one.aside) if one.aside else {})
            for one in self._records.history(key)
        ]
        return event_document(key, said, self._completeness(said[-1].source) if said else Completeness())

    def _completeness(self, name: str) -> Completeness:
        source = self._sources.get(name)
        if source is None or not (parser := parser_of(source)).complete:
            return Completeness()
        return Completeness(self._of(source).runs, parser.missing_after)

    def _of(self, source: Source) -> SourceRuns:
        if source.name not in self._runs:
            self._runs[source.name] = good_runs(COLLECTION, source.name, self._ledger, self._records)
        return self._runs[source.name]

    def _mark_missing(self, after: int, upto: int, pulse: Callable[[], bool]) -> None:
        """Write events again that new runs do not list for the last time they may, and missing ones that are back.

        There are several new runs where writing was killed after the one before.
        """
        for source in self._sources.values():
            parser = parser_of(source)
            runs = self._of(source).runs if parser.complete else ()
            for number, run in enumerate(runs):
                index = number - parser.missing_after  # of the last run that listed them
                if run.last <= after or index < -1:
                    continue
                first = runs[index].first if index >= 0 else 0
                for part in _chunks(
                    self._records.dropped(source.name, first, runs[index + 1].first - 1, run.last), PAGE
                ):
                    self._write_events(part, None)
                    if not pulse():
                        return
        missing = self._store.view(self._databases.events, "status", Span((MISSING,), limit=_ALL))
        for part in _chunks([one["uid"] for one in missing if "uid" in one], PAGE):
            away = set(self._records.unseen(part, after + 1, upto))
            self._write_events([key for key in part if key not in away], None)

    # Logs.

    def _sessions(self, after: int, upto: int) -> Iterator[list[Recorded]]:
        """Yield the visits of each session after one, up to another."""

        def visits() -> Iterator[Recorded]:
            last = after
            while page := self._ledger.attempts.visits_logged(COLLECTION, last, PAGE):
                for one in page:
                    if one.recorded.seq <= upto or one.recorded.visit.kind == ROBOTS:
                        yield one.recorded
                last = page[-1].recorded.seq

        for _, group in groupby(visits(), key=lambda one: one.session):
            yield list(group)

    def _write_logs(self, visits: list[Recorded], logs: set[str] | None) -> None:
        """Write a log document for each address that a session asked, whatever came of it."""
        asked = {(one.source, one.visit.digest): one for one in visits if one.visit.kind in _DOCUMENTS}
        heard = {(one.source, parts(one.visit.url).origin) for one in asked.values()}
        for one in visits:  # an origin whose rules could not be had was not asked at all
            origin = parts(one.visit.url).origin
            if one.visit.kind == ROBOTS and (one.source, origin) not in heard and one.visit.reason is not None:
                asked[one.source, 0] = one
        counts = self._records.counted([one.seq for one in asked.values()])
        skips: dict[int, list[Skipped]] = {}
        for skip in self._records.skips([one.seq for one in asked.values()]):
            skips.setdefault(skip.visit, []).append(skip)
        for one in sorted(asked.values(), key=lambda each: each.seq):
            if one.visit.kind == CAPTURED and not counts.get(one.seq) and not skips.get(one.seq):
                continue  # a page of somebody else's crawl that has no event
            followed = self._ledger.requests.followed(one.seq) if _is_redirect(one.visit) else None
            if followed and followed.requests and urljoin(one.visit.url, one.visit.location) != one.visit.url:
                continue  # what it leads to is asked next, and has a log of its own
            attempt = self._attempt(one, counts.get(one.seq, (0, 0)), skips.get(one.seq, []))
            self._write_log(attempt, logs)

    def _write_log(self, attempt: ReadAttempt, logs: set[str] | None) -> None:
        ordinal = 1
        while True:
            document = log_document(attempt, ordinal)
            before = self._store.get(self._databases.log, [document["_id"]]).get(document["_id"])
            if before is None or before.get("visit") == document["visit"]:
                break
            ordinal += 1
        if logs is not None:
            logs.add(document["_id"])
        if before is None or _bare(before) != document:
            if document.get("drift") and logs is None and before is None:
                self._show_drift(document)
            self._store.write(self._databases.log, [document])
            self._written["logs"] += 1

    def _attempt(self, one: Recorded, count: tuple[int, int], skips: Iterable[Skipped]) -> ReadAttempt:
        visit, source = one.visit, self._sources.get(one.source)
        parser = parser_of(source)
        whole = next((skip for skip in skips if not skip.key), None)
        # A row that says only that there is nothing is no event that was lost.
        rejected = sum(bool(skip.key) and skip.reason is not Reason.PLACEHOLDER for skip in skips)
        reason, message = visit.reason, visit.message
        if reason is None and whole is not None:
            reason, message = whole.reason, whole.message
        if reason is None and visit.status not in _GOOD:
            reason = _REFUSALS.get(visit.status or 0, Reason.SERVER_ERROR if _fails(visit) else Reason.PROTOCOL_ERROR)
            message = f"status {visit.status}"
            if _is_redirect(visit):
                reason, message = Reason.REDIRECTED, f"to {visit.location}, where this source is not asked"
        url = visit.url
        if visit.kind == ROBOTS:
            url = str(source.options[ADDRESS]) if source else visit.url
            message = f"{visit.url}: {message}"
        text = self._text(visit.digest, visit.kept) if visit.kept and visit.kind in _DOCUMENTS else ""
        outcome = "failed" if reason else "partial" if rejected else "read" if count[0] else "empty"
        drifts = self._drifts(one.seq)
        if drifts and not reason:
            outcome = "drift"
        facts: dict[str, Any] = {"source": one.source, "session": one.session, "visit": one.seq, "outcome": outcome}
        facts |= {"events": count[0], "rejected": rejected} | ({"drift": drifts} if drifts else {})
        if visit.status is not None:
            facts["http_status"] = visit.status
        if visit.kept:
            facts |= {"bytes": visit.kept.size, "digest": visit.kept.digest}
        result = str(reason).title().replace("_", "") if reason else ""
        version = parser.at(visit.started).version
        told = (message or reason.meaning) if reason else ""
        return ReadAttempt(
            visit.started, parser.name, version, visit.seconds, url, text, count[1], result, told, facts
        )  # fmt: skip

    def _drifts(self, visit: int) -> list[str]:
        """Return what a source did not say any more in an answer."""
        followed = self._ledger.requests.followed(visit)
        return [one.message for one in followed.told() if one.kind == DRIFT] if followed else []

    def _show_drift(self, document: Mapping[str, Any]) -> None:
        """Let `windrow status` show a source that drifts as one that could not be read; once, if killed between."""
        session, source = document["session"], document["source"]
        comment = f"{source}: drift: {'; '.join(document['drift'])}"[:2000]
        tasks = self._ledger.sessions.tasks_of_source(source)
        if any((one.session, one.comment) == (session, comment) for one in tasks):
            return
        with self._ledger.writing() as writer:
            task = writer.sessions.open_task(session, COLLECTION, source, _READ)
            writer.sessions.close_task(task, None, comment, failed=True)

    def _text(self, address: int, kept: KeptResponse) -> str:
        """Return the whole document as text; empty where the archive has it no more."""
        place = kept.place
        if kept.revisit:
            captures = self._ledger.captures
            place = captures.original(address, kept.digest) or captures.payload(kept.digest) or place
        try:
            answer = open_response(self._archive, place)
            with answer.view as view:
                content = body_of(view, answer.fields, self._limits).read(self._limits.member)
        except (ArchiveError, StepError):
            return ""
        return text_of(content, answer.fields.get("content-type", ""))


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


def _is_redirect(visit: Visit) -> bool:
    return bool(visit.location) and 300 <= (visit.status or 0) < 400


def _fails(visit: Visit) -> bool:
    """Tell whether the server says that it failed."""
    return visit.status is not None and visit.status >= 500


def _bare(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without what its store adds."""
    return {name: value for name, value in document.items() if name != "_rev"}


def _chunks(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (values[start : start + size] for start in range(0, len(values), size))
