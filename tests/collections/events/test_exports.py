"""Exports are read by other programs: iCalendar by two of them, feeds, tables, and the API's responses."""

import asyncio
import contextlib
import csv
import io
import json
import subprocess
from urllib.parse import unquote

import icalendar
import pytest
from lxml import etree

from tests.collections.events.place import calendar, configured, event, events, run, serving
from tests.collections.events.reader import read
from tests.servers.pouchdb import NPM
from windrow.app.export import write_export
from windrow.cli import main
from windrow.collections.events.adapter.api import EventApi
from windrow.collections.events.adapter.databases import open_databases
from windrow.collections.events.adapter.home import show_event
from windrow.collections.events.calendar_export import icalendar as written
from windrow.collections.events.exports import FORMS, ocd_event

READ = """
const ICAL = require('ical.js');
const root = new ICAL.Component(ICAL.parse(require('fs').readFileSync(0, 'utf8')));
console.log(JSON.stringify(root.getAllSubcomponents('vevent').map(one => {
  const e = new ICAL.Event(one);
  return [e.uid, e.summary, e.description, e.startDate.toString(), e.endDate.toString(), e.startDate.isDate,
          one.getFirstPropertyValue('status'), e.sequence];
})));
"""
HARD = "Bürger, Äpfel; \\n 😀 " * 12 + "end\nnext line\r\n\x07"


def document(number, **more):
    fields = {
        "datetime": f"2026-12-{number:02}T15:00:00Z", "title": f"Event {number}", "description": None,
        "end_datetime": None, "branch": "Legislative", "entity": "Senate", "source_url": "https://a.example/list",
        "source_text": "<li>", "access_datetime": "2026-11-01T00:00:00Z", "parser_name": "p", "parser_version": "1",
        "event_url": None, "source_timezone": "America/New_York", "unique_key": str(number), "all_day": False,
        "local_datetime": f"2026-12-{number:02}T10:00:00", "status": "scheduled", "uid": f"p/{number}", "source": "s",
        "revision": 0, "first_seen": "2026-11-01T00:00:00Z", "changed": "2026-11-02T00:00:00Z",
    } | more  # fmt: skip
    return {"_id": f"{fields['datetime']} - p - {fields['unique_key']}"} | fields


EVENTS = [
    document(1, title=HARD, description=HARD, end_datetime="2026-12-01T16:30:00Z", revision=3, status="cancelled"),
    document(2, datetime="2026-12-30T00:00:00Z", end_datetime="2027-01-02T00:00:00Z", all_day=True, title="Recess"),
    document(3, datetime="2026-12-31T00:00:00Z", all_day=True, title="=HYPERLINK(1)", event_url="https://a.example/3"),
]


def text_of(form):
    return "".join(FORMS[form].write(EVENTS))


def test_a_foreign_document_with_an_empty_key_is_exported():
    """It ended the export with an IndexError."""
    (results,) = json.loads("".join(FORMS["json"].write([document(1) | {"": 5}])))["results"].values()
    assert results[""] == 5
    assert not {"_id", "source_text"} & results.keys()


def test_our_icalendar_is_folded_escaped_and_read_by_the_library_with_the_last_all_day_day():
    text = "".join(written(EVENTS))
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    assert "\n" not in text.replace("\r\n", "")
    calendar = icalendar.Calendar.from_ical(text.encode())
    first, second, third = calendar.walk("VEVENT")
    assert not any(each.errors for each in (calendar, first, second, third))
    plain = HARD.replace("\r\n", "\n").replace("\x07", " ")
    assert (str(first["SUMMARY"]), str(first["DESCRIPTION"])) == (plain, plain)
    assert (first["STATUS"], first["SEQUENCE"], str(first["UID"])) == ("CANCELLED", 3, "p/1")
    assert first["DTEND"].dt.isoformat() == "2026-12-01T16:30:00+00:00"
    assert [str(each["DTSTART"].dt) for each in (second, third)] == ["2026-12-30", "2026-12-31"]
    assert [str(each["DTEND"].dt) for each in (second, third)] == ["2027-01-03", "2027-01-01"]
    for each in (first, second, third):
        assert each["DTSTAMP"].dt.isoformat() == "2026-11-02T00:00:00+00:00"


