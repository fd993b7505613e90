"""Sources that hang: the run waits as long as it was told, says so, and goes on with the others."""

import io
import random
import time
import zipfile
from contextlib import ExitStack

import pytest

from tests.faults.server import rogue
from tests.servers.script import http, listening, silence
from tests.waiting import PATIENCE
from windrow.demo.partner import drop

NAME, CONTENT = drop("H", "2026-01-12", 5)
KEY = f"add/{NAME}"
SCHEMES = {"ftp": silence, "sftp": silence, "https": silence, "http": http(b"HTTP/1.1 200 OK\r\n", linger=True)}


def test_sources_that_accept_and_say_nothing(place):
    made = place()
    good = made.healthy()
    with ExitStack() as stack:
        for scheme, talk in SCHEMES.items():
            port = stack.enter_context(listening(talk))
            made.source(scheme, f"{scheme}://127.0.0.1:{port}/", timeout=0.5, attempts=2)
        began = time.monotonic()
        assert made.run().code == 3
        assert (
            time.monotonic() - began < 100
        )  # two attempts of half a second each; of the usual minute each they take 120
    for scheme in SCHEMES:
        failed, reason, comment = made.tasks(scheme)[0]
        assert (failed, reason) == (1, "timeout")
        assert scheme in comment
        assert made.tracked("SELECT status FROM session_task WHERE comment LIKE ?", f"{scheme}:%") == [(1,)]
    made.whole(good)


def test_a_listing_that_never_comes(place):
    made = place()
    good = made.healthy()
    with rogue(files={KEY: CONTENT}, hang={"add": 0}) as server:
        made.source("slow", server.url(), secret="env:HOME", timeout=0.5, attempts=1)
        assert made.run().code == 3
        assert made.tasks("slow")[0][:2] == (1, "timeout")
        made.whole(good)
        server.hang.clear()
        made.source("slow", server.url(), secret="env:HOME")
        assert made.run().code == 0
    made.whole(good, KEY)


@pytest.mark.parametrize("after", [0, 1000])
def test_a_transfer_that_stops(place, after):
    other = drop("H", "2026-01-12", 6)
    made = place()
    good = made.healthy()
    files = {KEY: CONTENT, f"add/{other[0]}": other[1]}
    with rogue(files=files, hang={KEY: after}) as server:
        made.source("slow", server.url(), secret="env:HOME", timeout=3, attempts=2, connections=1)
        assert made.run().code == 3
        assert made.item(KEY) == ("download", "failed", "timeout")
        assert [row[:2] for row in made.fetches(KEY)] == [("slow", "timeout")] * 2
        assert [kind for kind, _ in made.zip_log(NAME)] == ["Timeout"] * 2
        made.whole(good, f"add/{other[0]}")
        server.hang.clear()
        made.source("slow", server.url(), secret="env:HOME", connections=1)
        assert made.run().code == 0
    made.whole(good, f"add/{other[0]}", KEY)


def drip(line):
    """Answer with a byte now and then, for ever."""
    while True:
        line.sendall(b"2")
        time.sleep(0.05)


def drip_after(head):
    def talk(line):
        line.recv(65536)
        line.sendall(head)
        drip(line)

    return talk


def large():
    """Return a good drop with two megabytes beside its documents."""
    name, content = drop("H", "2026-01-12", 7)
    with zipfile.ZipFile(made := io.BytesIO(content), "a") as archive:
        archive.writestr("noise.txt", random.Random(1).randbytes(2_000_000))
    return name, made.getvalue()


DRIPS = {
    "ftp": drip,
    "http": drip_after(b"HTTP/1.1 200 OK\r\n"),
    "manifest": drip_after(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"),
    "sftp": drip_after(b""),
}


def test_a_source_that_drips_a_byte_at_a_time_has_a_deadline_for_its_replies_and_its_listing(place):
    made = place()
    good = made.healthy()
    with ExitStack() as stack:
        for name, talk in DRIPS.items():
            port = stack.enter_context(listening(talk))
            more = {"manifest": "list.txt"} if name == "manifest" else {}
            scheme = "http" if name == "manifest" else name
            more |= {"timeout": 0.5, "listing_timeout": 1, "attempts": 1}
            made.source(name, f"{scheme}://127.0.0.1:{port}/", **more)
        began = time.monotonic()
        assert made.run().code == 3
        assert time.monotonic() - began < PATIENCE
    for name in DRIPS:
        assert made.tasks(name)[0][:2] == (1, "timeout"), name
    made.whole(good)


def test_a_listing_that_drips_has_a_deadline(place):
    made = place()
    good = made.healthy()
    lines = [b"type=file;size=1; x%d.txt" % number for number in range(100_000)]
    with rogue(files={KEY: CONTENT}, lines={"add": lines}, listing_rate=100_000) as server:
        more = {"timeout": 60, "listing_timeout": 1, "attempts": 1}
        made.source("slow", server.url(), secret="env:HOME", **more)
        assert made.run().code == 3
        assert made.tasks("slow")[0][:2] == (1, "timeout")
    made.whole(good)


def test_a_transfer_that_drips_is_ended_and_goes_on_where_it_broke_off_in_the_next_run(place):
    name, content = large()
    key = f"add/{name}"
    made = place()
    good = made.healthy()
    with rogue(files={key: content}, rate=200_000) as server:
        made.source("slow", server.url(), secret="env:HOME", timeout=3, min_rate=10**6, attempts=1, connections=1)
        assert made.run().code == 3
        assert made.item(key) == ("download", "failed", "timeout")
        assert "less than 1e+06 bytes a second" in made.fetches(key)[0][3]
        made.whole(good)
        server.rate = 0
        made.source("slow", server.url(), secret="env:HOME", connections=1)
        assert made.run().code == 0
    made.whole(good, key)


@pytest.mark.parametrize("scheme", ["ftp", "sftp"])
def test_the_barrier_of_listings_leaves_a_slow_source_behind_and_says_so(place, scheme):
    made = place(settings="[drops]\nlisting_deadline = 8\n")
    good = made.healthy()
    with listening(silence) as port:
        made.source("slow", f"{scheme}://127.0.0.1:{port}/", timeout=8 + 2 * PATIENCE)
        began = time.monotonic()
        assert made.run().code == 3
        assert time.monotonic() - began < 8 + PATIENCE  # the connection that hangs is not waited for at the end
    failed, reason, comment = made.tasks("slow")[0]
    assert (failed, reason) == (1, "timeout")
    assert "left behind" in comment
    assert "drops.listing_deadline" in comment
    assert made.tracked("SELECT status FROM session_task WHERE comment LIKE 'slow:%'") == [(1,)]
    made.whole(good)


def test_the_barrier_of_transfers_leaves_a_slow_source_behind_and_the_next_run_goes_on(place):
    name, content = large()
    key = f"add/{name}"
    made = place(settings="[drops]\ndownload_deadline = 8\n")
    good = made.healthy()
    with rogue(files={key: content}, rate=100_000) as server:
        made.source("slow", server.url(), secret="env:HOME", timeout=20, min_rate=0, connections=1)
        assert made.run().code == 3
        failed, reason, comment = made.tasks("slow")[-1]
        assert (failed, reason) == (1, "timeout")
        assert "left behind with 1 transfer" in comment
        assert made.item(key) == ("download", "failed", "timeout")
        made.whole(good)
        server.rate = 0
        assert made.run().code == 0
    made.whole(good, key)
