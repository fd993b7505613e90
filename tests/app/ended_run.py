"""A run that sends itself a signal at a point: arguments ROOT COLLECTION POINT SIGNAL.

The point is before, amid (when some attempts are written) or after the collection's settling.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from windrow.app import Windrow
from windrow.contract import Derive, Settle
from windrow.engine import session
from windrow.engine.run import HarvestRun
from windrow.engine.steps import settled_batches, settling, stepping


def main(root: Path, collection: str, point: str, name: str) -> None:
    """Run the workspace."""

    def end(run: HarvestRun) -> None:
        if run.collection.name == collection:
            os.kill(os.getpid(), getattr(signal, name))

    def before_settling(run: HarvestRun, step: Any) -> None:
        end(run)
        settling.settle_step(run, step)

    def before_deriving(run: HarvestRun, step: Any) -> None:
        end(run)
        stepping.derive_step(run, step)

    def settle_one_page(work: settling.Settling, page: list[settled_batches.SettledAttempt], upto: int) -> None:
        settle_page(work, page, upto)
        end(work._run)

    settle_page = settling.Settling._settle_batch
    if point == "before":
        session.WORK[Settle] = before_settling
    elif point == "amid":
        settled_batches.BATCH_SIZE = 1
        settling.Settling._settle_batch = settle_one_page  # type: ignore[method-assign, assignment]
    else:
        session.WORK[Derive] = before_deriving
    Windrow(root).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
