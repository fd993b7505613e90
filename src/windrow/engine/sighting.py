"""Which addresses were met lately, in a bounded memory: most links of a page are on the page before."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

SLOTS = 1 << 20
"""Addresses remembered; one more takes another's place, and is then offered to the ledger once again."""

REFERENCES = 200_000
"""References remembered as they were written."""


class Sightings:
    """What one fetcher met; forgetting costs time, never an address."""

    def __init__(self) -> None:
        """Begin with nothing met."""
        self._slots = array("q", bytes(8 * SLOTS))
        self._references: set[tuple[str, str]] = set()

    def fresh(self, digest: int) -> bool:
        """Tell whether an address was not met lately, and remember it."""
        slot = digest & (SLOTS - 1)
        if self._slots[slot] == digest:
            return False
        self._slots[slot] = digest
        return True

    def unread(self, origin: str, base: str, references: Iterable[str]) -> Iterator[str]:
        """Yield those references that have to be looked at.

        One that begins with a slash means the same on every page of its origin, and a whole URL
        means the same everywhere; the others are looked at each time.
        """
        met = self._references
        if len(met) > REFERENCES:
            met.clear()
        same = base.startswith(f"{origin}/")
        for reference in references:
            if reference.startswith(("/", "http")) and (same or reference[:1] == "h"):
                key = (origin, reference)
                if key in met:
                    continue
                met.add(key)
            yield reference
