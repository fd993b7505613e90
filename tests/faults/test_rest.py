"""Zips that fail in session after session: they rest, it is told everywhere, and nothing is given up without a word."""

from datetime import timedelta

from tests.faults.place import DAY, put
from tests.faults.server import rogue
from windrow.app.workspace import Windrow
from windrow.cli.status import meaning
from windrow.clock import now
from windrow.collections.drops.collection import COLLECTION
from windrow.demo.partner import drop, pack, specimens
from windrow.engine.listed.rest import SESSIONS, divide, resting
from windrow.ledger import Ledger

NAME, CONTENT = drop("H", DAY, 5)
KEY = f"add/{NAME}"


def test_a_zip_that_failed_in_five_sessions_rests_which_status_and_why_tell_and_a_later_run_asks_again(place):
    made = place()
    with rogue(files={KEY: CONTENT}, refused={KEY: b"550 no such file\r\n"}) as server:
        made.source("own", server.url(), secret="env:HOME", timeout=60, attempts=1, connections=1)
        for _ in range(SESSIONS):
            assert made.run().code == 3
        assert len(made.fetches(KEY)) == SESSIONS
        window = Windrow(made.root)
        summary = window.run()
        assert len(made.fetches(KEY)) == SESSIONS  # it rests
        (note,) = summary.notes
        assert KEY in note
        assert "windrow retry" in note
        assert meaning(summary) == "done, 1 warning"
        (one,) = window.status().resting
        assert (one.key, one.sessions, one.reason) == (KEY, SESSIONS, "not_found")
        assert timedelta(hours=5) < one.until - now() < timedelta(hours=6)
        told = [event.told for event in window.why(NAME).story.events]
        assert any("failed in 5 sessions" in line and f"windrow retry {KEY}" in line for line in told)
        assert made.zip_log(NAME)[-1][0] == "RestingFile"

        ledger = Ledger(made.root / "ledger.sqlite")
        assert resting(ledger, COLLECTION, now())[0].until == one.until
        assert resting(ledger, COLLECTION, one.until) == []  # a run at that time asks again
        assert divide(ledger, [], now()) == ([], [])
        ledger.close()

        server.refused.clear()
        made.retry(KEY)
        assert made.run().code == 0
    made.whole(KEY)
    assert window.status().resting == ()


def test_what_a_later_session_does_not_try_again_by_itself_says_so(place):
    made = place(settings="[limits]\ntransfer_size = 1000\n")
    put(made.folder("own"), NAME, CONTENT)
    assert made.run().code == 3
    assert made.item(KEY) == ("download", "failed", "too_large")
    assert made.findings(KEY)[-1][0] == "GivenUp"
    assert f"windrow retry {KEY}" in made.findings(KEY)[-1][1]


def test_after_a_retry_that_succeeds_status_counts_the_old_failure_no_more(place):
    made = place()
    folder = made.folder("own")
    broken = {f"H.{DAY}.1.specimen.impc.xml": specimens("H", 1), f"H.{DAY}.1.experiment.impc.xml": b"<no/>"}
    put(folder, NAME, pack(broken))
    made.run()
    window = Windrow(made.root)
    assert any(state.status == "failed" for state in window.status().states)
    put(folder, NAME, CONTENT)
    made.retry(KEY)
    assert made.run().code == 0
    made.whole(KEY)
    standing = window.status()
    assert {state.status for state in standing.states} == {"done"}
    assert standing.reasons == ()
