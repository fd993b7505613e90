"""The built-in parsers on documents of the federal government: samples if they are available, and synthetic ones."""

import io
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from tests.collections.events.place import configured
from tests.collections.events.reader import read
from windrow.collections.events.collection import SITE, built_in_names, built_in_parser
from windrow.collections.events.discover import fill_address, follow
from windrow.collections.events.parser import BRANCHES, ENTITIES
from windrow.collections.events.readers.by_fields import detail_requests
from windrow.collections.events.readers.publishers import next_house_vote
from windrow.collections.events.readers.registry import READERS
from windrow.collections.events.reading import WithdrawnEvent, source_document
from windrow.contract import Answer, Request
from windrow.errors import StepError
from windrow.reasons import Reason


def values(read_events, *names):
    return [tuple(read_event.value.get(name) for name in names) for read_event in read_events]


def by(name, content, **more):
    return read(content, by=built_in_parser(name), **more)


def test_every_ready_parser_is_whole_and_its_names_are_on_the_list(tmp_path):
    for name in built_in_names():
        parser = built_in_parser(name)
        assert parser.name == name
        if SITE in parser.url:
            continue  # a preset
        assert (parser.branch in BRANCHES, parser.entity in ENTITIES) == (True, True), name
        assert all(rules.reader in READERS for rules in parser.versions), name
        url = None if parser.url else "https://docs.example/document"
        workspace = configured(
            tmp_path, url or "", parser=name, reader=None, branch=None, entity=None, timezone=None, every=None
        )
        configured_parser = workspace.source("council").options["event_parser"]
        assert [getattr(configured_parser, field) for field in ("name", "entity", "versions")] == [
            name, parser.entity, parser.versions
        ]  # fmt: skip


def test_the_manual_names_every_ready_parser():
    text = (Path(__file__).parents[3] / "docs" / "howto" / "harvest-events.md").read_text()
    assert [name for name in built_in_names() if f"| `{name}` |" not in text] == []


# The Senate


def test_senate_hearings_are_read_without_the_placeholder_and_an_empty_list_is_empty(shared):
    folder = shared / "data" / "events-and-news" / "senate"
    content = (folder / "hearings_2026-07-25_abridged.xml").read_bytes()
    read_events, unread = by("senate-hearings", content)
    assert len(read_events) == content.count(b"<identifier>")
    assert [part.reason for part in unread] == [Reason.PLACEHOLDER]
    assert values(read_events[:2], "datetime", "unique_key", "location", "committee_code", "subcommittee") == [
        ("2026-07-29T12:30:00Z", "338683", "SD-342", "SSGA00", None),
        ("2026-07-29T18:00:00Z", "338686", "SD-430", "SSHR11", "Employment and Workplace Safety Subcommittee"),
    ]
    read_events, unread = by("senate-hearings", (folder / "hearings_empty.xml").read_bytes())
    assert (read_events, [part.reason for part in unread]) == ([], [Reason.PLACEHOLDER])


def test_a_wrong_address_of_the_senate_that_answers_200_with_html_is_an_error():
    for name in ("senate-hearings", "senate-votes", "senate-schedule"):
        with pytest.raises(StepError):
            by(name, "<!DOCTYPE html><html><body>Not found</body></html>")


def test_the_senates_next_convening_is_read_as_eastern_time(shared):
    content = (shared / "data" / "events-and-news" / "senate" / "floor_schedule.json").read_bytes()
    (read_event,), _ = by("senate-floor", content)
    assert values([read_event], "datetime", "title", "unique_key") == [
        ("2026-10-05T20:00:00Z", "Senate convenes", "2026-10-05")
    ]


def test_recess_periods_are_events_of_several_days_with_their_last_one():
    text = "<schedule><dates><date><beginDate>08/03/2026</beginDate><endDate>09/11/2026</endDate><action>State Work Period</action><note/></date></dates></schedule>"
    (read_event,), _ = by("senate-schedule", text)
    assert values([read_event], "datetime", "end_datetime", "all_day", "description") == [
        ("2026-08-03T00:00:00Z", "2026-09-11T00:00:00Z", True, "")
    ]


