"""Record sessions and their tasks, read what rules left out, and find the facts that a session reports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Self

from windrow.digest import hash64
from windrow.ledger.batch import LedgerBatch
from windrow.ledger.typed.sessions import LeavingTask, SourceTask, TypedSessions
from windrow.reasons import Reason

OTHER_RULES = "other rules"
"""The name under which further rules are counted together once the maximum number of rules has been counted."""

_RULE_COMMENT = re.compile(r"(\d+) left out, such as (\S*): (.*)", re.DOTALL)


class RuleCount(NamedTuple):
    """The number of addresses or other things that a rule or cap left out of a source; `example` is the first one."""

    source: str
    reason: str
    rule: str
    addresses: int
    example: str

    def as_comment(self) -> str:
        """Return the count as the comment of a task, with at most 500 characters of the example.

        >>> RuleCount("blog", "query_denied", "q", 3, "https://a.example/?q").as_comment()
        '3 left out, such as https://a.example/?q: q'
        """
        return f"{self.addresses} left out, such as {_spell_example(self.example)}: {self.rule}"

    @classmethod
    def read(cls, source: str, reason: str, comment: str) -> Self | None:
        """Return the count from a comment that `as_comment` returned, or None if the comment has another form.

        >>> RuleCount.read("blog", "query_denied", "3 left out, such as https://a.example/?q: q")
        RuleCount(source='blog', reason='query_denied', rule='q', addresses=3, example='https://a.example/?q')
        """
        match = _RULE_COMMENT.fullmatch(comment)
        return cls(source, reason, match[3], int(match[1]), match[2]) if match else None


def _spell_example(example: str) -> str:
    return "%20".join(example[:500].split())  # a file name may have spaces, at which `RuleCount.read` would end it


class SessionQueries(TypedSessions):
    """Queries on sessions."""

    def identity(self) -> int:
        """Return the number that identifies the ledger and marks what belongs to it, or 0 before its first session."""
        first_session = self.first()
        return hash64(first_session) if first_session else 0

    def reported_facts(self, session: int) -> tuple[int, int]:
        """Return the facts (first, last) that the summary of a session covers. If it covers none, last < first.

        A session reports its own changes, and those after the last session that ended and had a task. A killed session
        that is followed by another reports nothing, and neither does a session without a task, such as for a decision.
        """
        row = self.get(session)
        assert row is not None
        reported_before = self.last_reported_before(session)
        reports_changes = row.ended is None and session == self.latest()
        reports_changes = reports_changes or (row.ended is not None and self.has_task(row.span))
        return reported_before + 1, row.last if reports_changes else reported_before

    def rule_counts(self, source: str) -> Iterator[tuple[SourceTask, RuleCount]]:
        """Yield the counts of what rules left out of a source, with their tasks, the latest first."""
        for task in self.counting_tasks(source):
            if task.reason and task.comment and (count := RuleCount.read(source, task.reason, task.comment)):
                yield task, count

    def counts_with_example(self, example: str) -> list[tuple[LeavingTask, RuleCount]]:
        """Return the counts of what rules left out whose first case is `example`, with their tasks."""
        spelled_example = _spell_example(example)
        counts = (
            (task, RuleCount.read(task.source or task.collection, task.reason, task.comment))
            for task in self.leaving_out(spelled_example)
        )
        return [(task, count) for task, count in counts if count and count.example == spelled_example]


class SessionWriter:
    """Writes sessions and their tasks."""

    def __init__(self, batch: LedgerBatch) -> None:
        self._batch = batch

    def open(self, holder: str, command: str) -> int:
        """Record that the process `holder` begins a session for `command`. Return the number of the fact."""
        self._batch.flush()
        number = self._batch.database.value("session_next_number")
        return self._batch.fact("session", holder, command, number)

    def close(self, session: int, outcome: int) -> int:
        """Record the end of a session with its exit code, `outcome`. Return the number of the fact."""
        return self._batch.fact("session_end", session, outcome)

    def open_task(self, session: int, collection: str, source: str, phase: int) -> int:
        """Record that a task begins: a phase of a source (empty: of the collection). Return the number of the task."""
        return self._batch.fact("task", session, collection, source, phase)

    def close_task(self, task: int, reason: Reason | None, comment: str, *, failed: bool) -> int:
        """Record the end of a task: whether it `failed`, a reason, and a comment. Return the number of the fact."""
        return self._batch.fact("task_end", task, int(failed), reason, comment)