def test_our_icalendar_is_read_by_an_independent_program_as_the_same_events():
    if not (NPM / "node_modules" / "ical.js").exists():
        pytest.skip("no ical.js: make pouchdb, or name its folder in WINDROW_NPM")
    done = subprocess.run(
        ["node", "-e", READ], input="".join(written(EVENTS)), cwd=NPM, check=True, capture_output=True, text=True, timeout=60
    )  # fmt: skip
    plain = HARD.replace("\r\n", "\n").replace("\x07", " ")
    assert json.loads(done.stdout) == [
        ["p/1", plain, plain, "2026-12-01T15:00:00Z", "2026-12-01T16:30:00Z", False, "CANCELLED", 3],
        ["p/2", "Recess", None, "2026-12-30", "2027-01-03", True, None, 0],
        ["p/3", "=HYPERLINK(1)", None, "2026-12-31", "2027-01-01", True, None, 0],
    ]


def test_an_evening_in_washington_that_is_midnight_utc_is_no_whole_day_in_a_calendar():
    evening = event("a@x", ";TZID=America/New_York:20260902T200000")
    read_events, _ = read(calendar(evening, event("b@x", ";VALUE=DATE:20260903")), "icalendar")
    assert [(read_event.value["datetime"], read_event.value["all_day"]) for read_event in read_events] == [
        ("2026-09-03T00:00:00Z", False),
        ("2026-09-03T00:00:00Z", True),
    ]
    documents = [document(number, **read_event.value) for number, read_event in enumerate(read_events, 1)]
    text = "".join(FORMS["ical"].write(documents))
    assert "DTSTART:20260903T000000Z\r\n" in text
    assert "DTSTART;VALUE=DATE:20260903\r\nDTEND;VALUE=DATE:20260904\r\n" in text


def test_feeds_are_well_formed_with_one_id_for_an_event_whatever_becomes_of_it():
    name = "{http://www.w3.org/2005/Atom}"
    feed = etree.fromstring(text_of("atom").encode())
    entries = feed.findall(f"{name}entry")
    ids = [entry.findtext(f"{name}id") for entry in entries]
    assert len(set(ids)) == 3
    assert entries[2].find(f"{name}link").get("href") == "https://a.example/3"
    json_feed = json.loads(text_of("jsonfeed"))
    assert [entry["id"] for entry in json_feed["items"]] == ids
    assert json_feed["items"][0]["content_text"].startswith("2026-12-01 10:00:00 (America/New_York)\nStatus: cancelled")


def test_tables_have_every_event_and_no_formula_and_open_civic_data_its_keys():
    rows = list(csv.DictReader(io.StringIO(text_of("csv"))))
    assert [row["title"] for row in rows][1:] == ["Recess", "'=HYPERLINK(1)"]
    assert rows[0]["description"] == HARD
    listed = json.loads(text_of("ocd"))
    assert [ocd["start_date"] for ocd in listed] == ["2026-12-01T15:00:00Z", "2026-12-30", "2026-12-31"]
    assert (listed[0]["status"], listed[2]["links"][0]["url"]) == ("cancelled", "https://a.example/3")
    assert json.loads("".join(FORMS["ocd"].write([]))) == []
    assert "source_text" not in ocd_event(EVENTS[0])["extras"]
    assert "<script" not in "".join(FORMS["html"].write([document(1, title="<script>", event_url="javascript:x")]))


def test_each_form_says_what_may_be_read_otherwise():
    note, end_note = "unknown_zone", "the source writes: 8ish"
    noted = document(1, time_note=note, end_note=end_note, text_note="1 line", title_note="cut", status_note="on hold")
    for name in ("ical", "html", "atom", "jsonfeed", "csv", "ocd", "json"):
        text = "".join(FORMS[name].write([noted])).replace("\r\n ", "")
        assert [word in text for word in (note, end_note, "1 line", "cut", "on hold")] == [True] * 5, name
    assert (
        json.loads("".join(FORMS["city-scrapers"].write([noted])))["time_notes"] == f"unknown_zone; {end_note}; on hold"
    )
    assert "COMMENT" not in text_of("ical")


