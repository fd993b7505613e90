"""A calendar from its address to the documents of vd_events and vd_log, in one process."""

import io
import json
import re
from contextlib import closing
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from tests.clock import pass_time
from tests.collections.events.place import ADAPTER, LOG_KEYS, calendar, configured, event, events, logs, run, serving
from tests.engine.unsteady_steps import stop_all_steps
from tests.sessions import session_settings
from windrow.app.status import current_state
from windrow.app.summary import summarise
from windrow.app.takedowns import estimate_takedowns, take_down
from windrow.collections.events.adapter.databases import open_databases
from windrow.collections.events.adapter.projection import EventProjection
from windrow.collections.events.adapter.run_logs import RunLogs
from windrow.collections.events.collection import COLLECTION
from windrow.collections.events.documents import NULLABLE_KEYS, STANDARD_KEYS, ParserRun, RequestedAddress
from windrow.collections.pages import adapter as pages_adapter
from windrow.collections.pages import collection as pages
from windrow.config import load
from windrow.contract import REQUEST, ROBOTS
from windrow.engine.progress import Progress
from windrow.engine.session import Session
from windrow.errors import ConfigError
from windrow.ledger import Ledger
from windrow.model import ArchivePlace, Attempt, RecordedAttempt
from windrow.reasons import Reason
from windrow.stores.documented_records import DocumentedRecords

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
MEETING = ";TZID=America/New_York:20270115T100000"


@pytest.fixture
def site():
    with serving() as web_site:
        yield web_site


def run_later(workspace):
    """Run again after the second in which the address was requested has passed."""
    pass_time(1.05)
    return run(workspace)


def test_events_that_a_run_did_not_read_are_written_by_the_next_one(tmp_path, site, monkeypatch):
    site.put("/a.ics", calendar(event("a@x", MEETING, "Board"), event("b@x", MEETING, "Council")))
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1d")
    with stop_all_steps(monkeypatch):
        run(workspace)
    assert events(workspace) == []
    asked = len(site.asked)
    run(workspace)
    assert len(site.asked) == asked, "nothing is asked again"
    assert sorted(document["uid"] for document in events(workspace)) == ["council/a@x", "council/b@x"]
    with ADAPTER._store(workspace) as records:
        assert records.late_attempts() == []


def test_a_shorter_every_applies_at_once(tmp_path, site):
    site.put("/a.ics", calendar(event("a@x", MEETING, "Board")))
    asked = []
    for every in ("30d", "30d", "1s", "30d"):
        run_later(configured(tmp_path, f"{site.url}/a.ics", every=every))
        asked.append(site.asked.count("/a.ics"))
    assert asked == [1, 1, 2, 3]
    run_later(configured(tmp_path, f"{site.url}/a.ics", every="30d"))
    assert site.asked.count("/a.ics") == 3


def test_every_document_has_the_keys_and_types_of_the_standard(tmp_path, site):
    site.put("/a.ics", calendar(
        event("a@x", MEETING, "Board", dtend=";TZID=America/New_York:20270115T110000", description="all\\, of it",
              url="https://a.example/board"),
        event("b@x", ";VALUE=DATE:20270116", "A day"),
    ))  # fmt: skip
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s")
    run(workspace)
    board, day = events(workspace)
    for document in (board, day):
        assert list(document)[1 : len(STANDARD_KEYS) + 1] == list(STANDARD_KEYS)
        for key in STANDARD_KEYS:
            assert isinstance(document[key], str) or (key in NULLABLE_KEYS and document[key] is None), key
        assert document["_id"] == f"{document['datetime']} - {document['parser_name']} - {document['unique_key']}"
        assert MOMENT.fullmatch(document["access_datetime"])
    assert board["_id"] == "2027-01-15T15:00:00Z - council - a@x"
    assert board["end_datetime"] == "2027-01-15T16:00:00Z"
    assert board["description"] == "all, of it"
    assert board["event_url"] == "https://a.example/board"
    assert board["source_text"].startswith("BEGIN:VEVENT\r\nUID:a@x")
    assert board["source_timezone"] == "America/New_York"
    assert (board["all_day"], day["all_day"], day["datetime"]) == (False, True, "2027-01-16T00:00:00Z")
    assert day["description"] == day["end_datetime"] == day["event_url"] == ""  # this calendar does not have them
    (log,) = logs(workspace)
    assert set(LOG_KEYS) - {"traceback"} <= set(log)
    assert "traceback" not in log
    assert log["_id"] == f"{log['access_datetime']} - council - success"
    assert MOMENT.fullmatch(log["access_datetime"])
    assert isinstance(log["parser_runtime"], float)
    assert (log["insert_count"], log["result"]) == (2, "success")
    assert log["source_text"] == site.documents["/a.ics"][2].decode()


