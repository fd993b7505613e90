"""Any input gives events, skipped parts with a reason, or one clear error, but never a bug of ours."""

import json
import random

import pytest

from tests.collections.events.place import calendar, event
from tests.collections.events.reader import read
from windrow.collections.events.readers.by_fields import decode_text
from windrow.errors import StepError
from windrow.reasons import Reason

ADDRESS = "http://[x"
DOCUMENTS = {
    "icalendar": calendar(
        event("a", ";TZID=America/New_York:20260915T090000", dtend=":20260915T100000Z", rrule="FREQ=WEEKLY;COUNT=3",
              exdate=":20260922T130000Z", categories="a,b"),
        event("b", ";VALUE=DATE:20260916"),
    ).encode(),
    "feed": b"<rss><channel><item><guid>1</guid><title>A</title><pubDate>Thu, 01 Oct 2026 11:33:10 -0400</pubDate>"
            b"<link>http://[x</link></item></channel></rss>",
    "json": json.dumps({"data": [{"t": "A", "s": "2026-09-15 10:00", "n": [1, {"a": None}], "u": ADDRESS}]}).encode(),
    "xml": b"<r><i a='1'><t>A</t><s>2026-09-15</s></i></r>",
    "html": b"<table><tr><th>Date<th>T</tr><tr class=e><td>2026-09-15<td><a href='http://[x'>x</a></tr></table>",
    "schema.org": b'<script type="application/ld+json">{"@type": ["Event"], "name": ["A"], "startDate": '
                  b'{"@value": "2026-09-15"}, "location": [{"name": {"a": 1}}], "url": "http://["}</script>',
    "legistar": b'[{"EventId": 1, "EventDate": "2026-09-15T00:00:00", "EventTime": "10:00 AM", "EventBodyName": "B",'
                b' "EventInSiteURL": "http://[x"}]',
}  # fmt: skip
RULES = {
    "json": {"items": "data", "fields": {"title": "t", "start": "s", "url": "u", "id": "n"}},
    "xml": {"items": "i", "fields": {"title": "t", "start": "s", "id": "@a"}},
    "html": {"items": "tr.e", "fields": {"title": "a", "start": "column:Date", "url": "a@href"}},
}
PIECES = (
    b"\x00", b"\xff\xfe", b"9" * 30, b"-1", b"{", b"}", b"[", b"]", b"<", b">", b'"', b":", b"\\", b"null", b"1e999",
    b"NaN", b"&#0;", b"&#xD800;", b"\xed\xa0\x80", b"T999999Z", b"00000000", b"\r\n ", b"BEGIN:VEVENT\r\n", b"\\ud800",
    b"FREQ=YEARLY;BYMONTHDAY=30;BYMONTH=2", b"UNTIL=1", b"INTERVAL=0", b"DTSTART:00010101T000000Z",
    b"DTSTART:99991231T235959",
)  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_mutilated_document_is_read_or_refused(name):
    chance = random.Random(name)
    for _ in range(150):
        content = bytearray(DOCUMENTS[name])
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(content) + 1)
            if chance.random() < 0.5:
                content[at:at] = chance.choice(PIECES)
            else:
                content[at : at + chance.randint(1, 20)] = b""
        try:
            read(bytes(content), name, **RULES.get(name, {}))
        except StepError as error:
            assert error.reason


def test_an_address_that_is_none_costs_neither_its_event_nor_the_others():
    for name in ("json", "html", "legistar", "feed"):
        read_events, unread = read(DOCUMENTS[name], name, **RULES.get(name, {}))
        assert ([read_event.value["event_url"] for read_event in read_events], unread) == ([""], [])


def test_events_that_lie_within_one_another_end_where_their_texts_are_too_much():
    read_events, unread = read(b"<div>" * 11_000, "html", items="div", fields={"title": "b", "start": "i"})
    assert (read_events, unread[-1].reason) == ([], Reason.TOO_LARGE)
    assert len(unread) < 1000
    read_events, unread = read(b"<div>" * 15_000, "html", items="div", fields={"title": "b", "start": "i"})
    message = "the page has more than 512 levels of elements in a page with 12,000 tags; 14488 are left out"
    assert (read_events, unread[0].reason, unread[0].message) == ([], Reason.TOO_LARGE, message)


