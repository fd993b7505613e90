"""A dry run of a source that is asked by requests: it shows what would be asked first, and asks nobody."""

import pytest

from tests.requests.glossary import COLLECTION, configured, run
from tests.toy_collection.server import Glossary
from windrow.app.schedule import FetchBounds, preview, span
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
    return [one.key for one in told.waiting], [one.waiting for one in told.sources]


def test_a_dry_run_shows_the_first_requests_of_a_source_and_after_a_limited_run_the_next_ones(tmp_path, server):
    workspace = configured(tmp_path, server, every="1h")
    assert shown(workspace) == ([f"{server.url}terms?page=1"], [1])
    assert server.asked == []
    run(workspace, limit=1)
    assert shown(workspace)[0] == [f"{server.url}terms?page=2"]