def test_a_second_reading_inserts_nothing_and_leaves_a_log(tmp_path, site):
    site.put("/a.ics", calendar(event("a@x", MEETING)))
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s")
    run(workspace)
    before = events(workspace)
    site.put("/a.ics", calendar(event("a@x", MEETING), "X-STAMP:2"))  # the markup differs, the event does not
    run_later(workspace)
    assert events(workspace) == before
    assert [log["insert_count"] for log in logs(workspace)] == [1, 0]


def test_a_moved_and_renamed_event_is_one_document_with_its_history_and_its_former_id(tmp_path, site):
    site.put("/a.ics", calendar(event("a@x", MEETING, "Board")))
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s")
    run(workspace)
    (old,) = events(workspace)
    site.put("/a.ics", calendar(event("a@x", ":20270120T150000Z", "Board, moved", status="CANCELLED")))
    run_later(workspace)
    (new,) = events(workspace)
    assert (new["uid"], new["previous_ids"], new["revision"]) == (old["uid"], [old["_id"]], 1)
    assert new["_id"] == "2027-01-20T15:00:00Z - council - a@x"
    assert new["status"] == "cancelled"
    assert new["history"][0]["fields"]["title"] == ["Board", "Board, moved"]
    assert [log["insert_count"] for log in logs(workspace)] == [1, 0]


def test_an_attempt_that_fails_is_logged_with_its_exception_before_a_byte_came_too(tmp_path, site):
    workspace = configured(tmp_path, f"{site.url}/none.ics", every="1s")
    session = run(workspace)
    (missing,) = logs(workspace)
    assert (missing["result"], missing["insert_count"]) == ("NotFound", 0)
    assert missing["traceback"].startswith("NotFound: ")
    site.close()
    (tmp_path / "away").mkdir()
    workspace = configured(tmp_path / "away", f"{site.url}/a.ics", every="1s")
    session = run(workspace)
    assert session.failed
    (refused,) = logs(workspace)
    assert (refused["result"], refused["source_text"], refused["insert_count"]) == ("ConnectFailed", "", 0)
    assert refused["_id"].endswith(" - council - ConnectFailed")
    assert refused["source_url"] == f"{site.url}/a.ics"
    assert "ConnectFailed" in refused["traceback"]


def test_an_answer_200_that_is_an_error_page_is_logged_as_such_and_changes_nothing(tmp_path, site):
    site.put("/a.ics", calendar(event("a@x", MEETING)))
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s")
    run(workspace)
    before = events(workspace)
    page = "<html><meta charset=shift_jis>\u4f1a\u8b70</html>"
    site.put("/a.ics", page.encode("shift_jis"), "text/html")
    run_later(workspace)
    assert events(workspace) == before
    assert [log["result"] for log in logs(workspace)] == ["success", "WrongRoot"]
    assert logs(workspace)[1]["source_text"] == page  # in the encoding that it declares itself


