"""Addresses with the year, the Congress, the term or the week in them, as they are on a day."""

from __future__ import annotations

from datetime import date, timedelta

DAILY = "{day}"
"""In an address: it is another one every day, so that each is asked once."""


def filled(address: str, today: date) -> str:
    """Return an address as it is on a day.

    {year}, {day} (20261005), {week} (its Monday, likewise), {congress} and {session} of the United States, and {term}
    (two figures) of its Supreme Court. A Congress and its sessions begin on 3 January, a term in October.

    >>> filled("vote_menu_{congress}_{session}.xml", date(2026, 1, 2)), filled("{congress}/{term}", date(2027, 1, 3))
    ('vote_menu_119_1.xml', '120/26')
    """
    if "{" not in address:
        return address
    sitting = today.year if (today.month, today.day) >= (1, 3) else today.year - 1
    term = today.year if today.month >= 10 else today.year - 1
    words = {
        "year": str(today.year),
        "day": f"{today:%Y%m%d}",
        "week": f"{today - timedelta(days=today.weekday()):%Y%m%d}",
        "congress": str((sitting - 1789) // 2 + 1),
        "session": "1" if sitting % 2 else "2",
        "term": f"{term % 100:02}",
    }
    for name, value in words.items():
        address = address.replace(f"{{{name}}}", value)
    return address
