"""Times as web documents spell them: HTTP and mail dates, and the W3C's profile of ISO 8601."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST = 64
_SHORT = re.compile(r"(\d{4})(?:-(\d{2}))?", re.ASCII)


def moment(text: str) -> datetime | None:
    """Read a time as UTC; one without a zone is taken as UTC, one that is none as None.

    A year or a month alone is its first moment, as W3C dates allow them.

    >>> moment("Sun, 06 Nov 1994 08:49:37 GMT").isoformat(), moment("1997-07-16T19:20+01:00").isoformat()
    ('1994-11-06T08:49:37+00:00', '1997-07-16T18:20:00+00:00')
    >>> moment("2024-02").isoformat(), moment("soon")
    ('2024-02-01T00:00:00+00:00', None)
    """
    text = text.strip()
    if not text or len(text) > _LONGEST or not text.isascii():
        return None
    try:
        if short := _SHORT.fullmatch(text):
            return datetime(int(short[1]), int(short[2] or 1), 1, tzinfo=UTC)
        read = datetime.fromisoformat(text) if text[:4].isdigit() else parsedate_to_datetime(text)
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
