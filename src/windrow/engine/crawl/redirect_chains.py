"""Redirects that lead from one to the next, over however many hosts: followed as far as browsers do."""

from __future__ import annotations

from windrow.engine.fetchers.message import Visited
from windrow.model import LeftOut
from windrow.reasons import Reason

HOPS = 20
"""Redirects one behind the other that are gone along with, as browsers do."""
ENDLESS_REDIRECTS = f"more than {HOPS} redirects, one behind the other"
_MOST = 10_000  # addresses that a redirect led to and that were not asked yet, as far as they are remembered


class RedirectChains:
    """Counts, of the addresses that redirects led to in this run, how many in a row did.

    It stands where the visits of all hosts come together: each walker sees one host only.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self._hops: dict[int, int] = {}

    def within(self, event: Visited) -> Visited:
        """Leave out what a redirect leads to where too many led there, each to an address of its own."""
        hops = self._hops.pop(event.visit.digest, 0) + 1
        if not event.visit.location or not event.found:
            return event
        if hops > HOPS:
            left = [LeftOut(one.digest, one.url, Reason.TRAP, ENDLESS_REDIRECTS) for one in event.found]
            return event._replace(found=(), left=(*event.left, *left))
        if len(self._hops) < _MOST:  # where there are more, what is counted ends first, and makes room
            self._hops |= {one.digest: hops for one in event.found}
        return event