def test_only_web_addresses_are_addresses_in_every_form():
    """What a source names a page may be a script; a document that another program wrote may have one already."""
    events = [document(1, event_url="javascript:alert(1)", source_url="JavaScript:x", location="")]
    for name, form in FORMS.items():
        if name not in {"json", "csv"}:  # they repeat the document's texts, as data
            assert "javascript" not in "".join(form.write(events)).lower(), name
    (event,) = json.loads("".join(FORMS["ocd"].write(events)))
    assert (event["links"], event["location"]) == ([], None)


def test_open_civic_data_has_the_agenda_and_the_minutes_as_documents():
    agenda, minutes = "https://a.example/agenda.pdf", "https://a.example/minutes.pdf"
    packet, call = (
        {"url": "https://a.example/p", "name": "Packet", "media_type": "application/pdf"},
        "https://a.example/c",
    )
    event = ocd_event(document(1, attachments=[packet, {"url": "javascript:x"}], conference_urls=[call], event_url=""))
    assert [(entry["note"], entry["links"]) for entry in event["documents"]] == [
        ("Packet", [{"url": packet["url"], "media_type": "application/pdf"}])
    ]  # fmt: skip
    assert event["links"] == [{"url": call, "note": "conference"}]
    assert (
        ocd_event(document(1, video_url="https://a.example/v"))["media"][0]["links"][0]["url"] == "https://a.example/v"
    )
    event = ocd_event(document(1, agenda_url=agenda, minutes_url=minutes, location="Hall"))
    assert [(document["note"], document["links"][0]["url"]) for document in event["documents"]] == [
        ("Agenda", agenda), ("Minutes", minutes)
    ]  # fmt: skip
    assert event["location"]["name"] == "Hall"
    assert ocd_event(document(1, agenda_url="javascript:x"))["documents"] == []


def test_each_form_has_the_links_and_the_organizer_and_icalendar_no_more_than_is_known():
    packet = {"url": "https://a.example/p", "name": 'The "Packet"', "media_type": "application/pdf"}
    links = {
        "agenda_url": "https://a.example/agenda", "minutes_url": "javascript:x", "video_url": "https://a.example/video",
        "attachments": [packet, {"url": "https://a.example/q", "name": "", "media_type": "a;b"}],
        "conference_urls": ["tel:+1-412-555-0123", "javascript:x"],
    }  # fmt: skip
    event = document(
        1, **links, organizer="mailto:board@a.example", organizer_name="Board; Town", categories=["Parks, Roads", {}],
        votes=[{"yes": 7}],
    )  # fmt: skip
    ocd_links = [
        *(entry["links"][0]["url"] for entry in ocd_event(event)["documents"]),
        links["video_url"],
        links["conference_urls"][0],
    ]
    text = "".join(
        written([event, document(2, status="confirmed", event_url="https://a.example/2", organizer="Board")])
    )
    first, second = icalendar.Calendar.from_ical(text.encode()).walk("VEVENT")
    assert not first.errors
    attached = [(str(each), each.params.get("FILENAME"), each.params.get("FMTTYPE")) for each in first["ATTACH"]]
    assert attached == [
        (links["agenda_url"], "Agenda", None), (packet["url"], "The 'Packet'", "application/pdf"),
        ("https://a.example/q", None, None), (links["video_url"], "Video", None),
    ]  # fmt: skip
    assert [*(url for url, *_ in attached), str(first["CONFERENCE"])] == ocd_links
    assert (str(first["ORGANIZER"]), first["ORGANIZER"].params["CN"]) == ("mailto:board@a.example", "Board; Town")
    assert first["CATEGORIES"].cats == ["Legislative", "Senate", "Parks, Roads"]
    assert [name in first for name in ("STATUS", "URL", "CONTACT")] == [False] * 3
    assert str(first["LINK"]) == event["source_url"]
    assert [str(second[name]) for name in ("STATUS", "URL", "CONTACT")] == ["CONFIRMED", "https://a.example/2", "Board"]
    meeting = json.loads("".join(FORMS["city-scrapers"].write([event])))
    assert [link["href"] for link in meeting["links"]] == ocd_links
    for name in ("atom", "jsonfeed"):
        assert ("Parks, Roads" in "".join(FORMS[name].write([event]))) is True, name
        assert [url in "".join(FORMS[name].write([event])) for url in ocd_links] == [True] * 5, name
    votes = [[{"yes": 6}], event["votes"]]
    facts, timeline = show_event({**event, "history": [{"at": event["changed"], "fields": {"votes": votes}}]}).parts
    shown = {fact.name: fact.value.text for fact in facts.facts}
    assert [shown.get(name) for name in ("page", "listed in", 'the "packet"', "conference")] == [
        None, event["source_url"], packet["url"], ocd_links[-1]
    ]  # fmt: skip
    assert timeline.moments[-1].text.text == "votes: 'yes 6' -> 'yes 7'"
    (row,) = csv.DictReader(io.StringIO("".join(FORMS["csv"].write([event]))))
    assert json.loads(row["extra"]).items() >= {**links, "votes": [{"yes": 7}]}.items()


