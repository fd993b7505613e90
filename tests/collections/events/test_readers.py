"""Each reader on documents as sources publish them, and on broken ones."""

import json
from datetime import UTC, date, datetime

import pytest

from tests.collections.events.place import calendar, configured, event
from tests.collections.events.reader import VISITED, parser, read
from windrow.collections.events.collection import PARSER
from windrow.collections.events.discover import select
from windrow.collections.events.documents import EventVersion, event_document
from windrow.collections.events.parser import EventParser, ParserRules
from windrow.collections.events.readers.publishers import next_legistar_page
from windrow.collections.events.reading import LISTED_TWICE, lists_all_events, source_document
from windrow.collections.events.uids import MAX_UID_CHARACTERS
from windrow.errors import StepError
from windrow.model import CdxLine
from windrow.reasons import Reason


def values(read_events, *names):
    return [tuple(read_event.value[name] for name in names) for read_event in read_events]


# iCalendar


def test_a_calendar_is_read_with_its_zones_its_escapes_and_its_last_all_day_day():
    read_events, unread = read(calendar(
        event("a", ";TZID=America/Chicago:20260915T090000", "One\\, two\\; three\\nfour", duration="PT90M"),
        event("b", ";VALUE=DATE:20260916", dtend=";VALUE=DATE:20260919"),
        event("c", ":20260917T090000"), event("d", ":20260917T090000Z"),
    ), "icalendar")  # fmt: skip
    assert unread == []
    assert values(read_events, "datetime", "end_datetime", "all_day") == [
        ("2026-09-15T14:00:00Z", "2026-09-15T15:30:00Z", False),
        ("2026-09-16T00:00:00Z", "2026-09-18T00:00:00Z", True),
        ("2026-09-17T13:00:00Z", "", False),
        ("2026-09-17T09:00:00Z", "", False),
    ]
    assert read_events[0].value["title"] == "One, two; three four"


def test_times_that_the_clocks_repeat_or_skip_are_told_and_noted():
    read_events, _ = read(calendar(
        event("a", ":20261101T013000"), event("b", ":20270314T023000"), event("c", ";TZID=America/New_York:20261101T000000",
        dtend=";TZID=America/New_York:20261101T040000"),
    ), "icalendar")  # fmt: skip
    assert [read_event.value.get("time_note") for read_event in read_events] == ["ambiguous", "nonexistent", None]
    assert read_events[0].value["datetime"] == "2026-11-01T05:30:00Z"
    assert values(read_events[2:], "datetime", "end_datetime") == [("2026-11-01T04:00:00Z", "2026-11-01T09:00:00Z")]


def test_a_repeated_event_is_told_one_by_one_by_its_own_clock_with_exceptions_and_moved_ones():
    read_events, unread = read(calendar(
        event("w", ";TZID=America/New_York:20261018T100000", "Weekly", rrule="FREQ=WEEKLY;COUNT=5",
              exdate=";TZID=America/New_York:20261025T100000"),
        event("w", ";TZID=America/New_York:20261102T110000", "Weekly, later",
              recurrence_id=";TZID=America/New_York:20261101T100000"),
    ), "icalendar")  # fmt: skip
    assert unread == []
    assert sorted(values(read_events, "datetime", "title")) == [
        ("2026-10-18T14:00:00Z", "Weekly"),
        ("2026-11-02T16:00:00Z", "Weekly, later"),
        ("2026-11-08T15:00:00Z", "Weekly"),
        ("2026-11-15T15:00:00Z", "Weekly"),
    ]
    assert len({read_event.uid for read_event in read_events}) == 4


def test_a_repetition_without_end_ends_with_the_window_and_one_in_each_second_with_the_bound():
    read_events, _ = read(calendar(event("d", ":20000101T120000Z", rrule="FREQ=DAILY")), "icalendar")
    assert len(read_events) == 30 + 180 + 1
    assert read_events[0].value["datetime"] == "2026-08-02T12:00:00Z"
    read(calendar(event("s", ":20000101T120000Z", rrule="FREQ=SECONDLY")), "icalendar")


