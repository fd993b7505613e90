"""Parts of documents that are unusual, and that a reader must neither leave out nor cut in silence."""

import io
import json
from contextlib import closing

import pytest

from tests.clock import pass_time
from tests.collections.events.place import calendar, configured, event, run, serving
from tests.collections.events.reader import VISITED, read
from windrow.collections.events.collection import COLLECTION
from windrow.collections.events.discover import follow
from windrow.contract import Answer, Request
from windrow.engine.frontier import frontier_of
from windrow.ledger import Ledger
from windrow.reasons import Reason


def test_schema_org_events_lose_neither_depth_nor_locations_nor_ends_in_silence():
    places = [{"@type": "Place", "name": f"Hall {number}"} for number in range(7)]
    event_object = {"@type": "Event", "name": "A", "startDate": ["2026-09-15", "2026-09-16"], "location": places}
    event_object |= {"endDate": ["2026-09-17", "2026-09-18", "2026-09-19"]}
    deep = json.dumps(event_object)
    for _ in range(60):
        deep = f'{{"item": {deep}}}'
    read_events, unread = read(f'<script type="application/ld+json">{deep}</script>', "schema.org")
    assert unread == []
    names = ("location", "end_datetime", "end_note")
    halls, note = "; ".join(f"Hall {number}" for number in range(7)), "2026-09-17, 2026-09-18, 2026-09-19 (of 2 starts)"
    assert [tuple(read_event.value[name] for name in names) for read_event in read_events] == [
        (halls, "", f"the source writes: {note}")
    ] * 2


def test_documents_of_events_without_an_address_are_counted_and_relative_addresses_are_requested(tmp_path):
    listed = {"list": [{"url": "/e.json"}, {"url": None}, {"url": "javascript:x"}]}
    rules = {"items": "event", "details": "list:url:", "fields": {"title": "t", "start": "s"}}
    (source,) = configured(tmp_path, "https://a.example/x", reader="json", **rules).sources
    view = io.BytesIO(json.dumps(listed).encode())
    result = follow(source, {}, Answer(Request("https://a.example/x", "first"), 200, {}, view, VISITED))
    assert [request.url for request in result.requests] == ["https://a.example/e.json"]
    assert [(count.reason, count.addresses) for count in result.left_out] == [(Reason.BAD_ADDRESS, 2)]


def test_an_event_that_could_not_be_read_is_in_status_until_each_document_was_replaced(tmp_path):
    """It stayed in status after it was mended, until the source counted something again."""
    broken, whole = (
        calendar(event("a@x", start), event("b@x", ":20270301T150000Z")) for start in ("", ":20270115T150000Z")
    )
    with serving() as site:
        site.put("/a.ics", broken)
        workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s")
        lost = []
        for content, status in ((broken, 200), (broken, 200), (whole, 503), (whole, 200)):
            site.put("/a.ics", content, status=status)
            run(workspace)
            pass_time(61)
            with closing(Ledger(workspace.ledger)) as ledger:
                lost.append([count.reason for count in frontier_of(ledger, COLLECTION).left_out("council", ())])
    assert lost == [["incomplete_record"]] * 3 + [[]]


