"""Settle: every visit after the checkpoint is read where needed, and what came of it written to the version store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, starmap
from typing import Any

from windrow import model
from windrow.archive import open_response
from windrow.contract import (
    ASK,
    Ask,
    AttemptObservations,
    Observation,
    PendingAsk,
    Request,
    Settle,
    Skip,
    results_of,
)
from windrow.engine.fetchers.message import Job
from windrow.engine.requests.answers import KeptAnswer, request_of
from windrow.engine.requests.origin_rules import walked
from windrow.engine.requests.services import ServiceRequests
from windrow.engine.requests.waiting import service_wait
from windrow.engine.run import ContentStore, HarvestRun, SearchedStore, VersionedStore, VersionStore, WaitingStore
from windrow.engine.runtime import rare_gc
from windrow.engine.steps.due import due_visits
from windrow.engine.steps.settled_pages import PAGE, SettledAttempt, pages
from windrow.engine.steps.stepping import PhaseTasks, first_finding
from windrow.engine.steps.unread import UnreadAttempts
from windrow.engine.steps.whole_listing import whole_listing
from windrow.errors import ArchiveError, StoreError, WindrowError
from windrow.ledger.takedowns import TakenDownAddresses
from windrow.model import ArchivePlace, Attempt, Finding, Item, Reading, RecordedAttempt
from windrow.reasons import OWN_FAULTS, Reason

READ_AHEAD = 4096
"""Visits taken from the ledger before all of them are written: bounds what the pool has read ahead."""


StoredAnswers = Mapping[int, Mapping[str, KeptAnswer]]
"""The answers that visits ask for and others stored, by visit and name."""


class Settling:
    """One settle step at work."""

    def __init__(self, run: HarvestRun, step: Settle, version_store: VersionStore) -> None:
        """Write to the version store of one harvest."""
        self._run = run
        self._step = step
        self._version_store = version_store
        self._contents = version_store if isinstance(version_store, ContentStore) else None
        self._tasks = PhaseTasks(run, step.phase)
        self._step_id = run.collection.steps.index(step)
        self._sources = {source.name: source for source in run.harvest.sources}
        self._options = {name: str(value) for name, value in run.harvest.options.items()}
        self._unread = UnreadAttempts(run.ledger, run.collection.name, self._tasks.phase, step.version)
        self._answered_for = 0  # visits whose step was taken with answers, and asked for nothing more

    @cached_property
    def _asking(self) -> ServiceRequests:
        return ServiceRequests(self._run)

    @cached_property
    def _taken_down(self) -> TakenDownAddresses:
        return self._run.ledger.takedowns.addresses()

    def run(self) -> None:
        """Settle all visits, then those whose services answered; read again what must be; let the store finish."""
        run, version_store = self._run, self._version_store
        again = [] if run.harvest.reread else self._unread.due()
        count = run.ledger.attempts.count_after(version_store.checkpoint()) + len(again)
        with self._tasks.working(count):  # an error leaves the checkpoint where it is: the next run goes on there
            self._refuse_older_ledger()
            self._compare_versions()
            version_store.note_earlier_sessions(self._earlier_sessions)
            self._settle_all()
            self._settle_unread(again)
            self._settle_answered()
            self._read_again()
            if not run.stopping():
                self._finish()

    def _finish(self) -> None:
        """Let the store finish, and say which documents wait for services: none may have got through."""
        store, run = self._version_store, self._run
        before = store.count_waiting()[0] if isinstance(store, WaitingStore) else 0
        store.finish(int(run.clock().timestamp()), self._pulse)
        if isinstance(store, SearchedStore) and not run.harvest.reread:  # a replay's takes the old one's place first
            store.update_index(self._pulse)
        if not isinstance(store, WaitingStore):
            return
        services = [service.name for service in run.harvest.services]
        wait = service_wait(run.ledger, run.collection.name, store, services)
        if wait is not None:
            got_through = self._answered_for - (wait.documents - before)
            failed = self._asking.asked and (bool(self._asking.given_up) or got_through <= 0)
            task = run.open_task(run.collection.phase(self._step.phase))
            run.close_task(task, f"{run.collection.name}: {wait.describe()}", failed=failed)

    def _refuse_older_ledger(self) -> None:
        """Refuse an older ledger that was put back: its next attempts would be taken for settled ones."""
        checkpoint, last = self._version_store.checkpoint(), self._run.ledger.attempts.last_number()
        if checkpoint > last:
            raise StoreError(
                f"the store has attempts up to {checkpoint}, and the ledger ends with attempt {last}",
                hint="put back the ledger that belongs to this store, or remove it: the next run builds it again",
            )

    def _earlier_sessions(self) -> Mapping[int, int]:
        """Return the last visit that earlier sessions settled, by the ledger: a lost store is rebuilt."""
        run = self._run
        return run.ledger.sessions.ends_of_phase(run.collection.name, self._tasks.phase, run.session)

    def _compare_versions(self) -> None:
        """Warn if stored records were read by another version of the step: a replay reads them by this one."""
        run, store, step = self._run, self._version_store, self._step
        if not isinstance(store, VersionedStore):
            return
        if not store.checkpoint():
            store.set_reader_version(step.version)
        elif (before := store.reader_version()) and before != step.version:
            message = f"{run.collection.name}: version {step.version} of {step.phase} reads what is new; what was read"
            message += f" by version {before} stays as it is until: windrow replay"
            run.close_task(run.open_task(run.collection.phase(step.phase)), message)

    def _pulse(self) -> bool:
        self._run.tick()
        return not self._run.stopping()

    def _settle_all(self) -> None:
        """Settle pages as they are read; one that is taken again with stored answers, and those after it, in the end.

        The pool is free only when all that it has in hand is read: from such a page on it is given no more.
        """
        stream = self._visits()
        while not self._run.stopping():
            held: list[tuple[list[SettledAttempt], StoredAnswers]] = []
            page: list[SettledAttempt] = []
            for page in pages(self._read(_until_held(islice(stream, READ_AHEAD), held))):
                answers = self._stored_answers(page)
                if held or answers:
                    held.append((page, answers))
                else:
                    self._settle(page)
            for late, answers in held:
                self._settle(self._take_again(late, answers))
            if not page:
                return

    def _settle_unread(self, visits: list[int]) -> None:
        """Read again what was not read by an earlier run, one document after the other."""
        for start in range(0, len(visits), PAGE):
            left = [visit for visit in visits[start : start + PAGE] if visit in self._unread]  # not settled by this run
            for page in pages(self._read_alone(self._run.ledger.attempts.by_numbers(left))):
                whole = self._take_again(page, self._stored_answers(page))
                self._settle_page(whole, self._version_store.checkpoint())

    def _read_alone(self, visits: list[RecordedAttempt]) -> Iterator[SettledAttempt]:
        """Read visits while the pool does nothing else; what was taken down meanwhile has no bytes any more."""
        for recorded in visits:
            if self._run.stopping():
                return
            kept = recorded.attempt.kept
            if kept is None:
                yield SettledAttempt(recorded, None)
                continue
            job = self._job(recorded, self._place(recorded.attempt, kept))
            yield SettledAttempt(recorded, self._run.pool.run_alone(job, self._run.tick).result)

    def _visits(self) -> Iterator[RecordedAttempt]:
        """Yield the visits that are due, until a stop; a service's answer is not a document."""
        run = self._run
        for recorded in due_visits(run.ledger, run.collection, self._version_store.checkpoint()):
            if run.stopping():
                return
            if recorded.attempt.kind != ASK or not self._step.takes_answers:
                yield recorded

    def _read(self, visits: Iterable[RecordedAttempt]) -> Iterator[SettledAttempt]:
        """Read in the pool what must be read, and yield all in the order in which they came."""
        places = ((visit, self._wanted(visit)) for visit in visits)
        pairs = ((visit, self._job(visit, place) if place else None) for visit, place in places)
        yield from starmap(SettledAttempt, self._run.pool.resolve(pairs, pulse=self._run.tick))

    def _wanted(self, recorded: RecordedAttempt) -> ArchivePlace | None:
        """Return where the bytes of a visit lie, or None if they need not be read."""
        kept = recorded.attempt.kept
        if kept is None:
            return None
        if kept.revisit and (self._is_temporary(recorded, kept) or self._refers(recorded, kept)):
            return self._place(recorded.attempt, kept)
        if not self._step.needs_body(recorded) or (kept.revisit and self._known(recorded, kept)):
            return None
        return self._place(recorded.attempt, kept)

    def _is_temporary(self, recorded: RecordedAttempt, kept: model.KeptResponse) -> bool:
        return self._contents is not None and self._contents.is_temporary(recorded.attempt.url, kept.digest)

    def _known(self, recorded: RecordedAttempt, kept: model.KeptResponse) -> bool:
        name_payload = self._step.name_payload
        if self._contents is None:  # that a record is still there is an observation too
            return False
        return self._contents.same(recorded.attempt.url, name_payload(recorded) if name_payload else kept.digest)

    def _refers(self, recorded: RecordedAttempt, kept: model.KeptResponse) -> bool:
        """Return whether the headers of an answer with known bytes say more than the bytes."""
        if self._step.rereads_original is None:
            return False
        try:
            answer = open_response(self._run.archive, kept.place)
        except ArchiveError:
            return False  # `windrow check` tells of it; what is known stays
        answer.view.close()
        return self._step.rereads_original(recorded, answer.fields)

    def _place(self, attempt: Attempt, kept: model.KeptResponse) -> ArchivePlace:
        return self._run.place_of(attempt) or kept.place

    def _job(self, recorded: RecordedAttempt, place: ArchivePlace) -> Job:
        kept = recorded.attempt.kept
        digest = kept.digest if kept else ""
        item = Item(recorded.seq, self._run.collection.name, "visit", recorded.attempt.url, digest=digest)
        head = kept.place if kept and kept.revisit else None
        queries = self._run.ledger.requests if self._step.takes_answers else None
        offers = tuple(queries.offers(recorded.seq)) if queries else ()
        request = request_of(recorded.attempt.url, queries.asked(recorded.seq)) if queries else None
        source = self._sources.get(recorded.source)
        return Job(
            self._step_id, item, place, self._options, head, source, recorded.attempt.started, offers, request=request,
            retakes=self._step.retakes,
        )  # fmt: skip

    def _settle_answered(self) -> None:
        """Have services asked, and take the step again for visits whose answers are there, as long as that helps."""
        store = self._version_store
        if not self._step.takes_answers or not isinstance(store, WaitingStore):
            return
        while not self._run.stopping():
            after, helped = 0, False
            while not self._run.stopping() and (waiting := store.waiting(after)):
                after = max(waiting)
                kept = {seq: self._asking.answers(waits) for seq, waits in waiting.items()}
                ready = {seq: answers for seq, answers in kept.items() if answers is not None}
                if ready:
                    page = list(self._answered(ready))
                    self._answered_for += sum(not _asks(settled.result) for settled in page)
                    self._settle_page(self._take_again(page, self._stored_answers(page)), store.checkpoint())
                    helped = True
            if not after or (not helped and not self._asking.fetch()):
                self._asking.drop_unarchived(self._waiting(store))
                return

    def _waiting(self, store: WaitingStore) -> Iterator[Sequence[PendingAsk]]:
        """Yield what each visit waits for."""
        after = 0
        while waiting := store.waiting(after):
            after = max(waiting)
            yield from waiting.values()

    def _answered(self, ready: Mapping[int, Mapping[str, KeptAnswer]]) -> Iterator[SettledAttempt]:
        """Take the step again for visits, with the answers that each waited for."""
        visits = self._run.ledger.attempts.by_numbers([*ready])
        places = ((recorded, self._wanted(recorded)) for recorded in visits)
        lost = Reading(Reason.NOT_FOUND)
        pairs = (
            (recorded, self._job(recorded, place)._replace(answers=ready[recorded.seq]) if place else lost)
            for recorded, place in places
        )
        for recorded, result in self._run.pool.resolve(pairs, pulse=self._run.tick):
            again = _asks(result)
            if again and all(ask.name in ready[recorded.seq] for ask in again):
                finding = Finding("AskedTwice", f"the step asks again for {again[0].name!r}, which is answered")
                yield SettledAttempt(recorded, Reading(Reason.STEP_FAILED, (finding,)))
            else:
                yield SettledAttempt(recorded, result)

    def _stored_answers(self, page: list[SettledAttempt]) -> StoredAnswers:
        """Return the answers of visits about whose records no service is asked: each says why."""
        unasked = self._run.harvest.unasked
        asking = {settled.recorded.seq: settled.result for settled in page if unasked and _asks(settled.result)}
        keys = {seq: {observation.key for observation in results_of(result) if isinstance(observation, Observation)}
                for seq, result in asking.items()}  # fmt: skip
        reasons = unasked(sorted(set().union(*keys.values()))) if unasked and asking else {}
        no_answer = KeptAnswer(Request(""), "", 0, self._run.clock(), None)
        return {
            seq: {ask.name: no_answer._replace(reason=reasons[min(keys[seq])]) for ask in _asks(result)}
            for seq, result in asking.items() if keys[seq] and keys[seq] <= reasons.keys()
        }  # fmt: skip

    def _take_again(self, page: list[SettledAttempt], answers: StoredAnswers) -> list[SettledAttempt]:
        """Take the step again for visits of a page that have answers; the pool must be free."""
        retaken = {settled.recorded.seq: settled for settled in self._answered(answers)} if answers else {}
        return [retaken.get(settled.recorded.seq, settled) for settled in page]

    def _entries(self, page: list[SettledAttempt]) -> list[Any]:
        """Return what the version store takes; what steps ask of services is put on the ledger first."""
        if not self._step.takes_answers:
            return [self._step.make_entry(settled.recorded, settled.result) for settled in page]
        entries, wanted = [], []
        for number, settled in enumerate(page):
            try:
                asks = [(ask.name, *self._asking.request_for(ask, settled.recorded)) for ask in _asks(settled.result)]
            except WindrowError as error:
                failed = Reading(error.reason or Reason.STEP_FAILED, (Finding("BadRequest", str(error)),))
                page[number] = settled = SettledAttempt(settled.recorded, failed)  # noqa: PLW2901 the fault takes its place
                asks = []
            wanted += [(settled.recorded, source, request) for _, source, request in asks]
            entry = self._step.make_entry(settled.recorded, settled.result)
            if entry is None and isinstance(settled.result, Reading):
                entry = _entry(settled.recorded, _failed(settled.result))
            if not asks and (missing := self._missing(settled.recorded)):
                entry = entry or _entry(settled.recorded)
                entry = entry._replace(results=(*entry.results, *missing))
            if self._taken_down and isinstance(entry, AttemptObservations):
                entry = self._without_taken_down(entry)
            if asks and isinstance(entry, AttemptObservations):
                observations = [result for result in entry.results if isinstance(result, Observation)]
                pending = (PendingAsk(name, request.digest) for name, _, request in asks)
                entry = entry._replace(results=(*observations, *pending))
            entries.append(entry)
        if wanted:
            self._asking.put(wanted)
        return entries

    def _without_taken_down(self, entry: AttemptObservations) -> AttemptObservations:
        """Leave out what an answer says of things whose own addresses were taken down."""
        kept = tuple(
            Skip(Reason.FORGOTTEN, part.key)
            if isinstance(part, Observation) and self._taken_down.hold(part.url)
            else part
            for part in entry.results
        )
        return entry._replace(results=kept)

    def _missing(self, recorded: RecordedAttempt) -> list[Observation | Skip]:
        """Return what the step makes of what is missing from a whole listing that ends with a visit."""
        if self._step.missing is None or (listing := self._run.ledger.requests.whole_listing(recorded.seq)) is None:
            return []
        source = self._sources.get(recorded.source)
        listed = whole_listing(self._run.ledger, listing, source, recorded.attempt.started, self._version_store)
        return [*self._step.missing(listed)] if listed.missing else []

    def _settle(self, page: list[SettledAttempt]) -> None:
        """Write a page of visits in one transaction; one that ends a listing after all before it."""
        start = 0
        for number, settled in enumerate(page if self._step.missing else ()):
            if start < number and self._run.ledger.requests.whole_listing(settled.recorded.seq):
                self._settle_page(page[start:number], page[number - 1].recorded.seq)
                start = number
        self._settle_page(page[start:], page[-1].recorded.seq)

    def _settle_page(self, page: list[SettledAttempt], upto: int) -> None:
        entries = self._entries(page)
        # First what was not read: the store is told that it is settled.
        failed = {settled.recorded.seq: reason for settled in page if (reason := self._own_fault(settled.result))}
        if self._run.harvest.reread:  # the store in use may have read them
            self._run.harvest.unread |= failed
        elif failed:
            with self._run.ledger.writing() as writer:
                self._unread.note(writer, failed)
        self._version_store.settle([entry for entry in entries if entry is not None], upto, self._run.session)
        self._set_due(page)
        self._count(page)

    def _set_due(self, page: list[SettledAttempt]) -> None:
        """Update the due times of these visits' addresses from what is now known of their content.

        They depend on all visits to an address, so that settling a visit twice changes nothing.
        """
        crawl = walked(self._run.collection)
        if crawl is None or crawl.interval is None or self._run.harvest.reread:
            return
        visits = {
            settled.recorded.attempt.url: settled.recorded
            for settled in page
            if settled.recorded.source in self._sources
        }
        changes = {} if self._contents is None else self._contents.changes(visits)
        with self._run.ledger.writing() as writer:
            for url, seen in changes.items():
                writer.addresses.pace(visits[url], crawl.interval(self._sources[visits[url].source], seen))
            for settled in page:
                if settled.recorded.attempt.url in visits and (until := self._expiry(settled)) is not None:
                    writer.addresses.due_by(settled.recorded, until)

    def _expiry(self, settled: SettledAttempt) -> int | None:
        """Return until when the result is valid, or None if it is valid as long as the bytes do not change."""
        if self._step.expires is None or settled.result is None or isinstance(settled.result, Reading):
            return None
        return self._step.expires(settled.result)

    def _count(self, page: list[SettledAttempt]) -> None:
        run, failed = self._run, 0
        with run.ledger.writing() as writer:
            if not run.harvest.reread:  # a replay may be stopped, and what is in place is as it was
                read = [settled for settled in page if self._own_fault(settled.result) is None]
                self._unread.wait(writer, [settled.recorded.seq for settled in read if _asks(settled.result)])
                self._unread.remove(writer, [settled.recorded.seq for settled in read if not _asks(settled.result)])
            for settled in page:
                reason = self._fault(settled.result)
                failed += reason is not None
                self._tasks.count(
                    writer, settled.recorded.source, done=reason is None, broken=reason in OWN_FAULTS,
                    why=first_finding(settled.result),
                )  # fmt: skip
        run.progress.step(len(page), failed)
        run.tick()

    def _fault(self, result: Any) -> Reason | None:
        """Return why a document was not read, or not fully read; None if it was."""
        if isinstance(result, Reading):
            return result.reason
        if not self._step.takes_answers:
            reason = getattr(result, "reason", None)
            return Reason(reason) if reason in OWN_FAULTS else None
        outputs = results_of(result)
        return next(
            (output.reason for output in outputs if isinstance(output, Skip) and output.reason in OWN_FAULTS), None
        )

    def _own_fault(self, result: Any) -> Reason | None:
        reason = self._fault(result)
        return reason if reason in OWN_FAULTS else None

    def _read_again(self) -> None:
        """Read once more what stands for another version than it did, and could not be had then."""
        run, contents = self._run, self._contents
        while contents is not None and not run.stopping() and (to_read := contents.to_read_again(PAGE)):
            visits = run.ledger.attempts.by_numbers(to_read)
            contents.read_again(dict.fromkeys(to_read) | dict(self._readings(visits)))
            run.tick()

    def _readings(self, visits: list[RecordedAttempt]) -> Iterator[tuple[int, Any]]:
        """Yield what visits say by their bytes, or by themselves where these are not wanted."""
        pairs = ((recorded, self._job_again(recorded)) for recorded in visits)
        for recorded, result in self._run.pool.resolve(pairs, pulse=self._run.tick):
            if not isinstance(result, Reading):
                yield recorded.seq, self._step.make_entry(recorded, result)

    def _job_again(self, recorded: RecordedAttempt) -> Job | None:
        kept = recorded.attempt.kept
        if kept is None or not (self._step.needs_body(recorded) or self._wanted(recorded)):
            return None
        return self._job(recorded, self._place(recorded.attempt, kept))


def settle_step(run: HarvestRun, step: Settle) -> None:
    """Take a Settle step for every visit after the version store's checkpoint."""
    if run.harvest.version_store is not None:
        with rare_gc():
            Settling(run, step, run.harvest.version_store).run()


def _asks(result: Any) -> list[Ask]:
    """Return what a step asks of services."""
    return [] if isinstance(result, Reading) else [output for output in results_of(result) if isinstance(output, Ask)]


def _entry(recorded: RecordedAttempt, results: tuple[Skip, ...] = ()) -> AttemptObservations:
    attempt = recorded.attempt
    return AttemptObservations(recorded.seq, attempt.started, attempt.url, recorded.source, results)


def _failed(reading: Reading) -> tuple[Skip, ...]:
    """Return a failed reading as something that is skipped, with its first finding."""
    if reading.reason is None:
        return ()
    message = reading.findings[0].message if reading.findings else ""
    return (Skip(reading.reason, "", message),)


def _until_held(visits: Iterable[RecordedAttempt], held: Sequence[object]) -> Iterator[RecordedAttempt]:
    """Yield visits until something is held."""
    for visit in visits:
        yield visit
        if held:
            return