def test_two_logs_of_one_second_have_two_ids_and_the_same_one_twice_has_one(tmp_path, site):
    workspace = configured(tmp_path, f"{site.url}/a.ics")
    asked = RequestedAddress(datetime(2026, 1, 1, tzinfo=UTC), "http://a.example/")
    with open_databases(workspace) as held, closing(DocumentedRecords(tmp_path / "events.db")) as records:
        run_logs = RunLogs(records, None, held, {}, archive=tmp_path, limits=workspace.limits)
        for source in ("one", "two", "one", "two"):
            run_logs.write_log(ParserRun("council", "1", source, 5, 7, (asked,)), None)
    assert [(log["_id"], log["source"]) for log in logs(workspace)] == [
        ("2026-01-01T00:00:00Z - council - success", "one"),
        ("2026-01-01T00:00:00Z - council - success - 2", "two"),
    ]


def test_logs_whose_response_cannot_be_read_are_counted(tmp_path):
    lost = SimpleNamespace(captures=SimpleNamespace(place_of=lambda _: ArchivePlace("lost.warc.gz", 0, 1)))
    with open_databases(configured(tmp_path, "https://a.example/a.ics")) as held:
        projection = EventProjection(None, lost, held, (), archive=tmp_path, limits=None)
        assert projection._logs._response_text(None) == ""
        assert "1 log without source_text, as the response cannot be read" in projection._summarize()


def test_a_source_whose_secret_is_missing_leaves_a_log_with_the_reason_though_nobody_was_asked(tmp_path, site):
    site.put("/a.ics", calendar(event("a@x", MEETING)))
    rules = {"secret": f"file:{tmp_path}/secret", "secret_header": "X-Api-Key", "version": "2.5"}
    workspace = configured(tmp_path, f"{site.url}/a.ics", **rules)
    assert run(workspace).failed
    assert run(workspace).failed
    assert "/a.ics" not in site.asked
    first, second = logs(workspace)
    assert first["_id"] == f"{first['access_datetime']} - council - NoSecret"
    logged = (first["source_url"], first["source_text"], first["insert_count"], first["parser_runtime"])
    assert logged == (f"{site.url}/a.ics", "", 0, 0.0)
    assert (first["result"], first["outcome"], first["parser_version"]) == ("NoSecret", "failed", "2.5")
    assert first["traceback"].startswith(f"NoSecret: the secret at file:{tmp_path}/secret cannot be read: No such file")
    assert first["session"] != second["session"]
    (tmp_path / "secret").write_text("s3cr3t-word")
    run_later(workspace)
    assert [log["result"] for log in logs(workspace)] == ["NoSecret", "NoSecret", "success"]
    before = logs(workspace)
    for again in (ADAPTER._rewrite_documents, lambda workspace_: ADAPTER._derive(workspace_, lambda: True)):
        again(workspace)
        assert logs(workspace) == before


def test_a_run_over_several_pages_leaves_one_log_with_all_that_they_brought(tmp_path, site):
    def page(number, rows, last=False):
        listing_page = {"rows": [{"t": name, "s": "2099-01-01"} for name in rows]}
        listing_page |= {} if last else {"next": f"{site.url}/{number + 1}.json"}
        site.put(f"/{number}.json", json.dumps(listing_page), "application/json")

    rules = {"reader": "json", "items": "rows", "fields": {"title": "t", "start": "s"}, "next_page": "next"}
    page(1, "AB")
    page(2, ["C", ""])
    page(3, "D", last=True)
    workspace = configured(tmp_path, f"{site.url}/1.json", every="1s", **rules)
    run(workspace)
    (log,) = logs(workspace)
    assert (log["source_url"], log["source_text"]) == (f"{site.url}/1.json", site.documents["/1.json"][2].decode())
    assert (log["insert_count"], log["events"], log["rejected"], log["outcome"]) == (4, 4, 1, "partial")
    assert [(request["source_url"][-7:], request["insert_count"], request["result"]) for request in log["requests"]] == [
        ("/1.json", 2, "success"), ("/2.json", 1, "success"), ("/3.json", 1, "success")
    ]  # fmt: skip
    page(1, "ABE")
    site.put("/3.json", "away", status=503)
    run_later(workspace)
    log = logs(workspace)[-1]
    assert log["_id"] == f"{log['access_datetime']} - council - ServerError"
    assert (log["insert_count"], log["result"], log["outcome"]) == (1, "ServerError", "partial")
    assert log["traceback"] == f"ServerError: its status is 503\n  at {site.url}/3.json"
    before = (events(workspace), logs(workspace))
    assert len(before[1]) == 2
    ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
    assert (events(workspace), logs(workspace)) == before


