"""Events that a whole listing of a source does not have are missing; an unreadable one is listed if its uid is known."""

import io
import json
from contextlib import closing
from datetime import UTC, datetime

import pytest

from tests.clock import pass_time
from tests.collections.events.place import ADAPTER, calendar, configured, event, events, logs, run, serving
from tests.engine.unsteady_steps import stop_all_steps
from tests.sessions import session_settings
from windrow.adapters.adapter import Window
from windrow.app.summary import count_left_out
from windrow.clock import now
from windrow.collections.events.calendar_export import _start_and_end
from windrow.collections.events.discover import follow
from windrow.collections.events.reading import missing_events
from windrow.contract import Answer, MissingOffer, Request, WholeListing
from windrow.engine.progress import Progress
from windrow.ledger import Ledger
from windrow.reasons import Reason

ROWS = {"reader": "json", "items": "rows", "fields": {"title": "t", "start": "s", "id": "i"}, "next_page": "next"}
DAY = ":20990115T150000Z"


@pytest.fixture
def site():
    with serving() as web_site:
        yield web_site


def again(workspace):
    """Run after the second in which the address was requested has passed."""
    pass_time(1.05)
    return run(workspace)


def statuses(workspace):
    return {document["title"]: document["status"] for document in events(workspace)}


def list_changes(workspace, session):
    ledger = Ledger(workspace.ledger)
    window = Window(facts=ledger.sessions.get(session).span)
    changes = [(change.kind, change.key, change.difference) for change in ADAPTER.changes(workspace, ledger, window)]
    counted = ADAPTER.content(workspace, ledger, window.facts)["council"]
    ledger.close()
    return changes, dict(counted)


def unlisted(workspace):
    with closing(Ledger(workspace.ledger)) as ledger:
        return [(*count[:2], *count[3:]) for count in ADAPTER.count_unlisted(workspace, ledger)]


def test_an_event_of_the_last_day_that_there_is_becomes_missing_and_is_exported_like_any_other(tmp_path, site):
    both = calendar(event("a@x", DAY, "A"), event("b@x", ";VALUE=DATE:99991231", "B"))
    site.put("/a.ics", both)
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s", missing_after=1)
    run(workspace)
    site.put("/a.ics", calendar(event("a@x", DAY, "A")))
    again(workspace)
    assert statuses(workspace) == {"A": "scheduled", "B": "missing"}
    (last,) = [document for document in events(workspace) if document["title"] == "B"]
    assert list(_start_and_end(last)) == ["DTSTART;VALUE=DATE:99991231"]


def test_changes_tells_that_an_event_is_missing_as_gone_and_that_it_is_listed_again(tmp_path, site):
    both = calendar(event("a@x", DAY, "A"), event("b@x", DAY, "B"))
    site.put("/a.ics", both)
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s", missing_after=2)
    run(workspace)
    site.put("/a.ics", calendar(event("a@x", DAY, "A")))
    assert list_changes(workspace, again(workspace).number) == ([], {})
    gone = again(workspace).number
    assert list_changes(workspace, gone) == (
        [("gone", "council/b@x", "its source no longer lists it")],
        {"gone": 1},
    )
    assert unlisted(workspace) == [("council", "no_longer_listed", 1, "council/b@x")]
    assert list_changes(workspace, again(workspace).number) == ([], {})
    site.put("/a.ics", both)
    back = again(workspace).number
    assert list_changes(workspace, back) == (
        [("changed", "council/b@x", "status missing -> scheduled")],
        {"changed": 1},
    )
    assert unlisted(workspace) == []
    assert [log["events"] for log in logs(workspace)] == [2, 1, 1, 1, 2]
    assert [log["insert_count"] for log in logs(workspace)] == [2, 0, 0, 0, 0]
    before = events(workspace), logs(workspace)
    ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
    assert (events(workspace), logs(workspace)) == before
    assert list_changes(workspace, gone)[1] == {"gone": 1}


