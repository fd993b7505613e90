"""Times as sources write them: each is read right, or not at all."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from windrow.collections.events.times import format_utc, read_span

NEW_YORK = ZoneInfo("America/New_York")
DAY = "2026-11-24"

AT_SIX = """
2026-11-24T18:00|2026-11-24T18:00:00|2026-11-24 18:00|2026-11-24 18:00:00.123|2026-11-24T18:00:00.1234567
2026-11-24T18:00-05:00|2026-11-24T18:00:00-05:00|2026-11-24T18:00:00-0500|2026-11-24T23:00Z|2026-11-24T23:00:00+00:00
2026-11-24T18:00:00-05:00[America/New_York]|2026-11-24 18:00 -05:00|2026-11-24 18:00:00 -0500|2026-11-24 23:00 UTC
2026/11/24 18:00|2026/11/24 18:00:00-05:00|2026.11.24 18:00|20261124 1800|20261124T1800|20261124T180000|20261124T230000Z
2026-11-24 6:00 PM|2026-11-24 6pm|2026-11-24, 6 p.m.|18:00 2026-11-24|6 PM, 2026-11-24|2026-W48-2T18:00
24.11.2026 18:00|24.11.2026 18:00:00|24.11.2026, 18:00 Uhr|24.11.2026 18 Uhr|24.11.2026 18.00 Uhr|24.11.2026 18.00
24.11.2026 um 18.00|24.11.2026 um 18 Uhr|Dienstag, 24.11.2026, 18:00 - 20:00 Uhr|18.00, 24.11.2026|24.11.2026 18:00 \u2013 20:00
24.11.2026 18h00|24.11.2026 18h|24.11.2026 18 h|24.11.2026 18:00h|mardi 24/11/2026 \u00e0 18h00|24/11/2026 18h00 - 20h00
11/24/2026 18:00|11/24/2026 6:00 PM|11/24/2026 6:00:00 PM|11/24/2026 06:00 pm|11/24/2026 1800|24/11/2026 18:00
November 24, 2026 18:00|November 24, 2026 6 PM|November 24, 2026, 6:00 p.m.|November 24, 2026 at 6 p.m.|Nov. 24, 2026 6pm
Nov 24 2026 6:00PM|Nov 24, 2026 6.00 pm|Nov 24, 2026 6 P. M.|Nov 24th, 2026 @ 6pm|Tuesday, November 24, 2026 - 6:00pm
Tuesday, November 24th, 2026 at 18:00|24 November 2026 18:00|24 Nov 2026 6 pm|24-Nov-2026 18:00|the 24th of November 2026, 6pm
18:00, Tuesday, November 24, 2026|6 PM on November 24, 2026|6:00 p.m. - 8:00 p.m., November 24, 2026
November 24, 2026 6-8 pm|November 24, 2026 6 - 8 p.m.|November 24, 2026 6:00-8:30 PM|November 24, 2026, 6 pm to 8 pm
November 24, 2026, 6 pm until 8 pm|November 24, 2026 18:00-20:00|November 24, 2026 18:00 to 20:00|Nov 24, 2026 6 PM \u2014 8 PM
Nov 24, 2026 1800|Nov 24, 2026 1800 hrs|Nov 24, 2026 18:00 hrs|Nov 24, 2026 18.00 hrs
Nov 24, 2026 6 PM ET|Nov 24, 2026 6 PM EST|Nov 24, 2026 6 PM EDT|Nov 24, 2026 6 PM (ET)|Nov 24, 2026 6 PM Eastern
Nov 24, 2026 6 PM Eastern Time|Nov 24, 2026 6 PM Eastern Standard Time|Nov 24, 2026 18:00 ET|Nov 24, 2026 18:00 EST
Nov 24, 2026 1800 EST|Nov 24, 2026 15:00 PST|Nov 24, 2026 15:00 PT|Nov 24, 2026 3 PM Pacific|Nov 24, 2026 3 p.m. (PST)
Nov 24, 2026 17:00 CST|Nov 24, 2026 17:00 CT|Nov 24, 2026 5 PM Central Time|Nov 24, 2026 16:00 MST|Nov 24, 2026 4 PM MT
Nov 24, 2026 14:00 AKST|Nov 24, 2026 1 PM HST|Nov 24, 2026 23:00 UTC|Nov 24, 2026 23:00 GMT|Nov 24, 2026 23:00Z
Nov 24, 2026 23:00 UTC+0|Nov 25, 2026 0:00 CET|Nov 25, 2026 00:00 MEZ|Nov 25, 2026 1:00 EET|Nov 25, 2026 8 am JST
Nov 24, 2026 18:00 GMT-5|Nov 24, 2026 18:00 UTC-05:00|Nov 24, 2026 18:00 -0500|Nov 25, 2026 04:30 +0530
Nov 24, 2026 17:00 America/Chicago|Nov 24, 2026 6 pm - 8 pm ET|Nov 24, 2026, 3 pm - 5 pm PT|Nov 24, 2026 18:00 (local time)
Tue, 24 Nov 2026 18:00:00 -0500|Tue, 24 Nov 2026 18:00:00 EST|Tue, 24 Nov 2026 23:00:00 GMT|24 Nov 2026 23:00:00 +0000
Tue Nov 24 2026 18:00:00 GMT-0500|24 novembre 2026 18h00|Nov 24, 2026 3 pm pst|1795561200|1795561200000|2026-11-24 18:00 Uhr
2026-11-24 18.00|2026-11-24T18.00|202611241800|20261124180000|2026-11-24T18:00:00\u221205:00|24. November 2026 18:00 Uhr
24.11.2026 18-20 Uhr|24.11.2026, 18 bis 20 Uhr|24.11.2026 18.00-20.00|24.11.2026 zwischen 18 und 20 Uhr|24.11.2026 klo 18.00
24 november 2026, 18.00-20.30 uur|24 nov 2026 de 18h \u00e0 20h|24 november 2026 18u00|24 novembre 2026, alle 18.00
24 de noviembre de 2026, 6:00 p. m.|24 de noviembre de 2026 a las 18:00|am 24.11.2026 um 18:00 Uhr|Nov 24, 2026 6p
Nov 24, 2026 6pmEST|Nov 24, 2026 6:00PMEST|Nov 24, 2026 6 PM, EST|Nov 24, 2026 18\uff1a00|Nov 24, 2026 6\u223600 PM|Nov 24, 2026 1800-1930
Nov 24, 2026 18:00-20|Nov 24, 2026 6 PM Eastern Time (US & Canada)|Nov 24, 2026 6 PM - Nov 25, 2026 9 AM|Tue Nov 24 18:00:00 EST 2026
24.11.2026 18-2 Uhr|24.11.2026 18.00-2.00 Uhr|24.11.2026 18 Uhr bis 2 Uhr|24.11.2026 18:00 - 02:00|24.11.2026 18h00 - 2h00
24.11.2026 zwischen 18 und 2 Uhr|24.11.2026 18-18 Uhr|24.11.2026 18:00 - 18:00|Nov 24, 2026 6 PM - 2 AM|Nov 24, 2026 6 pm - 6 pm
2026-11-24T18:00/2026-11-24T20:00|Tue Nov 24 2026 18:00:00 GMT-0500 (Eastern Standard Time)|2026-11-24 18:00:00 -0500 EST
den 24 november 2026 kl 18|tisdag den 24 november 2026 kl. 18-20|kl 18-20.30, 24 november 2026|24. marraskuuta 2026 klo 18
gioved\u00ec 24 novembre 2026 ore 18|24 noiembrie 2026, ora 18:00|24. listopadu 2026 v 18:00|wtorek, 24 nov 2026, od godz. 18
24 Kas\u0131m 2026 saat 18|24. \u043d\u043e\u0432\u0435\u043c\u0431\u0430\u0440 2026. \u0443 18:00|24 \u043d\u043e\u044f\u0431\u0440\u044f 2026 \u0433. \u0432 18:00|martes 24 de noviembre de 2026 a las 18:00 horas
\uff12\uff10\uff12\uff16-11-24 18:00|Nov 24, 2026, when: 6 PM sharp|Nov 24, 2026 between 6 PM and 8 PM
""".strip().replace("\n", "|").split("|")  # fmt: skip

DAYS = """
2026-11-24|20261124|2026/11/24|2026-W48-2|24.11.2026|11/24/2026|24/11/2026|November 24, 2026|Nov. 24, 2026|Nov 24 2026
24 November 2026|24-Nov-2026|Tuesday, November 24, 2026|Tue 24 Nov 2026|November 24th, 2026|the 24th of November 2026
24.-26.11.2026|24.11. - 26.11.2026|November 24 and 25, 2026|24.11.2026 ganzt\u00e4gig|November 24, 2026 (all day)|November 24, 2026, time to be announced
24 \u039d\u03bf\u03b5\u03bc\u03b2\u03c1\u03af\u03bf\u03c5 2026|24 \u039d\u039f\u0395\u039c\u0392\u03a1\u0399\u039f\u03a5 2026|24 \u043d\u043e\u044f\u0431\u0440\u044f 2026 \u0433.|24 \u043b\u0438\u0441\u0442\u043e\u043f\u0430\u0434\u0430 2026 \u0440.|24 \u043d\u043e\u0435\u043c\u0432\u0440\u0438 2026 \u0433.|24. \u043d\u043e\u0432\u0435\u043c\u0431\u0430\u0440 2026.
24. novembra 2026|24. listopadu 2026|24. studenoga 2026.|2026. november 24.|2026 m. lapkri\u010dio 24 d.|2026. gada 24. novembris|24. marraskuuta 2026
24 Kas\u0131m 2026|24 KASIM 2026|24 de novembre de 2026|24 noiembrie 2026|24 n\xebntor 2026|24 ta' Novembru 2026|24 Samhain 2026|24 Tachwedd 2026
24. n\xf3vember 2026|mardi 24 novembre 2026|noviembre 24, 2026|24 de noviembre del 2026|24. nov. 2026
""".strip().replace("\n", "|").split("|")  # fmt: skip

REFUSED = """
November 24, 2026 6 o'clock|November 24, 2026 midnight|November 24, 2026 25:00|November 24, 2026 18:75|Nov 24, 2026 18:00 XYT
Nov 24, 2026 18:00 IST|Nov 24, 2026 18:00 Europe/Olympus|Nov 24, 2026 22:00-02:00|Nov 24, 2026 6 pm, 7 pm, 8 pm
Nov 24, 2026 5 pm ET, 2 pm PT|Nov 24, 2026 18:00 +2500|3/4/2026 18:00|18:00|24.11. 18:00|November 24 18:00|soon
24 november 2026 kl 25|24 november 2026 kl 181|24 november 2026 kl 18 och 20|24 november 2026 kl 20-18|24 november 2026 kl 18-20 sal 3
24 de noviembre de 2026 a las 7|Nov 24, 2026 18 : 00|November 31, 2026 18:00|24-Nov-26 18:00|Nov 24, 2026 24:30
November 24, 2026, Room 2.10|November 24, 2026, for 2 hours|Nov 24, 2026 6 pm at City Hall|Nov 24, 2026 6 PM Zoom/Teams
Nov 24, 2026 doors 6 pm, show 7 pm|Nov 24, 2026 10 am and 2 pm|18h00 et 20h00, 24/11/2026|Nov 24, 2026 at 7|Nov 24, 2026, 9-5|24.11.2026 um 18
November 24, 2026 from 9 to 11|Nov 24, 2026 6:30 in the evening|Nov 24, 2026 half past six|Nov 24, 2026 after the session|Nov 24, 2026 7ish PM
Nov 24, 2026 6 PM Central European Time|Nov 24, 2026 6 PM Mountain West|Nov 24, 2026 6 PM London time|Nov 24, 2026 6 PM CST (China)
Nov 24, 2026 6 PM E.S.T.|Nov 24, 2026 6 PM EST/EDT|Nov 24, 2026 6 PM -05:00|Nov 24, 2026 02:00 -05:00|2026-11-24T18:00:00 05:00|2026-11-24T18:00:60Z
Nov 24, 2026 7:00 \u03c1m|Nov 24, 2026 07:00:PM|Nov 24, 2026 7:00PM_PST|Nov 24, 2026 7;30 PM|2026112409|20261124180|2026-11-24 19
24.11.2026 20-18 Uhr|24.11.2026 20 Uhr bis 18 Uhr|24.11.2026 20.30-18.30 Uhr|24.11.2026 20:30-20 Uhr|24.11.2026 zwischen 20 und 18 Uhr
24.11.2026 20:00 - 18:00|24.11.2026 13:30-13:00|24.11.2026 20.00-18.00|24.11.2026 20h00 - 18h00|Nov 24, 2026 2000 hrs - 1800 hrs
Nov 24, 2026 8 pm - 6 pm|Nov 24, 2026 10 am - 9 am|Nov 24, 2026 15-2 pm|Nov 24, 2026 8 pm to 18:00|Nov 24, 2026 between 8 PM and 6 PM
Nov 24, 2026 2000-1800|24.11.2026 18:30-18|24.11.2026 9:00 - 5:00|Nov 24, 2026 9 AM; Nov 25, 2026 10 AM|2026-11-24, 2026-11-25|24, 25, 26 Nov 2026|November 24 and 26, 2026|2026-11-24 - 26|2026-11-24..26|Nov 24, 2026 1800-2430|Nov 24, 2026 6-25 pm
Registration until Nov 20, 2026; event Nov 24, 2026 7 PM|Nov 24, 2026 until 18:00|Week of November 24, 2026|24. listopada 2026|iPhone 24 Pro 2026
2026-11-24 22:00-02:00|2026-11-24T09:00+17:00|2026-11-24T18:00-17:00|2026-11-24 18:00:00 +14:30|Nov 24, 2026 18:00 GMT-13|Nov 24, 2026 18:00 +0507
""".strip().replace("\n", "|").split("|")  # fmt: skip


def read_time(text, zone):
    span = read_span(text, zone)
    return span.start if span else None


@pytest.mark.parametrize("text", AT_SIX)
def test_a_time_is_read(text):
    at = read_time(text, NEW_YORK)
    assert at is not None
    assert (format_utc(at.utc), at.all_day, at.note) == (f"{DAY}T23:00:00Z", False, "")


@pytest.mark.parametrize("text", DAYS)
def test_a_day_without_a_clock_is_a_day(text):
    at = read_time(text, NEW_YORK)
    assert at is not None
    assert (format_utc(at.utc), at.all_day) == (f"{DAY}T00:00:00Z", True)


@pytest.mark.parametrize("text", REFUSED)
def test_a_text_whose_clock_or_zone_is_not_understood_is_not_read(text):
    assert read_time(text, NEW_YORK) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nov 24, 2026 24:00", "2026-11-25T05:00:00Z"),
        ("Nov 24, 2026 12:00 am", "2026-11-24T05:00:00Z"),
        ("Nov 24, 2026 noon", "2026-11-24T17:00:00Z"),
        ("Nov 24, 2026 12 noon ET", "2026-11-24T17:00:00Z"),
        ("Nov 24, 2026 10 a.m. to noon", "2026-11-24T15:00:00Z"),
        ("Nov 24, 2026 11 - 1:30 pm", "2026-11-24T16:00:00Z"),
        ("July 24, 2026 6 PM EST", "2026-07-24T22:00:00Z"),  # people write EST all the year
        ("Nov 1, 2026 1:30 AM EST", "2026-11-01T06:30:00Z"),
        ("Nov 1, 2026 1:30 AM EDT", "2026-11-01T05:30:00Z"),
        ("Nov 1, 2026 1:30 AM CST", "2026-11-01T07:30:00Z"),
        ("Mar 8, 2026 2:30 AM EDT", "2026-03-08T07:30:00Z"),
        ("Fri, 24 Jul 2026 18:00:00 EST", "2026-07-24T23:00:00Z"),  # by RFC 5322 it is -0500
        ("Nov 24, 2026 8:30-8 pm", "2026-11-24T13:30:00Z"),
        ("Nov 24, 2026 10 am - 2 am", "2026-11-24T15:00:00Z"),
        ("Nov 24, 2026 11:00 - 1:00", "2026-11-24T16:00:00Z"),
        ("Nov 24, 2026 9a", "2026-11-24T14:00:00Z"),
        ("2026-11-24T24:00:00", "2026-11-25T05:00:00Z"),
        ("915148800000", "1999-01-01T00:00:00Z"),
        ("November 24, 2026 09:00-10:00", "2026-11-24T14:00:00Z"),
        ("November 24, 2026 09:00:00-10:00", "2026-11-24T19:00:00Z"),
    ],
)
def test_what_else_a_clock_may_say(text, expected):
    assert format_utc(read_time(text, NEW_YORK).utc) == expected


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-05 09:00-17:00", "20261005 0900-1700", "2026-10-05T09:00-17:00", "2026-10-05T09:00:00-17:00",
        "2026-10-05 09:00 -17:00", "2026-10-05 09:00-17", "2026-10-5T09:00-17:00",
    ],
)  # fmt: skip
def test_an_offset_that_no_zone_has_is_the_end_of_a_range(text):
    assert [at.local[11:16] for at in read_span(text, NEW_YORK)] == ["09:00", "17:00"]


def test_after_a_blank_a_later_time_is_the_end_of_a_range_and_a_second_is_none():
    texts = ("2026-10-05 09:00-10:00", "2026-10-05T09:00-09:37", "2026-10-05T09:00-10:00", "2026-10-05 09:00:00-10:00")
    spans = [read_span(text, NEW_YORK) for text in texts]
    assert [(format_utc(span.start.utc)[11:16], span.end and span.end.local[11:16]) for span in spans] == [
        ("13:00", "10:00"), ("13:00", "09:37"), ("19:00", None), ("19:00", None),
    ]  # fmt: skip


def test_a_name_that_the_zone_of_the_source_has_too_is_that_of_the_source():
    at = [
        format_utc(read_time(f"July 24, 2026 18:00 {name}", ZoneInfo(zone)).utc)[11:16]
        for zone, name in (
            ("Asia/Shanghai", "CST"), ("Asia/Kolkata", "IST"), ("America/Phoenix", "MT"), ("Europe/Athens", "EET"),
            ("Europe/Athens", "ET"), ("Europe/London", "BST"),
        )
    ]  # fmt: skip
    assert at == ["10:00", "12:30", "01:00", "15:00", "22:00", "17:00"]


@pytest.mark.parametrize(
    ("zone", "name"),
    [
        ("Asia/Riyadh", "AST"), ("Asia/Dhaka", "BST"), ("Pacific/Bougainville", "BST"), ("Australia/Sydney", "EST"),
        ("Australia/Adelaide", "CST"), ("Australia/Adelaide", "Central Standard Time"), ("Australia/Sydney", "Eastern"),
        ("Asia/Singapore", "CST"), ("Asia/Karachi", "PST"), ("Asia/Yangon", "MST"), ("Australia/Adelaide", "SAST"),
    ],
)  # fmt: skip
def test_a_name_with_another_meaning_near_the_source_is_not_read(zone, name):
    assert read_time(f"Nov 24, 2026 6 PM {name}", ZoneInfo(zone)) is None


@pytest.mark.parametrize(
    ("zone", "name", "expected"),
    [
        ("Europe/Berlin", "EST", "23:00"), ("Pacific/Honolulu", "CST", "00:00"), ("Asia/Manila", "PST", "10:00"),
        ("Australia/Sydney", "Eastern Time (US & Canada)", "23:00"), ("Australia/Sydney", "ET", "23:00"),
        ("Australia/Sydney", "PST", "02:00"), ("Asia/Tokyo", "EST", "23:00"), ("Australia/Perth", "AEDT", "07:00"),
        ("America/Chicago", "BST", "18:00"),
    ],
)  # fmt: skip
def test_a_name_without_another_meaning_near_the_source_is_read(zone, name, expected):
    assert format_utc(read_time(f"Nov 24, 2026 6 PM {name}", ZoneInfo(zone)).utc)[11:16] == expected


def test_a_time_in_a_zone_of_its_own_says_its_local_time_there():
    at = read_time("Nov 24, 2026 15:00 PST", NEW_YORK)
    assert (at.local, at.zone) == ("2026-11-24T15:00:00", "America/Los_Angeles")
    assert read_time("Nov 24, 2026 15:00 EST", NEW_YORK).zone == ""
    assert read_time("Nov 1, 2026 1:30 CT", NEW_YORK).note == "ambiguous"


@pytest.mark.parametrize(
    ("text", "pattern", "expected", "note"),
    [
        ("December 3, 6:00 PM", "%B %d, %I:%M %p", "2026-12-03T23:00:00Z", "guessed_year"),
        ("Jan 5", "%b %d", "2027-01-05T00:00:00Z", "guessed_year"),
        ("Feb 29 18.00", "%b %d %H.%M", None, ""),
        ("24.12.2026 18.00 UTC", "%d.%m.%Y %H.%M %Z", "2026-12-24T18:00:00Z", ""),
        ("24.12.2026 18.00 gmt", "%d.%m.%Y %H.%M %Z", "2026-12-24T18:00:00Z", ""),
        ("18h", "%Hh", None, ""),
        ("3/12/26 18h", "%d/%m/%y %Hh", "2026-12-03T23:00:00Z", ""),
    ],
)  # fmt: skip
def test_a_format_without_a_year_or_with_a_zone_gives_neither_another_century_nor_hour(text, pattern, expected, note):
    span = read_span(text, NEW_YORK, [pattern], visited=datetime(2026, 11, 27, tzinfo=UTC))
    assert (format_utc(span.start.utc) if span else None, span.start.note if span else "") == (expected, note)


def test_a_name_of_a_zone_that_only_this_machine_knows_is_not_read_by_a_format(monkeypatch):
    monkeypatch.setattr("time.tzname", ("EST", "EDT"))
    span = read_span("24.12.2026 18.00 EST", ZoneInfo("Asia/Tokyo"), ["%d.%m.%Y %H.%M %Z"])
    assert format_utc(span.start.utc) == "2026-12-24T23:00:00Z"
