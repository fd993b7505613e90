"""Events that share an id: each keeps its uid, whatever else the source lists, and is neither overwritten nor gone."""

import io
import json
import re
from contextlib import closing
from datetime import UTC, datetime

import pytest

from tests.clock import pass_time
from tests.collections.events.place import ADAPTER, calendar, configured, event, events, run, serving
from windrow.adapters.adapter import Window
from windrow.clock import now
from windrow.collections.events.collection import ADDRESS, COLLECTION
from windrow.collections.events.discover import follow
from windrow.collections.events.exports import FORMS
from windrow.collections.events.reading import read_events
from windrow.collections.events.uids import EventUids
from windrow.config import load
from windrow.contract import Answer, Request, Task
from windrow.ledger import Ledger
from windrow.model import Item, Limits

RULES = {"reader": "json", "items": "", "fields": {"id": "i", "title": "t", "start": "s", "location": "l"}}
DAY = ":20990115T150000Z"
DECEMBER = "2099-12-{:02}T15:00:00Z"


class Listings:
    """Follow the lists of a source one after another, and read each of them with its offers."""

    def __init__(self, folder):
        (self.source,) = configured(folder, "https://a.example/a.json", **RULES).of("events")
        self.learned = {}

    def list(self, *rows):
        """Return a dict from uid to title for a list of (id, title, day of December)."""
        listed = [{"i": id_, "t": title, "s": DECEMBER.format(day)} for id_, title, day in rows]
        body = json.dumps(listed).encode()
        answer = Answer(Request(self.source.options[ADDRESS], "first"), 200, {}, io.BytesIO(body), now())
        result = follow(self.source, self.learned, answer)
        self.learned |= json.loads(json.dumps(result.learned))
        task = Task(
            Item(1, "events", "attempt", "https://a.example/a.json"), io.BytesIO(body), Limits(), {}, {},
            source=self.source, visited=answer.at, offers=result.offers,
        )  # fmt: skip
        read = {observation.key: observation.value["title"] for observation in read_events(task)}
        assert read.keys() == {offer.key for offer in result.offers}
        return read


@pytest.fixture
def listings(tmp_path):
    return Listings(tmp_path)


def test_each_event_of_a_series_with_one_id_keeps_its_uid_when_others_pass_and_come(listings):
    first, second, third = ("s", "First", 1), ("s", "Second", 2), ("s", "Third", 3)
    other = [(f"o{number}", "Other", 20) for number in range(4)]
    weekly = listings.list(first, second, *other)
    assert weekly["council/s"] == "First"
    dated = {f"council/s {DECEMBER.format(2)}": "Second", f"council/s {DECEMBER.format(3)}": "Third"}
    assert {uid: title for uid, title in listings.list(second, third, *other).items() if "/s" in uid} == dated
    assert listings.list(third, second, first) == dated | {"council/s": "First"}
    assert listings.list(third) == {f"council/s {DECEMBER.format(3)}": "Third"}
    assert listings.list() == {}
    assert listings.list(first) == {"council/s": "First"}


def test_an_event_that_was_alone_keeps_its_uid_when_the_next_ones_of_its_series_are_listed(listings):
    assert listings.list(("s", "First", 1)) == {"council/s": "First"}
    assert listings.list(("s", "Second", 8), ("s", "Third", 15)).keys() == {
        f"council/s {DECEMBER.format(8)}", f"council/s {DECEMBER.format(15)}",
    }  # fmt: skip
    assert listings.list(("s", "Third", 15), ("s", "First", 1))["council/s"] == "First"


def test_an_event_whose_id_no_other_has_keeps_its_uid_when_it_is_moved(listings):
    days = [listings.list(("s", "Hearing", day)) for day in (1, 2, 9)]
    assert days == [{"council/s": "Hearing"}] * 3


@pytest.mark.parametrize(("first", "second", "is_another"), [
    ("2020-11-11T18:00:00Z", "2099-12-09T18:00:00Z", True), ("2020-11-11", "2020-11-12", True),
    ("2020-11-11T18:00:00Z", "2020-11-11T18:05:00Z", False), ("2099-11-11T18:00:00Z", "2099-12-09T18:00:00Z", False),
])  # fmt: skip
def test_the_next_event_with_the_id_of_one_that_took_place_is_another_one(
    listings, monkeypatch, first, second, is_another
):
    """Pages that show the next event only, with one id for all of them, would overwrite each meeting with the next."""
    monkeypatch.setattr("tests.collections.events.test_uids.DECEMBER", "{}")
    assert listings.list(("12", "November", first)).keys() == {"council/12"}
    time = second if "T" in second else f"{second}T00:00:00Z"
    assert listings.list(("12", "December", second)).keys() == {f"council/12 {time}" if is_another else "council/12"}
    if is_another:
        assert listings.list() == {}
        assert listings.list(("12", "November", first)).keys() == {"council/12"}


