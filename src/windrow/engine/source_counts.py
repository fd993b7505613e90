"""Count the files and addresses of each source, what is left out of them, and the attempts of a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from windrow.clock import from_unix_time, now
from windrow.contract import CAPTURED, NOT_MODIFIED, REPLACED_RULE, Collection, Crawl, Listing
from windrow.contract.registry import installed
from windrow.engine.requests.origin_rules import crawl_of
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.ledger.rows import SourceCounts
from windrow.ledger.sessions import RuleCount
from windrow.ledger.typed.attempts import AttemptCount
from windrow.ledger.typed.mirrors import WaitingFiles
from windrow.ledger.typed.sessions import ListedSession, SourceTask
from windrow.model import Source
from windrow.reasons import BY_RULE, Reason, reason_of_status

NOT_REQUESTED = frozenset(
    (
        Reason.ROBOTS_DENIED, Reason.ROBOTS_UNREACHABLE, Reason.POLICY_DENIED, Reason.OUT_OF_SCOPE, Reason.OTHER_PART,
        Reason.QUERY_DENIED,
        Reason.CRAWLER_TRAP, Reason.SITE_GIVEN_UP, Reason.NOT_DUE, Reason.UNSUPPORTED, Reason.PRIVATE_ADDRESS,
        Reason.BAD_ADDRESS, Reason.ADDRESS_TOO_LONG,
    )
)  # fmt: skip
"""Reasons for which an address is not requested. All other reasons mean that an attempt failed."""

MIN_UNUSABLE = 3
"""The minimum number of unusable documents for a source to have failed, if no document was usable.

In a crawl by links, a source with fewer pages, such as one whose links only a script makes, fails with each of them.
"""

GONE = frozenset({404, 410})
"""HTTP statuses that mean that an address has no content any more."""

UNUSED_RULE = "answers that are not used; they are requested again"
"""The rule under which answers are counted that a discovery skipped without replacing them by other requests."""

LINK_RULES = "link_rules_"
"""The start of the name of what is learned of a host's rules for links: a hash, and the attempt and session of it."""


class FrontierCount(NamedTuple):
    """Counts of the files or addresses of a source that are known now.

    `had` is the number of files that the source lists, or of addresses that were fetched at their last attempt, or
    known only from captures of others.
    `failing` and `due` are numbers of addresses. If `by_address`, each address is due at its own time; `next` is the
    earliest time at which one that was requested before, such as a page or a sitemap, is due (None: never). Otherwise
    the source is due as a whole.
    """

    known: int = 0
    had: int = 0
    failing: int = 0
    due: int = 0
    next: datetime | None = None
    by_address: bool = False

    def unchanged(self, found_same: int, other: int) -> int:
        """Return how many addresses or files of the source have not changed.

        For addresses, this is `found_same`. For files, it is the number of all files minus `other`, but at least 0.
        """
        return found_same if self.by_address else max(0, self.had - other)

    def next_request(self, next_run: datetime | None) -> datetime | None:
        """Return when the next request is due, or None if that is not known. Files are due at `next_run`."""
        if not self.by_address:
            return next_run
        if self.due:
            return now()
        return self.next and max(self.next, now())


class OutcomeCount(NamedTuple):
    """How many attempts at addresses of a collection had one outcome, in the collection's word for the outcome."""

    collection: str
    outcome: str
    attempts: int


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """The results of a session's attempts: counts for each source, and for addresses also the outcomes and reasons.

    The counts are named after the fields of `windrow.app.summary.SourceCount`. `reasons` has how often each reason for
    a failure or refusal occurred at addresses (sitemaps and the like are not counted), by source and reason.
    """

    sources: dict[str, Counter[str]]
    outcomes: tuple[OutcomeCount, ...]
    reasons: Counter[tuple[str, str]]
    troubles: dict[str, str]  # by source, a message about the origins whose robots.txt could not be fetched


@lru_cache(maxsize=4)
def _cached_attempt_counts(ledger: Ledger, first_fact: int, last_fact: int) -> tuple[AttemptCount, ...]:
    """Count a session's attempts. `status` needs the counts several times, and counting may take seconds."""
    return tuple(ledger.attempts.ended_between((first_fact, last_fact)))


