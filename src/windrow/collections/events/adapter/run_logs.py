"""Write the documents of the log, one for each run of a parser: the requests of one session for one source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

from windrow.archive import open_response
from windrow.collections.events.adapter.databases import EventDatabases
from windrow.collections.events.collection import ADDRESS, COLLECTION
from windrow.collections.events.documents import MISSING, ParserRun, RequestedAddress, is_stored, log_document
from windrow.collections.events.readers.by_fields import decode_text
from windrow.collections.events.reading import parser_of
from windrow.collections.events.times import format_utc
from windrow.content.charset import decode
from windrow.contract import CAPTURED, DRIFT, REQUEST, ROBOTS
from windrow.engine.requests.answers import body_of
from windrow.engine.requests.list_yield import describe_drift
from windrow.errors import ArchiveError, StepError
from windrow.formats.text import counted
from windrow.formats.url import parts
from windrow.ledger import Ledger
from windrow.ledger.typed.sessions import TaskRow
from windrow.model import Attempt, Limits, RecordedAttempt, Source
from windrow.reasons import Reason, reason_of_status
from windrow.stores.documented_records import DocumentedRecords, RefusedDocument
from windrow.stores.record_versions import Skipped

_PAGE_SIZE = 256  # documents
_DOCUMENT_KINDS = frozenset({REQUEST, CAPTURED})  # kinds of attempts whose responses are read
_AFTER_LAST_SESSION = 1 << 62  # a number above those of all sessions
_ASK_PHASE, _READ_PHASE = 1, 2  # the numbers of these phases in the ledger
_NOT_REJECTED = frozenset({Reason.PLACEHOLDER, Reason.NO_LONGER_LISTED})  # reasons of what the document does not have
_GOOD_STATUSES = frozenset({200, 304})


class _SourceRun(NamedTuple):
    """A session's attempts for one source, in order. `failed_task` is the source's task `ask` if it failed, or None."""

    session: int
    source: str
    attempts: list[RecordedAttempt]
    failed_task: TaskRow | None

    @property
    def first_number(self) -> int:
        """The number of the first attempt or, without one, of the failed task; 0 if there is neither."""
        return self.attempts[0].seq if self.attempts else self.failed_task.seq if self.failed_task else 0


class RunLogs:
    """Writes the database of logs, which has one log for each run of a parser."""

    def __init__(
        self, records: DocumentedRecords, ledger: Ledger, databases: EventDatabases, sources: Mapping[str, Source],
        *, archive: Path, limits: Limits,
    ) -> None:  # fmt: skip
        self._records = records
        self._ledger = ledger
        self._databases = databases
        self._store, self._database = databases.store, databases.log
        self._sources = sources
        self._archive = archive
        self._limits = limits
        self.written = 0  # logs
        self.restored = 0  # logs that others had removed or changed
        self._runs_by_id: dict[str, tuple[int, str]] = {}  # of the logs written: id -> (session, source)
        self.rejected = 0  # events that could not be read, in the logs written
        self.shortened = 0  # logs written without their source_text
        self.unreadable = 0  # logs whose response cannot be read in the archive, so that they have no source_text
        self.failed = 0  # failed tasks added to the ledger

    def write(
        self, checkpoint: int, last_attempt: int, log_ids: set[str] | None, pulse: Callable[[], bool],
        late_attempts: Sequence[int] = (), *, lost_until: int = 0,
    ) -> bool:  # fmt: skip
        """Write the logs of the runs that `_sessions` selects; return False if `pulse` stopped the writing.

        The ids of the logs are added to `log_ids`, unless it is None. Logs of sessions up to the attempt `lost_until`
        were written before, to a database that was deleted since.
        """
        for runs in self._sessions(checkpoint, last_attempt, late_attempts):
            was_written = max((run.first_number for run in runs), default=0) <= lost_until
            for run in self._parser_runs(runs):
                number = self.write_log(run, log_ids)
                self.restored += number * was_written
                self.written += number * (not was_written)
            if not pulse():
                return False
        return True

    def restore(self, checkpoint: int, changed_ids: set[str] | None, pulse: Callable[[], bool]) -> bool:
        """Write the logs up to `checkpoint` again that were changed; return False if `pulse` stopped the writing.

        `changed_ids` are the ids of changed documents; None if any log may have been changed.
        """
        if changed_ids is not None and not changed_ids:
            return True
        times = None if changed_ids is None else {*map(_time_in_id, changed_ids)}
        for runs in self._sessions(0, checkpoint, ()):
            for run in self._parser_runs(runs):
                if times is None or format_utc(run.addresses[0].requested_at) in times:
                    self.restored += self.write_log(run, None)
            if not pulse():
                return False
        return True

    def documents(self, last_attempt: int) -> Iterator[dict[str, Any]]:
        """Yield the logs that the database should contain once all attempts up to `last_attempt` have been read."""
        for runs in self._sessions(0, last_attempt, ()):
            for run in self._parser_runs(runs):
                yield self._log_of_run(run)[0]

    def _parser_runs(self, runs: Iterable[_SourceRun]) -> Iterator[ParserRun]:
        """Yield the parser runs of a session, in the order of their first attempts, except runs without an outcome."""
        for run in sorted(runs, key=lambda source_run: source_run.first_number):
            parser_run = self._parser_run(run)
            if parser_run is not None:
                yield parser_run

    def _log_of_run(self, run: ParserRun) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Return the log of a run under an id of its own, and the run's log that is stored under this id, or None."""
        ordinal = 1
        while True:
            document = log_document(run, ordinal)
            stored = self._store.get(self._database, [document["_id"]]).get(document["_id"])
            if stored is None or (stored.get("session"), stored.get("source")) == (run.session, run.source):
                return document, stored
            ordinal += 1

    def write_log(self, run: ParserRun, log_ids: set[str] | None) -> bool:
        """Write the log of a run, unless it is stored already; return whether it was not.

        If a new run of the latest session failed or drifted, a failed task is added. The id of the log is added
        to `log_ids`, unless it is None.
        """
        document, stored = self._log_of_run(run)
        self._runs_by_id[document["_id"]] = run.session, run.source
        if log_ids is not None:
            log_ids.add(document["_id"])
        refused: list[RefusedDocument] = []
        if is_missing := not is_stored(stored, document):
            is_failure = bool(document.get("drift")) or document["outcome"] == "failed"
            if is_failure and stored is None and run.session == max(self._ledger.sessions.numbers(), default=0):
                self.add_failed_task(document)
            written = self._databases.write(self._database, [document])
            self.shortened += written.shortened
            self.rejected += document.get("rejected", 0)
            refused = [
                RefusedDocument("", run.attempt, run.source, f"{id_}: {reason}")
                for id_, reason in written.refused.items()
            ]
        self._records.replace_refused([("", run.attempt)], refused)
        return is_missing

    def remove_former(self) -> None:
        """Remove earlier logs of the written runs: a log gets a new id when its result changes."""
        times, runs = {*map(_time_in_id, self._runs_by_id)}, {*self._runs_by_id.values()}
        same_times = [id_ for id_ in self._store.ids(self._database) if _time_in_id(id_) in times]
        ids = [id_ for id_ in same_times if id_ not in self._runs_by_id]
        for start in range(0, len(ids), _PAGE_SIZE):
            documents = self._store.get(self._database, ids[start : start + _PAGE_SIZE])
            run_of = {id_: (document.get("session"), document.get("source")) for id_, document in documents.items()}
            if former_ids := [id_ for id_, run in run_of.items() if run in runs]:
                self._store.write(self._database, (), former_ids)

    def add_failed_task(self, document: Mapping[str, Any]) -> None:
        """Add a failed task to the ledger for a run that drifted or failed, so that `windrow status` shows it.

        Nothing is added if a killed run already added this task, or if the run's task for the phase `ask` failed.
        """
        session, source = document["session"], document["source"]
        problem = describe_drift("; ".join(document["drift"])) if document.get("drift") else document["traceback"]
        comment = f"{source}: {problem}"[:2000].replace("\n ", "")
        tasks = self._ledger.sessions.tasks_in_session(source, session)
        if any(task.comment == comment or (task.failed and task.phase == _ASK_PHASE) for task in tasks):
            return
        with self._ledger.writing() as writer:
            new_task = writer.sessions.open_task(session, COLLECTION.name, source, _READ_PHASE)
            writer.sessions.close_task(new_task, None, comment, failed=True)
        self.failed += 1

    def _sessions(self, checkpoint: int, last_attempt: int, late_attempts: Sequence[int]) -> Iterator[list[_SourceRun]]:
        """Yield, for each session whose logs are to be written, the runs of its sources.

        A session is selected if its last attempt at a document is after `checkpoint`, or if it has one of
        `late_attempts`, but not if its last attempt at a document is after `last_attempt`. A session without such
        attempts is selected if it did not end before `checkpoint`.
        """
        numbers = sorted(self._ledger.sessions.numbers())
        first_session = max((start for start in numbers if start <= checkpoint), default=0)
        late_sessions = {max((start for start in numbers if start <= attempt), default=0) for attempt in late_attempts}
        # A killed session has no end, so each session is taken to last until the next one.
        for number, next_session in zip(numbers, [*numbers[1:], _AFTER_LAST_SESSION], strict=False):  # no session
            if number < first_session and number not in late_sessions:
                continue
            first_and_last = (number, next_session - 1)
            attempts = [*self._ledger.attempts.logged_between(COLLECTION.name, *first_and_last)]
            numbers_of_documents = [recorded.seq for recorded in attempts if recorded.attempt.kind in _DOCUMENT_KINDS]
            last_document = numbers_of_documents[-1] if numbers_of_documents else None
            is_logged = last_document is not None and last_document <= checkpoint and number not in late_sessions
            is_unread = last_document is not None and last_document > last_attempt
            if is_logged or is_unread:
                continue
            tasks = {
                task.source: task for task in self._ledger.sessions.tasks(first_and_last)
                if task.collection == COLLECTION.name and task.phase == _ASK_PHASE and task.failed
                and task.reason not in {None, Reason.STOPPED}
            }  # fmt: skip
            attempts_by_source: dict[str, list[RecordedAttempt]] = {source: [] for source in tasks}
            for recorded in attempts:
                attempts_by_source.setdefault(recorded.source, []).append(recorded)
            by_source = attempts_by_source.items()
            yield [_SourceRun(number, name, source_attempts, tasks.get(name)) for name, source_attempts in by_source]

    def _parser_run(self, run: _SourceRun) -> ParserRun | None:
        """Return a run with the outcome of each address, or None if it has no attempt to log and no failed task."""
        source = self._sources.get(run.source)
        parser = parser_of(source)
        attempts = self._last_attempts(run.attempts)
        numbers = [recorded.seq for recorded in attempts]
        counts = self._records.count_records(numbers, ("status", MISSING))
        skips: dict[int, list[Skipped]] = {}
        for skip in self._records.skipped(attempts=numbers):
            skips.setdefault(skip.attempt, []).append(skip)
        if attempts and attempts[0].attempt.kind == CAPTURED:  # of imported pages, only those with events are logged
            with_events = {number for number in numbers if counts.get(number) or skips.get(number)}
            attempts = [recorded for recorded in attempts if recorded.seq in with_events] or attempts[:1]
        addresses = [
            self._requested_address(recorded, counts.get(recorded.seq, (0, 0)), skips.get(recorded.seq, []), source)
            for recorded in attempts
        ]
        if run.failed_task and not any(address.result for address in addresses):
            url = addresses[-1].url if addresses else str(source.options[ADDRESS]) if source else ""
            comment = run.failed_task.comment or ""
            message = comment.partition("; ")[2] or comment
            result = run.failed_task.reason.class_name if run.failed_task.reason else ""
            addresses.append(RequestedAddress(run.failed_task.began, url, result=result, message=message))
        if not addresses:
            return None
        first = attempts[0] if attempts else None
        attempt = first.attempt if first else None
        text = self._response_text(attempt) if attempt and attempt.kind in _DOCUMENT_KINDS else ""
        version = parser.rules_at(addresses[0].requested_at).version
        return ParserRun(parser.name, version, run.source, run.session, first.seq if first else 0, addresses, text)

    def _last_attempts(self, attempts: Sequence[RecordedAttempt]) -> list[RecordedAttempt]:
        """Return the last attempt at each address, in the order of the first attempts, except followed redirects.

        A failed request for a robots.txt is included if nothing else was requested from its origin.
        """
        last: dict[int | str, RecordedAttempt] = {
            recorded.attempt.target: recorded for recorded in attempts if recorded.attempt.kind in _DOCUMENT_KINDS
        }
        requested_origins = {parts(recorded.attempt.url).origin for recorded in last.values()}
        for recorded in attempts:
            if (
                recorded.attempt.kind == ROBOTS
                and recorded.attempt.reason is not None
                and parts(recorded.attempt.url).origin not in requested_origins
            ):
                last[parts(recorded.attempt.url).origin] = recorded
        return [attempt for attempt in last.values() if not self._is_followed_redirect(attempt)]

    def _is_followed_redirect(self, recorded: RecordedAttempt) -> bool:
        attempt = recorded.attempt
        followed = self._ledger.requests.followed(recorded.seq) if _is_redirect(attempt) else None
        return bool(followed and followed.requests and urljoin(attempt.url, attempt.location) != attempt.url)

    def _requested_address(
        self, recorded: RecordedAttempt, counts: tuple[int, int], skips: Sequence[Skipped], source: Source | None
    ) -> RequestedAddress:
        """Return the outcome of an attempt; `counts` are the numbers of (events, new events) in its document.

        `source` is None if it is no longer known. If the request for a robots.txt failed, this failure is reported as
        the outcome of the source's address, and the message names the robots.txt.
        """
        attempt = recorded.attempt
        document_skip = next((skip for skip in skips if not skip.key), None)
        rejected_skips = [skip for skip in skips if skip.key and skip.reason not in _NOT_REJECTED]
        rejected = len(rejected_skips)
        reason, message = attempt.reason, attempt.message
        if reason is None and document_skip is not None:
            reason, message = document_skip.reason, document_skip.message
        if reason is None and rejected and not counts[0]:
            reason, message = _describe_rejected(rejected_skips)
        if reason is None and attempt.status not in _GOOD_STATUSES:
            reason, message = reason_of_status(attempt.status or 0), f"its status is {attempt.status}"
            if _is_redirect(attempt):
                reason = Reason.REDIRECTED
                message = f"its redirect to {attempt.location} was not followed"
        url = attempt.url
        if attempt.kind == ROBOTS:
            url = str(source.options[ADDRESS]) if source else attempt.url
            message = f"{attempt.url}: {message}"
        facts: dict[str, Any] = {} if attempt.status is None else {"http_status": attempt.status}
        if attempt.kept:
            facts |= {"bytes": attempt.kept.size, "digest": attempt.kept.digest}
        followed = self._ledger.requests.followed(recorded.seq)
        findings = followed.read_findings() if followed else []
        drifts = tuple(finding.message for finding in findings if finding.kind == DRIFT)
        return RequestedAddress(
            attempt.started, url, attempt.seconds + (followed.seconds if followed else 0.0), *counts, rejected,
            reason.class_name if reason else "", (message or reason.meaning) if reason else "", drifts, facts,
        )  # fmt: skip

    def _response_text(self, attempt: Attempt) -> str:
        place = self._ledger.captures.place_of(attempt)
        if place is None:
            return ""
        try:
            answer = open_response(self._archive, place)
            with answer.view as view:
                content = body_of(view, answer.fields, self._limits).read()
        except (ArchiveError, StepError):
            self.unreadable += 1
            return ""
        return _decode(content, answer.fields.get("content-type", ""))


def _decode(content: bytes, media: str) -> str:
    """Decode a response as the reader of its source does; markup may declare its encoding itself."""
    is_markup = content[:200].lstrip(b" \t\r\n\xef\xbb\xbf").startswith(b"<")
    return decode(content, media).text if is_markup else decode_text(content, media)


def _describe_rejected(rejected: Sequence[Skipped]) -> tuple[Reason, str]:
    first = rejected[0]
    message = f"none of the document's {counted(len(rejected), 'event')} could be read; the first is {first.key}"
    return first.reason, f"{message}: {first.message or first.reason.meaning}"


def _time_in_id(log_id: str) -> str:
    return log_id.partition(" - ")[0]


def _is_redirect(attempt: Attempt) -> bool:
    return bool(attempt.location) and 300 <= (attempt.status or 0) < 400