def test_senate_votes_have_the_year_that_their_dates_leave_out_at_its_end_too():
    vote = "<vote><vote_number>{}</vote_number><vote_date>{}</vote_date><issue>PN1</issue><question>On the Nomination</question><result>Confirmed</result><vote_tally><yeas>53</yeas><nays>46</nays></vote_tally><title>Confirmation</title></vote>"
    text = f"<vote_summary><congress>119</congress><session>1</session><congress_year>2025</congress_year><votes>{vote.format('00659', '02-Jan')}{vote.format('00658', '18-Dec')}{vote.format('00001', '09-Jan')}</votes></vote_summary>"
    read_events, unread = by("senate-votes", text)
    assert unread == []
    assert values(read_events, "datetime", "unique_key", "yes_votes", "vote_result") == [
        ("2026-01-02T00:00:00Z", "119-1-00659", 53, "Confirmed"),
        ("2025-12-18T00:00:00Z", "119-1-00658", 53, "Confirmed"),
        ("2025-01-09T00:00:00Z", "119-1-00001", 53, "Confirmed"),
    ]
    assert read_events[0].value["event_url"].endswith("/vote1191/vote_119_1_00659.htm")


def test_nominations_and_posts_of_the_press_gallery_are_read_by_their_numbers(shared):
    text = "<Nominations><Nomination><NominationDisplayNumber>PN12-3</NominationDisplayNumber><ReceivedDate>01/20/2026</ReceivedDate><ReportingStageDate>02/03/2026</ReportingStageDate><Organization>Department of State</Organization><ReportingDescription>A. Person, to be Ambassador</ReportingDescription></Nomination></Nominations>"
    (read_event,), _ = by("senate-nominations-confirmed", text)
    assert values([read_event], "datetime", "unique_key", "agency") == [
        ("2026-02-03T00:00:00Z", "PN12-3", "Department of State")
    ]
    post = (shared / "data" / "events-and-news" / "wordpress" / "post_56415_entity_title.json").read_text()
    (read_event,), _ = by("senate-press-gallery", f"[{post}]")
    assert read_event.value["title"] == "*Postponed Standing Committee of Correspondents\u2019 Meeting Postponed*"
    assert read_event.value["description"].startswith("The Standing Committee of Correspondents meeting scheduled")
    assert read_event.value["datetime"] == "2021-10-18T21:06:59Z"


# The House


def test_a_committee_meeting_is_read_with_its_status_and_place(shared):
    content = (shared / "data" / "events-and-news" / "house" / "committee_meeting.xml").read_bytes()
    (read_event,), unread = by("house-committee-meeting", content)
    assert unread == []
    assert values([read_event], "datetime", "unique_key", "status", "location", "committee_code") == [
        ("2014-05-19T21:00:00Z", "HMTG102252", "scheduled", "H-313 CAPITOL", "RU00")
    ]
    (read_event,), _ = by("house-committee-meeting", content.replace(b">S<", b">P<"))
    assert read_event.value["status"] == "postponed"


def test_a_roll_call_of_the_house_is_read_and_leads_to_the_next_until_one_is_absent(shared):
    folder = shared / "data" / "events-and-news" / "house"
    url = "https://clerk.house.gov/evs/2026/roll314.xml"
    content = (folder / "roll314_abridged.xml").read_bytes()
    (read_event,), unread = by("house-votes", content, url=url)
    assert unread == []
    assert values([read_event], "datetime", "roll_call", "result", "issue") == [
        ("2026-09-16T23:05:00Z", 314, "Passed", "S 2403")
    ]
    document = source_document(built_in_parser("house-votes"), content, url, datetime(2026, 10, 1, tzinfo=UTC), "")
    assert next_house_vote(document) == "https://clerk.house.gov/evs/2026/roll315.xml"
    absent = document._replace(content=(folder / "roll315_missing_is_http200.xml").read_bytes())
    assert (by("house-votes", absent.content), next_house_vote(absent)) == (([], []), "")


