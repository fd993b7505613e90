"""Following: let the discovery turn each stored response into further requests and offers of documents.

The requests and offers are stored in one transaction with the fact that the response was followed. So the run after a
killed one continues with the next response.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from windrow.caps import ANSWER_FINDINGS
from windrow.contract import (
    CAPTURED,
    DRIFT,
    KEYS_CHANGED,
    NOT_MODIFIED,
    OK,
    REPLACED_RULE,
    REQUEST,
    FollowResult,
    LeftOutCount,
    Settle,
)
from windrow.engine.requests.answers import (
    FollowedAnswer,
    FollowJob,
    KeptAnswer,
    allowed_origins,
    context_of,
    find_forged_request,
    first_requests,
    request_of,
    requests_of,
    source_address,
)
from windrow.engine.requests.list_yield import compared_since, describe_fall
from windrow.engine.requests.redirects import Redirects
from windrow.engine.run import HarvestRun
from windrow.engine.source_counts import UNUSED_RULE
from windrow.engine.steps.unread import FOLLOWING_PHASE, UnreadAttempts, pause_after_unused
from windrow.formats.text import counted
from windrow.ledger import LedgerWriter
from windrow.ledger.rows import Followed
from windrow.ledger.typed.requests import WholeListingRow
from windrow.ledger.typed.unread import UnreadDocument
from windrow.model import Finding, FoundUrl, Level, Reading, RecordedAttempt, Source
from windrow.reasons import OWN_FAULTS, Reason

MAX_FINDINGS = ANSWER_FINDINGS.number
"""The maximum number of findings about a response that are stored one by one."""

MAX_FRUITLESS = 50
"""The maximum length of a chain of answers that offer nothing new, each found through the one before it."""

MAX_OFFERS_REMEMBERED = 1_000_000
"""The number of a source's offers that a run remembers. All later offers count as new."""

FIRST_ERROR_STATUS = 400

PAGE_SIZE = 64
"""The maximum number of responses of a source that are read from the ledger at a time."""

AddUrls = Callable[[LedgerWriter, Source, int, Sequence[FoundUrl]], None]
"""A function that stores addresses of a source. Its third argument is the digest of the address that led to them."""


class FollowOutcome(NamedTuple):
    """The result of following the response that `source` received from `url`.

    `found` is the number of requests that it led to. `is_usable` is true if the discovery used the response. Otherwise
    `reason` and `message` may say why not; a redirect that is followed, and a failed attempt, have no reason.
    `left_out` counts the addresses of the response that are left out. `drift` is the message of the finding of the
    class Drift, or empty.
    """

    source: str
    url: str
    found: int = 0
    reason: Reason | None = None
    message: str = ""
    end: str = ""  # the message of the discovery (`FollowResult.end`)
    is_usable: bool = False
    left_out: tuple[LeftOutCount, ...] = ()
    drift: str = ""


class _Follow(NamedTuple):
    """A response, and the result of following it.

    `followed` is a failed reading if the discovery failed, and None if the attempt failed or kept no response.
    """

    recorded: RecordedAttempt
    followed: FollowedAnswer | Reading | None = None
    seconds: float = 0.0  # the time that the discovery took


