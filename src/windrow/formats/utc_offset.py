"""Tell offsets from UTC from other times of day."""

from __future__ import annotations

from datetime import timedelta

_WESTMOST, _EASTMOST = timedelta(hours=-12), timedelta(hours=14)
"""The least and the greatest offset from UTC that zones have."""


def is_utc_offset(offset: timedelta | None) -> bool:
    """Return whether zones have this offset from UTC: whole quarters of an hour from -12:00 to +14:00, or None.

    Anything else is another time of day, as in `09:00-17:00`, or a mistake.

    >>> [is_utc_offset(timedelta(hours=hours)) for hours in (-17, -12, 5.75, 5.7)], is_utc_offset(None)
    ([False, True, True, False], True)
    """
    return offset is None or (_WESTMOST <= offset <= _EASTMOST and not offset % timedelta(minutes=15))
