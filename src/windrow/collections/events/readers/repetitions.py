"""Find the repetitions of a VEVENT from its RRULE, EXRULE, RDATE and EXDATE (RFC 5545, section 3.8.5)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import partial
from typing import Any

from windrow.errors import StepError
from windrow.reasons import Reason

_RULE_FILTERS = frozenset({"BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYSETPOS", "BYEASTER"})
CUT_SERIES = "has repetitions after the time of the setting `recurrence_ahead`"
"""The end of the message about an event whose later repetitions are not read."""

UNTIL = re.compile(r"UNTIL=(\d{8})(T\d{6})?Z?")
"""Matches the end of a rule; its groups are the day, and the time, which may be missing."""


def all_repetitions(
    event: Any, zone: tzinfo | None, local_zone: tzinfo
) -> tuple[Iterable[datetime], dict[datetime, timedelta]]:
    """Return the local starts of all repetitions, and a dict from local start to the duration that an RDATE states.

    `zone` is the zone of DTSTART, or None; `local_zone` is the zone of the local times. Raise StepError for a rule that
    `_refuse_endless` refuses.
    """
    from dateutil.rrule import rruleset, rrulestr  # noqa: PLC0415 comes with the library

    starts, first_start = rruleset(), _to_naive(event.get("DTSTART").dt, None)
    is_all_day = not isinstance(event.get("DTSTART").dt, datetime)
    to_local = partial(_to_day if is_all_day else _to_naive, zone=local_zone)
    for name, add_rule in (("RRULE", starts.rrule), ("EXRULE", starts.exrule)):
        for rule in as_list(event.get(name)):
            _refuse_endless(rule)
            rule_text = UNTIL.sub(
                partial(_until_in_zone, zone=zone, local_zone=None if is_all_day else local_zone),
                rule.to_ical().decode(),
            )
            add_rule(rrulestr(rule_text, dtstart=first_start, ignoretz=True))
    starts.rdate(first_start)  # it counts even if the rule does not give it (RFC 5545, section 3.8.5.3)
    durations: dict[datetime, timedelta] = {}
    for period in dates_of(event, "RDATE"):
        begin, end = period if isinstance(period, tuple) else (period, None)
        local_begin = to_local(begin)
        if not isinstance(begin, datetime):  # a day alone has the time of the first start
            local_begin = datetime.combine(local_begin, first_start.time())
        starts.rdate(local_begin)
        if end is not None:
            durations[local_begin] = end if isinstance(end, timedelta) else end - begin
    for period in dates_of(event, "EXDATE"):
        starts.exdate(to_local(period[0] if isinstance(period, tuple) else period))
    return starts, durations


def _refuse_endless(rule: Any) -> None:
    """Raise StepError for a rule whose expansion by the library would take very long, or never end.

    For an hourly, minutely or secondly rule with filters, the library tries each hour, minute or second until one
    passes, which may never happen.
    """
    frequency = str((rule.get("FREQ") or [""])[0]).upper()
    if 0 in rule.get("INTERVAL", ()):
        raise StepError("the RRULE has INTERVAL=0", Reason.NOT_WELL_FORMED)
    filters = _RULE_FILTERS & {name.upper() for name in rule}
    if frequency in {"SECONDLY", "MINUTELY", "HOURLY"} and filters:
        problem = f"the RRULE is not expanded, as it has FREQ={frequency} and {', '.join(sorted(filters))}"
        raise StepError(problem, Reason.NOT_WELL_FORMED)


def dates_of(event: Any, name: str) -> list[Any]:
    """Return the days, times and periods in all properties `name`; a period is (begin, end or duration)."""
    return [entry.dt for ical_property in as_list(event.get(name)) for entry in ical_property.dts]


def _until_in_zone(until: re.Match[str], zone: tzinfo | None, local_zone: tzinfo | None) -> str:
    """Return a rule's UNTIL without a zone. A time in UTC is converted to `zone`; a day becomes its last second.

    If the start has no zone, some calendars write a local time as UTC nevertheless, so that the later of this time and
    the time in `local_zone` is used. For days, both zones are None.
    """
    if not until[2] or not until[0].endswith("Z") or (zone or local_zone) is None:
        return f"UNTIL={until[1]}{until[2] or 'T235959'}"
    written = datetime.strptime(until[1] + until[2], "%Y%m%dT%H%M%S")  # noqa: DTZ007 its zone is in question
    local_time = written.replace(tzinfo=UTC).astimezone(zone or local_zone).replace(tzinfo=None)
    return (local_time if zone else max(written, local_time)).strftime("UNTIL=%Y%m%dT%H%M%S")


def _to_naive(moment: date | datetime, zone: tzinfo | None) -> datetime:
    """Return a day or time as a datetime without a zone; a time with a zone is converted to `zone` first."""
    if not isinstance(moment, datetime):
        return datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001 the rule is evaluated in local times
    return (moment.astimezone(zone) if moment.tzinfo and zone else moment).replace(tzinfo=None)


def _to_day(moment: date | datetime, zone: tzinfo | None) -> datetime:
    """Return the day that a date of an all-day event means: that of a midnight in `zone`, or else the one written."""
    local_time = _to_naive(moment, zone)
    is_midnight = local_time.time() == time.min
    return local_time if is_midnight else datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001


def as_list(entries: Any) -> list[Any]:
    """Return the properties with one name as a list; the library has one, a list or None."""
    return [] if entries is None else list(entries) if isinstance(entries, list) else [entries]
