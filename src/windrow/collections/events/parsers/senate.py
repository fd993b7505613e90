"""The Senate: committee hearings, the floor, votes, nominations, the recess schedule and the daily press gallery.

Its files tell Eastern time without saying so. A wrong address answers 200 with HTML, so every parser names its root.
"""

from __future__ import annotations

from windrow.collections.events.parser import EventParser, ParserRules

_SITE = "https://www.senate.gov"
_DAY = 86400.0


def _senate(name: str, urls: tuple[str, ...], rules: ParserRules, **more: object) -> EventParser:
    return EventParser(name, "Legislative", "Senate", versions=(rules,), urls=urls, **more)  # type: ignore[arg-type]


HEARINGS = _senate(
    "senate-hearings",
    (f"{_SITE}/general/committee_schedules/hearings.xml",),
    ParserRules(
        "1.0", "xml", root="css_meetings_scheduled", items="meeting",
        fields={"id": "identifier", "title": "matter", "start": "date", "description": "type", "location": "room",
                "url": "video_url"},
        extra={"committee": "committee", "subcommittee": "sub_cmte", "committee_code": "cmte_code",
               "meeting_type": "type", "documents": "Documents/AssociatedDocument/@document_num"},
        formats=("%d-%b-%Y %I:%M %p", "%d-%b-%Y"),
        placeholders=("No committee hearings scheduled",),
    ),
)  # fmt: skip
FLOOR = _senate(
    "senate-floor",
    (f"{_SITE}/legislative/schedule/floor_schedule.json",),
    ParserRules(
        "1.0", "json", items="floorProceedings",
        fields={"id": "{conveneYear}-{conveneMonth}-{conveneDay}", "title": "=Senate convenes",
                "start": "{conveneYear}-{conveneMonth}-{conveneDay} {conveneHour}:{conveneMinutes}",
                "url": "convenedSessionStream"},
    ),
)  # fmt: skip
SCHEDULE = _senate(
    "senate-schedule",
    (f"{_SITE}/legislative/{{year}}_schedule.xml",),
    ParserRules(
        "1.0", "xml", root="schedule", items="dates/date",
        fields={"title": "action", "start": "beginDate", "end": "endDate", "description": "note"},
        formats=("%m/%d/%Y", "%Y-%m-%d", "%b %d, %Y"),
    ),
    every=_DAY,
)  # fmt: skip
VOTES = _senate(
    "senate-votes",
    (f"{_SITE}/legislative/LIS/roll_call_lists/vote_menu_{{congress}}_{{session}}.xml",),
    ParserRules(
        "1.0", "senate-votes", root="vote_summary", items="votes/vote",
        fields={"id": "{congress}-{session}-{vote_number}", "title": "title|question", "start": "date",
                "description": "question", "url": "{page}"},
        extra={"vote_number": "vote_number", "vote_issue": "issue", "vote_question": "question",
               "vote_result": "result", "yes_votes": "#vote_tally/yeas", "no_votes": "#vote_tally/nays"},
        formats=("%d-%b-%Y",),
    ),
    complete=False,
)  # fmt: skip
NOMINATIONS = tuple(
    _senate(
        f"senate-nominations-{word}",
        (f"{_SITE}/legislative/LIS/nominations/{file}.xml",),
        ParserRules(
            "1.0", "xml", root="Nominations", items="Nomination",
            fields={"id": "NominationDisplayNumber", "title": "ReportingDescription|Organization",
                    "start": f"{dated}|ReceivedDate", "description": "ReportingDescription"},
            extra={"nomination": "NominationDisplayNumber", "agency": "Organization", "received": "ReceivedDate"},
            formats=("%m/%d/%Y", "%Y-%m-%d"),
        ),
        complete=False,
        every=_DAY,
    )
    for word, file, dated in (
        ("confirmed", "NomCivilianConfirmed", "ReportingStageDate"),
        ("in-committee", "NomCivilianPendingCommittee", "ReceivedDate"),
        ("on-calendar", "NomCivilianPendingCalendar", "ReportingStageDate"),
        ("withdrawn", "NomWithdrawn", "ReportingStageDate"),
    )
)  # fmt: skip
PRESS_GALLERY = _senate(
    "senate-press-gallery",
    ("https://www.dailypress.senate.gov/wp-json/wp/v2/posts?per_page=50&orderby=modified",),
    ParserRules(
        "1.0", "json",
        fields={"id": "id", "title": "title.rendered", "start": "date_gmt", "description": "content.rendered",
                "url": "link"},
        extra={"modified": "modified_gmt"}, naive="UTC", markup=("title", "description"),
    ),
    complete=False,
    every=3600.0,
)  # fmt: skip

SENATE = (HEARINGS, FLOOR, SCHEDULE, VOTES, *NOMINATIONS, PRESS_GALLERY)