def test_events_are_exported_by_date_branch_entity_source_and_status(tmp_path):
    workspace = configured(tmp_path, "http://a.example/a.ics")
    months = [
        document(number, datetime=f"2026-{month}-05T12:00:00Z") for number, month in enumerate(("10", "11", "12"))
    ]
    judicial = document(7, datetime="2026-12-07T12:00:00Z", branch="Judicial", status="cancelled", source="court")
    with open_databases(workspace) as held:
        held.store.write(
            held.events, [*months, judicial, {"_id": "w"}, {"_id": "x", "datetime": "soon", "status": "?"}]
        )

    messages = io.StringIO()
    invalid = "left out, because they are not valid or not there: "
    why = "their datetime is missing or not as the standard of VotersDaily defines it"

    def export(name, form, *options):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(messages):
            try:
                main(["export", name, "--as", form, *options, "--workspace", str(tmp_path)])
            except SystemExit as ended:
                return ended.code, [row["uid"] for row in csv.DictReader(io.StringIO(out.getvalue()))]
        return 0, [row["uid"] for row in csv.DictReader(io.StringIO(out.getvalue()))]

    assert export("events", "csv") == (0, ["p/0", "p/1", "p/2", "p/7"])
    assert messages.getvalue() == f"4 events written\n{invalid}2 events; {why}\n"
    assert export("events", "csv", "--start", "2026-11", "--end", "2026-12-06") == (0, ["p/1", "p/2"])
    assert messages.getvalue().endswith("2 events written\nleft out by --start, --end or --only: 4 events\n")
    assert export("events", "csv", "--only", "status=?") == (0, [])
    assert messages.getvalue().endswith(f"--only: 5 events\n{invalid}1 event; {why}\n")
    assert export("events", "csv", "--start", "2026-12", "--only", "branch=Judicial") == (0, ["p/7"])
    assert export("events", "csv", "--only", "status=cancelled", "--only", "source=court") == (0, ["p/7"])
    assert export("events", "csv", "--only", "status=cancelled", "--only", "source=council") == (0, [])
    for name, form, *options in (
        ("events", "csv", "--only", "title=x"), ("events", "csv", "--only", "branch"),
        ("events", "jsonl", "--only", "branch=x"), ("vd_log", "jsonl", "--start", "2026"),
        ("events", "csv", "--start", "tomorrow"), ("events", "csv", "--end", "2026-13"),
    ):  # fmt: skip
        assert export(name, form, *options)[0] == 2, options


def asked(app, path, query="", method="GET"):
    """Call the application as a server does; return status, media type and body."""
    status, fields, body = called(app, path, query, method)
    return status, fields["content-type"], body


