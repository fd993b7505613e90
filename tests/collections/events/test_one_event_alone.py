"""One event costs itself alone, and what is not read of it is told."""

from __future__ import annotations

import json

import pytest

from tests.collections.events.reader import read
from windrow.reasons import Reason

HEAD = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n"
OTHER = "BEGIN:VEVENT\r\nUID:2\r\nSUMMARY:b\r\nDTSTART:20261210T100000\r\nEND:VEVENT\r\n"


def calendar(*lines: str) -> str:
    event = "".join(f"{line}\r\n" for line in ("BEGIN:VEVENT", "UID:1", "SUMMARY:a", *lines, "END:VEVENT"))
    return f"{HEAD}{event}{OTHER}END:VCALENDAR\r\n"


@pytest.mark.parametrize("zone", ["Europe", "US", "America/Argentina", "A" * 300, '"Europe"'])
def test_a_zone_that_cannot_be_looked_up_is_unknown(zone: str) -> None:
    events, unread = read(calendar(f"DTSTART;TZID={zone}:20261209T000000"), "icalendar")
    assert [(event.value["title"], event.value.get("time_note")) for event in events] == [
        ("a", "unknown_zone"), ("b", None),
    ]  # fmt: skip
    assert unread == []


@pytest.mark.parametrize("zone", ["Europe", "A" * 300])
def test_a_zone_of_a_calendar_that_cannot_be_looked_up_is_unknown(zone: str) -> None:
    content = calendar("DTSTART:20261209T000000").replace(HEAD, f"{HEAD}X-WR-TIMEZONE:{zone}\r\n")
    events, unread = read(content, "icalendar")
    assert [event.value.get("time_note") for event in events] == ["unknown_zone"] * 2
    assert unread == []


@pytest.mark.parametrize("error", [AssertionError, RecursionError, NotImplementedError, IndexError])
def test_whatever_a_rule_of_repetition_raises_costs_its_event_alone(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error("refused")

    monkeypatch.setattr("dateutil.rrule.rrulestr", refuse)
    events, unread = read(calendar("DTSTART:20261209T000000", "RRULE:FREQ=DAILY;COUNT=3"), "icalendar")
    assert [event.value["title"] for event in events] == ["b"]
    assert [(part.reason, part.message) for part in unread] == [(Reason.NOT_WELL_FORMED, "event 1: refused")]


@pytest.mark.parametrize(
    ("length", "status"), [(100, "cancelled"), (1_400, "scheduled")], ids=["at the beginning", "later"]
)
def test_a_cancellation_late_in_a_description_is_noted(length: int, status: str) -> None:
    agenda = "The council discusses the budget. " * (length // 34)
    lines = (f"DESCRIPTION:{agenda}This meeting has been cancelled.", "DTSTART:20261209T100000")
    events, _ = read(calendar(*lines), "icalendar")
    assert events[0].value["status"] == status
    assert events[0].value["status_note"] == "the source writes: This meeting has been cancelled"


@pytest.mark.parametrize(
    ("fields", "reasons"),
    [
        ({"headline": "Fair", "start": "2099-01-15T10:00"}, [Reason.INCOMPLETE_RECORD]),
        ({"description": "a fair", "doorTime": "2099-01-15T10:00"}, [Reason.INCOMPLETE_RECORD]),
        ({"url": "https://a.example/fair"}, []),
        ({"@id": "#fair", "image": "fair.png"}, []),
    ],
)
def test_an_object_that_describes_an_event_without_its_start_is_told(
    fields: dict[str, str], reasons: list[Reason]
) -> None:
    script = f'<script type="application/ld+json">{json.dumps({"@type": "Event", **fields})}</script>'
    events, unread = read(script, "schema.org")
    assert events == []
    assert [part.reason for part in unread] == reasons
