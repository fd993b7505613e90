"""`windrow status` shows a source that failed as failed."""

from contextlib import closing

from tests.clock import pass_time
from tests.collections.events.place import ADAPTER, calendar, configured, event, logs, run, serving
from tests.sessions import session_settings
from tests.toy_collection.site import Site as ToySite
from windrow import Windrow
from windrow.app.summary import describe_end
from windrow.engine.progress import Progress
from windrow.ledger import Ledger


def troubles(workspace):
    ledger = Ledger(workspace.ledger)
    comments = [task.comment for task in reversed([*ledger.sessions.tasks_of_source("council")]) if task.failed]
    ledger.close()
    return [comment.partition("; ")[2] for comment in comments]


def test_a_source_that_answers_with_an_error_is_shown_as_trouble_in_its_first_run_and_later_and_not_by_replay(tmp_path):
    with serving() as site:
        site.put("/a.ics", "away", status=500)
        workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s")
        run(workspace)
        message = f"{site.url}/a.ics: the server answers 500; to repeat the request: windrow retry --source council"
        assert troubles(workspace) == [message]
        site.put("/a.ics", calendar(event("a@x", ":20990115T150000Z")))
        pass_time(1.05)
        run(workspace)
        assert troubles(workspace) == [message]
        site.put("/a.ics", "away", status=500)
        pass_time(1.05)
        run(workspace)
        ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
        assert troubles(workspace) == [message] * 2


def test_a_document_of_which_no_event_can_be_read_is_trouble_until_one_can(tmp_path):
    """A calendar whose every event is broken is no empty one."""
    broken = [event("a@x", ":soon", "First"), event("b@x", ":later", "Second")]
    with serving() as site:
        site.put("/a.ics", calendar(*broken))
        workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s")
        assert run(workspace).failed == 1
        (log,) = logs(workspace)
        assert (log["outcome"], log["events"], log["rejected"]) == ("failed", 0, 2)
        assert log["result"] != "success"
        assert "none of the document's 2 events could be read; the first is council/a@x: " in log["traceback"]
        assert len(troubles(workspace)) == 1
        site.put("/a.ics", calendar(*broken, event("c@x", ":20990115T150000Z")))
        pass_time(1.05)
        assert run(workspace).failed == 0
        assert [log["outcome"] for log in logs(workspace)] == ["failed", "partial"]
        site.put("/a.ics", calendar())
        pass_time(1.05)
        assert run(workspace).failed == 0
        assert logs(workspace)[-1]["outcome"] == "empty"


def test_an_event_that_cannot_be_read_has_a_reason_in_the_summary_and_in_status_until_it_can(tmp_path):
    """The run was all well, and status had no word of it."""
    twice = event("c@x", ":20990117T150000Z")
    with serving() as site:
        site.put("/a.ics", calendar(event("a@x", ":soon"), event("b@x", ":20990115T150000Z"), twice, twice))
        configured(tmp_path, f"{site.url}/a.ics", every="1s")
        windrow = Windrow(tmp_path)
        summary = windrow.run()
        assert [(count.reason, count.items) for count in summary.reasons] == [("incomplete_record", 1)]
        assert describe_end(summary) == "done, 1 failed"
        pass_time(1.05)
        assert [(count.reason, count.items) for count in windrow.run().reasons] == [("incomplete_record", 1)]
        assert [(count.reason, count.items) for count in windrow.status().reasons] == [("incomplete_record", 1)]
        site.put("/a.ics", calendar(event("a@x", ":20990116T150000Z"), event("b@x", ":20990115T150000Z")))
        pass_time(1.05)
        assert windrow.run().kept_all
        assert windrow.status().reasons == ()


def test_a_list_that_could_not_be_used_is_requested_without_its_validators(tmp_path):
    """The server answers 304 as long as its page is the same: the list would stay unusable for ever."""
    with closing(ToySite({"/a.ics": "<title>Down for maintenance</title>"})) as site:
        workspace = configured(tmp_path, f"{site.url}a.ics", every="1s")
        run(workspace)
        pass_time(120)  # it is requested again after a minute
        run(workspace)
        site.pages["/a.ics"], site.types["/a.ics"] = calendar(event("a@x", ":20990115T150000Z")), "text/calendar"
        for _ in range(2):
            pass_time(300)
            run(workspace)
        requests = [request for request in site.asked if request.path == "/a.ics"]
        assert [bool(request.etag) for request in requests] == [False, False, False, True]
