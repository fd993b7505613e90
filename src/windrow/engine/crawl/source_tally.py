"""Count the attempts of each source in a crawl, decide whether the source failed, and close its task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from windrow.clock import now
from windrow.contract import NOT_MODIFIED, OK, Crawl
from windrow.digest import digest as hash_bytes
from windrow.engine.crawl.archiving_client import CIRCLE, ENDLESS_REDIRECTS
from windrow.engine.crawl.left_out import LeftOutCounter
from windrow.engine.fetchers.message import AttemptEnded
from windrow.engine.requests.following import FollowOutcome
from windrow.engine.requests.list_yield import MAX_SHARE_OF_USUAL, PAGES, compared_since, describe_drift, describe_fall
from windrow.engine.run import HarvestRun
from windrow.engine.source_counts import MIN_UNUSABLE
from windrow.formats.text import join_counts
from windrow.model import ArchivePlace, Attempt, KeptResponse, Source
from windrow.reasons import Reason, reason_of_status

MAX_FAULTS_NAMED = 5
"""The maximum number of failed requests and unusable responses that the comment of a source's task names."""

ENDLESS_RULE = "{}, whose new pages only repeat earlier texts"
"""The name of the rule under which addresses of an endless origin are counted as left out; `{}` becomes the origin."""

FIRST_REDIRECT_STATUS = 300

ACCEPTED = 202  # the status of an answer that comes in place of a document, such as a firewall's challenge
EMPTY_DIGEST = hash_bytes(b"")

SITEMAP_RULE = "sitemaps of the settings that are not read"
NAMED_SITEMAP_RULE = "sitemaps that a robots.txt or a sitemap names and that are not read"
"""The rules under which sitemaps are counted whose response is a failure, or has no document."""

MIN_RESPONSES = 20
"""The minimum number of responses from a source for a run to be compared with earlier runs."""