def test_the_floor_feed_with_a_mark_before_it_and_one_guid_for_all_gives_each_item(shared):
    content = (shared / "data" / "events-and-news" / "house" / "clerk_home_feed.xml").read_bytes()
    read_events, unread = by("house-floor", content)
    assert len(read_events) + len(unread) == content.count(b"<item>")
    assert len({read_event.uid for read_event in read_events}) == len(read_events) > 1
    assert all(part.reason is Reason.DUPLICATE_RECORD for part in unread)


def test_the_floor_of_a_day_has_its_actions_and_when_the_next_day_convenes_also_when_that_moves():
    action = '<floor_action unique-id="45150" act-id="H20100" update-date-time="20260917T00:05"><action_time/><action_item>H.R. 1</action_item><action_description>The House adjourned.</action_description></floor_action>'
    text = f'<legislative_activity><legislative_day date="20260916"/><floor_actions>{action}<legislative_day_finished next-legislative-day-convenes="20261005T16:30"/></floor_actions></legislative_activity>'
    read_events, unread = by("house-floor-actions", text)
    assert unread == []
    assert values(read_events, "datetime", "unique_key", "title", "act_id") == [
        ("2026-09-17T04:05:00Z", "45150", "The House adjourned.", "H20100"),
        ("2026-10-05T20:30:00Z", "after 20260916", "House convenes", None),
    ]
    moved, _ = by("house-floor-actions", text.replace("T16:30", "T14:00"))
    assert moved[1].uid == read_events[1].uid


REPOSITORY = "https://docs.house.gov/Committee/Calendar"
WEEK = """<!DOCTYPE html><html><body><span id="MainContent_LabelCalendar">Week of October 4 - 10, 2026</span>
  <a href="ByDay.aspx?DayID=10062026">Tuesday</a> <a href="/Committee/Calendar/ByEvent.aspx?EventID=102252">Rules</a>
  <a href="ByEvent.aspx?EventID=102252">again</a> <a href="https://elsewhere.example/">x</a></body></html>"""
MEETING = """<html><body><form method="post"><input type="hidden" name="__VIEWSTATE" value="a+b/=">
  <a id="MainContent_LinkButtonDownloadMtgXML"
     href="javascript:__doPostBack('ctl00$MainContent$LinkButtonDownloadMtgXML','')">Meeting XML</a></form></body></html>"""


def calendar_answer(url, content, method="GET"):
    at = datetime(2026, 10, 5, 12, tzinfo=UTC)
    return Answer(Request(url, "first", method), 200, {"content-type": "text/html"}, io.BytesIO(content.encode()), at)


def test_the_houses_calendar_leads_from_weeks_and_days_to_meetings_and_by_their_form_to_xml(shared, tmp_path):
    workspace = configured(
        tmp_path, "", parser="house-committee-calendar", reader=None, branch=None, entity=None, timezone=None
    )
    source = workspace.source("council")
    turn = follow(source, {}, calendar_answer(f"{REPOSITORY}/ByWeek.aspx?WeekOf=10042026_10102026", WEEK))
    assert [(request.name, request.url.removeprefix(REPOSITORY)) for request in turn.requests] == [
        ("day", "/ByDay.aspx?DayID=10062026&day=20261005"),
        ("meeting", "/ByEvent.aspx?EventID=102252&day=20261005"),
        ("week", "/ByWeek.aspx?WeekOf=10112026_10172026&day=20261005"),
    ]
    late = follow(source, {}, calendar_answer(f"{REPOSITORY}/ByWeek.aspx?WeekOf=10252026_10312026", WEEK))
    assert [request.name for request in late.requests] == ["day", "meeting"]
    url = turn.requests[1].url
    (form,) = follow(source, {}, calendar_answer(url, MEETING)).requests
    assert (form.method, form.url) == ("POST", url)
    assert parse_qs(form.body.decode(), keep_blank_values=True) == {
        "__VIEWSTATE": ["a+b/="], "__EVENTTARGET": ["ctl00$MainContent$LinkButtonDownloadMtgXML"], "__EVENTARGUMENT": [""]
    }  # fmt: skip
    content = (shared / "data" / "events-and-news" / "house" / "committee_meeting.xml").read_text()
    assert follow(source, {}, calendar_answer(url, content, "POST")).requests == ()
    (read_event,), unread = by("house-committee-calendar", content, url=url)
    assert values([read_event], "unique_key", "event_url") == [
        ("HMTG102252", f"{REPOSITORY}/ByEvent.aspx?EventID=102252")
    ]
    assert unread == []
    looped = follow(source, {}, calendar_answer(url, MEETING, "POST"))
    assert (looped.requests, [finding.kind for finding in looped.findings]) == ((), ["NoEvent"])
    with pytest.raises(StepError):
        by("house-committee-calendar", "<html><body>Sorry</body></html>")


