"""Sources that state one size and send another: never loaded, tried again, loaded once the sizes are right."""

import pytest

from tests.faults.server import rogue_server
from windrow.demo.partner import drop

NAME, CONTENT = drop("H", "2026-01-12", 5)
KEY = f"add/{NAME}"
LIES = {
    "listing larger": {"listed_sizes": {KEY: len(CONTENT) + 700}},
    "listing smaller": {"listed_sizes": {KEY: len(CONTENT) - 700}},
    "reply larger": {"size_replies": {KEY: len(CONTENT) + 700}},
    "reply smaller": {"size_replies": {KEY: len(CONTENT) - 700}},
    "both larger": {"listed_sizes": {KEY: len(CONTENT) + 700}, "size_replies": {KEY: len(CONTENT) + 700}},
    "both smaller": {"listed_sizes": {KEY: len(CONTENT) - 700}, "size_replies": {KEY: len(CONTENT) - 700}},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_the_size(make_workspace, lie):
    workspace = make_workspace()
    good = workspace.add_healthy()
    with rogue_server(files={KEY: CONTENT}, **LIES[lie]) as server:
        workspace.add_source("liar", server.url(), secret="env:HOME", timeout=60, attempts=2)
        outcome = workspace.run()
        assert outcome.code == 3
        assert workspace.session_status() > 0
        workspace.assert_complete(good)
        assert workspace.item_state(KEY) == ("download", "failed", "size_mismatch")
        assert workspace.action_state(NAME) == ("download", "failed")
        assert [row[:2] for row in workspace.downloads(NAME)] == [("download", "failed")] * 2
        assert {row[1] for row in workspace.attempts(KEY)} == {"size_mismatch"}
        kind, message = workspace.zip_log(NAME)[0]
        assert kind == "SizeMismatch"
        assert NAME in message
        assert NAME not in workspace.loaded_zips()
        assert workspace.tasks("liar")[-1][:2] == (1, "size_mismatch")

        server.listed_sizes.clear()
        server.size_replies.clear()
        assert workspace.run().code == 0
        workspace.assert_complete(good, KEY)
        assert workspace.downloads(NAME)[-1] == ("overview", "done", len(CONTENT))
        assert workspace.findings(KEY) == []  # no content was ever known, so none has changed
        assert workspace.query_tracker("SELECT max(num_retries) FROM file_source_has_zip") == [(2,)]
