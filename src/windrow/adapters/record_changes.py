"""Find, count and describe the changes in a store of records, for `windrow changes`, `windrow diff` and summaries."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from windrow.adapters.adapter import ALL_FACTS, CHANGED, GONE, Comparison, SourceChange, Window
from windrow.errors import WindrowError
from windrow.formats.line_difference import compare_lines
from windrow.formats.text import counted, cut_around_difference, show
from windrow.ledger import Ledger
from windrow.model import DiffLine, TextChange
from windrow.query.tree import read_time_span
from windrow.reasons import Reason
from windrow.stores.record_entries import title_of
from windrow.stores.record_versions import RecordVersion, Removal
from windrow.stores.records import RecordStore

_MAX_SHORT_LENGTH = 200
"""The maximum number of characters of a field that is compared as a whole, if it is one line of text.

A field that is longer or has several lines is compared line by line.
"""
_MAX_FIELDS = 4
"""The maximum number of changed fields of a record that are shown. Further fields are only counted."""


def changes(
    store: RecordStore,
    ledger: Ledger,
    collection: str,
    window: Window,
    removal: Removal | None = None,
) -> Iterator[SourceChange]:
    """Yield the changes that the sessions of a window wrote, unordered.

    Each has the time of its attempt, or of its session if that is later. A version that states a `removal` is a change
    of the kind gone.
    """

    @lru_cache(maxsize=1_000)  # one answer may contain many records
    def attempt_time(attempt: int) -> datetime | None:
        attempts = ledger.attempts.by_numbers([attempt])
        return max(attempts[0].opened, attempts[0].attempt.started) if attempts else None

    for previous, version in store.written_versions(window.facts or ALL_FACTS, window.shown_by):
        if window.source not in {"", version.source}:
            continue
        at = attempt_time(version.attempt) or version.at
        if window.until is not None and at >= window.until:
            continue
        value = version.value
        difference = describe_difference(previous.value, value) if version.change == CHANGED and previous else ""
        removed = removal.text if removal and removal.states(value) else ""
        kind = GONE if removed else version.change
        yield SourceChange(
            at, version.source, collection, kind, version.key,
            title_of(value or (previous.value if previous else None), ""), removed or difference,
            version.url or (previous.url if previous else ""),
            _compare_fields(previous.value, value, 0)[1]
            if window.lines and version.change == CHANGED and previous else (),
            version.attempt,
        )  # fmt: skip


def compare(store: RecordStore, key: str, since: str, until: str, *, context: int) -> Comparison:
    """Compare the versions of a record at the ends of two periods, field by field, and long texts line by line.

    If `until` is empty, the latest version is used. If `since` is empty, the version before that one is used. `context`
    is the number of unchanged lines shown around a change. Raises WindrowError if the record had no version at the end
    of a period, or if one period is empty and there is no other version to compare with.
    """
    versions = [version for version in store.history(key) if version.change != "same"]
    new = _version_at(versions, until, key)
    old = _version_at(versions, since, key) if since else versions[max(0, versions.index(new) - 1)]
    if old is new and not (since and until):
        problem = f"had only one version at the end of {until}" if until else "has only one version so far"
        problem = f"has had no other version since the end of {since}" if since else problem
        raise WindrowError(f"{key} {problem}", hint=f"windrow why {shlex.quote(key)}", reason=Reason.NOT_FOUND)
    text_changes, lines = _compare_fields(old.value, new.value, context)
    added, removed = (sum(line.sign == sign for line in lines) for sign in "+-")
    gone_times = {version: version.at for version in (old, new) if version.value is None}
    return Comparison(
        key, f"{key} {show(old.at)}", old.at, f"{key} {show(new.at)}", new.at,
        "gone" if new.value is None else describe_difference(old.value, new.value), text_changes, added, removed, 0,
        lines, gone_times.get(old), gone_times.get(new),
    )  # fmt: skip


def _compare_fields(old: Any, new: Any, context: int) -> tuple[tuple[TextChange, ...], tuple[DiffLine, ...]]:
    """Return the changes of a record's short fields, and the changed lines of its long fields with their context."""
    old_fields, new_fields = _fields(old), _fields(new)
    changes: list[TextChange] = []
    lines: list[DiffLine] = []
    for name in dict.fromkeys((*old_fields, *new_fields)):
        before, after = old_fields.get(name, ""), new_fields.get(name, "")
        if max(len(before), len(after)) <= _MAX_SHORT_LENGTH and "\n" not in before + after:
            changes += [TextChange(name, before, after)] if before != after else []
        else:
            lines += compare_lines(before.splitlines(), after.splitlines(), context=context).lines
    return tuple(changes), tuple(lines)


def _version_at(versions: list[RecordVersion], period: str, key: str) -> RecordVersion:
    """Return a record's version at the end of a period (empty: the latest); raise WindrowError if there is none."""
    span = read_time_span(period)
    earlier_versions = [version for version in versions if span is None or version.at.timestamp() < span.end]
    if not earlier_versions:
        raise WindrowError(f"{key} was not known yet at the end of {period}", reason=Reason.NOT_FOUND)
    return earlier_versions[-1]


def _fields(value: Any) -> dict[str, str]:
    fields = value if isinstance(value, Mapping) else {} if value is None else {"record": value}
    return {
        name: field if isinstance(field, str) else json.dumps(field, ensure_ascii=False, sort_keys=True)
        for name, field in fields.items()
        if field is not None
    }


def count_versions(old_path: Path, new_path: Path) -> tuple[int, int, int]:
    """Return the numbers of versions in a store and in the new store that replaces it, and how many differ.

    The third number is the larger of two counts: versions only in the old store, and versions only in the new one.
    """
    with closing(RecordStore(old_path)) as old_store, closing(RecordStore(new_path)) as new_store:
        old_versions, new_versions = (
            Counter((version.key, version.digest, version.change) for version in store.versions())
            for store in (old_store, new_store)
        )
    lost, added = (old_versions - new_versions).total(), (new_versions - old_versions).total()
    return old_versions.total(), new_versions.total(), max(lost, added)


def attempts_with_lost_records(old_store: RecordStore, new_store: RecordStore, attempts: Iterable[int]) -> list[int]:
    """Return the attempts from which the old store has observed a key, and the new store has not."""
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
    if len(names) > _MAX_FIELDS:
        fields.append(counted(len(names) - _MAX_FIELDS, "more field"))
    return "; ".join(fields)


def _describe_change(old_value: Any, new_value: Any) -> str:
    old, new = cut_around_difference(_format_value(old_value), _format_value(new_value))
    return f"{old} -> {new}"


def _format_value(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return " ".join(text.split())