def test_bills_are_read_where_the_published_schema_has_them_and_elsewhere_it_is_an_error():
    """The file of the week has its bills in `floor-items`; they were not found, and the run was all well."""
    floor_item = '<floor-item id="{}" add-date="2026-10-02T10:00:00"><legis-num>H.R. {}</legis-num><floor-text>An Act</floor-text></floor-item>'
    floor_items = "".join(floor_item.format(number, number) for number in (1, 2, 3))
    text = '<floorschedule week-date="2026-10-05"><category><floor-items>{}</floor-items></category></floorschedule>'
    read_events, unread = by("house-bills-this-week", text.format(floor_items))
    assert unread == []
    assert values(read_events, "datetime", "unique_key", "title") == [
        ("2026-10-05T00:00:00Z", str(number), f"H.R. {number}: An Act") for number in (1, 2, 3)
    ]
    assert by("house-bills-this-week", text.format("")) == ([], [])
    with pytest.raises(StepError, match="elements of that name elsewhere: 3"):
        by("house-bills-this-week", text.format(f"<day>{floor_items}</day>").replace("category", "group"))


def test_a_bill_that_is_taken_off_the_weeks_list_is_withdrawn():
    floor_item = '<floor-item id="{}" add-date="2026-10-02T10:00:00" remove-date="{}"><legis-num>H.R. 1</legis-num><floor-text>An Act</floor-text></floor-item>'
    text = f'<floorschedule week-date="2026-10-05"><category>{floor_item.format(1, "")}{floor_item.format(2, "2026-10-06T09:00:00")}</category></floorschedule>'
    read_events, _ = by("house-bills-this-week", text)
    assert values(read_events, "datetime", "unique_key", "status", "title") == [
        ("2026-10-05T00:00:00Z", "1", "scheduled", "H.R. 1: An Act"),
        ("2026-10-05T00:00:00Z", "2", "withdrawn", "H.R. 1: An Act"),
    ]


def test_congress_gov_names_its_meetings_by_a_list_and_each_is_asked_when_it_changed():
    listed = '{"committeeMeetings": [{"eventId": "7", "updateDate": "2026-09-01T10:00:00Z", "url": "https://api.congress.gov/v3/committee-meeting/119/house/7?format=json"}], "pagination": {"count": 1}}'
    parser = built_in_parser("congress-committee-meetings")
    document = source_document(
        parser,
        listed.encode(),
        "https://api.congress.gov/v3/committee-meeting/119/house",
        datetime(2026, 9, 1, tzinfo=UTC),
        "",
    )
    assert [detail.url for detail in detail_requests(document)] == [
        "https://api.congress.gov/v3/committee-meeting/119/house/7?format=json&changed=2026-09-01T10%3A00%3A00Z"
    ]
    assert by("congress-committee-meetings", listed) == ([], [])
    content = '{"committeeMeeting": {"eventId": "7", "title": "Markup", "date": "2026-09-15T14:00:00Z", "meetingStatus": "Canceled", "type": "Meeting", "location": {"room": "2123", "building": "Rayburn"}, "committees": [{"systemCode": "hsif00", "name": "Energy"}]}}'
    (read_event,), _ = by("congress-committee-meetings", content)
    assert values([read_event], "datetime", "status", "location", "committee_code") == [
        ("2026-09-15T14:00:00Z", "cancelled", "2123 Rayburn", "hsif00")
    ]


