"""Servers that go in the middle of a transfer: it goes on where it broke, and no byte comes twice."""

import random

from tests.faults.place import DAY
from tests.faults.server import rogue
from windrow.demo.partner import drop, pack, specimens

NAME = f"H.{DAY}.5.impc.zip"
KEY = f"add/{NAME}"
# A member that deflate cannot press makes the zip larger than what is kept in memory.
LARGE = pack({f"H.{DAY}.1.specimen.impc.xml": specimens("H", 1, 3), "plot.png": random.Random(5).randbytes(4 << 20)})
SMALL = drop("H", DAY, 6)
OTHER = f"add/{SMALL[0]}"
SECRET = {"secret": "env:HOME", "timeout": 60}
FIRST, SECOND = 1_500_000, 3_000_000


def received(made, key=KEY):
    return [row[2] for row in made.fetches(key)]


def test_a_server_that_goes_once_and_comes_back(place):
    made = place()
    good = made.healthy()
    with rogue(files={KEY: LARGE, OTHER: SMALL[1]}, cuts={KEY: [FIRST, SECOND]}) as server:
        made.source("shaky", server.url(), attempts=3, **SECRET)
        assert made.run().code == 0
        assert server.started[-1] == SECOND
        assert sorted(server.started) == [0, 0, FIRST, SECOND]
    assert [row[1] for row in made.fetches(KEY)] == ["interrupted", "interrupted", None]
    assert received(made) == [FIRST, SECOND - FIRST, len(LARGE) - SECOND]
    made.whole(good, KEY, OTHER)
    assert [row[:2] for row in made.downloads(NAME)] == [("download", "failed")] * 2 + [("overview", "done")]
    assert [kind for kind, _ in made.zip_log(NAME)][:2] == ["Interrupted"] * 2
    assert not list((made.root / "archive" / "parts").iterdir())


def test_a_server_that_stays_away_until_the_next_run(place):
    made = place()
    good = made.healthy()
    with rogue(files={KEY: LARGE, OTHER: SMALL[1]}, cuts={KEY: [FIRST, SECOND]}) as server:
        made.source("shaky", server.url(), attempts=2, **SECRET)
        assert made.run().code == 3
        assert made.item(KEY) == ("download", "failed", "interrupted")
        made.whole(good, OTHER)
        assert made.session() > 0
        assert received(made) == [FIRST, SECOND - FIRST]
        assert made.run().code == 0
        assert server.started[-1] == SECOND
    assert sum(received(made)) == len(LARGE)
    made.whole(good, KEY, OTHER)
    assert made.session() == 0


def test_a_small_transfer_that_breaks_is_begun_again(place):
    made = place()
    good = made.healthy()
    with rogue(files={OTHER: SMALL[1]}, cuts={OTHER: [1000]}) as server:
        made.source("shaky", server.url(), attempts=2, **SECRET)
        assert made.run().code == 0
        assert server.started == [0, 0]
    assert [row[1] for row in made.fetches(OTHER)] == ["interrupted", None]
    made.whole(good, OTHER)


def test_another_version_is_not_put_on_top_of_a_part(place):
    """What changed between two transfers is fetched from its start: a mix of both is nobody's file."""
    made = place()
    good = made.healthy()
    older = bytearray(LARGE)  # of the same length, so that no comparison of sizes would find a mix
    older[len(older) // 4] ^= 0xFF
    with rogue(files={KEY: bytes(older)}, cuts={KEY: [FIRST]}) as server:
        made.source("shaky", server.url(), attempts=1, **SECRET)
        assert made.run().code == 3
        server.files[KEY] = LARGE
        server.modified = b"20260113100000"
        assert made.run().code == 0
        assert server.started == [0, 0]
    made.whole(good, KEY)


def test_a_server_that_cannot_go_on_sends_all_of_it_again(place):
    made = place()
    good = made.healthy()
    with rogue(files={KEY: LARGE}, cuts={KEY: [FIRST]}, rests=False) as server:
        made.source("shaky", server.url(), attempts=2, **SECRET)
        assert made.run().code == 0
        assert server.started == [0, 0]
    made.whole(good, KEY)
