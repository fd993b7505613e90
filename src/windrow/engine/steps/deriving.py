"""Derive: what is made from the store's own tables, such as an index, brought up to date with them."""

from __future__ import annotations

from windrow.contract import Derive
from windrow.engine.run import HarvestRun
from windrow.engine.runtime import rare_gc
from windrow.errors import WindrowError


def derive_step(run: HarvestRun, step: Derive) -> None:
    """Bring up to date what the harvest derives in that phase; it is a task of its own."""
    derivation = run.harvest.derivations.get(step.phase)
    if derivation is None:
        return
    task = run.open_task(run.collection.phase(step.phase))
    run.progress.begin(step.phase)

    def pulse() -> bool:
        run.tick()
        return not run.stopping()

    try:
        with rare_gc():
            comment = derivation(pulse)
    except WindrowError as error:
        # What it had committed stays, and the next run goes on from there.
        run.close_task(task, f"{step.phase}: {error}", error.reason, failed=True)
        raise
    else:
        run.close_task(task, comment)
    finally:
        run.progress.end()