def test_an_event_that_cannot_be_read_any_more_is_listed_all_the_same_where_its_id_can_be(tmp_path, site):
    site.put("/a.ics", calendar(event("a@x", DAY, "A"), event("b@x", DAY, "B"), event("c@x", DAY, "C")))
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s", missing_after=1)
    run(workspace)
    site.put("/a.ics", calendar("UID:a@x\r\nSUMMARY:A", event("b@x", DAY, "B")))
    again(workspace)
    assert statuses(workspace) == {"A": "scheduled", "B": "scheduled", "C": "missing"}
    site.put(
        "/a.json", json.dumps({"rows": [{"i": 1, "t": "A", "s": "2099-01-01"}, {"i": 2, "t": "B", "s": "2099-01-02"}]})
    )
    (tmp_path / "other").mkdir()
    workspace = configured(tmp_path / "other", f"{site.url}/a.json", every="1s", missing_after=1, **ROWS)
    run(workspace)
    site.put("/a.json", json.dumps({"rows": [{"i": 1, "t": "A", "s": "soon"}]}))
    again(workspace)
    assert statuses(workspace) == {"A": "scheduled", "B": "missing"}


def test_a_row_that_was_never_read_is_told_once_when_it_goes(tmp_path, site):
    rows = [{"i": 1, "t": "A", "s": "2099-01-01"}, {"i": 2, "t": "B", "s": "soon"}]
    workspace = configured(tmp_path, f"{site.url}/a.json", every="1s", missing_after=1, **ROWS)
    told = []
    for listed in (rows, rows[:1], rows[:1]):
        site.put("/a.json", json.dumps({"rows": listed}))
        session = again(workspace).number
        with closing(Ledger(workspace.ledger)) as ledger:
            span = ledger.sessions.get(session).span
            left_out = count_left_out(ledger.sessions.tasks(span))
        counts = ADAPTER.count_skipped(workspace, span), ADAPTER.count_skipped(workspace, None)
        told.append((*counts, [(count.source, count.reason, count.example) for count in left_out]))
    unread, lost = {"incomplete_record": 1}, {"no_longer_listed": 1}
    assert told == [
        (unread, unread, [("council", "incomplete_record", f"{site.url}/a.json")]),
        (lost, lost, [("council", "no_longer_listed", f"{site.url}/a.json")]),
        ({}, {}, []),
    ]


def test_no_event_is_missing_from_a_listing_with_something_of_which_it_is_not_known_what_it_is(tmp_path, site):
    site.put("/a.ics", calendar(event("a@x", DAY, "A"), event("b@x", DAY, "B")))
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s", missing_after=1)
    run(workspace)
    site.put("/a.ics", calendar(event("a@x", DAY, "A"), "SUMMARY:It has no id\r\nDTSTART:soon"))
    again(workspace)
    unknown = ("council", "incomplete_record", 1, f"{site.url}/a.ics")
    assert unknown in unlisted(workspace)
    broken_series = "\r\nRRULE:FREQ=DAILY\r\nDTSTART:soon"  # many have its id
    site.put("/a.ics", calendar(event("a@x", DAY, "A"), f"UID:b@x{broken_series}"))
    again(workspace)
    assert statuses(workspace) == {"A": "scheduled", "B": "scheduled"}
    assert unknown not in unlisted(workspace)
    site.put("/a.ics", calendar(f"UID:c@x{broken_series}", event("b@x", DAY, "B")))
    again(workspace)
    assert statuses(workspace) == {"A": "missing", "B": "scheduled"}, (
        "a series that cannot be read hides no other event"
    )
    site.put("/a.ics", calendar(event("a@x", DAY, "A"), event("b@x", DAY, "B")))
    again(workspace)
    site.put("/a.ics", calendar(event("a@x", DAY, "A")))
    again(workspace)
    assert statuses(workspace) == {"A": "scheduled", "B": "missing"}


def test_an_event_stays_missing_where_the_answer_that_ended_the_listing_is_read_again(tmp_path, site, monkeypatch):
    site.put("/a.ics", calendar(event("a@x", DAY, "A"), event("b@x", DAY, "B")))
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1h", missing_after=1)
    run(workspace)
    site.put("/a.ics", calendar(event("a@x", DAY, "A moved")))
    pass_time(3601)
    with stop_all_steps(monkeypatch):
        run(workspace)
    assert statuses(workspace) == {"A": "scheduled", "B": "missing"}
    asked = len(site.asked)
    run(workspace)
    assert len(site.asked) == asked
    assert statuses(workspace) == {"A moved": "scheduled", "B": "missing"}
    with ADAPTER._store(workspace) as records:
        assert [version.value["status"] for version in records.history("council/b@x")] == ["scheduled", "missing"]
    before = events(workspace)
    ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
    assert events(workspace) == before


