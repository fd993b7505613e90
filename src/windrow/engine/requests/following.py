"""Following: each answer to a request, once it is on the ledger, makes further requests and offers, in one transaction.

How far each source got is on the ledger with what came of it: a run that is killed anywhere goes on from there.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from windrow.contract import CAPTURED, NOT_MODIFIED, OK, REQUEST, FollowResult, Settle
from windrow.engine.requests.answers import (
    FollowedAnswer,
    FollowJob,
    KeptAnswer,
    allowed_origins,
    begin,
    context_of,
    redirect,
    request_of,
    requests_of,
    source_address,
)
from windrow.engine.run import HarvestRun
from windrow.engine.steps.unread import FOLLOWING_PHASE, UnreadVisits
from windrow.ledger import LedgerWriter
from windrow.ledger.rows import Followed
from windrow.ledger.typed.requests import WholeListingRow
from windrow.ledger.typed.unread import UnreadDocument
from windrow.model import ArchivePlace, Attempt, Finding, FoundUrl, Reading, RecordedAttempt, Source
from windrow.reasons import OWN_FAULTS, Reason

PAGE = 64
"""Answers of a source that are looked up at a time."""

Put = Callable[[LedgerWriter, Source, int, Sequence[FoundUrl]], None]
"""Puts addresses of a source on record, found at an address."""


class FollowOutcome(NamedTuple):
    """What following one answer gave: how many requests, why none, and what its discovery says of the end."""

    source: str
    found: int
    reason: Reason | None
    end: str


class _Lead(NamedTuple):
    """What following made of an answer, None where there was nothing to follow, and how long that took."""

    made: FollowedAnswer | Reading | None = None
    seconds: float = 0.0


class AnswerFollower:
    """Follows the answers of some sources, each source's in the order in which they came."""

    def __init__(self, run: HarvestRun, sources: Sequence[Source]) -> None:
        """Take up where each source got to."""
        self._run = run
        asked, captures = run.collection.requests, run.collection.captures
        self._kinds = [REQUEST] * (asked is not None) + [CAPTURED] * bool(captures and captures.follow)
        self._sources = {source.name: source for source in sources}
        queries = run.ledger.requests
        name = run.collection.name
        self._upto = {source: queries.followed_upto(name, source) for source in self._sources}
        self._read = dict(self._upto)  # how far answers were looked up
        self._learned = {source: queries.learned(name, source) for source in self._sources}
        self._listings = {source: queries.listing_begun(name, source) for source in self._sources}
        self._waiting: dict[str, deque[RecordedAttempt]] = {source: deque() for source in self._sources}
        self._with_answers = set(self._sources)
        steps = [one.version for one in run.collection.steps if isinstance(one, Settle)]
        self._unread = UnreadVisits(run.ledger, name, FOLLOWING_PHASE, "+".join(steps))
        self._again = set(self._unread.due())
        for one in run.ledger.attempts.visits_named(sorted(self._again)):
            if one.source in self._waiting:
                self._waiting[one.source].append(one)

    def note_answers(self, source: str) -> None:
        """Note that there may be new answers of a source."""
        if source in self._sources:
            self._with_answers.add(source)

    def begin(self, source: Source) -> Sequence[FoundUrl]:
        """Return what a source begins with."""
        return begin(self._run.collection, source, self._learned[source.name])

    def move(self, writer: LedgerWriter, source: Source, seeds: Sequence[FoundUrl]) -> None:
        """Where the address of a source was edited, ask what it begins with now, and its former beginnings no more."""
        run, name = self._run, self._run.collection.name
        address = source_address(source)
        before = run.ledger.requests.address(name, source.name)
        if before == address:
            return
        writer.requests.begin_at(name, source.name, address)
        if before is None:
            return
        taken_down = run.ledger.takedowns.addresses()
        kept = [seed.digest for seed in seeds if not taken_down.hold(seed.url)]
        writer.addresses.begin_anew(name, source.name, REQUEST, kept, allowed_origins(run.collection, source))
        writer.addresses.due_at(name, kept, 1)

    def step(self, put: Put) -> list[FollowOutcome]:
        """Follow the next answer of every source that has one; nothing where none has."""
        visits = [one for name in self._sources if (one := self._next(name))]
        if not visits:
            return []
        leads = self._leads(visits)
        with self._run.ledger.writing() as writer:
            return [self._write(writer, put, one, *lead) for one, lead in zip(visits, leads, strict=True)]

    def _next(self, name: str) -> RecordedAttempt | None:
        waiting = self._waiting[name]
        if not waiting and name in self._with_answers:
            queries = self._run.ledger.requests
            waiting += queries.visits(self._run.collection.name, name, self._read[name], self._kinds, PAGE)
            if waiting:
                self._read[name] = waiting[-1].seq
            else:
                self._with_answers.discard(name)
        return waiting.popleft() if waiting else None

    def _leads(self, visits: list[RecordedAttempt]) -> list[_Lead]:
        """Run the discovery in the pool on those that have a body to be read."""
        leads = [_Lead()] * len(visits)
        places: list[int] = []
        jobs: list[FollowJob] = []
        for place, one in enumerate(visits):
            source = self._sources[one.source]
            if one.attempt.kept is None or one.attempt.status is None or one.attempt.reason is not None:
                continue
            kept = kept_answer(self._run, one)
            if 300 <= kept.status < 400 and kept.location and requests_of(self._run.collection, source):
                asked = self._run.ledger.requests.asked(one.seq)
                leads[place] = _Lead(redirect(self._run.collection, source, kept, context_of(asked).get("hops", 0)))
                continue
            places.append(place)
            jobs.append(FollowJob(source, self._learned[one.source], kept, one.attempt.kind == CAPTURED))
        results = self._run.pool.run(jobs, batch=1, pulse=self._run.tick)
        for place, (_, done) in zip(places, results, strict=True):
            leads[place] = _Lead(done.result, done.seconds)
        return leads

    def _write(
        self,
        writer: LedgerWriter,
        put: Put,
        one: RecordedAttempt,
        lead: FollowedAnswer | Reading | None,
        seconds: float,
    ) -> FollowOutcome:
        """Put on record what an answer led to."""
        run, name, source = self._run, self._run.collection.name, self._sources[one.source]
        if not isinstance(lead, FollowedAnswer):
            reason = lead.reason if lead else None
            findings = lead.findings if lead else ()
            told = Followed(one.seq, 0, 0, 0, reason, "", _spelled(findings), seconds)
            writer.requests.follow(name, one.source, told)
            if reason in OWN_FAULTS:
                self._unread.note(writer, {one.seq: reason})
            else:
                self._unread.remove(writer, [one.seq])
            if reason is not None or one.attempt.reason is not None:
                self._list(writer, one, FollowResult(skip=reason or one.attempt.reason))
            return FollowOutcome(one.source, 0, reason, "")
        result = lead.result
        writer.flush()
        keys = [offer.key for offer in result.offers]
        fresh = set(keys) - run.ledger.requests.known(name, one.source, keys)
        found = (*lead.found, *(lead.if_new if fresh else ()))
        put(writer, source, one.attempt.target, found)
        named = (*lead.when_named, *(lead.if_new if fresh else ()))
        if named:
            writer.flush()
        for again in named:
            host = run.ledger.addresses.host(again.origin, name, one.source)
            if host is not None and again.digest != one.attempt.target:
                if again in lead.when_named:
                    writer.requests.ask_when_named(host, again.digest, run.session)
                else:
                    writer.requests.ask_again(host, [again.digest])
        writer.requests.offer(name, one.source, one.seq, result.offers)
        writer.requests.learn(name, one.source, result.learned, one.seq)
        self._learned[one.source] |= result.learned
        self._list(writer, one, result)
        told = Followed(
            one.seq, len(found), len(result.offers), len(fresh), result.skip, result.end[:2000],
            _spelled(result.findings), seconds,
        )  # fmt: skip
        writer.requests.follow(name, one.source, told)
        if one.seq in self._again:
            self._take_steps_again(writer, one.seq)
        return FollowOutcome(one.source, len(found), result.skip, result.end)

    def _take_steps_again(self, writer: LedgerWriter, visit: int) -> None:
        """Have the steps taken for a visit that an earlier run did not follow: they did not know what it offers."""
        reason = self._unread.reason(visit)
        self._unread.remove(writer, [visit])
        for step in self._run.collection.steps:
            if isinstance(step, Settle):
                asked = UnreadDocument(visit, "", reason, 0, writer.at)
                writer.unread.put(self._run.collection.name, self._run.collection.phase(step.phase), [asked])

    def _list(self, writer: LedgerWriter, one: RecordedAttempt, result: FollowResult) -> None:
        """Note where a listing of all that a source has begins and ends; one with an answer of no use is not whole.

        An answer that an earlier run did not follow belongs to no listing that is under way.
        """
        if one.seq in self._again:
            return
        name, before = self._run.collection.name, self._listings[one.source]
        began = one.seq if result.begins_listing else before
        if result.skip is None and result.ends_listing and began:
            writer.requests.end_listing(WholeListingRow(name, one.source, began, one.seq))
        under_way = 0 if result.skip is not None or result.ends_listing else began
        if under_way != before:
            writer.requests.begin_listing(name, one.source, under_way)
            self._listings[one.source] = under_way


def place_of(run: HarvestRun, attempt: Attempt) -> ArchivePlace | None:
    """Return where the bytes lie that a visit brought, first or again; None where none are kept."""
    kept = attempt.kept
    if kept is None or not kept.revisit:
        return kept.place if kept else None
    captures = run.ledger.captures
    return captures.original(attempt.target, kept.digest) or captures.payload(kept.digest) or kept.place


def kept_answer(run: HarvestRun, one: RecordedAttempt) -> KeptAnswer:
    """Return an answer with the place of its bytes: those of an earlier one, where it brought these again."""
    attempt, kept, place = one.attempt, one.attempt.kept, place_of(run, one.attempt)
    assert kept is not None
    assert place is not None
    head = kept.place if kept.revisit else None
    status = OK if attempt.status == NOT_MODIFIED else attempt.status or 0
    request = request_of(attempt.url, run.ledger.requests.asked(one.seq))
    return KeptAnswer(request, attempt.url, status, attempt.started, place, head, attempt.location)


def _spelled(findings: Sequence[Finding]) -> str:
    return json.dumps([(finding.kind, finding.message[:2000], str(finding.level)) for finding in findings][:100])