def test_the_runtime_of_a_parser_has_the_reading_of_its_answers_and_no_pause_between_them(tmp_path, site):
    site.put("/a.ics", calendar(*[event(f"{number}@x", MEETING, f"Event {number}") for number in range(40)]))
    workspace = configured(tmp_path, f"{site.url}/a.ics")
    run(workspace)
    (log,) = logs(workspace)
    with closing(Ledger(workspace.ledger)) as ledger:
        (attempt,) = ledger.attempts.by_numbers([log["attempt"]])
        read = ledger.requests.followed(log["attempt"]).seconds
    assert read > 0
    assert log["parser_runtime"] == round(attempt.attempt.seconds + read, 3)


def test_a_broken_event_costs_no_other_and_its_reason_is_known(tmp_path, site):
    site.put("/a.ics", calendar("UID:bad\r\nSUMMARY:Without a time", event("a@x", MEETING)))
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s")
    run(workspace)
    assert [document["title"] for document in events(workspace)] == ["Hearing"]
    (log,) = logs(workspace)
    assert (log["outcome"], log["rejected"], log["result"]) == ("partial", 1, "success")
    ledger = Ledger(workspace.ledger)
    story = ADAPTER.explain(workspace, ledger, f"{site.url}/a.ics")
    ledger.close()
    assert any("incomplete_record" in line for line in story.lines)


def test_a_placeholder_row_is_no_event_and_none_that_was_rejected(tmp_path, site):
    row = '{"t": "No meetings scheduled", "s": "2027-01-01"}'
    site.put("/a.json", f'[{row}, {{"t": "Board", "s": "2027-01-01"}}]', "application/json")
    rules = {"reader": "json", "fields": {"title": "t", "start": "s"}, "placeholders": ["No meetings scheduled"]}
    workspace = configured(tmp_path, f"{site.url}/a.json", every="1s", **rules)
    run(workspace)
    site.put("/a.json", f"[{row}]", "application/json")
    run_later(workspace)
    assert [document["title"] for document in events(workspace)] == ["Board"]
    assert [(log["outcome"], log["events"], log["rejected"]) for log in logs(workspace)] == [
        ("read", 1, 0),
        ("empty", 0, 0),
    ]


def test_try_check_search_replay_export_and_forget_work_on_events(tmp_path, site):
    site.put("/a.ics", calendar(event("a@x", MEETING, "Board of Ethics"), event("b@x", ":20270201T150000Z", "Budget")))
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s")
    tried = list(ADAPTER.try_address(workspace, f"{site.url}/a.ics"))
    assert [record.identifier for record in tried if hasattr(record, "identifier")] == ["council/a@x", "council/b@x"]
    notes = [part.message for part in tried if getattr(part, "kind", "") == "Source"]
    assert notes == ["read as a document of source council, with its parser council and the reader icalendar"]
    run(workspace)
    ledger = Ledger(workspace.ledger)
    assert list(ADAPTER.check(workspace, ledger)) == []
    assert "a record of events" in ADAPTER.explain(workspace, ledger, "council/a@x").lines[0]
    ledger.close()
    answer = ADAPTER.search(workspace, "ethics", offset=0, limit=5, explain=False)
    assert [read_event.details.key for read_event in answer.results] == ["council/a@x"]
    before, asked = (events(workspace), logs(workspace)), len(site.asked)
    ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
    assert (events(workspace), logs(workspace)) == before
    assert len(site.asked) == asked
    written = {}
    for export in ADAPTER.EXPORTS:
        out = io.StringIO()
        assert export.write(workspace, "jsonl", out)
        written[export.name] = [json.loads(line) for line in out.getvalue().splitlines()]
    assert written["vd_events"] == before[0]
    assert written["vd_log"] == before[1]
    take_down(workspace, session_settings(workspace), ["council/a@x"], "asked", {"events": ADAPTER})
    assert events(workspace) == []  # both were in one document, which was removed
    assert logs(workspace)[0]["source_text"] == ""


