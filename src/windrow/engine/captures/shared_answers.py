"""Answers that another collection got in this run: an address that both want is asked once, and so is robots.txt.

Only plain GETs without secrets are shared, and only between sources that talk to servers in the same way. The pause
between two requests holds over all collections, since a walk begins when the last one to the origin lies far enough
back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from windrow.clock import now
from windrow.engine.requests.following import place_of
from windrow.engine.run import HarvestRun
from windrow.ledger.typed.addresses import DueAddress
from windrow.model import Attempt, HeldAnswer, HttpRequest, RecordedAttempt, Source


class SharedAnswers:
    """What earlier harvests of this session asked, for one that goes on after them."""

    def __init__(self, run: HarvestRun) -> None:
        """Take what there is now; what this harvest asks it adds at its end."""
        self._run = run
        self._lenders = {name: one for name, one in run.shared.sources.items() if one.collection != run.collection.name}
        self._before = dict(run.shared.asked) if self._lenders else {}
        self._asked: dict[str, float] = {}

    def note(self, origin: str, attempt: Attempt) -> None:
        """Note when an origin was asked last."""
        self._asked[origin] = attempt.started.timestamp() + attempt.seconds

    def close(self, sources: Iterable[Source]) -> None:
        """Leave to later harvests what this one asked."""
        self._run.shared.sources.update((source.name, source) for source in sources)
        for origin, at in self._asked.items():
            self._run.shared.asked[origin] = max(at, self._run.shared.asked.get(origin, 0.0))

    def wait(self, source: Source, origin: str) -> float:
        """Return for how many seconds an origin is still to be left alone, since another collection asked it."""
        at = self._before.get(origin, 0.0)
        return max(0.0, at + float(source.options.get("delay", source.pace or 0.0)) - now().timestamp()) if at else 0.0

    def last(self, origin: str) -> float:
        """Return when another collection asked an origin last, 0 where none did."""
        return self._before.get(origin, 0.0)

    def rules(self, source: Source, origin: str) -> HeldAnswer | None:
        """Return the robots.txt of an origin that another collection got in this run."""
        if origin not in self._before:
            return None
        run = self._run
        found = run.ledger.captures.newest_rules(origin, run.session, run.collection.name)
        return self._held(source, found) if found and found.attempt.url == f"{origin}/robots.txt" else None

    def of(
        self, source: Source, origin: str, rows: Iterable[DueAddress], requests: Mapping[int, HttpRequest]
    ) -> dict[int, HeldAnswer]:
        """Return the answers to addresses of an origin that another collection got in this run."""
        found: dict[int, HeldAnswer] = {}
        if origin not in self._before:
            return found
        run = self._run
        for row in rows:
            request = requests.get(row.digest)
            if request is not None and (request.method != "GET" or request.headers or request.attachments):
                continue
            one = run.ledger.captures.newest(row.digest, run.session, run.collection.name)
            if one is not None and (held := self._held(source, one)):
                found[row.digest] = held
        return found

    def _held(self, source: Source, one: RecordedAttempt) -> HeldAnswer | None:
        lender = self._lenders.get(one.source)
        if lender is None or one.attempt.kept is None or not alike(source, lender):
            return None
        place = place_of(self._run, one.attempt)
        return HeldAnswer(one.seq, one.attempt, place) if place else None


def alike(one: Source, other: Source) -> bool:
    """Tell whether two sources would get the same answer, and may: neither has secrets, both go the same way.

    A source is not given what another one got from a host that it allows and this one does not.
    """

    def way(source: Source) -> tuple[object, ...]:
        site = source.site
        secrets = (site.username, site.secret, site.key, source.credentials)
        return (any(secrets), site.proxy, site.ca_bundle, site.family)

    mine, others = one.site.allowed, other.site.allowed
    within = mine.everything or (
        not others.everything and {*others.hosts} <= {*mine.hosts} and {*others.networks} <= {*mine.networks}
    )
    return within and not way(one)[0] and way(one) == way(other)