def test_a_malformed_calendar_gives_what_can_be_read_and_says_what_not():
    text = (
        "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:UTC\nTZID:America/Chicago\nBEGIN:STANDARD\nEND:VTIMEZONE\n"
        "BEGIN:VEVENT\nUID:<b>x</b>\nDTSTART:20260915T090000Z\nSUMMARY:Colon: in it\nCATEGORIES:a\\,b,c\nEND:VEVENT\n"
        "BEGIN:VEVENT\nDTSTART:never\nSUMMARY:Bad\nEND:VEVENT\n"
        "BEGIN:VEVENT\nUID:z\nDTSTART;TZID=Nowhere/None:20260916T090000\nDURATION:P999999999999999999W\nSUMMARY:Z\nEND:VEVENT\n"
        "BEGIN:VEVENT\nUID:cut\nDTSTART:20260917T090000Z\n"
    )
    read_events, unread = read("\ufeff" + text, "icalendar")
    assert values(read_events, "title", "datetime") == [
        ("Colon: in it", "2026-09-15T09:00:00Z"),
        ("Z", "2026-09-16T13:00:00Z"),
    ]
    assert read_events[0].value["categories"] == ["a,b", "c"]
    assert {part.reason for part in unread} == {Reason.INCOMPLETE_RECORD, Reason.TRUNCATED}
    with pytest.raises(StepError, match="not an iCalendar"):
        read("<html>404</html>", "icalendar")


# JSON, XML, HTML


def test_a_calendar_that_ends_between_two_events_is_read_and_said_to_be_truncated():
    whole = calendar(event("a@x", ":20260915T120000Z"), event("b@x", ":20260916T120000Z"))
    assert read(whole, "icalendar")[1] == []
    read_events, unread = read(whole[: whole.index("END:VEVENT") + 12], "icalendar")
    assert [read_event.uid for read_event in read_events] == ["p/a@x"]
    assert [part.reason for part in unread] == [Reason.TRUNCATED]
    assert [part.reason for part in read("BEGIN:VCALENDAR\r\nVERSION", "icalendar")[1]] == [Reason.TRUNCATED]


def test_times_of_a_calendar_with_zones_of_their_own_are_noted_where_the_clocks_repeat_or_skip_them():
    berlin = ";TZID=Europe/Berlin:"
    read_events, unread = read(calendar(
        event("gap", f"{berlin}20260329T023000"), event("fold", f"{berlin}20261025T023000"),
        event("plain", f"{berlin}20261025T040000"), event("utc", ":20261025T003000Z"),
        event("again", f"{berlin}20261024T023000", rrule="FREQ=DAILY;COUNT=2"),
    ), "icalendar")  # fmt: skip
    assert unread == []
    assert [(read_event.uid, read_event.value["datetime"], read_event.value.get("time_note")) for read_event in read_events] == [
        ("p/gap", "2026-03-29T01:30:00Z", "nonexistent"), ("p/fold", "2026-10-25T00:30:00Z", "ambiguous"),
        ("p/plain", "2026-10-25T03:00:00Z", None), ("p/utc", "2026-10-25T00:30:00Z", None),
        ("p/again 2026-10-24T00:30:00Z", "2026-10-24T00:30:00Z", None),
        ("p/again 2026-10-25T00:30:00Z", "2026-10-25T00:30:00Z", "ambiguous"),
    ]  # fmt: skip


def test_a_day_in_exdate_leaves_out_what_begins_on_it_and_a_period_in_rdate_has_its_own_end():
    zone = ";TZID=America/New_York:"
    read_events, unread = read(calendar(
        event("a", f"{zone}20261002T220000", rrule="FREQ=DAILY;COUNT=3", exdate=";VALUE=DATE:20261003"),
        event("b", ":20261002T090000Z", dtend=":20261002T093000Z",
              rdate=";VALUE=PERIOD:20261005T090000Z/PT1H,20261006T100000Z/20261006T120000Z"),
    ), "icalendar")  # fmt: skip
    assert unread == []
    assert values(read_events, "datetime", "end_datetime") == [
        ("2026-10-03T02:00:00Z", ""), ("2026-10-05T02:00:00Z", ""), ("2026-10-02T09:00:00Z", "2026-10-02T09:30:00Z"),
        ("2026-10-05T09:00:00Z", "2026-10-05T10:00:00Z"), ("2026-10-06T10:00:00Z", "2026-10-06T12:00:00Z"),
    ]  # fmt: skip


def test_an_event_with_too_many_repetitions_to_get_through_is_told_and_not_silently_none():
    read_events, unread = read(calendar(event("a", ":19000101T000000Z", rrule="FREQ=SECONDLY")), "icalendar")
    assert read_events == []
    assert [(part.reason, part.key) for part in unread] == [(Reason.TOO_LARGE, "")]


