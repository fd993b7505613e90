"""Follow: what is made from the store's own tables, such as an index, brought up to date with them."""

from __future__ import annotations

from windrow.engine.run import Run
from windrow.engine.sweep import seldom
from windrow.errors import WindrowError
from windrow.spec import Step


def follow_step(run: Run, step: Step) -> None:
    """Take a FOLLOW step: the harvest's follower of that phase does it, and is a task of its own."""
    follower = run.harvest.followers.get(step.phase)
    if follower is None:
        return
    task = run.open_task(run.collection.phase(step.phase))
    run.progress.begin(step.phase)

    def pulse() -> bool:
        run.tick()
        return not run.stopping()

    try:
        with seldom():
            told = follower(pulse)
    except WindrowError as error:
        # What it had committed stays, and the next run goes on from there.
        run.close_task(task, f"{step.phase}: {error}", error.reason, failed=True)
        raise
    else:
        run.close_task(task, told)
    finally:
        run.progress.end()
