"""Changes in a store of records, for `windrow changes`, the summary of a run, and the status of sources."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from windrow.adapters.adapter import CHANGED, GONE, SourceChange, Window
from windrow.ledger import Ledger
from windrow.stores.record_entries import title_of
from windrow.stores.records import RecordStore

_MAX_LENGTH = 60
"""Characters shown of each value that changed."""
_CONTEXT = 20
"""Characters shown before the first difference in a long value."""
_MAX_FIELDS = 4
"""Changed fields that are shown of a record; further ones are counted."""


DescribeRemoval = Callable[[Any], str]
"""Returns a short text if a record's value says that its subject is gone, else an empty one."""


def changes(
    store: RecordStore, ledger: Ledger, collection: str, window: Window, away: DescribeRemoval = lambda _: ""
) -> Iterator[SourceChange]:
    """Yield the changes in a window, unordered, each at the time of its attempt.

    For a window since a time, the session before the first one is read too: it may have been running at that time.
    """

    @lru_cache(maxsize=1_000)  # one answer may hold many records
    def attempt_time(visit: int) -> datetime | None:
        attempts = ledger.attempts.by_numbers([visit])
        return max(attempts[0].opened, attempts[0].attempt.started) if attempts else None

    first, last = window.facts or (1, 2**62)
    for sessions in ((first, last), *([] if window.since is None else [(first - 1, first - 1)])):
        for before, version in store.written_versions(sessions):
            at = attempt_time(version.visit) or version.at
            if sessions[0] < first and window.since is not None and at < window.since:
                continue
            shown = version.value or (before.value if before else None)
            changed = describe_difference(before.value, version.value) if version.change == CHANGED and before else ""
            gone = away(version.value) if version.value is not None else ""
            kind = GONE if gone else version.change
            yield SourceChange(at, version.source, collection, kind, version.key, title_of(shown, ""), gone or changed)


def count_changes(
    store: RecordStore, facts: tuple[int, int], away: DescribeRemoval = lambda _: "", *, visited: bool = False
) -> dict[str, Counter[str]]:
    """Count new, changed and gone records by source: those written by the sessions between two facts.

    With `visited`, those observed by the attempts between them, whichever session wrote them.
    """
    counts: dict[str, Counter[str]] = {}
    for _, version in store.changed_versions(facts) if visited else store.written_versions(facts):
        gone = version.value is not None and away(version.value)
        counts.setdefault(version.source, Counter())[GONE if gone else version.change] += 1
    return counts


def count_versions(old: Path, new: Path) -> tuple[int, int, int]:
    """Return the number of versions in a store, in the one that replaces it, and in the new one only."""
    with closing(RecordStore(old)) as before, closing(RecordStore(new)) as after:
        old_versions = {(version.key, version.digest, version.change) for version in before.versions()}
        new_versions = [(version.key, version.digest, version.change) for version in after.versions()]
        return len(old_versions), len(new_versions), sum(version not in old_versions for version in new_versions)


def attempts_with_fewer_records(before: RecordStore, after: RecordStore, visits: Iterable[int]) -> list[int]:
    """Return the attempts that observe fewer records in the store `after` than in `before`, which it replaces."""
    lost = []
    for visit in visits:
        old_keys, new_keys = (
            {statement.key for statement in store.statements([visit]) if statement.reason is None}
            for store in (before, after)
        )
        lost += [visit] if old_keys - new_keys else []
    return lost


def describe_difference(before: Any, after: Any) -> str:
    """Describe in one line which fields of a record changed.

    >>> describe_difference({"start": "2026-11-24", "title": "Budget"}, {"start": "2026-11-25", "title": "Budget"})
    'start 2026-11-24 -> 2026-11-25'

    Of long texts with the same beginning, the part that differs is shown.

    >>> describe_difference({"text": "The old pump. " * 9 + "It works."}, {"text": "The old pump. " * 9 + "It leaks."})
    'text …p. The old pump. It works. -> …p. The old pump. It leaks.'
    """
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return _describe_change(before, after)
    names = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
    fields = [f"{name} {_describe_change(before.get(name), after.get(name))}" for name in names[:_MAX_FIELDS]]
    return "; ".join((*fields, *([f"{len(names) - _MAX_FIELDS} more fields"] if len(names) > _MAX_FIELDS else [])))


def _describe_change(before: Any, after: Any) -> str:
    """Show the old and the new value, of long ones from shortly before the first difference on."""
    old, new = _format_value(before), _format_value(after)
    alike = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    start = alike - _CONTEXT if max(len(old), len(new)) > _MAX_LENGTH and alike > _CONTEXT else 0
    return f"{_shorten(old, start)} -> {_shorten(new, start)}"


def _format_value(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return " ".join(text.split())


def _shorten(text: str, start: int) -> str:
    head = "\u2026" if start else ""
    return head + (text[start:] if len(text) - start <= _MAX_LENGTH else f"{text[start : start + _MAX_LENGTH]}\u2026")