def test_json_is_read_by_path_with_alternatives_and_missing_values_as_the_standard_wants_them():
    read_events, unread = read(
        '{"data": {"list": [{"n": 7, "name": "A", "when": {"day": "2026-09-15", "hour": "10:00"}, "tags": ["x", "y"]},'
        ' {"n": 8, "title": "B", "when": {"day": "2026-09-16"}, "note": "text"}, 5, {"n": 9, "title": "C"}]}}', "json",
        items="data.list", extra={"tags": "tags"},
        fields={"id": "n", "title": "title|name", "start": "{when.day} {when.hour}", "description": "note"},
    )  # fmt: skip
    assert values(read_events, "title", "datetime", "all_day", "description", "event_url", "unique_key") == [
        ("A", "2026-09-15T14:00:00Z", False, "", None, "7"),
        ("B", "2026-09-16T00:00:00Z", True, "text", None, "8"),
    ]
    assert read_events[0].value["tags"] == "x, y"
    assert [part.reason for part in unread] == [Reason.INCOMPLETE_RECORD] * 2
    for wrong in ('{"data": {}}', "<html>", '{"data": ' + "[" * 100_000):
        with pytest.raises(StepError):
            read(wrong, "json", items="data.list")


def test_extra_keys_of_json_keep_the_type_of_numbers_and_booleans():
    content = (
        '[{"n": 1, "t": "A", "d": "2026-09-15", "i": 7, "zero": 0, "f": 1.5, "whole": 2.0, "yes": true, "no": false,'
        ' "text": "12", "nothing": null, "many": 9007199254740993, "beyond": 1e400, "none": NaN, "big": 1%s}]'
        % ("0" * 400)
    )
    names = ["i", "zero", "f", "whole", "yes", "no", "text", "nothing", "many", "beyond", "none", "big", "missing"]
    extra = {
        **{f"x_{name}": name for name in names},
        "either": "nothing|i",
        "both": "{i} {f}",
        "word": "=7",
        "said": "i?8",
    }
    read_events, _ = read(content, "json", fields={"id": "n", "title": "t", "start": "d"}, extra=extra)
    document = read_events[0].value
    extra_values = {name: document.get(f"x_{name}") for name in names}
    assert extra_values == {
        "i": 7, "zero": 0, "f": 1.5, "whole": 2.0, "yes": True, "no": False, "text": "12", "nothing": None,
        "many": "9007199254740993", "beyond": None, "none": None, "big": "1" + "0" * 400, "missing": None,
    }  # fmt: skip
    assert [type(extra_values[name]) for name in ("i", "zero", "yes", "no")] == [int, int, bool, bool]
    assert [document[name] for name in ("either", "both", "word", "said")] == [7, "7 1.5", "7", "8"]
    meeting = (
        '[{"EventId": 12, "EventBodyName": "Council", "EventDate": "2026-09-15T00:00:00", "EventTime": "1:00 PM"}]'
    )
    assert read(meeting, "legistar")[0][0].value["legistar_id"] == 12


def test_a_number_that_was_text_in_an_earlier_windrow_is_no_change_of_an_event():
    value = read('[{"d": "2026-09-15", "t": "A"}]', "json", fields={"title": "t", "start": "d"})[0][0].value
    aside = {"source_url": "u", "source_text": "t", "parser_version": "1"}
    first, second = datetime(2026, 9, 1, tzinfo=UTC), datetime(2026, 9, 2, tzinfo=UTC)
    for before, after, revision in (
        ("7", 7, 0),
        ("2", 2.0, 0),
        ("1.5", 1.5, 0),
        ("true", True, 0),
        ("Parks, Roads", [{"name": "Parks"}, {"name": "Roads"}], 0),
        ("7", 8, 1),
        (1, "1", 1),
    ):
        versions = [
            EventVersion(first, "s", {**value, "n": before}, aside),
            EventVersion(second, "s", {**value, "n": after}, aside),
        ]
        document = event_document("p/1", versions).document
        assert (document["n"], document["revision"]) == (after, revision)


