"""The status of an event in the words of its title or text, for sources that have no field for it."""

import json

import pytest

from tests.collections.events.place import calendar, event
from tests.collections.events.reader import read
from tests.cpu import cpu_seconds
from windrow.collections.events.status_words import find_status

MARKED = [
    ("CANCELLED - Board of Ethics", "cancelled", "Board of Ethics"),
    ("CANCELED: Board of Ethics", "cancelled", "Board of Ethics"),
    ("Cancelled! Board of Ethics", "cancelled", "Board of Ethics"),
    ("CANCELLED \u2013 Board of Ethics", "cancelled", "Board of Ethics"),
    ("*** CANCELLED *** Board of Ethics", "cancelled", "Board of Ethics"),
    ("[Cancelled] Board of Ethics", "cancelled", "Board of Ethics"),
    ("(Postponed) Board of Ethics", "postponed", "Board of Ethics"),
    ("Board of Ethics (Postponed)", "postponed", "Board of Ethics"),
    ("Board of Ethics (postponed to May 5)", "postponed", "Board of Ethics"),
    ("Board of Ethics - CANCELED", "cancelled", "Board of Ethics"),
    ("Board of Ethics | Rescheduled to May 5", "rescheduled", "Board of Ethics"),
    ("CANCELLED Board of Ethics", "cancelled", "Board of Ethics"),
    ("Board of Ethics CANCELLED", "cancelled", "Board of Ethics"),
    ("Board Meeting Cancelled", "cancelled", "Board Meeting"),
    ("Board meeting is postponed", "postponed", "Board meeting"),
    ("Notice of Cancellation - Board of Ethics", "cancelled", "Board of Ethics"),
    ("Hearing postponed until May 5", "postponed", "Hearing"),
    ("Cancelled", "cancelled", "Cancelled"),
    ("ABGESAGT: Rat der Stadt", "cancelled", "Rat der Stadt"),
    ("Sitzung abgesagt", "cancelled", "Sitzung"),
    ("Rat der Stadt \u2013 entf\u00e4llt", "cancelled", "Rat der Stadt"),
    ("Reuni\u00f3n cancelada", "cancelled", "Reuni\u00f3n"),
    ("Aplazada: Comisi\u00f3n de Hacienda", "postponed", "Comisi\u00f3n de Hacienda"),
    ("S\u00e9ance report\u00e9e", "postponed", "S\u00e9ance"),
    ("Seduta annullata", "cancelled", "Seduta"),
    ("Afgelast: Raadsvergadering", "cancelled", "Raadsvergadering"),
    ("CANCELLED TOWN BOARD MEETING", "cancelled", "TOWN BOARD MEETING"),
    ("CANCELED PLANNING COMMISSION", "cancelled", "PLANNING COMMISSION"),
    ("MEETING CANCELLED - PLANNING BOARD", "cancelled", "MEETING PLANNING BOARD"),
    ("Planning Commission Cancelled", "cancelled", "Planning Commission"),
    ("Canceled Planning Commission", "cancelled", "Planning Commission"),
    ("Town Board Meeting Cancelled Due to Snow", "cancelled", "Town Board Meeting"),
    ("Cancellation: Town Board", "cancelled", "Town Board"),
    ("Stadtratssitzung abgesagt", "cancelled", "Stadtratssitzung"),
    ("Board of Ethics (cancelled due to snow)", "cancelled", "Board of Ethics"),
    ("Board of Ethics (CANCELED - no quorum)", "cancelled", "Board of Ethics"),
]  # fmt: skip
UNMARKED = [
    "Cancelled checks: a workshop", "CANCELLED CHECKS WORKSHOP", "Hearing on the Rescheduled Drugs Act",
    "Student Debt Cancellation", "Orders deferred", "Consideration of cancelled contracts",
    "Report on Deferred Maintenance", "Meeting cancellation policy", "Budget hearing (postponed from Nov 3)",
    "Board (Cancelled Room 2, moved to Room 3)", "Board (cancelled in-person; virtual only)",
    "Deferred Compensation Board", "Rain date, if the first meeting is cancelled",
]  # fmt: skip
UNMENTIONED = [
    "Not cancelled: Board of Ethics", "Meeting is NOT CANCELLED", "Meeting (will not be cancelled)", "Board un-cancelled",
    "Cancellations and refunds", "", "Board of Ethics",
]  # fmt: skip
DESCRIPTIONS = [
    ("This meeting has been cancelled.", "cancelled"), ("The Board of Ethics hearing is postponed until May", "postponed"),
    ("CANCELLED. See you in May", "cancelled"), ("Abgesagt", "cancelled"), ("Refunds for cancelled events", None),
    ("If it rains, the meeting will be cancelled", None), ("The meeting is not cancelled", None),
    ("If the meeting is cancelled, a notice will be posted.", None), ("Cancellation: ask by May 1 for a refund", None),
    ("Residents will be notified if the meeting is canceled due to weather", None),
    ("Unless the hearing is postponed, bring your papers", None), ("In the event the meeting is cancelled, call us", None),
    ("Call to find out whether the class was cancelled", None), ("The class is cancelled if schools are closed", None),
    ("Refundable only when the workshop is cancelled", None), ("Dial 5 if lost. The meeting is cancelled.", "cancelled"),
]  # fmt: skip