def page(site, number, rows, last):
    listing_page = {"rows": [{"i": name, "t": name, "s": when} for name, when in rows.items()]}
    listing_page |= {} if last else {"next": f"{site.url}/{number + 1}.json"}
    site.put(f"/{number}.json", json.dumps(listing_page), "application/json")


def test_a_listing_of_several_pages_is_whole_when_all_of_them_came_and_can_be_read(tmp_path, site):
    page(site, 1, {"A": "2099-01-01", "B": "2099-01-02"}, last=False)
    page(site, 2, {"C": "2099-01-03", "D": "2099-01-04"}, last=False)
    page(site, 3, {"E": "2099-01-05", "F": "2099-01-06"}, last=True)
    workspace = configured(tmp_path, f"{site.url}/1.json", every="1s", missing_after=1, **ROWS)
    run(workspace)
    page(site, 1, {"A": "2099-01-01"}, last=False)
    page(site, 2, {"C": "2099-01-03", "": "soon"}, last=False)  # it may be any of them
    again(workspace)
    assert set(statuses(workspace).values()) == {"scheduled"}
    site.put("/2.json", "away", status=503)
    again(workspace)
    assert set(statuses(workspace).values()) == {"scheduled"}
    page(site, 2, {"C": "2099-01-03"}, last=False)
    pass_time(3)  # a page that failed is requested later
    again(workspace)
    assert statuses(workspace) == dict.fromkeys("ACEF", "scheduled") | dict.fromkeys("BD", "missing")


def test_a_page_that_no_page_leads_to_any_more_is_not_asked_and_its_events_stay_missing(tmp_path, site):
    page(site, 1, {"A": "2099-01-01"}, last=False)
    page(site, 2, {"B": "2099-01-02"}, last=True)
    workspace = configured(tmp_path, f"{site.url}/1.json", every="1s", missing_after=1, **ROWS)
    run(workspace)
    page(site, 1, {"A": "2099-01-01"}, last=True)  # and 2.json still has what it had
    asked = len(site.asked)
    for _ in range(2):
        again(workspace)
        assert {document["title"]: (document["status"], document["revision"]) for document in events(workspace)} == {
            "A": ("scheduled", 0), "B": ("missing", 1),
        }  # fmt: skip
    assert "/2.json" not in site.asked[asked:]
    site.put("/2.json", "gone", status=404)
    again(workspace)
    assert [log["result"] for log in logs(workspace)] == ["success"] * 4
    page(site, 1, {"A": "2099-01-01"}, last=False)
    page(site, 2, {"B": "2099-01-02"}, last=True)
    again(workspace)
    assert statuses(workspace) == {"A": "scheduled", "B": "scheduled"}


def test_pages_after_one_that_did_not_change_are_asked_all_the_same(tmp_path, site):
    page(site, 1, {"A": "2099-01-01"}, last=False)
    site.documents["/1.json"] += ({"ETag": '"one"'},)
    page(site, 2, {"B": "2099-01-02"}, last=True)
    workspace = configured(tmp_path, f"{site.url}/1.json", every="1s", missing_after=1, **ROWS)
    run(workspace)
    site.documents["/1.json"] = (304, "application/json", b"", {"ETag": '"one"'})
    page(site, 2, {"C": "2099-01-03"}, last=True)
    again(workspace)
    assert statuses(workspace) == {"A": "scheduled", "B": "missing", "C": "scheduled"}


def test_documents_that_only_name_those_of_their_events_tell_nothing_of_what_is_missing(tmp_path, site):
    rules = {"reader": "json", "items": "event", "details": "list:url:changed", "fields": ROWS["fields"]}
    site.put("/a.json", json.dumps({"list": [{"url": f"{site.url}/e.json", "changed": "1"}]}), "application/json")
    site.put("/e.json?changed=1", json.dumps({"event": {"i": 1, "t": "A", "s": "2099-01-01"}}), "application/json")
    workspace = configured(tmp_path, f"{site.url}/a.json", every="1s", missing_after=1, **rules)
    run(workspace)
    for _ in range(2):  # it did not change, and is not requested again
        again(workspace)
    assert statuses(workspace) == {"A": "scheduled"}


