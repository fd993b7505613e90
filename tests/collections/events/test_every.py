"""How often a calendar is requested."""

import json
import sqlite3
from contextlib import closing

import pytest

from tests.clock import pass_time
from tests.collections.events.place import calendar, configured, event, run, serving
from windrow import Windrow


@pytest.mark.parametrize("every", ["0s", "0.5s"])
def test_a_calendar_with_every_below_a_second_is_requested_in_each_run(tmp_path, every):
    with serving() as site:
        site.put("/a.ics", calendar(event("1@x", ":20990115T150000Z")))
        workspace = configured(tmp_path, f"{site.url}/a.ics", every=every)
        for _ in range(3):
            assert run(workspace).failed == 0
            pass_time(1.1)
            assert [source.waiting for source in Windrow(tmp_path).status().sources] == [0], "a run requested it"
            assert [source.waiting for source in Windrow(tmp_path).status().last.sources] == [0]
        assert site.asked.count("/a.ics") == 3


def test_a_calendar_that_an_earlier_windrow_requested_only_once_is_requested_again(tmp_path):
    with serving() as site:
        site.put("/a.ics", calendar(event("1@x", ":20990115T150000Z")))
        workspace = configured(tmp_path, f"{site.url}/a.ics", every="0s")
        run(workspace)
        with closing(sqlite3.connect(workspace.ledger)) as ledger, ledger:  # as `every = "0s"` was stored before
            ledger.execute("UPDATE address SET due = NULL WHERE url LIKE '%.ics'")
            ledger.execute("UPDATE request SET context = ?", (json.dumps({"name": "first"}),))
        pass_time(1.1)
        for _ in range(2):
            run(workspace)
            pass_time(1.1)
        assert site.asked.count("/a.ics") == 3
