"""Waiting documents: how many of a collection wait for which service, since when, why, and what to do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from windrow.clock import now, spell
from windrow.formats.text import show
from windrow.ledger import Ledger
from windrow.ledger.typed.attempts import AttemptRow

if TYPE_CHECKING:
    from windrow.contract import PendingAsk
    from windrow.engine.run import WaitingStore

_ATTEMPTS = 5
"""Attempts at a service that are shown per document."""

_LOOKED_AT = 20
"""Waiting documents among whose requests the latest attempt is sought."""


class ServiceWait(NamedTuple):
    """Documents that wait for answers of a service: since when, why it has not answered, and the next command.

    `asked` is when the service was last asked for one of them, None if it was not asked yet.
    """

    collection: str
    service: str
    documents: int
    since: datetime
    asked: datetime | None
    why: str
    command: str

    def describe(self) -> str:
        """Return the wait as one line."""
        waiting = (
            f"{self.documents:,} documents have been waiting" if self.documents != 1 else "1 document has been waiting"
        )
        return f"{waiting} for {self.service} since {show(self.since)} UTC: {self.why}; try: {self.command}"


def service_wait(
    ledger: Ledger, collection: str, store: WaitingStore, configured: Collection[str]
) -> ServiceWait | None:
    """Return the services that documents of a collection wait for, or None; `configured` are its services."""
    count, first = store.count_waiting()
    if not count:
        return None
    (recorded,) = ledger.attempts.by_numbers([first]) or (None,)
    asks = [wait for waits in [*store.waiting(0).values()][:_LOOKED_AT] for wait in waits]
    services = sorted({row.source for ask in asks for row in ledger.addresses.of_sources(collection, ask.address)})
    last_attempt = max(
        (attempt for ask in asks for attempt in attempts(ledger, collection, ask)), key=attrgetter("seq"), default=None
    )
    reason_text, command = why_waiting(last_attempt), f"windrow run {collection}"
    if not {*services} <= {*configured}:
        reason_text, command = "it has no address in the configuration any more", "windrow replay"
    since = recorded.opened if recorded else now()
    return ServiceWait(
        collection, ", ".join(services), count, since, last_attempt and last_attempt.started, reason_text, command
    )


def attempts(ledger: Ledger, collection: str, ask: PendingAsk) -> Iterator[AttemptRow]:
    """Yield the attempts at the request of a step."""
    for row in ledger.addresses.of_sources(collection, ask.address):
        yield from ledger.attempts.of_address(row.host, row.digest)


def why_waiting(attempt: AttemptRow | None) -> str:
    """Return why there is no answer, from the latest attempt."""
    if attempt is None:
        return "it was not asked yet"
    if attempt.reason is not None:
        detail = f" ({attempt.message[:200]})" if attempt.message and attempt.message != attempt.reason.meaning else ""
        return f"{attempt.reason}: {attempt.reason.meaning}{detail}"
    return f"it answered with status {attempt.status}, which is about the server and not the document, or broke off"


class WaitLine(NamedTuple):
    """A line about a waiting document, and its JSON message: kind, value, and whether empty fields are left out."""

    line: str
    kind: str
    value: Any
    omit_empty: bool = True


def describe_waits(ledger: Ledger, collection: str, waits: Mapping[int, Sequence[PendingAsk]]) -> list[WaitLine]:
    """Return lines about waiting attempts: the service, its latest answers, and the next command."""
    lines = []
    for number, asks in waits.items():
        for row in (row for ask in asks for row in ledger.addresses.of_sources(collection, ask.address)):
            attempts_made = ledger.attempts.of_address(row.host, row.digest)
            fields = {"attempt": number, "service": row.source, "url": row.url, "attempts": len(attempts_made)}
            line = f"  waits for {row.source}, which was asked {len(attempts_made)} times: {row.url}"
            lines.append(WaitLine(f"{line}; try: windrow run {collection}", "wait", fields))
            shown_attempts = attempts_made[-_ATTEMPTS:]
            lines += [
                WaitLine(f"      {spell(attempt.started)}  {why_waiting(attempt)}", "service_attempt", attempt)
                for attempt in shown_attempts
            ]
    return lines