def test_xml_is_read_by_path_whatever_its_namespaces_and_an_error_page_is_none():
    rules = {"items": "day/vote", "root": "votes", "fields": {"id": "@n", "title": "q", "start": "../@d|when/@at"}}
    read_events, _ = read('<v:votes xmlns:v="urn:v"><v:day><v:vote n="3"><v:q>On <i>it</i></v:q><v:when at="2026-09-15"/></v:vote></v:day></v:votes>', "xml", **rules)  # fmt: skip
    assert values(read_events, "title", "datetime", "unique_key") == [("On it", "2026-09-15T00:00:00Z", "3")]
    assert read("<votes/>", "xml", **rules) == ([], [])
    for wrong in ("<xml>Error sanitizing file. Please try again.</xml>", "<html><body>", ""):
        with pytest.raises(StepError):
            read(wrong, "xml", **rules)
    with pytest.raises(StepError) as caught:
        read('<!DOCTYPE votes [<!ENTITY a "aaa">]><votes>&a;</votes>', "xml", **rules)
    assert caught.value.reason is Reason.DTD_FORBIDDEN


def test_a_clock_of_twelve_hours_is_read_however_a_page_or_an_api_writes_it():
    written = {
        "October 5, 2026 2:00 p.m.": "18:00", "2026-10-05 1:30 PM": "17:30", "October 5, 2026 12:00 a.m.": "04:00",
        "Monday, October 5, 2026 10 A.M. - 12 P.M.": "14:00", "5 Oct 2026 10.30am": "14:30", "Oct 5, 2026 noon": "16:00",
        "Oct 5, 2026, 1:00\u20133:00 pm ET": "17:00", "Oct 5, 2026 9 a.m. PT": "16:00", "9 am on October 5, 2026": "13:00",
        "Oct 5, 2026 11:00 - 1:00 pm": "15:00", "Oct 5, 2026 14:00": "18:00", "Mon, 05 Oct 2026 08:00:00 EST": "13:00",
    }  # fmt: skip
    content = json.dumps([{"id": text, "t": "A", "s": text} for text in written])
    read_events, unread = read(content, "json", fields={"id": "id", "title": "t", "start": "s"})
    assert unread == []
    assert {read_event.value["unique_key"]: read_event.value["datetime"] for read_event in read_events} == {
        text: f"2026-10-05T{clock}:00Z" for text, clock in written.items()
    }
    meeting = (
        '[{"EventId": 12, "EventBodyName": "Council", "EventDate": "2026-09-15T00:00:00", "EventTime": "1:30 PM"}]'
    )
    assert read(meeting, "legistar")[0][0].value["datetime"] == "2026-09-15T17:30:00Z"


def test_html_is_read_by_selector_and_by_the_headings_of_a_table():
    page = """<table><tr><th>Date</th><th>What</th></tr>
      <tr class=e><td>March 5, 2027</td><td><a href="/x?a=1&amp;b=2">Board &amp; staff</a></td></tr>
      <tr class=e><td>tba</td><td>Later</td></tr></table><a rel=next href="?p=2">more</a>"""
    fields = {"start": "column:Date", "title": "column:what", "url": "a@href"}
    read_events, unread = read(page, "html", items="tr.e", fields=fields)
    assert values(read_events, "title", "datetime", "event_url") == [
        ("Board & staff", "2027-03-05T00:00:00Z", "http://a.example/x?a=1&b=2")
    ]
    assert read_events[0].aside["source_text"].startswith('<tr class="e">')
    assert [part.reason for part in unread] == [Reason.INCOMPLETE_RECORD]
    with pytest.raises(StepError, match="selects nothing"):
        read("<p>We moved.</p>", "html", items="tr.e", fields=fields)
    assert read("<table id=t></table>", "html", items="tr.e", root="#t", fields=fields) == ([], [])
    with pytest.raises(StepError):
        read(page, "html", items="tr[", fields=fields)


def test_schema_org_events_are_found_wherever_they_are_nested():
    page = """<script type="application/ld+json">{"@graph": [{"@type": "WebSite"}, {"@type": ["Thing", "MusicEvent"],
      "@id": "#e1", "name": "A &amp; B", "startDate": "2026-09-15T19:00-05:00", "eventStatus": "https://schema.org/EventCancelled",
      "location": {"@type": "Place", "name": "Hall", "address": {"streetAddress": "1 Main St"}},
      "subEvent": [{"@type": "Event", "@id": "_:b0", "name": "Part", "startDate": "2026-09-16"}]}]}</script>
      <script type="application/ld+json">{"@type": "Event", "startDate": broken</script>"""
    read_events, unread = read(page, "schema.org")
    assert values(read_events, "title", "datetime", "status", "location", "all_day") == [
        ("A & B", "2026-09-16T00:00:00Z", "cancelled", "Hall, 1 Main St", False),
        ("Part", "2026-09-16T00:00:00Z", "scheduled", "", True),
    ]
    assert [part.reason for part in unread] == [Reason.NOT_WELL_FORMED]
    assert read_events[0].uid == "p/http://a.example/x#e1", "each page may have the same fragment"
    assert "_:b0" not in read_events[1].uid, "each document numbers its blank nodes anew"
    assert read("<p>nothing here</p>", "schema.org") == ([], [])


