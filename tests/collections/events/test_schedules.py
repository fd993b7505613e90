"""Series of events in JSON-LD (https://schema.org/Schedule) are read as their occurrences, or told with their text."""

import json

import pytest

from tests.collections.events.reader import read
from windrow.reasons import Reason

SCHEDULES = {
    "weekly": ({"repeatFrequency": "P1W", "startDate": "2026-09-02", "endDate": "2026-09-16"}, "09-02 09-09 09-16"),
    "two days of every second week, so many times": (
        {"repeatFrequency": "P2W", "byDay": ["https://schema.org/Monday", "WE"], "startDate": "2026-09-07",
         "repeatCount": 4}, "09-07 09-09 09-21 09-23"),
    "but not then": (
        {"repeatFrequency": "Daily", "startDate": "2026-09-05", "repeatCount": 3,
         "exceptDate": ["2026-09-06T18:00:00-04:00"]}, "09-05 09-07"),
    "second Tuesday": (
        {"repeatFrequency": "P1M", "byDay": "Tuesday", "byMonthWeek": 2, "startDate": "2026-09-01",
         "endDate": "2026-11-30"}, "09-08 10-13 11-10"),
    "last Friday": (
        {"repeatFrequency": "P1M", "byDay": {"@id": "schema:Friday".replace("schema:", "https://schema.org/")},
         "byMonthWeek": -1, "startDate": "2026-09-01", "endDate": "2026-10-31"}, "09-25 10-30"),
    "day of the month": (
        {"repeatFrequency": "P1M", "byMonthDay": [1, 31], "startDate": "2026-09-01", "endDate": "2026-11-02"},
        "09-01 10-01 10-31 11-01"),
    "yearly": ({"repeatFrequency": "P1Y", "startDate": "2010-10-04"}, "10-04"),
    "next one after the window": ({"repeatFrequency": "P1Y", "startDate": "2010-06-04", "endDate": "2027-07-01"}, "06-04"),
    "last one before the window": ({"repeatFrequency": "P1Y", "startDate": "2010-06-04", "endDate": "2026-07-01"}, "06-04"),
    "two schedules": (
        [{"repeatFrequency": "P1D", "startDate": "2026-09-02", "repeatCount": 1},
         {"repeatFrequency": "P1D", "startDate": "2026-10-02", "repeatCount": 1}], "09-02 10-02"),
}  # fmt: skip


def read_event(**fields):
    return read(
        f'<script type="application/ld+json">{json.dumps({"@type": "Event", "name": "Swim"} | fields)}</script>',
        "schema.org",
    )


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_is_read_as_its_days(name):
    schedule, days = SCHEDULES[name]
    read_events, unread = read_event(eventSchedule=schedule)
    assert " ".join(event.value["datetime"][5:10] for event in read_events) == days
    assert [part.reason for part in unread] == ([Reason.NOT_WANTED] if name == "yearly" else [])
    assert len({event.uid for event in read_events}) == len(read_events)
    assert all(event.value["recurring"] for event in read_events), "none is missing once a shorter window leaves it out"


def test_times_are_of_the_zone_of_the_schedule_and_the_start_of_the_event_counts_once():
    schedule = {
        "repeatFrequency": "P1W", "startDate": "2026-10-20", "repeatCount": 2, "startTime": "22:00:00",
        "endTime": "01:00", "scheduleTimezone": "Europe/London",
    }  # fmt: skip
    read_events, unread = read_event(eventSchedule=schedule, startDate="2026-10-20T22:00:00+01:00", **{"@id": "#s"})
    assert [(event.uid, event.value["datetime"], event.value["end_datetime"]) for event in read_events] == [
        ("p/http://a.example/x#s", "2026-10-20T21:00:00Z", ""),
        ("p/http://a.example/x#s 2026-10-27T22:00:00Z", "2026-10-27T22:00:00Z", "2026-10-28T01:00:00Z"),
    ]
    assert unread == []
    lasting = schedule | {"endTime": None, "duration": "PT1H30M", "scheduleTimezone": None}
    (first, _), _ = read_event(eventSchedule=lasting)
    assert (first.value["datetime"], first.value["end_datetime"]) == ("2026-10-21T02:00:00Z", "2026-10-21T03:30:00Z")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"repeatFrequency": "now and then"}, "its repeatFrequency is 'now and then'"),
        ({"repeatFrequency": "P0D"}, "its repeatFrequency is 'P0D'"),
        ({"byDay": "Someday"}, "a day of it is 'Someday'"),
        ({"byMonth": 13}, "its byMonth is '13'"),
        ({"repeatCount": "a few"}, "its repeatCount is 'a few'"),
        ({"startDate": "soon"}, "a date of it is 'soon'"),
        ({"startDate": "9990-01-01"}, "it ends after the year 9999"),
        ({"startDate": "1990-01-01"}, "it has more than 10,000 days of an eventSchedule before the end of its window"),
        ({"startTime": "noon"}, "a time of it is 'noon'"),
        ({"startTime": "10:00", "endTime": "11:00Z"}, "only one of its times has a zone"),
        ({"startTime": "10:00", "scheduleTimezone": "Mars/Olympus"}, "its scheduleTimezone is 'Mars/Olympus'"),
    ],
)
def test_a_schedule_that_is_not_understood_is_told_with_its_text(fields, problem):
    schedule = {"repeatFrequency": "P1W", "startDate": "2026-09-02"} | fields
    for start, reason in (({}, Reason.INCOMPLETE_RECORD), ({"startDate": "2026-09-09"}, Reason.UNSUPPORTED)):
        read_events, (part,) = read_event(eventSchedule=schedule, **start)
        assert len(read_events) == len(start)
        assert part.reason is reason
        assert part.message == f"'Swim' has an eventSchedule that is not read, as {problem}: {json.dumps(schedule)}"