def test_a_date_of_a_series_after_a_window_that_became_shorter_is_not_missing(tmp_path):
    (source,) = configured(tmp_path, "https://a.example/a.ics", recurrence_ahead="20d").sources
    at = datetime(2026, 11, 27, 12, tzinfo=UTC)
    days = {"in": "2026-12-10T15:00:00Z", "beyond": "2026-12-20T15:00:00Z", "single": "2026-12-20T15:00:00Z"}
    days |= dict.fromkeys(("moved into it 2027-03-01T15:00:00Z", "moved in it 2026-12-11T15:00:00Z"), days["in"])
    value = {"title": "A", "status": "scheduled", "end_datetime": "", "all_day": False}
    offers = [
        MissingOffer(key, value | {"datetime": day, "recurring": key != "single"}, 9) for key, day in days.items()
    ]
    assert [found.key for found in missing_events(WholeListing(source, at, 5, tuple(offers)))] == [
        "in", "single", "moved in it 2026-12-11T15:00:00Z",
    ]  # fmt: skip


@pytest.mark.parametrize(("status", "reason"), [
    (404, Reason.NOT_FOUND), (429, Reason.RATE_LIMITED), (503, Reason.SERVER_ERROR), (204, Reason.PROTOCOL_ERROR),
])  # fmt: skip
def test_a_page_of_a_list_that_is_refused_has_the_reason_of_its_status(tmp_path, status, reason):
    (source,) = configured(tmp_path, "https://a.example/1.json", **ROWS).of("events")
    request, at = Request("https://a.example/2.json", "page"), datetime(2026, 9, 1, tzinfo=UTC)
    followed = follow(source, {}, Answer(request, status, {}, io.BytesIO(b""), at))
    assert (followed.skip, followed.findings[0].message) == (reason, f"the status is {status}")


class Endless(dict):
    """Return an endless chain of pages, each with an event and the address of the next."""

    def get(self, path, default=None):
        if path == "/robots.txt":
            return default
        number = int(path.strip("/").removesuffix(".json"))
        listing_page = {"rows": [{"i": number, "t": "x", "s": "2099-01-01"}], "next": f"/{number + 1}.json"}
        return (200, "application/json", json.dumps(listing_page).encode())


def test_endless_paging_ends_with_the_requests_of_a_run_and_the_next_run_goes_on(tmp_path, site):
    site.documents = Endless()
    assert configured(tmp_path, f"{site.url}/1.json", **ROWS).sources[0].most == 100_000
    workspace = configured(tmp_path, f"{site.url}/1.json", max_requests_per_run=5, complete="no", every="1h", **ROWS)
    run(workspace)
    assert [path for path in site.asked if path != "/robots.txt"] == [f"/{number}.json" for number in range(1, 6)]
    assert len(events(workspace)) == 5
    ledger = Ledger(workspace.ledger)
    comments = [task.comment for task in ledger.sessions.tasks_of_source("council")]
    ledger.close()
    assert any("one run requests at most 5 addresses" in comment for comment in comments)
    run(workspace)
    assert len(events(workspace)) == 10


def test_documents_of_events_whose_address_is_too_long_for_a_key_are_requested_and_not_left_out(tmp_path, site):
    rules = {"reader": "json", "items": "event", "details": "list:url:changed", "fields": ROWS["fields"]}
    (source,) = configured(tmp_path, f"{site.url}/a.json", **rules).sources
    details = [{"url": f"{site.url}/{'e' * length}.json", "changed": "1"} for length in (5, 600, 700)]
    body = io.BytesIO(json.dumps({"list": details}).encode())
    answer = Answer(Request(f"{site.url}/a.json", "first"), 200, {"content-type": "application/json"}, body, now())
    result = follow(source, {}, answer)
    assert [request.url for request in result.requests] == [f"{detail['url']}?changed=1" for detail in details]
    assert len({offer.key for offer in result.offers if len(offer.key) <= 512}) == 3
    assert result.left_out == ()


@pytest.mark.parametrize("following", [{"href": "?page=2"}, "javascript:next()"])
def test_a_next_page_whose_address_is_not_known_is_counted_and_no_end_of_the_list(tmp_path, following):
    (source,) = configured(tmp_path, "http://a.example/1.json", **ROWS).sources
    row = {"t": "Board", "s": "2026-10-05T18:00", "i": 1}
    body = io.BytesIO(json.dumps({"rows": [row], "next": following}).encode())
    answer = Answer(Request("http://a.example/1.json", "first"), 200, {"content-type": "application/json"}, body, now())
    result = follow(source, {}, answer)
    assert [(count.reason, count.addresses) for count in result.left_out] == [("truncated", 1)]
    assert (result.end, result.ends_listing) == ("", False)