def test_legistar_is_read_with_the_day_and_hour_that_stand_apart_and_asked_by_thousands():
    meeting = '{"EventId": 5, "EventGuid": "G-5", "EventBodyName": "City Council", "EventDate": "2026-09-15T00:00:00", "EventTime": "10:00 AM", "EventLocation": null, "EventAgendaStatusName": "Cancelled", "EventInSiteURL": "https://c.legistar.com/5"}'
    read_events, _ = read(f"[{meeting}]", "legistar", zone="America/Chicago")
    assert values(read_events, "title", "datetime", "status", "unique_key") == [
        ("City Council", "2026-09-15T15:00:00Z", "cancelled", "G-5")
    ]
    document = source_document(
        parser("legistar"),
        ("[" + ",".join([meeting] * 1000) + "]").encode(),
        "https://w.example/events?$top=1000",
        VISITED,
        "",
    )
    assert next_legistar_page(document).endswith("$top=1000&$skip=1000")


# Feeds


def test_a_feed_whose_entries_share_one_guid_gives_each_of_them():
    entries = "".join(
        f"<item><guid>urn:same</guid><title>Day {n}</title><pubDate>Thu, 0{n} Oct 2026 11:33:10 -0400</pubDate></item>"
        for n in range(1, 6)
    )
    read_events, unread = read(
        f"\ufeff<?xml version='1.0' encoding='utf-8'?><rss><channel>{entries}</channel></rss>", "feed"
    )
    assert unread == []
    assert len({read_event.uid for read_event in read_events}) == 5
    assert read_events[0].value["datetime"] == "2026-10-01T15:33:10Z"


def test_atom_and_json_feed_are_read_and_a_page_that_is_no_feed_is_an_error():
    atom = '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>u:1</id><title>A</title><link rel="self" href="/s"/><link href="/a"/><published>2026-09-15T10:00:00Z</published><summary>s</summary></entry></feed>'
    read_events, _ = read(atom, "feed")
    assert values(read_events, "title", "event_url", "unique_key", "description", "end_datetime") == [
        ("A", "http://a.example/a", "u:1", "s", None)
    ]
    feed = '{"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "1", "title": "J", "date_published": "2026-09-15"}]}'
    assert values(read(feed, "feed")[0], "title", "datetime") == [("J", "2026-09-15T00:00:00Z")]
    with pytest.raises(StepError, match="not a feed"):
        read("<html><p>Error</p></html>", "feed")


# Identity and versions


def test_two_meetings_of_one_committee_on_one_day_are_two_and_one_told_twice_is_one():
    fields = {"title": "t", "start": "s", "location": "l"}
    text = '[{"t": "Board", "s": "2026-09-15 10:00"}, {"t": "Board", "s": "2026-09-15 14:00"}, {"t": "Board", "s": "2026-09-15 14:00"}]'
    read_events, unread = read(text, "json", fields=fields)
    assert values(read_events, "datetime", "unique_key") == [
        ("2026-09-15T14:00:00Z", "Board"),
        ("2026-09-15T18:00:00Z", "Board"),
    ]
    assert len({read_event.uid for read_event in read_events}) == 2
    assert [part.reason for part in unread] == [Reason.DUPLICATE_RECORD]
    days, _ = read(
        '[{"t": "B", "s": "2026-09-15", "l": "1"}, {"t": "B", "s": "2026-09-15", "l": "2"}]', "json", fields=fields
    )
    assert [day.value["unique_key"] for day in days] == ["B", "B - 2"]