def count_session(ledger: Ledger, facts: tuple[int, int]) -> SessionCounts:
    """Count the results of the attempts that ended from the first to the last fact, whose numbers are in `facts`."""
    sources: dict[str, Counter[str]] = {}
    outcome_counts: Counter[tuple[str, str]] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    crawls = {name: crawl_of(collection) for name, collection in installed().items()}
    for attempts in _cached_attempt_counts(ledger, *facts):
        counts = sources.setdefault(attempts.source, Counter())
        if not attempts.taken:
            counts["received"] += attempts.received
        if attempts.listed:  # the state of its item has the reason
            counts["failed" if attempts.reason else "fetched"] += attempts.number
            counts["same"] += attempts.number if attempts.revisit else 0
            continue
        if not attempts.taken:
            counts["fetched"] += attempts.number if attempts.status is not None else 0
        crawl = crawls.get(attempts.collection)
        if crawl is not None and attempts.kind not in {crawl.page, CAPTURED}:
            continue  # a hint, such as a sitemap, and not a page
        if attempts.guess:
            continue  # nothing named the address, and the server does not have it
        field = classify_attempts(attempts, misses=_misses_of_gone(crawl))
        counts[field] += attempts.number
        if attempts.reason:
            reasons[attempts.source, attempts.reason] += attempts.number
        elif field == "failed":
            reasons[attempts.source, reason_of_status(attempts.status or 0)] += attempts.number
        if crawl is not None:
            outcome = crawl.outcome(attempts.status, attempts.reason, attempts.mime)
            outcome_counts[attempts.collection, outcome] += attempts.number
    outcomes = tuple(OutcomeCount(name, word, count) for (name, word), count in outcome_counts.most_common())
    return SessionCounts(sources, outcomes, reasons, _robots_errors(ledger, facts))


def read_sessions(ledger: Ledger, before: int, limit: int) -> list[ListedSession]:
    """Return at most `limit` sessions with what failed in each, newest first; if `before` is not 0, those before it."""
    crawls = {name: crawl for name, collection in installed().items() if (crawl := crawl_of(collection))}
    kinds = [f"{name} {kind}" for name, crawl in crawls.items() for kind in (crawl.page, CAPTURED)]
    return ledger.sessions.page(before, limit, kinds, sorted(NOT_REQUESTED))


def _robots_errors(ledger: Ledger, facts: tuple[int, int]) -> dict[str, str]:
    troubles: dict[str, list[str]] = {}
    for name, collection in installed().items():
        if crawl := crawl_of(collection):
            for source, origin, status, reason, message in ledger.attempts.rules_failed_between(
                facts, name, crawl.robots
            ):
                error_text = message or (reason.meaning if reason else f"the server answers {status}")
                troubles.setdefault(source, []).append(f"{origin}: its robots.txt could not be fetched: {error_text}")
    return {
        source: messages[0] + (f" (and {counted(len(messages) - 1, 'more origin')})" if len(messages) > 1 else "")
        for source, messages in troubles.items()
    }


def _misses_of_gone(crawl: Crawl | None) -> int:
    """Return after how many 404s in a row a document is gone; 410 always counts as two."""
    return 1 if crawl is None or crawl.by_request else 2


def gone_at_once() -> list[str]:
    """Return the names of the collections whose documents are gone at the first 404."""
    return [name for name, collection in installed().items() if _misses_of_gone(crawl_of(collection)) == 1]


def classify_attempts(attempts: AttemptCount, misses: int = 2) -> str:
    """Return the field of `windrow.app.summary.SourceCount` that counts attempts; it is `refused` if none was made.

    `misses` is the number of 404s in a row after which a document is gone. If it is 1, as in a discovery by requests,
    the source's own addresses, such as a calendar, are never gone. An error with the bytes of the last document is an
    error all the same.
    """
    if attempts.reason is not None:
        return "refused" if attempts.reason in NOT_REQUESTED else "failed"
    if attempts.status == NOT_MODIFIED or (attempts.revisit and (attempts.status or 0) < 300):
        return "same"
    if attempts.status is not None and attempts.status < 300:
        return "changed" if attempts.earlier else "new"
    if attempts.status is not None and attempts.status < 400:
        return "redirected"
    if attempts.status in GONE and attempts.earlier and not (attempts.seed and misses == 1):
        return "still_gone" if attempts.misses >= misses else "gone"
    return "failed"


