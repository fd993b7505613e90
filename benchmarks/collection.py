"""A collection without steps: what is listed is fetched and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from windrow.contract import Collection, Listing, State
from windrow.model import Attempt, ListingEntry, Offer, OfferingHost, Source, Status
from windrow.reasons import Reason


def plan(source: Source, entries: Sequence[ListingEntry], options: Mapping[str, Any]) -> list[Offer]:
    """Offer everything."""
    return [
        Offer(f"{source.name}/{entry.name}", entry.name, entry.size, entry.modified, entry.name) for entry in entries
    ]


def prefer(owner: str, hosts: Sequence[OfferingHost]) -> list[OfferingHost]:
    """Take hosts as they come."""
    return list(hosts)


def arrived(attempt: Attempt) -> tuple[State, ...]:
    """Be done."""
    return ((1, Status.DONE),)


def failed(reason: Reason) -> State:
    """Have failed."""
    return (1, Status.FAILED)


EMPTY = Collection(
    name="empty",
    phases=("get",),
    discovery=Listing(
        folders=("",), kind="page", first=(1, Status.PENDING), refused=(1, Status.FAILED), plan=plan, prefer=prefer,
        arrived=arrived, failed=failed,
    ),
    steps=(),
)  # fmt: skip
