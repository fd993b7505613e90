"""A run that ends itself at a point, by a signal: ROOT COLLECTION POINT SIGNAL.

The points are those of the collection's settling: before it, amid (when some visits are written) and after it.
"""

import os
import signal
import sys

from windrow.app import Windrow
from windrow.contract import Derive, Settle
from windrow.engine import session
from windrow.engine.steps import deriving, settling


def main(root, collection, point, name):
    """Run the workspace."""

    def end(run):
        if run.collection.name == collection:
            os.kill(os.getpid(), getattr(signal, name))

    def before_settling(run, step):
        end(run)
        settling.settle_step(run, step)

    def before_deriving(run, step):
        end(run)
        deriving.derive_step(run, step)

    def amid(work, page, upto):
        settle_page(work, page, upto)
        end(work._run)

    settle_page = settling.Settling._settle_page
    if point == "before":
        session.WORK[Settle] = before_settling
    elif point == "amid":
        settling.PAGE = 1
        settling.Settling._settle_page = amid
    else:
        session.WORK[Derive] = before_deriving
    Windrow(root).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