def test_forget_of_a_source_takes_down_what_it_asked_and_leaves_the_other_sources_of_its_host(tmp_path, site):
    site.put("/a.ics", calendar(event("a@x", MEETING, "A")))
    site.put("/b.ics", calendar(event("b@x", MEETING, "B")))
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s")
    path = tmp_path / "windrow.toml"
    board = path.read_text().partition("[source.council]")[2].replace("/a.ics", "/b.ics")
    path.write_text(f"{path.read_text()}\n[source.board]{board}")
    workspace = load(tmp_path, environ={}, collections={"events": COLLECTION})
    run(workspace)
    with closing(Ledger(workspace.ledger)) as ledger:
        (target,) = estimate_takedowns(workspace, ledger, ["council"])
    assert target.target == f"the requests of council to {site.url}"
    take_down(workspace, session_settings(workspace), ["council"], "asked", {"events": ADAPTER})
    assert [document["title"] for document in events(workspace)] == ["B"]
    asked = len(site.asked)
    site.put("/c.ics", calendar(event("c@x", MEETING, "C")))
    path.write_text(path.read_text().replace("/b.ics", "/c.ics"))  # another address at that host
    workspace = load(tmp_path, environ={}, collections={"events": COLLECTION})
    run_later(workspace)
    assert set(site.asked[asked:]) - {"/robots.txt"} == {"/c.ics"}
    assert {document["title"] for document in events(workspace)} == {"B", "C"}
    with closing(Ledger(workspace.ledger)) as ledger:
        assert not ledger.takedowns.addresses().contains(f"{site.url}/z.ics")
        assert list(ADAPTER.check(workspace, ledger)) == []


def test_a_branch_that_is_not_on_the_list_is_refused_and_the_workspace_may_name_it(tmp_path):
    with pytest.raises(ConfigError, match="did you mean Legislative"):
        configured(tmp_path, "http://a.example/a.ics", branch="Legislativ")
    more = 'branches = ["City"]\nentities = ["City Council"]'
    workspace = configured(tmp_path, "http://a.example/a.ics", more, branch="City", entity="City Council")
    assert workspace.source("council").options["event_parser"].entity == "City Council"


def test_an_event_is_found_by_its_day_month_branch_entity_and_parser(tmp_path, site):
    site.put("/a.ics", calendar(event("a@x", MEETING, "Ferry"), event("b@x", ":20270220T150000Z", "Bridge")))
    workspace = configured(tmp_path, f"{site.url}/a.ics")
    run(workspace)

    def found_keys(text):
        results = ADAPTER.search(workspace, text, offset=0, limit=5, explain=False).results
        return sorted(result.details.key for result in results)

    assert found_keys('"2027-01-15"') == found_keys('"2027-01" legislative') == ["council/a@x"]
    assert found_keys("senate") == found_keys("council") == ["council/a@x", "council/b@x"]
    assert found_keys('"2027-02" senate -ferry') == ["council/b@x"]


