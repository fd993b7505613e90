"""vCalendar 1.0, the predecessor of iCalendar: its values, charsets, lists, groups and rules of repetition."""

from __future__ import annotations

import pytest

from tests.collections.events.reader import read
from windrow.reasons import Reason

HEAD = "BEGIN:VCALENDAR\r\nVERSION:1.0\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20261124T183000Z\r\n"
END = "\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"


@pytest.mark.parametrize(
    ("lines", "title", "description"),
    [
        (
            "SUMMARY;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:Caf=C3=A9 =\r\nund Kuchen\r\nDESCRIPTION;QUOTED-PRINTABLE:Tea, cakes=0D=0Aand =\r\npies; all =3D free",
            "Caf\u00e9 und Kuchen", "Tea, cakes\nand pies; all = free",
        ),
        ("SUMMARY;CHARSET=windows-1251;ENCODING=QUOTED-PRINTABLE:=CF=F0=E8=E2=E5=F2",
         "\u041f\u0440\u0438\u0432\u0435\u0442", ""),
        ("SUMMARY;LANGUAGE=de;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:Stra=DFe", "Stra\u00dfe", ""),
        # Soft breaks before what looks like properties
        ("SUMMARY:Tea\r\nDESCRIPTION;ENCODING=QUOTED-PRINTABLE:See=\r\nSTATUS:CANCELLED =0A=\r\nfor more", "Tea",
         "SeeSTATUS:CANCELLED \nfor more"),
        ("DESCRIPTION:Tea\r\nSUMMARY;ENCODING=QUOTED-PRINTABLE:ends with =", "ends with", "Tea"),
    ],
)  # fmt: skip
def test_quoted_printable_values_are_decoded_with_their_soft_breaks_and_charset(lines, title, description):
    (event,), unread = read(HEAD + lines + END, "icalendar", media="text/x-vcalendar")
    assert unread == []
    assert (event.value["title"], event.value["description"]) == (title, description)
    assert (event.value["status"], event.value["datetime"]) == ("scheduled", "2026-11-24T18:30:00Z")
    assert lines in event.aside["source_text"]


@pytest.mark.parametrize(("media", "title"), [("text/x-vcalendar", "\u041f\u0440\u0438"), ("", "\u041f\u0440\u0438")])
def test_the_charset_of_a_value_that_is_not_encoded_is_that_of_the_file(media, title):
    content = (HEAD + "SUMMARY;CHARSET=windows-1251:\u041f\u0440\u0438" + END).encode("cp1251")
    (event,), _ = read(content, "icalendar", media=media)
    assert event.value["title"] == title


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        ("SUMMARY;ENCODING=BASE64:SGVsbG8gV29ybGQ=", "Hello World"),
        ("SUMMARY;BASE64;CHARSET=ISO-8859-1:\r\n  Y2Fm\r\n  6Q==\r\n", "caf\u00e9"),
        ("SUMMARY;ENCODING=BASE64:Hello, World", "Hello, World"),
    ],
)
def test_texts_in_base64_are_decoded(lines, title):
    (event,), unread = read(HEAD + lines + END, "icalendar")
    assert (event.value["title"], unread) == (title, [])


@pytest.mark.parametrize(
    ("head", "start", "note"),
    [
        ("TZ:-05:00", "2026-11-24T23:30:00Z", None), ("TZ:-05\r\nDAYLIGHT:FALSE", "2026-11-24T23:30:00Z", None),
        ("TZ:+0530", "2026-11-24T13:00:00Z", None),
        ("TZ:-05:00\r\nDAYLIGHT:TRUE;-04;20260308T020000;20261101T020000;EST;EDT", "2026-11-24T17:30:00Z", "unknown_zone"),
        ("TZ:EST5EDT", "2026-11-24T17:30:00Z", "unknown_zone"),
    ],
)  # fmt: skip
def test_the_zone_of_a_vcalendar_is_used_or_noted(head, start, note):
    content = HEAD.replace("VERSION:1.0", f"VERSION:1.0\r\n{head}").replace("183000Z", "183000") + "SUMMARY:A" + END
    (event,), unread = read(content, "icalendar", zone="Europe/Berlin")
    assert (event.value["datetime"], event.value.get("time_note"), unread) == (start, note, [])


def test_each_value_is_decoded_by_its_own_charset():
    """One that names none has the charset that the server states, or else the first of the file."""
    properties = [
        "SUMMARY;CHARSET=ISO-8859-1:Stra\u00dfe".encode("latin1"), "DESCRIPTION;CHARSET=UTF-8:Stra\u00dfe\r\n ab".encode(),
        "LOCATION;CHARSET=koi8-r:\u041c\u0438\u0440".encode("koi8-r"), "CATEGORIES:K\u00f6ln".encode("latin1"),
    ]  # fmt: skip
    for media in ("text/x-vcalendar", "text/x-vcalendar; charset=iso-8859-1"):
        (event,), unread = read(HEAD.encode() + b"\r\n".join(properties) + END.encode(), "icalendar", media=media)
        value = event.value
        assert (value["title"], value["description"], value["location"], value["categories"], unread) == (
            "Stra\u00dfe", "Stra\u00dfe ab", "\u041c\u0438\u0440", ["K\u00f6ln"], [],
        )  # fmt: skip


