"""A whole run over hostile sources: each has a log, readable events are written, and the documents follow the standard."""

import csv
import gzip
import io
import json
import re

import icalendar
import pytest
from lxml import etree

from tests.collections.events.place import ADAPTER, LOG_KEYS, calendar, event, events, logs, run, serving
from windrow.collections.events.collection import COLLECTION
from windrow.collections.events.documents import NULLABLE_KEYS, STANDARD_KEYS
from windrow.config import load
from windrow.ledger import Ledger

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
BOMB = b"""<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>
<r><i><t>&c;&c;</t><s>2027-01-01</s></i></r>"""
OUTSIDE = b"""<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r><i><t>&x;</t><s>2027-01-01</s></i></r>"""
TRICKS = calendar(
    event("../../../../etc/passwd", ":20270101T100000Z", "up"), event("_design/windrow", ":20270101T100000Z", "design"),
    event("a" * 5000, ":20270102T100000Z", "x" * 100_000), event("<script>alert(1)</script>", ":20270103T100000Z", "<b>"),
    event("year1", ":00010101T000000Z", "long ago"), event("year9999", ":99991231T235959Z", "far"),
    event("every", ":20260901T000000Z", "each second", rrule="FREQ=SECONDLY"),
    event("never", ":20270104T100000Z", "30 February", rrule="FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"),
    event("long", ":20270105T100000Z", "ends before it begins", dtend=":20200101T000000Z"),
    event("lasts", ":20270106T100000Z", "a million years", duration=":P365000000D"),
    event("nul\x00\x07", ":20270107T100000Z", "nul\x00 \x1b[31mred\x07 \u202egnp.exe"),
    "UID:unfolded\r\nDTSTART:20270108T100000Z\r\nSUMMARY:" + "y" * 200_000,
)  # fmt: skip
LIES = [
    {"t": "year 99999", "s": "99999-01-01"}, {"t": "number", "s": 10**300}, {"t": "negative", "s": -62135596800},
    {"t": "infinite", "s": float("inf")}, {"t": "list", "s": [["2027-01-01"]]}, {"t": "object", "s": {"name": {"a": 1}}},
    {"t": "32nd", "s": "2027-01-32"}, {"t": "24 o'clock", "s": "2027-01-01T24:30:00Z"},
    {"t": "zone", "s": "2027-01-01T00:00:00+99:99"}, {"t": "edge", "s": "9999-12-31T23:59:59-12:00"},
    {"t": "digits", "s": "\u0662\u0660\u0662\u0667-01-01"}, {"t": "good", "s": "2027-01-01T10:00:00Z"},
    {"t": "\ud800 half a character", "s": "2027-01-02"}, {"t": None, "s": "2027-01-03", "_id": "mine", "datetime": 7},
]  # fmt: skip
FIELDS = 'fields = { title = "t", start = "s" }\n'
EXTRA = 'extra = { _id = "_id", datetime = "datetime", uid = "t", source = "t", history = "t", _rev = "t" }\n'
FEED = "<rss><channel>{}</channel></rss>"
ITEM = "<item><guid>{0}</guid><title>T {0}</title><pubDate>Thu, 01 Oct 2026 11:33:10 GMT</pubDate></item>"
SOURCES = {
    "tricks": ("icalendar", "", TRICKS.encode("utf-8"), "text/calendar"),
    "bomb": ("xml", f'items = "i"\n{FIELDS}', BOMB, "text/xml"),
    "outside": ("xml", f'items = "i"\n{FIELDS}', OUTSIDE, "text/xml"),
    "giant": ("feed", "", FEED.format("".join(map(ITEM.format, range(1_000)))).encode(), "application/rss+xml"),
    "deep": ("json", FIELDS, b"[" * 200_000, "application/json"),
    "wide": ("json", FIELDS, b'[{"t": "\\ud800", "s": 1' + b"0" * 10_000 + b"}]", "application/json"),
    "lies": ("json", FIELDS + EXTRA, json.dumps(LIES).encode(), "application/json; charset=no-such"),
    "sorry": ("json", FIELDS, b"<html>Sorry</html>", "application/json"),
    "empty": ("icalendar", "", b"", "text/calendar"),
    "binary": ("html", f'items = "li"\nroot = "ul"\n{FIELDS}', bytes(range(256)) * 100, "text/html"),
    "large": ("json", FIELDS, b'[{"t": "large", "s": "2027-01-01"}' + b" " * (1 << 20) + b"]", "application/json"),
    "nested": ("html", f'items = "div"\n{FIELDS}', b"<div>" * 20_000, "text/html"),
}  # fmt: skip