class AnswerFollower:
    """Follows the responses of some sources, in the order in which the responses of each source arrived.

    At most one response of each source is in the pool, so a response that takes a long time does not keep other
    sources waiting.
    """

    def __init__(self, run: HarvestRun, sources: Sequence[Source]) -> None:
        """Read from the ledger where earlier runs stopped, and which responses that they could not follow are due."""
        self._run = run
        requests, captures = run.collection.requests, run.collection.captures
        self._kinds = [REQUEST] * (requests is not None) + [CAPTURED] * bool(captures and captures.follow)
        self._sources = {source.name: source for source in sources}
        queries = run.ledger.requests
        name = run.collection.name
        self._followed_to = {source: queries.followed_upto(name, source) for source in self._sources}
        self._read_to = dict(self._followed_to)  # number of the last response read from the ledger, by source
        self._learned = {source: queries.learned(name, source) for source in self._sources}
        self._listing_starts = {source: queries.listing_begun(name, source) for source in self._sources}
        # the hashes of the keys that the answers of the listing under way offered, and the addresses of these answers
        self._listed_keys: dict[str, set[int]] = {source: set() for source in self._sources}
        self._listed_addresses: dict[str, set[int]] = {source: set() for source in self._sources}
        for source, began in self._listing_starts.items():
            if began:
                self._listed_keys[source].update(map(hash, queries.listed_keys(name, source, began)))
                self._listed_addresses[source].update(queries.listed_addresses(name, source, began))
        self._waiting: dict[str, deque[RecordedAttempt]] = {source: deque() for source in self._sources}
        self._may_have_new = set(self._sources)  # names of sources that may have new responses
        self._lists: set[int] = set()  # responses to repeated requests that are being followed
        self._redirects = Redirects(run.ledger, run.collection)
        self._former_targets: dict[int, list[FoundUrl]] = {}  # of repeated requests, by the response being followed
        self._in_pool: dict[int, RecordedAttempt] = {}  # by the number of the pool's job
        self._busy_sources: set[str] = set()  # names of sources with a response that is being followed
        self._complete: list[_Follow] = []  # to be written
        self._offered: dict[str, set[int]] = {
            source: set() for source in self._sources
        }  # hashes of the keys offered in this run
        # the number of answers in a row that led to an address and offered nothing new, by source and address
        self._fruitless: dict[tuple[str, int], int] = {}
        steps = [settle.version for settle in run.collection.steps if isinstance(settle, Settle)]
        self._unread = UnreadAttempts(run.ledger, name, FOLLOWING_PHASE, "+".join(steps))
        self._retried = set(self._unread.due())  # responses that an earlier run could not follow
        for recorded in run.ledger.attempts.by_numbers(sorted(self._retried)):
            if recorded.source in self._waiting:
                self._waiting[recorded.source].append(recorded)

    def note_answers(self, source: str) -> None:
        """Note that the source with this name may have new responses on the ledger."""
        if source in self._sources:
            self._may_have_new.add(source)

    def first_requests(self, source: Source) -> Sequence[FoundUrl]:
        """Return the first requests of a source."""
        return first_requests(self._run.collection, source, self._learned[source.name])

    def update_source_address(self, writer: LedgerWriter, source: Source, seeds: Sequence[FoundUrl]) -> None:
        """Store a source's address. If it was edited, make its `seeds` due instead of the former first requests."""
        run, name = self._run, self._run.collection.name
        self._apply_every(writer, source.name, seeds)
        address = source_address(source)
        old_address = run.ledger.requests.address(name, source.name)
        if old_address == address:
            return
        writer.requests.begin_at(name, source.name, address)
        if old_address is None:
            return
        taken_down = run.ledger.takedowns.addresses()
        seed_digests = [seed.digest for seed in seeds if not taken_down.contains(seed.url)]
        writer.addresses.begin_anew(name, source.name, REQUEST, seed_digests, allowed_origins(run.collection, source))
        writer.addresses.set_due(name, seed_digests, 1, source.name)

    def _apply_every(self, writer: LedgerWriter, source: str, urls: Sequence[FoundUrl]) -> None:
        """Store the time between two requests of each repeated request in `urls`, in place of an earlier one."""
        for url in urls:
            # Few requests are repeated, and the others need not be parsed.
            if url.request and '"every"' in url.request.context:
                context = context_of(url.request)
                set_every = writer.addresses.set_redirected_every if context.get("hops") else writer.addresses.set_every
                set_every(self._run.collection.name, source, url.digest, context["every"])

    def submit_next(self) -> None:
        """Begin to follow the next response of each source that has no response in progress."""
        for name in self._sources:
            if name not in self._busy_sources and (recorded := self._next_answer(name)) is not None:
                self._busy_sources.add(name)
                self._begin_follow(recorded)

    @property
    def in_progress(self) -> int:
        """The number of responses that are being followed, or whose results have not been written."""
        return len(self._busy_sources)

    @property
    def has_results(self) -> bool:
        """Whether there are results to write."""
        return bool(self._complete)

    def collect(self, timeout: float = 0.0) -> None:
        """Take the complete results from the pool. Wait for a result for up to `timeout` seconds."""
        if self._in_pool:
            for number, (result, seconds) in self._run.pool.collect(timeout):
                recorded = self._in_pool.pop(number)
                self._complete.append(_Follow(recorded, self._refuse_forged(recorded.source, result), seconds))

    def _refuse_forged(self, source: str, result: FollowedAnswer | Reading) -> FollowedAnswer | Reading:
        if isinstance(result, Reading):
            return result
        forged = find_forged_request(self._run.collection, self._sources[source], result)
        return Reading(Reason.STEP_FAILED, (Finding("ForgedRequest", forged),)) if forged else result

    def write_results(self, writer: LedgerWriter, add_urls: AddUrls) -> list[FollowOutcome]:
        """Store the complete results, and return their outcomes. `add_urls` stores the further requests."""
        outcomes = [self._write_outcome(writer, add_urls, *follow) for follow in self._complete]
        self._busy_sources -= {follow.recorded.source for follow in self._complete}
        self._complete = []
        return outcomes

    def _next_answer(self, name: str) -> RecordedAttempt | None:
        waiting = self._waiting[name]
        if not waiting and name in self._may_have_new:
            queries = self._run.ledger.requests
            waiting += queries.answers(self._run.collection.name, name, self._read_to[name], self._kinds, PAGE_SIZE)
            if waiting:
                self._read_to[name] = waiting[-1].seq
            else:
                self._may_have_new.discard(name)
        return waiting.popleft() if waiting else None

    def _begin_follow(self, recorded: RecordedAttempt) -> None:
        """Run the discovery in the pool on a response. A failed attempt or a redirect to follow is complete at once."""
        attempt, source = recorded.attempt, self._sources[recorded.source]
        if attempt.kept is None or attempt.status is None or attempt.reason is not None:
            self._complete.append(_Follow(recorded))
            return
        answer = kept_answer(self._run, recorded)
        is_list = answer.request.every is not None and attempt.kind == REQUEST
        if is_list:
            self._former_targets[recorded.seq] = self._redirects.former_targets(source, recorded, answer)
        if 300 <= answer.status < 400 and answer.location and requests_of(self._run.collection, source):
            hops = context_of(self._run.ledger.requests.of_attempt(recorded.seq)).get("hops", 0)
            self._complete.append(_Follow(recorded, self._redirects.follow(source, recorded, answer, hops)))
            return
        if is_list:
            self._lists.add(recorded.seq)
        job = FollowJob(source, self._learned[recorded.source], answer, attempt.kind == CAPTURED)
        self._in_pool[self._run.pool.submit(job)] = recorded

    def _write_outcome(
        self, writer: LedgerWriter, add_urls: AddUrls, recorded: RecordedAttempt,
        followed: FollowedAnswer | Reading | None, seconds: float,
    ) -> FollowOutcome:  # fmt: skip
        """Store what a response led to, that it was followed, and whether later runs must follow it again."""
        run, name, source = self._run, self._run.collection.name, self._sources[recorded.source]
        if not isinstance(followed, FollowedAnswer):
            reason = followed.reason if followed else None
            findings = followed.findings if followed else ()
            unused = self._count_unused(writer, recorded, FollowResult(skip=reason)) if reason else ()
            followed_row = Followed(recorded.seq, 0, 0, 0, reason, "", _findings_text(findings), seconds)
            writer.requests.record_followed(name, recorded.source, followed_row)
            if reason in OWN_FAULTS:
                self._unread.record_unread(writer, {recorded.seq: reason})
            else:
                self._unread.record_read(writer, [recorded.seq])
            if reason is not None or recorded.attempt.reason is not None:
                self._track_listing(writer, recorded, FollowResult(skip=reason or recorded.attempt.reason))
            message = _first_message(findings)
            return FollowOutcome(recorded.source, recorded.attempt.url, 0, reason, message, left_out=unused)
        followed = self._note_fall(recorded, self._stop_endless(recorded, followed))
        offers = len(followed.result.offers)
        followed = self._compare_with_listing(recorded, followed)
        result = followed.result
        writer.flush()
        unused = self._count_unused(writer, recorded, result) if result.skip and not followed.found else ()
        keys = [offer.key for offer in result.offers]
        new_keys = set(keys) - run.ledger.requests.known(name, recorded.source, keys)
        urls = (*followed.found, *(followed.if_new if new_keys else ()))
        add_urls(writer, source, recorded.attempt.target, urls)
        self._update_requests(writer, recorded, followed, followed.if_new if new_keys else ())
        writer.requests.offer(name, recorded.source, recorded.seq, result.offers)
        changed_keys = {KEYS_CHANGED: recorded.seq} if KEYS_CHANGED in result.learned else {}
        learned = {**result.learned, **changed_keys}
        writer.requests.learn(name, recorded.source, learned, recorded.seq)
        self._learned[recorded.source] |= learned
        self._track_listing(writer, recorded, result)
        followed_row = Followed(
            recorded.seq, len(urls), offers, len(new_keys), result.skip, result.end[:2000],
            _findings_text(result.findings), seconds,
        )  # fmt: skip
        writer.requests.record_followed(name, recorded.source, followed_row)
        if recorded.seq in self._retried:
            self._take_steps_again(writer, recorded.seq)
        if any(count.reason is Reason.CAPPED for count in result.left_out):
            self._unread.record_unread(writer, {recorded.seq: Reason.CAPPED})
        is_usable = result.skip is None and not followed.is_redirect
        message = _first_message(result.findings) if result.skip else ""
        drift = next((finding.message for finding in result.findings if finding.kind == DRIFT), "")
        return FollowOutcome(
            recorded.source, recorded.attempt.url, len(urls), result.skip, message, result.end, is_usable,
            (*result.left_out, *unused), drift,
        )  # fmt: skip

    def _update_requests(
        self, writer: LedgerWriter, recorded: RecordedAttempt, followed: FollowedAnswer, if_new: Sequence[FoundUrl]
    ) -> None:
        """Update when the addresses are due to which a response led, also if they were known before."""
        run, name = self._run, self._run.collection.name
        self._apply_every(writer, recorded.source, followed.found)
        former_targets = self._former_targets.pop(recorded.seq, ())
        if followed.result.skip is None:
            self._redirects.abandon(writer, recorded.source, former_targets, followed.found)
        repeated_urls = (*followed.when_named, *if_new)
        if repeated_urls:
            writer.flush()
        for url in repeated_urls:
            host = run.ledger.addresses.host(url.origin, name, recorded.source)
            if host is not None and url.digest != recorded.attempt.target:
                if url in followed.when_named:
                    writer.requests.ask_when_named(host, url.digest, run.session)
                else:
                    writer.requests.ask_again(host, [url.digest])

    def _count_unused(
        self, writer: LedgerWriter, recorded: RecordedAttempt, result: FollowResult
    ) -> tuple[LeftOutCount, ...]:
        """Count a response that is not used. Unless the discovery learned from it, it is requested again after a pause.

        A status from 400 is not counted, since the attempt has failed. Neither is a response that is unread, and will
        be followed again, nor one that ends an endless list, since its source has failed.
        """
        attempt, reason = recorded.attempt, result.skip
        if reason is None or reason in OWN_FAULTS or reason is Reason.CRAWLER_TRAP:
            return ()
        if (attempt.status or 0) >= FIRST_ERROR_STATUS or attempt.reason is not None:
            return ()
        if context_of(self._run.ledger.requests.of_attempt(recorded.seq)).get("is_guess"):
            return ()
        # A discovery that learned from the response makes another request in its place.
        if result.learned or attempt.kind == CAPTURED:
            return (LeftOutCount(reason, REPLACED_RULE, 1, attempt.url),)
        failures = self._run.ledger.requests.count_unused_before(recorded.seq) + 1
        due_at = attempt.started + pause_after_unused(failures)
        writer.addresses.mark_unused(recorded, failures, int(due_at.timestamp()))
        return (LeftOutCount(reason, UNUSED_RULE, 1, attempt.url),)

    def _stop_endless(self, recorded: RecordedAttempt, followed: FollowedAnswer) -> FollowedAnswer:
        """Return `followed`; if MAX_FRUITLESS answers in a row offered nothing new, skip it, without its requests."""
        source, result, offered_keys = recorded.source, followed.result, self._offered[recorded.source]
        fruitless = self._fruitless.pop((source, recorded.attempt.target), 0)
        if not followed.found or followed.is_redirect:
            self._fruitless |= {(source, url.digest): fruitless for url in followed.found if fruitless}
            return followed
        keys = {hash(offer.key) for offer in result.offers}
        if not keys <= offered_keys or len(offered_keys) > MAX_OFFERS_REMEMBERED:
            if len(offered_keys) <= MAX_OFFERS_REMEMBERED:
                offered_keys |= keys
            return followed
        if fruitless < MAX_FRUITLESS:
            self._fruitless |= {(source, url.digest): fruitless + 1 for url in followed.found}
            return followed
        message = f"{MAX_FRUITLESS} answers in a row, each found through the one before it, offered nothing new"
        finding = Finding("CrawlerTrap", f"{message}: the addresses in the last one are not requested")
        result = replace(result, skip=Reason.CRAWLER_TRAP, findings=(finding, *result.findings))
        return FollowedAnswer(result)

    def _compare_with_listing(self, recorded: RecordedAttempt, followed: FollowedAnswer) -> FollowedAnswer:
        """Return `followed` without the offers that an earlier answer of the same complete listing has.

        If this answer names the address of an earlier one as the next, the result is a skip without that request.
        """
        source, result, attempt = recorded.source, followed.result, recorded.attempt
        if result.begins_listing:
            self._listed_keys[source], self._listed_addresses[source] = set(), set()
        elif not self._listing_starts[source]:
            return followed
        if followed.is_redirect or attempt.kind == CAPTURED or recorded.seq in self._retried:
            return followed
        listed_keys, listed_addresses = self._listed_keys[source], self._listed_addresses[source]
        offers = tuple(offer for offer in result.offers if hash(offer.key) not in listed_keys)
        listed_addresses.add(attempt.target)
        if len(listed_keys) <= MAX_OFFERS_REMEMBERED:
            listed_keys |= {hash(offer.key) for offer in offers}
        result = replace(result, offers=offers)
        earlier = [url for url in followed.when_named if url.digest in listed_addresses]
        if not earlier:
            return followed._replace(result=result)
        message = f"the page names an earlier page of its list, {earlier[0].url[:200]}, as the next page"
        findings = (Finding(Reason.CRAWLER_TRAP.class_name, message), *result.findings)
        found, when_named = (
            tuple(url for url in urls if url not in earlier) for urls in (followed.found, followed.when_named)
        )
        result = replace(result, skip=Reason.CRAWLER_TRAP, findings=findings)
        return followed._replace(result=result, found=found, when_named=when_named)

    def _note_fall(self, recorded: RecordedAttempt, followed: FollowedAnswer) -> FollowedAnswer:
        """Return `followed`, with a finding if the response is a list with far fewer offers than usual."""
        result, attempt = followed.result, recorded.attempt
        is_list = recorded.seq in self._lists
        self._lists.discard(recorded.seq)
        has_placeholder = any(finding.kind == Reason.PLACEHOLDER.class_name for finding in result.findings)
        if not is_list or result.skip is not None or followed.is_redirect or has_placeholder:
            return followed
        since = compared_since(self._sources[recorded.source], attempt.started)
        earlier = self._run.ledger.requests.daily_yields(
            self._run.collection.name, recorded.source, attempt.target, recorded.seq, since
        )
        if not (fall := describe_fall(len(result.offers), attempt.started.date(), earlier)):
            return followed
        finding = Finding(DRIFT, fall, Level.WARN)
        return followed._replace(result=replace(result, findings=(finding, *result.findings)))

    def _take_steps_again(self, writer: LedgerWriter, attempt: int) -> None:
        """Let the Settle steps read an attempt again. Earlier runs could not follow it, so it had no offers."""
        reason = self._unread.reason(attempt)
        self._unread.record_read(writer, [attempt])
        for step in self._run.collection.steps:
            if isinstance(step, Settle):
                unread = UnreadDocument(attempt, "", reason, 0, writer.at)
                writer.unread.put(self._run.collection.name, self._run.collection.phase(step.phase), [unread])

    def _track_listing(self, writer: LedgerWriter, recorded: RecordedAttempt, followed: FollowResult) -> None:
        """Store where a complete listing begins and ends.

        A skipped response, and a part of one, end it as incomplete. A response that earlier runs could not follow
        changes nothing.
        """
        if recorded.seq in self._retried:
            return
        name, old_start = self._run.collection.name, self._listing_starts[recorded.source]
        first_answer = recorded.seq if followed.begins_listing else old_start
        is_complete = followed.skip is None and not recorded.attempt.is_partial
        if is_complete and followed.ends_listing and first_answer:
            writer.requests.end_listing(WholeListingRow(name, recorded.source, first_answer, recorded.seq))
        new_start = first_answer if is_complete and not followed.ends_listing else 0
        if new_start != old_start:
            writer.requests.begin_listing(name, recorded.source, new_start)
            self._listing_starts[recorded.source] = new_start


def kept_answer(run: HarvestRun, recorded: RecordedAttempt) -> KeptAnswer:
    """Return the stored response of an attempt, which must have kept one. Status 304 becomes the page's status, 200."""
    attempt, response, place = recorded.attempt, recorded.attempt.kept, run.place_of(recorded.attempt)
    assert response is not None
    assert place is not None
    head = response.place if response.revisit else None
    status = OK if attempt.status == NOT_MODIFIED else attempt.status or 0
    request = request_of(attempt.url, run.ledger.requests.of_attempt(recorded.seq))
    return KeptAnswer(request, attempt.url, status, attempt.started, place, head, attempt.location)


def _first_message(findings: Sequence[Finding]) -> str:
    return findings[0].message if findings else ""


def _findings_text(findings: Sequence[Finding]) -> str:
    rows = [(finding.kind, finding.message[:2000], str(finding.level)) for finding in findings[:MAX_FINDINGS]]
    if len(findings) > MAX_FINDINGS:
        rows.append(("MoreFindings", f"and {counted(len(findings) - MAX_FINDINGS, 'more finding')}", str(Level.NOTE)))
    return json.dumps(rows)
