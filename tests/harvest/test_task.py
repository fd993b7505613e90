"""Every phase of every source is recorded as a task, and a session's status is the first task that failed."""

from benchmarks.daemon import free_port

from tests.faults.server import rogue_server
from tests.faults.workspace import DAY, put
from windrow.demo.partner import drop

TASKS = (
    "SELECT t.id, t.comment, p.short_name, t.status, t.start_time <= t.finish_time"
    " FROM session_task t JOIN phase p ON p.id = t.phase_id ORDER BY t.id"
)
PHASES = {"zip_name", "download", "unzip", "xsd", "upload", "data", "context", "overview"}


def statuses_by_source(workspace):
    status_by_phase = {}
    for _, comment, phase, status, timed in workspace.query_tracker(TASKS):
        assert timed == 1
        status_by_phase.setdefault(comment.partition(":")[0], {})[phase] = status
    return status_by_phase


def test_all_well(make_workspace):
    workspace = make_workspace()
    put(workspace.add_folder("one"), *drop("H", DAY, 1))
    put(workspace.add_folder("two", "J"), *drop("J", DAY, 1))
    workspace.add_folder("empty", "J")
    assert workspace.run().code == 0
    assert statuses_by_source(workspace) == {
        "one": dict.fromkeys(PHASES, 0),
        "two": dict.fromkeys(PHASES, 0),
        "empty": {"zip_name": 0},
    }
    ((status, begun, ended),) = workspace.query_tracker("SELECT status, start_time, finish_time FROM crawling_session")
    assert status == 0
    assert begun <= ended


def test_a_connection_that_fails(make_workspace):
    workspace = make_workspace("[drops]\nattempts = 1\n")
    good = workspace.add_healthy()
    workspace.add_source("down", f"ftp://windrow@127.0.0.1:{free_port()}/", secret="env:HOME", timeout=2)
    assert workspace.run().code == 3
    workspace.assert_complete(good)
    assert statuses_by_source(workspace) == {"healthy": dict.fromkeys(PHASES, 0), "down": {"zip_name": 1}}
    failed = [row[0] for row in workspace.query_tracker(TASKS) if row[3]]
    assert [workspace.session_status()] == failed
    (workspace.root / "sources" / "down.toml").unlink()
    assert workspace.run().code == 0
    assert workspace.session_status() == 0


def test_attempts_after_an_error_are_counted(make_workspace):
    workspace = make_workspace("[drops]\nattempts = 3\n")
    name, content = drop("H", DAY, 1)
    with rogue_server(files={f"add/{name}": content}, cuts={f"add/{name}": [100, 200]}) as server:
        workspace.add_source("own", server.url(), secret="env:HOME", timeout=60)
        assert workspace.run().code == 0
    workspace.assert_complete(f"add/{name}")
    assert workspace.query_tracker("SELECT num_retries FROM file_source_has_zip") == [(2,)]
    assert [state[:2] for state in workspace.downloads(name)] == [("download", "failed")] * 2 + [("overview", "done")]
    assert len(workspace.zip_log(name)) == 2