def test_an_event_that_goes_on_may_be_moved_and_an_id_is_remembered_for_more_than_a_year():
    uids = EventUids("p", {"fair": "2026-11-01T12:00:00Z/2026-11-30T12:00:00Z", "gala": "2025-11-30T12:00:00Z"})
    now_listed = ("fair", "2026-11-05T12:00:00Z", "2026-11-30T12:00:00Z")
    assert uids.choose([now_listed], "2026-11-10T12:00:00Z") == ["p/fair"]
    assert [*uids.remember(datetime(2026, 12, 20, tzinfo=UTC))] == ["gala", "fair"]


@pytest.mark.parametrize("ids", ["xx", "xxyz", "xxyzn", "xxxxx"])
def test_whether_an_id_identifies_its_events_is_decided_once(listings, ids):
    rows = [(id_, f"Event {number}", number + 1) for number, id_ in enumerate(ids)]
    before = listings.list(*rows)
    assert len(before) == len(ids)
    other = ("a", "A", 20)
    added = listings.list(*rows, other, ("b", "B", 21), ("c", "C", 22))
    assert len(added) == len(ids) + 3
    assert before.items() <= added.items()
    for row in rows:
        assert listings.list(row, other).items() <= added.items()


def test_two_events_without_an_id_on_one_day_keep_their_uids(tmp_path, listings, monkeypatch):
    monkeypatch.setattr("tests.collections.events.test_uids.DECEMBER", "2099-12-01T{:02}:00:00Z")
    both = listings.list(("", "Board", 10), ("", "Board", 14))
    assert len(both) == 2
    (later,) = listings.list(("", "Board", 14))
    assert later == [*both][1]


def test_two_events_with_one_id_and_one_start_are_read_as_they_are_offered(listings):
    rows = [("x", "Second", 2), ("x", "A", 1), ("x", "B", 1), *((name, "Other", 9) for name in "abcd")]
    for shift in (0, 1):
        assert sorted(listings.list(*rows[shift:]).values()) == sorted(title for _, title, _ in rows[shift:])


def test_a_past_event_of_a_series_stays_and_a_listed_one_is_not_missing(tmp_path):
    with serving() as site:
        shared = [event("session", f":2099120{day}T150000Z", f"Session {day}") for day in (1, 2)]
        others = [event(f"o{number}", ":20991210T150000Z", "Other") for number in range(3)]
        site.put("/a.ics", calendar(*shared, *others))
        workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s", missing_after=1)
        run(workspace)
        before = {document["uid"]: document["title"] for document in events(workspace)}
        site.put("/a.ics", calendar(shared[1], *others))
        pass_time(1.05)
        run(workspace)
        after = events(workspace)
    assert {document["uid"]: document["title"] for document in after} == before
    assert {document["title"]: document["status"] for document in after} == {
        "Session 1": "missing", "Session 2": "scheduled", "Other": "scheduled",
    }  # fmt: skip


def test_events_of_two_sources_with_one_id_are_two_in_stores_changes_and_feeds(tmp_path):
    """Calendars of one product may number their events from 1; here both have one parser, too."""
    with serving() as site:
        site.put("/a.ics", calendar(event("1", DAY, "Board")))
        site.put("/b.ics", calendar(event("1", DAY, "Board")))
        configured(tmp_path, f"{site.url}/a.ics", name="a", parser="town", every="1s")
        text = (tmp_path / "windrow.toml").read_text()
        text += text[text.index("[source.") :].replace("source.a", "source.b").replace("a.ics", "b.ics")
        (tmp_path / "windrow.toml").write_text(text)
        workspace = load(tmp_path, environ={}, collections={"events": COLLECTION})
        run(workspace)
        site.put("/b.ics", calendar(event("1", DAY, "Budget")))
        pass_time(1.05)
        session = run(workspace)
    documents = {document["uid"]: document for document in events(workspace)}
    assert {uid: (document["title"], document["revision"]) for uid, document in documents.items()} == {
        "a/1": ("Board", 0), "b/1": ("Budget", 1)
    }  # fmt: skip
    assert len({document["_id"] for document in documents.values()}) == 2
    with closing(Ledger(workspace.ledger)) as ledger:
        window = Window(facts=ledger.sessions.get(session.number).span)
        changes = [(change.kind, change.source, change.key) for change in ADAPTER.changes(workspace, ledger, window)]
    assert changes == [("changed", "b", "b/1")]
    for form, pattern in (
        ("ical", r"\r\nUID:([^\r]*)"),
        ("atom", "<entry><id>([^<]*)"),
        ("jsonfeed", r'"id": "([^"]*)'),
    ):
        assert len({*re.findall(pattern, "".join(FORMS[form].write(documents.values())))}) == 2, form
