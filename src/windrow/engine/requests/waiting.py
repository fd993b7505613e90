"""Report how many documents of a collection wait for answers of services, since when, why, and what to do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from windrow.clock import now, spell
from windrow.formats.text import counted, show
from windrow.ledger import Ledger
from windrow.ledger.typed.addresses import AddressRow
from windrow.ledger.typed.attempts import AttemptRow

if TYPE_CHECKING:
    from windrow.contract import PendingAsk
    from windrow.engine.run import WaitingStore

_MAX_SHOWN_ATTEMPTS = 5
"""The maximum number of attempts at a request to a service that are shown."""

_DOCUMENTS_EXAMINED = 20
"""The maximum number of waiting documents whose requests are searched for the latest attempt."""


class ServiceWait(NamedTuple):
    """Documents of a collection that wait for services, whose names are joined in `service`.

    `since` is the start of the session that fetched the first document. `asked` is the time of the latest request to a
    service, or None if none was made. `why` is why the services have not answered. `command` is a command that may
    help.
    """

    collection: str
    service: str
    documents: int
    since: datetime
    asked: datetime | None
    why: str
    command: str

    def describe(self) -> str:
        """Return one line with the number of documents, the service, the reason and the command."""
        waiting = (
            f"{self.documents:,} documents have been waiting" if self.documents != 1 else "1 document has been waiting"
        )
        return f"{waiting} for {self.service} since {show(self.since)} UTC: {self.why}; try: {self.command}"


def service_wait(
    ledger: Ledger, collection: str, store: WaitingStore, configured: Collection[str]
) -> ServiceWait | None:
    """Return how many documents wait for services, why, and what to do, or None if no document waits.

    `configured` has the names of the services that have an address in the configuration.
    """
    count, first_attempt = store.count_waiting()
    if not count:
        return None
    (recorded,) = ledger.attempts.by_numbers([first_attempt]) or (None,)
    asks = [ask for waits in [*store.waiting(0).values()][:_DOCUMENTS_EXAMINED] for ask in waits]
    unsent = {ask.name for ask in asks if not ask.address}  # names of services that had no address
    addresses = _addresses_of(ledger, collection, asks)
    services = sorted(unsent | {address.source for address in addresses})
    attempts = (attempt for row in addresses for attempt in ledger.attempts.of_address(row.host, row.digest))
    last_attempt = max(attempts, key=attrgetter("seq"), default=None)
    why, command = why_waiting(last_attempt), f"windrow run {collection}"
    if unsent - {*configured}:
        why = "it has no address in the configuration: add one"
    elif not {*services} <= {*configured}:
        why, command = "it has no address in the configuration any more", "windrow replay"
    since = recorded.opened if recorded else now()
    asked = last_attempt and last_attempt.started
    return ServiceWait(collection, ", ".join(services), count, since, asked, why, command)


def _addresses_of(ledger: Ledger, collection: str, asks: Sequence[PendingAsk]) -> list[AddressRow]:
    digests = [ask.address for ask in asks if ask.address]
    return [address for digest in digests for address in ledger.addresses.of_sources(collection, digest)]


def why_waiting(attempt: AttemptRow | None) -> str:
    """Return why a request has no answer, according to its latest attempt. None means that it has not been made."""
    if attempt is None:
        return "the request has not been made yet"
    if attempt.reason is not None:
        detail = f" ({attempt.message[:200]})" if attempt.message and attempt.message != attempt.reason.meaning else ""
        return f"{attempt.reason}: {attempt.reason.meaning}{detail}"
    return f"it answered with status {attempt.status}, which says nothing about the document, or incompletely"


class WaitLine(NamedTuple):
    """A line about a waiting document, and its JSON message: kind, value, and whether to omit empty fields."""

    line: str
    kind: str
    value: Any
    omit_empty: bool = True


def describe_waits(ledger: Ledger, collection: str, waits: Mapping[int, Sequence[PendingAsk]]) -> list[WaitLine]:
    """Return lines about waiting attempts: the service of each request, and the latest attempts at it."""
    lines = []
    for number, asks in waits.items():
        for service in (ask.name for ask in asks if not ask.address):
            line = f"  waits for {service}, which had no address; when it has one: windrow run {collection}"
            lines.append(WaitLine(line, "wait", {"attempt": number, "service": service, "url": "", "attempts": 0}))
        for address in _addresses_of(ledger, collection, asks):
            attempts = ledger.attempts.of_address(address.host, address.digest)
            fields = {"attempt": number, "service": address.source, "url": address.url, "attempts": len(attempts)}
            line = f"  waits for {address.source} after {counted(len(attempts), 'request')}: {address.url}"
            lines.append(WaitLine(f"{line}; try: windrow run {collection}", "wait", fields))
            lines += [
                WaitLine(f"      {spell(attempt.started)}  {why_waiting(attempt)}", "service_attempt", attempt)
                for attempt in attempts[-_MAX_SHOWN_ATTEMPTS:]
            ]
    return lines