@pytest.mark.parametrize(("title", "status", "proper"), MARKED)
def test_a_mark_in_a_title_is_a_status(title, status, proper):
    mark = find_status(title)
    assert (mark.status, mark.title) == (status, proper)


@pytest.mark.parametrize("title", UNMARKED)
def test_a_word_that_may_belong_to_the_title_is_no_status_and_noted(title):
    mark = find_status(title)
    assert (mark.status, mark.words, mark.title) == ("", title, title)


@pytest.mark.parametrize("title", UNMENTIONED)
def test_a_title_without_such_a_word_has_no_note(title):
    assert find_status(title) is None


@pytest.mark.parametrize(("description", "status"), DESCRIPTIONS)
def test_a_description_gives_a_status_at_its_beginning_or_in_a_sentence_about_the_event(description, status):
    mark = find_status("Board of Ethics", description)
    assert (mark.status if mark else None) == status


@pytest.mark.parametrize(("sentence", "status"), [
    ("Approval of minutes, as the October meeting was cancelled", None),
    ("The previous meeting was postponed. Please join us.", None),
    ("The December 1 meeting is cancelled", None), ("The regular Monday meeting has been cancelled", None),
    ("The November 3rd meeting is cancelled", "cancelled"), ("The regular Tuesday meeting is cancelled", "cancelled"),
    ("The October meeting was cancelled; this meeting has been postponed", "postponed"),
])  # fmt: skip
def test_a_sentence_about_the_meeting_of_another_day_is_no_status(sentence, status):
    lines = event("a@x", ":20261103T150000Z", "Board", description=sentence.replace(",", "\\,").replace(";", "\\;"))
    (read_event,), _ = read(calendar(lines), "icalendar")
    assert read_event.value["status"] == (status or "scheduled")


@pytest.mark.parametrize(
    ("title", "description"),
    [
        ("(" * 20_000 + " cancelled", ""), ("-" * 20_000 + "x cancelled y", ""),
        ("Tea", "if this meeting has been cancelled " * 10_000),
    ],
    ids=["brackets", "dashes", "conditions"],
)  # fmt: skip
def test_a_long_text_takes_no_time_of_the_square_of_its_length(title, description):
    assert cpu_seconds(find_status, title, description) < 2