@pytest.mark.parametrize(
    ("version", "written", "categories"),
    [
        ("1.0", "MEETING;APPOINTMENT", ["MEETING", "APPOINTMENT"]), ("1.0", "A, B;\r\n C\\;D", ["A, B", "C;D"]),
        ("1.0", "A,B", ["A", "B"]), ("2.0", "A;B,C", ["A;B", "C"]),
    ],
)  # fmt: skip
def test_categories_are_separated_by_semicolons(version, written, categories):
    content = HEAD.replace("VERSION:1.0", f"VERSION:{version}") + f"CATEGORIES:{written}" + END
    (event,), _ = read(content, "icalendar")
    assert event.value["categories"] == categories


def test_the_group_of_a_property_is_left_out():
    lines = (
        "A.SUMMARY:Tea\r\nDESCRIPTION:See\r\nb-1.LOCATION;ENCODING=QUOTED-PRINTABLE:Caf=C3=A9\r\nC.COMMENT:www.x.org: y"
    )
    (event,), unread = read(HEAD + lines + END, "icalendar")
    assert (event.value["title"], event.value["description"], event.value["location"]) == ("Tea", "See", "Caf\u00e9")
    assert (unread, "text_note" in event.value) == ([], False)


@pytest.mark.parametrize(
    ("rule", "days"),
    [
        ("D1 #3", "1124 1125 1126"), ("D2 20261128T183000Z", "1124 1126 1128"), ("W1 20261201", "1124 1201"),
        ("W2 TU TH 20261212T000000Z", "1124 1126 1208 1210"), ("W1 #2", "1124 1201"), ("MP1 4+ TU #2", "1124 1222"),
        ("MP1 1- 4+ TU 20261231T000000Z", "1124 1222 1229"), ("MD1 24 2- 20261231T000000Z", "1124 1129 1224 1230"),
        ("MD1 LD 24 20261231T235900Z", "1124 1130 1224 1231"), ("MD1 #2", "1124 1224"),
        ("YM1 11 12 20261231T235900Z", "1124 1224"), ("YD1 328 364 20261231T235900Z", "1124 1230"), ("", "1124"),
        ("FREQ=DAILY;COUNT=2", "1124 1125"), ("\r\n FREQ=DAILY;\r\n COUNT=2", "1124 1125"),
        ("\r\n D1\r\n  #2", "1124 1125"),
    ],
)  # fmt: skip
def test_rules_of_repetition_are_read(rule, days):
    events, unread = read(HEAD + f"SUMMARY:A\r\nRRULE:{rule}" + END, "icalendar")
    assert [event.value["datetime"] for event in events] == [
        f"2026-{day[:2]}-{day[2:]}T18:30:00Z" for day in days.split()
    ]
    assert unread == []


@pytest.mark.parametrize(
    "rule",
    [
        "W1 TU TH #5", "D1", "D1 0600 1200 #2", "YM1 6 #10 W1 TU TH 1100 1300 #4", "W2 MO$ TU 20261212T000000Z",
        "MP1 #12", "MD1 40 #2", "MP1 TU #2", "MP1 6+ TU #2", "W1 1+ #2", "YD1 #2", "D0 #2", "sometimes",
        "D1 #5 19990102T000000Z",
    ],
)  # fmt: skip
def test_a_rule_that_icalendar_does_not_have_is_unsupported(rule):
    events, unread = read(HEAD + f"SUMMARY:A\r\nEXDATE:20261125T183000Z\r\nRRULE:{rule}" + END, "icalendar")
    assert [(event.value["datetime"], event.value["recurring"]) for event in events] == [("2026-11-24T18:30:00Z", True)]
    assert [(part.reason, part.series) for part in unread] == [(Reason.UNSUPPORTED, "1")]
    assert f"'A' has a rule of repetition that is not read: {rule!r}" in unread[0].message


def test_excluded_days_are_separated_by_semicolons():
    lines = "SUMMARY:A\r\nRRULE:D1 #4\r\nEXDATE:20261125T183000Z;20261126T183000Z"
    events, unread = read(HEAD + lines + END, "icalendar")
    assert ([event.value["datetime"][8:10] for event in events], unread) == (["24", "27"], [])


def test_a_repetition_whose_original_start_cannot_be_read_has_a_note():
    (event,), _ = read(HEAD + "SUMMARY:A\r\nRECURRENCE-ID:tomorrow" + END, "icalendar")
    assert event.value["text_note"].startswith("1 line cannot be read: ")


@pytest.mark.parametrize(
    ("version", "written", "description"),
    [
        ("1.0", "This is a\r\n very long\r\n text", "This is a very long text"),
        ("1.0", "x" * 63 + "\r\n yz", "x" * 63 + "yz"), ("2.0", "This is a\r\n very long", "This is avery long"),
    ],
)  # fmt: skip
def test_a_fold_is_a_space_unless_it_is_at_75_characters(version, written, description):
    content = HEAD.replace("VERSION:1.0", f"VERSION:{version}") + f"DESCRIPTION:{written}" + END
    (event,), _ = read(content, "icalendar")
    assert event.value["description"] == description


def test_a_space_behind_the_name_of_a_rule_or_a_time_and_empty_dates_are_no_harm():
    lines = "SUMMARY:A\r\nRRULE: FREQ=DAILY; COUNT=3\r\nEXDATE:\r\nRDATE;VALUE=DATE:\r\nURL:www.b.example/1"
    events, unread = read(HEAD + lines + END, "icalendar")
    assert [(event.value["title"], event.value["datetime"][8:10]) for event in events] == [
        ("A", day) for day in ("24", "25", "26")
    ]
    assert {event.value["event_url"] for event in events} == {"http://www.b.example/1"}
    assert unread == []
