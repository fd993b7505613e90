"""Listings that lie, cannot be read, or show nothing at all: told, and never taken for more than they say."""

import shutil

import pytest

from tests.faults.place import DAY, put
from tests.faults.server import rogue
from tests.servers.script import http, listening
from windrow.collections.drops.collection import plan
from windrow.demo.partner import drop
from windrow.fetch.sftp import _entry
from windrow.fetch.sftp_client import Attributes
from windrow.model import Offer, Site, Source
from windrow.reasons import Reason

NAME, CONTENT = drop("H", DAY, 5)
KEY = f"add/{NAME}"


def refusals(made, source):
    return made.ask("SELECT path, reason FROM refusal WHERE source = ? ORDER BY seq", source)


@pytest.mark.parametrize("size", [2**63, 2**64 - 1, 10**40])
def test_a_size_that_no_integer_column_holds_is_refused_and_the_run_goes_on(place, size):
    made = place()
    good = made.healthy()
    other = drop("H", DAY, 6)
    with rogue(files={KEY: CONTENT, f"add/{other[0]}": other[1]}, told={KEY: size}) as server:
        made.source("liar", server.url(), secret="env:HOME", timeout=60)
        assert made.run().code == 0
        made.whole(good, f"add/{other[0]}")
        assert refusals(made, "liar") == [(KEY, "too_large")]
        server.told.clear()
        assert made.run().code == 0
    made.whole(good, KEY)


@pytest.mark.parametrize("size", [2**63, 2**64 - 1])
def test_a_size_of_64_bits_in_sftp_attributes_is_refused(size):
    entry = _entry("add", NAME.encode(), Attributes(size, permissions=0o100644, mtime=2**63))
    assert (entry.size, entry.modified) == (size, None)
    offer = plan(Source("s", "drops", Site("sftp")), [entry], {"centres": "H"})[0]
    assert offer == Offer(KEY, KEY, reason=Reason.TOO_LARGE, unkeyed=True)


def test_a_base_folder_without_any_of_the_three_is_a_failed_listing_and_nothing_is_gone(place):
    made = place()
    good = made.healthy()
    folder = made.folder("own")
    put(folder, NAME, CONTENT)
    assert made.run().code == 0
    for action in ("add", "edit", "delete"):
        shutil.move(folder / action, folder / f"un{action}")
    assert made.run().code == 3
    failed, reason, comment = made.tasks("own")[-1]
    assert (failed, reason) == (1, "not_found")
    assert "add, edit, delete" in comment
    assert made.ask("SELECT count(*) FROM listing WHERE event = 'gone'") == [(0,)]
    made.whole(good, KEY)
    (folder / "edit").mkdir()  # an empty drop is no failure
    assert made.run().code == 0
    assert made.ask("SELECT count(*) FROM listing WHERE event = 'gone'") == [(1,)]


def test_lines_of_a_manifest_that_lie_outside_are_told(place):
    made = place()
    lines = f"{KEY}\nwrong/{NAME}\nREADME\n/etc/{NAME}\n\nedit/\n"
    answer = f"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {len(lines)}\r\n\r\n{lines}".encode()
    with listening(http(answer)) as port:
        made.source("web", f"http://127.0.0.1:{port}/", manifest="list.txt", timeout=60, attempts=1, connections=1)
        assert made.run().code == 0  # the zip itself is answered with the manifest, and refused
    outside = [f"wrong/{NAME}", "README", f"/etc/{NAME}"]
    assert refusals(made, "web") == [(path, "not_wanted") for path in outside]


def test_a_sidecar_that_may_not_be_read_is_told_and_the_zip_is_taken(place):
    made = place()
    side = f"{KEY}.md5"
    with rogue(files={KEY: CONTENT, side: b"x"}, refused={side: b"550 permission denied\r\n"}) as server:
        made.source("own", server.url(), secret="env:HOME", timeout=60)
        assert made.run().code == 0
    made.whole(KEY)
    ((kind, message),) = made.findings(KEY)
    assert kind == "NotCompared"
    assert f"{NAME}.md5" in message
    assert made.zip_log(NAME) == [(kind, message)]
