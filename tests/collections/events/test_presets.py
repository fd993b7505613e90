"""Presets: parsers for all sites of one product, on documents in the shape of each product."""

import json
from dataclasses import replace

import pytest

from tests.collections.events.place import configured, events, run, serving
from tests.collections.events.reader import read
from windrow import Windrow
from windrow.collections.events.collection import COLLECTION, PARSER, SITE, built_in_names, built_in_parser
from windrow.config import load
from windrow.errors import UsageError

PRESETS = [name for name in built_in_names() if SITE in built_in_parser(name).url]
PLACE = {"branch": "Other", "entity": "Senate", "timezone": "America/Chicago", "reader": None}


def preset(name, zone="America/Chicago"):
    return replace(built_in_parser(name), branch="Other", entity="Senate", zone=zone)


def values(content, name, *fields):
    read_events, unread = read(content, by=preset(name))
    assert unread == []
    return [tuple(read_event.value.get(field) for field in fields) for read_event in read_events]


def test_the_events_calendar_is_read_page_by_page_with_its_utc_times_and_whole_days(tmp_path):
    def entry(number, **fields):
        return {
            "id": number, "title": "Board &#038; public", "description": "<p>Tea</p>", "url": f"https://a.example/{number}",
            "start_date": "2099-11-05 18:00:00", "utc_start_date": "2099-11-06 00:00:00",
            "utc_end_date": "2099-11-06 02:00:00", "all_day": False, "venue": {"venue": "Smith&#8217;s Hall"}, "cost": "",
            "categories": [{"name": "Arts &amp; Crafts"}], "organizer": [{"organizer": "Tom &amp; Co"}],
        } | fields  # fmt: skip

    with serving() as site:
        first = "/wp-json/tribe/events/v1/events?per_page=50"
        pages = {
            first: {"events": [entry(1)], "next_rest_url": f"{site.url}{first}&page=2"},
            f"{first}&page=2": {"events": [entry(
                2, all_day=True, utc_start_date="2099-11-05 06:00:00", utc_end_date="2099-11-06 05:59:59", venue=[]
            )]},
        }  # fmt: skip
        for path, page in pages.items():
            site.put(path, json.dumps(page), "application/json")
        workspace = configured(tmp_path, f"{site.url}/", parser="the-events-calendar", **PLACE)
        # A second site of the same product uses the same numbers.
        other = first.replace("/wp-json", "/b/wp-json")
        site.put(other, json.dumps({"events": [entry(1, title="Tea"), entry(2)]}), "application/json")
        config = (tmp_path / "windrow.toml").read_text()
        first_source = config[config.index("[source.council]") :]
        second_source = first_source.replace(f"{site.url}/", f"{site.url}/b/").replace("council", "other")
        (tmp_path / "windrow.toml").write_text(f"{config}\n{second_source}")
        workspace = load(tmp_path, environ={}, collections={"events": COLLECTION})
        assert run(workspace).failed == 0
    timed, whole_day, *of_other = sorted(events(workspace), key=lambda event: event["uid"])
    assert [(event["uid"], event["title"]) for event in of_other] == [("other/1", "Tea"), ("other/2", "Board & public")]
    assert len({event["_id"] for event in events(workspace)}) == 4
    assert {event["parser_name"] for event in of_other} == {timed["parser_name"]}
    assert (timed["datetime"], timed["end_datetime"]) == ("2099-11-06T00:00:00Z", "2099-11-06T02:00:00Z")
    assert (timed["title"], timed["description"], timed["location"]) == ("Board & public", "Tea", "Smith\u2019s Hall")
    assert (timed["category"], timed["organizer"]) == ("Arts & Crafts", "Tom & Co")
    assert (whole_day["datetime"], whole_day["all_day"]) == ("2099-11-05T00:00:00Z", True)


def test_the_meetings_to_come_of_granicus_have_the_time_that_their_page_shows():
    """The hidden number beside it is in the zone of the server, so that it gives another time."""
    row = """<tr class="odd"><td class="listItem" headers="EventName" scope="row"> City Council </td>
      <td class="listItem" headers="EventDate City-Council"><span style="display:none;">1779206400</span>
      May&nbsp;19,&nbsp;2026 - 09:00 AM</td>
      <td class="listItem"><a href="//a.example/AgendaViewer.php?view_id=2&amp;event_id=7">Agenda</a></td></tr>"""
    head = "<tr><th id='EventName'>Name</th><th id='EventDate'>Date</th></tr>"
    page = f"<table class='listingTable' id='upcoming'>{head}{row}</table>"
    assert values(page, "granicus", "title", "datetime", "agenda_url") == [
        ("City Council", "2026-05-19T14:00:00Z", "//a.example/AgendaViewer.php?view_id=2&event_id=7")
    ]
    assert values(f"<table class='listingTable' id='upcoming'>{head}</table>", "granicus") == []


def test_the_meetings_of_boarddocs_are_read_from_their_list_in_xml():
    meeting = (
        "<meeting id='ABC1'><name>Regular Meeting</name><start><date>2026-10-05</date></start>"
        "<link>https://a.example/goto?open</link></meeting>"
    )
    assert values(f"<meetings>{meeting}</meetings>", "boarddocs", "title", "datetime", "all_day", "event_url") == [
        ("Regular Meeting", "2026-10-05T00:00:00Z", True, "https://a.example/goto?open")
    ]


