"""Sources that have the day and the time of day in separate fields."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.collections.events.reader import parser, read
from windrow.collections.events.collection import built_in_parser

MIDNIGHT = "2026-11-24T00:00:00"


def legistar(time: str | None) -> str:
    return json.dumps([{"EventGuid": "G", "EventBodyName": "Board", "EventDate": MIDNIGHT, "EventTime": time}])


@pytest.mark.parametrize(
    ("time", "start", "status"),
    [
        ("6:00 PM", "2026-11-24T23:00:00Z", "scheduled"),
        ("18:00", "2026-11-24T23:00:00Z", "scheduled"),
        ("Noon", "2026-11-24T17:00:00Z", "scheduled"),
        ("5:30 P.M. or immediately after the 4:00 P.M. Budget Committee", "2026-11-24T22:30:00Z", "scheduled"),
        ("9:30 a.m. (or upon adjournment of Finance)", "2026-11-24T14:30:00Z", "scheduled"),
        ("6:00 PM (Cancelled)", "2026-11-24T23:00:00Z", "cancelled"),
        ("", "2026-11-24T00:00:00Z", "scheduled"),
        (None, "2026-11-24T00:00:00Z", "scheduled"),
        ("Immediately following", "2026-11-24T00:00:00Z", "scheduled"),
        ("Cancelled", "2026-11-24T00:00:00Z", "cancelled"),
    ],
)
def test_the_clock_in_a_field_of_its_own_is_read_and_words_beside_it_are_noted(time, start, status):
    (event,), unread = read(legistar(time), "legistar")
    assert unread == []
    assert (event.value["datetime"], event.value["status"]) == (start, status)
    assert event.value["all_day"] == start.endswith("T00:00:00Z")
    has_words = bool(time) and (len(time) > 7 or time == "Cancelled")
    assert event.value.get("time_note") == (f"the source writes: {time}" if has_words else None)


@pytest.mark.parametrize(
    "time",
    [
        "Midnight", "six o'clock", "6 o'clock", "Immediately following the 5:30 P.M. Budget Committee",
        "5:30 or following the 6 PM session", "9:00 AM and 1:00 PM", "6:00 PM Mountain West",
    ],
)  # fmt: skip
def test_a_clock_that_is_not_understood_is_told_with_its_text_and_no_midnight(time):
    read_events, unread = read(legistar(time), "legistar")
    assert (read_events, [part.key for part in unread]) == ([], ["p/G"])
    assert time[:30] in unread[0].message.replace('\\"', '"')


@pytest.mark.parametrize(
    ("columns", "start", "end", "all_day"),
    [
        (
            {"start_date": f"{MIDNIGHT}.000", "start_time": "18:30", "end_time": "8:30 PM"},
            "2026-11-24T23:30:00Z", "2026-11-25T01:30:00Z", False,
        ),
        (
            {"date": f"{MIDNIGHT}.000", "time": "1899-12-30T18:30:00.000", "end_date": "2026-11-25T00:00:00.000",
             "end_time": "09:00:00"},
            "2026-11-24T23:30:00Z", "2026-11-25T14:00:00Z", False,
        ),
        (
            {"event_date": f"{MIDNIGHT}.000", "end_date": "2026-11-26T00:00:00.000"},
            "2026-11-24T00:00:00Z", "2026-11-26T00:00:00Z", True,
        ),
        ({"start": "2026-11-24T18:30:00.000"}, "2026-11-24T23:30:00Z", "", False),
        ({"start_time": "2026-11-24T18:30:00.000"}, "2026-11-24T23:30:00Z", "", False),
        ({"date": f"{MIDNIGHT}.000", "time": "TBD"}, "2026-11-24T00:00:00Z", "", True),
    ],
)  # fmt: skip
def test_floating_timestamps_of_socrata_are_days_or_local_times_with_the_clock_of_their_time_column(
    columns, start, end, all_day
):
    content = json.dumps([{":id": "row-1", "title": "Council", **columns}])
    (event,), unread = read(content, by=replace(built_in_parser("socrata"), zone="America/New_York"))
    assert unread == []
    assert [event.value[name] for name in ("datetime", "end_datetime", "all_day")] == [start, end, all_day]


def test_a_day_whose_time_is_in_utc_is_that_of_utc():
    rules = {"fields": {"id": "i", "title": "t", "start": "d", "start_time": "c"}, "naive_timezone": "UTC"}
    (event,), _ = read(json.dumps([{"i": 1, "t": "T", "d": MIDNIGHT, "c": "18:30"}]), by=parser("json", **rules))
    assert event.value["datetime"] == "2026-11-24T18:30:00Z"


NOTE = "the source writes: "


@pytest.mark.parametrize(
    ("day", "clock", "start", "status", "note"),
    [
        (f"{MIDNIGHT}-05:00", "6:00 PM", "2026-11-24T23:00:00Z", "scheduled", None),
        (f"{MIDNIGHT}Z", "6:00 PM", "2026-11-24T23:00:00Z", "scheduled", None),
        ("2026-11-24T05:00:00Z", "6:00 PM", "2026-11-24T23:00:00Z", "scheduled", None),
        (f"{MIDNIGHT}Z", "6:00 PM (Cancelled)", "2026-11-24T23:00:00Z", "cancelled", f"{NOTE}6:00 PM (Cancelled)"),
        (f"{MIDNIGHT}-08:00", "6:00 PM", "2026-11-24T23:00:00Z", "scheduled", f"{NOTE}{MIDNIGHT}-08:00 6:00 PM"),
        (f"{MIDNIGHT}Z", "7:00 PM", "2026-11-24T00:00:00Z", "scheduled", f"{NOTE}{MIDNIGHT}Z 7:00 PM"),
        ("2026-11-24T18:00:00-05:00", "6:00 PM", "2026-11-24T23:00:00Z", "scheduled", None),
        (
            "2026-11-24T18:00:00-05:00", "5:30 PM", "2026-11-24T23:00:00Z", "scheduled",
            f"{NOTE}2026-11-24T18:00:00-05:00 5:30 PM",
        ),
        (
            "2026-11-24T18:00:00-05:00", "9:00 AM and 1:00 PM", "2026-11-24T23:00:00Z", "scheduled",
            f"{NOTE}2026-11-24T18:00:00-05:00 9:00 AM and 1:00 PM",
        ),
        ("2026-11-24T18:00:00-05:00", "Cancelled", "2026-11-24T23:00:00Z", "cancelled", f"{NOTE}Cancelled"),
        ("2026-11-24T18:00:00-05:00", "", "2026-11-24T23:00:00Z", "scheduled", None),
        ("9999-12-31T23:00:00-00:30", "6:00 PM", "9999-12-31T23:30:00Z", "scheduled", f"{NOTE}9999-12-31T23:00:00-00:30 6:00 PM"),
    ],
)  # fmt: skip
def test_a_clock_beside_a_day_with_a_zone_is_read_or_noted(day, clock, start, status, note):
    fields = {"id": "i", "title": "t", "start": "d", "start_time": "c"}
    (event,), unread = read(json.dumps([{"i": 1, "t": "T", "d": day, "c": clock}]), "json", fields=fields)
    assert unread == []
    assert [event.value.get(name) for name in ("datetime", "status", "time_note")] == [start, status, note]
    assert not event.value["all_day"]


@pytest.mark.parametrize("day", [f"{MIDNIGHT}Z", f"{MIDNIGHT}-05:00"])
def test_a_clock_that_is_not_understood_beside_a_midnight_with_a_zone_is_told(day):
    fields = {"id": "i", "title": "t", "start": "d", "start_time": "c"}
    read_events, unread = read(json.dumps([{"i": 1, "t": "T", "d": day, "c": "six o'clock"}]), "json", fields=fields)
    assert (read_events, [part.key for part in unread]) == ([], ["p/1"])


@pytest.mark.parametrize(
    ("times", "start"),
    [
        ("<date>29-JUL-2026 08:30 AM</date>", "2026-07-29T12:30:00Z"),
        ("<date>29-JUL-2026</date><time>14:00:00</time>", "2026-07-29T18:00:00Z"),
        ("<date>29-JUL-2026</date><time/><time_iso_8601>14:00:00</time_iso_8601>", "2026-07-29T18:00:00Z"),
        ("<date>29-JUL-2026</date><time>2:30 p.m.</time>", "2026-07-29T18:30:00Z"),
        ("<date>29-JUL-2026 02:30 PM</date><time>02:30 PM</time>", "2026-07-29T18:30:00Z"),
        ("<date/><date_iso_8601>2026-07-29</date_iso_8601><time>02:30 PM</time>", "2026-07-29T18:30:00Z"),
        ("<date>29-JUL-2026</date><time>TBA</time>", "2026-07-29T00:00:00Z"),
        ("<date>29-JUL-2026</date>", "2026-07-29T00:00:00Z"),
    ],
)
def test_a_senate_hearing_has_the_clock_of_whichever_element_has_it(times, start):
    content = f"<css_meetings_scheduled><meeting><identifier>1</identifier>{times}<matter>M</matter></meeting></css_meetings_scheduled>"
    (event,), unread = read(content, by=built_in_parser("senate-hearings"))
    assert (event.value["datetime"], unread) == (start, [])
