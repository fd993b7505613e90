"""Calendars whose zones, repetitions and numbers of events a reader must not take for less than they are."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.collections.events.place import calendar, configured, event
from tests.collections.events.reader import VISITED, parser, read
from windrow.collections.events.discover import CUT_SERIES, follow
from windrow.collections.events.parser import SkippedPart
from windrow.contract import Answer, Request
from windrow.reasons import Reason


def starts(read_events, *names):
    return [tuple(read_event.value[name] for name in ("datetime", *names)) for read_event in read_events]


def reasons(unread):
    return [part.reason for part in unread]


def test_a_zone_that_nobody_knows_is_noted_and_that_of_the_calendar_is_taken():
    events = [
        event("a", ";TZID=Mars/Olympus:20260915T090000"),
        event("b", ":20260915T090000"),
        event("c", ';TZID="(UTC-06:00) Central Time":20260915T090000', rrule="FREQ=DAILY;COUNT=2"),
        event("d", ";TZID=Eastern Standard Time:20260915T090000"),
    ]  # fmt: skip
    text = calendar(*events).replace("BEGIN:VCALENDAR\r\n", "BEGIN:VCALENDAR\r\nX-WR-TIMEZONE:America/Chicago\r\n", 1)
    read_events, unread = read(text, "icalendar")
    assert unread == []
    assert [(read_event.value["datetime"], read_event.value.get("time_note")) for read_event in read_events] == [
        ("2026-09-15T14:00:00Z", "unknown_zone"), ("2026-09-15T14:00:00Z", None),
        ("2026-09-15T14:00:00Z", "unknown_zone"), ("2026-09-16T14:00:00Z", "unknown_zone"),
        ("2026-09-15T13:00:00Z", None),
    ]  # fmt: skip
    assert [read_event.value["source_timezone"] for read_event in read_events[1:2]] == ["America/Chicago"]
    read_events, _ = read(calendar(events[0]), "icalendar")
    assert read_events[0].value["datetime"] == "2026-09-15T13:00:00Z"
    assert read_events[0].value["source_timezone"] == "America/New_York"


def test_of_many_zones_of_a_calendar_each_is_read_and_a_broken_one_costs_no_other():
    definition = (
        "BEGIN:VTIMEZONE\r\nTZID:Zone {0}\r\nBEGIN:STANDARD\r\nDTSTART:{1}\r\nTZOFFSETFROM:+0500\r\nTZOFFSETTO:+0500\r\n"
        "END:STANDARD\r\nEND:VTIMEZONE"
    )
    zones = "\r\n".join(
        definition.format(number, "never" if number == 3 else "19700101T000000") for number in range(90)
    )
    text = calendar(event("a", ";TZID=Zone 88:20260915T090000"), head=f"VERSION:2.0\r\n{zones}")
    (read_event,), unread = read(text, "icalendar")
    assert unread == []
    assert (read_event.value["datetime"], read_event.value.get("time_note")) == ("2026-09-15T04:00:00Z", None)


def test_zones_beyond_the_cap_are_counted():
    zones = "\r\n".join(f"BEGIN:VTIMEZONE\r\nTZID:Zone {number}\r\nEND:VTIMEZONE" for number in range(502))
    text = calendar(
        event("a", ";TZID=Zone 501:20260915T090000"), event("b", ":20260915T090000Z"), head=f"VERSION:2.0\r\n{zones}"
    )
    _, unread = read(text, "icalendar")
    assert unread == [SkippedPart(Reason.CAPPED, "more than 500 time zones of a calendar", number=2)]


def test_the_zone_of_an_event_is_its_own_where_it_names_one():
    read_events, _ = read(calendar(event("a", ";TZID=America/Los_Angeles:20260915T090000")), "icalendar")
    assert starts(read_events, "local_datetime", "source_timezone") == [
        ("2026-09-15T16:00:00Z", "2026-09-15T09:00:00", "America/Los_Angeles")
    ]


def test_a_leap_second_is_read_as_the_second_before():
    times = (":20161231T235960Z", ";TZID=Asia/Kolkata:20170101T052960", ":20261221T120060Z")
    read_events, unread = read(calendar(*(event(f"e{number}", at) for number, at in enumerate(times))), "icalendar")
    assert starts(read_events) == [("2016-12-31T23:59:59Z",)] * 2
    assert reasons(unread) == [Reason.INCOMPLETE_RECORD], "the second 60 of another minute is not a time"


def test_a_change_of_this_and_all_future_repetitions_changes_those_that_follow():
    new_york = ";TZID=America/New_York"
    read_events, unread = read(calendar(
        event("w", f"{new_york}:20261018T100000", "Weekly", rrule="FREQ=WEEKLY;COUNT=6",
              dtend=f"{new_york}:20261018T110000"),
        event("w", f"{new_york}:20261025T130000", "Weekly, after lunch", dtend=f"{new_york}:20261025T133000",
              recurrence_id=f"{new_york};RANGE=THISANDFUTURE:20261025T100000"),
        event("w", f"{new_york}:20261108T080000", "Early for once", recurrence_id=f"{new_york}:20261108T100000"),
    ), "icalendar")  # fmt: skip
    assert unread == []
    assert sorted(starts(read_events, "end_datetime", "title", "local_datetime")) == [
        ("2026-10-18T14:00:00Z", "2026-10-18T15:00:00Z", "Weekly", "2026-10-18T10:00:00"),
        ("2026-10-25T17:00:00Z", "2026-10-25T17:30:00Z", "Weekly, after lunch", "2026-10-25T13:00:00"),
        ("2026-11-01T18:00:00Z", "2026-11-01T18:30:00Z", "Weekly, after lunch", "2026-11-01T13:00:00"),
        ("2026-11-08T13:00:00Z", "", "Early for once", "2026-11-08T08:00:00"),
        ("2026-11-15T18:00:00Z", "2026-11-15T18:30:00Z", "Weekly, after lunch", "2026-11-15T13:00:00"),
        ("2026-11-22T18:00:00Z", "2026-11-22T18:30:00Z", "Weekly, after lunch", "2026-11-22T13:00:00"),
    ]
    assert len({read_event.uid for read_event in read_events}) == 6
    assert all(read_event.value["recurring"] for read_event in read_events)


def test_a_changed_repetition_after_the_window_is_one_of_a_series():
    """It was told as gone once the calendar no longer had the change, though the series still has that day."""
    text = calendar(
        event("w", ":20260915T180000Z", rrule="FREQ=WEEKLY"),
        event("w", ":20280118T200000Z", "At the town hall", recurrence_id=":20280118T180000Z"),
    )
    read_events, _ = read(text, "icalendar")
    assert starts(read_events, "recurring")[-1] == ("2028-01-18T20:00:00Z", True)


def test_a_calendar_that_cancels_says_so_of_each_event():
    text = calendar(event("a", ":20260915T090000Z"), event("b", ":20260916T090000Z"))
    text = text.replace("BEGIN:VCALENDAR\r\n", "BEGIN:VCALENDAR\r\nMETHOD:CANCEL\r\n", 1)
    assert [read_event.value["status"] for read_event in read(text, "icalendar")[0]] == ["cancelled"] * 2


def test_the_first_start_is_an_event_also_where_the_rule_does_not_fit_it():
    text = calendar(event("a", ":20260916T090000Z", rrule="FREQ=WEEKLY;BYDAY=MO;UNTIL=20260929T000000Z"))
    assert starts(read(text, "icalendar")[0]) == [
        ("2026-09-16T09:00:00Z",), ("2026-09-21T09:00:00Z",), ("2026-09-28T09:00:00Z",)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=SECONDLY;INTERVAL=0",
        "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=HOURLY;BYMONTHDAY=31;BYMONTH=2",
    ],
)
def test_a_rule_that_is_searched_without_end_costs_its_event_alone(rule):
    text = calendar(event("a", ":20260902T090000Z", rrule=rule), event("b", ":20260915T090000Z"))
    read_events, unread = read(text, "icalendar")
    assert starts(read_events) == [("2026-09-15T09:00:00Z",)]
    assert reasons(unread) == [Reason.NOT_WELL_FORMED]


def test_an_event_with_very_many_exceptions_costs_no_other():
    dates = ",".join(f"2026{1 + day % 12:02}{1 + day % 28:02}T{day % 24:02}0000Z" for day in range(20_000))
    text = calendar(
        event("a", ":20260902T000000Z", rrule="FREQ=HOURLY;COUNT=30000", exdate=f":{dates}"),
        event("b", ":20260915T090000Z"),
    )
    read_events, unread = read(text, "icalendar")
    assert read_events[-1].value["datetime"] == "2026-09-15T09:00:00Z"
    assert reasons(unread) == [Reason.NOT_WANTED]


@pytest.mark.parametrize("reader", ["icalendar", "json", "xml", "html", "schema.org", "feed"])
def test_of_a_document_with_too_many_events_those_to_come_are_read_first_and_it_is_told(reader):
    days = [VISITED + timedelta(days=number) for number in (-300, -200, -100, 50, -50, 10)]
    documents = {
        "icalendar": calendar(*(event(f"{day:%j}", f":{day:%Y%m%d}T090000Z") for day in days)),
        "json": "[" + ",".join(f'{{"n": "{day:%j}", "t": "A", "s": "{day:%Y-%m-%d}T09:00Z"}}' for day in days) + "]",
        "xml": "<e>" + "".join(f'<v n="{day:%j}" s="{day:%Y-%m-%d}T09:00Z"><t>A</t></v>' for day in days) + "</e>",
        "html": "".join(f'<p id="{day:%j}"><b>A</b><i>{day:%Y-%m-%d}T09:00Z</i></p>' for day in days),
        "schema.org": "".join(
            f'<script type="application/ld+json">{{"@type": "Event", "@id": "{day:%j}", "name": "A",'
            f' "startDate": "{day:%Y-%m-%d}T09:00Z"}}</script>' for day in days
        ),
        "feed": '<rss version="2.0"><channel>' + "".join(
            f"<item><guid>{day:%j}</guid><title>A</title><pubDate>{day:%a, %d %b %Y} 09:00:00 GMT</pubDate></item>" for day in days
        ) + "</channel></rss>",
    }  # fmt: skip
    rules = {
        "json": {"fields": {"id": "n", "title": "t", "start": "s"}},
        "xml": {"items": "v", "fields": {"id": "@n", "title": "t", "start": "@s"}},
        "html": {"items": "p", "fields": {"id": "@id", "title": "b", "start": "i"}},
    }
    by = replace(parser(reader, **rules.get(reader, {})), most_events=3)
    read_events, unread = read(documents[reader], by=by)
    assert sorted(day for (day,) in starts(read_events)) == [
        f"{day:%Y-%m-%d}T09:00:00Z" for day in sorted(days)[-3:]
    ]  # fmt: skip
    assert [(part.reason, part.message) for part in unread] == [
        (
            Reason.TOO_LARGE,
            "the document has 6 events; only 3 were read, future ones first, as the setting `most_events` is 3",
        )
    ]
    assert read(documents[reader], by=replace(by, most_events=6))[1] == []


def test_a_document_that_repeats_much_text_does_not_claim_that_all_its_events_were_counted(monkeypatch):
    monkeypatch.setattr("windrow.collections.events.reading.MAX_TEXT_CHARACTERS", 100)
    page = "".join(f"<p id={n}><b>{'A' * 90}</b><i>2027-01-0{n}T09:00Z</i></p>" for n in range(1, 10))
    by = parser("html", items="p", fields={"id": "@id", "title": "b", "start": "i"})
    (part,) = read(page, by=by)[1]
    assert part.message.startswith("the document has more than 3 events; only ")


def test_an_event_that_still_repeats_is_read_before_those_of_later_days_and_one_whose_rule_ended_is_not():
    """The nearness of days was the difference of numbers such as 20260901: a weekly event was the furthest one."""
    days = [event(name, f":{day}T090000Z") for name, day in (("a", 20260902), ("b", 20261002), ("c", 20270102))]
    weekly = event("weekly", ":20100104T090000Z", rrule="FREQ=WEEKLY")
    ended = event("ended", ":20100104T090000Z", rrule="FREQ=WEEKLY;UNTIL=20110101T000000Z")
    by = replace(parser("icalendar"), most_events=3)
    read_events, _ = read(calendar(*days, ended, weekly), by=by)
    assert {read_event.uid.split()[0] for read_event in read_events} == {"p/weekly", "p/a"}


def test_attached_documents_and_conferences_are_kept_with_their_addresses():
    lines = (
        "UID:a@x\r\nDTSTART:20270115T150000Z\r\nSUMMARY:Board\r\n"
        "ATTACH;FMTTYPE=application/pdf;FILENAME=agenda.pdf:https://a.example/agenda.pdf\r\n"
        "ATTACH:https://a.example/minutes\r\nATTACH;ENCODING=BASE64;VALUE=BINARY:QUJD\r\nATTACH:javascript:x\r\n"
        "CONFERENCE;VALUE=URI;FEATURE=AUDIO,VIDEO;LABEL=Stream:https://video.example/1\r\n"
        "CONFERENCE;VALUE=URI:tel:+1-412-555-0123"
    )
    (read_event,), unread = read(calendar(lines), "icalendar")
    assert unread == []
    assert read_event.value["attachments"] == [
        {"url": "https://a.example/agenda.pdf", "name": "agenda.pdf", "media_type": "application/pdf"},
        {"url": "https://a.example/minutes", "name": "", "media_type": ""},
    ]
    assert read_event.value["conference_urls"] == ["https://video.example/1", "tel:+1-412-555-0123"]


def test_each_calendar_of_a_file_has_its_own_method_and_zone():
    heads = ("X-WR-TIMEZONE:America/Los_\r\n Angeles", 'X-WR-TIMEZONE:"America/Chicago"\r\nMETHOD:CANCEL',
             "X-WR-TIMEZONE:Pacific Standard Time", "X-WR-TIMEZONE:Mars/Olympus", "METHOD:PUBLISH")  # fmt: skip
    text = "".join(calendar(event(f"{number}@x", ":20261124T180000"), head=head) for number, head in enumerate(heads))
    text += calendar(event("method@x", ":20261124T180000", method="CANCEL"))
    read_events, unread = read(text, "icalendar")
    assert unread == []
    assert [(found.value["datetime"][8:13], found.value["status"], found.value.get("time_note")) for found in read_events] == [
        ("25T02", "scheduled", None), ("25T00", "cancelled", None), ("25T02", "scheduled", None),
        ("24T23", "scheduled", "unknown_zone"), ("24T23", "scheduled", None), ("24T23", "scheduled", None),
    ]  # fmt: skip


FLOATING, CHICAGO = ":20261124T180000", ";TZID=America/Chicago:20261124T180000"


@pytest.mark.parametrize(
    ("start", "more", "days"),
    [
        (FLOATING, {"exdate": ";TZID=America/Los_Angeles:20261125T150000"}, ["24", "26"]),
        (FLOATING, {"exdate": ":20261126T230000Z"}, ["24", "25"]),
        (CHICAGO, {"exdate": ":20261125T180000"}, ["24", "26"]),
        (FLOATING, {"exrule": ":FREQ=DAILY;INTERVAL=2;COUNT=3"}, ["25"]),
        (FLOATING, {"rdate": ";VALUE=DATE:20261129"}, ["24", "25", "26", "29"]),
    ],
)
def test_exceptions_of_an_event_that_repeats_are_in_its_own_local_time(start, more, days):
    read_events, _ = read(calendar(event("a@x", start, rrule="FREQ=DAILY;COUNT=3", **more)), "icalendar")
    assert [found.value["local_datetime"] for found in read_events] == [f"2026-11-{day}T18:00:00" for day in days]


@pytest.mark.parametrize(
    ("zone", "start", "rule", "more", "days"),
    [
        ("Asia/Tokyo", ":20261203T090000", "FREQ=DAILY;UNTIL=20261205T000000Z", {}, ["03", "04", "05"]),
        ("America/New_York", ":20261203T190000", "FREQ=DAILY;UNTIL=20261205T190000Z", {}, ["03", "04", "05"]),
        ("America/New_York", ";VALUE=DATE:20261203", "FREQ=DAILY;UNTIL=20261205T000000Z", {}, ["03", "04", "05"]),
        ("America/New_York", ";VALUE=DATE:20261203", "FREQ=DAILY;COUNT=3", {"exdate": ":20261204T000000Z"}, ["03", "05"]),
        ("Asia/Tokyo", ";VALUE=DATE:20261203", "FREQ=DAILY;COUNT=3", {"exdate": ":20261203T150000Z"}, ["03", "05"]),
        ("Europe/Berlin", ";VALUE=DATE:20261203", "FREQ=DAILY;COUNT=3",
         {"exdate": ";TZID=America/New_York:20261204T000000"}, ["03", "05"]),
        ("Europe/Berlin", ";VALUE=DATE:20261203", "FREQ=DAILY;COUNT=1",
         {"rdate": ";TZID=America/New_York:20261204T000000"}, ["03", "04"]),
    ],
)  # fmt: skip
def test_no_repetition_is_lost_or_added_because_its_source_is_far_from_greenwich(zone, start, rule, more, days):
    read_events, _ = read(calendar(event("a@x", start, rrule=rule, **more)), "icalendar", zone=zone)
    assert [found.value["local_datetime"][8:10] for found in read_events] == days


@pytest.mark.parametrize(
    ("start", "recurrence"),
    [
        (CHICAGO, ":20261125T180000"), (CHICAGO, ";VALUE=DATE:20261125"), (CHICAGO, ":20261126T000000Z"),
        (FLOATING, ";TZID=America/Los_Angeles:20261125T150000"), (";VALUE=DATE:20261124", ":20261125T050000Z"),
    ],
)  # fmt: skip
def test_a_repetition_is_replaced_however_its_recurrence_id_is_written(start, recurrence):
    weekly = event("a@x", start, rrule="FREQ=DAILY;COUNT=3")
    moved = event("a@x", start.replace("24", "30"), "Moved", recurrence_id=recurrence)
    read_events, _ = read(calendar(weekly, moved), "icalendar")
    days = sorted((found.value["local_datetime"][:10], found.value["title"]) for found in read_events)
    assert days == [("2026-11-24", "Hearing"), ("2026-11-26", "Hearing"), ("2026-11-30", "Moved")]


def test_a_repetition_without_a_uid_replaces_none_of_another_series():
    series = event("x", ":20261124T180000", "A", rrule="FREQ=DAILY;COUNT=2").replace("UID:x\r\n", "")
    moved = event("x", ":20261126T180000", "B", recurrence_id=":20261125T180000").replace("UID:x\r\n", "")
    read_events, _ = read(calendar(series, moved), "icalendar")
    assert [found.value["local_datetime"][8:10] for found in read_events] == ["24", "25", "26"]


def test_the_last_revision_of_an_event_counts_and_the_others_are_told():
    first, second = (event("a@x", f":2026112{day}T180000Z", sequence=day) for day in "45")
    cancelled = calendar(event("b@x", ":20261126T180000Z"), head="METHOD:CANCEL")
    other = event("b@x", ":20261126T180000Z")
    read_events, skipped = read(calendar(second, first, other) + cancelled, "icalendar")
    assert [(found.uid, found.value["datetime"][8:10], found.value["status"]) for found in read_events] == [
        ("p/a@x", "25", "scheduled"), ("p/b@x", "26", "cancelled")
    ]  # fmt: skip
    assert [(part.reason, part.key) for part in skipped] == [
        (Reason.DUPLICATE_RECORD, "p/a@x SEQUENCE 4"), (Reason.DUPLICATE_RECORD, "p/b@x SEQUENCE 0")
    ]  # fmt: skip


def test_of_an_event_without_a_repetition_in_the_window_the_next_or_the_last_one_is_read():
    text = calendar(
        event("yearly", ";VALUE=DATE:20200801", "Fair", rrule="FREQ=YEARLY"),
        event("ended", ":20200107T180000Z", "Course", rrule="FREQ=WEEKLY;COUNT=3"),
        event("monthly", ":20200107T180000Z", "Board", rrule="FREQ=MONTHLY"),
    )
    by = replace(parser("icalendar"), recurrence_ahead=40 * 86400.0)
    read_events, unread = read(text, by=by)
    assert [read_event.uid for read_event in read_events] == [
        "p/yearly 2027-08-01T00:00:00Z", "p/ended 2020-01-21T18:00:00Z",
        "p/monthly 2026-08-07T18:00:00Z", "p/monthly 2026-09-07T18:00:00Z", "p/monthly 2026-10-07T18:00:00Z",
    ]  # fmt: skip
    assert reasons(unread) == [Reason.NOT_WANTED] * 2


@pytest.mark.parametrize(
    ("duration", "end"),
    [
        ("P1D", "2026-11-01T17:00:00Z"), ("PT24H", "2026-11-01T16:00:00Z"), ("P1W", "2026-11-07T17:00:00Z"),
        ("P1DT2H", "2026-11-01T19:00:00Z"), ("PT1\r\n H", "2026-10-31T17:00:00Z"),
    ],
)  # fmt: skip
def test_days_of_a_duration_are_days_of_the_calendar(duration, end):
    alarm = "\r\nBEGIN:VALARM\r\nDURATION:P3D\r\nEND:VALARM"
    hearing = event("a", ";TZID=America/New_York:20261031T120000", duration=duration)
    (read_event,), unread = read(calendar(hearing + alarm), "icalendar")
    assert (read_event.value["end_datetime"], unread) == (end, [])


def test_series_that_repeat_after_the_window_are_counted_when_the_answer_is_followed(tmp_path):
    text = calendar(
        event("a", ":20260915T090000Z", rrule="FREQ=WEEKLY"), event("b", ":20260915T090000Z", rrule="FREQ=YEARLY"),
        event("c", ":20260915T090000Z", rrule="FREQ=DAILY;COUNT=9"), event("d", ":20270915T090000Z", rrule="FREQ=DAILY;COUNT=1"),
    )  # fmt: skip
    _, unread = read(text, "icalendar")
    assert [(part.reason, part.message) for part in unread] == [
        (Reason.NOT_WANTED, "'Hearing' has repetitions after the time of the setting `recurrence_ahead`")
    ] * 2
    (source,) = configured(tmp_path, "http://a.example/").of("events")
    result = follow(
        source, {}, Answer(Request("http://a.example/", "first"), 200, {}, io.BytesIO(text.encode()), VISITED)
    )
    assert result.learned[CUT_SERIES] == {"url": "http://a.example/", "events": 2}
    assert (result.ends_listing, result.findings) == (True, ())


def test_days_of_a_duration_in_utc_are_24_hours_and_each_repetition_has_its_own_end():
    (read_event,), _ = read(calendar(event("a", ":20261031T160000Z", duration="P1D")), "icalendar")
    assert read_event.value["end_datetime"] == "2026-11-01T16:00:00Z"
    repeated = event("a", ";TZID=America/New_York:20261030T120000", duration="P1D", rrule="FREQ=DAILY;COUNT=2")
    read_events, _ = read(calendar(repeated), "icalendar")
    assert starts(read_events, "end_datetime") == [
        ("2026-10-30T16:00:00Z", "2026-10-31T16:00:00Z"), ("2026-10-31T16:00:00Z", "2026-11-01T17:00:00Z"),
    ]  # fmt: skip


def test_a_missing_or_long_title_and_a_line_that_cannot_be_read_are_noted():
    text = calendar(
        event("a", ":20260915T090000Z", "Board\r\nand the public"),
        event("b", ":20260915T090000Z", ""),
        event("c", ":20260915T090000Z", "x" * 1001),
        event("d", ":20260915T090000Z", "x" * 1000),
    )
    read_events, unread = read(text, "icalendar")
    assert unread == [SkippedPart(Reason.CAPPED, "more than 1,000 characters of an event's title", number=1)]
    assert [read_event.value.get("title_note") for read_event in read_events] == [
        None, "the source writes no title", "the source writes 1,001 characters; only 1,000 are kept", None,
    ]  # fmt: skip
    notes = [read_event.value.get("text_note", "") for read_event in read_events]
    assert notes == ["1 line of a text had no fold", "", "", ""]
    assert read_events[0].value["title"].split() == ["Board", "and", "the", "public"]


def test_lines_of_a_text_without_a_fold_are_parts_of_it_and_no_properties():
    text = (
        "Board\r\nDESCRIPTION:The board meets.\r\nAgenda: budget; harbour\r\nLocation: see the annex\r\n"
        "Summary: short\r\nStatus: cancelled\r\nhttps://x.example/join?a=1\r\nLOCATION:Hall\r\nX-A:b\r\nno colon"
    )
    (read_event,), _ = read(calendar(event("a", ":20260915T090000Z", text)), "icalendar")
    value = read_event.value
    assert (value["title"], value["location"], value["status"]) == ("Board", "Hall", "scheduled")
    assert value["description"] == (
        "The board meets.\nAgenda: budget; harbour\nLocation: see the annex\nSummary: short\nStatus: cancelled\n"
        "https://x.example/join?a=1"
    )
    assert value["text_note"].startswith("5 lines of a text had no fold; 1 line cannot be read: ")
    (read_event,), _ = read(
        calendar(event("a", ":20260915T090000Z", "Board\r\nLOCATION:Hall\r\nLOCATION:Annex")), "icalendar"
    )
    assert (read_event.value["location"], read_event.value["text_note"]) == (
        "Hall",
        "of several LOCATION the first is used",
    )


@pytest.mark.parametrize(("end", "day", "note"), [
    (":20261203T150000Z", "2026-12-03", "the source writes: 20261203T150000Z"),
    (":20261203T050000Z", "2026-12-02", "the source writes: 20261203T050000Z"),
    (";VALUE=DATE:20261203", "2026-12-02", None),
])  # fmt: skip
def test_a_day_with_an_end_at_a_time_lasts_until_the_day_of_that_time(end, day, note):
    (read_event,), _ = read(calendar(event("a", ";VALUE=DATE:20261201", dtend=end)), "icalendar")
    assert (read_event.value["end_datetime"], read_event.value.get("end_note")) == (f"{day}T00:00:00Z", note)


@pytest.mark.parametrize(
    "zone", [";TZID=America/New_York", ';TZID="America/New_York";X-A=b', ";VALUE=DATE-TIME;TZID=Nowhere/X"]
)
def test_a_zone_beside_times_in_utc_does_not_apply(zone):
    (read_event,), _ = read(
        calendar(event("a", f"{zone}:20260917T130000Z", dtend=f"{zone}:20260917T140000Z")), "icalendar"
    )
    value = read_event.value
    assert (value["datetime"], value["end_datetime"]) == ("2026-09-17T13:00:00Z", "2026-09-17T14:00:00Z")
    assert "time_note" not in value


def test_each_calendar_of_a_file_has_its_own_zones():
    def definition(offset):
        rule = (
            f"BEGIN:STANDARD\r\nDTSTART:16010101T000000\r\nTZOFFSETFROM:{offset}\r\nTZOFFSETTO:{offset}\r\nEND:STANDARD"
        )
        return f"BEGIN:VTIMEZONE\r\nTZID:Our Zone\r\n{rule}\r\nEND:VTIMEZONE"

    start = ";TZID=Our Zone:20260917T090000"
    zones = (("a", "+0100"), ("b", "-0800"))
    text = "".join(calendar(event(uid, start), head=definition(offset)) for uid, offset in zones)
    read_events, _ = read(text + calendar(event("c", start)), "icalendar")
    assert [(each.value["datetime"], "time_note" in each.value) for each in read_events] == [
        ("2026-09-17T08:00:00Z", False), ("2026-09-17T17:00:00Z", False), ("2026-09-17T13:00:00Z", True),
    ]  # fmt: skip
