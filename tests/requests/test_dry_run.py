"""A dry run of a source that is asked by requests: it shows what would be asked first, and asks nobody."""

import pytest

from tests.requests.glossary import COLLECTION, configured, run
from tests.toy_collection.server import Glossary
from windrow.app.run import preview, span
from windrow.app.summary import summarise
from windrow.contract.registry import phases
from windrow.engine.frontier import FetchBounds
from windrow.ledger import Ledger


@pytest.fixture
def server():
    served = Glossary()
    yield served
    served.close()


def shown(workspace):
    ledger = Ledger(workspace.ledger)
    told = preview(ledger, COLLECTION, workspace.sources, span(COLLECTION), FetchBounds())
    ledger.close()
    return [one.key for one in told.waiting], [source.waiting for source in told.sources]


def test_a_dry_run_shows_the_first_requests_of_a_source_and_after_a_limited_run_the_next_ones(tmp_path, server):
    workspace = configured(tmp_path, server, every="1h")
    assert shown(workspace) == ([f"{server.url}terms?page=1"], [1])
    assert server.asked == []
    run(workspace, limit=1)
    assert shown(workspace)[0] == [f"{server.url}terms?page=2"]


def test_a_session_in_which_nothing_was_due_says_how_many_addresses_are_known(tmp_path, server):
    workspace = configured(tmp_path, server, every="1h")
    offered = []
    for _ in range(2):
        run(workspace)
        ledger = Ledger(workspace.ledger)
        counts = {one.source: one for one in summarise(ledger, ledger.sessions.latest(), phases()).sources}
        ledger.close()
        source = counts[workspace.sources[0].name]
        offered.append((source.fetched > 0, source.offered))
    assert offered[0][1] > 0
    assert offered == [(True, offered[0][1]), (False, offered[0][1])]