def count_frontiers(ledger: Ledger, collections: AbstractSet[str] | None = None) -> dict[str, FrontierCount]:
    """Count the files and addresses of each source.

    With `collections`, only `known` and `due` are counted, in less than half the time, and addresses are not counted if
    all of `collections` only list files.
    """
    counts = {source: FrontierCount(files, files) for source, files in ledger.mirrors.count().items()}
    crawls = {name: crawl_of(collection) for name, collection in installed().items()}
    if collections is not None and all(name in crawls and crawls[name] is None for name in collections):
        return counts
    at = int(now().timestamp())
    whole = collections is None
    rows = ledger.addresses.by_source(at, gone_at_once()) if whole else ledger.addresses.known_by_source(at)
    for addresses in rows:
        count = counts.get(addresses.source, FrontierCount())
        due = count.due + addresses.due
        crawl = crawls.get(addresses.collection)
        next_due = min(filter(None, (count.next, from_unix_time(addresses.next_due))), default=None)
        if crawl is not None and addresses.kind != crawl.page:
            counts[addresses.source] = count._replace(due=due, next=next_due, by_address=True)
            continue
        counts[addresses.source] = FrontierCount(
            addresses.known, addresses.pages, addresses.failing, due, next_due, by_address=True
        )
    return counts


def count_left_out_of_files(ledger: Ledger, collection: Collection, source: str) -> list[RuleCount]:
    """Return how much of a source that lists files was left out: of its last listing, and by each step.

    What a step left out of a file or a member counts until a later attempt at the file: each count has the file or the
    member as its example.
    """
    steps = {collection.phase(step.phase) for step in collection.steps}
    last_sessions: dict[int, int] = {}  # by phase, of the last task that did not fail
    of_listing: list[RuleCount] = []
    of_files: dict[tuple[str, ...], tuple[SourceTask, RuleCount]] = {}
    for task, count in ledger.sessions.rule_counts(source):
        if task.phase in steps:
            # the last one, if it was read again
            of_files.setdefault((count.reason, count.rule, count.example), (task, count))
        elif task.failed is False:
            if task.phase not in last_sessions:
                last_done = find_last_done(ledger, source, task.phase)
                last_sessions[task.phase] = last_done.session if last_done else 0
            if task.session == last_sessions[task.phase]:
                of_listing.append(count)
    keys = {count.example: count.example.rpartition("/")[0] for _, count in of_files.values()}  # a member's file
    known = ledger.listed_files.known(collection.name, [*keys, *keys.values()])
    current = [
        count
        for task, count in of_files.values()
        if (file := known.get(count.example) or known.get(keys[count.example])) and file.attempt < task.seq
    ]
    return [*reversed(of_listing), *sum_by_rule(reversed(current))]


def find_last_done(ledger: Ledger, source: str, phase: int) -> SourceTask | None:
    """Return the last task of a phase of a source that ended and did not fail, or None if there is none."""
    tasks = ledger.sessions.tasks_of_source(source)
    return next((task for task in tasks if task.phase == phase and task.failed is False), None)


def sum_by_rule(counts: Iterable[RuleCount]) -> list[RuleCount]:
    """Add up the counts of each rule of a source; the example is that of the first one."""
    sums: dict[tuple[str, ...], RuleCount] = {}
    for count in counts:
        earlier = sums.get(count[:3])
        sums[count[:3]] = earlier._replace(addresses=earlier.addresses + count.addresses) if earlier else count
    return list(sums.values())


def count_waiting_files(ledger: Ledger, active: AbstractSet[str], inactive: AbstractSet[str]) -> list[WaitingFiles]:
    """Count the listed files that wait to be fetched, except those that only sources that are switched off list.

    `active` and `inactive` are the names of the sources that are declared.
    """
    listings = ((name, collection.discovery) for name, collection in installed().items())
    return [
        files
        for name, discovery in listings
        if isinstance(discovery, Listing)
        for files in ledger.mirrors.waiting(name, discovery.fetch_phase, sorted(active))
        if files.is_listed or files.source not in inactive
    ]


