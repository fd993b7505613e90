"""The House of Representatives, and Congress's API: committee meetings, the floor, votes, bills of this week."""

from __future__ import annotations

from dataclasses import replace

from windrow.collections.events.parser import EventParser, ParserRules

_DAY = 86400.0
_MEETING = {"S": "scheduled", "R": "rescheduled", "P": "postponed", "C": "cancelled"}


def _house(name: str, urls: tuple[str, ...], rules: ParserRules, **more: object) -> EventParser:
    return EventParser(
        name,
        "Legislative",
        "House of Representatives",
        versions=(rules,),
        urls=urls,
        **more,  # type: ignore[arg-type]
    )


_MEETING_XML = ParserRules(
    "1.0", "xml", root="committee-meeting",
    fields={"id": "@meeting-id", "title": "meeting-details/meeting-title",
            "start": "{meeting-details/meeting-date/calendar-date} {meeting-details/meeting-date/start-time}",
            "description": "meeting-details/committees/committee-name", "status": "current-status",
            "location": "{meeting-details/meeting-location/capitol-complex/room} "
                        "{meeting-details/meeting-location/capitol-complex/building}"},
    extra={"committee_code": "meeting-details/committees/committee-name/@id", "meeting_type": "@meeting-type",
           "documents": "meeting-documents/meeting-document/description", "updated": "@update-date"},
    statuses=_MEETING,
)  # fmt: skip
COMMITTEE_MEETING = _house("house-committee-meeting", (), _MEETING_XML, complete=False)
COMMITTEE_CALENDAR = _house(
    "house-committee-calendar",
    ("https://docs.house.gov/Committee/Calendar/ByWeek.aspx?WeekOf={sunday}_{saturday}",),
    replace(_MEETING_XML, reader="house-calendar"),
    complete=False,
)
FLOOR = _house(
    "house-floor",
    ("https://clerk.house.gov/Home/Feed",),
    ParserRules("1.0", "feed", fields={"id": "pubDate", "title": "description", "description": "title"}),
    complete=False,
    every=1800.0,
)
FLOOR_ACTIONS = _house(
    "house-floor-actions",
    ("https://clerk.house.gov/floor/{legislative_day}.xml?at={hour}",),
    ParserRules(
        "1.0", "xml", items=".//floor_action|.//legislative_day_finished",
        fields={"id": "@unique-id|after {../legislative_day/@date}|after {../../legislative_day/@date}"
                      "|@next-legislative-day-convenes",
                "title": "action_description|action_item|=House convenes",
                "start": "@next-legislative-day-convenes|@update-date-time", "description": "action_item"},
        extra={"act_id": "@act-id"}, formats=("%Y%m%dT%H:%M", "%Y%m%dT%H:%M:%S"),
    ),
    complete=False,
)  # fmt: skip
VOTES = _house(
    "house-votes",
    ("https://clerk.house.gov/evs/{year}/roll001.xml",),
    ParserRules(
        "1.0", "house-votes", root="rollcall-vote",
        fields={"id": "{vote-metadata/congress}-{vote-metadata/session}-{vote-metadata/rollcall-num}",
                "title": "{vote-metadata/legis-num}: {vote-metadata/vote-question}|vote-metadata/vote-question",
                "start": "{vote-metadata/action-date} {vote-metadata/action-time/@time-etz}",
                "description": "vote-metadata/vote-desc"},
        extra={"roll_call": "#vote-metadata/rollcall-num", "issue": "vote-metadata/legis-num",
               "question": "vote-metadata/vote-question", "result": "vote-metadata/vote-result",
               "yes_votes": "#vote-metadata/vote-totals/totals-by-vote/yea-total",
               "no_votes": "#vote-metadata/vote-totals/totals-by-vote/nay-total"},
        formats=("%d-%b-%Y %H:%M", "%d-%b-%Y"),
    ),
    complete=False,
    every=_DAY,
)  # fmt: skip
BILLS_THIS_WEEK = _house(
    "house-bills-this-week",
    ("https://docs.house.gov/floor/Download.aspx?file=/billsthisweek/{week}/{week}.xml&day={day}",),
    ParserRules(
        "1.0", "xml", root="floorschedule", items="category/floor-item",
        fields={"id": "@id", "title": "{legis-num}: {floor-text}|floor-text", "start": "../../@week-date|@add-date",
                "description": "floor-text", "status": "@remove-date?withdrawn", "url": "files/file/@doc-url"},
        extra={"legis_num": "legis-num", "added": "@add-date"},
    ),
    complete=False,
    every=_DAY,
)  # fmt: skip


def _meetings(name: str, chamber: str, entity: str) -> EventParser:
    return EventParser(
        name,
        "Legislative",
        entity,
        versions=(
            ParserRules(
                "1.0", "json", items="committeeMeeting", details="committeeMeetings:url:updateDate",
                fields={"id": "eventId", "title": "title", "start": "date", "description": "type",
                        "status": "meetingStatus", "location": "{location.room} {location.building}"},
                extra={"committee": "committees.0.name", "committee_code": "committees.0.systemCode",
                       "meeting_type": "type", "chamber": "chamber"},
                naive="UTC", next="pagination.next",
            ),
        ),
        urls=(f"https://api.congress.gov/v3/committee-meeting/{{congress}}/{chamber}?format=json&limit=250",),
        complete=False,
    )  # fmt: skip


MEETINGS = _meetings("congress-committee-meetings", "house", "House of Representatives")
SENATE_MEETINGS = _meetings("congress-senate-committee-meetings", "senate", "Senate")

HOUSE = (
    COMMITTEE_MEETING, COMMITTEE_CALENDAR, FLOOR, FLOOR_ACTIONS, VOTES, BILLS_THIS_WEEK, MEETINGS,
    SENATE_MEETINGS,
)  # fmt: skip
