"""Summarise a workspace, killed at a given transaction, before or after its commit: arguments ROOT NUMBER WHEN."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.engine.recorded_attempts import summarise
from windrow.collections.pages.database.store import SummaryStore
from windrow.engine.steps import settled_batches, settling

BATCH = 80
"""The number of attempts that are settled in one transaction."""


class KillingStore(SummaryStore):
    """A store that kills its process at the n-th transaction."""

    number = 0
    last = int(sys.argv[2]) if __name__ == "__main__" else 0
    when = sys.argv[3] if __name__ == "__main__" else ""

    @contextmanager
    def _writing(self) -> Iterator[None]:
        KillingStore.number += 1
        is_last = KillingStore.number == KillingStore.last
        with super()._writing():
            yield
            if is_last and KillingStore.when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    # Batches are by count alone, not by time: rows are numbered in their order.
    settled_batches.MAX_GATHER_SECONDS = 3600.0
    for module in (settled_batches, settling):
        vars(module)["BATCH_SIZE"] = BATCH
    sys.exit(summarise(Path(sys.argv[1]), KillingStore))