@dataclass(slots=True)
class SourceTally:
    """The counts of one source in this run."""

    source: Source
    task: int  # its number on the ledger
    handed_out: int = 0  # addresses sent to fetchers
    attempts: int = 0  # its own requests that got a response
    shared: int = 0  # responses of another collection that it used in this run
    found: int = 0  # addresses that responses link to
    reasons: Counter[str] = field(default_factory=Counter)  # of failures
    seed_origins: set[str] = field(default_factory=set)
    discovery_end: str = ""  # the last message of its discovery (`FollowResult.end`)
    seeds: set[int] = field(default_factory=set)  # its seed pages, and the targets of their redirects
    forgotten_seeds: dict[int, str] = field(default_factory=dict)  # URLs of seeds that were taken down, by digest
    sitemaps: set[int] = field(default_factory=set)  # its seeds that are not pages, and the targets of their redirects
    unread_sitemaps: frozenset[int] = frozenset()  # that are counted as left out
    responses: int = 0  # to requests for pages, including those of another collection
    usable: int = 0  # responses with a page or with status 304; in a discovery by requests, those that it could use
    faults: list[str] = field(default_factory=list)  # why seeds returned no page, or why requests failed
    more_faults: int = 0  # further ones, only counted
    left_out: LeftOutCounter = field(default_factory=LeftOutCounter)
    has_pages_again: bool = False  # whether pages became due again in this run, which are left to the next one
    problem: str = ""  # why the source failed, or why an origin was given up
    is_failed: bool = False
    failure_reason: Reason | None = None

    def count_attempt(self, crawl: Crawl, event: AttemptEnded) -> None:
        """Count an attempt with its reason, what it found and what rules left out; check whether a page is usable."""
        attempt = event.attempt
        self.shared += bool(event.held and attempt.kept)
        self.attempts += attempt.status is not None and not event.held
        if attempt.reason:
            self.reasons[attempt.reason] += 1
        if attempt.is_partial:
            self.left_out.add(Reason.TRUNCATED, attempt.message, 1, attempt.url)
        self.found += len(event.found)
        for left_out in event.left_out:
            self.left_out.add(left_out.reason, left_out.rule, left_out.number, left_out.url)
        if attempt.kind == crawl.page and attempt.target:
            self._check_usable(crawl, event)
        elif attempt.target and not crawl.by_request and attempt.kind not in {crawl.robots, crawl.beside}:
            self._check_sitemap(event)

    def _check_sitemap(self, event: AttemptEnded) -> None:
        """Count a sitemap as left out if it could not be fetched, or is empty, once in a run."""
        attempt = event.attempt
        is_of_settings = attempt.target in self.sitemaps
        if attempt.location and is_of_settings:
            self.sitemaps.update(url.digest for url in event.found)
        if attempt.location:
            return
        kept = attempt.kept
        is_same = attempt.status == NOT_MODIFIED and (kept is None or kept.digest != EMPTY_DIGEST)
        has_document = is_same or (attempt.status == OK and kept and kept.size)
        if (attempt.reason or not has_document) and attempt.target not in self.unread_sitemaps:
            self.unread_sitemaps |= {attempt.target}
            reason = attempt.reason or reason_of_status(attempt.status or 0, Reason.NOT_A_FEED)
            self.left_out.add(reason, SITEMAP_RULE if is_of_settings else NAMED_SITEMAP_RULE, 1, attempt.url)

    def _check_usable(self, crawl: Crawl, event: AttemptEnded) -> None:
        """Count a response and, in a crawl by links, whether it is usable. Note why a required response is not usable.

        Responses to seeds and to the targets of their redirects are required; in a discovery by requests, all are.
        """
        attempt = event.attempt
        self.responses += attempt.status is not None
        if not crawl.by_request:
            has_page = attempt.status is not None and (
                attempt.status == NOT_MODIFIED or attempt.status < FIRST_REDIRECT_STATUS
            )
            is_empty = attempt.kept is not None and attempt.kept.digest == EMPTY_DIGEST
            self.usable += has_page and not attempt.reason and attempt.status != ACCEPTED and not is_empty
        if crawl.why_no_page is None or not (crawl.by_request or attempt.target in self.seeds):
            return
        if fault := crawl.why_no_page(self.source, attempt):
            self.add_fault(fault)
        elif attempt.location:
            rules = {left_out.rule for left_out in event.left_out} & {CIRCLE, ENDLESS_REDIRECTS}
            for rule in rules:
                self.add_fault(f"{attempt.url}: {rule}")
            self.seeds.update(url.digest for url in event.found)

    def count_outcome(self, outcome: FollowOutcome) -> None:
        """Count the result of following a response. After drift or an endless list, the source has failed."""
        self.found += outcome.found
        self.discovery_end = outcome.end or self.discovery_end
        self.usable += outcome.is_usable
        for count in outcome.left_out:
            self.left_out.add(count.reason, count.rule, count.addresses, count.example)
        if outcome.drift:
            self.is_failed, self.problem = True, f"{outcome.url}: {describe_drift(outcome.drift)}"
        if outcome.reason:
            self.reasons[outcome.reason] += 1
            if outcome.reason is Reason.CRAWLER_TRAP:
                self.fail(f"{outcome.url}: {outcome.message}", outcome.reason)
            elif not any(fault.startswith(f"{outcome.url}: ") for fault in self.faults):  # why it cannot be followed
                self.add_fault(f"{outcome.url}: {outcome.message or outcome.reason.meaning}")

    def add_fault(self, fault: str) -> None:
        """Note why a response is not usable; after the first `MAX_FAULTS_NAMED`, only count it."""
        if len(self.faults) < MAX_FAULTS_NAMED:
            self.faults.append(fault)
        else:
            self.more_faults += 1

    def fail(self, problem: str, reason: Reason) -> None:
        """Note why the source failed."""
        self.is_failed, self.problem, self.failure_reason = True, problem, reason

    def note_give_up(self, origin: str, reason: Reason, message: str) -> None:
        """Note why an origin was given up. The source has failed if one of its seeds has this origin."""
        self.problem, self.failure_reason = message, reason
        self.is_failed = self.is_failed or origin in self.seed_origins

    def comment(self, error: BaseException | None) -> str:
        """Return the comment for the source's task. `error` is the error that ended the crawl, or None."""
        comment = f"{self.source.name}: {self.attempts} requested, {self.found} found"
        comment += f" ({join_counts(self.reasons)})" if self.reasons else ""
        comment += f"; {self.shared} were requested by another collection in this run" if self.shared else ""
        comment += f"; {self.discovery_end}" if self.discovery_end else ""
        comment += f"; {self.problem}" if self.problem else ""
        if self.has_pages_again:
            comment += "; some pages were due again before the end of the run, and are left to the next one"
        limit = self.source.most
        comment += f"; one run requests at most {limit} addresses" if 0 < limit <= self.handed_out else ""
        return comment + (f"; {error}" if error else "")


def has_failed(attempt: Attempt) -> bool:
    """Return whether the address of an attempt is requested again soon, as it is until the whole body came."""
    if attempt.message and attempt.is_partial:
        return True
    return attempt.reason is not None or attempt.status is None or attempt.status >= 400