def estimate_seconds(source: Source, counts: SourceCounts | None, count: int, size: int) -> float | None:
    """Return how many seconds it takes to fetch `count` files of `size` bytes in all; None if it is not known."""
    if not count:
        return 0.0
    if counts is None or not counts.received:
        return None
    return round(max(size * counts.seconds / counts.received, count * source.pace) / max(1, source.connections), 1)


Reasons = AbstractSet[str] | None
"""The reasons for which something of a source could not be read so far; None if they are not known."""


def count_left_out_now(
    ledger: Ledger, collection: str, source: str, of_captures: Sequence[RuleCount], crawl: Crawl,
    *, unrepaired: Reasons = None,
) -> list[RuleCount]:  # fmt: skip
    """Return how much of a source of addresses each rule or cap left out in the last such session.

    What a cap left out of a document that was read in part counts until the whole document is read. What a rule left
    out of answers does not count any more once later answers were followed, what was left out of documents does not
    once each document of the source was replaced (`_are_replaced`), and links that a crawl left out do not once the
    rules for links of all hosts have changed. `of_captures` has the totals of captures. If the `crawl` is by requests,
    answers are followed in phase 1. An answer that is not used counts until a later answer of its address is used. If
    the reasons are known for which something of the source is `unrepaired`, a step's count for another one has ended.
    """
    totals = {count[1:3] for count in of_captures}
    capped_in = ledger.unread.capped_in(collection, source)
    followed_to = ledger.requests.followed_upto(collection, source)
    learned = ledger.requests.learned(collection, source)
    rules_since = min((rules[2] for name, rules in learned.items() if name.startswith(LINK_RULES)), default=0)
    first_capped = min((session for _, session in capped_in), default=None)
    of_caps: list[RuleCount] = []
    others: list[tuple[SourceTask, RuleCount]] = []  # those of the last session that has some
    for task, count in ledger.sessions.rule_counts(source):
        is_after_last = bool(others) and task.session < others[0][0].session
        if is_after_last and (first_capped is None or task.session < first_capped):
            break
        if count.rule == UNUSED_RULE:
            continue  # the addresses themselves are counted
        if count.reason != Reason.CAPPED or (task.phase == 1 and not crawl.by_request):
            if not is_after_last and (task.phase == 1 or unrepaired is None or count.reason in unrepaired | BY_RULE):
                others.append((task, count))
        elif (task.phase, task.session) in capped_in:
            of_caps.append(count)
    others.reverse()
    caps: dict[str, RuleCount] = {}
    for count in reversed(of_caps):
        earlier = caps.get(count.rule)
        caps[count.rule] = count._replace(addresses=count.addresses + (earlier.addresses if earlier else 0))
    steps = [task for task, _ in others if task.phase > 1]
    is_replaced = bool(steps) and _are_replaced(ledger, collection, source, steps[-1], crawl)
    in_last = [
        count
        for task, count in others
        if not (is_replaced and task.phase > 1)
        if task.phase > 1 or task.session >= rules_since
        # The totals of captures replace what the first phase of the session counted of them.
        if task.phase > 1 or count[1:3] not in totals
        if task.phase > 1 or (count.reason not in BY_RULE and count.rule != REPLACED_RULE) or task.seq > followed_to
    ]
    unused = [
        RuleCount(source, row.reason, UNUSED_RULE, row.number, row.example)
        for row in ledger.requests.unused(collection, source)
    ]
    return [*caps.values(), *in_last, *unused, *of_captures]


def _are_replaced(ledger: Ledger, collection: str, source: str, task: SourceTask, crawl: Crawl) -> bool:
    """Return whether all documents that a source had at a step's task were replaced by others, which were read.

    A document that did not change may still be the one of which something was left out.
    """
    last_done = find_last_done(ledger, source, task.phase)
    read_to = last_done.seq if last_done else 0
    return ledger.requests.unreplaced(collection, source, task.seq, read_to, crawl.robots) is None