def test_a_calendar_with_an_event_in_each_second_has_a_bound_and_costs_no_other():
    every = event("s", ":20260831T120000Z", rrule="FREQ=SECONDLY")
    read_events, unread = read(calendar(every, event("b", ":20260915T090000Z", "Budget")), "icalendar")
    assert (len(read_events), [part.reason for part in unread]) == (10_001, [Reason.TOO_LARGE])
    assert read_events[-1].value["title"] == "Budget"


@pytest.mark.parametrize("charset", ["undefined", "idna", "punycode", "unicode_escape", "bz2", "hex", "no-such"])
def test_a_charset_that_only_python_knows_is_passed_over(charset):
    text = "é-b9" * 300
    assert decode_text(text.encode(), f"text/calendar; charset={charset}") == text


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1", "cp1252"])
def test_a_line_that_is_folded_within_a_character_is_read_whole(mark, charset):
    folded = mark + b"Gr\xc3\r\n \xb6\xc3\r\n \x9fe der F\xc3\xa4hre"
    assert decode_text(folded, f"text/calendar; charset={charset}") == "Größe der Fähre"


def test_a_character_that_a_fold_divides_is_read_as_one_character():
    text = (
        calendar(event("a", ":20260915T090000Z", "Größe der Straße"))
        .encode()
        .replace(b"\xc3\x9fe d", b"\xc3\r\n \x9fe d")
    )
    read_events, unread = read(calendar(event("b", ":20260916T090000Z", "Überfluß")).encode() + text, "icalendar")
    assert [read_event.value["title"] for read_event in read_events] == ["Überfluß", "Größe der Straße"]
    assert unread == []


def test_one_bad_byte_costs_no_other_character_and_is_counted():
    documents = {
        "icalendar": calendar(event("a", ":20260915T090000Z", "Große Straße x")).encode(),
        "json": '[{"id": "a", "title": "Große Straße x", "start": "2026-09-15"}]'.encode(),
        "html": '<meta charset="utf-8"><li><b>Große Straße x</b><i>2026-09-15</i></li>'.encode() + b" " * 200,
        "schema.org": '<meta charset="utf-8"><script type="application/ld+json">{"@type": "Event", "name":'
        ' "Große Straße x", "startDate": "2026-09-15"}</script>'.encode()
        + b" " * 200,
        "legistar": '[{"EventId": 5, "EventBodyName": "Große Straße x", "EventDate": "2026-09-15"}]'.encode(),
        "feed": "<rss><item><title>Große Straße x</title><pubDate>2026-09-15</pubDate></item></rss>".encode(),
    }
    rules = {"html": {"items": "li", "fields": {"title": "b", "start": "i"}},
             "json": {"fields": {name: name for name in ("id", "title", "start")}}}  # fmt: skip
    for name, document in documents.items():
        read_events, unread = read(document.replace(b" x", b" \xff"), name, **rules.get(name, {}))
        assert [read_event.value["title"] for read_event in read_events] == ["Große Straße \ufffd"]
        assert [(part.reason, part.message[:16]) for part in unread] == [(Reason.WRONG_ENCODING, "bytes at 1 place")]


def test_a_page_is_decoded_as_its_meta_element_says():
    page = '<meta charset="iso-8859-2"><li><b>Łódź</b><i>2026-09-15</i></li>'.encode("iso-8859-2")
    (read_event,), _ = read(page, "html", items="li", fields={"title": "b", "start": "i"})
    assert read_event.value["title"] == "Łódź"


def test_text_in_a_shadow_tree_and_a_drawing_is_read_and_hidden_text_is_not():
    page = (
        "<li><b>Board<svg><title>icon</title><text>of Ethics</text></svg><span style='display : none'>no</span></b>"
        "<a-day><template shadowrootmode=open><i>2026-09-15</i></template></a-day><template><i>2026-09-16</i></template>"
    )
    (read_event,), unread = read(page, "html", items="li", fields={"title": "b", "start": "i"})
    assert (read_event.value["title"], read_event.value["datetime"][:10], unread) == (
        "Board of Ethics",
        "2026-09-15",
        [],
    )
