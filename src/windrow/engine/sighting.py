"""Which addresses were met lately, in a bounded memory: most links of a page are on the page before."""

from __future__ import annotations

from array import array

SLOTS = 1 << 20
"""Addresses remembered; one more takes another's place, and is then offered to the ledger once again."""


class RecentUrls:
    """What one fetcher met; forgetting costs time, never an address."""

    def __init__(self) -> None:
        """Begin with nothing met."""
        self._slots = array("q", bytes(8 * SLOTS))

    def fresh(self, digest: int) -> bool:
        """Tell whether an address was not met lately, and remember it."""
        slot = digest & (SLOTS - 1)
        if self._slots[slot] == digest:
            return False
        self._slots[slot] = digest
        return True
