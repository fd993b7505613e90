"""Read the dates that pages state of themselves as seconds of UNIX time."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST = 60
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:[.,]\d+)? ?(Z|[+-]\d\d:?\d\d|[+-]\d\d)?)?")


def seconds(written: str) -> int | None:
    """Return the time that an ISO 8601 or an HTTP date means; None where it means none. Without a zone it is UTC.

    >>> seconds("2024-03-01T12:00:00+01:00"), seconds("Thu, 01 Jan 1970 00:01:00 GMT"), seconds("yesterday")
    (1709290800, 60, None)
    """
    written = written.strip()
    if not written or len(written) > _LONGEST or not written.isascii():
        return None
    found = _ISO.match(written)
    try:
        if found:
            day, time, zone = found.groups()
            when = datetime.fromisoformat(f"{day}T{time or '00:00'}{(zone or 'Z').upper()}")
        else:
            when = parsedate_to_datetime(written)
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        return int(when.timestamp())
    except (ValueError, OverflowError, TypeError):
        return None
