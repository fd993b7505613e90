"""What is known of an event, and of a run of a parser -> the documents of VotersDaily's two databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeGuard

from windrow.collections.events.readers.by_fields import shown
from windrow.collections.events.times import day_after, read_back, spelled
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
"""States of an event that its source does not list any more, and that it took back."""

_UNTOLD = frozenset({"local_datetime"})  # says with `datetime` what that says alone
_ADDED = frozenset({"uid", "all_day", "status", "revision", "first_seen", "changed"})
_MIDNIGHT = "T00:00:00Z"
_HISTORY = 100
_SHOWN = 500
_REQUESTS = 100
"""Requests of a run of which its log tells one by one."""


class Said(NamedTuple):
    """What a source said of an event at a visit: its value, None where it took the event back."""

    at: datetime
    source: str
    value: Mapping[str, Any] | None
    aside: Mapping[str, Any]


class EventDocument(NamedTuple):
    """An event's document, and the ids that it had before or may have had: whatever it left there is removed."""

    document: dict[str, Any]
    former: tuple[str, ...]


def event_document(uid: str, said: Sequence[Said]) -> EventDocument | None:
    """Fold what was said of an event, in the order of the visits, into its document; None where nothing is known.

    It was withdrawn where its source said so, and is missing where a listing that should have it did not.
    """
    current: dict[str, Any] | None = None
    latest = said[0] if said else None
    ids: list[str] = []
    history: list[dict[str, Any]] = []
    state = ""  # missing or withdrawn
    last_seen = None
    for one in said:
        before = {**current, "status": state} if current and state else current
        if one.value is None or one.value["status"] == MISSING:
            left = MISSING if one.value else WITHDRAWN
            if before and current and state != left:
                state = left
                history.append({"at": spelled(one.at), "fields": {"status": [before["status"], left]}})
            continue
        value = dict(one.value)
        if before is not None and (changed := _changed(before, value)):
            history.append({"at": spelled(one.at), "fields": changed})
        if value != current:
            current, latest = value, one
        state, last_seen = "", one
        if (name := id_of(value)) not in ids:
            ids.append(name)
    if current is None or latest is None or last_seen is None:
        return None
    first = next(one for one in said if one.value is not None)
    return _document(uid, current, ids, history, _Seen(first, latest, last_seen, state))


class _Seen(NamedTuple):
    """When an event was first seen, when as it is now, and when last; `state` is empty while it is listed."""

    first: Said
    latest: Said
    last: Said
    state: str


def _document(
    uid: str, value: Mapping[str, Any], ids: list[str], history: list[dict[str, Any]], seen: _Seen
) -> EventDocument:
    name, latest = id_of(value), seen.latest
    told = {**value, **latest.aside, "access_datetime": spelled(latest.at)}
    made: dict[str, Any] = {"_id": name, **{key: told[key] for key in KEYS}}
    made |= {key: one for key, one in told.items() if key not in made}
    made["uid"] = uid
    made["source"] = latest.source
    made["revision"] = len(history)
    made["first_seen"] = spelled(seen.first.at)
    made["changed"] = history[-1]["at"] if history else made["first_seen"]
    former = tuple(id_ for id_ in ids if id_ != name)
    if former:
        made["previous_ids"] = list(former)
    if history:
        made["history"] = history[-_HISTORY:]
    if seen.state:
        made["status"] = seen.state
        made["last_seen"] = spelled(seen.last.at)
    return EventDocument(made, former)


