"""A collection without steps: listed files are fetched and stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from windrow.contract import Collection, Listing
from windrow.model import ListingEntry, Offer, OfferingSource, Source


def plan(source: Source, entries: Sequence[ListingEntry], options: Mapping[str, Any]) -> list[Offer]:
    """Offer every file."""
    return [
        Offer(f"{source.name}/{entry.name}", entry.name, entry.size, entry.modified, entry.name) for entry in entries
    ]


def prefer(owner: str, sources: Sequence[OfferingSource]) -> list[OfferingSource]:
    """Keep the order of sources."""
    return list(sources)


EMPTY = Collection(
    name="empty",
    phases=("get",),
    discovery=Listing(
        folders=("",), kind="page", list_phase="get", fetch_phase="get", plan=plan, prefer=prefer,
    ),
    steps=(),
)  # fmt: skip