@pytest.mark.parametrize(("written", "start", "all_day"), [
    ("2026-10-15T19:00", "2026-10-16T00:00:00Z", False), ("2026-9-1T19:00-5:00", "2026-09-02T00:00:00Z", False),
    ("2026-9-1T19:00+1:00", "2026-09-01T18:00:00Z", False), ("2026-9-1", "2026-09-01T00:00:00Z", True),
])  # fmt: skip
def test_the_cards_of_eventon_are_read_from_their_hidden_schema(written, start, all_day):
    card = f"""<div id="event_9" class="eventon_list_event evo_eventtop event" data-event_id="9">
      <div class="evo_event_schema" style="display:none"><a itemprop="url" href="https://a.example/events/bal/"></a>
      <span itemprop="name">Bal</span><meta itemprop="startDate" content="{written}"/>
      <item itemprop="location" itemscope><span itemprop="name">Cafe</span></item></div></div>"""
    none = "<div class='eventon_list_event'><p class='no_events'>No Events</p></div>"
    page = f"<div id='evcal_list' class='eventon_events_list'>{card}</div>"
    assert values(page, "eventon", "title", "datetime", "all_day", "event_url", "location") == [
        ("Bal", start, all_day, "https://a.example/events/bal/", "Cafe")
    ]
    assert values(f"<div class='eventon_events_list'>{none}</div>", "eventon") == []


def test_the_rows_of_a_socrata_dataset_are_read_by_the_usual_names_of_their_columns():
    rows = [{":id": "row-1", "meeting_name": "Board", "start_date": "2026-10-05T18:00:00.000", "location": "Hall"}]
    assert values(json.dumps(rows), "socrata", "title", "datetime", "location") == [
        ("Board", "2026-10-05T23:00:00Z", "Hall")
    ]


ADDRESSES = {
    "the-events-calendar": ("https://a.example/", "https://a.example/wp-json/tribe/events/v1/events?per_page=50"),
    "civicplus": (
        "https://a.example", "https://a.example/common/modules/iCalendar/iCalendar.aspx?catID=14&feed=calendar"
    ),
    "google-calendar": ("https://calendar.example/ical/a/public/basic.ics",) * 2,
    "legistar": ("https://webapi.example/v1/city", "https://webapi.example/v1/city/events"),
    "granicus": ("https://a.example/ViewPublisher.php?view_id=2",) * 2,
    "boarddocs": ("https://a.example/ny/x/Board.nsf", "https://a.example/ny/x/Board.nsf/XML-ActiveMeetings"),
    "eventon": ("https://a.example/events/",) * 2,
    "socrata": (
        "https://a.example/resource/abcd-efgh.json",
        "https://a.example/resource/abcd-efgh.json?$select=:*,*&$order=:updated_at%20DESC,:id&$limit=50000",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PRESETS)
def test_a_source_is_made_of_a_preset_and_the_address_of_a_site(tmp_path, name):
    given, requested = ADDRESSES[name]
    workspace = configured(tmp_path, given, parser=name, **PLACE)
    assert workspace.source("council").options["address"] == requested
    again = configured(tmp_path, requested, parser=name, **PLACE)
    assert again.source("council").options["address"] == requested


@pytest.mark.parametrize("name", PRESETS)
def test_new_source_from_a_preset_shows_its_settings_and_each_can_be_set(tmp_path, name):
    windrow, (given, requested) = Windrow.init(tmp_path), ADDRESSES[name]
    place = {"branch": "Other", "entity": "Senate", "timezone": "America/Chicago"}
    path = windrow.new_source("council", given, preset=name, **place)
    text = path.read_text()
    assert f'parser = "{name}"' in text
    source = windrow.config.source("council")
    assert (source.collection, source.options["address"]) == ("events", requested)
    head, comments = text.split("replaces the preset's:\n")
    path.write_text(head + "\n".join(line.removeprefix("# ") for line in comments.splitlines()))
    assert Windrow(tmp_path).config.source("council").options[PARSER] == source.options[PARSER]


def test_new_source_refuses_what_is_no_preset_and_names_those_that_there_are(tmp_path):
    windrow = Windrow.init(tmp_path)
    for collection, message in (
        ("", "the presets are: boarddocs, civic"),
        ("news", "not a preset of news; there are none"),
    ):
        with pytest.raises(UsageError, match=message):
            windrow.new_source("council", "https://a.example/", collection=collection, preset="civic")
    with pytest.raises(UsageError, match="neither --collection nor --from"):
        windrow.new_source("council", "https://a.example/")


def test_new_source_writes_a_source_of_a_preset_and_says_which_setting_it_lacks(tmp_path):
    windrow = Windrow.init(tmp_path)
    settings = {"parser": "civicplus", "branch": "Other", "entity": "Senate", "timezone": "America/Chicago"}
    path = windrow.new_source("council", "https://a.example/", collection="events", **settings)
    assert 'parser = "civicplus"' in path.read_text()
    for setting in ("branch", "entity", "timezone"):
        lacking = {name: text for name, text in settings.items() if name != setting}
        with pytest.raises(UsageError, match=f"{setting} is not set"):
            windrow.new_source("other", "https://b.example/", collection="events", **lacking)


@pytest.mark.parametrize(("setting", "names"), [("branch", "events.branches"), ("entity", "events.entities")])
def test_new_source_says_which_setting_adds_the_name_of_a_branch_or_entity(tmp_path, setting, names):
    windrow = Windrow.init(tmp_path)
    settings = {"parser": "civicplus", "branch": "Other", "entity": "Senate", "timezone": "America/Chicago"}
    with pytest.raises(UsageError, match=f"'City' is not one of .*; {names} in windrow.toml adds names"):
        windrow.new_source("council", "https://a.example/", collection="events", **settings | {setting: "City"})