def test_an_event_gets_the_status_of_its_title_with_a_note_unless_its_source_states_one():
    """A source without a field for the status writes it into the title; many calendars say CONFIRMED all the same."""
    read_events, _ = read(
        calendar(
            event("a@x", ":20990115T150000Z", "CANCELLED - Board", status="CONFIRMED"),
            event("b@x", ":20990116T150000Z", "(Postponed) Board", status="CANCELLED"),
            event("c@x", ":20990117T150000Z", "Board", description="This meeting has been cancelled."),
            event("d@x", ":20990118T150000Z", "Board"),
            event(
                "e@x", ":20990119T150000Z", "Board", status="CONFIRMED", description="This meeting has been cancelled."
            ),
            event("f@x", ":20990120T150000Z", "Board", status="CONFIRMED", description="CANCELLED. See you in May"),
            event("g@x", ":20990121T150000Z", "Cancelled checks"),
        ),
        "icalendar",
    )
    assert [(found.value["status"], found.value.get("status_note")) for found in read_events] == [
        ("cancelled", "the source writes: CANCELLED"), ("cancelled", None),
        ("cancelled", "the source writes: This meeting has been cancelled"), ("scheduled", None),
        ("confirmed", "the source writes: This meeting has been cancelled"), ("cancelled", "the source writes: CANCELLED"),
        ("scheduled", "the source writes: Cancelled checks"),
    ]  # fmt: skip
    assert read_events[0].value["title"] == "CANCELLED - Board"


@pytest.mark.parametrize(
    ("text", "status", "is_noted"),
    [
        ("Cancelled", "cancelled", False), ("Canceled/No Quorum", "cancelled", True), ("CANCELLED.", "cancelled", True),
        ("Postponed indefinitely", "postponed", True), ("EventCancelled", "cancelled", True), ("Abgesagt", "cancelled", True),
        ("not cancelled", "scheduled", True), ("on hold", "scheduled", True), ("C", "scheduled", True),
        ("active", "scheduled", False), ("", "scheduled", False), ("P", "postponed", False),
    ],
)  # fmt: skip
def test_a_status_that_is_not_exactly_a_known_word_has_a_note_in_each_reader(text, status, is_noted):
    note = f"the source writes: {text}" if is_noted else None
    rules = {"fields": {"title": "t", "start": "s", "status": "x"}, "statuses": {"P": "postponed"}}
    events = read(json.dumps([{"t": "Board", "s": "2026-10-05T18:00", "x": text}]), "json", **rules)[0]
    if text not in {"P", "active"}:
        events += read(calendar(event("a@x", ":20990115T150000Z", "Board", status=text or ":")), "icalendar")[0]
    assert {(event.value["status"], event.value.get("status_note")) for event in events} == {(status, note)}


LINKED_EVENT = (
    '<script type="application/ld+json">'
    '{"@type": "Event", "name": "A", "startDate": "2026-10-05T18:00", "endDate": "%s"}</script>'
)


@pytest.mark.parametrize(
    ("text", "end", "is_noted"),
    [("2026-10-05T20:00", "2026-10-06T00:00:00Z", False), ("8 PM", "2026-10-06T00:00:00Z", False), ("soon", "", True),
     ("20:00", "2026-10-06T00:00:00Z", False), ("5 PM", "", True), ("2026-10-05T17:00", "", True), ("", "", False),
     ("2026-10-06", "", True), ("2026-10-05", "", True), ("2026-10-01", "", True)],
)  # fmt: skip
def test_an_end_may_be_a_time_alone_and_one_that_is_not_understood_has_a_note(text, end, is_noted):
    fields = {"title": "t", "start": "s", "end": "e"}
    (event,), _ = read(json.dumps([{"t": "Board", "s": "2026-10-05T18:00", "e": text}]), "json", fields=fields)
    note = f"the source writes: {text}" if is_noted else None
    assert (event.value["end_datetime"], event.value.get("end_note")) == (end, note)


