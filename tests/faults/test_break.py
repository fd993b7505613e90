"""Servers that break off a transfer: it resumes there, and no byte is sent twice."""

import random

from tests.faults.server import rogue_server
from tests.faults.workspace import DAY
from tests.servers.script import listening
from windrow.archive.capture_sink import OVERLAP_BYTES
from windrow.demo.partner import drop, pack, specimens

NAME = f"H.{DAY}.5.impc.zip"
KEY = f"add/{NAME}"
# A member that deflate cannot compress makes the zip larger than the memory for it.
LARGE = pack({f"H.{DAY}.1.specimen.impc.xml": specimens("H", 1, 3), "plot.png": random.Random(5).randbytes(4 << 20)})
SMALL = drop("H", DAY, 6)
OTHER = f"add/{SMALL[0]}"
SECRET = {"secret": "env:HOME", "timeout": 60}
FIRST, SECOND = 1_500_000, 3_000_000


def received(workspace, key=KEY):
    return [row[2] for row in workspace.attempts(key)]


def test_a_server_that_goes_once_and_comes_back(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    with rogue_server(files={KEY: LARGE, OTHER: SMALL[1]}, cuts={KEY: [FIRST, SECOND]}) as server:
        workspace.add_source("shaky", server.url(), attempts=3, **SECRET)
        assert workspace.run().code == 0
        assert sorted(server.started) == [0, 0, FIRST - OVERLAP_BYTES, SECOND - OVERLAP_BYTES]
    assert [row[1] for row in workspace.attempts(KEY)] == ["interrupted", "interrupted", None]
    assert received(workspace) == [FIRST, SECOND - FIRST, len(LARGE) - SECOND]
    workspace.assert_complete(good, KEY, OTHER)
    assert [row[:2] for row in workspace.downloads(NAME)] == [("download", "failed")] * 2 + [("overview", "done")]
    assert [kind for kind, _ in workspace.zip_log(NAME)][:2] == ["Interrupted"] * 2
    assert not list((workspace.root / "archive" / "parts").iterdir())


def test_a_server_that_stays_away_until_the_next_run(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    with rogue_server(files={KEY: LARGE, OTHER: SMALL[1]}, cuts={KEY: [FIRST, SECOND]}) as server:
        workspace.add_source("shaky", server.url(), attempts=2, **SECRET)
        assert workspace.run().code == 3
        assert workspace.item_state(KEY) == ("download", "failed", "interrupted")
        workspace.assert_complete(good, OTHER)
        assert workspace.session_status() > 0
        assert received(workspace) == [FIRST, SECOND - FIRST]
        (shaky,) = (source for source in workspace.status().last.sources if source.source == "shaky")
        assert (shaky.fetched, shaky.failed) == (1, 1), "files, and not attempts"
        assert workspace.run().code == 0
        assert server.started[-1] == SECOND - OVERLAP_BYTES
    assert sum(received(workspace)) == len(LARGE)
    workspace.assert_complete(good, KEY, OTHER)
    assert workspace.session_status() == 0


def test_a_small_transfer_that_breaks_is_begun_again(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    with rogue_server(files={OTHER: SMALL[1]}, cuts={OTHER: [1000]}) as server:
        workspace.add_source("shaky", server.url(), attempts=2, **SECRET)
        assert workspace.run().code == 0
        assert server.started == [0, 0]
    assert [row[1] for row in workspace.attempts(OTHER)] == ["interrupted", None]
    workspace.assert_complete(good, OTHER)


def test_another_answer_in_place_of_a_zip_is_a_failed_transfer_and_tried_again(make_workspace):
    def respond(connection):
        path = connection.recv(65536).split()[1]
        is_list = path == b"/list.txt"
        status, media_type, body = ("200 OK", "text/plain", OTHER.encode()) if is_list else answer
        head = f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)

    workspace = make_workspace()
    instead = [
        ("200 OK", "text/html; charset=utf-8", b"\n<html>Closed for maintenance</html>"),
        ("202 Accepted", "application/zip", b"it is made"), ("200 OK", "application/zip", b""),
    ]  # fmt: skip
    with listening(respond) as port:
        workspace.add_source("web", f"http://127.0.0.1:{port}/", manifest="list.txt", timeout=60, attempts=1)
        for answer in instead:
            workspace.retry(*([OTHER] if answer != instead[0] else []))
            assert workspace.run().code == 3
            assert workspace.item_state(OTHER) == ("download", "failed", "soft_404")
        answer = "200 OK", "text/html", SMALL[1]  # a zip whose server states the wrong type
        assert workspace.run().code == 0
    workspace.assert_complete(OTHER)


def test_another_version_is_not_put_on_top_of_a_part(make_workspace):
    """A file that changed between two transfers is fetched from its start: a mix of both would be corrupt."""
    workspace = make_workspace()
    good = workspace.add_healthy()
    older = bytearray(LARGE)  # of the same length, so that no comparison of sizes would find a mix
    older[len(older) // 4] ^= 0xFF
    with rogue_server(files={KEY: bytes(older)}, cuts={KEY: [FIRST]}) as server:
        workspace.add_source("shaky", server.url(), attempts=1, **SECRET)
        assert workspace.run().code == 3
        server.files[KEY] = LARGE
        server.modified = b"20260113100000"
        assert workspace.run().code == 0
        assert server.started == [0, 0]
    workspace.assert_complete(good, KEY)


def test_a_server_that_cannot_go_on_sends_all_of_it_again(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    with rogue_server(files={KEY: LARGE}, cuts={KEY: [FIRST]}, rests=False) as server:
        workspace.add_source("shaky", server.url(), attempts=2, **SECRET)
        assert workspace.run().code == 0
        assert server.started == [0, 0]
    workspace.assert_complete(good, KEY)
