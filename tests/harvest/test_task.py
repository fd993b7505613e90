"""Every phase of every source is a task on record, and a session's status names the first that failed."""

from benchmarks.daemon import free_port

from tests.faults.place import DAY, put
from tests.faults.server import rogue
from windrow.demo.partner import drop

TASKS = (
    "SELECT t.id, t.comment, p.short_name, t.status, t.start_time <= t.finish_time"
    " FROM session_task t JOIN phase p ON p.id = t.phase_id ORDER BY t.id"
)
PHASES = {"zip_name", "download", "unzip", "xsd", "upload", "data", "context", "overview"}


def by_source(made):
    found = {}
    for _, comment, phase, status, timed in made.tracked(TASKS):
        assert timed == 1
        found.setdefault(comment.partition(":")[0], {})[phase] = status
    return found


def test_all_well(place):
    made = place()
    put(made.folder("one"), *drop("H", DAY, 1))
    put(made.folder("two", "J"), *drop("J", DAY, 1))
    made.folder("empty", "J")
    assert made.run().code == 0
    assert by_source(made) == {
        "one": dict.fromkeys(PHASES, 0),
        "two": dict.fromkeys(PHASES, 0),
        "empty": {"zip_name": 0},
    }
    ((status, begun, ended),) = made.tracked("SELECT status, start_time, finish_time FROM crawling_session")
    assert status == 0
    assert begun <= ended


def test_a_connection_that_fails(place):
    made = place("[drops]\nattempts = 1\n")
    good = made.healthy()
    made.source("down", f"ftp://windrow@127.0.0.1:{free_port()}/", secret="env:HOME", timeout=2)
    assert made.run().code == 3
    made.whole(good)
    assert by_source(made) == {"healthy": dict.fromkeys(PHASES, 0), "down": {"zip_name": 1}}
    failed = [row[0] for row in made.tracked(TASKS) if row[3]]
    assert [made.session()] == failed
    (made.root / "sources" / "down.toml").unlink()
    assert made.run().code == 0
    assert made.session() == 0


def test_attempts_after_an_error_are_counted(place):
    made = place("[drops]\nattempts = 3\n")
    name, content = drop("H", DAY, 1)
    with rogue(files={f"add/{name}": content}, cuts={f"add/{name}": [100, 200]}) as server:
        made.source("own", server.url(), secret="env:HOME", timeout=60)
        assert made.run().code == 0
    made.whole(f"add/{name}")
    assert made.tracked("SELECT num_retries FROM file_source_has_zip") == [(2,)]
    assert [state[:2] for state in made.downloads(name)] == [("download", "failed")] * 2 + [("overview", "done")]
    assert len(made.zip_log(name)) == 2
