"""Sources that hang: the run waits as long as configured, reports it, and goes on with the others."""

import io
import random
import time
import zipfile
from contextlib import ExitStack

import pytest

from tests.faults.server import rogue_server
from tests.servers.script import http, listening, silence
from tests.waiting import PATIENCE
from windrow.demo.partner import drop

NAME, CONTENT = drop("H", "2026-01-12", 5)
KEY = f"add/{NAME}"
SCHEMES = {"ftp": silence, "sftp": silence, "https": silence, "http": http(b"HTTP/1.1 200 OK\r\n", linger=True)}


def test_sources_that_accept_and_say_nothing(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    with ExitStack() as stack:
        for scheme, talk in SCHEMES.items():
            port = stack.enter_context(listening(talk))
            workspace.add_source(scheme, f"{scheme}://127.0.0.1:{port}/", timeout=0.5, attempts=2)
        began = time.monotonic()
        assert workspace.run().code == 3
        assert (
            time.monotonic() - began < 100
        )  # two attempts of half a second each; of the usual minute each they take 120
    for scheme in SCHEMES:
        failed, reason, comment = workspace.tasks(scheme)[0]
        assert (failed, reason) == (1, "timeout")
        assert scheme in comment
        assert workspace.query_tracker("SELECT status FROM session_task WHERE comment LIKE ?", f"{scheme}:%") == [(1,)]
    workspace.assert_complete(good)


def test_a_listing_that_never_comes(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    with rogue_server(files={KEY: CONTENT}, hang={"add": 0}) as server:
        workspace.add_source("slow", server.url(), secret="env:HOME", timeout=0.5, attempts=1)
        assert workspace.run().code == 3
        assert workspace.tasks("slow")[0][:2] == (1, "timeout")
        workspace.assert_complete(good)
        server.hang.clear()
        workspace.add_source("slow", server.url(), secret="env:HOME")
        assert workspace.run().code == 0
    workspace.assert_complete(good, KEY)


@pytest.mark.parametrize("after", [0, 1000])
def test_a_transfer_that_stops(make_workspace, after):
    other_zip = drop("H", "2026-01-12", 6)
    workspace = make_workspace()
    good = workspace.add_healthy()
    files = {KEY: CONTENT, f"add/{other_zip[0]}": other_zip[1]}
    with rogue_server(files=files, hang={KEY: after}) as server:
        workspace.add_source("slow", server.url(), secret="env:HOME", timeout=3, attempts=2, connections=1)
        assert workspace.run().code == 3
        assert workspace.item_state(KEY) == ("download", "failed", "timeout")
        assert [row[:2] for row in workspace.attempts(KEY)] == [("slow", "timeout")] * 2
        assert [kind for kind, _ in workspace.zip_log(NAME)] == ["Timeout"] * 2
        workspace.assert_complete(good, f"add/{other_zip[0]}")
        server.hang.clear()
        workspace.add_source("slow", server.url(), secret="env:HOME", connections=1)
        assert workspace.run().code == 0
    workspace.assert_complete(good, f"add/{other_zip[0]}", KEY)


def drip(connection):
    """Send a byte now and then, for ever."""
    while True:
        connection.sendall(b"2")
        time.sleep(0.05)


def drip_after(head):
    def talk(connection):
        connection.recv(65536)
        connection.sendall(head)
        drip(connection)

    return talk


def large():
    """Return a good zip with two megabytes beside its documents."""
    name, content = drop("H", "2026-01-12", 7)
    with zipfile.ZipFile(buffer := io.BytesIO(content), "a") as archive:
        archive.writestr("noise.txt", random.Random(1).randbytes(2_000_000))
    return name, buffer.getvalue()


DRIPS = {
    "ftp": drip,
    "http": drip_after(b"HTTP/1.1 200 OK\r\n"),
    "manifest": drip_after(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"),
    "sftp": drip_after(b""),
}


def test_a_source_that_drips_a_byte_at_a_time_has_a_deadline_for_its_replies_and_its_listing(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    with ExitStack() as stack:
        for name, talk in DRIPS.items():
            port = stack.enter_context(listening(talk))
            more = {"manifest": "list.txt"} if name == "manifest" else {}
            scheme = "http" if name == "manifest" else name
            more |= {"timeout": 0.5, "listing_timeout": 1, "attempts": 1}
            workspace.add_source(name, f"{scheme}://127.0.0.1:{port}/", **more)
        began = time.monotonic()
        assert workspace.run().code == 3
        assert time.monotonic() - began < PATIENCE
    for name in DRIPS:
        assert workspace.tasks(name)[0][:2] == (1, "timeout"), name
    workspace.assert_complete(good)


def test_a_listing_that_drips_has_a_deadline(make_workspace):
    workspace = make_workspace()
    good = workspace.add_healthy()
    lines = [b"type=file;size=1; x%d.txt" % number for number in range(100_000)]
    with rogue_server(files={KEY: CONTENT}, lines={"add": lines}, listing_rate=100_000) as server:
        more = {"timeout": 60, "listing_timeout": 1, "attempts": 1}
        workspace.add_source("slow", server.url(), secret="env:HOME", **more)
        assert workspace.run().code == 3
        assert workspace.tasks("slow")[0][:2] == (1, "timeout")
    workspace.assert_complete(good)


def test_a_transfer_that_drips_is_ended_and_goes_on_where_it_broke_off_in_the_next_run(make_workspace):
    name, content = large()
    key = f"add/{name}"
    workspace = make_workspace()
    good = workspace.add_healthy()
    with rogue_server(files={key: content}, rate=200_000) as server:
        workspace.add_source(
            "slow", server.url(), secret="env:HOME", timeout=3, min_rate=10**6, attempts=1, connections=1
        )
        assert workspace.run().code == 3
        assert workspace.item_state(key) == ("download", "failed", "timeout")
        assert "less than 1e+06 bytes a second" in workspace.attempts(key)[0][3]
        workspace.assert_complete(good)
        server.rate = 0
        workspace.add_source("slow", server.url(), secret="env:HOME", connections=1)
        assert workspace.run().code == 0
    workspace.assert_complete(good, key)


@pytest.mark.parametrize("scheme", ["ftp", "sftp"])
def test_the_barrier_of_listings_leaves_a_slow_source_behind_and_says_so(make_workspace, scheme):
    workspace = make_workspace(settings="[drops]\nlisting_deadline = 8\n")
    good = workspace.add_healthy()
    with listening(silence) as port:
        workspace.add_source("slow", f"{scheme}://127.0.0.1:{port}/", timeout=8 + 2 * PATIENCE)
        began = time.monotonic()
        assert workspace.run().code == 3
        assert time.monotonic() - began < 8 + PATIENCE  # the connection that hangs is not waited for at the end
    failed, reason, comment = workspace.tasks("slow")[0]
    assert (failed, reason) == (1, "timeout")
    assert "left to the next run" in comment
    assert "drops.listing_deadline" in comment
    assert workspace.query_tracker("SELECT status FROM session_task WHERE comment LIKE 'slow:%'") == [(1,)]
    workspace.assert_complete(good)


def test_the_barrier_of_transfers_leaves_a_slow_source_behind_and_the_next_run_goes_on(make_workspace):
    name, content = large()
    key = f"add/{name}"
    workspace = make_workspace(settings="[drops]\ndownload_deadline = 8\n")
    good = workspace.add_healthy()
    with rogue_server(files={key: content}, rate=100_000) as server:
        workspace.add_source("slow", server.url(), secret="env:HOME", timeout=20, min_rate=0, connections=1)
        assert workspace.run().code == 3
        failed, reason, comment = workspace.tasks("slow")[-1]
        assert (failed, reason) == (1, "timeout")
        assert "1 transfer left to the next run" in comment
        assert workspace.item_state(key) == ("download", "failed", "timeout")
        workspace.assert_complete(good)
        server.rate = 0
        assert workspace.run().code == 0
    workspace.assert_complete(good, key)
