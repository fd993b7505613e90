"""A source that failed is shown as one, by `windrow status`, and not as one that was read well."""

from tests.clock import pass_time
from tests.collections.events.place import ADAPTER, calendar, configured, event, run, serving, setup_of
from windrow.engine.progress import Progress
from windrow.ledger import Ledger


def troubles(workspace):
    ledger = Ledger(workspace.ledger)
    told = [one.comment for one in ledger.sessions.tasks_of_source("council") if one.failed]
    ledger.close()
    return [one.partition("; ")[2] for one in told]


def test_a_source_that_answers_with_an_error_is_shown_as_trouble_in_its_first_run_and_later_and_not_by_replay(tmp_path):
    with serving() as site:
        site.put("/a.ics", "away", status=500)
        workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s")
        run(workspace)
        said = f"{site.url}/a.ics: the server answers 500; ask it again with windrow retry --source council"
        assert troubles(workspace) == [said]
        site.put("/a.ics", calendar(event("a@x", ":20990115T150000Z")))
        pass_time(1.05)
        run(workspace)
        assert troubles(workspace) == [said]
        site.put("/a.ics", "away", status=500)
        pass_time(1.05)
        run(workspace)
        ADAPTER.replay(workspace, setup_of(workspace), Progress(quiet=True))
        assert troubles(workspace) == [said] * 2