def test_a_failed_robots_file_of_each_origin_is_among_the_requests_of_a_log(tmp_path):
    """Only the last of several was kept."""
    at = datetime(2026, 9, 1, tzinfo=UTC)
    attempts = [
        RecordedAttempt(number, 1, at, "council", Attempt(
            target, f"https://{host}.example/{path}", kind, True, at, 0.1, status, reason=reason
        ))
        for number, (target, host, path, kind, status, reason) in enumerate([
            (0, "a", "robots.txt", ROBOTS, None, Reason.TIMEOUT), (0, "b", "robots.txt", ROBOTS, 503, Reason.SERVER_ERROR),
            (0, "c", "robots.txt", ROBOTS, 503, Reason.SERVER_ERROR), (7, "c", "a.ics", REQUEST, 200, None),
            (0, "b", "robots.txt", ROBOTS, None, Reason.TIMEOUT),
        ])
    ]  # fmt: skip
    with open_databases(configured(tmp_path, "https://a.example/a.ics")) as held:
        run_logs = RunLogs(None, None, held, {}, archive=tmp_path, limits=None)
        assert sorted(recorded.seq for recorded in run_logs._last_attempts(attempts)) == [0, 3, 4]


def test_an_address_with_a_key_and_a_zone_that_is_none_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="has a key or password"):
        configured(tmp_path, "https://a.example/a.json?api_key=xyz")
    with pytest.raises(ConfigError, match="'Eastern' is not a time zone"):
        configured(tmp_path, "https://a.example/a.ics", timezone="Eastern")
    with pytest.raises(ConfigError, match="timezone is not set"):
        configured(tmp_path, "https://a.example/a.ics", timezone=None)
    for scheme in ("webcal", "WEBCAL"):
        workspace = configured(tmp_path, f"{scheme}://a.example/a.ics?x=1")
        assert workspace.source("council").options["address"] == "https://a.example/a.ics?x=1"


def test_a_future_event_that_vanishes_is_marked_after_good_runs_only_and_is_back_when_it_is(tmp_path, site):
    both = calendar(event("a@x", MEETING), event("b@x", ":20270301T150000Z", "Budget"))
    site.put("/a.ics", both)
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s", missing_after=2)
    run(workspace)
    site.put("/a.ics", calendar(event("a@x", MEETING)))
    run_later(workspace)
    site.put("/a.ics", "an error", "text/html")  # a failed run says nothing of missing events
    run_later(workspace)
    assert [document["status"] for document in events(workspace)] == ["scheduled", "scheduled"]
    site.put("/a.ics", calendar(event("a@x", MEETING)))
    run_later(workspace)
    assert [document["status"] for document in events(workspace)] == ["scheduled", "missing"]
    before = events(workspace)
    ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
    assert events(workspace) == before
    site.put("/a.ics", both)
    run_later(workspace)
    assert [document["status"] for document in events(workspace)] == ["scheduled", "scheduled"]
    assert [log["insert_count"] for log in logs(workspace)] == [2, 0, 0, 0, 0]


def test_a_calendar_that_came_only_in_part_says_nothing_of_what_is_missing(tmp_path, site):
    whole = calendar(event("a@x", MEETING), event("b@x", ":20270301T150000Z", "Budget"))
    site.put("/a.ics", whole)
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s", missing_after=1)
    run(workspace)
    site.put("/a.ics", whole[: whole.index("END:VEVENT") + 12])
    run_later(workspace)
    assert [document["status"] for document in events(workspace)] == ["scheduled", "scheduled"]
    assert [(log["outcome"], log["events"]) for log in logs(workspace)] == [("read", 2), ("partial", 1)]