# The others


def test_posts_of_the_white_house_are_known_by_their_number_and_without_the_pages_navigation(shared):
    content = next((shared / "data" / "events-and-news" / "whitehouse").glob("*.xml")).read_bytes()
    (read_event,), _ = by("white-house-actions", content)
    assert values([read_event], "datetime", "unique_key", "entity") == [
        ("2026-09-29T21:23:48Z", "https://www.whitehouse.gov/?p=51617", "White House")
    ]
    assert read_event.value["description"].startswith("By the authority vested in me")
    assert "<p>" not in read_event.value["description"]


def test_the_federal_register_is_read_page_by_page_and_an_answer_without_results_is_empty(shared):
    content = (shared / "data" / "events-and-news" / "federal_register" / "documents_page.json").read_bytes()
    read_events, unread = by("federal-register", content)
    assert unread == []
    assert values(read_events[:1], "datetime", "unique_key", "document_type") == [
        ("2026-04-21T00:00:00Z", "2026-07755", "Notice")
    ]
    assert by("federal-register", '{"count": 0, "description": "none"}') == ([], [])
    with pytest.raises(StepError):
        by("federal-register", '{"errors": {"per_page": "too many"}}')
    inspected = '{"count": 2, "results": [{"document_number": "1", "title": "A", "type": "Notice", "filed_at": "2026-10-02T08:45:00.000-04:00", "publication_date": null}, {"document_number": "2", "title": "B", "filed_at": null, "publication_date": null}]}'
    read_events, unread = by("public-inspection", inspected)
    assert values(read_events, "datetime", "unique_key") == [("2026-10-02T12:45:00Z", "1")]
    assert "status_note" not in read_events[0].value, "the time of filing is no status"
    assert unread == [WithdrawnEvent("public-inspection/2")]


def test_withdrawn_events_that_share_their_id_with_others_are_told_and_half_of_an_odd_number_is_more():
    """They were dropped without a word, and 2 of 5 counted as half."""
    entry = '{{"document_number": "{}", "title": "A", "filed_at": {}, "publication_date": null}}'
    filed = '"2026-10-02T08:45:00.000-04:00"'
    entries = [entry.format("1", "null"), *(entry.format("1", filed) for _ in range(2)), entry.format("2", filed)]
    _, unread = by("public-inspection", f'{{"count": 4, "results": [{", ".join(entries)}]}}')
    message = "a withdrawn event cannot be identified: its id '1' is empty or not unique"
    assert (Reason.INCOMPLETE_RECORD, message) in [(part.reason, part.message) for part in unread]
    entries = [entry.format("1", "null"), *(entry.format(number, filed) for number in (1, 2, 3, 4))]
    _, unread = by("public-inspection", f'{{"count": 5, "results": [{", ".join(entries)}]}}')
    assert unread == [WithdrawnEvent("public-inspection/1")]


def test_notices_of_agencies_meetings_are_read_as_the_register_is():
    notice = '{"count": 1, "results": [{"document_number": "2026-1", "title": "Sunshine Act Meetings", "type": "Notice", "publication_date": "2026-10-02", "agencies": [{"name": "A"}, {"name": "B"}]}]}'
    (read_event,), unread = by("federal-register-meetings", notice)
    assert (values([read_event], "unique_key", "agencies"), unread) == ([("2026-1", "A, B")], [])


