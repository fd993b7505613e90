"""Sources that say one size and send another: never loaded, tried again, healed when they tell the truth."""

import pytest

from tests.faults.server import rogue
from windrow.demo.partner import drop

NAME, CONTENT = drop("H", "2026-01-12", 5)
KEY = f"add/{NAME}"
LIES = {
    "listing larger": {"told": {KEY: len(CONTENT) + 700}},
    "listing smaller": {"told": {KEY: len(CONTENT) - 700}},
    "reply larger": {"said": {KEY: len(CONTENT) + 700}},
    "reply smaller": {"said": {KEY: len(CONTENT) - 700}},
    "both larger": {"told": {KEY: len(CONTENT) + 700}, "said": {KEY: len(CONTENT) + 700}},
    "both smaller": {"told": {KEY: len(CONTENT) - 700}, "said": {KEY: len(CONTENT) - 700}},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_the_size(place, lie):
    made = place()
    good = made.healthy()
    with rogue(files={KEY: CONTENT}, **LIES[lie]) as server:
        made.source("liar", server.url(), secret="env:HOME", timeout=60, attempts=2)
        went = made.run()
        assert went.code == 3
        assert made.session() > 0
        made.whole(good)
        assert made.item(KEY) == ("download", "failed", "size_mismatch")
        assert made.action(NAME) == ("download", "failed")
        assert [row[:2] for row in made.downloads(NAME)] == [("download", "failed")] * 2
        assert {row[1] for row in made.fetches(KEY)} == {"size_mismatch"}
        kind, message = made.zip_log(NAME)[0]
        assert kind == "SizeMismatch"
        assert NAME in message
        assert NAME not in made.loaded()
        assert made.tasks("liar")[-1][:2] == (1, "size_mismatch")

        server.told.clear()
        server.said.clear()
        assert made.run().code == 0
        made.whole(good, KEY)
        assert made.downloads(NAME)[-1] == ("overview", "done", len(CONTENT))
        assert made.findings(KEY) == []  # no content was ever known, so none has changed
        assert made.tracked("SELECT max(num_retries) FROM file_source_has_zip") == [(2,)]
