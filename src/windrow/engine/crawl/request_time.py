"""How long a run may request addresses, before it reads what it has got."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from time import monotonic

from windrow.engine.crawl.source_tally import SourceTally
from windrow.engine.run import HarvestRun
from windrow.reasons import Reason

LATE_RULE = "an address is left to the next run, since the time for requests is over (the setting run.request_deadline)"


class RequestTime:
    """The time for the requests of a crawl, from now on.

    The documents of all sites are read after the last request, so a site that answers a byte a second would keep those
    of the others unread for hours.
    """

    def __init__(self, run: HarvestRun) -> None:
        self._run = run
        self._end = monotonic() + (run.settings.request_deadline or math.inf)
        self.is_over = False
        """Whether the time is over, as `check` has found."""

    def check(self) -> bool:
        """Return whether the time is over."""
        self.is_over = self.is_over or monotonic() >= self._end
        return self.is_over

    def count_late(self, tallies: Mapping[str, SourceTally], now: int) -> None:
        """If the time is over, count the addresses of each source that are due at `now` (UNIX seconds) as left out."""
        if not self.is_over:
            return
        due, examples = Counter[str](), dict[str, str]()
        for source, origin, number in self._run.ledger.addresses.due_by_host(self._run.collection.name, now):
            due[source] += number
            examples.setdefault(source, origin)
        for source in tallies.keys() & due.keys():
            tallies[source].left_out.add(Reason.STOPPED, LATE_RULE, due[source], examples[source])
