"""A dry run of a source of requests: it shows the first requests, and sends none."""

from dataclasses import replace

from tests.requests.glossary import COLLECTION, configure, run
from windrow.app.run import phase_span, preview
from windrow.app.summary import summarise
from windrow.contract.registry import phases
from windrow.engine.frontier import FetchBounds
from windrow.ledger import Ledger


def previewed_requests(workspace, *, active=True):
    ledger = Ledger(workspace.ledger)
    sources = [replace(source, active=active) for source in workspace.sources]
    shown = preview(ledger, COLLECTION, sources, phase_span(COLLECTION), FetchBounds())
    ledger.close()
    return [request.key for request in shown.waiting], [source.waiting for source in shown.sources]


def test_a_dry_run_shows_the_first_requests_of_a_source_and_after_a_limited_run_the_next_ones(tmp_path, server):
    workspace = configure(tmp_path, server, every="1h")
    assert previewed_requests(workspace) == ([f"{server.url}terms?page=1"], [1])
    assert previewed_requests(workspace, active=False) == ([], [0])
    assert server.asked == []
    run(workspace, limit=1)
    assert previewed_requests(workspace)[0] == [f"{server.url}terms?page=2"]


def test_a_session_in_which_nothing_was_due_says_how_many_addresses_are_known(tmp_path, server):
    workspace = configure(tmp_path, server, every="1h")
    offered = []
    for _ in range(2):
        run(workspace)
        ledger = Ledger(workspace.ledger)
        counts = {count.source: count for count in summarise(ledger, ledger.sessions.latest(), phases()).sources}
        ledger.close()
        source = counts[workspace.sources[0].name]
        offered.append((source.fetched > 0, source.offered))
    assert offered[0][1] > 0
    assert offered == [(True, offered[0][1]), (False, offered[0][1])]
