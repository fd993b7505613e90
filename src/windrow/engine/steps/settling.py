"""Settle: run a step on new attempts and on some earlier ones, and write the results to the version store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, starmap
from typing import Any

from windrow import model
from windrow.archive import open_response
from windrow.contract import (
    ASK,
    AttemptObservations,
    Observation,
    PendingAsk,
    Request,
    Settle,
    Skip,
    results_of,
)
from windrow.engine.fetchers.message import Job
from windrow.engine.requests.answers import KeptAnswer
from windrow.engine.requests.origin_rules import crawl_of
from windrow.engine.requests.redirects import SentRedirects
from windrow.engine.requests.services import ServiceRequests
from windrow.engine.requests.waiting import service_wait
from windrow.engine.run import ContentStore, HarvestRun, SearchedStore, VersionedStore, VersionStore, WaitingStore
from windrow.engine.runtime import rare_gc
from windrow.engine.steps.due import due_attempts
from windrow.engine.steps.settled_batches import BATCH_SIZE, WRONG_VALUES, SettledAttempt, gather_batches, write_apart
from windrow.engine.steps.stepping import PhaseTasks, first_finding
from windrow.engine.steps.unread import UnreadAttempts
from windrow.engine.steps.whole_listing import find_later_listings, find_missing, find_never_read, skip_listed_earlier
from windrow.errors import ArchiveError, WindrowError
from windrow.ledger.takedowns import TakenDownAddresses
from windrow.model import ArchivePlace, Attempt, Finding, Item, Reading, RecordedAttempt
from windrow.reasons import OWN_FAULTS, Reason

READ_AHEAD = 4096
"""The maximum number of attempts that are read and not yet written to the store. It bounds memory."""

StoredAnswers = Mapping[int, Mapping[str, KeptAnswer]]
"""A dict from attempt to the answers that it waits for, each under the name of its request in the step's result."""


