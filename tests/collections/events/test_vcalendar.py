"""vCalendar 1.0, the predecessor of iCalendar: values in quoted-printable, each with a charset."""

from __future__ import annotations

import pytest

from tests.collections.events.reader import read

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