def hostile(folder, site):
    """Write a workspace with all these sources, one that redirects to another host and one whose response is a decompression bomb."""
    lines = []
    away = {
        "away": ("/away", "file:///etc/passwd"),
        "round": ("/round", "/round"),
        "other": ("/other", "http://127.0.0.1:9/"),
    }
    for name, (reader, words, content, media) in SOURCES.items():
        site.put(f"/{name}", content, media)
        lines.append((name, reader, words))
    for name, (path, target) in away.items():
        site.documents[path] = (302, "text/html", b"", {"Location": target})
        lines.append((name, "icalendar", ""))
    site.documents["/zip"] = (200, "text/calendar", gzip.compress(bytes(1 << 26)), {"Content-Encoding": "gzip"})
    lines.append(("zip", "icalendar", ""))
    (folder / "windrow.toml").write_text('[events]\ndocument_size = "1 MiB"\n' + "".join(
        f'[source.{name}]\ncollection = "events"\nurl = "{site.url}/{name}"\nreader = "{reader}"\n{words}delay = "0s"\n'
        'branch = "Other"\nentity = "Senate"\ntimezone = "America/New_York"\nevery = "6h"\n'
        for name, reader, words in lines
    ))  # fmt: skip
    return load(folder, environ={}, collections={"events": COLLECTION})


@pytest.fixture(scope="module")
def harvested(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attack")
    with serving() as site:
        workspace = hostile(folder, site)
        run(workspace)
    return workspace


def test_every_hostile_source_has_one_log_with_what_became_of_it(harvested):
    documents = logs(harvested)
    assert {log["source"] for log in documents} == {*SOURCES, "zip", "away", "other", "round"}
    assert len(documents) == len(SOURCES) + 4
    results = {log["source"]: log["result"] for log in documents}
    assert {name for name, result in results.items() if result == "success"} == {"giant", "lies"}
    assert (results["away"], results["other"], results["zip"], results["bomb"]) == (
        "Redirected", "Redirected", "BombRatio", "DtdForbidden"
    )  # fmt: skip
    assert results["tricks"] == "Capped"  # a title is cut
    assert results["large"] == "TooLarge"
    assert results["nested"] == "TooLarge"  # none of its events could be read, as tags are left out
    for log in documents:
        assert set(LOG_KEYS) - {"traceback"} <= set(log)
        assert ("traceback" in log) == (log["result"] != "success")
        assert "root:" not in json.dumps(log)
        for name in ("parser_name", "parser_version", "source_url", "source_text", "access_datetime", "result"):
            assert isinstance(log[name], str), name
        assert (type(log["parser_runtime"]), type(log["insert_count"])) == (float, int)


def test_what_hostile_sources_say_keeps_the_keys_types_and_ids_of_the_standard(harvested):
    documents = events(harvested)
    assert len({document["_id"] for document in documents}) == len(documents)
    for document in documents:
        for key in STANDARD_KEYS:
            assert isinstance(document[key], str) or (key in NULLABLE_KEYS and document[key] is None), (
                key,
                document["_id"][:80],
            )
        for key in ("datetime", "end_datetime", "access_datetime"):
            assert not document[key] or MOMENT.fullmatch(document[key]), document[key]
        assert document["_id"].startswith(f"{document['datetime']} - {document['parser_name']} - ")
        assert "\x00" not in document["_id"]
        assert len(document["_id"].encode()) < 5000
        assert not document["event_url"] or document["event_url"].startswith("http"), document["event_url"]
    lies = {lie["title"] for lie in documents if lie["source"] == "lies"}
    assert "good" in lies
    assert not {"year 99999", "32nd", "infinite", "zone"} & lies
    titles = [trick["title"] for trick in documents if trick["source"] == "tricks"]
    assert {"up", "design", "<b>", "30 February"} - set(titles) <= {"30 February"}
    assert titles.count("each second") <= 10_000


def test_check_finds_nothing_and_every_form_is_written_of_what_hostile_sources_said(harvested):
    ledger = Ledger(harvested.ledger)
    assert list(ADAPTER.check(harvested, ledger)) == []
    ledger.close()
    forms, count = next(export for export in ADAPTER.EXPORTS if export.name == "events"), len(events(harvested))
    written = {}
    for form in ("ical", "atom", "jsonfeed", "csv", "ocd", "html", "json"):
        out = io.StringIO()
        forms.write(harvested, form, out)
        written[form] = out.getvalue()
        written[form].encode("utf-8")
    assert len(icalendar.Calendar.from_ical(written["ical"]).walk("VEVENT")) == count
    assert len(etree.fromstring(written["atom"].encode()).findall("{*}entry")) == count
    assert len(list(csv.DictReader(io.StringIO(written["csv"])))) == count
    assert len(json.loads(written["jsonfeed"])["items"]) == len(json.loads(written["ocd"])) == count
    assert json.loads(written["json"])["count"] == count
    assert "<script>alert" not in written["html"]
