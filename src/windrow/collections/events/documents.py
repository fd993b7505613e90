"""Make the documents of VotersDaily's two databases.

The documents of events are made from the versions of the events, and the documents of the log from runs of parsers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeGuard

from windrow.collections.events.readers.expressions import json_to_text
from windrow.collections.events.times import day_after, format_utc, parse_utc, zone_of
from windrow.digest import digest
from windrow.formats.text import cut_around_difference
from windrow.formats.url import has_web_scheme

STANDARD_KEYS = (
    "datetime", "title", "description", "end_datetime", "branch", "entity", "source_url", "source_text",
    "access_datetime", "parser_name", "parser_version", "event_url", "source_timezone",
)  # fmt: skip
"""The keys of an event that the standard defines."""

NULLABLE_KEYS = ("description", "end_datetime", "event_url")
"""The standard keys of an event that may be null."""

SUCCESS = "success"
LEFT_OUT_KEY = "source_text_left_out"
"""The key for the length, in characters, of a `source_text` that the store did not accept."""

MISSING, WITHDRAWN = "missing", "withdrawn"
"""The statuses of an event that its source no longer lists, and of an event that its source withdrew."""

_NOT_COMPARED = frozenset({"local_datetime"})  # it changes with `datetime`
_WINDROW_KEYS = frozenset({"uid", "all_day", "status", "revision", "first_seen", "changed"})
_MIDNIGHT = "T00:00:00Z"
_MAX_HISTORY = 100  # changes in a document
_MAX_CHANGED_CHARACTERS = 500  # of an old or new value in the history
_MAX_LOGGED_REQUESTS = 100  # in a run's log


class EventVersion(NamedTuple):
    """A version of an event; `value` is None if the source withdrew the event.

    The value was read from a response, or it has the status MISSING because listings no longer had the event. `source`
    is the name of the source. `aside` has keys that are not compared between versions, such as the text from
    which the event was read.
    """

    fetched_at: datetime
    source: str
    value: Mapping[str, Any] | None
    aside: Mapping[str, Any]


class EventDocument(NamedTuple):
    """The document of an event, and the ids of its earlier documents, which are to be removed."""

    document: dict[str, Any]
    previous_ids: tuple[str, ...]


def event_document(uid: str, versions: Sequence[EventVersion]) -> EventDocument | None:
    """Return the document of an event, made from its `versions`; None if the event was never listed.

    The versions are in the order of their attempts. The status is `withdrawn` if the last version has no value, and
    `missing` if the last version has that status.
    """
    current: dict[str, Any] | None = None
    first_current = versions[0] if versions else None  # the first version with the current content
    ids: list[str] = []
    history: list[dict[str, Any]] = []
    lost_status = ""  # missing or withdrawn; empty while the source lists the event
    last_listed = None
    for version in versions:
        previous = {**current, "status": lost_status} if current and lost_status else current
        if version.value is None or version.value["status"] == MISSING:
            new_status = MISSING if version.value else WITHDRAWN
            if previous and current and lost_status != new_status:
                lost_status = new_status
                fields = {"status": [previous["status"], new_status]}
                history.append({"at": format_utc(version.fetched_at), "fields": fields})
            continue
        content = dict(version.value)
        if previous is not None and (changed := _changed_fields(previous, content)):
            history.append({"at": format_utc(version.fetched_at), "fields": changed})
        if content != current:
            current, first_current = content, version
        lost_status, last_listed = "", version
        if (id_ := id_of(content)) not in ids:
            ids.append(id_)
    if current is None or first_current is None or last_listed is None:
        return None
    first = next(filter(lambda version: version.value is not None, versions))
    return _build_document(uid, current, ids, history, _Sightings(first, first_current, last_listed, lost_status))


class _Sightings(NamedTuple):
    """The versions from which an event's document gets its dates, and the status of an event no longer listed."""

    first: EventVersion
    first_current: EventVersion  # the first one with the current content
    last_listed: EventVersion
    lost_status: str  # missing, withdrawn, or empty if the source still lists the event


def _build_document(
    uid: str, content: Mapping[str, Any], ids: list[str], history: list[dict[str, Any]], sightings: _Sightings
) -> EventDocument:
    """Return the document of an event; `ids` are the document ids of all its versions."""
    current_id, current = id_of(content), sightings.first_current
    fields = {**content, **current.aside, "access_datetime": format_utc(current.fetched_at)}
    document: dict[str, Any] = {"_id": current_id, **{key: fields[key] for key in STANDARD_KEYS}}
    document |= {key: field for key, field in fields.items() if key not in document}
    document["uid"] = uid
    document["source"] = current.source
    document["revision"] = len(history)
    document["first_seen"] = format_utc(sightings.first.fetched_at)
    document["changed"] = history[-1]["at"] if history else document["first_seen"]
    previous_ids = tuple(id_ for id_ in ids if id_ != current_id)
    if previous_ids:
        document["previous_ids"] = list(previous_ids)
    if history:
        document["history"] = history[-_MAX_HISTORY:]
    if len(history) > _MAX_HISTORY:
        document["history_left_out"] = len(history) - _MAX_HISTORY
    if sightings.lost_status:
        document["status"] = sightings.lost_status
        document["last_seen"] = format_utc(sightings.last_listed.fetched_at)
    return EventDocument(document, previous_ids)