@pytest.mark.parametrize(
    ("entries", "messages"),
    [
        # equal titles and times at two places: the key of the second is numbered
        ([("", "B", "10:00", "1"), *[("", "B", "10:00", "2")] * 3], [LISTED_TWICE] * 2),
        # one id for two events
        ([("7", "B", "10:00", "1"), *[("7", "B", "14:00", "1")] * 3, ("7", "B", "10:00", "1")], [LISTED_TWICE] * 3),
        (
            [("7", name, "14:00", "1") for name in ("B", "C", "D", "C")],
            [f"{LISTED_TWICE}, with different content", LISTED_TWICE],
        ),
    ],
)
def test_equal_entries_are_one_event_and_each_repetition_is_counted(entries, messages):
    others = [(str(number), "Other", "09:00", str(number)) for number in range(10, 18)]  # so that an id may repeat
    rows = [
        {"id": id_, "title": title, "start": f"2026-09-15 {start}", "location": location}
        for id_, title, start, location in (*entries, *others)
    ]
    read_events, unread = read(json.dumps(rows), "json", fields={name: name for name in rows[0]})
    keys = {(read_event.value["datetime"], read_event.value["unique_key"]) for read_event in read_events}
    assert (len(read_events), len({read_event.uid for read_event in read_events})) == (2 + len(others),) * 2
    assert len(keys) == len(read_events)
    assert [part.message for part in unread] == messages


def test_no_uid_is_longer_than_the_cap_also_if_two_events_have_a_long_id_in_common():
    ids = ["x" * 600, "x" * 600, *map(str, range(10))]
    rows = [{"id": id_, "title": "T", "start": f"2026-09-15 {hour}:00"} for hour, id_ in enumerate(ids, 10)]
    uids = {read_event.uid for read_event in read(json.dumps(rows), "json", fields={name: name for name in rows[0]})[0]}
    assert (len(uids), max(map(len, uids))) == (len(rows), MAX_UID_CHARACTERS)


def test_times_that_name_no_zone_are_in_that_of_the_source_unless_it_says_utc(tmp_path):
    text = '[{"t": "Board", "s": "2026-09-15 10:00"}, {"t": "Staff", "s": "2026-09-15T10:00:00-05:00"}]'
    for naive, hour in (("", "14"), ("UTC", "10")):
        workspace = configured(
            tmp_path, "https://a.example/a", reader="json", fields={"title": "t", "start": "s"}, naive_timezone=naive
        )
        events, unread = read(text, by=workspace.source("council").options[PARSER])
        assert [event.value["datetime"] for event in events] == [f"2026-09-15T{hour}:00:00Z", "2026-09-15T15:00:00Z"]
        assert unread == []


def test_an_event_has_its_own_branch_and_entity_where_the_list_has_them_and_else_those_of_its_parser():
    fields = {"title": "t", "start": "s", "branch": "b", "entity": "e"}
    text = (
        '[{"t": "A", "s": "2026-09-15", "b": "Judicial", "e": "Supreme Court"},'
        ' {"t": "B", "s": "2026-09-15", "b": "judicial", "e": "Court  of\\u0000 Appeals"},'
        ' {"t": "C", "s": "2026-09-15", "b": "", "e": null}]'
    )
    read_events, _ = read(text, "json", fields=fields)
    names = ("branch", "entity", "source_branch", "source_entity")
    assert [[read_event.value[name] for name in names if name in read_event.value] for read_event in read_events] == [
        ["Judicial", "Supreme Court"],
        ["Other", "Senate", "judicial", "Court of Appeals"],
        ["Other", "Senate"],
    ]


def test_a_document_is_read_by_the_version_that_was_in_force_when_it_came():
    old = ParserRules("1.0", "json", items="old", fields={"title": "t", "start": "s"})
    new = ParserRules("1.1", "json", date(2026, 7, 1), items="new", fields={"title": "t", "start": "s"})
    by = EventParser("p", "Other", "Senate", versions=(new, old))
    text = '{"old": [{"t": "A", "s": "2026-09-15"}], "new": [{"t": "B", "s": "2026-09-15"}]}'
    for day, title, version in (
        (datetime(2026, 6, 30, tzinfo=UTC), "A", "1.0"),
        (datetime(2026, 7, 1, tzinfo=UTC), "B", "1.1"),
    ):
        (read_event,), _ = read(text, by=by, visited=day)
        assert (read_event.value["title"], read_event.aside["parser_version"]) == (title, version)