def completed(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return an event's document with what windrow adds, where another program wrote it; None without a start.

    One without a time of day is told by its zeros, as the standard has it.
    """
    if document.keys() >= _ADDED:
        return document
    start, end = document.get("datetime"), document.get("end_datetime")
    if not _is_moment(start):
        return None
    told: dict[str, Any] = {name: one if isinstance(one := document.get(name), str) else "" for name in KEYS}
    told |= dict.fromkeys(name for name in NULLABLE if document.get(name) is None)
    told["end_datetime"] = end = end if _is_moment(end) else None
    seen = told["access_datetime"] if _is_moment(told["access_datetime"]) else start
    added = {
        "uid": str(document["_id"]), "all_day": all(one.endswith(_MIDNIGHT) for one in (start, end) if one),
        "status": "scheduled", "revision": 0, "first_seen": seen, "changed": seen,
    }  # fmt: skip
    return {**document, **told, **added}


def _is_moment(text: Any) -> TypeGuard[str]:
    """Tell whether this is a time as the standard spells it."""
    if not isinstance(text, str) or len(text) != len("2009-08-19T13:43:21Z"):
        return False
    try:
        return spelled(read_back(text)) == text
    except ValueError:
        return False


def id_of(value: Mapping[str, Any]) -> str:
    """Return an event's id as the standard forms it.

    >>> id_of({"datetime": "2009-12-13T00:00:00Z", "parser_name": "House Schedule", "unique_key": "Recess"})
    '2009-12-13T00:00:00Z - House Schedule - Recess'
    """
    return f"{value['datetime']} - {value['parser_name']} - {value['unique_key']}"


def distinct(name: str, uid: str) -> str:
    """Return the id that an event has where another one has the id `name`."""
    return f"{name} - {digest(uid.encode()).partition(':')[2][:8]}"


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[Any]]:
    names = [
        name for name in {**before, **after} if name not in _UNTOLD and not _same(before.get(name), after.get(name))
    ]
    return {name: [_short(before.get(name)), _short(after.get(name))] for name in names}


def _same(before: Any, after: Any) -> bool:
    """Tell whether two values are the same; so are a number and the text that an earlier windrow made of it."""
    if isinstance(before, str) and isinstance(after, int | float):
        return before == shown(after)
    return bool(before == after)


def _short(value: Any) -> Any:
    return value[:_SHOWN] if isinstance(value, str) else value


def ends(value: Mapping[str, Any]) -> datetime:
    """Return when an event is over; of one that has only a day, the end of that day."""
    end = read_back(value["end_datetime"] or value["datetime"])
    return day_after(end) if value["all_day"] else end


class AskedAddress(NamedTuple):
    """One address that a run of a parser asked, and what came of it.

    `result` is the word for what went wrong, empty where nothing did; `message` says more. `seconds` is how long the
    answer and reading it took. `facts` are what HTTP and the archive say: `http_status`, `bytes` and `digest`.
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
    """One run of a parser: the addresses that it asked, first that of its source, from which the `text` came."""

    parser_name: str
    parser_version: str
    source: str
    session: int
    visit: int
    asked: Sequence[AskedAddress]
    text: str = ""


def log_document(run: ParserRun, ordinal: int = 1) -> dict[str, Any]:
    """Make the log document of a parser's run; a second one of the same id has an ordinal at its end."""
    first = run.asked[0]
    failed = next((one for one in run.asked if one.result), None)
    result, at = failed.result if failed else SUCCESS, spelled(first.at)
    name = f"{at} - {run.parser_name} - {result}" + (f" - {ordinal}" if ordinal > 1 else "")
    made: dict[str, Any] = {
        "_id": name,
        "parser_name": run.parser_name,
        "parser_version": run.parser_version,
        "parser_runtime": float(round(sum(one.seconds for one in run.asked), 3)),
        "source_url": first.url,
        "source_text": run.text,
        "access_datetime": at,
        "insert_count": sum(one.inserted for one in run.asked),
        "result": result,
    }
    if failed:
        made["traceback"] = f"{result}: {failed.message or 'no more is known'}\n  at {failed.url}"
    drifts = [drift for one in run.asked for drift in one.drifts]
    made |= {"source": run.source, "session": run.session, "visit": run.visit, "outcome": _outcome(run, drifts)}
    made |= {"events": sum(one.events for one in run.asked), "rejected": sum(one.rejected for one in run.asked)}
    made |= ({"drift": drifts} if drifts else {}) | dict(first.facts)
    if len(run.asked) > 1:
        made["request_count"] = len(run.asked)
        made["requests"] = [_request(one) for one in run.asked[:_REQUESTS]]
    return made


def _outcome(run: ParserRun, drifts: Sequence[str]) -> str:
    failed = sum(bool(one.result) for one in run.asked)
    if failed == len(run.asked):
        return "failed"
    if drifts and not failed:
        return "drift"
    if failed or any(one.rejected for one in run.asked):
        return "partial"
    return "read" if any(one.events for one in run.asked) else "empty"


def _request(one: AskedAddress) -> dict[str, Any]:
    """Tell of one of several requests; the text of those after the first is in the archive, by its digest."""
    told = {"source_url": one.url, "access_datetime": spelled(one.at), "events": one.events}
    return told | {"insert_count": one.inserted, "result": one.result or SUCCESS, **one.facts}