def complete_document(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a document with the keys that exports need; None if some are missing and the start is not valid.

    A document with all _WINDROW_KEYS is returned unchanged. Otherwise, another program wrote it: these keys and missing
    standard keys are added, and standard values that are not valid become empty or null. An event of another program
    that starts and ends at 00:00:00 lasts whole days, as VotersDaily's standard defines.
    """
    if document.keys() >= _WINDROW_KEYS:
        return document
    start, end = document.get("datetime"), document.get("end_datetime")
    if not _is_standard_time(start):
        return None
    texts = {name: document.get(name) for name in STANDARD_KEYS}
    fields: dict[str, Any] = {name: text if isinstance(text, str) else "" for name, text in texts.items()}
    fields |= dict.fromkeys(name for name in NULLABLE_KEYS if document.get(name) is None)
    fields["end_datetime"] = end = end if _is_standard_time(end) else None
    fetched_at = fields["access_datetime"] if _is_standard_time(fields["access_datetime"]) else start
    added_keys = {
        "uid": str(document["_id"]), "all_day": all(time.endswith(_MIDNIGHT) for time in (start, end) if time),
        "status": "scheduled", "revision": 0, "first_seen": fetched_at, "changed": fetched_at,
    }  # fmt: skip
    return {**document, **fields, **added_keys}


def _is_standard_time(text: Any) -> TypeGuard[str]:
    if not isinstance(text, str) or len(text) != len("2009-08-19T13:43:21Z"):
        return False
    try:
        return format_utc(parse_utc(text)) == text
    except ValueError:
        return False


def web_address(url: Any) -> str:
    """Return an http or https address unchanged, and an empty text for any other value, such as `javascript:x`.

    >>> web_address("https://a.example/"), web_address("javascript:alert(1)"), web_address(None)
    ('https://a.example/', '', '')
    """
    return url if isinstance(url, str) and has_web_scheme(url) else ""


_CONFERENCE_ADDRESS = re.compile(r"(?:https?|tel|sips?|xmpp):\S+", re.IGNORECASE)


def conference_address(url: Any) -> str:
    """Return an address by which one may attend an event unchanged, also a telephone number; "" for any other value.

    >>> conference_address("tel:+1-412-555-0123"), conference_address("javascript:x")
    ('tel:+1-412-555-0123', '')
    """
    return url if isinstance(url, str) and _CONFERENCE_ADDRESS.fullmatch(url) else ""


def without_source_text(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with the length of `source_text` in place of the text, for a store that refused its size."""
    return {**document, "source_text": "", LEFT_OUT_KEY: len(document["source_text"])}


def is_stored(stored: Mapping[str, Any] | None, document: Mapping[str, Any]) -> bool:
    """Return whether `stored` has the content of `document`; `stored` is None if the store has no such document."""
    return stored is not None and not differing_keys(stored, document)


def differing_keys(stored: Mapping[str, Any], document: Mapping[str, Any]) -> set[str]:
    """Return the keys in which two documents differ, except `_rev` and a `source_text` that the store refused."""
    expected = without_source_text(document) if LEFT_OUT_KEY in stored else document
    return {name for name in {*stored, *expected} - {"_rev"} if name not in stored or name not in expected
            or stored[name] != expected[name]}  # fmt: skip


def id_of(event: Mapping[str, Any]) -> str:
    """Return the id of an event's document: DATETIME - PARSER - KEY.

    >>> id_of({"datetime": "2009-12-13T00:00:00Z", "parser_name": "House Schedule", "unique_key": "Recess"})
    '2009-12-13T00:00:00Z - House Schedule - Recess'
    """
    return f"{event['datetime']} - {event['parser_name']} - {event['unique_key']}"


def distinct_id(plain_id: str, uid: str) -> str:
    """Return the id that an event's document gets if another event's document has its `plain_id` (see `id_of`)."""
    return f"{plain_id} - {digest(uid.encode()).partition(':')[2][:8]}"


def _changed_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, list[Any]]:
    compared = [name for name in {**old, **new} if name not in _NOT_COMPARED]
    names = [name for name in compared if not _are_equal(old.get(name), new.get(name))]
    return {name: _cut_texts(old.get(name), new.get(name)) for name in names}


def _are_equal(old: Any, new: Any) -> bool:
    """Return whether two values are equal. Other JSON equals its text, which earlier versions of parsers stored."""
    if isinstance(old, str) and isinstance(new, int | float | list | dict):
        return old == json_to_text(new)
    return bool(old == new)


