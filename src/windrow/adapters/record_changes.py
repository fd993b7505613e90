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
from windrow.formats.text import cut_around_difference
from windrow.ledger import Ledger
from windrow.stores.record_entries import title_of
from windrow.stores.records import RecordStore

_MAX_FIELDS = 4
"""The most changed fields of a record that are shown; further ones are counted."""


DescribeRemoval = Callable[[Any], str]
"""Takes a record's value; returns a short text if the value states that its subject is gone, or an empty text."""


def changes(
    store: RecordStore,
    ledger: Ledger,
    collection: str,
    window: Window,
    describe_removal: DescribeRemoval = lambda _: "",
) -> Iterator[SourceChange]:
    """Yield the changes in a window, unordered, each at the time of its attempt.

    For a window since a time, the session before the window is read too: it may have been running at that time.
    """

    @lru_cache(maxsize=1_000)  # one answer may contain many records
    def attempt_time(attempt: int) -> datetime | None:
        attempts = ledger.attempts.by_numbers([attempt])
        return max(attempts[0].opened, attempts[0].attempt.started) if attempts else None

    first_fact, last_fact = window.facts or (1, 2**62)
    for sessions in ((first_fact, last_fact), *([] if window.since is None else [(first_fact - 1, first_fact - 1)])):
        for previous, version in store.written_versions(sessions):
            at = attempt_time(version.attempt) or version.at
            if sessions[0] < first_fact and window.since is not None and at < window.since:
                continue
            value = version.value or (previous.value if previous else None)
            difference = (
                describe_difference(previous.value, version.value) if version.change == CHANGED and previous else ""
            )
            removal = describe_removal(version.value) if version.value is not None else ""
            kind = GONE if removal else version.change
            yield SourceChange(
                at, version.source, collection, kind, version.key, title_of(value, ""), removal or difference,
                version.url or (previous.url if previous else ""),
            )  # fmt: skip


def count_changes(
    store: RecordStore,
    facts: tuple[int, int],
    describe_removal: DescribeRemoval = lambda _: "",
    *,
    visited: bool = False,
) -> dict[str, Counter[str]]:
    """Count the new, changed and gone records by source that the sessions of `facts` (first, last) wrote.

    With `visited`, the records that the attempts of `facts` observed are counted, whichever session wrote them.
    """
    counts: dict[str, Counter[str]] = {}
    for _, version in store.changed_versions(facts) if visited else store.written_versions(facts):
        removal = version.value is not None and describe_removal(version.value)
        counts.setdefault(version.source, Counter())[GONE if removal else version.change] += 1
    return counts


def count_versions(old_path: Path, new_path: Path) -> tuple[int, int, int]:
    """Return the numbers of versions in a store and in the new store that replaces it, and how many differ.

    A version that only one of the stores has differs; if both have such versions, they are counted as pairs.
    """
    with closing(RecordStore(old_path)) as old_store, closing(RecordStore(new_path)) as new_store:
        old_versions, new_versions = (
            Counter((version.key, version.digest, version.change) for version in store.versions())
            for store in (old_store, new_store)
        )
    lost, added = (old_versions - new_versions).total(), (new_versions - old_versions).total()
    return old_versions.total(), new_versions.total(), max(lost, added)


def attempts_with_fewer_records(old_store: RecordStore, new_store: RecordStore, attempts: Iterable[int]) -> list[int]:
    """Return those of the attempts of which the new store lacks a record that the old store has."""
    poorer_attempts = []
    for attempt in attempts:
        old_keys, new_keys = (
            {statement.key for statement in store.statements([attempt]) if statement.reason is None}
            for store in (old_store, new_store)
        )
        poorer_attempts += [attempt] if old_keys - new_keys else []
    return poorer_attempts


def describe_difference(old: Any, new: Any) -> str:
    """Describe in one line which fields of a record changed.

    >>> describe_difference({"start": "2026-11-24", "title": "Budget"}, {"start": "2026-11-25", "title": "Budget"})
    'start 2026-11-24 -> 2026-11-25'

    Of long texts with the same beginning, the part that differs is shown.

    >>> describe_difference({"text": "The old pump. " * 9 + "It works."}, {"text": "The old pump. " * 9 + "It leaks."})
    'text …p. The old pump. It works. -> …p. The old pump. It leaks.'
    """
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return _describe_change(old, new)
    names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
    fields = [f"{name} {_describe_change(old.get(name), new.get(name))}" for name in names[:_MAX_FIELDS]]
    return "; ".join((*fields, *([f"{len(names) - _MAX_FIELDS} more fields"] if len(names) > _MAX_FIELDS else [])))


def _describe_change(old_value: Any, new_value: Any) -> str:
    """Return the old and the new value, `old -> new`; of long values, a part that contains the first difference."""
    old, new = cut_around_difference(_format_value(old_value), _format_value(new_value))
    return f"{old} -> {new}"


def _format_value(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return " ".join(text.split())
