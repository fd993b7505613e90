"""Whether a source stopped to say what it always said: apart from an empty season, and from one bad answer.

What answers brought so far is remembered for each address, with what was learned of its source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from windrow.collections.events.parser import Unread
from windrow.collections.events.reading import ReadEvent, WithdrawnEvent
from windrow.reasons import Reason

FIELDS = ("description", "end_datetime", "event_url", "location")
ANSWERS = 3
"""Answers in a row that make a habit."""

_FULL, _BARE, _FEW = 0.8, 0.2, 3


class DriftVerdict(NamedTuple):
    """What is to be remembered of an address, and in a sentence each what it does not say any more."""

    known: dict[str, Any]
    drifts: tuple[str, ...]


def judge(known: Mapping[str, Any], read: Sequence[ReadEvent | WithdrawnEvent | Unread]) -> DriftVerdict:
    """Compare an answer with what the earlier ones of its address brought.

    `known` has the answers in a row that had events, whether there was ever one without any, and the share of events
    that had each field.
    """
    events = [one for one in read if isinstance(one, ReadEvent)]
    row, empty = int(known.get("row", 0)), bool(known.get("empty", False))
    shares: Mapping[str, float] = known.get("shares", {})
    if not events:
        said = any(isinstance(one, Unread) and one.reason is Reason.PLACEHOLDER for one in read)
        if row >= ANSWERS and not empty and not said:
            return DriftVerdict(dict(known), (f"there is no event, where each of {row} answers before had some",))
        return DriftVerdict({**known, "row": 0, "empty": True}, ())
    filled = {name: round(sum(bool(one.value.get(name)) for one in events) / len(events), 3) for name in FIELDS}
    drifts = tuple(
        f"{name} is filled in {share:.0%} of {len(events)} events; it was in {shares[name]:.0%}"
        for name, share in filled.items()
        if row >= ANSWERS and len(events) >= _FEW and shares.get(name, 0.0) >= _FULL and share <= _BARE
    )
    if drifts:
        return DriftVerdict(dict(known), drifts)
    return DriftVerdict({"row": min(row + 1, 1_000_000), "empty": empty, "shares": filled}, ())
