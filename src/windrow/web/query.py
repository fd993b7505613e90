"""Read the query of an address: times, names, numbers and cursors, each refused with a message if it is not valid."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from windrow.adapters.adapter import ALL_FACTS
from windrow.caps import WEB_NAME_CHARACTERS
from windrow.clock import from_unix_time
from windrow.errors import ConfigError, UsageError
from windrow.query.tree import read_time_span
from windrow.settings.kinds import read_duration

BAD_CURSOR = "cursor is not one that a page of this view gave"


class Cursor(NamedTuple):
    """The place of a change in a list: the number of its fact, and a digest by which it differs from its others.

    >>> PageQuery({"cursor": str(Cursor(12, "00ff00ff00ff00ff"))}, datetime.now(UTC)).cursor()
    Cursor(fact=12, digest='00ff00ff00ff00ff')
    """

    fact: int
    digest: str

    def __str__(self) -> str:
        return f"{self.fact}-{self.digest}"


class PageQuery:
    """The parameters of a request, and the time at which it is answered."""

    def __init__(self, parameters: Mapping[str, str], now: datetime) -> None:
        self._parameters = parameters
        self.now = now

    def __str__(self) -> str:
        """Return all parameters as one text, by which an answer may be kept."""
        return repr(sorted(self._parameters.items()))

    def text(self, name: str) -> str:
        """Return a parameter without spaces around it, or ""; raise UsageError if it is too long."""
        text = self._parameters.get(name, "").strip()
        if len(text) > WEB_NAME_CHARACTERS.number:
            raise UsageError(f"{name} has {WEB_NAME_CHARACTERS.rule}")
        return text

    def choice(self, name: str, choices: Iterable[str]) -> str:
        """Return a parameter that is one of `choices` or empty; raise UsageError for any other."""
        text = self.text(name)
        if text and text not in choices:
            raise UsageError(f"{name}: {text!r} is not one of {', '.join(choices)}")
        return text

    def number(self, name: str, default: int, most: int) -> int:
        """Return a parameter as a number from 0 to `most`, or `default`; raise UsageError for any other."""
        text = self.text(name)
        if not text:
            return default
        if not (text.isascii() and text.isdecimal()) or len(text) > 18 or int(text) > most:
            raise UsageError(f"{name}: {text!r} is not a number from 0 to {most:,}")
        return int(text)

    def time(self, name: str, default: str, *, is_end: bool = False) -> datetime | None:
        """Return a time given as today, yesterday, a duration before now, a date or a time in UTC.

        A date means its beginning or, with `is_end`, its end. Return None for an empty text; raise UsageError for any
        other.
        """
        text = self.text(name) or default
        if not text:
            return None
        midnight = self.now.replace(hour=0, minute=0, second=0, microsecond=0)
        if text in {"today", "yesterday"}:
            return midnight + timedelta(days=is_end - (text == "yesterday"))
        if span := read_time_span(text):
            return from_unix_time(span.end if is_end else span.start)
        try:
            moment = datetime.fromisoformat(text)
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except (ValueError, OverflowError):  # the latter of a time outside the years 1 to 9999 in UTC
            pass
        try:
            return self.now - timedelta(seconds=read_duration(text))
        except (ConfigError, OverflowError):
            raise UsageError(f"{name}: {text!r} is not a date, a time, or a duration such as 24h or 7d") from None

    def cursor(self) -> Cursor | None:
        """Return the place of the last line of the page before, or None; raise UsageError if it is not a cursor."""
        text = self.text("cursor")
        parts = re.fullmatch(r"([0-9]{1,19})-([0-9a-f]{16})", text)
        if text and (parts is None or int(parts[1]) > ALL_FACTS[1]):
            raise UsageError(BAD_CURSOR)
        return Cursor(int(parts[1]), parts[2]) if parts else None


def refuse_unknown_parameters(asked: Iterable[tuple[str, str]], known: Collection[str]) -> None:
    """Raise UsageError for a parameter that a page does not read, or that is given twice.

    Names that begin with `_` or `utm_`, which other programs add to addresses, are ignored.
    """
    names = [name for name, _ in asked if not name.startswith(("_", "utm_"))]
    for name in names:
        if name not in known:
            raise UsageError(f"{name[:100]!r} is none of the parameters {', '.join(known) or '(there are none)'}")
        if names.count(name) > 1:
            raise UsageError(f"{name} is given more than once")
