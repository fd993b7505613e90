"""Addresses with the year, the Congress, the term or the week in them, as they are on a day."""

from __future__ import annotations

from datetime import datetime, timedelta

MOVING = ("{day}", "{hour}")
"""In an address: it is another one every day or hour, so that each is asked once."""

_NIGHT = timedelta(hours=6)


def filled(address: str, at: datetime) -> str:
    """Return an address as it is at a time, by the clock of the source.

    {year}, {day} (20261005), {week} (its Monday, likewise), {sunday} and {saturday} (10042026) of its week, {hour}
    (2026100514), {legislative_day}, which may pass midnight, {congress} and {session} of the United States, and {term}
    (two figures) of its Supreme Court. A Congress and its sessions begin on 3 January, a term in October.

    >>> filled("{congress}_{session}.xml", datetime(2026, 1, 2)), filled("{congress}/{term}", datetime(2027, 1, 3))
    ('119_1.xml', '120/26')
    """
    if "{" not in address:
        return address
    today = at.date()
    sitting = today.year if (today.month, today.day) >= (1, 3) else today.year - 1
    term = today.year if today.month >= 10 else today.year - 1
    sunday = today - timedelta(days=today.isoweekday() % 7)
    words = {
        "year": str(today.year),
        "day": f"{today:%Y%m%d}",
        "hour": f"{at:%Y%m%d%H}",
        "legislative_day": f"{at - _NIGHT:%Y%m%d}",
        "week": f"{today - timedelta(days=today.weekday()):%Y%m%d}",
        "sunday": f"{sunday:%m%d%Y}",
        "saturday": f"{sunday + timedelta(days=6):%m%d%Y}",
        "congress": str((sitting - 1789) // 2 + 1),
        "session": "1" if sitting % 2 else "2",
        "term": f"{term % 100:02}",
    }
    for name, value in words.items():
        address = address.replace(f"{{{name}}}", value)
    return address
