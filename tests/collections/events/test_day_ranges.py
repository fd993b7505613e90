"""Ranges of days in the start of an event, and the field `all_day`."""

import json

import pytest

from tests.collections.events.reader import read

FIELDS = {"title": "name", "start": "start", "end": "end", "all_day": "all_day"}
RANGES = [
    ("December 3-5, 2026", "2026-12-03", "2026-12-05"), ("Dec 3 \u2013 5, 2026", "2026-12-03", "2026-12-05"),
    ("December 3 through 5, 2026", "2026-12-03", "2026-12-05"), ("December 3rd - 5th, 2026", "2026-12-03", "2026-12-05"),
    ("December 3 and 4, 2026", "2026-12-03", "2026-12-04"), ("3-5 December 2026", "2026-12-03", "2026-12-05"),
    ("30 November - 2 December 2026", "2026-11-30", "2026-12-02"),
    ("December 30 - January 2, 2027", "2026-12-30", "2027-01-02"),
    ("December 30, 2026 - January 2, 2027", "2026-12-30", "2027-01-02"),
    ("Thursday, December 3 - Saturday, December 5, 2026", "2026-12-03", "2026-12-05"),
    ("2026-12-03 to 2026-12-05", "2026-12-03", "2026-12-05"), ("2026-12-03/2026-12-05", "2026-12-03", "2026-12-05"),
    ("del 3 al 5 de diciembre de 2026", "2026-12-03", "2026-12-05"), ("de 3 a 5 de dezembro de 2026", "2026-12-03", "2026-12-05"),
    ("Del jueves 30 de diciembre al 2 de enero del 2027", "2026-12-30", "2027-01-02"),
    ("13.12.2026 - 15.12.2026", "2026-12-13", "2026-12-15"),
]  # fmt: skip
UNREADABLE = [
    "December 5-3, 2026", "3-5 December 2026, 10:00", "December 30, 2026 - January 2, 2027, 10 am",
    "3-5 December 2026, 10:00 - 12:00", "Meeting: 3-5 December 2026, 10:00", "3-5 December 2026, 10:00:00 Uhr",
    "3 al 5 de diciembre de 2026, 10:00", "3.-5. listopada 2026", "December 30 - Foo 2, 2027", "Thursday December 31 - 40, 2026",
]  # fmt: skip
RANGES_OF_TIMES = [
    ("5 December 2026, 10:00 - 12:00", "2026-12-05T15:00:00Z", "2026-12-05T17:00:00Z"),
    ("December 5, 2026, 9-11 am", "2026-12-05T14:00:00Z", "2026-12-05T16:00:00Z"),
    ("Dec 3 2026 10:00 - 5 Dec 2026 12:00", "2026-12-03T15:00:00Z", "2026-12-05T17:00:00Z"),
    ("Dec 3 2026 9:00 AM - Dec 5 2026 5:00 PM", "2026-12-03T14:00:00Z", "2026-12-05T22:00:00Z"),
    ("Dec 3, 2026", "2026-12-03T00:00:00Z", ""), ("Dec 3, 2026 7 PM", "2026-12-04T00:00:00Z", ""),
    ("Dec 3, 2026 11 AM - 1 PM", "2026-12-03T16:00:00Z", "2026-12-03T18:00:00Z"),
    ("Dec 3, 2026 10 PM - 2 AM", "2026-12-04T03:00:00Z", "2026-12-04T07:00:00Z"),
    ("Dec 3, 2026, 3 pm - 5 pm PT", "2026-12-03T23:00:00Z", "2026-12-04T01:00:00Z"),
    ("Dec 3, 2026 1800-1930", "2026-12-03T23:00:00Z", "2026-12-04T00:30:00Z"),
    ("3.12.2026 18-20 Uhr", "2026-12-03T23:00:00Z", "2026-12-04T01:00:00Z"),
    ("3.12.2026 18:00-24", "2026-12-03T23:00:00Z", "2026-12-04T05:00:00Z"),
    ("2026-12-03T18:00/2026-12-03T20:00", "2026-12-03T23:00:00Z", "2026-12-04T01:00:00Z"),
    ("2026-12-03 03:00-05:00", "2026-12-03T08:00:00Z", "2026-12-03T10:00:00Z"),
    ("2026-12-03 0300-0500", "2026-12-03T08:00:00Z", "2026-12-03T10:00:00Z"),
]  # fmt: skip


def read_entry(**entry):
    return read(json.dumps([{"name": "Fair", **entry}]), "json", fields=FIELDS)


@pytest.mark.parametrize(("text", "first", "last"), RANGES)
def test_a_range_of_days_is_an_event_of_whole_days(text, first, last):
    """Its last day was taken for its first one, or its last year for a clock."""
    (read_event,), _ = read_entry(start=text)
    event = read_event.value
    assert (event["datetime"], event["end_datetime"]) == (f"{first}T00:00:00Z", f"{last}T00:00:00Z")
    assert event["all_day"]


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_range_that_is_not_understood_is_rejected_with_its_text(text):
    read_events, (part,) = read_entry(start=text)
    assert read_events == []
    assert text in part.message


@pytest.mark.parametrize(("text", "start", "end"), RANGES_OF_TIMES)
def test_a_range_of_times_begins_at_the_first_and_ends_at_the_last(text, start, end):
    """The end was left out, as if the source had none."""
    (read_event,), _ = read_entry(start=text, end="")
    assert (read_event.value["datetime"], read_event.value["end_datetime"]) == (start, end)
    assert "end_note" not in read_event.value


def test_an_end_of_its_own_counts_more_than_the_range():
    (read_event,), _ = read_entry(start="December 3-5, 2026", end="2026-12-06")
    assert read_event.value["end_datetime"] == "2026-12-06T00:00:00Z"
    (read_event,), _ = read_entry(start="2026-12-01", end="December 3-5, 2026")
    assert read_event.value["end_datetime"] == "2026-12-05T00:00:00Z"
    (read_event,), _ = read_entry(start="Dec 3, 2026 6 pm", end="7-9 pm")
    assert read_event.value["end_datetime"] == "2026-12-04T02:00:00Z"


@pytest.mark.parametrize(
    ("flag", "is_whole_day"), [(True, True), ("yes", True), (1, True), (False, False), ("", False)]
)
def test_the_field_all_day_makes_whole_days_of_times(flag, is_whole_day):
    times = {"start": "2026-12-03T00:00:00-05:00", "end": "2026-12-04T23:59:00-05:00"}
    (read_event,), _ = read_entry(all_day=flag, **times)
    event = read_event.value
    assert event["all_day"] == is_whole_day
    expected = ("2026-12-03T00:00:00Z", "2026-12-04T00:00:00Z") if is_whole_day else (
        "2026-12-03T05:00:00Z", "2026-12-05T04:59:00Z"
    )  # fmt: skip
    assert (event["datetime"], event["end_datetime"]) == expected


def test_xml_and_html_have_the_field_too():
    content = "<list><event><name>Fair</name><start>2026-12-03T09:00</start><all_day>true</all_day></event></list>"
    (read_event,), _ = read(content, "xml", items="event", fields=FIELDS)
    assert (read_event.value["all_day"], read_event.value["datetime"]) == (True, "2026-12-03T00:00:00Z")
    page = "<ul><li><b>Fair</b><i>2026-12-03 09:00</i><u>All day</u></li></ul>"
    (read_event,), _ = read(page, "html", items="li", fields={"title": "b", "start": "i", "all_day": "u"})
    assert (read_event.value["all_day"], read_event.value["datetime"]) == (True, "2026-12-03T00:00:00Z")
