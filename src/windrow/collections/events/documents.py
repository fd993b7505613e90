"""Make the documents of VotersDaily's two databases: of the versions of an event, and of a parser's run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeGuard

from windrow.collections.events.readers.by_fields import json_to_text
from windrow.collections.events.times import day_after, format_utc, parse_utc
from windrow.digest import digest

KEYS = (
    "datetime", "title", "description", "end_datetime", "branch", "entity", "source_url", "source_text",
    "access_datetime", "parser_name", "parser_version", "event_url", "source_timezone",
)  # fmt: skip
"""The keys of an event that the standard defines."""

NULLABLE = ("description", "end_datetime", "event_url")
LOG_KEYS = (
    "parser_name", "parser_version", "parser_runtime", "source_url", "source_text", "access_datetime", "insert_count",
    "result", "traceback",
)  # fmt: skip
SUCCESS = "success"
MISSING, WITHDRAWN = "missing", "withdrawn"
"""Status of an event that its source no longer lists, and of one that its source withdrew."""

_NOT_COMPARED = frozenset({"local_datetime"})  # it changes with `datetime`
_WINDROW_KEYS = frozenset({"uid", "all_day", "status", "revision", "first_seen", "changed"})
_MIDNIGHT = "T00:00:00Z"
_MAX_CHANGES = 100  # in a document's history
_MAX_CHANGED_TEXT = 500  # characters
_MAX_REQUESTS = 100  # in a run's log


class EventVersion(NamedTuple):
    """An event as a source had it at an attempt; `value` is None if the source withdrew it.

    `aside` has what is kept beside the value and is not compared, such as the text it was read from.
    """

    at: datetime
    source: str
    value: Mapping[str, Any] | None
    aside: Mapping[str, Any]


class EventDocument(NamedTuple):
    """An event's document, and the ids under which earlier documents of it are to be removed."""

    document: dict[str, Any]
    previous_ids: tuple[str, ...]


def event_document(uid: str, versions: Sequence[EventVersion]) -> EventDocument | None:
    """Return an event's document from its versions, in the order of the attempts; None if none of them has a value.

    Its status is withdrawn if its source withdrew it, and missing if it was left out of a listing that should have it.
    """
    current: dict[str, Any] | None = None
    latest = versions[0] if versions else None
    ids: list[str] = []
    history: list[dict[str, Any]] = []
    state = ""  # missing or withdrawn
    last_seen = None
    for version in versions:
        previous = {**current, "status": state} if current and state else current
        if version.value is None or version.value["status"] == MISSING:
            new_state = MISSING if version.value else WITHDRAWN
            if previous and current and state != new_state:
                state = new_state
                history.append({"at": format_utc(version.at), "fields": {"status": [previous["status"], new_state]}})
            continue
        content = dict(version.value)
        if previous is not None and (changed := _changed(previous, content)):
            history.append({"at": format_utc(version.at), "fields": changed})
        if content != current:
            current, latest = content, version
        state, last_seen = "", version
        if (name := id_of(content)) not in ids:
            ids.append(name)
    if current is None or latest is None or last_seen is None:
        return None
    first = next(filter(lambda version: version.value is not None, versions))
    return _document(uid, current, ids, history, _Seen(first, latest, last_seen, state))


class _Seen(NamedTuple):
    """Versions of an event: first, first with the current content, and last; `state` is empty if it is listed."""

    first: EventVersion
    latest: EventVersion
    last: EventVersion
    state: str


def _document(
    uid: str, content: Mapping[str, Any], ids: list[str], history: list[dict[str, Any]], seen: _Seen
) -> EventDocument:
    name, latest = id_of(content), seen.latest
    fields = {**content, **latest.aside, "access_datetime": format_utc(latest.at)}
    document: dict[str, Any] = {"_id": name, **{key: fields[key] for key in KEYS}}
    document |= {key: field for key, field in fields.items() if key not in document}
    document["uid"] = uid
    document["source"] = latest.source
    document["revision"] = len(history)
    document["first_seen"] = format_utc(seen.first.at)
    document["changed"] = history[-1]["at"] if history else document["first_seen"]
    previous_ids = tuple(id_ for id_ in ids if id_ != name)
    if previous_ids:
        document["previous_ids"] = list(previous_ids)
    if history:
        document["history"] = history[-_MAX_CHANGES:]
    if seen.state:
        document["status"] = seen.state
        document["last_seen"] = format_utc(seen.last.at)
    return EventDocument(document, previous_ids)


