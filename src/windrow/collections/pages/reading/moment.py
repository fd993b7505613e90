"""Read the dates that pages state of themselves as seconds of UNIX time."""

from __future__ import annotations

from datetime import UTC

from windrow.formats.moment import written


def seconds(text: str) -> int | None:
    """Return the time that a date means, in the spellings of `formats.moment`; None where it means none.

    Without a zone it is UTC.

    >>> seconds("2024-03-01T12:00:00+01:00"), seconds("Thu, 01 Jan 1970 00:01:00 GMT"), seconds("yesterday")
    (1709290800, 60, None)
    """
    when = written(text)
    if when is None:
        return None
    try:
        return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())
    except OverflowError:
        return None