def called(app, path, query="", method="GET", **request_fields):
    """Call the application as a server does; return status, header fields and body."""
    sent = []

    async def send(message):
        sent.append(message)

    paths = {"path": unquote(path), "raw_path": path.encode()}
    scope = {"type": "http", "method": method, **paths, "query_string": query.encode()}
    scope["headers"] = [(name.replace("_", "-").encode(), text.encode()) for name, text in request_fields.items()]
    asyncio.run(app(scope, None, send))
    fields = {name.decode(): text.decode() for name, text in sent[0]["headers"]}
    return sent[0]["status"], fields, sent[1]["body"].decode()


def test_the_api_tells_how_many_events_there_are_where_the_next_ones_are_and_that_nothing_changed(tmp_path):
    """Of 25,000 events it answered with 10,000, with no word of the others."""
    workspace = configured(tmp_path, "http://a.example/a.ics")
    with open_databases(workspace) as held:
        held.store.write(held.events, [document(number, title=f"Board {number}") for number in range(1, 6)])
    app = EventApi(workspace)
    status, fields, body = called(app, "/api/events/all", "limit=2&format=json&start=2026-12-02")
    assert (status, fields["x-total-count"], json.loads(body)["count"]) == (200, "4", 2)
    assert fields["link"] == '<?limit=2&format=json&start=2026-12-02&offset=2>; rel="next"'
    _, last_fields, _ = called(app, "/api/events/all", "limit=2&format=json&start=2026-12-02&offset=2")
    assert "link" not in last_fields
    _, searched_fields, _ = called(app, "/api/events/all", "q=board&limit=2")
    assert searched_fields["link"] == '<?q=board&limit=2&offset=2>; rel="next"'
    _, branch_fields, _ = called(app, "/api/events/branch/Judicial")
    assert branch_fields["x-total-count"] == "0"
    path, query = "/api/events/all", "limit=2&format=json&start=2026-12-02"
    for tags in (fields["etag"], f'"x", {fields["etag"]}', "*"):
        unchanged = called(app, path, query, if_none_match=tags)
        assert (unchanged[0], unchanged[2], unchanged[1]["etag"]) == (304, "", fields["etag"])
        assert "content-length" not in unchanged[1]
    with open_databases(workspace) as held:
        held.store.write(held.events, [document(5, title="Moved")])
    assert called(app, path, query, if_none_match=fields["etag"])[0] == 200
    app.close()


def test_city_scrapers_gets_a_line_for_each_meeting_in_the_local_time_of_its_source():
    meeting = document(
        1, end_datetime="2026-12-01T16:30:00Z", location="City Hall", agenda_url="https://a.example/agenda",
        minutes_url="javascript:x", event_url="https://a.example/1", title="Board: Regular Meeting",
    )  # fmt: skip
    lines = "".join(FORMS["city-scrapers"].write([meeting, *EVENTS])).splitlines()
    first, cancelled, recess, _ = map(json.loads, lines)
    assert first == {
        "id": "s/202612011000/x/board_regular_meeting", "title": "Board: Regular Meeting", "description": "",
        "classification": "Not classified", "status": "confirmed", "start": "2026-12-01 10:00:00",
        "end": "2026-12-01 11:30:00", "all_day": False, "time_notes": "",
        "location": {"name": "City Hall", "address": ""},
        "links": [{"href": "https://a.example/agenda", "title": "Agenda"}], "source": "https://a.example/1",
    }  # fmt: skip
    assert cancelled["status"] == "cancelled"
    assert (recess["status"], recess["start"], recess["end"], recess["all_day"]) == (
        "tentative", "2026-12-30 00:00:00", "2027-01-02 00:00:00", True
    )  # fmt: skip