def _cut_texts(old: Any, new: Any) -> list[Any]:
    """Return two values, with texts cut to their first characters, or to those around a later first difference."""
    cut = [value[:_MAX_CHANGED_CHARACTERS] if isinstance(value, str) else value for value in (old, new)]
    is_shown = not isinstance(old, str) or not isinstance(new, str) or cut[0] != cut[1]
    return cut if is_shown else list(cut_around_difference(old, new))


def end_of_event(event: Mapping[str, Any]) -> datetime:
    """Return the end of an event, or its start if it has no end; for an all-day event, the midnight after it."""
    end = parse_utc(event["end_datetime"] or event["datetime"])
    return day_after(end) if event["all_day"] else end


def event_days(event: Mapping[str, Any]) -> list[str]:
    """Return the local times of an event's start and last second; for an all-day event, its first and its last day.

    Return only the start, or the first day, if the event has no end. Return only the start of an event with a time of
    day if it does not end after its start, or if its zone is not known.

    >>> event_days({"datetime": "2026-12-01T01:00:00Z", "end_datetime": "2026-12-01T02:00:00Z", "all_day": False,
    ...             "local_datetime": "2026-11-30T20:00:00", "source_timezone": "America/New_York"})
    ['2026-11-30T20:00:00', '2026-11-30T20:59:59']
    """
    start, end = event.get("local_datetime") or event["datetime"], event.get("end_datetime")
    if event["all_day"]:
        return [start[:10], *([end[:10]] if end else [])]
    zone = zone_of(event["source_timezone"])
    if not end or end <= event["datetime"] or zone is None:
        return [start]
    last = parse_utc(end).astimezone(zone) - timedelta(seconds=1)
    return [start, last.replace(tzinfo=None).isoformat()]


class RequestedAddress(NamedTuple):
    """An address that a run of a parser requested, and the outcome.

    `seconds` is the time that requesting and reading took. `events`, `inserted` and `rejected` are the numbers of
    events that were read, that were new, and that could not be read. `result` is the name of the error, and `message`
    its text; both are empty after a success. `drifts` has a message for each drift. `facts` may have `http_status`,
    `bytes` and `digest` of the response.
    """

    requested_at: datetime
    url: str
    seconds: float = 0.0
    events: int = 0
    inserted: int = 0
    rejected: int = 0
    result: str = ""
    message: str = ""
    drifts: tuple[str, ...] = ()
    facts: Mapping[str, Any] = {}


class ParserRun(NamedTuple):
    """A run of a parser: the requests of one session for one source.

    `attempt` is the number of its first attempt, or 0 if it has none. `text` is the text of its first response.
    """

    parser_name: str
    parser_version: str
    source: str
    session: int
    attempt: int
    addresses: Sequence[RequestedAddress]
    text: str = ""


def log_document(run: ParserRun, ordinal: int = 1) -> dict[str, Any]:
    """Return the log's document for a run. An `ordinal` above 1 is appended to its id, to make the id unique."""
    first = run.addresses[0]
    failed = next((address for address in run.addresses if address.result), None)
    result_name, began = failed.result if failed else SUCCESS, format_utc(first.requested_at)
    document_id = f"{began} - {run.parser_name} - {result_name}" + (f" - {ordinal}" if ordinal > 1 else "")
    log: dict[str, Any] = {
        "_id": document_id,
        "parser_name": run.parser_name,
        "parser_version": run.parser_version,
        "parser_runtime": float(round(sum(address.seconds for address in run.addresses), 3)),
        "source_url": first.url,
        "source_text": run.text,
        "access_datetime": began,
        "insert_count": sum(address.inserted for address in run.addresses),
        "result": result_name,
    }
    if failed:
        log["traceback"] = f"{result_name}: {failed.message or 'no further details'}\n  at {failed.url}"
    drifts = [drift for address in run.addresses for drift in address.drifts]
    log |= {"source": run.source, "session": run.session, "attempt": run.attempt}
    log |= {"outcome": _outcome_of_run(run, drifts), "events": sum(address.events for address in run.addresses)}
    log |= {"rejected": sum(address.rejected for address in run.addresses)}
    log |= ({"drift": drifts} if drifts else {}) | dict(first.facts)
    if len(run.addresses) > 1:
        log["request_count"] = len(run.addresses)
        log["requests"] = [_request_entry(address) for address in run.addresses[:_MAX_LOGGED_REQUESTS]]
    return log


def _outcome_of_run(run: ParserRun, drifts: Sequence[str]) -> str:
    failed_count = sum(bool(address.result) for address in run.addresses)
    if failed_count == len(run.addresses):
        return "failed"
    if drifts and not failed_count:
        return "drift"
    if failed_count or any(address.rejected for address in run.addresses):
        return "partial"
    return "read" if any(address.events for address in run.addresses) else "empty"


def _request_entry(address: RequestedAddress) -> dict[str, Any]:
    """Return the log's entry for one of several requests. The response is not in the entry, but in the archive."""
    request = {"source_url": address.url, "access_datetime": format_utc(address.requested_at), "events": address.events}
    return request | {"insert_count": address.inserted, "result": address.result or SUCCESS, **address.facts}