def test_tasks_and_journal_entries_of_a_calendar_are_counted(tmp_path):
    (source,) = configured(tmp_path, "https://a.example/x").sources
    others = "".join(
        f"BEGIN:{kind}\r\nUID:{kind}\r\nEND:{kind}\r\n" for kind in ("VTODO", "VJOURNAL", "VFREEBUSY", "VALARM")
    )
    view = io.BytesIO(f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{others}END:VCALENDAR\r\n".encode())
    result = follow(source, {}, Answer(Request("https://a.example/x", "first"), 200, {}, view, VISITED))
    assert [(count.reason, count.rule, count.addresses) for count in result.left_out] == [
        (Reason.NOT_WANTED, "tasks, journal entries and busy times of a calendar", 3)
    ]


def test_a_key_that_is_twice_in_an_object_is_counted_and_a_giant_number_costs_nothing():
    rules = {"fields": {"title": "t", "start": "s"}, "extra": {"n": "n"}}
    row = f'{{"t": "A", "t": "B", "s": "2026-09-15", "n": {"9" * 5000}}}'
    (read_event,), (unread,) = read(f"[{row}]", "json", **rules)
    assert (read_event.value["title"], read_event.value["n"]) == ("B", "9" * 5000)
    assert (unread.reason, unread.key) == (Reason.NOT_VALID, "")
    assert unread.message == "an object has more than one value for 't'; the last one is read"


def test_fields_of_schema_org_that_are_lists_keep_all_their_texts_and_a_schedule_is_told():
    event_object = {
        "@type": "Event", "name": [{"@value": "Concert", "@language": "en"}, {"@value": "Konzert", "@language": "de"}],
        "startDate": "2026-09-15", "description": ["Music", "Music", "Tea"], "organizer": [{"name": "Board"}, "Town"],
        "eventStatus": ["https://schema.org/EventScheduled", "https://schema.org/EventCancelled"],
        "eventSchedule": {"@type": "Schedule"}, "url": ["/a", "/b"],
    }  # fmt: skip
    script = f'<script type="application/ld+json">{json.dumps(event_object)}</script>'
    (read_event,), (unread,) = read(script, "schema.org")
    names = ("title", "description", "organizer", "status", "event_url")
    assert [read_event.value[name] for name in names] == [
        "Concert; Konzert", "Music; Tea", "Board; Town", "cancelled", "http://a.example/a"
    ]  # fmt: skip
    assert unread.reason is Reason.UNSUPPORTED
    assert unread.message.startswith("'Concert' has an eventSchedule that is not read, as its repeatFrequency is ''")


def test_texts_beside_a_tag_of_xml_are_not_joined_and_all_categories_of_a_feed_are_read():
    document = "<r><i><t>one<br/>two<!-- no --> th<b>ree</b></t><s>2026-09-15</s></i></r>"
    (read_event,), unread = read(document, "xml", items="i", fields={"title": "t", "start": "s"})
    assert (read_event.value["title"], unread) == ("one two three", [])
    entry = (
        "<item><title>A</title><category>Parks</category><category>Roads</category><pubDate>2026-10-01</pubDate></item>"
    )
    (read_event,), unread = read(f"<rss>{entry}</rss>", "feed", extra={"topics": "category"})
    assert (read_event.value["topics"], unread) == ("Parks, Roads", [])


@pytest.mark.parametrize(("identifier", "uid"), [
    ({"@type": "PropertyValue", "name": "Ticket ID", "propertyID": "t", "value": 7}, "p/7"),
    ([{"@type": "PropertyValue", "name": "Ticket ID"}, "e-9"], "p/e-9"), ({"@id": "e-8"}, "p/e-8"),
])  # fmt: skip
def test_the_name_of_an_identifier_of_schema_org_is_no_id(identifier, uid):
    event = json.dumps({"@type": "Event", "name": "Board", "startDate": "2026-09-15", "identifier": identifier})
    (read_event,), _ = read(f'<script type="application/ld+json">{event}</script>', "schema.org")
    assert read_event.uid == uid


def test_extra_keys_keep_objects_of_json_and_properties_of_icalendar():
    committee = {"name": "Rules", "members": [{"id": 9007199254740993, "half": "\\ud800"}, {}]}
    event_object = {
        "t": "A", "d": "2026-09-15", "committee": committee, "deep": [json.loads("[" * 60 + "]" * 60)],
        "bare": {"href": "https://a.example/1"}, "files": [{"url": "https://a.example/2"}, 7], "empty": {}, "none": [],
    }  # fmt: skip
    names = ("committee", "deep", "bare", "files", "empty", "none")
    rules = {
        "fields": {"title": "t", "start": "d"},
        "extra": {**dict(zip(names, names, strict=True)), "file": "none|bare"},
    }
    document = read(json.dumps([event_object]).replace("\\\\", "\\"), "json", **rules)[0][0].value
    assert document["committee"] == {"name": "Rules", "members": [{"id": "9007199254740993", "half": "?"}, {}]}
    assert [document.get(name) for name in names[2:]] == [event_object["bare"], event_object["files"], None, None]
    assert document["file"] == event_object["bare"]
    assert json.dumps(document["deep"]).count("[") == 61
    graph = json.dumps(
        {"@type": "Event", "name": "A", "startDate": "2026-09-15", "offers": {"price": 5}, "organizer": "B"}
    )
    script = f'<script type="application/ld+json">{graph}</script>'
    assert read(script, "schema.org", extra={"offers": "offers"})[0][0].value["offers"] == {"price": 5}
    assert read(script, "schema.org", extra={"organizer": "offers.price"})[0][0].value["organizer"] == 5
    properties = (
        "CONTACT:Clerk\\, Ann\r\nCONTACT:Bo\r\nX-SUITE:a\\;b\\nc\r\nGEO:37.5;-122.25\r\nPRIORITY:1\r\n"
        "ORGANIZER;CN=Board:mailto:b@a.example\r\nATTENDEE;CN=Jo:mailto:j@a.example"
    )
    extra = {"contact": "CONTACT", "suite": "x-suite", "geo": "GEO", "priority": "#PRIORITY", "guest": "ATTENDEE@CN"}
    ics = calendar(f"UID:a\r\nDTSTART:20260915T100000Z\r\n{properties}")
    document = read(ics, "icalendar", extra={**extra, "no": "ATTENDEE@ROLE|RESOURCES", "organizer": "X-SUITE"})[0][
        0
    ].value
    assert document["organizer"] == document["suite"]
    assert [document.get(name) for name in (*extra, "organizer_name", "no")] == [
        "Clerk, Ann, Bo", "a;b\nc", "37.5;-122.25", 1, "Jo", "Board", None
    ]  # fmt: skip


def test_words_of_icalendar_in_a_text_cut_no_event_and_hide_no_cut():
    begin, words = "UID:a@x\r\nDTSTART:20260915T100000Z", "BEGIN:VEVENT\r\n BEGIN:VEVENT"
    whole = calendar(f"{begin}\r\nDESCRIPTION:Write {words}").replace(
        "END:VCALENDAR", "X-A:BEGIN:VCALENDAR\r\nEND:VCALENDAR"
    )
    (read_event,), unread = read(whole, "icalendar")
    assert (read_event.value["description"], unread) == ("Write BEGIN:VEVENTBEGIN:VEVENT", [])
    hidden = calendar(f"{begin}\r\nDESCRIPTION:END:VCALENDAR").rpartition("END:VCALENDAR")[0]
    indented = calendar().replace("END:VCALENDAR", f" BEGIN:VEVENT\r\n {begin}\r\n END:VEVENT\r\nEND:VCALENDAR")
    for text in (hidden, indented, whole.replace("BEGIN:VEVENT", "BEGIN:VEV\r\n ENT", 1)):
        assert [part.reason for part in read(text, "icalendar")[1]][-1:] == [Reason.TRUNCATED], text


@pytest.mark.parametrize(
    ("place", "location"),
    [
        ({"latitude": "1", "longitude": "2", "human_address": '{"address": "1 Main St", "city": "Salem"}'}, "1 Main St, Salem"),
        ({"latitude": "1", "longitude": "2", "human_address": '{"address": "", "city": ""}'}, "1, 2"),
        ({"latitude": "1", "longitude": "2", "human_address": 7}, "7"),
        ({"latitude": "1", "human_address": "1 Main St"}, "1 Main St"), ([{"city": "Salem"}, {"city": "Lynn"}], "Salem, Lynn"),
        ({"type": "Point", "coordinates": [-73.5, 40]}, "Point, -73.5, 40"),
        ({"street": None, "city": ""}, ""), ({}, ""), ({"name": "Hall", "city": "Salem"}, "Hall"), ([], ""),
    ],
)  # fmt: skip
def test_the_texts_of_a_place_without_a_name_are_its_location(place, location):
    content = json.dumps([{"id": "1", "title": "A", "start": "2026-11-24", "location": place}])
    fields = {name: name for name in ("id", "title", "start")} | {"location": "hall|location"}
    (found,), unread = read(content, "json", fields=fields)
    assert (found.value["location"], unread) == (location, [])


def test_addresses_are_joined_with_the_base_of_a_page_or_a_feed():
    """A browser joins them with `base`, and `xml:base` is of an element and of all below it."""
    html = '<head><base href="/b/"></head><ul><li><a href="x">2026-12-01</a></li></ul>'
    (event,), unread = read(html, "html", items="li", fields={"title": "a", "start": "a", "url": "a@href"})
    assert (event.value["event_url"], unread) == ("http://a.example/b/x", [])
    entry = "<entry{}><title>A</title><updated>2026-12-01T10:00:00Z</updated><link{} href='x'/></entry>"
    entries = entry.format("", "") + entry.format(" xml:base='http://c.example/'", " xml:base='d/'")
    feed = f'<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/f/">{entries}</feed>'
    addresses = {event.value["event_url"] for event in read(feed, "feed")[0]}
    assert addresses == {"http://a.example/f/x", "http://c.example/d/x"}


@pytest.mark.parametrize(
    ("written", "address"),
    [
        (["/a", "http://b.example/"], "http://a.example/a"), ("www.b.example/1", "http://www.b.example/1"),
        ("/Doe, John.pdf", "http://a.example/Doe, John.pdf"),
    ],
)  # fmt: skip
def test_of_several_addresses_the_first_is_that_of_the_event(written, address):
    """They were joined to one address that nobody has."""
    content = json.dumps([{"t": "A", "s": "2026-12-01", "u": written}])
    (event,), _ = read(content, "json", fields={"title": "t", "start": "s", "url": "u"})
    assert event.value["event_url"] == address


def test_a_day_is_no_end_of_a_time_also_in_a_range():
    """The event ended at midnight UTC, which may be before its start."""
    content = json.dumps([{"t": "A", "s": "Dec 1, 2026 6 PM - Dec 2, 2026"}])
    (event,), _ = read(content, "json", fields={"title": "t", "start": "s"})
    assert (event.value["end_datetime"], event.value["end_note"]) == ("", "the source writes: 2026-12-02")


def test_xml_base_is_that_of_the_addresses_of_an_element():
    content = '<r><e xml:base="http://c.example/d/"><t>A</t><s>2026-12-01</s><u>x</u></e></r>'
    (event,), _ = read(content, "xml", items="e", fields={"title": "t", "start": "s", "url": "u"})
    assert event.value["event_url"] == "http://c.example/d/x"
