"""What documents wait for: how many of a collection for which service, since when, why, and what goes on with them."""

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
"""Attempts at a service that are told of one document."""

_LOOKED_AT = 20
"""Documents that wait whose requests are looked at, for the latest answer."""


class ServiceWait(NamedTuple):
    """Documents that wait for answers of a service: `since` when the first was taken, `why` it has none, `command`.

    `asked` is when the service was last asked for one of them, None where it was not yet.
    """

    collection: str
    service: str
    documents: int
    since: datetime
    asked: datetime | None
    why: str
    command: str

    def told(self) -> str:
        """Say it in a line."""
        many = f"{self.documents:,} documents wait" if self.documents != 1 else "1 document waits"
        return f"{many} for {self.service} since {show(self.since)} UTC: {self.why}; try: {self.command}"


def service_wait(
    ledger: Ledger, collection: str, store: WaitingStore, configured: Collection[str]
) -> ServiceWait | None:
    """Return what the documents of a collection wait for, None where none does; `configured` are its services."""
    count, first = store.count_waiting()
    if not count:
        return None
    (recorded,) = ledger.attempts.visits_named([first]) or (None,)
    asks = [wait for waits in [*store.waiting(0).values()][:_LOOKED_AT] for wait in waits]
    services = sorted({row.source for ask in asks for row in ledger.addresses.of_sources(collection, ask.address)})
    last = max(
        (attempt for ask in asks for attempt in attempts(ledger, collection, ask)), key=attrgetter("seq"), default=None
    )
    why, command = why_waiting(last), f"windrow run {collection}"
    if not {*services} <= {*configured}:
        why, command = "it has no address in the configuration any more", "windrow replay"
    since = recorded.opened if recorded else now()
    return ServiceWait(collection, ", ".join(services), count, since, last and last.started, why, command)


def attempts(ledger: Ledger, collection: str, ask: PendingAsk) -> Iterator[AttemptRow]:
    """Yield the attempts to get the answer that a step asked for."""
    for row in ledger.addresses.of_sources(collection, ask.address):
        yield from ledger.attempts.of_address(row.host, row.digest)


def why_waiting(last: AttemptRow | None) -> str:
    """Say why there is no answer, by the latest attempt."""
    if last is None:
        return "it was not asked yet"
    if last.reason is not None:
        said = f" ({last.message[:200]})" if last.message and last.message != last.reason.meaning else ""
        return f"{last.reason}: {last.reason.meaning}{said}"
    return f"it answered with status {last.status}, which tells of the server and not of the document, or broke off"


class WaitTold(NamedTuple):
    """A line that tells what a document waits for, and the same as a kind of message and its value."""

    line: str
    kind: str
    value: Any
    omit_empty: bool = True


def waits_told(ledger: Ledger, collection: str, waits: Mapping[int, Sequence[PendingAsk]]) -> list[WaitTold]:
    """Tell what visits wait for: which service was asked, what it answered the last times, what goes on with them."""
    found = []
    for visit, asks in waits.items():
        for row in (row for ask in asks for row in ledger.addresses.of_sources(collection, ask.address)):
            made = ledger.attempts.of_address(row.host, row.digest)
            value = {"visit": visit, "service": row.source, "url": row.url, "attempts": len(made)}
            line = (
                f"  waits for {row.source}, which was asked {len(made)} times: {row.url}; try: windrow run {collection}"
            )
            found.append(WaitTold(line, "wait", value))
            last = made[-_ATTEMPTS:]
            found += [WaitTold(f"      {spell(one.started)}  {why_waiting(one)}", "attempt", one) for one in last]
    return found