def test_the_version_in_force_decides_which_captures_are_wanted_and_whether_a_listing_is_complete(tmp_path):
    versions = [{"since": "2027-01-01", "reader": "icalendar"}, {"since": "2026-01-01", "reader": "feed"}]
    readings = {
        "2025-12-31": ("text/html", True),
        "2026-01-01": ("text/xml", False),
        "2027-01-01": ("text/calendar", True),
    }
    for versions_in_any_order in (versions, versions[::-1]):
        workspace = configured(tmp_path, "https://a.example/a", reader="html", versions=versions_in_any_order)
        source = workspace.source("council")
        check, by = select(source, {}), source.options[PARSER]
        for day, (wanted, is_complete) in readings.items():
            line = CdxLine("", f"{day.replace('-', '')}120000", "https://a.example/", "", 200, "", None, None, "")
            wanted_media = [media for media, _ in readings.values() if check(line._replace(mime=media)) is None]
            assert (wanted_media, lists_all_events(by, by.rules_at(datetime.fromisoformat(f"{day}T12Z")))) == (
                [wanted], is_complete,
            )  # fmt: skip


# Published documents, if the samples are available


def test_the_samples_of_calendars_are_read_without_loss(shared):
    folder = shared / "data" / "events-and-news"
    for name, count in (
        ("ics/calendar_with_unicode.ics", 0),
        ("ics/event_with_unicode_fields.ics", 1),
        ("ics/invalid_duration.ics", 1),
    ):
        read_events, unread = read((folder / name).read_bytes(), "icalendar", visited=VISITED)
        assert (len(read_events), unread) == (count, []), name
    read_events, unread = read((folder / "ics/pr_480_summary_with_colon.ics").read_bytes(), "icalendar")
    assert read_events == []  # one without a start, one without an end: both are reported
    assert [part.reason for part in unread].count(Reason.INCOMPLETE_RECORD) == 2
    content = (folder / "local_events/chi_low_income_housing_trust_fund.ics").read_bytes()
    read_events, unread = read(content, "icalendar", zone="America/Chicago")
    assert len(read_events) + len(unread) == content.count(b"BEGIN:VEVENT")
    assert unread == []


def test_the_samples_of_json_are_read_without_loss(shared):
    folder = shared / "data" / "events-and-news"
    water = (folder / "local_events/cook_water.json").read_text()
    fields = {"id": "iCalendar.url", "title": "Name.label|Name", "start": "{Meeting Date} {Meeting Time}",
              "location": "Meeting Location"}  # fmt: skip
    read_events, unread = read(
        water, "json", zone="America/Chicago", time_formats=("%m/%d/%Y %I:%M %p",), fields=fields
    )
    assert len(read_events) == water.count('"Meeting Date"')
    assert unread == []


def test_an_event_without_an_end_takes_no_other_with_it():
    content = calendar(event("a", ":20260917T090000Z"), "SUMMARY:cut", event("b", ":20260918T090000Z"))
    content = content.replace("SUMMARY:cut\r\nEND:VEVENT\r\n", "SUMMARY:cut\r\n")
    read_events, unread = read(content, "icalendar")
    assert values(read_events, "datetime") == [("2026-09-17T09:00:00Z",), ("2026-09-18T09:00:00Z",)]
    assert [part.reason for part in unread] == [Reason.TRUNCATED]


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "JaVaScRiPt:x", "data:text/html,x", "mailto:a@b.example", "file:///etc/passwd"]
)
def test_an_address_that_is_not_of_the_web_is_no_event_url(url):
    fields = {"title": "name", "start": "at", "url": "url"}
    (read_event,), _ = read(json.dumps([{"name": "Fair", "at": "2026-10-05", "url": url}]), "json", fields=fields)
    assert read_event.value["event_url"] == ""


def test_a_list_that_moved_in_json_is_an_error_although_the_root_is_there():
    rules = {"items": "results", "root": "meta", "fields": {"title": "name", "start": "at"}}
    entries = [{"name": "Fair", "at": "2026-10-05"}]
    assert read(json.dumps({"meta": {}}), "json", **rules) == ([], [])
    assert read(json.dumps({"meta": {"results": []}}), "json", **rules) == ([], [])
    with pytest.raises(StepError, match="but a list 'results' elsewhere"):
        read(json.dumps({"meta": {}, "data": {"results": entries}}), "json", **rules)


def test_a_list_that_moved_in_xml_is_an_error_although_the_root_is_there():
    rules = {"items": "list/event", "root": "calendar", "fields": {"title": "name", "start": "at"}}
    assert read("<calendar/>", "xml", **rules) == ([], [])
    with pytest.raises(StepError, match="elements of that name elsewhere: 1"):
        read("<calendar><day><event><name>x</name></event></day></calendar>", "xml", **rules)
