"""Zips that fail in session after session rest; status, why and the notes say so, and each giving up is recorded."""

import os
from datetime import timedelta

from tests.faults.server import rogue_server
from tests.faults.workspace import DAY, put
from windrow.app.summary import describe_end
from windrow.app.workspace import Windrow
from windrow.clock import now
from windrow.collections.drops.collection import COLLECTION
from windrow.demo.partner import drop, pack, specimens
from windrow.engine.listed.rest import MAX_SESSIONS_UNPAUSED, resting, split_resting
from windrow.ledger import Ledger

NAME, CONTENT = drop("H", DAY, 5)
KEY = f"add/{NAME}"


def test_a_zip_that_failed_in_five_sessions_rests_which_status_and_why_tell_and_a_later_run_asks_again(make_workspace):
    workspace = make_workspace()
    with rogue_server(files={KEY: CONTENT}, refused={KEY: b"550 no such file\r\n"}) as server:
        workspace.add_source("own", server.url(), secret="env:HOME", timeout=60, attempts=1, connections=1)
        for _ in range(MAX_SESSIONS_UNPAUSED):
            assert workspace.run().code == 3
        assert len(workspace.attempts(KEY)) == MAX_SESSIONS_UNPAUSED
        windrow = Windrow(workspace.root)
        summary = windrow.run()
        assert len(workspace.attempts(KEY)) == MAX_SESSIONS_UNPAUSED  # it rests
        (note,) = summary.notes
        assert KEY in note
        assert "windrow retry" in note
        assert describe_end(summary) == "done, 1 warning"
        (resting_zip,) = windrow.status().resting
        assert (resting_zip.key, resting_zip.sessions, resting_zip.reason) == (
            KEY,
            MAX_SESSIONS_UNPAUSED,
            "permission_denied",
        )
        assert timedelta(hours=5) < resting_zip.until - now() < timedelta(hours=6)
        messages = [event.message for event in windrow.why(NAME).story.events]
        assert any("failed in 5 sessions" in line and f"windrow retry {KEY}" in line for line in messages)
        assert workspace.zip_log(NAME)[-1][0] == "RestingFile"

        ledger = Ledger(workspace.root / "ledger.sqlite")
        assert resting(ledger, COLLECTION, now())[0].until == resting_zip.until
        assert resting(ledger, COLLECTION, resting_zip.until) == []  # a run at that time asks again
        assert split_resting(ledger, [], now()) == ([], [])
        ledger.close()

        server.refused.clear()
        workspace.retry(KEY)
        assert workspace.run().code == 0
    workspace.assert_complete(KEY)
    assert windrow.status().resting == ()


def test_what_a_later_session_does_not_try_again_by_itself_says_so(make_workspace):
    workspace = make_workspace(settings="[limits]\ntransfer_size = 1000\n")
    put(workspace.add_folder("own"), NAME, CONTENT)
    assert workspace.run().code == 3
    assert workspace.item_state(KEY) == ("download", "failed", "too_large")
    assert workspace.findings(KEY)[-1][0] == "GivenUp"
    assert f"windrow retry {KEY}" in workspace.findings(KEY)[-1][1]


def test_a_zip_that_was_given_up_is_fetched_once_its_source_offers_another_size(make_workspace):
    """Its new time may be that of the failure, or earlier: some sources keep the time of a copied file."""
    workspace = make_workspace(settings="[limits]\ntransfer_size = 2500\n")
    folder = workspace.add_folder("own")
    put(folder, NAME, drop("H", DAY, 5, 2)[1])
    assert workspace.run().code == 3
    put(folder, NAME, CONTENT)
    os.utime(folder / KEY, (1, 1))
    assert workspace.run().code == 0
    workspace.assert_complete(KEY)


def test_after_a_retry_that_succeeds_status_counts_the_old_failure_no_more(make_workspace):
    workspace = make_workspace()
    folder = workspace.add_folder("own")
    broken = {f"H.{DAY}.1.specimen.impc.xml": specimens("H", 1), f"H.{DAY}.1.experiment.impc.xml": b"<no/>"}
    put(folder, NAME, pack(broken))
    workspace.run()
    windrow = Windrow(workspace.root)
    assert any(state.status == "failed" for state in windrow.status().states)
    put(folder, NAME, CONTENT)
    workspace.retry(KEY)
    assert workspace.run().code == 0
    workspace.assert_complete(KEY)
    status = windrow.status()
    assert {state.status for state in status.states} == {"done"}
    assert status.reasons == ()