def test_dates_of_the_election_commission_are_days_whether_their_number_is_a_text_or_not(shared):
    content = (shared / "data" / "events-and-news" / "fec" / "calendar_rows.json").read_bytes()
    read_events, unread = by("fec-calendar", content)
    assert unread == []
    assert values(read_events[:2], "datetime", "unique_key", "all_day", "end_datetime") == [
        ("2026-01-01T00:00:00Z", "8250", True, ""),
        ("2026-10-15T00:00:00Z", "8275", True, ""),
    ]


def test_the_courts_orders_and_opinions_are_read_from_their_tables():
    opinions = "<table><tr><th>R-</th><th>Date</th><th>Docket</th><th>Name</th><th>J.</th></tr><tr><td>12</td><td>6/30/26</td><td>25-100</td><td><a href='/opinions/25pdf/25-100.pdf'>A v. B</a></td><td>K</td></tr></table>"
    search = "<table><tr><td><a href='/search.aspx'>Search</a> <input name=q></td></tr></table>"
    (read_event,), unread = by("supreme-court-opinions", search + opinions)
    assert unread == []
    assert values([read_event], "datetime", "unique_key", "title", "opinion") == [
        ("2026-06-30T00:00:00Z", "25-100", "A v. B", "12")
    ]
    orders = "<main><ul class=column2><li><span>10/05/26</span> <a href='/orders/courtorders/100526zor.pdf'>Order List</a></li></ul></main>"
    (read_event,), _ = by("supreme-court-orders", orders)
    assert values([read_event], "datetime", "title") == [("2026-10-05T00:00:00Z", "Order List")]
    with pytest.raises(StepError):
        by("supreme-court-opinions", "<html><body><p>Server error</p></body></html>")


def test_the_entries_of_a_docket_are_events_known_by_their_docket_day_and_words():
    docket = '{"CaseNumber": "25-100 ", "PetitionerTitle": "A", "RespondentTitle": "B", "LowerCourt": "C", "ProceedingsandOrder": [{"Date": "Nov 15 2025", "Text": "Petition filed.", "Links": [{"DocumentUrl": "https://x.example/p.pdf"}]}, {"Date": "Oct 5 2026", "Text": "Petition DENIED."}]}'
    read_events, unread = by("supreme-court-docket", docket)
    assert unread == []
    assert values(read_events, "datetime", "unique_key", "description", "event_url") == [
        ("2025-11-15T00:00:00Z", "25-100 Nov 15 2025 Petition filed.", "A v. B", "https://x.example/p.pdf"),
        ("2026-10-05T00:00:00Z", "25-100 Oct 5 2026 Petition DENIED.", "A v. B", ""),
    ]


def test_addresses_have_the_year_congress_term_and_week_of_the_day():
    assert fill_address("{year} {congress} {session}", datetime(2025, 12, 31, tzinfo=UTC)) == "2025 119 1"
    assert fill_address("{year} {congress} {session}", datetime(2026, 1, 2, tzinfo=UTC)) == "2026 119 1"
    assert fill_address("{year} {congress} {session}", datetime(2026, 1, 3, tzinfo=UTC)) == "2026 119 2"
    assert fill_address("{year} {congress} {session}", datetime(2027, 1, 3, tzinfo=UTC)) == "2027 120 1"
    assert (
        fill_address("{term}", datetime(2026, 9, 30, tzinfo=UTC)),
        fill_address("{term}", datetime(2026, 10, 1, tzinfo=UTC)),
    ) == ("25", "26")
    assert fill_address("{week}/{day}", datetime(2026, 10, 7, tzinfo=UTC)) == "20261005/20261007"
    assert fill_address("{sunday}_{saturday}", datetime(2026, 10, 10, tzinfo=UTC)) == "10042026_10102026"
    assert fill_address("{sunday}", datetime(2026, 10, 11, tzinfo=UTC)) == "10112026"
    assert fill_address("{legislative_day} {hour}", datetime(2026, 10, 7, 2, tzinfo=UTC)) == "20261006 2026100702"
    assert fill_address("plain", datetime(2026, 1, 1, tzinfo=UTC)) == "plain"
