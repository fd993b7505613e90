"""The tasks of one phase: one for each source whose documents it works on, timed and counted."""

from __future__ import annotations

from dataclasses import dataclass, field

from windrow.engine.ledger import LedgerWriter
from windrow.engine.run import HarvestRun
from windrow.reasons import Reason


@dataclass(slots=True)
class _Task:
    seq: int
    done: int = 0
    refused: int = 0
    broken: int = 0
    why: str = ""


@dataclass(slots=True)
class PhaseTasks:
    """One task for each source that a phase works on, with its counts; it begins with the source's first document."""

    run: HarvestRun
    phase: int
    _tasks: dict[str, _Task] = field(default_factory=dict)

    def open(self, writer: LedgerWriter, source: str) -> None:
        """Put the start of a source's task on record, once."""
        if source not in self._tasks:
            seq = writer.sessions.open_task(self.run.session, self.run.collection.name, source, self.phase)
            self._tasks[source] = _Task(seq)

    def count(self, writer: LedgerWriter, source: str, *, done: bool, broken: bool = False, why: str = "") -> None:
        """Count a document; `broken` where the fault is ours and not the document's, and `why` what it is."""
        self.open(writer, source)
        task = self._tasks[source]
        task.done += done
        task.refused += not done
        task.broken += broken
        if broken and not task.why:
            task.why = why

    def close(self, error: Exception | None = None, reason: Reason | None = None) -> None:
        """Put the end of every task on record; with an error all of them have failed."""
        with self.run.ledger.writing() as writer:
            for source, task in self._tasks.items():
                comment = f"{source}: {task.done} done, {task.refused} refused"
                comment += f"; {task.why}" if task.why else ""
                comment += f"; {error}" if error else ""
                failed = bool(error or task.broken)
                self.run.close_task(task.seq, comment, reason, failed=failed, writer=writer)
