"""Write the documents of the log: one for each run of a parser, which is what one session asked for one source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

from windrow.archive import open_response
from windrow.collections.events.adapter.databases import EventDatabases
from windrow.collections.events.discover import DRIFT
from windrow.collections.events.documents import MISSING, AskedAddress, ParserRun, log_document
from windrow.collections.events.readers.by_fields import text_of
from windrow.collections.events.reading import parser_of
from windrow.collections.events.settings import ADDRESS
from windrow.contract import CAPTURED, REQUEST, ROBOTS
from windrow.engine.requests.answers import body_of
from windrow.errors import ArchiveError, StepError
from windrow.formats.url import parts
from windrow.ledger import Ledger
from windrow.ledger.typed.sessions import TaskRow
from windrow.model import Attempt, KeptResponse, Limits, Recorded, Source
from windrow.reasons import Reason
from windrow.stores.record_versions import Skipped
from windrow.stores.records import RecordStore

COLLECTION = "events"
PAGE = 256

_DOCUMENTS = frozenset({REQUEST, CAPTURED})
_LATEST = 1 << 62
_ASK, _READ = 1, 2  # the phases of these names
_GOOD = frozenset({200, 304})
_REFUSALS = {
    401: Reason.PERMISSION_DENIED, 403: Reason.PERMISSION_DENIED, 404: Reason.NOT_FOUND, 410: Reason.GONE,
    429: Reason.RATE_LIMITED,
}  # fmt: skip


class _SourceRun(NamedTuple):
    """What a session asked for one source, in order, and its task where that failed; either may be empty."""

    session: int
    source: str
    visits: list[Recorded]
    failed: TaskRow | None

    @property
    def number(self) -> int:
        """Its place among the facts of the ledger."""
        return self.visits[0].seq if self.visits else self.failed.seq if self.failed else 0


class RunLogs:
    """The log of a workspace's events."""

    def __init__(
        self, records: RecordStore, ledger: Ledger, databases: EventDatabases, sources: Mapping[str, Source],
        *, archive: Path, limits: Limits,
    ) -> None:  # fmt: skip
        """Write what this ledger and these records tell of runs."""
        self._records = records
        self._ledger = ledger
        self._store, self._database = databases.store, databases.log
        self._sources = sources
        self._archive = archive
        self._limits = limits
        self.written = 0
        self._placed: dict[str, tuple[int, str]] = {}  # by id, of which session and source a log tells
        self.rejected = 0  # parts of calendars that could not be read, of the logs written

    def write(
        self, after: int, upto: int, kept: set[str] | None, pulse: Callable[[], bool], late: Sequence[int] = ()
    ) -> bool:
        """Write the logs of the sessions with visits after one, up to another; False where `pulse` ended that.

        So are those of sessions with `late` visits, whenever they were. All ids are put into `kept`, where the log is
        written anew.
        """
        for runs in self._sessions(after, upto, late):
            for run in sorted(runs, key=lambda each: each.number):
                told = self._told(run)
                if told is not None:
                    self.put(told, kept)
            if not pulse():
                return False
        return True

    def put(self, run: ParserRun, kept: set[str] | None) -> None:
        """Write the log of a run, under an id that no other run has."""
        ordinal = 1
        while True:
            document = log_document(run, ordinal)
            before = self._store.get(self._database, [document["_id"]]).get(document["_id"])
            if before is None or (before.get("session"), before.get("source")) == (run.session, run.source):
                break
            ordinal += 1
        self._placed[document["_id"]] = run.session, run.source
        if kept is not None:
            kept.add(document["_id"])
        if before is None or {name: value for name, value in before.items() if name != "_rev"} != document:
            is_trouble = bool(document.get("drift")) or document["outcome"] == "failed"
            if is_trouble and before is None and run.session == max(self._ledger.sessions.numbers(), default=0):
                self.show_trouble(document)
            self._store.write(self._database, [document])
            self.written += 1
            self.rejected += document.get("rejected", 0)

    def remove_former(self) -> None:
        """Remove what the runs whose logs were written have under the id of an earlier result."""
        times, runs = {*map(_time_of, self._placed)}, {*self._placed.values()}
        names = [id_ for id_ in self._store.ids(self._database) if _time_of(id_) in times and id_ not in self._placed]
        for start in range(0, len(names), PAGE):
            documents = self._store.get(self._database, names[start : start + PAGE])
            former = [name for name, one in documents.items() if (one.get("session"), one.get("source")) in runs]
            if former:
                self._store.write(self._database, (), former)

    def show_trouble(self, document: Mapping[str, Any]) -> None:
        """Let `windrow status` show a source that drifts or failed as one that could not be read.

        Once, also if killed between; and not where its task tells of it already: nobody could be asked.
        """
        session, source = document["session"], document["source"]
        why = f"drift: {'; '.join(document['drift'])}" if document.get("drift") else document["traceback"]
        comment = f"{source}: {why}"[:2000].replace("\n ", "")
        tasks = [one for one in self._ledger.sessions.tasks_of_source(source) if one.session == session]
        if any(one.comment == comment or (one.failed and one.phase == _ASK) for one in tasks):
            return
        with self._ledger.writing() as writer:
            task = writer.sessions.open_task(session, COLLECTION, source, _READ)
            writer.sessions.close_task(task, None, comment, failed=True)

    def _sessions(self, after: int, upto: int, late: Sequence[int]) -> Iterator[list[_SourceRun]]:
        """Yield what sessions did, from the one of a visit on, and those with `late` ones; each is told of whole."""
        numbers = sorted(self._ledger.sessions.numbers())
        first = max((one for one in numbers if one <= after), default=0)
        with_late = {max((one for one in numbers if one <= visit), default=0) for visit in late}
        # One that was killed has no end: the next one bounds it.
        for number, following in zip(numbers, [*numbers[1:], _LATEST], strict=True):
            if number < first and number not in with_late:
                continue
            span = (number, following - 1)
            visits = [*self._visits(*span)]
            documents = [one.seq for one in visits if one.attempt.kind in _DOCUMENTS]
            told_before = documents and documents[-1] <= after and number not in with_late
            if told_before or (documents and documents[-1] > upto):  # or it is not read yet
                continue
            tasks = {
                task.source: task for task in self._ledger.sessions.tasks(span)
                if task.collection == COLLECTION and task.phase == _ASK and task.failed
                and task.reason not in {None, Reason.STOPPED}
            }  # fmt: skip
            by_source: dict[str, list[Recorded]] = {name: [] for name in tasks}
            for visit in visits:
                by_source.setdefault(visit.source, []).append(visit)
            yield [_SourceRun(number, name, some, tasks.get(name)) for name, some in by_source.items()]

    def _visits(self, first: int, last: int) -> Iterator[Recorded]:
        after = first
        while page := self._ledger.attempts.visits_logged(COLLECTION, after, PAGE):
            for one in page:
                if one.recorded.seq > last:
                    return
                yield one.recorded
            after = page[-1].recorded.seq

    def _told(self, run: _SourceRun) -> ParserRun | None:
        """Return what is told of a run, None where nobody was asked anything and nothing went wrong."""
        source = self._sources.get(run.source)
        parser = parser_of(source)
        asked = self._asked(run.visits)
        counts = self._records.counted([one.seq for one in asked], ("status", MISSING))
        skips: dict[int, list[Skipped]] = {}
        for skip in self._records.skipped(visits=[one.seq for one in asked]):
            skips.setdefault(skip.visit, []).append(skip)
        if asked and asked[0].attempt.kind == CAPTURED:  # pages of somebody else's crawl: those that have an event
            asked = [one for one in asked if counts.get(one.seq) or skips.get(one.seq)] or asked[:1]
        told = [self._address(one, counts.get(one.seq, (0, 0)), skips.get(one.seq, []), source) for one in asked]
        if run.failed and not any(one.result for one in told):
            url = told[-1].url if told else str(source.options[ADDRESS]) if source else ""
            why = run.failed.comment or ""
            why = why.partition("; ")[2] or why
            word = _word(run.failed.reason)
            told.append(AskedAddress(run.failed.began, url, result=word, message=why))
        if not told:
            return None
        first = asked[0] if asked else None
        text, attempt = "", first.attempt if first else None
        if attempt and attempt.kept and attempt.kind in _DOCUMENTS:
            text = self._text(attempt.target, attempt.kept)
        version = parser.at(told[0].at).version
        return ParserRun(parser.name, version, run.source, run.session, first.seq if first else 0, told, text)

    def _asked(self, visits: Sequence[Recorded]) -> list[Recorded]:
        """Return the last attempt at each address, in the order in which they were asked first."""
        last = {one.attempt.target: one for one in visits if one.attempt.kind in _DOCUMENTS}
        heard = {parts(one.attempt.url).origin for one in last.values()}
        for one in visits:  # an origin whose rules could not be had was not asked at all
            attempt = one.attempt
            if attempt.kind == ROBOTS and attempt.reason is not None and parts(attempt.url).origin not in heard:
                last[0] = one
        return [one for one in last.values() if not self._leads_on(one)]

    def _leads_on(self, one: Recorded) -> bool:
        """Tell whether this is a redirect to what was asked next."""
        attempt = one.attempt
        followed = self._ledger.requests.followed(one.seq) if _is_redirect(attempt) else None
        return bool(followed and followed.requests and urljoin(attempt.url, attempt.location) != attempt.url)

    def _address(
        self, one: Recorded, count: tuple[int, int], skips: Sequence[Skipped], source: Source | None
    ) -> AskedAddress:
        attempt = one.attempt
        whole = next((skip for skip in skips if not skip.key), None)
        # A row that says only that there is nothing is no event that was lost.
        rejected = sum(bool(skip.key) and skip.reason is not Reason.PLACEHOLDER for skip in skips)
        reason, message = attempt.reason, attempt.message
        if reason is None and whole is not None:
            reason, message = whole.reason, whole.message
        if reason is None and attempt.status not in _GOOD:
            unknown = Reason.SERVER_ERROR if _fails(attempt) else Reason.PROTOCOL_ERROR
            reason = _REFUSALS.get(attempt.status or 0, unknown)
            message = f"status {attempt.status}"
            if _is_redirect(attempt):
                reason, message = Reason.REDIRECTED, f"to {attempt.location}, where this source is not asked"
        url = attempt.url
        if attempt.kind == ROBOTS:
            url = str(source.options[ADDRESS]) if source else attempt.url
            message = f"{attempt.url}: {message}"
        facts: dict[str, Any] = {} if attempt.status is None else {"http_status": attempt.status}
        if attempt.kept:
            facts |= {"bytes": attempt.kept.size, "digest": attempt.kept.digest}
        followed = self._ledger.requests.followed(one.seq)
        drifts = tuple(told.message for told in followed.told() if told.kind == DRIFT) if followed else ()
        return AskedAddress(
            attempt.started, url, attempt.seconds + (followed.seconds if followed else 0.0), *count, rejected,
            _word(reason), (message or reason.meaning) if reason else "", drifts, facts,
        )  # fmt: skip

    def _text(self, address: int, kept: KeptResponse) -> str:
        """Return the whole document as text; empty where the archive has it no more."""
        place = kept.place
        if kept.revisit:
            captures = self._ledger.captures
            place = captures.original(address, kept.digest) or captures.payload(kept.digest) or place
        try:
            answer = open_response(self._archive, place)
            with answer.view as view:
                content = body_of(view, answer.fields, self._limits).read()
        except (ArchiveError, StepError):
            return ""
        return text_of(content, answer.fields.get("content-type", ""))


def _time_of(name: str) -> str:
    """Return the time with which a log's id begins."""
    return name.partition(" - ")[0]


def _word(reason: Reason | None) -> str:
    """Spell a reason as a class of exceptions is named; empty for none."""
    return str(reason).title().replace("_", "") if reason else ""


def _is_redirect(attempt: Attempt) -> bool:
    return bool(attempt.location) and 300 <= (attempt.status or 0) < 400


def _fails(attempt: Attempt) -> bool:
    """Tell whether the server says that it failed."""
    return attempt.status is not None and attempt.status >= 500
