"""Sources that hang: the run waits as long as it was told, says so, and goes on with the others."""

import time
from contextlib import ExitStack

import pytest

from tests.faults.server import rogue
from tests.servers.script import http, listening, silence
from windrow.demo.document import drop

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
        assert time.monotonic() - began < 12
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
        assert made.run().code == 0
    made.whole(good, KEY)


@pytest.mark.parametrize("after", [0, 1000])
def test_a_transfer_that_stops(place, after):
    other = drop("H", "2026-01-12", 6)
    made = place()
    good = made.healthy()
    files = {KEY: CONTENT, f"add/{other[0]}": other[1]}
    with rogue(files=files, hang={KEY: after}) as server:
        made.source("slow", server.url(), secret="env:HOME", timeout=0.5, attempts=2, connections=1)
        assert made.run().code == 3
        assert made.item(KEY) == ("download", "failed", "timeout")
        assert [row[:2] for row in made.fetches(KEY)] == [("slow", "timeout")] * 2
        assert [kind for kind, _ in made.zip_log(NAME)] == ["Timeout"] * 2
        made.whole(good, f"add/{other[0]}")
        server.hang.clear()
        assert made.run().code == 0
    made.whole(good, f"add/{other[0]}", KEY)