def test_the_api_answers_at_the_original_addresses_with_bounds_and_forms(tmp_path):
    workspace = configured(tmp_path, "http://a.example/a.ics")
    with open_databases(workspace) as held:
        held.store.write(
            held.events,
            [
                *EVENTS,
                document(4, datetime="2026-12-31T12:00:00Z", entity="Supreme Court", branch="Judicial"),
                document(5, datetime="2027-01-01T12:00:00Z", branch="Town/Port %41?"),
            ],
        )
    app = EventApi(workspace)

    def ids(path, query=""):
        status, _, body = asked(app, path, query)
        assert status == 200
        response = json.loads(body)
        assert response["count"] == len(response["results"])
        return [name[:13] for name in response["results"]]

    assert ids("/api/events/branch/Town%2FPort%20%2541%3F") == ["2027-01-01T12"]
    assert ids("/api/events/all", "end=2027") == ["2026-12-31T12", "2026-12-31T00", "2026-12-30T00", "2026-12-01T15"]
    assert ids("/api/events/all", "start=2026-12-30&end=2026-12-31T12:00:00Z") == ["2026-12-31T00", "2026-12-30T00"]
    assert ids("/api/events/branch/Judicial") == ["2026-12-31T12"]
    assert ids("/api/events/entity/Supreme%20Court", "start=2026-11") == ["2026-12-31T12"]
    assert ids("/api/events/status/cancelled") == ["2026-12-01T15"]
    assert ids("/api/events/all", "limit=1&offset=2") == ["2026-12-31T00"]
    assert ids("/api/events/all", "q=recess") == ["2026-12-30T00"]
    assert ids("/api/events/branch/Judicial", "q=event+4&end=2027") == ["2026-12-31T12"]
    assert ids("/api/events/all", "q=%22") == []
    assert ids("/api/events/all", "source=nowhere") == ids("/api/events/branch/Judicial", "source=nowhere") == []
    assert ids("/api/events/all", "status=cancelled&start=2026") == ["2026-12-01T15"]
    assert ids("/api/events/all", "branch=Judicial&entity=Supreme+Court") == ["2026-12-31T12"]
    assert ids("/api/events/all", "branch=Judicial&entity=Senate") == []
    assert ids("/api/events/all", "q=event+4&branch=Judicial") == ["2026-12-31T12"]
    source = EVENTS[0]["source"]
    of_source = ids("/api/events/all", f"source={source}")
    assert len(of_source) > 2
    assert [ids("/api/events/all", f"source={source}&limit=1&offset={at}") for at in (0, 1)] == [
        [name] for name in of_source[:2]
    ]
    documents = json.loads(asked(app, "/api/events/branch/Judicial")[2])["results"]
    assert not {"source_text", "_id", "_rev"} & set(next(iter(documents.values())))
    for form in FORMS:
        assert asked(app, "/api/events/all", f"format={form}")[:2] == (200, FORMS[form].media)
    assert asked(app, "/api/events/all", "format=xls")[0] == 404
    for query in ("limit=x", "limit=%D9%A3", "limit=0", "start=20261201", "start=12/01/2026", "end=tomorrow", "status=a&status=b", "status=",
                  "start=2026-12-01T00:00:00-05:00", "organisation=Senate", "&".join(f"_{number}=1" for number in range(25))):  # fmt: skip
        assert asked(app, "/api/events/all", query)[0] == 400
    assert ids("/api/events/all", "start=&q=&_=7&end=2026-12-02") == ["2026-12-01T15"]
    assert asked(app, "/api/events/nothing/1")[0] == asked(app, "/")[0] == 404
    assert asked(app, "/api/events/all", method="POST")[0] == 405
    assert asked(app, "/api/events/all", method="HEAD")[2] == ""
    app.close()


def test_no_form_in_json_holds_a_character_that_acts_on_a_terminal_and_each_says_the_same(tmp_path):
    title = "a \x9b31m \u202eb\u200f"
    for form in ("json", "ocd"):
        text = "".join(FORMS[form].write([document(1, title=title)]))
        assert not {"\x9b", "\u202e", "\u200f"} & {*text}
        assert repr(title) in repr(json.loads(text))
    with serving() as site:
        site.put("/a.ics", calendar(event("a@x", ":20261201T150000Z", title)))
        workspace = configured(tmp_path, f"{site.url}/a.ics")
        run(workspace)
    out = io.StringIO()
    write_export(workspace, "events", "jsonl", out)
    (line,) = out.getvalue().splitlines()
    assert not {"\x9b", "\u202e", "\u200f"} & {*line}
    assert repr(events(workspace)[0]["title"]) in repr(json.loads(line))
