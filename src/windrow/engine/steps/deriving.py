"""Derive: what is made from the store's own tables, such as an index, is brought up to date with them."""

from __future__ import annotations

from windrow.contract import Derive
from windrow.engine.run import Derived, HarvestRun
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
            made = derivation(pulse)
            told, failed = made if isinstance(made, Derived) else (made, {})
    except WindrowError as error:
        # What it had committed stays, and the next run goes on from there.
        run.close_task(task, f"{step.phase}: {error}", error.reason, failed=True)
        raise
    else:
        run.close_task(task, told)
        for source, why in failed.items():
            run.close_task(run.open_task(run.collection.phase(step.phase), source), f"{source}: {why}", failed=True)
    finally:
        run.progress.end()
