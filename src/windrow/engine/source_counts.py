"""Count on the ledger, over all collections, the state of each source and what a session did there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from windrow.clock import now
from windrow.contract import CAPTURED, NOT_MODIFIED
from windrow.contract.registry import installed
from windrow.engine.requests.origin_rules import walked
from windrow.ledger import Ledger
from windrow.ledger.typed.attempts import AttemptCount
from windrow.reasons import Reason

UNASKED = frozenset(
    (
        Reason.ROBOTS_DENIED, Reason.ROBOTS_UNREACHABLE, Reason.POLICY_DENIED, Reason.OUT_OF_SCOPE, Reason.QUERY_DENIED,
        Reason.CRAWLER_TRAP, Reason.SITE_GIVEN_UP, Reason.NOT_DUE, Reason.UNSUPPORTED, Reason.PRIVATE_ADDRESS,
        Reason.BAD_ADDRESS, Reason.ADDRESS_TOO_LONG,
    )
)  # fmt: skip
"""Reasons for which an address is not requested; other reasons are failures."""

GONE = frozenset({404, 410})


class FrontierCount(NamedTuple):
    """Counts of a source's known files or addresses now.

    `had` counts those that it offers or that have a body, `failing` and `due` count addresses. With `by_address` each
    is due at its own time, the next one at `next`; otherwise the source is due as a whole.
    """

    known: int = 0
    had: int = 0
    failing: int = 0
    due: int = 0
    next: datetime | None = None
    by_address: bool = False


class OutcomeCount(NamedTuple):
    """How many requests of a crawl had one outcome, in the word of its collection."""

    collection: str
    outcome: str
    attempts: int


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """The results of a session's attempts: counts by source, outcomes, and the reasons of attempts without a body.

    The counts are named by the fields of `windrow.app.summary.SourceCount`.
    """

    sources: dict[str, Counter[str]]
    outcomes: tuple[OutcomeCount, ...]
    reasons: list[tuple[str, int]]
    troubles: dict[str, str]  # by source, the first host whose robots.txt failed


@lru_cache(maxsize=4)
def _cached_attempt_counts(ledger: Ledger, first_fact: int, last_fact: int) -> tuple[AttemptCount, ...]:
    """Count a session's attempts; a status asks for the same session several times, and a large one takes seconds."""
    return tuple(ledger.attempts.ended_between((first_fact, last_fact)))


def count_session(ledger: Ledger, span: tuple[int, int]) -> SessionCounts:
    """Count the results of the attempts between two facts."""
    sources: dict[str, Counter[str]] = {}
    outcome_counts: Counter[tuple[str, str]] = Counter()
    reasons: Counter[str] = Counter()
    crawls = {name: walked(collection) for name, collection in installed().items()}
    for row in _cached_attempt_counts(ledger, *span):
        counts = sources.setdefault(row.source, Counter())
        if not row.taken:
            counts["received"] += row.received
        if row.listed:  # the state of its item has the reason
            counts["failed" if row.reason else "fetched"] += row.number
            counts["same"] += row.number if row.revisit else 0
            continue
        if not row.taken:
            counts["fetched"] += row.number if row.status is not None else 0
        crawl = crawls.get(row.collection)
        if crawl is not None and row.kind not in {crawl.page, CAPTURED}:
            continue  # a hint, such as a sitemap, and not a page
        counts[_classify(row)] += row.number
        if row.reason:
            reasons[row.reason] += row.number
        if crawl is not None:
            outcome_counts[row.collection, crawl.outcome(row.status, row.reason, row.mime)] += row.number
    outcomes = tuple(OutcomeCount(kind, word, count) for (kind, word), count in outcome_counts.most_common())
    return SessionCounts(sources, outcomes, reasons.most_common(), _robots_errors(ledger, span))


def _robots_errors(ledger: Ledger, span: tuple[int, int]) -> dict[str, str]:
    """Return by source a message on the first host whose robots.txt failed, and the number of further ones."""
    troubles: dict[str, list[str]] = {}
    for name, collection in installed().items():
        if crawl := walked(collection):
            for source, origin, status, reason, message in ledger.attempts.rules_failed_between(
                span, name, crawl.robots
            ):
                problem = message or (reason.meaning if reason else f"the server answers {status}")
                troubles.setdefault(source, []).append(f"{origin}: its robots.txt could not be read: {problem}")
    return {
        source: hosts[0] + (f" (and {len(hosts) - 1:,} hosts more)" if len(hosts) > 1 else "")
        for source, hosts in troubles.items()
    }


def _classify(row: AttemptCount) -> str:
    """Return what attempts mean for their addresses: new, changed, same, gone, redirected, refused or failed."""
    if row.reason is not None:
        return "refused" if row.reason in UNASKED else "failed"
    if row.revisit or row.status == NOT_MODIFIED:
        return "same"
    if row.status is not None and row.status < 300:
        return "changed" if row.earlier else "new"
    if row.status is not None and row.status < 400:
        return "redirected"
    return "gone" if row.status in GONE and row.earlier else "failed"


def count_frontiers(ledger: Ledger, collections: AbstractSet[str] | None = None) -> dict[str, FrontierCount]:
    """Return the counts of every known source; addresses are counted only for `collections`.

    `collections` are names, None means all: counting the addresses of a large crawl takes seconds.
    """
    counts = {source: FrontierCount(files, files) for source, files in ledger.mirrors.count().items()}
    crawls = {name: walked(collection) for name, collection in installed().items()}
    if collections is not None and all(name in crawls and crawls[name] is None for name in collections):
        return counts
    for row in ledger.addresses.by_source(int(now().timestamp())):
        count = counts.get(row.source, FrontierCount())
        due = count.due + row.due
        crawl = crawls.get(row.collection)
        if crawl is not None and row.kind != crawl.page:
            counts[row.source] = count._replace(due=due, by_address=True)
            continue
        moment = datetime.fromtimestamp(row.next_due, UTC) if row.next_due is not None else None
        counts[row.source] = FrontierCount(row.known, row.pages, row.failing, due, moment, by_address=True)
    return counts
