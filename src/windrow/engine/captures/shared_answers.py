"""Share responses between the collections of a run: an address that two of them want is requested once.

Only plain GETs without secrets are shared, and only between sources with the same connection settings. The pause
between two requests holds over all collections: a walk waits for it after the last request to the origin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from windrow.clock import now
from windrow.engine.run import HarvestRun
from windrow.ledger.typed.addresses import DueAddress
from windrow.model import Attempt, HeldAnswer, HttpRequest, RecordedAttempt, Source


class SharedAnswers:
    """Responses that earlier harvests of this session got, for a later one."""

    def __init__(self, run: HarvestRun) -> None:
        """Use what earlier harvests left; what this one adds is for later ones."""
        self._run = run
        self._lenders = {
            name: source for name, source in run.shared.sources.items() if source.collection != run.collection.name
        }
        self._before = dict(run.shared.asked) if self._lenders else {}
        self._asked: dict[str, float] = {}

    def note(self, origin: str, attempt: Attempt) -> None:
        """Note the end of the last request to an origin."""
        self._asked[origin] = attempt.started.timestamp() + attempt.seconds

    def close(self, sources: Iterable[Source]) -> None:
        """Leave this harvest's sources and request times to later ones."""
        self._run.shared.sources.update((source.name, source) for source in sources)
        for origin, at in self._asked.items():
            self._run.shared.asked[origin] = max(at, self._run.shared.asked.get(origin, 0.0))

    def wait(self, source: Source, origin: str) -> float:
        """Return the seconds still to wait after another collection's last request to an origin."""
        at = self._before.get(origin, 0.0)
        return max(0.0, at + float(source.options.get("delay", source.pace or 0.0)) - now().timestamp()) if at else 0.0

    def last(self, origin: str) -> float:
        """Return the UNIX time of another collection's last request to an origin, 0 for none."""
        return self._before.get(origin, 0.0)

    def rules(self, source: Source, origin: str) -> HeldAnswer | None:
        """Return the robots.txt of an origin that another collection got in this run."""
        if origin not in self._before:
            return None
        run = self._run
        recorded = run.ledger.captures.newest_rules(origin, run.session, run.collection.name)
        return (
            self._held_answer(source, recorded) if recorded and recorded.attempt.url == f"{origin}/robots.txt" else None
        )

    def of(
        self, source: Source, origin: str, rows: Iterable[DueAddress], requests: Mapping[int, HttpRequest]
    ) -> dict[int, HeldAnswer]:
        """Return the responses of an origin that another collection got in this run, by address."""
        answers: dict[int, HeldAnswer] = {}
        if origin not in self._before:
            return answers
        run = self._run
        for row in rows:
            request = requests.get(row.digest)
            if request is not None and (request.method != "GET" or request.headers or request.attachments):
                continue
            recorded = run.ledger.captures.newest(row.digest, run.session, run.collection.name)
            if recorded is not None and (held_answer := self._held_answer(source, recorded)):
                answers[row.digest] = held_answer
        return answers

    def _held_answer(self, source: Source, recorded: RecordedAttempt) -> HeldAnswer | None:
        lender = self._lenders.get(recorded.source)
        if lender is None or recorded.attempt.kept is None or not alike(source, lender):
            return None
        place = self._run.place_of(recorded.attempt)
        return HeldAnswer(recorded.seq, recorded.attempt, place) if place else None


def alike(borrower: Source, lender: Source) -> bool:
    """Return whether a source may use the responses of another: neither has secrets, both connect alike.

    It may not if the other is allowed hosts that it is not.
    """

    def connection_settings(source: Source) -> tuple[object, ...]:
        site = source.site
        secrets = (site.username, site.secret, site.key, source.credentials)
        return (any(secrets), site.proxy, site.ca_bundle, site.address_family)

    borrower_allowed, lender_allowed = borrower.site.allowed, lender.site.allowed
    may_reach = borrower_allowed.everything or (
        not lender_allowed.everything
        and {*lender_allowed.hosts} <= {*borrower_allowed.hosts}
        and {*lender_allowed.networks} <= {*borrower_allowed.networks}
    )
    return (
        may_reach
        and not connection_settings(borrower)[0]
        and connection_settings(borrower) == connection_settings(lender)
    )