def close_tallies(
    run: HarvestRun, crawl: Crawl, tallies: Mapping[str, SourceTally], endless: Iterable[tuple[str, str, int]],
    error: BaseException | None,
) -> None:  # fmt: skip
    """Close the task of each source with its counts. A task has failed if there was an `error` or its tally says so.

    Unless there was an `error`, record what rules left out of each source. `endless` has the source, the origin and the
    number of each host whose new pages only repeat earlier texts.
    """
    if error is None:
        for name, origin, host in endless:
            number, example = run.ledger.addresses.never_requested(host)
            if number:
                tallies[name].left_out.replace(Reason.CRAWLER_TRAP, ENDLESS_RULE.format(origin), number, example)
    for tally in tallies.values():
        if error is None:
            _check_faults(run, crawl, tally)
            _check_fall(run, crawl, tally)
            with run.ledger.writing() as writer:
                tally.left_out.record(writer, run.session, run.collection.name, tally.source.name, 1)
        failed, reason = tally.is_failed or error is not None, tally.failure_reason if tally.is_failed else None
        raised = getattr(error, "reason", None)
        reason = raised if isinstance(raised, Reason) else reason  # a UnicodeError has a text as `reason`
        run.close_task(tally.task, tally.comment(error), reason, failed=failed)


def _check_faults(run: HarvestRun, crawl: Crawl, tally: SourceTally) -> None:
    """Mark a source as failed if it has faults and returned nothing usable, or if no document of it ever came.

    If this run requested nothing from it, the last attempts at its seeds decide.
    """
    key = run.collection.name, tally.source.name
    if not tally.attempts and not tally.handed_out:
        tally.faults, tally.more_faults = [], 0
        for fault in _earlier_faults(run, crawl, tally):
            tally.add_fault(fault)
    if tally.faults and not tally.usable:
        tally.is_failed = True
        more = f"and {tally.more_faults:,} more like these" if tally.more_faults else ""
        tally.problem = "; ".join(filter(None, [*tally.faults, more, tally.problem]))
    elif crawl.by_request and tally.source in run.harvest.sources and not run.ledger.requests.has_document(*key):
        # Its lists are answered, but what they name is not: a later run may request nothing of it.
        failing = run.ledger.requests.count_failing(*key)
        if failing >= MIN_UNUSABLE:
            tally.is_failed = True
            named = f"none of its documents could ever be fetched: {failing:,} failed at the last request"
            tally.problem = "; ".join(filter(None, [named, tally.problem]))


def _check_fall(run: HarvestRun, crawl: Crawl, tally: SourceTally) -> None:
    """In a crawl by links, mark a source as failed if far fewer of its responses than usual have a page."""
    if crawl.by_request or tally.is_failed or tally.responses < MIN_RESPONSES:
        return
    share = 100 * tally.usable // tally.responses
    if share >= MAX_SHARE_OF_USUAL * 100:
        return  # it cannot be far less than usual
    since = compared_since(tally.source, now())
    earlier = run.ledger.requests.daily_shares(tally.source.name, crawl.page, run.session, since, MIN_RESPONSES)
    if fall := describe_fall(share, now().date(), earlier, PAGES):
        tally.is_failed, tally.problem = True, "; ".join(filter(None, [describe_drift(fall), tally.problem]))


def _earlier_faults(run: HarvestRun, crawl: Crawl, tally: SourceTally) -> list[str]:
    """Return why the last attempt at each seed failed, or that the seed was taken down.

    Return [] if one of these attempts did not fail, if one of the seeds has not been requested yet, or if the source
    has pages of origins that are not taken down.
    """
    faults, source, taken_down = [], tally.source, run.ledger.takedowns.addresses()
    empty_seeds = 0  # they have a capture, but it is not a page
    for digest in sorted(tally.seeds) if crawl.why_no_page else ():
        if url := tally.forgotten_seeds.get(digest):
            faults.append(f"{url}: {Reason.FORGOTTEN.meaning}; to lift that: windrow forget NAME --lift")
            continue
        rows = run.ledger.addresses.of_sources(run.collection.name, digest)
        address = next((row for row in rows if row.source == source.name), None)
        last_attempts = run.ledger.attempts.of_address(address.host, digest)[-1:] if address else []
        if address is None or not last_attempts:
            return []
        last = last_attempts[0]
        attempt = Attempt(digest, address.url, last.kind, last.allowed, last.started, last.seconds, last.status)
        attempt = attempt._replace(reason=last.reason, message=last.message or "", location=last.location or "")
        place = ArchivePlace(last.warc, last.offset or 0, last.length or 0)
        attempt = attempt._replace(kept=KeptResponse(last.digest, last.size or 0, place))
        fault = crawl.why_no_page(source, attempt) if crawl.why_no_page else ""
        followed = run.ledger.requests.followed(last.seq) if crawl.by_request and not fault else None
        if followed is not None and followed.reason is not None:
            fault = f"{address.url}: {followed.reason.meaning}"
        if not fault:
            return []
        faults.append(fault)
        empty_seeds += last.digest == EMPTY_DIGEST
    hosts = run.ledger.addresses.host_states(source.name, "", 0) if faults and not crawl.by_request else ()
    pages = sum(host.pages for host in hosts if not taken_down.has_origin(host.origin))
    return [] if pages > empty_seeds else faults