@pytest.mark.parametrize(
    ("reader", "content", "note"),
    [
        ("icalendar", calendar(event("a", ":20261005T180000", dtend=":20261005T170000")), "20261005T170000"),
        ("icalendar", calendar(event("a", ":20261005T180000", dtend=":soon")), "soon"),
        ("icalendar", calendar(event("a", ":20261005T180000", duration="-PT1H")), "-PT1H"),
        ("icalendar", calendar(event("a", ":20261005T180000", dtend=";VALUE=DATE:20261007")), "20261007"),
        ("schema.org", LINKED_EVENT % "2026-10-01", "2026-10-01"),
        ("schema.org", LINKED_EVENT % "2026-10-05T17:00", "2026-10-05T17:00"),
        ("schema.org", LINKED_EVENT % "soon", "soon"),
    ],
)
def test_an_end_before_its_start_has_a_note_in_every_format(reader, content, note):
    (read_event,), _ = read(content, reader)
    assert (read_event.value["end_datetime"], read_event.value.get("end_note")) == ("", f"the source writes: {note}")


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2026-10-05 22:00 CST", "23:00", "2026-10-06T04:00:00Z"),
        ("2026-10-05T22:00:00Z", "2026-10-05T23:00:00", "2026-10-05T23:00:00Z"),
        ("2026-10-05T22:00:00+02:00", "2026-10-05 23:00", "2026-10-05T21:00:00Z"),
        ("2026-10-05T22:00:00Z", "2026-10-05T23:00:00-01:00", "2026-10-06T00:00:00Z"),
        ("2026-10-05T01:00:00Z", "02:00", "2026-10-05T02:00:00Z"),
        ("2026-10-05T22:00", "01:00", "2026-10-06T05:00:00Z"), ("2026-10-05T22:00:00Z", "1 AM", "2026-10-06T01:00:00Z"),
        ("2026-10-05T22:00", "9 PM", None), ("9999-12-31T12:00", "1 AM", None),
        ("2026-10-05", "2026-10-04", None), ("2026-10-05", "2026-10-05", "2026-10-05T00:00:00Z"),
    ],
)  # fmt: skip
def test_an_end_without_a_zone_has_that_of_its_start_and_a_day_before_the_start_has_a_note(start, end, expected):
    fields = {"title": "t", "start": "s", "end": "e"}
    (event,), _ = read(json.dumps([{"t": "Board", "s": start, "e": end}]), "json", fields=fields)
    assert event.value["end_datetime"] == (expected or "")
    assert ("end_note" in event.value) == (expected is None)


def test_an_end_without_a_zone_in_a_calendar_has_that_of_its_start():
    (read_event,), _ = read(calendar(event("a", ":20261005T220000Z", dtend=":20261005T230000")), "icalendar")
    assert read_event.value["end_datetime"] == "2026-10-05T23:00:00Z"


def test_words_in_place_of_a_time_of_legistar_are_noted_and_may_give_the_status():
    def meeting(number, time, state):
        return {"EventGuid": number, "EventBodyName": "Board", "EventDate": "2026-10-05T00:00:00", "EventTime": time,
                "EventAgendaStatusName": state}  # fmt: skip

    words = "Immediately following Budget"
    meetings = [meeting("a", "Cancelled", "Final"), meeting("b", words, "Draft"), meeting("c", "6:30 PM or later", "Final"),
                meeting("d", "6:30 PM", "Deferred by motion"),
                meeting("e", "7 PM", "Final") | {"EventComment": "This meeting has been cancelled."}]  # fmt: skip
    read_events, (rejected,) = read(json.dumps(meetings), "legistar")
    keys = ("all_day", "status", "time_note", "status_note")
    assert [tuple(event.value.get(key) for key in keys) for event in read_events] == [
        (True, "cancelled", "the source writes: Cancelled", None),
        (True, "scheduled", f"the source writes: {words}", None),
        (False, "postponed", None, "the source writes: Deferred by motion"),
        (False, "cancelled", None, "the source writes: This meeting has been cancelled"),
    ]
    assert (rejected.key, "6:30 PM or later" in rejected.message) == ("p/c", True)


def test_an_event_without_an_id_stays_the_same_event_when_its_title_is_marked():
    fields = {"title": "name", "start": "at"}
    uids = set()
    for name in ("Board of Ethics", "CANCELLED - Board of Ethics", "Board of Ethics (Postponed)"):
        (read_event,), _ = read(f'[{{"name": "{name}", "at": "2026-10-05T18:00"}}]', "json", fields=fields)
        uids.add(read_event.uid)
    assert len(uids) == 1
