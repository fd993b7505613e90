"""Count, by rule or cap, what a run leaves out of a source."""

from __future__ import annotations

from windrow.caps import COUNTED_RULES
from windrow.ledger import LedgerWriter
from windrow.ledger.sessions import OTHER_RULES, RuleCount
from windrow.reasons import Reason

MAX_RULES = COUNTED_RULES.number
"""The maximum number of rules of a source that are counted one by one. Further ones are counted together by reason."""


class LeftOutCounter:
    """Counts what each rule or cap leaves out of a source, and remembers the address of the first case."""

    def __init__(self) -> None:
        self._counts: dict[tuple[Reason, str], tuple[int, str]] = {}

    def add(self, reason: Reason, rule: str, number: int, example: str) -> None:
        """Add `number` to the count of a rule or cap; `example` is an address that it left out or left incomplete."""
        key = (reason, rule)
        if key not in self._counts and len(self._counts) >= MAX_RULES:
            key = (reason, OTHER_RULES)
        count, first_example = self._counts.get(key, (0, example))
        self._counts[key] = (count + number, first_example)

    def replace(self, reason: Reason, rule: str, number: int, example: str) -> None:
        """Set the count and the example of a rule, instead of adding to the count."""
        self._counts[reason, rule] = (number, example)

    def record(self, writer: LedgerWriter, session: int, collection: str, source: str, phase: int) -> None:
        """Record the count of each rule as a task of the source, the highest count first."""
        for (reason, rule), (count, url) in sorted(self._counts.items(), key=lambda rule_count: -rule_count[1][0]):
            task = writer.sessions.open_task(session, collection, source, phase)
            writer.sessions.close_task(
                task, reason, RuleCount(source, reason, rule, count, url).as_comment(), failed=False
            )
