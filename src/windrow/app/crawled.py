"""What a crawl did and how it stands, for collections that find their addresses by following links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from windrow.clock import now
from windrow.contract import CAPTURED, NOT_MODIFIED
from windrow.contract.registry import collection, installed
from windrow.engine.requests.origin_rules import walked
from windrow.ledger import Ledger
from windrow.ledger.typed.attempts import AttemptCount
from windrow.reasons import Reason

UNASKED = frozenset(
    (
        Reason.ROBOTS_DENIED, Reason.ROBOTS_UNREACHABLE, Reason.POLICY_DENIED, Reason.OUT_OF_SCOPE, Reason.QUERY_DENIED,
        Reason.TRAP, Reason.SITE_GIVEN_UP, Reason.NOT_DUE, Reason.UNSUPPORTED, Reason.PRIVATE_ADDRESS,
        Reason.BAD_ADDRESS, Reason.ADDRESS_TOO_LONG,
    )
)  # fmt: skip
"""Reasons for which an address is left alone; the others are failures."""

GONE = frozenset({404, 410})


class OutcomeCount(NamedTuple):
    """How many requests of a crawl had one outcome, in the word of its collection."""

    collection: str
    outcome: str
    visits: int


class Visits(NamedTuple):
    """A session's visits: counts by source, how they ended, and the reasons of those that brought nothing."""

    sources: dict[str, Counter[str]]
    outcomes: tuple[OutcomeCount, ...]
    reasons: list[tuple[str, int]]
    troubles: dict[str, str]  # by source, what is wrong with the first of its hosts whose rules could not be had


class Frontier(NamedTuple):
    """The addresses of one source: all that are known, those with a body, failing and due ones, and the next due."""

    known: int = 0
    pages: int = 0
    failing: int = 0
    due: int = 0
    next: datetime | None = None


@lru_cache(maxsize=4)
def attempts(ledger: Ledger, first: int, last: int) -> tuple[AttemptCount, ...]:
    """Count a session's attempts; a status asks for the same session several times, and a large one takes seconds."""
    return tuple(ledger.attempts.ended_between((first, last)))


def visits(ledger: Ledger, span: tuple[int, int], kinds: Iterable[str]) -> Visits:
    """Count what came of the requests between two facts, of the collections that are installed."""
    sources: dict[str, Counter[str]] = {}
    ends: Counter[tuple[str, str]] = Counter()
    reasons: Counter[str] = Counter()
    crawls = {name: crawl for name, made in installed().items() if (crawl := walked(made))}
    for one in (one for one in attempts(ledger, *span) if not one.listed):
        mine = sources.setdefault(one.source, Counter())
        if not one.taken:
            mine["fetched"] += one.number if one.status is not None else 0
            mine["received"] += one.received
        crawl = crawls.get(one.collection)
        if crawl is not None and one.kind not in {crawl.page, CAPTURED}:
            continue  # a hint, such as a sitemap: it is asked for and is no page
        mine[_became(one.status, one.reason, same=one.revisit, earlier=one.earlier)] += one.number
        if one.reason:
            reasons[one.reason] += one.number
        if crawl is not None:
            ends[one.collection, crawl.outcome(one.status, one.reason, one.mime)] += one.number
    told = tuple(OutcomeCount(kind, word, count) for (kind, word), count in ends.most_common())
    return Visits(sources, told, reasons.most_common(), _troubles(ledger, span, kinds))


def _troubles(ledger: Ledger, span: tuple[int, int], kinds: Iterable[str]) -> dict[str, str]:
    """Tell of each source the first host whose rules could not be had, and of how many that is true."""
    found: dict[str, list[str]] = {}
    for kind in kinds:
        if crawl := walked(collection(kind)):
            failures = ledger.attempts.rules_failed_between(span, kind, crawl.robots)
            for source, origin, status, reason, message in failures:
                why = message or (reason.meaning if reason else f"the server answers {status}")
                found.setdefault(source, []).append(f"{origin}: its robots.txt could not be had: {why}")
    return {
        source: told[0] + (f" (and {len(told) - 1:,} hosts more)" if len(told) > 1 else "")
        for source, told in found.items()
    }


def _became(status: int | None, reason: Reason | None, *, same: bool, earlier: bool) -> str:
    """Say what a visit means for its address: new, changed, same, gone, moved, refused or failed."""
    if reason is not None:
        return "refused" if reason in UNASKED else "failed"
    if same or status == NOT_MODIFIED:
        return "same"
    if status is not None and status < 300:
        return "changed" if earlier else "new"
    if status is not None and status < 400:
        return "moved"
    return "gone" if status in GONE and earlier else "failed"


def frontiers(ledger: Ledger) -> dict[str, Frontier]:
    """Return how the addresses of every source that was crawled stand now."""
    at = int(now().timestamp())
    found: dict[str, Frontier] = {}
    crawls = {name: walked(made) for name, made in installed().items()}
    for one in ledger.addresses.by_source(at):
        moment = datetime.fromtimestamp(one.next_due, UTC) if one.next_due is not None else None
        before = found.get(one.source, Frontier())
        crawl = crawls.get(one.collection)
        if crawl is not None and one.kind != crawl.page:
            found[one.source] = before._replace(due=before.due + one.due)
            continue
        found[one.source] = Frontier(one.known, one.pages, one.failing, before.due + one.due, moment)
    return found


EVER = 2**62
"""A time in UNIX seconds that comes after every time at which an address is due."""


def due(ledger: Ledger, kind: str, *, again: bool = False) -> dict[str, dict[str, int]]:
    """Return how many addresses of each source are due, by origin: now, or with `again` at any time."""
    found: dict[str, dict[str, int]] = {}
    for one in ledger.addresses.due_by_host(kind, EVER if again else int(now().timestamp())):
        found.setdefault(one.source, {})[one.origin] = one.number
    return found


def following(ledger: Ledger, kind: str, source: str, most: int, *, again: bool = False) -> list[str]:
    """Return the addresses of a source that would be asked first, at most so many."""
    return ledger.addresses.next_of_source(kind, source, EVER if again else int(now().timestamp()), most)
