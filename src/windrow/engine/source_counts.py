"""How each source stands and what a session did there, counted on the ledger over all collections."""

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
"""Reasons for which an address is left alone; the others are failures."""

GONE = frozenset({404, 410})


class FrontierCount(NamedTuple):
    """How what is known of a source stands now: files that it offers, or addresses.

    `had` are those that it offers or that have a body, `failing` and `due` addresses. With `by_address` each of them is
    due at a time of its own, the `next` one then; else the source is due as a whole.
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
    visits: int


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """What came of a session's attempts: counts by source, how visits ended, and the reasons of those without a body.

    The counts are named by the fields of `windrow.app.summary.SourceCount`.
    """

    sources: dict[str, Counter[str]]
    outcomes: tuple[OutcomeCount, ...]
    reasons: list[tuple[str, int]]
    troubles: dict[str, str]  # by source, what is wrong with the first of its hosts whose rules could not be had


@lru_cache(maxsize=4)
def _attempts(ledger: Ledger, first: int, last: int) -> tuple[AttemptCount, ...]:
    """Count a session's attempts; a status asks for the same session several times, and a large one takes seconds."""
    return tuple(ledger.attempts.ended_between((first, last)))


def count_session(ledger: Ledger, span: tuple[int, int]) -> SessionCounts:
    """Count what came of the attempts between two facts."""
    sources: dict[str, Counter[str]] = {}
    ends: Counter[tuple[str, str]] = Counter()
    reasons: Counter[str] = Counter()
    crawls = {name: walked(collection) for name, collection in installed().items()}
    for row in _attempts(ledger, *span):
        counts = sources.setdefault(row.source, Counter())
        if not row.taken:
            counts["received"] += row.received
        if row.listed:  # why it failed is told by the state of its item
            counts["failed" if row.reason else "fetched"] += row.number
            counts["same"] += row.number if row.revisit else 0
            continue
        if not row.taken:
            counts["fetched"] += row.number if row.status is not None else 0
        crawl = crawls.get(row.collection)
        if crawl is not None and row.kind not in {crawl.page, CAPTURED}:
            continue  # a hint, such as a sitemap: it is asked for and is no page
        counts[_became(row)] += row.number
        if row.reason:
            reasons[row.reason] += row.number
        if crawl is not None:
            ends[row.collection, crawl.outcome(row.status, row.reason, row.mime)] += row.number
    outcomes = tuple(OutcomeCount(kind, word, count) for (kind, word), count in ends.most_common())
    return SessionCounts(sources, outcomes, reasons.most_common(), _troubles(ledger, span))


def _troubles(ledger: Ledger, span: tuple[int, int]) -> dict[str, str]:
    """Tell of each source the first host whose rules could not be had, and of how many that is true."""
    troubles: dict[str, list[str]] = {}
    for name, collection in installed().items():
        if crawl := walked(collection):
            for source, origin, status, reason, message in ledger.attempts.rules_failed_between(
                span, name, crawl.robots
            ):
                why = message or (reason.meaning if reason else f"the server answers {status}")
                troubles.setdefault(source, []).append(f"{origin}: its robots.txt could not be had: {why}")
    return {
        source: hosts[0] + (f" (and {len(hosts) - 1:,} hosts more)" if len(hosts) > 1 else "")
        for source, hosts in troubles.items()
    }


def _became(row: AttemptCount) -> str:
    """Say what visits mean for their addresses: new, changed, same, gone, redirected, refused or failed."""
    if row.reason is not None:
        return "refused" if row.reason in UNASKED else "failed"
    if row.revisit or row.status == NOT_MODIFIED:
        return "same"
    if row.status is not None and row.status < 300:
        return "changed" if row.earlier else "new"
    if row.status is not None and row.status < 400:
        return "redirected"
    return "gone" if row.status in GONE and row.earlier else "failed"


def count_frontiers(ledger: Ledger, among: AbstractSet[str] | None = None) -> dict[str, FrontierCount]:
    """Return how every source stands of which anything is known; of addresses only where they count for `among`.

    `among` are names of collections, None means any: to count the addresses of a large crawl takes seconds.
    """
    counts = {source: FrontierCount(files, files) for source, files in ledger.mirrors.count().items()}
    crawls = {name: walked(collection) for name, collection in installed().items()}
    if among is not None and all(name in crawls and crawls[name] is None for name in among):
        return counts
    for row in ledger.addresses.by_source(int(now().timestamp())):
        before = counts.get(row.source, FrontierCount())
        due = before.due + row.due
        crawl = crawls.get(row.collection)
        if crawl is not None and row.kind != crawl.page:
            counts[row.source] = before._replace(due=due, by_address=True)
            continue
        moment = datetime.fromtimestamp(row.next_due, UTC) if row.next_due is not None else None
        counts[row.source] = FrontierCount(row.known, row.pages, row.failing, due, moment, by_address=True)
    return counts
