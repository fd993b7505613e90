"""Share responses between the collections of a run: an address that two of them want is requested once.

Only responses to plain GETs without secrets are shared, and only between sources with the same connection settings. The
pause between two requests to an origin applies to all collections together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from windrow.clock import now
from windrow.engine.run import HarvestRun
from windrow.ledger.typed.addresses import DueAddress
from windrow.model import Attempt, HeldAnswer, HttpRequest, RecordedAttempt, Source


class SharedAnswers:
    """The responses that earlier harvests of this session received, and that this harvest may use."""

    def __init__(self, run: HarvestRun) -> None:
        """Read the sources and request times that earlier harvests of the session stored."""
        self._run = run
        self._lenders = {  # by name, the sources of other collections
            name: source
            for name, source in run.session_requests.sources.items()
            if source.collection != run.collection.name
        }
        self._last_requests = dict(run.session_requests.last_requests) if self._lenders else {}
        self._own_last_requests: dict[str, float] = {}  # UNIX times by origin

    def note_request(self, origin: str, attempt: Attempt) -> None:
        """Note the time at which a request to an origin ended."""
        self._own_last_requests[origin] = attempt.started.timestamp() + attempt.seconds

    def leave_for_later(self, sources: Iterable[Source]) -> None:
        """Store this harvest's sources and request times for later harvests of the session."""
        self._run.session_requests.sources.update((source.name, source) for source in sources)
        for origin, last_request in self._own_last_requests.items():
            self._run.session_requests.last_requests[origin] = max(
                last_request, self._run.session_requests.last_requests.get(origin, 0.0)
            )

    def remaining_pause(self, source: Source, origin: str) -> float:
        """Return how many seconds a source must wait because another collection requested an origin, or 0."""
        last_request = self.last_request(origin)
        if not last_request:
            return 0.0
        delay = float(source.options.get("delay", source.pace or 0.0))
        return max(0.0, last_request + delay - now().timestamp())

    def last_request(self, origin: str) -> float:
        """Return the UNIX time of another collection's last request to an origin, or 0 if there was none."""
        return self._last_requests.get(origin, 0.0)

    def robots_answer(self, source: Source, origin: str) -> HeldAnswer | None:
        """Return the latest robots.txt that another collection received from an origin in this session.

        Return None if there is none, or if this source may not use it.
        """
        if origin not in self._last_requests:
            return None
        run = self._run
        recorded = run.ledger.captures.newest_rules(origin, run.session, run.collection.name)
        return (
            self._held_answer(source, recorded) if recorded and recorded.attempt.url == f"{origin}/robots.txt" else None
        )

    def answers_for(
        self, source: Source, origin: str, addresses: Iterable[DueAddress], requests: Mapping[int, HttpRequest]
    ) -> dict[int, HeldAnswer]:
        """Return the latest response that another collection got from each address in this session.

        The keys of the result and of `requests`, the stored requests, are digests of addresses. Addresses that are not
        requested by a plain GET are left out, and so are responses that this source may not use.
        """
        answers: dict[int, HeldAnswer] = {}
        if origin not in self._last_requests:
            return answers
        run = self._run
        for address in addresses:
            request = requests.get(address.digest)
            if request is not None and (request.method != "GET" or request.headers or request.attachments):
                continue
            recorded = run.ledger.captures.newest(address.digest, run.session, run.collection.name)
            if recorded is not None and (held_answer := self._held_answer(source, recorded)):
                answers[address.digest] = held_answer
        return answers

    def _held_answer(self, source: Source, recorded: RecordedAttempt) -> HeldAnswer | None:
        lender = self._lenders.get(recorded.source)
        if lender is None or recorded.attempt.kept is None or not may_share(source, lender):
            return None
        place = self._run.place_of(recorded.attempt)
        return HeldAnswer(recorded.seq, recorded.attempt, place) if place else None


def may_share(borrower: Source, lender: Source) -> bool:
    """Return whether the source `borrower` may use the responses of the source `lender`.

    Neither may have a user name or a secret, and their connection settings must be equal. The hosts and networks that
    the lender may reach must be allowed for the borrower too.
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
