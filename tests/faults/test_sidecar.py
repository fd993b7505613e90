"""Checksums beside a zip: one that does not match keeps the zip out, one that does is a phase of its own."""

import hashlib

import pytest

from tests.faults.place import DAY, put
from windrow.demo.partner import drop

NAME, CONTENT = drop("H", DAY, 5)
KEY = f"add/{NAME}"
SHA, MD5 = hashlib.sha256(CONTENT).hexdigest(), hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(("ending", "right"), [("sha256", SHA), ("md5", MD5)])
def test_a_checksum_that_does_not_match(place, ending, right):
    made = place(settings="[drops]\nattempts = 2\n")
    good = made.healthy()
    folder = made.folder("own")
    put(folder, NAME, CONTENT)
    wrong = "0" * len(right)
    put(folder, f"{NAME}.{ending}", f"{wrong}  {NAME}\n".encode())
    assert made.run().code == 3
    assert made.item(KEY) == ("zip_md5", "failed", "digest_mismatch")
    assert made.action(NAME) == ("zip_md5", "failed")
    assert {row[1] for row in made.fetches(KEY)} == {"digest_mismatch"}
    kind, message = made.zip_log(NAME)[0]
    assert kind == "DigestMismatch"
    assert wrong in message
    assert right in message
    assert made.session() > 0
    assert made.tasks("own")[-1][:2] == (1, "digest_mismatch")
    assert NAME not in made.loaded()
    made.whole(good)

    put(folder, f"{NAME}.{ending}", f"{right} *{NAME}\n".encode())
    made.retry(KEY)
    assert made.run().code == 0
    made.whole(good, KEY)
    assert made.ask("SELECT checksum FROM attempt WHERE reason IS NULL AND checksum <> ''") == [(f"{ending}:{right}",)]


def test_a_checksum_that_cannot_be_read_is_said_so(place):
    made = place()
    good = made.healthy()
    folder = made.folder("own")
    put(folder, NAME, CONTENT)
    put(folder, f"{NAME}.md5", b"\x00\xff no checksum here" * 1000)
    assert made.run().code == 0
    made.whole(good, KEY)
    assert "holds none" in made.fetches(KEY)[0][3]
