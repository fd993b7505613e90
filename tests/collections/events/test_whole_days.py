"""Events that last whole days: they have the days that their source writes, in any zone."""

import json

import pytest

from tests.collections.events.reader import read

DAY_FIELDS = {"title": "t", "start": "s", "end": "e", "all_day": "a"}


@pytest.mark.parametrize(("zone", "start", "end", "days", "notes"), [
    ("America/New_York", "2026-12-01T00:00:00Z", "2026-12-01T23:59:59Z", ("2026-12-01", "2026-12-01"), {}),
    ("America/New_York", "2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z", ("2026-12-01", "2026-12-01"), {}),
    ("America/New_York", "2026-12-01T00:00:00-05:00", "2026-12-04T00:00:00-05:00", ("2026-12-01", "2026-12-03"), {}),
    ("America/New_York", "2026-12-01 00:00", "2026-12-01 00:00", ("2026-12-01", "2026-12-01"), {}),
    ("America/New_York", "2026-12-01", "2026-12-02", ("2026-12-01", "2026-12-02"), {}),
    ("America/New_York", "2026-12-01T05:00:00Z", "", ("2026-12-01", ""), {}),
    ("Asia/Tokyo", "2026-12-01T00:00:00Z", "", ("2026-12-01", ""), {}),
    ("Asia/Tokyo", "2026-11-30T15:00:00Z", "", ("2026-12-01", ""), {}),
    ("America/New_York", "1796083200", "", ("2026-12-01", ""), {}),
    ("America/New_York", "2026-12-01 09:00", "", ("2026-12-01", ""), {"time_note": "the source writes: 2026-12-01 09:00"}),
    ("America/New_York", "2026-12-01", "2026-12-02 22:00", ("2026-12-01", "2026-12-02"),
     {"end_note": "the source writes: 2026-12-02 22:00"}),
])  # fmt: skip
def test_an_event_of_whole_days_has_the_days_that_its_source_writes(zone, start, end, days, notes):
    row = {"t": "A", "s": start, "e": end, "a": "" if len(start) == len("2026-12-01") and "-" in start else "true"}
    (read_event,), _ = read(json.dumps([row]), "json", zone=zone, fields=DAY_FIELDS)
    value = read_event.value
    assert (value["datetime"][:10], (value["end_datetime"] or "")[:10]) == days
    assert (value["all_day"], value["local_datetime"]) == (True, days[0])
    assert {name: value[name] for name in ("time_note", "end_note") if name in value} == notes


@pytest.mark.parametrize(("exclusive_end", "event", "last"), [
    (False, {"s": {"date": "2026-12-25"}, "end": {"date": "2026-12-26"}}, "2026-12-25"),  # Google Calendar's API
    (False, {"s": {"date": "2026-12-25"}, "end": {"date": "2026-12-26", "label": "x"}}, "2026-12-26"),
    (True, {"s": {"date": "2026-12-25"}, "end": "2026-12-28"}, "2026-12-27"),  # FullCalendar
    (True, {"s": {"date": "2026-12-25"}, "end": "2026-12-25"}, "2026-12-25"),
])  # fmt: skip
def test_a_day_may_be_the_one_after_the_last(exclusive_end, event, last):
    fields = {"title": "t", "start": "s.date", "end": "end.date|end"}
    (read_event,), _ = read(json.dumps([{"t": "A"} | event]), "json", fields=fields, exclusive_end=exclusive_end)
    assert (read_event.value["datetime"][:10], read_event.value["end_datetime"][:10]) == ("2026-12-25", last)
