"""A collection without steps: what is listed is fetched and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from windrow.contract import Collection, Listing
from windrow.model import ListingEntry, Offer, OfferingHost, Source


def plan(source: Source, entries: Sequence[ListingEntry], options: Mapping[str, Any]) -> list[Offer]:
    """Offer everything."""
    return [
        Offer(f"{source.name}/{entry.name}", entry.name, entry.size, entry.modified, entry.name) for entry in entries
    ]


def prefer(owner: str, hosts: Sequence[OfferingHost]) -> list[OfferingHost]:
    """Take hosts as they come."""
    return list(hosts)


EMPTY = Collection(
    name="empty",
    phases=("get",),
    discovery=Listing(
        folders=("",), kind="page", list_phase="get", fetch_phase="get", plan=plan, prefer=prefer,
    ),
    steps=(),
)  # fmt: skip