class Settling:
    """Runs one Settle step on attempts. A result is a Reading if the step failed, and None if it was not run."""

    def __init__(self, run: HarvestRun, step: Settle, version_store: VersionStore) -> None:
        self._run = run
        self._step = step
        self._version_store = version_store
        self._content_store = version_store if isinstance(version_store, ContentStore) else None
        self._tasks = PhaseTasks(run, step.phase)
        self._step_index = run.collection.steps.index(step)
        self._sources = {source.name: source for source in run.harvest.sources}
        self._options = {name: str(value) for name, value in run.harvest.options.items()}
        self._unread = UnreadAttempts(run.ledger, run.collection.name, self._tasks.phase, step.version)
        self._redirects = SentRedirects(run.ledger, run.collection.name)
        self._answered_attempts = 0  # attempts whose step was repeated with answers and has not asked again

    @cached_property
    def _service_requests(self) -> ServiceRequests:
        return ServiceRequests(self._run)

    @cached_property
    def _taken_down(self) -> TakenDownAddresses:
        return self._run.ledger.takedowns.addresses()

    def run(self) -> None:
        """Settle new, unread and answered attempts, and finish the store. After an error, the next run continues."""
        run, version_store = self._run, self._version_store
        unread = [] if run.harvest.reread else self._unread.due()
        count = run.ledger.attempts.count_after(version_store.checkpoint()) + len(unread)
        with self._tasks.working(count):
            self._compare_versions()
            version_store.note_earlier_sessions(  # for a store that is new because the old one was lost
                lambda: run.ledger.sessions.ends_of_phase(run.collection.name, self._tasks.phase, run.session)
            )
            self._settle_all()
            self._settle_unread(unread)
            self._settle_answered()
            self._read_again()
            if not run.stopping():
                self._finish()

    def _finish(self) -> None:
        """Finish the store, and update its index except in a replay. If documents wait for services, record a task.

        The task fails if a service has no address. It also fails if requests were made, but a service was given up, or
        no document got all the answers that it waited for.
        """
        store, run = self._version_store, self._run
        waiting_before = store.count_waiting()[0] if isinstance(store, WaitingStore) else 0
        store.finish(int(run.clock().timestamp()), self._pulse)
        # After a replay, the new store must first replace the old one.
        if isinstance(store, SearchedStore) and not run.harvest.reread:
            store.update_index(self._pulse)
        if not isinstance(store, WaitingStore):
            return
        services = [service.name for service in run.harvest.services]
        wait = service_wait(run.ledger, run.collection.name, store, services)
        if wait is not None:
            answered = self._answered_attempts - (wait.documents - waiting_before)
            requests = self._service_requests
            is_unanswered = requests.has_asked and (requests.given_up or answered <= 0)
            failed = bool(requests.without_address or is_unanswered)
            task = run.open_task(run.collection.phase(self._step.phase))
            run.close_task(task, f"{run.collection.name}: {wait.describe()}", failed=failed)

    def _compare_versions(self) -> None:
        """Store the step's version in an empty store. Record a task with a message if another version filled it."""
        run, store, step = self._run, self._version_store, self._step
        if not isinstance(store, VersionedStore):
            return
        if not store.checkpoint():
            store.set_reader_version(step.version)
        elif (old_version := store.reader_version()) and old_version != step.version:
            message = f"{run.collection.name}: version {step.version} of {step.phase} reads new documents; to read"
            message += f" again the documents that version {old_version} read: windrow replay"
            run.close_task(run.open_task(run.collection.phase(step.phase)), message)

    def _pulse(self) -> bool:
        self._run.tick()
        return not self._run.stopping()

    def _settle_all(self) -> None:
        """Settle new attempts batch by batch. A batch whose step must be repeated waits until the pool is free."""
        attempts = self._due_attempts()
        while not self._run.stopping():
            deferred: list[tuple[list[SettledAttempt], StoredAnswers]] = []
            batch: list[SettledAttempt] = []
            for batch in gather_batches(self._read_in_pool(_until_deferred(islice(attempts, READ_AHEAD), deferred))):
                answers = self._stored_answers(batch)
                if deferred or answers:
                    deferred.append((batch, answers))
                else:
                    self._settle_in_order(batch)
            for deferred_batch, answers in deferred:
                self._settle_in_order(self._take_again(deferred_batch, answers))
            if not batch:
                return

    def _settle_unread(self, attempts: list[int]) -> None:
        for start in range(0, len(attempts), BATCH_SIZE):
            # Attempts that this run has settled already are not in `_unread` any more.
            unread_numbers = [attempt for attempt in attempts[start : start + BATCH_SIZE] if attempt in self._unread]
            for batch in gather_batches(self._read_alone(self._run.ledger.attempts.by_numbers(unread_numbers))):
                self._settle_late(self._take_again(batch, self._stored_answers(batch)))

    def _read_alone(self, attempts: list[RecordedAttempt]) -> Iterator[SettledAttempt]:
        """Read attempts one by one while the pool does nothing else. An attempt without bytes has the result None."""
        for recorded in attempts:
            if self._run.stopping():
                return
            response = recorded.attempt.kept
            if response is None:
                yield SettledAttempt(recorded, None)
                continue
            place = self._run.ledger.captures.original(recorded.attempt.target, response.digest)  # its own is damaged?
            job = self._make_job(recorded, place or self._place_of(recorded.attempt, response))
            yield SettledAttempt(recorded, self._run.pool.run_alone(job, self._run.tick).result)

    def _due_attempts(self) -> Iterator[RecordedAttempt]:
        """Yield the attempts after the checkpoint until the run is stopped, without asks if the step takes answers."""
        run = self._run
        for recorded in due_attempts(run.ledger, run.collection, self._version_store.checkpoint()):
            if run.stopping():
                return
            if recorded.attempt.kind != ASK or not self._step.takes_answers:
                yield recorded

    def _read_in_pool(self, attempts: Iterable[RecordedAttempt]) -> Iterator[SettledAttempt]:
        places = ((attempt, self._place_to_read(attempt)) for attempt in attempts)
        pairs = ((attempt, self._make_job(attempt, place) if place else None) for attempt, place in places)
        yield from starmap(SettledAttempt, self._run.pool.resolve(pairs, pulse=self._run.tick))

    def _place_to_read(self, recorded: RecordedAttempt) -> ArchivePlace | None:
        """Return the place of an attempt's bytes, or None if it has none or they need not be read."""
        attempt, response, store = recorded.attempt, recorded.attempt.kept, self._content_store
        if response is None:
            return None
        is_temporary = response.revisit and store is not None and store.is_temporary(attempt.url, response.digest)
        if is_temporary or (response.revisit and self._must_reread(recorded, response)):
            return self._place_of(attempt, response)
        if not self._step.needs_body(recorded) or (response.revisit and self._is_known(recorded, response)):
            return None
        return self._place_of(attempt, response)

    def _is_known(self, recorded: RecordedAttempt, response: model.KeptResponse) -> bool:
        """Return whether the bytes of a response need not be read, because the store has their content."""
        name_payload = self._step.name_payload
        if self._content_store is None:  # the step must observe again that a record exists
            return False
        content_name = name_payload(recorded) if name_payload else response.digest
        return self._content_store.same(recorded.attempt.url, content_name)

    def _must_reread(self, recorded: RecordedAttempt, response: model.KeptResponse) -> bool:
        """Return whether the header of a revisit requires the step to read the known bytes again."""
        if self._step.rereads_original is None:
            return False
        try:
            answer = open_response(self._run.settings.archive, response.place)
        except ArchiveError:
            return False  # `windrow check` reports this; the stored result does not change
        answer.view.close()
        return self._step.rereads_original(recorded, answer.fields)

    def _place_of(self, attempt: Attempt, response: model.KeptResponse) -> ArchivePlace:
        captures = self._run.ledger.captures  # an earlier record of the same bytes may be damaged
        newest = captures.original(attempt.target, response.digest) if self._run.harvest.reread else None
        return newest or self._run.place_of(attempt) or response.place

    def _make_job(self, recorded: RecordedAttempt, place: ArchivePlace) -> Job:
        response = recorded.attempt.kept
        digest = response.digest if response else ""
        item = Item(recorded.seq, self._run.collection.name, "attempt", recorded.attempt.url, digest=digest)
        head = response.place if response and response.revisit else None
        offers = tuple(self._run.ledger.requests.offers(recorded.seq)) if self._step.takes_answers else ()
        request = self._redirects.request_of(recorded) if self._step.takes_answers else None
        return Job(
            self._step_index, item, place, self._options, head=head, source=self._sources.get(recorded.source),
            visited=recorded.attempt.started, offers=offers, request=request, retakes=self._step.retakes,
        )  # fmt: skip

    def _settle_answered(self) -> None:
        """Repeat the step for attempts with new answers, and make requests to services, until nothing changes."""
        store = self._version_store
        if not self._step.takes_answers or not isinstance(store, WaitingStore):
            return
        while not self._run.stopping():
            last_attempt, has_progressed = 0, False
            while not self._run.stopping() and (waiting := store.waiting(last_attempt)):
                last_attempt = max(waiting)
                answers_by_attempt = {seq: self._service_requests.answers(waits) for seq, waits in waiting.items()}
                answered = {seq: answers for seq, answers in answers_by_attempt.items() if answers is not None}
                if answered:
                    batch = list(self._repeat_with_answers(answered))
                    self._answered_attempts += sum(not settled.asks for settled in batch)
                    self._settle_late(self._take_again(batch, self._stored_answers(batch)))
                    has_progressed = True
            if not last_attempt or (not has_progressed and not self._service_requests.fetch()):
                self._service_requests.drop_unarchived(self._pending_asks(store))
                return

    def _pending_asks(self, store: WaitingStore) -> Iterator[Sequence[PendingAsk]]:
        last_attempt = 0
        while waiting := store.waiting(last_attempt):
            last_attempt = max(waiting)
            yield from waiting.values()

    def _repeat_with_answers(self, answers: StoredAnswers) -> Iterator[SettledAttempt]:
        """Repeat the step with answers. A step that gets no bytes, or only repeats answered requests, has failed."""
        attempts = self._run.ledger.attempts.by_numbers([*answers])
        places = ((recorded, self._place_to_read(recorded)) for recorded in attempts)
        lost_bytes = Reading(Reason.NOT_FOUND)
        pairs = (
            (recorded, self._make_job(recorded, place)._replace(answers=answers[recorded.seq]) if place else lost_bytes)
            for recorded, place in places
        )
        for settled in starmap(SettledAttempt, self._run.pool.resolve(pairs, pulse=self._run.tick)):
            if settled.asks and all(ask.name in answers[settled.recorded.seq] for ask in settled.asks):
                message = f"the step repeats its request {settled.asks[0].name!r}, although the service has answered it"
                yield settled._replace(result=Reading(Reason.STEP_FAILED, (Finding("AskedTwice", message),)))
            else:
                yield settled

    def _stored_answers(self, batch: list[SettledAttempt]) -> StoredAnswers:
        """Return the reasons why services must not be asked about the records of a batch, as answers without bytes."""
        unasked = self._run.harvest.unasked
        asking = {settled.recorded.seq: settled for settled in batch if unasked and settled.asks}
        keys_by_attempt = {
            seq: {result.key for result in results_of(settled.result) if isinstance(result, Observation)}
            for seq, settled in asking.items()
        }
        reasons = unasked(sorted(set().union(*keys_by_attempt.values()))) if unasked and asking else {}
        no_answer = KeptAnswer(Request(""), "", 0, self._run.clock(), None)
        return {
            seq: {ask.name: no_answer._replace(reason=reasons[min(keys_by_attempt[seq])]) for ask in settled.asks}
            for seq, settled in asking.items() if keys_by_attempt[seq] and keys_by_attempt[seq] <= reasons.keys()
        }  # fmt: skip

    def _take_again(self, batch: list[SettledAttempt], answers: StoredAnswers) -> list[SettledAttempt]:
        """Return a batch with the step repeated for attempts that have answers. The pool must not have other jobs."""
        retaken = {settled.recorded.seq: settled for settled in self._repeat_with_answers(answers)} if answers else {}
        return [retaken.get(settled.recorded.seq, settled) for settled in batch]

    def _make_entries(self, batch: list[SettledAttempt]) -> list[Any]:
        """Store a batch's requests to services on the ledger, and return the attempts' entries (None: no entry).

        An attempt with an invalid request gets a failed reading, also in `batch`. A replay notes as unread the attempts
        that ask services without an address.
        """
        if not self._step.takes_answers:
            return [self._step.make_entry(settled.recorded, settled.result) for settled in batch]
        entries, requests = [], []
        for index, settled in enumerate(batch):
            try:
                asks = [(ask, self._service_requests.request_for(ask, settled.recorded)) for ask in settled.asks]
            except WindrowError as error:
                failure = Reading(error.reason or Reason.STEP_FAILED, (Finding("BadRequest", str(error)),))
                batch[index] = settled = SettledAttempt(settled.recorded, failure)  # noqa: PLW2901 it is replaced
                asks = []
            requests += [(settled.recorded, *request) for _, request in asks if request is not None]
            if self._run.harvest.reread and not all(request for _, request in asks):
                self._run.harvest.unread[settled.recorded.seq] = Reason.STEP_FAILED  # the old store may have a record
            entry = self._step.make_entry(settled.recorded, settled.result)
            if entry is None and isinstance(settled.result, Reading):
                entry = settled.entry_without_records()
            if not asks and (missing := self._missing_results(settled.recorded)):
                entry = entry or settled.entry_without_records()
                entry = entry._replace(results=(*entry.results, *missing))
            if self._taken_down and isinstance(entry, AttemptObservations):
                entry = self._without_taken_down(entry)
            if asks and isinstance(entry, AttemptObservations):
                observations = [result for result in entry.results if isinstance(result, Observation)]
                pending = (
                    PendingAsk(ask.name, request.address.digest) if request else PendingAsk(ask.service, 0)
                    for ask, request in asks
                )
                entry = entry._replace(results=(*observations, *pending))
            entries.append(entry)
        if requests:
            self._service_requests.store_requests(requests)
        return entries

    def _without_taken_down(self, entry: AttemptObservations) -> AttemptObservations:
        results = tuple(
            Skip(Reason.FORGOTTEN, result.key)
            if isinstance(result, Observation) and self._taken_down.contains(result.url)
            else result
            for result in entry.results
        )
        return entry._replace(results=results)

    def _missing_results(self, recorded: RecordedAttempt) -> list[Observation | Skip]:
        """Return the step's results for the offers missing from a complete listing that ends with this attempt."""
        if self._step.missing is None or (listing := self._run.ledger.requests.whole_listing(recorded.seq)) is None:
            return []
        source, at = self._sources.get(recorded.source), recorded.attempt.started
        return find_missing(
            self._step.missing, self._run.ledger, self._version_store, listing, source=source, ended_at=at
        )

    def _settle_in_order(self, batch: list[SettledAttempt]) -> None:
        """Write a batch of attempts. A new transaction begins before each attempt that ends a complete listing."""
        start = 0
        for index, settled in enumerate(batch if self._step.missing else ()):
            if start < index and self._run.ledger.requests.whole_listing(settled.recorded.seq):
                self._settle_batch(batch[start:index], batch[index - 1].recorded.seq)
                start = index
        self._settle_batch(batch[start:], batch[-1].recorded.seq)

    def _settle_late(self, batch: list[SettledAttempt]) -> None:
        """Write attempts from before the checkpoint, and settle again the listings that lacked their records."""
        ledger, name, checkpoint = self._run.ledger, self._run.collection.name, self._version_store.checkpoint()
        listings = find_later_listings(ledger, name, batch, checkpoint) if self._step.missing else []
        if listings and not self._run.harvest.reread:  # in case this run is killed before it settles them
            with ledger.writing() as writer:
                self._unread.record_unfinished(writer, listings)
        self._settle_batch(batch, checkpoint)
        for settled in self._read_alone(ledger.attempts.by_numbers(listings)):
            self._settle_batch(self._take_again([settled], self._stored_answers([settled])), checkpoint)

    def _settle_batch(self, batch: list[SettledAttempt], checkpoint: int) -> None:
        """Write a batch of attempts; after a wrong value, write each alone, or as failed if its own value is wrong."""
        if self._step.missing:
            batch = [skip_listed_earlier(self._run.ledger, self._run.collection.name, settled) for settled in batch]
        try:
            self._write_batch(batch, checkpoint)
        except WRONG_VALUES:
            write_apart(batch, checkpoint, self._write_batch, self._version_store.checkpoint)

    def _write_batch(self, batch: list[SettledAttempt], checkpoint: int) -> None:
        entries = [entry for entry in self._make_entries(batch) if entry is not None]
        # Unread attempts are recorded first: once the store is written, they are before the checkpoint.
        reasons = {settled.recorded.seq: reason for settled in batch if (reason := self._why_unread(settled))}
        substitutes: list[tuple[RecordedAttempt, Reason]] = []
        if self._step.takes_answers:
            substitutes = [(settled.recorded, reason) for settled in batch if (reason := settled.substitute_reason)]
        if self._run.harvest.reread:  # the store that is in use until the end of the replay may have read them
            self._run.harvest.unread |= reasons
        elif reasons or substitutes:
            with self._run.ledger.writing() as writer:
                self._unread.record_unread(writer, reasons)
                for recorded, reason in substitutes:
                    self._unread.record_substitute(writer, recorded, reason)
        unwritten = self._version_store.settle(entries, checkpoint, self._run.session)
        lost = find_never_read(entries) if self._step.missing else ()
        for number, skip in (*unwritten, *lost):
            attempt = next(settled.recorded for settled in batch if settled.recorded.seq == number)
            self._tasks.count_left_out(attempt.source, [skip], attempt.attempt.url)
        self._set_due(batch)
        self._count_results(batch)

    def _set_due(self, batch: list[SettledAttempt]) -> None:
        """If the crawl has intervals, update when addresses are due, from content checks and expiry times."""
        crawl = crawl_of(self._run.collection)
        if crawl is None or crawl.interval is None or self._run.harvest.reread:
            return
        attempts = {
            settled.recorded.attempt.url: settled.recorded
            for settled in batch
            if settled.recorded.source in self._sources
        }
        changes = {} if self._content_store is None else self._content_store.changes(attempts)
        with self._run.ledger.writing() as writer:
            for url, checks in changes.items():
                writer.addresses.set_interval(
                    attempts[url], crawl.interval(self._sources[attempts[url].source], checks)
                )
            for settled in batch:
                if settled.recorded.attempt.url in attempts and (until := self._valid_until(settled)) is not None:
                    writer.addresses.make_due_by(settled.recorded.seq, until)

    def _valid_until(self, settled: SettledAttempt) -> int | None:
        """Return the UNIX time until which a result is valid, or None if it does not expire."""
        if self._step.expires is None or settled.result is None or isinstance(settled.result, Reading):
            return None
        return self._step.expires(settled.result)

    def _count_results(self, batch: list[SettledAttempt]) -> None:
        run, failures = self._run, 0
        uses = [(settled.left_out, settled.judge_use(has_records=self._step.takes_answers)) for settled in batch]
        with run.ledger.writing() as writer:
            if not run.harvest.reread:  # a replay may be stopped, and then the old store is not replaced
                read = [settled for settled in batch if self._why_unread(settled) is None]
                if self._step.takes_answers:
                    read = [settled for settled in read if settled.substitute_reason is None]
                self._unread.record_waiting(writer, [settled.recorded.seq for settled in read if settled.asks])
                self._unread.record_read(writer, [settled.recorded.seq for settled in read if not settled.asks])
            for settled, (left_out, use) in zip(batch, uses, strict=True):
                reason = self._reading_fault(settled.result)
                self._tasks.count_left_out_parts(settled.recorded.source, left_out, settled.recorded.attempt.url)
                failures += reason is not None
                self._tasks.count(writer, settled.recorded.source, reason, use, first_finding(settled.result))
        run.progress.step(len(batch), failures)
        run.tick()

    def _reading_fault(self, result: Any) -> Reason | None:
        """Return the reason why a reading failed, or the first reason in OWN_FAULTS of any other result, or None."""
        if isinstance(result, Reading):
            return result.reason
        if not self._step.takes_answers:
            reason = getattr(result, "reason", None)
            return Reason(reason) if reason in OWN_FAULTS else None
        outputs = results_of(result)
        return next(
            (output.reason for output in outputs if isinstance(output, Skip) and output.reason in OWN_FAULTS), None
        )

    def _why_unread(self, settled: SettledAttempt) -> Reason | None:
        """Return why a document was not read completely. Return None if it was, or if it is itself at fault."""
        reason = self._reading_fault(settled.result)
        return reason if reason in OWN_FAULTS else Reason.CAPPED if settled.is_capped else None

    def _read_again(self) -> None:
        run, store = self._run, self._content_store
        while store is not None and not run.stopping() and (to_read := store.to_read_again(BATCH_SIZE)):
            attempts = run.ledger.attempts.by_numbers(to_read)
            store.read_again(dict.fromkeys(to_read) | dict(self._readings(attempts)))
            run.tick()

    def _readings(self, attempts: list[RecordedAttempt]) -> Iterator[tuple[int, Any]]:
        pairs = ((recorded, self._job_again(recorded)) for recorded in attempts)
        for recorded, result in self._run.pool.resolve(pairs, pulse=self._run.tick):
            if not isinstance(result, Reading):
                yield recorded.seq, self._step.make_entry(recorded, result)

    def _job_again(self, recorded: RecordedAttempt) -> Job | None:
        response = recorded.attempt.kept
        if response is None or not (self._step.needs_body(recorded) or self._place_to_read(recorded)):
            return None
        return self._make_job(recorded, self._place_of(recorded.attempt, response))


def settle_step(run: HarvestRun, step: Settle) -> None:
    """Run a Settle step on the attempts that are due. Without a version store, nothing is done."""
    if run.harvest.version_store is not None:
        with rare_gc():
            Settling(run, step, run.harvest.version_store).run()


def _until_deferred(attempts: Iterable[RecordedAttempt], deferred: Sequence[object]) -> Iterator[RecordedAttempt]:
    for attempt in attempts:
        yield attempt
        if deferred:
            return
