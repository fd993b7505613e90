"""Summarise a workspace and be killed at a given transaction, before or after its commit: ROOT NUMBER WHEN."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.engine.visited import summarise
from windrow.collections.pages.database.store import SummaryStore
from windrow.engine.steps import settled_pages


class Dying(SummaryStore):
    """Ends its process with the n-th transaction."""

    number = 0
    last = int(sys.argv[2]) if __name__ == "__main__" else 0
    when = sys.argv[3] if __name__ == "__main__" else ""

    @contextmanager
    def _writing(self) -> Iterator[None]:
        Dying.number += 1
        mine = Dying.number == Dying.last
        with super()._writing():
            yield
            if mine and Dying.when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
        if mine:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    # Batches by count alone, however slow the machine is: rows are numbered in their order.
    settled_pages.SECONDS = 3600.0
    sys.exit(summarise(Path(sys.argv[1]), Dying))
