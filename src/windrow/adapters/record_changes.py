"""What changed in a store of records: for the list of changes, the counts of a run, and the table of sources."""

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

_SHOWN = 60
"""Letters of a value that are shown of what changed."""
_BEFORE = 20
"""Letters that are shown before the first that differs, where that comes late in a long value."""
_FIELDS = 4
"""Fields of a record that are shown of what changed; of others the number is told."""


Away = Callable[[Any], str]
"""Says in some words that the thing of a record is gone, where the value tells that; empty for any other."""


def changes(
    store: RecordStore, ledger: Ledger, collection: str, window: Window, away: Away = lambda _: ""
) -> Iterator[SourceChange]:
    """Yield the records that came, changed or went, in no order: each at the time of the visit that said so.

    Where a time is asked for, the window begins with the first session after it: the one before may have been at work.
    """

    @lru_cache(maxsize=1_000)  # one answer may tell of many records
    def seen(visit: int) -> datetime | None:
        found = ledger.attempts.visits_named([visit])
        return max(found[0].opened, found[0].attempt.started) if found else None

    first, last = window.facts or (1, 2**62)
    for sessions in ((first, last), *([] if window.since is None else [(first - 1, first - 1)])):
        for before, one in store.written_versions(sessions):
            at = seen(one.visit) or one.at
            if sessions[0] < first and window.since is not None and at < window.since:
                continue
            shown = one.value or (before.value if before else None)
            told = difference(before.value, one.value) if one.change == CHANGED and before else ""
            gone = away(one.value) if one.value is not None else ""
            kind = GONE if gone else one.change
            yield SourceChange(at, one.source, collection, kind, one.key, title_of(shown, ""), gone or told)


def content(
    store: RecordStore, facts: tuple[int, int], away: Away = lambda _: "", *, visited: bool = False
) -> dict[str, Counter[str]]:
    """Count by source the records that came, changed or went, as sessions between two facts wrote it.

    With `visited`, as the visits between them said it, whichever session wrote that.
    """
    found: dict[str, Counter[str]] = {}
    for _, one in store.changed_versions(facts) if visited else store.written_versions(facts):
        gone = one.value is not None and away(one.value)
        found.setdefault(one.source, Counter())[GONE if gone else one.change] += 1
    return found


def count_versions(old: Path, new: Path) -> tuple[int, int, int]:
    """Count the versions in a store, in the one that replaces it, and those of the new one that the old one lacks."""
    with closing(RecordStore(old)) as before, closing(RecordStore(new)) as after:
        said = {(version.key, version.digest, version.change) for version in before.versions()}
        made = [(version.key, version.digest, version.change) for version in after.versions()]
        return len(said), len(made), sum(one not in said for one in made)


def visits_saying_less(before: RecordStore, after: RecordStore, visits: Iterable[int]) -> list[int]:
    """Return those visits that said something of a record in one store and do not in the one that replaces it."""
    lost = []
    for visit in visits:
        said, left = (
            {statement.key for statement in store.statements([visit]) if statement.reason is None}
            for store in (before, after)
        )
        lost += [visit] if said - left else []
    return lost


def difference(before: Any, after: Any) -> str:
    """Say in a line which fields of a record are other than before.

    >>> difference({"start": "2026-11-24", "title": "Budget"}, {"start": "2026-11-25", "title": "Budget"})
    'start 2026-11-24 -> 2026-11-25'

    Of long texts that begin alike, the part is shown in which they differ.

    >>> difference({"text": "The old pump. " * 9 + "It works."}, {"text": "The old pump. " * 9 + "It leaks."})
    'text …p. The old pump. It works. -> …p. The old pump. It leaks.'
    """
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return _turned(before, after)
    names = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
    told = [f"{name} {_turned(before.get(name), after.get(name))}" for name in names[:_FIELDS]]
    return "; ".join((*told, *([f"{len(names) - _FIELDS} more fields"] if len(names) > _FIELDS else [])))


def _turned(before: Any, after: Any) -> str:
    """Spell what a value was and is; of long ones that begin alike, from shortly before the first difference on."""
    old, new = _spelled(before), _spelled(after)
    alike = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    start = alike - _BEFORE if max(len(old), len(new)) > _SHOWN and alike > _BEFORE else 0
    return f"{_cut(old, start)} -> {_cut(new, start)}"


def _spelled(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return " ".join(text.split())


def _cut(text: str, start: int) -> str:
    head = "\u2026" if start else ""
    return head + (text[start:] if len(text) - start <= _SHOWN else f"{text[start : start + _SHOWN]}\u2026")
