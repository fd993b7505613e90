"""The ready parsers on what the federal government publishes: samples where they are at hand, and documents of our own."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from tests.collections.events.place import configured
from tests.collections.events.reader import read
from windrow.collections.events.dated import filled
from windrow.collections.events.names import BRANCHES, ENTITIES
from windrow.collections.events.parsers.registry import PARSERS
from windrow.collections.events.readers.json_path import details
from windrow.collections.events.readers.registry import READERS
from windrow.collections.events.readers.roll_calls import next_vote
from windrow.collections.events.reading import input_of
from windrow.errors import StepError
from windrow.reasons import Reason


def values(told, *names):
    return [tuple(one.value.get(name) for name in names) for one in told]


def by(name, content, **more):
    return read(content, by=PARSERS[name], **more)


def test_every_ready_parser_is_whole_and_its_names_are_on_the_list(tmp_path):
    for name, one in PARSERS.items():
        assert one.name == name
        assert (one.branch in BRANCHES, one.entity in ENTITIES) == (True, True), name
        assert all(rules.reader in READERS for rules in one.versions), name
        url = None if one.urls else "https://docs.example/meeting.xml"
        told = configured(
            tmp_path, url or "", parser=name, reader=None, branch=None, entity=None, timezone=None, every=None
        )
        made = told.source("council").options["event_parser"]
        assert (made.name, made.entity, made.versions) == (name, one.entity, one.versions)


def test_the_manual_names_every_ready_parser():
    text = (Path(__file__).parents[3] / "docs" / "howto" / "harvest-events.md").read_text()
    assert [name for name in PARSERS if f"| `{name}` |" not in text] == []


# The Senate


def test_senate_hearings_are_read_without_the_placeholder_and_an_empty_list_is_empty(shared):
    folder = shared / "data" / "events-and-news" / "senate"
    content = (folder / "hearings_2026-07-25_abridged.xml").read_bytes()
    found, unread = by("senate-hearings", content)
    assert len(found) == content.count(b"<identifier>")
    assert [one.reason for one in unread] == [Reason.PLACEHOLDER]
    assert values(found[:2], "datetime", "unique_key", "location", "committee_code", "subcommittee") == [
        ("2026-07-29T12:30:00Z", "338683", "SD-342", "SSGA00", None),
        ("2026-07-29T18:00:00Z", "338686", "SD-430", "SSHR11", "Employment and Workplace Safety Subcommittee"),
    ]
    found, unread = by("senate-hearings", (folder / "hearings_empty.xml").read_bytes())
    assert (found, [one.reason for one in unread]) == ([], [Reason.PLACEHOLDER])


def test_a_wrong_address_of_the_senate_that_answers_200_with_html_is_an_error():
    for name in ("senate-hearings", "senate-votes", "senate-schedule"):
        with pytest.raises(StepError):
            by(name, "<!DOCTYPE html><html><body>Not found</body></html>")


def test_the_senates_next_convening_is_read_as_eastern_time(shared):
    content = (shared / "data" / "events-and-news" / "senate" / "floor_schedule.json").read_bytes()
    (one,), _ = by("senate-floor", content)
    assert values([one], "datetime", "title", "unique_key") == [
        ("2026-10-05T20:00:00Z", "Senate convenes", "2026-10-05")
    ]


def test_recess_periods_are_events_of_several_days_with_their_last_one():
    text = "<schedule><dates><date><beginDate>08/03/2026</beginDate><endDate>09/11/2026</endDate><action>State Work Period</action><note/></date></dates></schedule>"
    (one,), _ = by("senate-schedule", text)
    assert values([one], "datetime", "end_datetime", "all_day", "description") == [
        ("2026-08-03T00:00:00Z", "2026-09-11T00:00:00Z", True, "")
    ]


def test_senate_votes_have_the_year_that_their_dates_leave_out_at_its_end_too():
    vote = "<vote><vote_number>{}</vote_number><vote_date>{}</vote_date><issue>PN1</issue><question>On the Nomination</question><result>Confirmed</result><vote_tally><yeas>53</yeas><nays>46</nays></vote_tally><title>Confirmation</title></vote>"
    text = f"<vote_summary><congress>119</congress><session>1</session><congress_year>2025</congress_year><votes>{vote.format('00659', '02-Jan')}{vote.format('00658', '18-Dec')}{vote.format('00001', '09-Jan')}</votes></vote_summary>"
    found, unread = by("senate-votes", text)
    assert unread == []
    assert values(found, "datetime", "unique_key", "yes_votes", "vote_result") == [
        ("2026-01-02T00:00:00Z", "119-1-00659", 53, "Confirmed"),
        ("2025-12-18T00:00:00Z", "119-1-00658", 53, "Confirmed"),
        ("2025-01-09T00:00:00Z", "119-1-00001", 53, "Confirmed"),
    ]
    assert found[0].value["event_url"].endswith("/vote1191/vote_119_1_00659.htm")


def test_nominations_and_posts_of_the_press_gallery_are_read_by_their_numbers(shared):
    text = "<Nominations><Nomination><NominationDisplayNumber>PN12-3</NominationDisplayNumber><ReceivedDate>01/20/2026</ReceivedDate><ReportingStageDate>02/03/2026</ReportingStageDate><Organization>Department of State</Organization><ReportingDescription>A. Person, to be Ambassador</ReportingDescription></Nomination></Nominations>"
    (one,), _ = by("senate-nominations-confirmed", text)
    assert values([one], "datetime", "unique_key", "agency") == [
        ("2026-02-03T00:00:00Z", "PN12-3", "Department of State")
    ]
    post = (shared / "data" / "events-and-news" / "wordpress" / "post_56415_entity_title.json").read_text()
    (one,), _ = by("senate-press-gallery", f"[{post}]")
    assert one.value["title"] == "*Postponed Standing Committee of Correspondents\u2019 Meeting Postponed*"
    assert one.value["description"].startswith("The Standing Committee of Correspondents meeting scheduled")
    assert one.value["datetime"] == "2021-10-18T21:06:59Z"


# The House


def test_a_committee_meeting_is_read_with_its_status_and_place(shared):
    content = (shared / "data" / "events-and-news" / "house" / "committee_meeting.xml").read_bytes()
    (one,), unread = by("house-committee-meeting", content)
    assert unread == []
    assert values([one], "datetime", "unique_key", "status", "location", "committee_code") == [
        ("2014-05-19T21:00:00Z", "HMTG102252", "scheduled", "H-313 CAPITOL", "RU00")
    ]
    (one,), _ = by("house-committee-meeting", content.replace(b">S<", b">P<"))
    assert one.value["status"] == "postponed"


def test_a_roll_call_of_the_house_is_read_and_leads_to_the_next_until_one_is_absent(shared):
    folder = shared / "data" / "events-and-news" / "house"
    url = "https://clerk.house.gov/evs/2026/roll314.xml"
    content = (folder / "roll314_abridged.xml").read_bytes()
    (one,), unread = by("house-votes", content, url=url)
    assert unread == []
    assert values([one], "datetime", "roll_call", "result", "issue") == [
        ("2026-09-16T23:05:00Z", 314, "Passed", "S 2403")
    ]
    given = input_of(PARSERS["house-votes"], content, url, datetime(2026, 10, 1, tzinfo=UTC), "")
    assert next_vote(given) == "https://clerk.house.gov/evs/2026/roll315.xml"
    absent = given._replace(content=(folder / "roll315_missing_is_http200.xml").read_bytes())
    assert (by("house-votes", absent.content), next_vote(absent)) == (([], []), "")


def test_the_floor_feed_with_a_mark_before_it_and_one_guid_for_all_gives_each_item(shared):
    content = (shared / "data" / "events-and-news" / "house" / "clerk_home_feed.xml").read_bytes()
    found, unread = by("house-floor", content)
    assert len(found) + len(unread) == content.count(b"<item>")
    assert len({one.uid for one in found}) == len(found) > 1
    assert all(one.reason is Reason.DUPLICATE_RECORD for one in unread)


def test_a_bill_that_is_taken_off_the_weeks_list_is_withdrawn():
    item = '<floor-item id="{}" add-date="2026-10-02T10:00:00" remove-date="{}"><legis-num>H.R. 1</legis-num><floor-text>An Act</floor-text></floor-item>'
    text = f'<floorschedule week-date="2026-10-05"><category>{item.format(1, "")}{item.format(2, "2026-10-06T09:00:00")}</category></floorschedule>'
    found, _ = by("house-bills-this-week", text)
    assert values(found, "datetime", "unique_key", "status", "title") == [
        ("2026-10-05T00:00:00Z", "1", "scheduled", "H.R. 1: An Act"),
        ("2026-10-05T00:00:00Z", "2", "withdrawn", "H.R. 1: An Act"),
    ]


def test_congress_gov_names_its_meetings_by_a_list_and_each_is_asked_when_it_changed():
    listed = '{"committeeMeetings": [{"eventId": "7", "updateDate": "2026-09-01T10:00:00Z", "url": "https://api.congress.gov/v3/committee-meeting/119/house/7?format=json"}], "pagination": {"count": 1}}'
    made = PARSERS["congress-committee-meetings"]
    given = input_of(
        made,
        listed.encode(),
        "https://api.congress.gov/v3/committee-meeting/119/house",
        datetime(2026, 9, 1, tzinfo=UTC),
        "",
    )
    assert details(given) == (
        "https://api.congress.gov/v3/committee-meeting/119/house/7?format=json&changed=2026-09-01T10%3A00%3A00Z",
    )
    assert by("congress-committee-meetings", listed) == ([], [])
    one = '{"committeeMeeting": {"eventId": "7", "title": "Markup", "date": "2026-09-15T14:00:00Z", "meetingStatus": "Canceled", "type": "Meeting", "location": {"room": "2123", "building": "Rayburn"}, "committees": [{"systemCode": "hsif00", "name": "Energy"}]}}'
    (found,), _ = by("congress-committee-meetings", one)
    assert values([found], "datetime", "status", "location", "committee_code") == [
        ("2026-09-15T14:00:00Z", "cancelled", "2123 Rayburn", "hsif00")
    ]


# The others


def test_posts_of_the_white_house_are_known_by_their_number_and_without_the_pages_navigation(shared):
    content = next((shared / "data" / "events-and-news" / "whitehouse").glob("*.xml")).read_bytes()
    (one,), _ = by("white-house-actions", content)
    assert values([one], "datetime", "unique_key", "entity") == [
        ("2026-09-29T21:23:48Z", "https://www.whitehouse.gov/?p=51617", "White House")
    ]
    assert one.value["description"].startswith("By the authority vested in me")
    assert "<p>" not in one.value["description"]


def test_the_federal_register_is_read_page_by_page_and_an_answer_without_results_is_empty(shared):
    content = (shared / "data" / "events-and-news" / "federal_register" / "documents_page.json").read_bytes()
    found, unread = by("federal-register", content)
    assert unread == []
    assert values(found[:1], "datetime", "unique_key", "document_type") == [
        ("2026-04-21T00:00:00Z", "2026-07755", "Notice")
    ]
    assert by("federal-register", '{"count": 0, "description": "none"}') == ([], [])
    with pytest.raises(StepError):
        by("federal-register", '{"errors": {"per_page": "too many"}}')
    inspected = '{"count": 2, "results": [{"document_number": "1", "title": "A", "type": "Notice", "filed_at": "2026-10-02T08:45:00.000-04:00", "publication_date": null}, {"document_number": "2", "title": "B", "filed_at": null, "publication_date": null}]}'
    found, unread = by("public-inspection", inspected)
    assert values(found, "datetime", "unique_key") == [("2026-10-02T12:45:00Z", "1")]
    assert [one.reason for one in unread] == [Reason.INCOMPLETE_RECORD]


def test_dates_of_the_election_commission_are_days_whether_their_number_is_a_text_or_not(shared):
    content = (shared / "data" / "events-and-news" / "fec" / "calendar_rows.json").read_bytes()
    found, unread = by("fec-calendar", content)
    assert unread == []
    assert values(found[:2], "datetime", "unique_key", "all_day", "end_datetime") == [
        ("2026-01-01T00:00:00Z", "8250", True, ""),
        ("2026-10-15T00:00:00Z", "8275", True, ""),
    ]


def test_the_courts_orders_and_opinions_are_read_from_their_tables():
    opinions = "<table><tr><th>R-</th><th>Date</th><th>Docket</th><th>Name</th><th>J.</th></tr><tr><td>12</td><td>6/30/26</td><td>25-100</td><td><a href='/opinions/25pdf/25-100.pdf'>A v. B</a></td><td>K</td></tr></table>"
    (one,), _ = by("supreme-court-opinions", opinions)
    assert values([one], "datetime", "unique_key", "title", "opinion") == [
        ("2026-06-30T00:00:00Z", "25-100", "A v. B", "12")
    ]
    orders = "<main><ul class=column2><li><span>10/05/26</span> <a href='/orders/courtorders/100526zor.pdf'>Order List</a></li></ul></main>"
    (one,), _ = by("supreme-court-orders", orders)
    assert values([one], "datetime", "title") == [("2026-10-05T00:00:00Z", "Order List")]
    with pytest.raises(StepError):
        by("supreme-court-opinions", "<html><body><p>Server error</p></body></html>")


def test_addresses_have_the_year_congress_term_and_week_of_the_day():
    assert filled("{year} {congress} {session}", date(2025, 12, 31)) == "2025 119 1"
    assert filled("{year} {congress} {session}", date(2026, 1, 2)) == "2026 119 1"
    assert filled("{year} {congress} {session}", date(2026, 1, 3)) == "2026 119 2"
    assert filled("{year} {congress} {session}", date(2027, 1, 3)) == "2027 120 1"
    assert (filled("{term}", date(2026, 9, 30)), filled("{term}", date(2026, 10, 1))) == ("25", "26")
    assert filled("{week}/{day}", date(2026, 10, 7)) == "20261005/20261007"
    assert filled("plain", date(2026, 1, 1)) == "plain"
