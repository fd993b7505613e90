"""The API of Legistar (`https://webapi.legistar.com/v1/CLIENT/events`): a list of meetings, in pages of a thousand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.collections.events.readers.by_fields import event_of
from windrow.collections.events.readers.json_path import at, parsed, shown
from windrow.errors import StepError
from windrow.reasons import Reason

PAGE = 1000
"""Meetings of one answer at most."""

_FIELDS = {
    "id": "EventGuid|EventId", "title": "EventBodyName", "start": "{Day} {EventTime}", "description": "EventComment",
    "url": "EventInSiteURL", "location": "EventLocation", "status": "EventAgendaStatusName",
}  # fmt: skip
_EXTRA = {
    "legistar_id": "EventId", "agenda_url": "EventAgendaFile", "minutes_url": "EventMinutesFile",
    "agenda_status": "EventAgendaStatusName",
}  # fmt: skip


def read(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the meetings of an answer."""
    listed = parsed(given)
    if not isinstance(listed, list):
        raise StepError("Legistar answers with a list", Reason.WRONG_ROOT)
    rules = replace(given.rules, fields={**_FIELDS, **given.rules.fields}, extra={**_EXTRA, **given.rules.extra})
    given = given._replace(rules=rules)
    for number, one in enumerate(listed):
        if not isinstance(one, dict) or "EventDate" not in one:
            yield Unread(Reason.INCOMPLETE_RECORD, f"number {number + 1} of the list is no meeting")
            continue
        told = {**one, "Day": (shown(one["EventDate"]) or "")[:10]}
        text = json.dumps(one, ensure_ascii=False)
        yield event_of(given, lambda path, told=told: shown(at(told, path)), text, partial(at, told))  # type: ignore[misc]


def next_page(given: ParserInput) -> str:
    """Return the address of the next thousand, where there may be more."""
    listed = parsed(given)
    if not isinstance(listed, list) or len(listed) < PAGE:
        return ""
    parts = urlsplit(given.url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    skipped = int(told) if (told := query.get("$skip", "0")).isdigit() else 0
    query["$skip"] = str(skipped + len(listed))
    return urlunsplit(parts._replace(query=urlencode(query, safe="$,'")))