def complete_document(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Add the keys of windrow to a document that another program wrote; None if its start is not a valid time.

    A time of 00:00:00 means that the event has no time of day, as in VotersDaily's standard.
    """
    if document.keys() >= _WINDROW_KEYS:
        return document
    start, end = document.get("datetime"), document.get("end_datetime")
    if not _is_moment(start):
        return None
    fields: dict[str, Any] = {name: text if isinstance(text := document.get(name), str) else "" for name in KEYS}
    fields |= dict.fromkeys(name for name in NULLABLE if document.get(name) is None)
    fields["end_datetime"] = end = end if _is_moment(end) else None
    seen = fields["access_datetime"] if _is_moment(fields["access_datetime"]) else start
    added = {
        "uid": str(document["_id"]), "all_day": all(time.endswith(_MIDNIGHT) for time in (start, end) if time),
        "status": "scheduled", "revision": 0, "first_seen": seen, "changed": seen,
    }  # fmt: skip
    return {**document, **fields, **added}


def _is_moment(text: Any) -> TypeGuard[str]:
    """Return whether a value is a time as the standard writes it: YYYY-MM-DDTHH:MM:SSZ."""
    if not isinstance(text, str) or len(text) != len("2009-08-19T13:43:21Z"):
        return False
    try:
        return format_utc(parse_utc(text)) == text
    except ValueError:
        return False


def id_of(event: Mapping[str, Any]) -> str:
    """Return the id of an event's document: DATETIME - PARSER - KEY.

    >>> id_of({"datetime": "2009-12-13T00:00:00Z", "parser_name": "House Schedule", "unique_key": "Recess"})
    '2009-12-13T00:00:00Z - House Schedule - Recess'
    """
    return f"{event['datetime']} - {event['parser_name']} - {event['unique_key']}"


def distinct_id(name: str, uid: str) -> str:
    """Return the id for an event's document if another event's document already has the id `name`."""
    return f"{name} - {digest(uid.encode()).partition(':')[2][:8]}"


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, list[Any]]:
    names = [name for name in {**old, **new} if name not in _NOT_COMPARED and not _same(old.get(name), new.get(name))]
    return {name: [_cut_text(old.get(name)), _cut_text(new.get(name))] for name in names}


def _same(old: Any, new: Any) -> bool:
    """Return whether two values are equal; a number equals the text that an earlier version of a parser made of it."""
    if isinstance(old, str) and isinstance(new, int | float):
        return old == json_to_text(new)
    return bool(old == new)


def _cut_text(content: Any) -> Any:
    return content[:_MAX_CHANGED_TEXT] if isinstance(content, str) else content


def end_of_event(event: Mapping[str, Any]) -> datetime:
    """Return an event's end, or its start if it has no end; if it lasts whole days, the day after the last one."""
    end = parse_utc(event["end_datetime"] or event["datetime"])
    return day_after(end) if event["all_day"] else end


class AskedAddress(NamedTuple):
    """One address that a parser's run requested, and the outcome.

    `result` is the name of the error, or empty for a success, and `message` its text. `seconds` is how long the
    response and reading it took. `facts` may have `http_status`, `bytes` and `digest`.
    """

    at: datetime
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
    """One run of a parser: the addresses that it requested, first that of its source; `text` is the first response."""

    parser_name: str
    parser_version: str
    source: str
    session: int
    attempt: int
    asked: Sequence[AskedAddress]
    text: str = ""


def log_document(run: ParserRun, ordinal: int = 1) -> dict[str, Any]:
    """Return the log document of a parser's run; an `ordinal` above 1 is appended to its id."""
    first = run.asked[0]
    failed = next((address for address in run.asked if address.result), None)
    result_name, at = failed.result if failed else SUCCESS, format_utc(first.at)
    name = f"{at} - {run.parser_name} - {result_name}" + (f" - {ordinal}" if ordinal > 1 else "")
    log: dict[str, Any] = {
        "_id": name,
        "parser_name": run.parser_name,
        "parser_version": run.parser_version,
        "parser_runtime": float(round(sum(address.seconds for address in run.asked), 3)),
        "source_url": first.url,
        "source_text": run.text,
        "access_datetime": at,
        "insert_count": sum(address.inserted for address in run.asked),
        "result": result_name,
    }
    if failed:
        log["traceback"] = f"{result_name}: {failed.message or 'no further details'}\n  at {failed.url}"
    drifts = [drift for address in run.asked for drift in address.drifts]
    log |= {"source": run.source, "session": run.session, "attempt": run.attempt, "outcome": _outcome(run, drifts)}
    log |= {"events": sum(address.events for address in run.asked)}
    log |= {"rejected": sum(address.rejected for address in run.asked)}
    log |= ({"drift": drifts} if drifts else {}) | dict(first.facts)
    if len(run.asked) > 1:
        log["request_count"] = len(run.asked)
        log["requests"] = [_request(address) for address in run.asked[:_MAX_REQUESTS]]
    return log


def _outcome(run: ParserRun, drifts: Sequence[str]) -> str:
    failed = sum(bool(address.result) for address in run.asked)
    if failed == len(run.asked):
        return "failed"
    if drifts and not failed:
        return "drift"
    if failed or any(address.rejected for address in run.asked):
        return "partial"
    return "read" if any(address.events for address in run.asked) else "empty"


def _request(address: AskedAddress) -> dict[str, Any]:
    """Return the log's entry for one of several requests; its response is in the archive, under its digest."""
    request = {"source_url": address.url, "access_datetime": format_utc(address.at), "events": address.events}
    return request | {"insert_count": address.inserted, "result": address.result or SUCCESS, **address.facts}
