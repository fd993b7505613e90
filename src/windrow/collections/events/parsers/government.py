"""The executive and the courts: White House, Federal Register, Federal Election Commission, Supreme Court."""

from __future__ import annotations

from dataclasses import replace

from windrow.collections.events.parser import EventParser, ParserRules

_DAY, _HOUR = 86400.0, 3600.0
_HOUSE = "https://www.whitehouse.gov"
_POST = ParserRules("1.0", "feed", root="rss", fields={"description": "description"}, markup=("description",))
"""A feed of posts: the time is that of the post, not of the signing; the key is `?p=NUMBER`."""

WHITE_HOUSE = tuple(
    EventParser(
        f"white-house-{word}", "Executive", "White House", versions=(_POST,), urls=(f"{_HOUSE}/{path}/feed/",),
        complete=False, every=_HOUR,
    )
    for word, path in (
        ("news", "news"), ("actions", "presidential-actions"), ("briefings", "briefings-statements"),
        ("fact-sheets", "fact-sheets"), ("releases", "releases"),
        ("executive-orders", "presidential-actions/executive-orders"),
        ("proclamations", "presidential-actions/proclamations"),
        ("memoranda", "presidential-actions/presidential-memoranda"),
        ("nominations", "presidential-actions/nominations-appointments"),
    )
)  # fmt: skip

_REGISTER = "https://www.federalregister.gov/api/v1"
_NEWEST = f"{_REGISTER}/documents.json?order=newest&per_page=100"
FEDERAL_REGISTER = EventParser(
    "federal-register",
    "Executive",
    "Office of the Federal Register",
    versions=(
        ParserRules(
            "1.0", "json", items="results", root="count", next="next_page_url",
            fields={"id": "document_number", "title": "title", "start": "publication_date", "description": "abstract",
                    "url": "html_url"},
            extra={"document_type": "type", "agencies": "agencies", "document_number": "document_number"},
        ),
    ),
    urls=(f"{_NEWEST}&conditions%5Btype%5D%5B%5D=PRESDOCU",),
    complete=False,
)  # fmt: skip
AGENCY_MEETINGS = replace(
    FEDERAL_REGISTER,
    name="federal-register-meetings",
    urls=(f"{_NEWEST}&conditions%5Btype%5D%5B%5D=NOTICE&conditions%5Bterm%5D=%22Sunshine+Act+Meetings%22",),
)
PUBLIC_INSPECTION = EventParser(
    "public-inspection",
    "Executive",
    "Office of the Federal Register",
    versions=(
        ParserRules(
            "1.0", "json", items="results", root="count",
            fields={"id": "document_number", "title": "title", "start": "publication_date|filed_at",
                    "description": "type", "url": "html_url", "status": "filed_at|publication_date!withdrawn"},
            extra={"document_type": "type", "filed_at": "filed_at", "agencies": "agencies"},
        ),
    ),
    urls=(f"{_REGISTER}/public-inspection-documents/current.json",),
    complete=False,
)  # fmt: skip
FEC_CALENDAR = EventParser(
    "fec-calendar",
    "Other",
    "Federal Election Commission",
    versions=(
        ParserRules(
            "1.0", "json", items="results",
            fields={"id": "event_id", "title": "summary", "start": "start_date", "end": "end_date",
                    "description": "description", "url": "url", "location": "location"},
            extra={"category": "category", "state": "state"},
        ),
    ),
    urls=("https://api.open.fec.gov/v1/calendar-dates/?per_page=100&sort=-start_date",),
    complete=False,
)  # fmt: skip

_COURT = "https://www.supremecourt.gov"
COURT_ORDERS = EventParser(
    "supreme-court-orders",
    "Judicial",
    "Supreme Court",
    versions=(
        ParserRules(
            "1.0", "html", root="#pagemaindiv, main, table", items="tr:has(a[href*='/orders/']), .column2 li:has(a)",
            fields={"id": "a@href", "title": "a", "start": "td, .date, span", "url": "a@href"},
            formats=("%m/%d/%y", "%m/%d/%Y"),
        ),
    ),
    urls=(f"{_COURT}/orders/ordersofthecourt/{{term}}",),
    complete=False,
)  # fmt: skip
COURT_OPINIONS = EventParser(
    "supreme-court-opinions",
    "Judicial",
    "Supreme Court",
    versions=(
        ParserRules(
            "1.0", "html", root="table", items="tr:has(td a)",
            fields={"id": "column:Docket", "title": "column:Name", "start": "column:Date", "url": "a@href"},
            extra={"docket": "column:Docket", "opinion": "column:R-", "justice": "column:J."},
            formats=("%m/%d/%y", "%m/%d/%Y"),
        ),
    ),
    urls=(f"{_COURT}/opinions/slipopinion/{{term}}",),
    complete=False,
)  # fmt: skip

COURT_DOCKET = EventParser(
    "supreme-court-docket",
    "Judicial",
    "Supreme Court",
    versions=(
        ParserRules(
            "1.0", "json", items="ProceedingsandOrder", root="CaseNumber",
            fields={"id": "{/CaseNumber} {Date} {Text}", "title": "Text", "start": "Date",
                    "description": "{/PetitionerTitle} v. {/RespondentTitle}|/PetitionerTitle",
                    "url": "Links.0.DocumentUrl"},
            extra={"docket": "/CaseNumber", "lower_court": "/LowerCourt"},
            formats=("%b %d %Y", "%b %d, %Y", "%B %d, %Y"),
        ),
    ),
    complete=False,
)  # fmt: skip

GOVERNMENT = (
    *WHITE_HOUSE, FEDERAL_REGISTER, AGENCY_MEETINGS, PUBLIC_INSPECTION, FEC_CALENDAR, COURT_ORDERS, COURT_OPINIONS,
    COURT_DOCKET,
)  # fmt: skip
