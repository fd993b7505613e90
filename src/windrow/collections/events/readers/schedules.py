"""Find the days of a series of events from its `eventSchedule` (https://schema.org/Schedule)."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta, tzinfo
from itertools import chain, islice
from typing import Any, NamedTuple

from windrow.caps import SCHEDULE_DAYS
from windrow.collections.events.readers.expressions import json_to_text
from windrow.collections.events.times import zone_of
from windrow.errors import StepError
from windrow.reasons import Reason

_FREQUENCY = re.compile(r"P(\d{1,3})([DWMY])")
_FREQUENCIES = {"daily": "P1D", "weekly": "P1W", "monthly": "P1M", "yearly": "P1Y", "annually": "P1Y"}
_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_WEEKDAYS |= {name[:2]: number for name, number in _WEEKDAYS.items()}
_DURATION = re.compile(r"P(?:(\d{1,2})D)?(?:T(?:(\d{1,3})H)?(?:(\d{1,4})M)?)?")


class Occurrences(NamedTuple):
    """The starts and ends of a series, in ISO 8601; an end is empty if it is not known.

    `is_cut` is true if there are further ones after the window.
    """

    spans: list[tuple[str, str]]
    is_cut: bool


class ScheduleWindow(NamedTuple):
    """The days, both included, for which a series is read."""

    begin: date
    end: date


class _Rule(NamedTuple):
    start: date
    end: date | None
    repetitions: int  # 0: without end
    interval: int
    unit: str  # D, W, M or Y
    weekdays: frozenset[int]
    months: frozenset[int]
    month_days: frozenset[int]
    month_weeks: frozenset[int]  # 1 is the first of its weekday in the month, -1 the last
    except_days: frozenset[date]

    def matches(self, day: date) -> bool:
        by_unit = {"D": self._matches_day, "W": self._matches_week, "M": self._matches_month, "Y": self._matches_year}
        week, last_day = (day.day + 6) // 7, calendar.monthrange(day.year, day.month)[1]
        return (
            by_unit[self.unit](day)
            and (not self.weekdays or day.weekday() in self.weekdays)
            and (not self.months or day.month in self.months)
            and (not self.month_days or day.day in self.month_days)
            and (not self.month_weeks or not self.month_weeks.isdisjoint((week, -((last_day - day.day) // 7 + 1))))
        )

    def _matches_day(self, day: date) -> bool:
        return (day - self.start).days % self.interval == 0

    def _matches_week(self, day: date) -> bool:
        weeks = (_monday(day) - _monday(self.start)).days // 7
        return weeks % self.interval == 0 and (bool(self.weekdays) or day.weekday() == self.start.weekday())

    def _matches_month(self, day: date) -> bool:
        months = (day.year - self.start.year) * 12 + day.month - self.start.month
        return months % self.interval == 0 and self._matches_day_of_month(day)

    def _matches_year(self, day: date) -> bool:
        is_of_month = bool(self.months) or day.month == self.start.month
        return (day.year - self.start.year) % self.interval == 0 and is_of_month and self._matches_day_of_month(day)

    def _matches_day_of_month(self, day: date) -> bool:
        return bool(self.month_days or self.weekdays) or day.day == self.start.day

    def days(self, until: date) -> Iterator[date]:
        """Yield the days of the series up to `until`, without those that are excepted."""
        last = min(until, self.end or until)
        matching = filter(self.matches, map(self.start.__add__, map(timedelta, range((last - self.start).days + 1))))
        counted = islice(matching, self.repetitions) if self.repetitions else matching
        return (day for day in counted if day not in self.except_days)


def find_occurrences(event: Mapping[str, Any], window: ScheduleWindow) -> Occurrences:
    """Return the occurrences of an event with an `eventSchedule` that begin in a window, in order for each schedule.

    If there is none in the window, return the next one after it or, without such, the last one before it. The day of
    the event's own `startDate` is left out. Raise StepError if a schedule cannot be read.
    """
    schedules = event["eventSchedule"]
    schedules = schedules if isinstance(schedules, list) else [schedules]
    own_start = _text(event, "startDate")
    try:
        results = [_expand(schedule, own_start, window) for schedule in schedules]
    except OverflowError:
        raise StepError("it ends after the year 9999", Reason.UNSUPPORTED) from None
    spans = dict.fromkeys(chain.from_iterable(result.spans for result in results))
    return Occurrences(
        [span for span in spans if span[0][:10] != own_start[:10]], any(result.is_cut for result in results)
    )


def _expand(schedule: Any, own_start: str, window: ScheduleWindow) -> Occurrences:
    if not isinstance(schedule, dict):
        raise StepError("it is not an object", Reason.UNSUPPORTED)
    rule = _read_rule(schedule, own_start)
    horizon = rule.start + timedelta(days=SCHEDULE_DAYS.number)
    if horizon < window.end:
        raise StepError(f"it has {SCHEDULE_DAYS.rule}", Reason.UNSUPPORTED)
    before: date | None = None
    days: list[date] = []
    is_cut = False
    for day in rule.days(horizon):
        if day < window.begin:
            before = day
        elif day <= window.end or not (days or before):
            days.append(day)
        else:
            is_cut = True
            break
    if not days and before:
        days, is_cut = [before], False
    start_time = _text(schedule, "startTime") or own_start[11:]
    return Occurrences([_span(schedule, day, start_time) for day in days], is_cut)


def _read_rule(schedule: Mapping[str, Any], own_start: str) -> _Rule:
    frequency_text = _text(schedule, "repeatFrequency")
    frequency = _FREQUENCY.fullmatch(_FREQUENCIES.get(frequency_text.lower(), frequency_text))
    if frequency is None or frequency[1].strip("0") == "":
        raise StepError(f"its repeatFrequency is {frequency_text[:40]!r}", Reason.UNSUPPORTED)
    count = _text(schedule, "repeatCount") or "0"
    if not count.isdecimal():
        raise StepError(f"its repeatCount is {count[:40]!r}", Reason.UNSUPPORTED)
    end = _text(schedule, "endDate")
    return _Rule(
        _day(_text(schedule, "startDate") or own_start), _day(end) if end else None, int(count[:9]), int(frequency[1]),
        frequency[2], frozenset(map(_weekday, _texts(schedule, "byDay"))), _numbers(schedule, "byMonth", 1, 12),
        _numbers(schedule, "byMonthDay", 1, 31), _numbers(schedule, "byMonthWeek", -5, 5),
        frozenset(map(_day, _texts(schedule, "exceptDate"))),
    )  # fmt: skip


def _span(schedule: Mapping[str, Any], day: date, start_time: str) -> tuple[str, str]:
    """Return the start and the end of the occurrence on a day; without a time, it lasts the whole day."""
    if not start_time:
        return day.isoformat(), ""
    zone_name = _text(schedule, "scheduleTimezone")
    zone = zone_of(zone_name) if zone_name else None
    if zone_name and zone is None:
        raise StepError(f"its scheduleTimezone is {zone_name[:40]!r}", Reason.UNSUPPORTED)
    start, end = _moment(day, start_time, zone), None
    if end_time := _text(schedule, "endTime"):
        end = _moment(day, end_time, zone)
        if (start.tzinfo is None) != (end.tzinfo is None):
            raise StepError("only one of its times has a zone", Reason.UNSUPPORTED)
        end = _moment(day + timedelta(days=1), end_time, zone) if end < start else end
    elif duration_text := _text(schedule, "duration"):
        duration = read_duration(duration_text)
        if duration is None:
            raise StepError(f"its duration is {duration_text[:40]!r}", Reason.UNSUPPORTED)
        end = start + duration
    return start.isoformat(), end.isoformat() if end else ""


def read_duration(text: str) -> timedelta | None:
    """Return a duration in ISO 8601, of days, hours and minutes; None for any other text.

    >>> read_duration("P1DT2H30M"), read_duration("two hours")
    (datetime.timedelta(days=1, seconds=9000), None)
    """
    duration = _DURATION.fullmatch(text)
    if duration is None or text.endswith(("P", "T")):
        return None
    days, hours, minutes = (int(number or 0) for number in duration.groups())
    return timedelta(days=days, hours=hours, minutes=minutes)


def _moment(day: date, text: str, zone: tzinfo | None) -> datetime:
    try:
        clock = time.fromisoformat(text.removeprefix("T"))
    except ValueError:
        raise StepError(f"a time of it is {text[:40]!r}", Reason.UNSUPPORTED) from None
    return datetime.combine(day, clock if clock.tzinfo else clock.replace(tzinfo=zone))


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        raise StepError(f"a date of it is {text[:40]!r}", Reason.UNSUPPORTED) from None


def _weekday(text: str) -> int:
    name = re.split("[/:]", text)[-1].lower()
    if name not in _WEEKDAYS:
        raise StepError(f"a day of it is {text[:40]!r}", Reason.UNSUPPORTED)
    return _WEEKDAYS[name]


def _numbers(schedule: Mapping[str, Any], name: str, least: int, most: int) -> frozenset[int]:
    texts = _texts(schedule, name)
    numbers = frozenset(int(text) for text in texts if text.lstrip("-").isdecimal() and len(text) < 4)
    if len(numbers) < len(set(texts)) or not all(least <= number <= most and number for number in numbers):
        raise StepError(f"its {name} is {', '.join(texts)[:40]!r}", Reason.UNSUPPORTED)
    return numbers


def _texts(schedule: Mapping[str, Any], name: str) -> list[str]:
    contents = schedule.get(name)
    contents = contents if isinstance(contents, list) else [contents]
    return [text for content in contents if (text := _content_text(content))]


def _text(schedule: Mapping[str, Any], name: str) -> str:
    return next(iter(_texts(schedule, name)), "")


def _content_text(content: Any) -> str:
    if isinstance(content, dict):
        content = content.get("@value") or content.get("@id") or content.get("name")
    return (json_to_text(content) or "").strip()