def test_why_takes_a_uid_or_an_id_of_either_database_and_says_that_an_event_is_missing(tmp_path, site):
    site.put("/a.ics", calendar(event("a@x", MEETING), event("b@x", ":20270301T150000Z", "Budget")))
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s", missing_after=1)
    run(workspace)
    site.put("/a.ics", calendar(event("a@x", MEETING)))
    run_later(workspace)
    with closing(Ledger(workspace.ledger)) as ledger:
        board, budget = events(workspace)
        for name in (budget["_id"], budget["uid"]):
            lines = ADAPTER.explain(workspace, ledger, name).lines
            assert lines[0] == "council/b@x: a record of events, missing"
            assert lines[-2:] == (
                "  its document is 2027-03-01T15:00:00Z - council - b@x",
                f"      {budget['changed']}  status 'scheduled' -> 'missing'",
            )
        assert ADAPTER.explain(workspace, ledger, board["_id"]).lines[0].endswith("a record of events, scheduled")
        explanation = ADAPTER.explain(workspace, ledger, logs(workspace)[0]["_id"])
        assert explanation.lines[0].startswith(f"{site.url}/a.ics: requested for events")
        assert ADAPTER.explain(workspace, ledger, "2027 - nobody - knows") is None


def test_a_source_that_drifts_or_whose_list_is_gone_is_shown_in_its_log_and_in_the_status(tmp_path, site):
    site.put("/a.json", '[{"t": "A", "s": "2027-01-01"}]', "application/json")
    rules = {"reader": "json", "fields": {"title": "t", "start": "s"}, "complete": "no"}
    workspace = configured(tmp_path, f"{site.url}/a.json", every="1s", **rules)
    run(workspace)
    for _ in range(2):
        run_later(workspace)
    site.put("/a.json", "[]", "application/json")
    run_later(workspace)
    assert [log["outcome"] for log in logs(workspace)] == ["read", "read", "read", "drift"]
    assert logs(workspace)[-1]["result"] == "success"
    ledger = Ledger(workspace.ledger)
    whole = load(tmp_path, environ={})  # with all collections, as the status needs each
    (state,) = current_state(whole, ledger, {"events": tuple(COLLECTION.phases)}).sources
    assert "drift: the response has no events" in state.error
    del site.documents["/a.json"]
    for _ in range(2):
        run_later(workspace)
    gone = current_state(whole, ledger, {"events": tuple(COLLECTION.phases)})
    (last,) = summarise(ledger, ledger.sessions.latest(), {}).sources
    ledger.close()
    assert [(reason.reason, reason.items) for reason in gone.reasons] == [("not_found", 1)]
    assert (gone.sources[0].failed, last.failed, last.still_gone) == (1, 1, 0), "the list of a source is never gone"


def test_events_are_read_from_the_pages_that_another_collection_of_the_workspace_crawls(tmp_path, site):
    page = """<title>Concert</title><script type="application/ld+json">{"@type": "MusicEvent", "name": "Quartet",
      "startDate": "2027-02-01T19:00", "@id": "#q"}</script><p>Come and listen.</p>"""
    site.put("/", f"{page}<a href=/other>more</a>", "text/html")
    site.put("/other", "<title>Other</title><p>Nothing here.</p>", "text/html")
    (tmp_path / "windrow.toml").write_text(
        'contact = "https://a.example/"\n[pages]\noperator = "test"\ndelay = "10 ms"\nprivate_hosts = ["127.0.0.1"]\n'
        f'[source.site]\ncollection = "pages"\nseeds = ["{site.url}/"]\n'
        '[source.concerts]\ncollection = "events"\nfrom = ["pages:site"]\nreader = "schema.org"\nbranch = "Other"\n'
        'entity = "Senate"\ntimezone = "America/New_York"\n'
    )
    workspace = load(tmp_path, environ={}, collections={"events": COLLECTION, "pages": pages.COLLECTION})
    with Session(session_settings(workspace), "run") as session:
        session.run_harvest(pages_adapter.ADAPTER.harvest(workspace))
    asked = len(site.asked)
    run(workspace)
    assert len(site.asked) == asked
    (document,) = events(workspace)
    assert (document["title"], document["datetime"], document["source_url"]) == (
        "Quartet",
        "2027-02-02T00:00:00Z",
        f"{site.url}/",
    )
    assert [log["insert_count"] for log in logs(workspace)] == [1]
