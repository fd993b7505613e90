"""What is known of an event, and of an attempt to read a source -> the documents of VotersDaily's two databases."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeGuard

from windrow.collections.events.times import read_back, spelled
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


class Said(NamedTuple):
    """What a source said of an event at a visit: its value, None where it took the event back."""

    at: datetime
    visit: int
    source: str
    value: Mapping[str, Any] | None
    aside: Mapping[str, Any]


class GoodRun(NamedTuple):
    """A run in which a source was read whole: the numbers of its first and last visits, and when it began."""

    first: int
    last: int
    at: datetime


class Completeness(NamedTuple):
    """The good runs of a source, in order, and after how many of them what is not listed has vanished; 0: never."""

    runs: Sequence[GoodRun] = ()
    after: int = 0


class EventDocument(NamedTuple):
    """An event's document, and the ids that it had before or may have had: whatever it left there is removed."""

    document: dict[str, Any]
    former: tuple[str, ...]


def event_document(uid: str, said: Sequence[Said], completeness: Completeness) -> EventDocument | None:
    """Fold what was said of an event, in the order of the visits, into its document; None where nothing is known."""
    current: dict[str, Any] | None = None
    latest = said[0] if said else None
    ids: list[str] = []
    history: list[dict[str, Any]] = []
    state = ""  # missing or withdrawn
    last_seen = None
    for number, one in enumerate(said):
        before = current
        if one.value is None:
            if current and state != WITHDRAWN:
                state = WITHDRAWN
                history.append({"at": spelled(one.at), "fields": {"status": [current["status"], WITHDRAWN]}})
            continue
        value = dict(one.value)
        if before is not None and (state or value != before):
            was = {**before, "status": state} if state else before
            if changed := _changed(was, value):
                history.append({"at": spelled(one.at), "fields": changed})
        if value != before:
            current, latest = value, one
        state, last_seen = "", one
        if (name := id_of(value)) not in ids:
            ids.append(name)
        following = said[number + 1].visit if number + 1 < len(said) else None
        if (gone := _vanished(one, value, following, completeness)) is not None:
            state = MISSING
            history.append({"at": spelled(gone), "fields": {"status": [value["status"], MISSING]}})
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
    former = tuple(one for one in ids if one != name)
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
    names = [name for name in {**before, **after} if name not in _UNTOLD and before.get(name) != after.get(name)]
    return {name: [_short(before.get(name)), _short(after.get(name))] for name in names}


def _short(value: Any) -> Any:
    return value[:_SHOWN] if isinstance(value, str) else value


def _vanished(
    one: Said, value: Mapping[str, Any], following: int | None, completeness: Completeness
) -> datetime | None:
    """Return when an event that was still to come was missing from so many good runs; None where it was not."""
    runs, after = completeness
    if not after:
        return None
    number = bisect_right(runs, one.visit, key=lambda run: run.first) + after - 1
    if number >= len(runs) or (following is not None and following <= runs[number].last):
        return None
    return runs[number].at if ends(value) > runs[number].at else None


def ends(value: Mapping[str, Any]) -> datetime:
    """Return when an event is over; of one that has only a day, the end of that day."""
    end = read_back(value["end_datetime"] or value["datetime"])
    return end + timedelta(days=1) if value["all_day"] else end


class ReadAttempt(NamedTuple):
    """One attempt to read a document of a source: what was asked, what came, and what was made of it.

    `result` is the word for what went wrong, empty where nothing did; `message` says more. `facts` are ad hoc keys.
    """

    at: datetime
    parser_name: str
    parser_version: str
    seconds: float
    url: str
    text: str
    inserted: int
    result: str
    message: str
    facts: Mapping[str, Any]


def log_document(attempt: ReadAttempt, ordinal: int = 1) -> dict[str, Any]:
    """Make the log document of an attempt; a second one of the same id has an ordinal at its end."""
    result = attempt.result or SUCCESS
    at = spelled(attempt.at)
    name = f"{at} - {attempt.parser_name} - {result}" + (f" - {ordinal}" if ordinal > 1 else "")
    made: dict[str, Any] = {
        "_id": name,
        "parser_name": attempt.parser_name,
        "parser_version": attempt.parser_version,
        "parser_runtime": float(round(attempt.seconds, 3)),
        "source_url": attempt.url,
        "source_text": attempt.text,
        "access_datetime": at,
        "insert_count": attempt.inserted,
        "result": result,
    }
    if attempt.result:
        made["traceback"] = f"{attempt.result}: {attempt.message or 'no more is known'}\n  at {attempt.url}"
    return made | {key: value for key, value in attempt.facts.items() if key not in made}
