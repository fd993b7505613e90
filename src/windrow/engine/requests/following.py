"""Following: turn each stored response into further requests and offers, in one transaction.

How far each source was followed is stored in it too: a killed run continues there.
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
from windrow.engine.steps.unread import FOLLOWING_PHASE, UnreadAttempts
from windrow.ledger import LedgerWriter
from windrow.ledger.rows import Followed
from windrow.ledger.typed.requests import WholeListingRow
from windrow.ledger.typed.unread import UnreadDocument
from windrow.model import Finding, FoundUrl, Reading, RecordedAttempt, Source
from windrow.reasons import OWN_FAULTS, Reason

PAGE = 64
"""Responses of a source that are looked up at a time."""

AddUrls = Callable[[LedgerWriter, Source, int, Sequence[FoundUrl]], None]
"""Stores addresses of a source that were found at an address."""


class FollowOutcome(NamedTuple):
    """The outcome of following one response: the number of requests, why none, and why the discovery ended."""

    source: str
    found: int
    reason: Reason | None
    end: str


class _FollowRun(NamedTuple):
    """A followed response, a failure, or None if there was nothing to follow, and the seconds that it took."""

    followed: FollowedAnswer | Reading | None = None
    seconds: float = 0.0


class AnswerFollower:
    """Follows the responses of some sources, each source's in the order in which they came."""

    def __init__(self, run: HarvestRun, sources: Sequence[Source]) -> None:
        """Continue where each source stopped."""
        self._run = run
        requests, captures = run.collection.requests, run.collection.captures
        self._kinds = [REQUEST] * (requests is not None) + [CAPTURED] * bool(captures and captures.follow)
        self._sources = {source.name: source for source in sources}
        queries = run.ledger.requests
        name = run.collection.name
        self._followed_to = {source: queries.followed_upto(name, source) for source in self._sources}
        self._read = dict(self._followed_to)  # how far responses were looked up
        self._learned = {source: queries.learned(name, source) for source in self._sources}
        self._listings = {source: queries.listing_begun(name, source) for source in self._sources}
        self._waiting: dict[str, deque[RecordedAttempt]] = {source: deque() for source in self._sources}
        self._with_new = set(self._sources)
        steps = [settle.version for settle in run.collection.steps if isinstance(settle, Settle)]
        self._unread = UnreadAttempts(run.ledger, name, FOLLOWING_PHASE, "+".join(steps))
        self._again = set(self._unread.due())
        for recorded in run.ledger.attempts.by_numbers(sorted(self._again)):
            if recorded.source in self._waiting:
                self._waiting[recorded.source].append(recorded)

    def note_answers(self, source: str) -> None:
        """Note that a source may have new responses."""
        if source in self._sources:
            self._with_new.add(source)

    def begin(self, source: Source) -> Sequence[FoundUrl]:
        """Return the first requests of a source."""
        return begin(self._run.collection, source, self._learned[source.name])

    def move(self, writer: LedgerWriter, source: Source, seeds: Sequence[FoundUrl]) -> None:
        """If the address of a source was edited, make its new first requests due, and the old ones not."""
        run, name = self._run, self._run.collection.name
        address = source_address(source)
        old_address = run.ledger.requests.address(name, source.name)
        if old_address == address:
            return
        writer.requests.begin_at(name, source.name, address)
        if old_address is None:
            return
        taken_down = run.ledger.takedowns.addresses()
        seed_digests = [seed.digest for seed in seeds if not taken_down.hold(seed.url)]
        writer.addresses.begin_anew(name, source.name, REQUEST, seed_digests, allowed_origins(run.collection, source))
        writer.addresses.due_at(name, seed_digests, 1)

    def step(self, add_urls: AddUrls) -> list[FollowOutcome]:
        """Follow the next response of every source that has one; return the outcomes."""
        answers = [recorded for name in self._sources if (recorded := self._next_answer(name))]
        if not answers:
            return []
        runs = self._follow_answers(answers)
        with self._run.ledger.writing() as writer:
            return [
                self._write_outcome(writer, add_urls, answer, *follow)
                for answer, follow in zip(answers, runs, strict=True)
            ]

    def _next_answer(self, name: str) -> RecordedAttempt | None:
        waiting = self._waiting[name]
        if not waiting and name in self._with_new:
            queries = self._run.ledger.requests
            waiting += queries.answers(self._run.collection.name, name, self._read[name], self._kinds, PAGE)
            if waiting:
                self._read[name] = waiting[-1].seq
            else:
                self._with_new.discard(name)
        return waiting.popleft() if waiting else None

    def _follow_answers(self, attempts: list[RecordedAttempt]) -> list[_FollowRun]:
        """Run the discovery in the pool on those that have a body."""
        runs = [_FollowRun()] * len(attempts)
        places: list[int] = []
        jobs: list[FollowJob] = []
        for index, recorded in enumerate(attempts):
            source = self._sources[recorded.source]
            if recorded.attempt.kept is None or recorded.attempt.status is None or recorded.attempt.reason is not None:
                continue
            kept = kept_answer(self._run, recorded)
            if 300 <= kept.status < 400 and kept.location and requests_of(self._run.collection, source):
                request = self._run.ledger.requests.asked(recorded.seq)
                runs[index] = _FollowRun(
                    redirect(self._run.collection, source, kept, context_of(request).get("hops", 0))
                )
                continue
            places.append(index)
            jobs.append(FollowJob(source, self._learned[recorded.source], kept, recorded.attempt.kind == CAPTURED))
        outcomes = self._run.pool.run(jobs, batch=1, pulse=self._run.tick)
        for index, (_, done) in zip(places, outcomes, strict=True):
            runs[index] = _FollowRun(done.result, done.seconds)
        return runs

    def _write_outcome(
        self,
        writer: LedgerWriter,
        add_urls: AddUrls,
        recorded: RecordedAttempt,
        followed: FollowedAnswer | Reading | None,
        seconds: float,
    ) -> FollowOutcome:
        run, name, source = self._run, self._run.collection.name, self._sources[recorded.source]
        if not isinstance(followed, FollowedAnswer):
            reason = followed.reason if followed else None
            findings = followed.findings if followed else ()
            row = Followed(recorded.seq, 0, 0, 0, reason, "", _findings_text(findings), seconds)
            writer.requests.record_followed(name, recorded.source, row)
            if reason in OWN_FAULTS:
                self._unread.note(writer, {recorded.seq: reason})
            else:
                self._unread.remove(writer, [recorded.seq])
            if reason is not None or recorded.attempt.reason is not None:
                self._track_listing(writer, recorded, FollowResult(skip=reason or recorded.attempt.reason))
            return FollowOutcome(recorded.source, 0, reason, "")
        result = followed.result
        writer.flush()
        keys = [offer.key for offer in result.offers]
        fresh = set(keys) - run.ledger.requests.known(name, recorded.source, keys)
        urls = (*followed.found, *(followed.if_new if fresh else ()))
        add_urls(writer, source, recorded.attempt.target, urls)
        repeated_urls = (*followed.when_named, *(followed.if_new if fresh else ()))
        if repeated_urls:
            writer.flush()
        for url in repeated_urls:
            host = run.ledger.addresses.host(url.origin, name, recorded.source)
            if host is not None and url.digest != recorded.attempt.target:
                if url in followed.when_named:
                    writer.requests.ask_when_named(host, url.digest, run.session)
                else:
                    writer.requests.ask_again(host, [url.digest])
        writer.requests.offer(name, recorded.source, recorded.seq, result.offers)
        writer.requests.learn(name, recorded.source, result.learned, recorded.seq)
        self._learned[recorded.source] |= result.learned
        self._track_listing(writer, recorded, result)
        row = Followed(
            recorded.seq, len(urls), len(result.offers), len(fresh), result.skip, result.end[:2000],
            _findings_text(result.findings), seconds,
        )  # fmt: skip
        writer.requests.record_followed(name, recorded.source, row)
        if recorded.seq in self._again:
            self._take_steps_again(writer, recorded.seq)
        return FollowOutcome(recorded.source, len(urls), result.skip, result.end)

    def _take_steps_again(self, writer: LedgerWriter, attempt: int) -> None:
        """Repeat the steps of an attempt that an earlier run could not follow: they ran without its offers."""
        reason = self._unread.reason(attempt)
        self._unread.remove(writer, [attempt])
        for step in self._run.collection.steps:
            if isinstance(step, Settle):
                unread = UnreadDocument(attempt, "", reason, 0, writer.at)
                writer.unread.put(self._run.collection.name, self._run.collection.phase(step.phase), [unread])

    def _track_listing(self, writer: LedgerWriter, recorded: RecordedAttempt, followed: FollowResult) -> None:
        """Store where a complete listing of a source begins and ends; a failed response breaks it off.

        A response that an earlier run could not follow is not part of the current listing.
        """
        if recorded.seq in self._again:
            return
        name, listing_before = self._run.collection.name, self._listings[recorded.source]
        began = recorded.seq if followed.begins_listing else listing_before
        if followed.skip is None and followed.ends_listing and began:
            writer.requests.end_listing(WholeListingRow(name, recorded.source, began, recorded.seq))
        listing_now = 0 if followed.skip is not None or followed.ends_listing else began
        if listing_now != listing_before:
            writer.requests.begin_listing(name, recorded.source, listing_now)
            self._listings[recorded.source] = listing_now


def kept_answer(run: HarvestRun, recorded: RecordedAttempt) -> KeptAnswer:
    """Return a stored response with the place of its bytes, which for a repeat is that of the original."""
    attempt, kept, place = recorded.attempt, recorded.attempt.kept, run.place_of(recorded.attempt)
    assert kept is not None
    assert place is not None
    head = kept.place if kept.revisit else None
    status = OK if attempt.status == NOT_MODIFIED else attempt.status or 0
    request = request_of(attempt.url, run.ledger.requests.asked(recorded.seq))
    return KeptAnswer(request, attempt.url, status, attempt.started, place, head, attempt.location)


def _findings_text(findings: Sequence[Finding]) -> str:
    return json.dumps([(finding.kind, finding.message[:2000], str(finding.level)) for finding in findings][:100])
