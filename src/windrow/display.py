"""Rows and columns as text, and numbers as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime


class Table(str):
    """Lines that were laid out here; no cell of them holds a line end."""

    __slots__ = ()


def table(head: Sequence[str], rows: Iterable[Sequence[object]], indent: str = "") -> Table:
    """Lay rows out under a head; numbers stand to the right.

    >>> print(table(["source", "new"], [["h", 12], ["jax", 3]]))
    source  new
    h        12
    jax       3
    """
    rows = list(rows)
    body = [[show(cell) for cell in row] for row in rows]
    right = [bool(rows) and all(isinstance(row[at], int) or row[at] is None for row in rows) for at in range(len(head))]
    widths = [max(len(line[at]) for line in (list(head), *body)) for at in range(len(head))]
    lines = []
    for line in (list(head), *body):
        cells = [
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(line, widths, right, strict=True)
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return Table("\n".join(lines))


def apart(parts: Iterable[str]) -> list[str]:
    """Put an empty line between parts.

    >>> apart(["a", "b"])
    ['a', '', 'b']
    """
    return [line for part in parts for line in ("", part)][1:]


def show(value: object) -> str:
    """Spell a value: times to the second in UTC, nothing as a dash, numbers with commas.

    >>> show(12345), show(None), show("")
    ('12,345', '-', '-')
    """
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None or value == "" else " ".join(str(value).split())


def size(count: float) -> str:
    """Spell bytes for people.

    >>> size(0), size(1234), size(5_600_000)
    ('0 B', '1.2 kB', '5.6 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def span(seconds: float) -> str:
    """Spell a duration for people.

    >>> span(3.21), span(75), span(7300)
    ('3.2 s', '1 min 15 s', '2 h 1 min')
    >>> span(86_400)
    '24 h'
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def counted(count: int, what: str) -> str:
    """Say how many there are of something.

    >>> counted(1, "crawl"), counted(0, "address"), counted(1200, "link")
    ('1 crawl', '0 addresses', '1,200 links')
    """
    return f"{count:,} {what}" + ("" if count == 1 else "es" if what.endswith("s") else "s")


def of(name: str, told: str) -> str:
    """Put a name before what is told of it, once.

    >>> of("jax", "no answer"), of("jax", "jax: no answer")
    ('jax: no answer', 'jax: no answer')
    """
    return told if told.startswith(f"{name}: ") else f"{name}: {told}"
