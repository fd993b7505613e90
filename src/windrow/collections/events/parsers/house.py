"""The House of Representatives, and Congress's API: committee meetings, the floor, votes, bills of this week."""

from __future__ import annotations

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


COMMITTEE_MEETING = _house(
    "house-committee-meeting",
    (),
    ParserRules(
        "1.0", "xml", root="committee-meeting",
        fields={"id": "@meeting-id", "title": "meeting-details/meeting-title",
                "start": "{meeting-details/meeting-date/calendar-date} {meeting-details/meeting-date/start-time}",
                "description": "meeting-details/committees/committee-name", "status": "current-status",
                "location": "{meeting-details/meeting-location/capitol-complex/room} "
                            "{meeting-details/meeting-location/capitol-complex/building}"},
        extra={"committee_code": "meeting-details/committees/committee-name/@id", "meeting_type": "@meeting-type",
               "updated": "@update-date"},
        statuses=_MEETING,
    ),
    complete=False,
)  # fmt: skip
FLOOR = _house(
    "house-floor",
    ("https://clerk.house.gov/Home/Feed",),
    ParserRules("1.0", "feed", fields={"id": "pubDate", "title": "description", "description": "title"}),
    complete=False,
    every=1800.0,
)
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
MEETINGS = EventParser(
    "congress-committee-meetings",
    "Legislative",
    "House of Representatives",
    versions=(
        ParserRules(
            "1.0", "json", items="committeeMeeting", details="committeeMeetings:url:updateDate",
            fields={"id": "eventId", "title": "title", "start": "date", "description": "type",
                    "status": "meetingStatus", "location": "{location.room} {location.building}"},
            extra={"committee": "committees.0.name",
                   "committee_code": "committees.0.systemCode", "meeting_type": "type", "chamber": "chamber"},
            naive="UTC",
        ),
    ),
    urls=("https://api.congress.gov/v3/committee-meeting/{congress}/house?format=json&limit=250",),
    complete=False,
)  # fmt: skip

HOUSE = (COMMITTEE_MEETING, FLOOR, VOTES, BILLS_THIS_WEEK, MEETINGS)
