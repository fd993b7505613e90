"""Discovery by requests from end to end in this process: paging, known records, POST requests, versions."""

from tests.clock import pass_time
from tests.requests.glossary import ADAPTER, NAMING, configure, load_workspace, run
from tests.requests.killed import killed_at_each_kind
from windrow.ledger import Ledger


def records(workspace):
    with ADAPTER._store(workspace) as store:
        return {version.key: version for version in store.versions()}


def test_paging_brings_every_record_and_each_is_defined_by_the_service_that_is_asked_by_post(tmp_path, server):
    workspace = configure(tmp_path, server)
    run(workspace)
    assert [request for request in server.asked if request.startswith("GET")] == [
        "GET /robots.txt",
        *(f"GET /terms?page={page}" for page in range(1, 5)),
    ]
    asked = [request for request in server.asked if request.startswith("POST")]
    assert len(asked) == len(set(asked)) == 10
    assert '"language": "la"' in asked[0]
    version_by_key = records(workspace)
    assert len(version_by_key) == 10
    assert version_by_key["t7"].value == {"term": "word7", "definition": "what word7 means, in la"}
    assert version_by_key["t7"].at.isoformat() == "2026-01-07T00:00:00+00:00"


def test_a_second_run_pages_only_until_what_is_known_and_asks_the_service_only_for_what_is_new(tmp_path, server):
    workspace = configure(tmp_path, server)
    run(workspace)
    server.asked.clear()
    server.add(11)
    pass_time(1.1)
    run(workspace)
    assert [request for request in server.asked if "terms" in request] == ["GET /terms?page=1", "GET /terms?page=2"]
    assert len([request for request in server.asked if request.startswith("POST")]) == 1
    assert len(records(workspace)) == 11
    ledger = Ledger(workspace.ledger)
    assert ledger.requests.learned("glossary", "words") == {"complete": True, "pages": 5}
    ledger.close()


def read_outcome(workspace):
    """Return what must not depend on where a run was killed: versions, learned values, followed answers."""
    with ADAPTER._store(workspace) as store:
        versions = sorted(
            (version.key, version.at, version.change, version.digest, version.json) for version in store.versions()
        )
        assert not store.waiting(0)
        assert not list(store.faults())
    ledger = Ledger(workspace.ledger)
    learned = ledger.requests.learned("glossary", "words")
    followed = ledger.requests.latest("glossary", "words", 100)
    ledger.close()
    return versions, learned, [(answer.requests, answer.offers, answer.fresh, answer.ending) for answer in followed]


def test_a_back_fill_that_is_limited_goes_on_in_its_middle(tmp_path, server):
    workspace = configure(tmp_path, server, every="1h")
    run(workspace, limit=2)
    assert len([request for request in server.asked if "terms" in request]) == 2
    run(workspace)
    assert [request for request in server.asked if "terms" in request] == [
        f"GET /terms?page={page}" for page in range(1, 5)
    ]
    assert len(records(workspace)) == 10


def test_a_run_killed_at_a_commit_of_each_kind_is_gone_on_with_and_tells_the_same(tmp_path, server):
    (tmp_path / "template").mkdir()
    configure(tmp_path / "template", server, every="1h")
    kinds = set()
    for kind, when, root in killed_at_each_kind("tests.requests.glossary", tmp_path / "template", tmp_path):
        assert read_outcome(load_workspace(root)) == read_outcome(load_workspace(tmp_path / "whole")), (
            f"killed {when} the commit of {kind}"
        )
        kinds.add(kind)
    written = {table for kind in kinds for table in kind.split()}
    assert written >= {
        "session", "task", "attempt", "followed", "offered", "learned", "asked", "waiting", "observation",
    }  # fmt: skip
    assert len(kinds) >= 12


def test_a_service_that_fails_is_asked_again_by_a_later_run_and_the_others_are_settled(tmp_path, server):
    server.failing = 8
    workspace = configure(tmp_path, server)
    run(workspace)
    first = records(workspace)
    ledger = Ledger(workspace.ledger)
    with ledger.writing() as writer:
        waiting = ledger.addresses.failing("glossary", "definer", "")
        writer.addresses.set_due("glossary", [address.digest for address in waiting], 1)
    ledger.close()
    assert len(waiting) == 8
    server.failing = 0
    run(workspace)
    assert len(records(workspace)) == 10 > len(first)
    assert len(read_outcome(workspace)[0]) == 10


def test_robots_txt_holds_for_the_api_and_is_not_asked_of_a_service(tmp_path, server):
    server.robots = "User-agent: *\nDisallow: /terms"
    run(configure(tmp_path, server))
    assert server.asked == ["GET /robots.txt"]


def test_a_step_is_told_what_was_asked_and_the_store_tells_what_each_attempt_said(tmp_path, server):
    workspace = configure(tmp_path, server)
    run(workspace, collection=NAMING)
    version_by_key = records(workspace)
    assert {version.value["asked"] for version in version_by_key.values()} == {"page"}
    assert version_by_key["t7"].value["url"] == f"{server.url}terms?page=2"
    with ADAPTER._store(workspace) as store:
        attempts = sorted({version.attempt for version in version_by_key.values()})
        statements = store.statements(attempts)
        assert sorted(statement.key for statement in statements) == sorted(version_by_key)
        assert [statement.attempt for statement in statements] == sorted(statement.attempt for statement in statements)
        assert {statement.source for statement in statements} == {"words"}
        assert store.statements([]) == []
